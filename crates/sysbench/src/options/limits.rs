//! Values with their own syntax: when a run is aborted, and when counters are reset.

use std::time::Duration;

use super::{OptionRefusal, number};

const CHECKPOINTS_MAX: usize = 256;

/// When events that are still running are aborted, from the start of the run. None: never.
///
/// `off` means never; a number is that many seconds after `time`, `N%` that share of it, and empty
/// means 5 %. Fractions of a second are cut off. Without a time limit there is no base, and the
/// text is not checked.
///
/// # Errors
///
/// Any other text.
pub(super) fn forced_shutdown(
    text: &[u8],
    time: Option<Duration>,
) -> Result<Option<Duration>, OptionRefusal> {
    let Some(time) = time else { return Ok(None) };
    if text.eq_ignore_ascii_case(b"off") {
        return Ok(None);
    }
    let time = time.as_secs() as i64;
    let after = match text.iter().position(|byte| *byte == b'%') {
        _ if text.is_empty() => time * 5 / 100,
        // Text after the first `%` is ignored.
        Some(0) => 0,
        Some(end) => time * i64::from(whole_number(&text[..end], text)?) / 100,
        None => whole_number(text, text)?.into(),
    };
    Ok(Some(Duration::from_secs((time + after).max(0) as u64)))
}

/// `number`: a part of the option's text.
fn whole_number(number: &[u8], text: &[u8]) -> Result<i32, OptionRefusal> {
    number::int(number).ok_or_else(|| invalid("--forced-shutdown", text))
}

/// Seconds after the start, in order. Equal ones are kept, since sysbench prints each of them.
///
/// # Errors
///
/// A part that is not a whole number, a negative one, and more than 256 parts.
pub(super) fn checkpoints(parts: &[Vec<u8>]) -> Result<Vec<u32>, OptionRefusal> {
    if parts.len() > CHECKPOINTS_MAX {
        let text = format!(
            "Too many checkpoints in --report-checkpoints (up to {CHECKPOINTS_MAX} can be defined)"
        );
        return Err(OptionRefusal::fatal(text));
    }
    let mut seconds = Vec::new();
    for part in parts {
        let second = number::int(part).and_then(|second| u32::try_from(second).ok());
        seconds.push(second.ok_or_else(|| invalid("--report-checkpoints", part))?);
    }
    seconds.sort_unstable();
    Ok(seconds)
}

fn invalid(option: &str, text: &[u8]) -> OptionRefusal {
    OptionRefusal::fatal([b"Invalid value for ", option.as_bytes(), b": '", text, b"'"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shutdown(text: &str, time: u64) -> Result<Option<u64>, String> {
        let time = (time > 0).then(|| Duration::from_secs(time));
        let limit =
            forced_shutdown(text.as_bytes(), time).map_err(|refusal| refusal.to_string())?;
        Ok(limit.map(|limit| limit.as_secs()))
    }

    #[test]
    fn the_limit_is_counted_from_the_start() {
        for (text, time, limit) in [
            ("off", 10, None),
            ("OFF", 10, None),
            ("", 10, Some(10)),
            ("", 100, Some(105)),
            ("5", 10, Some(15)),
            ("0", 10, Some(10)),
            ("-1", 10, Some(9)),
            ("-20", 10, Some(0)),
            ("50%", 10, Some(15)),
            ("5%%", 10, Some(10)),
            ("5%x", 100, Some(105)),
            ("%", 10, Some(10)),
            ("x", 0, None),
            ("5", 0, None),
        ] {
            assert_eq!(shutdown(text, time), Ok(limit), "{text:?} of {time}");
        }
        for text in ["x", "5s", "on", "1.5", "x%"] {
            assert_eq!(
                shutdown(text, 10),
                Err(format!("FATAL: Invalid value for --forced-shutdown: '{text}'"))
            );
        }
    }

    #[test]
    fn checkpoints_are_sorted_seconds() {
        let read = |text: &str| checkpoints(&super::super::value::list(text.as_bytes()));
        assert_eq!(read("2,1,1"), Ok(vec![1, 1, 2]));
        assert_eq!(read(""), Ok(vec![]));
        assert_eq!(read("0"), Ok(vec![0]));
        for text in ["x", "-1", "1.5", "1x"] {
            let told = read(text).unwrap_err().to_string();
            assert_eq!(told, format!("FATAL: Invalid value for --report-checkpoints: '{text}'"));
        }
        assert_eq!(read(&"1,".repeat(256)).unwrap().len(), 256);
        let told = read(&"1,".repeat(257)).unwrap_err().to_string();
        assert_eq!(
            told,
            "FATAL: Too many checkpoints in --report-checkpoints (up to 256 can be defined)"
        );
    }
}
