//! Sizes among the settings of a PostgreSQL, and its initial settings.

use truetps_record::{SettingValue, amount_in};

/// Settings that decide how a datadir is initialised; a template is created for each combination of
/// them.
pub(crate) const INITIAL: [&str; 2] = ["data_checksums", "wal_segment_size"];

/// Units of `shared_buffers` and `max_wal_size` given as plain numbers.
const PAGE_BYTES: u64 = 8 << 10;
const WAL_UNIT_BYTES: u64 = 1 << 20;

pub(crate) fn shared_buffers_bytes(value: &SettingValue) -> Option<u64> {
    bytes(value, PAGE_BYTES)
}

/// Approximate disk space of the WAL with this `max_wal_size`.
pub(crate) fn wal_bytes(value: &SettingValue) -> Option<u64> {
    bytes(value, WAL_UNIT_BYTES)
}

fn bytes(value: &SettingValue, unit: u64) -> Option<u64> {
    match value {
        SettingValue::Text(text) => {
            amount_in(text, "B").filter(|bytes| *bytes >= 0.0).map(|bytes| bytes as u64)
        }
        other => {
            other.as_int().and_then(|number| u64::try_from(number).ok()).map(|number| number * unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_or_in_words() {
        let text = |text: &str| SettingValue::Text(text.to_owned());
        assert_eq!((wal_bytes(&text("2GB")), wal_bytes(&text("x"))), (Some(2 << 30), None));
        assert_eq!(wal_bytes(&SettingValue::Int(2)), Some(2 << 20));
        assert_eq!(shared_buffers_bytes(&SettingValue::Int(2)), Some(16 << 10));
    }
}
