//! Values of settings as servers write them: the same value has many texts.

const UNITS: [char; 8] = ['k', 'K', 'm', 'M', 'g', 'G', 't', 'T'];

/// `512M` → 536870912; `0.9` → 0.9; `None` where it is no number. A double holds every size of a disk. Servers do not look
/// at what follows the unit: `512MB` is `512M`.
pub fn setting_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let text = text.strip_suffix(['b', 'B']).filter(|rest| rest.ends_with(UNITS)).unwrap_or(text);
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let plain = |c: char| c.is_ascii_digit() || ".-+eE".contains(c);
    let value: f64 = digits.parse().ok().filter(|_| digits.chars().all(plain))?;
    Some(value * (1_u64 << shift) as f64)
}

/// Whether two texts are the same value of a setting: `ON` and 1, `512M` and its bytes, 0.9 and 0.900000.
pub fn same_setting(wanted: &str, found: &str) -> bool {
    let switch = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    };
    if let (Some(wanted), Some(found)) = (setting_number(wanted), setting_number(found)) {
        return (wanted - found).abs() <= wanted.abs() * 1e-9;
    }
    if let (Some(wanted), Some(found)) = (switch(wanted), switch(found)) {
        return wanted == found;
    }
    wanted.eq_ignore_ascii_case(found)
}

/// Whether a text means that a switch is off.
pub fn is_off(text: &str) -> bool {
    ["off", "0", "false", "no"].contains(&text.trim().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_value_in_other_words() {
        for (wanted, found) in [
            ("512M", "536870912"),
            ("512MB", "536870912"),
            ("0.90", "0.9"),
            ("90", "90.000000"),
            ("ON", "TRUE"),
            ("1", "TRUE"),
            ("off", "0"),
            ("o_direct", "O_DIRECT"),
            ("1", "ON"),
        ] {
            assert!(same_setting(wanted, found), "{wanted} {found}");
        }
        for (wanted, found) in
            [("7", "3"), ("2", "1"), ("ON", "OFF"), ("row", "MIXED"), ("1", "FALSE"), ("nan", "inf"), ("", "x")]
        {
            assert!(!same_setting(wanted, found), "{wanted} {found}");
        }
    }

    #[test]
    fn switches_that_are_off() {
        assert!(["OFF", "0", "false", " no "].into_iter().all(is_off));
        assert!(["", "ON", "00", "/var/binlog"].into_iter().all(|text| !is_off(text)));
    }
}
