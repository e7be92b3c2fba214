//! Amounts as PostgreSQL writes them: the server counts in the setting's unit (16384 of `8kB`),
//! while files and plans may use other units.

const BYTES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("kB", 1024.0),
    ("MB", 1_048_576.0),
    ("GB", 1_073_741_824.0),
    ("TB", 1_099_511_627_776.0),
];
const MICROSECONDS: [(&str, f64); 6] =
    [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 60e6), ("h", 3_600e6), ("d", 86_400e6)];

/// The number that begins a text, and what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// `8kB` → whether it is a size, and the factor of the unit.
fn factor(unit: &str) -> Option<(bool, f64)> {
    let (times, name) =
        if unit.starts_with(|c: char| c.is_ascii_digit()) { split(unit)? } else { (1.0, unit) };
    [(true, &BYTES[..]), (false, &MICROSECONDS)].into_iter().find_map(|(is_bytes, units)| {
        let (_, each) = units.iter().find(|(known, _)| *known == name)?;
        Some((is_bytes, times * each))
    })
}

/// How many bytes a unit has; `None` where it is not a size.
pub fn unit_bytes(unit: &str) -> Option<f64> {
    factor(unit).filter(|(is_bytes, _)| *is_bytes).map(|(_, each)| each)
}

/// A number in the setting's own unit, which also applies to a text without a unit: `1GB` is 131072
/// of `8kB`.
pub fn amount_in(text: &str, unit: &str) -> Option<f64> {
    let (number, suffix) = split(text)?;
    if suffix.is_empty() {
        return Some(number);
    }
    let ((is_bytes, each), (of_bytes, base)) = (factor(suffix)?, factor(unit)?);
    (is_bytes == of_bytes).then(|| number * each / base)
}

/// Whether two texts of a setting with this unit are the same amount; `false` where the unit is not
/// known.
pub fn same_amount(one: &str, other: &str, unit: &str) -> bool {
    match (factor(unit), amount_in(one, unit), amount_in(other, unit)) {
        (Some(_), Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-9,
        _ => false,
    }
}

/// Whether two texts that both have a unit are the same amount: `15min` and `900s`.
pub fn same_written_amount(one: &str, other: &str) -> bool {
    has_unit(one) && has_unit(other) && ["B", "us"].iter().any(|unit| same_amount(one, other, unit))
}

fn has_unit(text: &str) -> bool {
    split(text).is_some_and(|(_, suffix)| !suffix.is_empty())
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
        assert!(
            !same_amount("128MB", "128", "8kB")
                && !same_amount("x", "x", "ms")
                && !same_amount("1", "1", "?")
        );
        assert!(!same_amount("128MB", "128000", "ms"), "a size is not a time");
        for (one, other) in [("1GB", "1024MB"), ("15min", "900s"), ("0.5h", "30 min")] {
            assert!(same_written_amount(one, other), "{one} {other}");
        }
        for (one, other) in
            [("1GB", "1024"), ("1024", "1024"), ("1GB", "1min"), ("15min", "15ms"), ("a", "a")]
        {
            assert!(!same_written_amount(one, other), "{one} {other}");
        }
        assert_eq!((unit_bytes("8kB"), unit_bytes("ms")), (Some(8192.0), None));
        assert_eq!(
            (amount_in("200", "ms"), amount_in("0.2s", "ms"), amount_in("1MB", "ms")),
            (Some(200.0), Some(200.0), None)
        );
    }
}
