//! Comma-separated values: RFC 4180, lines end with CR LF.

use std::borrow::Cow;

use csv::{Terminator, Writer, WriterBuilder};
use truetps_record::Estimate;

use crate::printable_text;

/// Rows of one width, in memory.
pub(crate) struct CsvRows(Writer<Vec<u8>>);

impl CsvRows {
    pub(crate) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rows =
            Self(WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new()));
        rows.push(header);
        rows
    }

    pub(crate) fn push(&mut self, fields: impl IntoIterator<Item = impl AsRef<str>>) {
        let fields = fields.into_iter().map(|field| field_text(field.as_ref()));
        self.0
            .write_record(fields.map(String::into_bytes))
            .expect("all rows of a table have one width");
    }

    pub(crate) fn into_text(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes all that is written");
        String::from_utf8(bytes).expect("fields are text")
    }
}

/// Empty for no number.
pub(crate) fn number(value: Option<f64>) -> String {
    // An empty sum is -0.
    value
        .filter(|value| value.is_finite())
        .map(|value| (value + 0.0).to_string())
        .unwrap_or_default()
}

/// The value and both ends of its interval.
pub(crate) fn estimate(estimate: Option<Estimate>) -> [String; 3] {
    let (low, high) = (estimate.and_then(|one| one.low), estimate.and_then(|one| one.high));
    [estimate.map(|one| one.value), low, high].map(number)
}

fn field_text(field: &str) -> String {
    // Lines stay lines.
    let lines: Vec<_> = field.split("\r\n").map(printable_text).collect();
    without_formula(&lines.join("\r\n")).into_owned()
}

/// A spreadsheet evaluates a cell that begins like a formula, also between quotes; an apostrophe in
/// front makes it a text. Texts of servers and of other people's run folders are in these cells.
/// Numbers stay numbers.
fn without_formula(field: &str) -> Cow<'_, str> {
    let is_formula =
        field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, expect: &str) {
        let mut rows = CsvRows::new(["a", "b"]);
        rows.push([field, "x"]);
        assert_eq!(rows.into_text(), format!("a,b\r\n{expect},x\r\n"));
    }

    #[test]
    fn quotes() {
        check("a,\"b\"", "\"a,\"\"b\"\"\"");
        check("O_DIRECT", "O_DIRECT");
    }

    #[test]
    fn no_cell_is_a_formula() {
        for number in ["-5", "-0.25", "+1", "1e-7", "-1e300"] {
            check(number, number);
        }
        check("=1+2", "'=1+2");
        check("@SUM(A1)", "'@SUM(A1)");
        check("-2+3", "'-2+3");
        check("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0");
        check("\t=1", "'\t=1");
        check("\r=1", " =1");
        check("\r\n=1", "\"'\r\n=1\"");
        check("a\u{1b}[2J\u{7}\u{9b}\u{202e}b", "a [2J   b");
        check("=HYPERLINK(\"u\",\"t\")", "\"'=HYPERLINK(\"\"u\"\",\"\"t\"\")\"");
        check("a=1", "a=1");
    }
}
