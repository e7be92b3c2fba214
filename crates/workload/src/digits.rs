//! Strings of digits, in the columns `c` and `pad` of tables in sysbench's shape.

use truetps_driver::Params;

use crate::RandomStream;

/// Groups of 11 digits in column `c` (119 characters) and in column `pad` (59).
const C_GROUPS: usize = 10;
pub(crate) const PAD_GROUPS: usize = 5;

/// A value of column `c`.
pub(crate) fn push_c(stream: &mut RandomStream, params: &mut Params) {
    params.push_text(|out| stream.put_digit_groups(C_GROUPS, out));
}

/// Appends a row for loading: `(1,42,'…','…')`.
pub(crate) fn put_digits_row(id: u64, rows: u64, stream: &mut RandomStream, text: &mut Vec<u8>) {
    let k = stream.below(rows) + 1;
    text.extend_from_slice(format!("({id},{k},'").as_bytes());
    stream.put_digit_groups(C_GROUPS, text);
    text.extend_from_slice(b"','");
    stream.put_digit_groups(PAD_GROUPS, text);
    text.extend_from_slice(b"')");
}
