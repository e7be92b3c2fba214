//! Lines of the log: `2026-11-22 07:11:32,143 mtls-perf-bench 29976 MainThread INFO start time =
//! …`.

use std::io::Write;

use super::exit::NAME;
use super::options::LogLevel;

pub(super) struct MtlsLog<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) level: LogLevel,
    pub(super) pid: u32,
    /// The wall clock: RFC 3339, UTC, with milliseconds.
    pub(super) now: fn() -> String,
}

impl MtlsLog<'_> {
    pub(super) fn info(&mut self, text: &str) {
        self.line(LogLevel::Info, "INFO", text);
    }

    pub(super) fn error(&mut self, text: &str) {
        self.line(LogLevel::Error, "ERROR", text);
    }

    fn line(&mut self, level: LogLevel, name: &str, text: &str) {
        if level >= self.level {
            let line = format!(
                "{}  {NAME}  {}  MainThread  {name}  {}\n",
                stamp(&(self.now)()),
                self.pid,
                truetps_record::printable(text)
            );
            // A closed output is no reason to fail.
            let _ = self.out.write_all(line.as_bytes());
        }
    }
}

/// `2026-11-22T07:11:32.143Z` as `2026-11-22 07:11:32,143`.
fn stamp(rfc3339: &str) -> String {
    let bare = rfc3339.trim_end_matches('Z').replace('T', " ");
    let (seconds, fraction) = bare.split_once('.').unwrap_or((&bare, ""));
    format!("{seconds},{:0<3}", fraction.chars().take(3).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_server_moves_no_cursor() {
        let mut out = Vec::new();
        let mut log = MtlsLog {
            out: &mut out,
            level: LogLevel::Info,
            pid: 7,
            now: || "2026-11-22T07:11:32.143Z".to_owned(),
        };
        log.error("1064: near '\u{1b}[2J\n\u{202e}'");
        assert!(String::from_utf8(out).unwrap().ends_with("  ERROR  1064: near ' [2J  '\n"));
    }

    #[test]
    fn a_line() {
        let mut out = Vec::new();
        let mut log = MtlsLog {
            out: &mut out,
            level: LogLevel::Info,
            pid: 7,
            now: || "2026-11-22T07:11:32.1434Z".to_owned(),
        };
        log.info("****");
        log.level = LogLevel::Error;
        log.info("not said");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "2026-11-22 07:11:32,143  mtls-perf-bench  7  MainThread  INFO  ****\n"
        );
        assert_eq!(stamp("2026-11-22T07:11:32Z"), "2026-11-22 07:11:32,000");
    }
}
