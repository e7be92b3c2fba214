//! The only place that reads the wall clock. Durations are measured with `Instant`, never with
//! this.

use std::time::{Duration, SystemTime};

/// 9999-12-31T23:59:59Z: RFC 3339 has four digits for the year.
const LAST_S: u64 = 253_402_300_799;

/// Now in UTC, `2026-11-21T20:34:38Z`.
pub fn now_rfc3339() -> String {
    humantime::format_rfc3339_seconds(now()).to_string()
}

/// Now in UTC, to the millisecond: `2026-11-21T20:34:38.123Z`.
pub fn now_rfc3339_ms() -> String {
    humantime::format_rfc3339_millis(now()).to_string()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
fn now() -> SystemTime {
    writable(SystemTime::now())
}

/// The time, or the nearest one that can be written: a clock may be set before 1970.
fn writable(time: SystemTime) -> SystemTime {
    time.clamp(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_secs(LAST_S))
}

/// Seconds since 1970, with fraction.
pub fn epoch_s() -> f64 {
    now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Now in UTC, for a folder's name: `20261121-203438`.
pub fn folder_stamp() -> String {
    let digits: String = now_rfc3339().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{}", &digits[..8], &digits[8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_wrong_can_be_written() {
        let check = |time: SystemTime, expect: &str| {
            assert_eq!(humantime::format_rfc3339_seconds(writable(time)).to_string(), expect);
        };
        check(SystemTime::UNIX_EPOCH - Duration::from_secs(1), "1970-01-01T00:00:00Z");
        check(SystemTime::UNIX_EPOCH + Duration::from_secs(LAST_S), "9999-12-31T23:59:59Z");
        check(SystemTime::UNIX_EPOCH + Duration::from_secs(LAST_S + 1), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn stamps_have_their_shape() {
        let stamp = super::folder_stamp();
        assert_eq!(stamp.len(), 15, "{stamp}");
        assert_eq!(&stamp[8..9], "-");
        assert!(super::now_rfc3339().ends_with('Z'));
    }
}
