//! Texts of the table in hexadecimal: no mode and no character set of any server reads the digits
//! as anything else.

use std::fmt::Write as _;

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("a String takes everything");
    }
    digits
}

pub(super) fn bytes_of_hex(digits: &str) -> Option<Vec<u8>> {
    let is_hex =
        digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| digits.as_bytes().chunks(2).map(byte_of).collect())?
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

pub(super) fn text_of_hex(digits: &str) -> Option<String> {
    String::from_utf8(bytes_of_hex(digits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_every_character() {
        let note = "it's \"quoted\" \\ \u{1f980}\n";
        assert_eq!(text_of_hex(&hex(note.as_bytes())).as_deref(), Some(note));
        for digits in ["4g", "4", "+4", "4é", "ff"] {
            assert_eq!(text_of_hex(digits), None, "{digits}");
        }
    }
}
