//! Amounts as PostgreSQL writes them: `pg_settings` counts in a unit of the setting (16384 of `8kB`), files have their own.

/// Whether two texts of a setting with this unit are the same amount: `128MB` and 16384, where the unit is `8kB`.
pub(crate) fn same_amount(one: &str, other: &str, unit: &str) -> bool {
    match (amount(one, unit), amount(other, unit)) {
        (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-9,
        _ => false,
    }
}

/// As people read it: `200ms`, `16384 x 8kB`.
pub(crate) fn with_unit(value: &str, unit: &str) -> String {
    // -1 and 0 often mean something of their own.
    if !value.ends_with(|c: char| c.is_ascii_digit()) || ["0", "-1"].contains(&value) {
        return value.to_owned();
    }
    if unit.starts_with(|c: char| c.is_ascii_digit()) { format!("{value} x {unit}") } else { format!("{value}{unit}") }
}

/// In bytes or microseconds. A number without a unit is in that of the setting.
pub(crate) fn amount(text: &str, unit: &str) -> Option<f64> {
    let (number, own) = split(text.trim());
    let number: f64 = number.parse().ok()?;
    Some(number * factor(if own.is_empty() { unit } else { own })?)
}

fn factor(unit: &str) -> Option<f64> {
    let (times, name) = split(unit);
    let times: f64 = if times.is_empty() { 1.0 } else { times.parse().ok()? };
    let base = match name {
        "B" | "us" => 1.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        "h" => 3600e6,
        "d" => 86400e6,
        _ => return None,
    };
    Some(times * base)
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && !".-".contains(c)).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (one, other, unit) in [
            ("128MB", "16384", "8kB"),
            ("200ms", "200", "ms"),
            ("5min", "300", "s"),
            ("1 GB", "1024", "MB"),
            ("-1", "-1", "kB"),
        ] {
            assert!(same_amount(one, other, unit), "{one} {other} {unit}");
        }
        assert!(!same_amount("128MB", "128", "8kB") && !same_amount("x", "x", "ms") && !same_amount("1", "1", "?"));
        assert_eq!((with_unit("200", "ms"), with_unit("16384", "8kB")), ("200ms".into(), "16384 x 8kB".into()));
        assert_eq!((with_unit("-1", "ms"), with_unit("128MB", "8kB")), ("-1".into(), "128MB".into()));
    }
}
