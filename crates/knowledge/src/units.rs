//! Amounts of PostgreSQL for people.

/// In readable form: `200ms`, `16384 x 8kB`.
pub(crate) fn with_unit(value: &str, unit: &str) -> String {
    // -1 and 0 often have special meanings.
    if !value.ends_with(|c: char| c.is_ascii_digit()) || ["0", "-1"].contains(&value) {
        return value.to_owned();
    }
    if unit.starts_with(|c: char| c.is_ascii_digit()) { format!("{value} x {unit}") } else { format!("{value}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_read_it() {
        assert_eq!((with_unit("200", "ms"), with_unit("16384", "8kB")), ("200ms".into(), "16384 x 8kB".into()));
        assert_eq!((with_unit("-1", "ms"), with_unit("128MB", "8kB")), ("-1".into(), "128MB".into()));
    }
}
