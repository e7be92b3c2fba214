//! The only place that reads the wall clock. Durations are measured with `Instant`, never with this.

use std::time::SystemTime;

/// Now in UTC, `2026-11-21T20:34:38Z`.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn now_rfc3339() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Now in UTC, to the millisecond: `2026-11-21T20:34:38.123Z`.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn now_rfc3339_ms() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Seconds since 1970, with their fraction.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn epoch_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Now in UTC as part of a folder's name: `20261121-203438`.
pub fn folder_stamp() -> String {
    let digits: String = now_rfc3339().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{}", &digits[..8], &digits[8..])
}

#[cfg(test)]
mod tests {
    #[test]
    fn stamps_have_their_shape() {
        let stamp = super::folder_stamp();
        assert_eq!(stamp.len(), 15, "{stamp}");
        assert_eq!(&stamp[8..9], "-");
        assert!(super::now_rfc3339().ends_with('Z'));
    }
}
