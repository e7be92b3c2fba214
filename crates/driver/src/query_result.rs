//! The rows of a query that is not measured, as text.

/// Rows of one query, as text. `None` is NULL; bytes that are not UTF-8 are written in hexadecimal,
/// `0x00FF`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryResult {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    pub affected_rows: u64,
    pub warnings: u16,
}

/// Upper bound of the memory of a row (or a column's name) that is kept as text: its bytes, of
/// which non-text bytes take two letters each, and its cells, with the allocator's overhead.
pub(crate) fn kept_bytes(bytes: usize, cells: usize) -> usize {
    const ALLOCATION_BYTES: usize = 32;
    // A list of rows doubles when it is full.
    const ROW_BYTES: usize = 2 * size_of::<Vec<Option<String>>>() + ALLOCATION_BYTES;
    ROW_BYTES + 2 * bytes + cells * (size_of::<Option<String>>() + ALLOCATION_BYTES)
}

/// A value as text, without loss: a value that is not text is shown as MySQL's client shows binary
/// values.
pub(crate) fn cell_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    if let Ok(text) = str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_in_hexadecimal() {
        assert_eq!(cell_text("naïve".as_bytes()), "naïve");
        assert_eq!(cell_text(&[0x00, 0xff, 0x80]), "0x00FF80");
    }
}
