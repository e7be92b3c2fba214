//! Values of settings as servers write them: the same value has many texts.

/// The letters behind a number, and the power of two that each stands for.
const SUFFIXES: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];

/// `512M` → 536870912; `0.9` → 0.9; `None` where it is not a number. A double holds every size of a
/// disk. Servers of the MySQL family ignore what follows the letter: `512MB` and `512MiB` are
/// `512M`.
pub fn setting_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let without_b = text.strip_suffix(['B', 'b']);
    let short = without_b.map_or(text, |rest| rest.strip_suffix(['i', 'I']).unwrap_or(rest));
    let scaled = SUFFIXES.into_iter().find_map(|(letter, shift)| {
        Some((short.strip_suffix([letter, letter.to_ascii_lowercase()])?, shift))
    });
    let (digits, shift) = scaled.unwrap_or((text, 0));
    if !digits.chars().all(|c| c.is_ascii_digit() || ".-+eE".contains(c)) {
        return None;
    }
    Some(digits.parse::<f64>().ok()? * (1_u64 << shift) as f64)
}

/// Whether two texts are the same value of a setting: `ON` and 1, `512M` and its bytes, 0.9 and
/// 0.900000.
pub fn same_setting(wanted: &str, found: &str) -> bool {
    if let (Some(wanted), Some(found)) = (setting_number(wanted), setting_number(found)) {
        return (wanted - found).abs() <= wanted.abs() * 1e-9;
    }
    if let (Some(wanted), Some(found)) = (switch(wanted), switch(found)) {
        return wanted == found;
    }
    wanted.eq_ignore_ascii_case(found)
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a text means that a switch is off.
pub fn is_off(text: &str) -> bool {
    switch(text.trim()) == Some(false)
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
        for (wanted, found) in [
            ("7", "3"),
            ("2", "1"),
            ("ON", "OFF"),
            ("row", "MIXED"),
            ("1", "FALSE"),
            ("nan", "inf"),
            ("", "x"),
        ] {
            assert!(!same_setting(wanted, found), "{wanted} {found}");
        }
    }

    /// As `mysqld --max_binlog_cache_size=… --verbose --help` of MySQL 5.7 and 8.0 and of MariaDB
    /// 10.11 shows them; PostgreSQL writes its sizes so.
    #[test]
    fn sizes_with_a_unit_in_letters() {
        let mib = 1_048_576.0;
        for (text, number) in [
            ("512MB", 512.0 * mib),
            ("512mb", 512.0 * mib),
            ("10GiB", 10_240.0 * mib),
            ("4kB", 4096.0),
        ] {
            assert_eq!(setting_number(text), Some(number), "{text}");
        }
        for text in ["B", "12B", "15min", "200ms", "1h", "512 M", "MB", "iB", ""] {
            assert_eq!(setting_number(text), None, "{text}");
        }
        assert!(same_setting("512MB", "536870912") && !same_setting("512MB", "512"));
    }

    #[test]
    fn switches_that_are_off() {
        assert!(["OFF", "0", "false", " no "].into_iter().all(is_off));
        assert!(["", "ON", "00", "/var/binlog"].into_iter().all(|text| !is_off(text)));
    }
}
