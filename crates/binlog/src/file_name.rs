//! Which names are binlogs of a basename.

/// The number of a binlog file with this name, if it is one: `binlog.000017` of the base `binlog`.
/// Both servers write at least six digits.
pub fn file_number(base: &[u8], name: &[u8]) -> Option<u64> {
    let digits = name.strip_prefix(base)?.strip_prefix(b".")?;
    if digits.len() < 6 || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let value = digit.checked_sub(b'0').filter(|value| *value <= 9)?;
        number.checked_mul(10)?.checked_add(value.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_behind_the_base() {
        let check = |name: &str, expect| {
            assert_eq!(file_number(b"binlog", name.as_bytes()), expect, "{name}");
        };
        check("binlog.000017", Some(17));
        check("binlog.1000000", Some(1_000_000));
        check("binlog.00017", None);
        check("binlog.index", None);
        check("binlog.prealloc-0", None);
        check("binlog.~rec~", None);
        check("binlog.000017.cut-1764", None);
        check("binlog2.000017", None);
        check("relay-bin.000017", None);
        check("binlog000017", None);
        check("binlog.99999999999999999999", None);
    }
}
