//! Rows into [`ResultSets`]: text rows unchanged, rows of executions converted from binary to the
//! text that the server would have sent.

use super::binary::put_value;
use super::wire::PayloadReader;
use crate::DriverError;
use crate::result_sets::{BinaryColumn, ResultSets};

/// The most that the text of one value is longer than its binary form: a number may be padded with
/// 255 zeros, a DOUBLE has 309 digits before the point and up to 30 after it.
const VALUE_GROWS_BYTES: usize = 400;
const TOO_LONG: DriverError = DriverError::Protocol("a row with more cells than columns");

const UNSIGNED: u64 = 1 << 5;
const ZEROFILL: u64 = 1 << 6;

/// A column's description, of which only the encoding is read.
pub(super) fn column(payload: &[u8]) -> Result<BinaryColumn, DriverError> {
    let mut reader = PayloadReader::new(payload);
    // Catalogue, schema, table twice, name twice, each with its length; then the length of what
    // follows.
    for _ in 0..6 {
        reader.lenenc_bytes()?;
    }
    reader.lenenc()?;
    let _charset = reader.uint(2)?;
    let display_digits = reader.uint(4)?;
    let kind = reader.u8()?;
    let flags = reader.uint(2)?;
    let decimals = reader.u8()?;
    let zerofill =
        if flags & ZEROFILL == 0 { 0 } else { u8::try_from(display_digits).unwrap_or(u8::MAX) };
    Ok(BinaryColumn { kind, decimals, is_unsigned: flags & UNSIGNED != 0, zerofill })
}

/// The rows of a text statement.
pub(super) fn text_row(
    payload: &[u8],
    columns: u32,
    sets: &mut ResultSets,
) -> Result<(), DriverError> {
    sets.row(payload.len() + columns as usize * size_of::<u32>());
    if sets.has_overflown {
        return Ok(());
    }
    let mut reader = PayloadReader::new(payload);
    for _ in 0..columns {
        sets.value(reader.lenenc_bytes()?);
    }
    if reader.rest().is_empty() { Ok(()) } else { Err(TOO_LONG) }
}

/// The rows of an execution: a zero byte, a bit for each column that is NULL, the others one after
/// the other.
pub(super) fn binary_row(payload: &[u8], sets: &mut ResultSets) -> Result<(), DriverError> {
    /// The first two bits of a row mean nothing.
    const FIRST_BIT: usize = 2;
    let columns = sets.columns.len();
    sets.row(payload.len() + columns * VALUE_GROWS_BYTES);
    if sets.has_overflown {
        return Ok(());
    }
    let mut reader = PayloadReader::new(payload);
    if reader.u8()? != 0 {
        return Err(DriverError::Protocol("a binary row without its header byte"));
    }
    let nulls = reader.bytes((columns + FIRST_BIT).div_ceil(8))?;
    for n in 0..columns {
        let (column, bit) = (sets.columns[n], n + FIRST_BIT);
        if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
            sets.value(None);
        } else {
            put_value(sets, column, &mut reader)?;
        }
    }
    if reader.rest().is_empty() { Ok(()) } else { Err(TOO_LONG) }
}
