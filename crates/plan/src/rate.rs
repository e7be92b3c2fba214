//! How often transactions start.

/// Starts a second: more than any server handles, and few enough to be counted as they pass.
pub const RATE_MAX: f64 = 10_000_000.0;
pub const RATE_MIN: f64 = 0.0001;

/// Reads `500`, `500/s`, `30/min`, `7200/h` as so many a second.
///
/// # Errors
///
/// What is wrong with the text. Whether a load may have this rate is not checked.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let (number, seconds) = match text.split_once('/') {
        None | Some((_, "s")) => (text.trim_end_matches("/s"), 1.0),
        Some((number, "min")) => (number, 60.0),
        Some((number, "h")) => (number, 3600.0),
        Some((_, unit)) => return Err(format!("`{unit}` is none of the units s, min, h")),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("`{number}` is not a number"))?;
    if number.is_finite() && number > 0.0 {
        Ok(number / seconds)
    } else {
        Err("must be more than 0".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        for (text, expect) in
            [("500", 500.0), ("2.5/s", 2.5), ("30/min", 0.5), ("7200/h", 2.0), ("1e3", 1000.0)]
        {
            assert_eq!(parse_rate(text), Ok(expect), "{text}");
        }
        for wrong in ["", "x", "5/d", "0", "-1/s", "inf", "nan/s", "1/s/s"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
