//! Times on the command line: a number of seconds, or a number with its unit.

use std::time::Duration;

const WRONG: &str =
    "is neither a number of seconds nor a time with a unit, such as 500ms, 10s or 5m";

/// `10`, `0.5`, `500ms`, `1m 30s`. The range is checked where the number is used.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    number
        .or_else(|| humantime::parse_duration(text).ok().map(|time| time.as_secs_f64()))
        .ok_or_else(|| WRONG.to_owned())
}

/// A time that can pass: it is not negative.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds(text)?).map_err(|_| WRONG.to_owned())
}

/// A limit of response times. Without a unit 50 would be seconds here, and milliseconds in the
/// user's mind.
pub(crate) fn limit(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        Err(format!("has no unit: {text}ms, or {text}s?"))
    } else {
        time(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_unit_and_without() {
        let check = |text: &str, expect| assert_eq!(seconds(text), Ok(expect));
        check("10", 10.0);
        check("0.5", 0.5);
        check("500ms", 0.5);
        check("1m 30s", 90.0);
        check("-1", -1.0);
        assert_eq!(time("2"), Ok(Duration::from_secs(2)));
        for wrong in ["", "soon", "10 parsecs", "nan", "inf"] {
            assert_eq!(
                (seconds(wrong), time(wrong)),
                (Err(WRONG.to_owned()), Err(WRONG.to_owned())),
                "{wrong}"
            );
        }
        assert_eq!(time("-1"), Err(WRONG.to_owned()));
        assert_eq!(limit("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(limit("50"), Err("has no unit: 50ms, or 50s?".to_owned()));
    }
}
