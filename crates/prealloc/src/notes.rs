//! Notes in the server's error log, which both servers make their standard error. They are written
//! by threads of the server, in one piece, and in the style of its own lines.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::next;

/// Notes of the background thread, until a thread of the server comes by.
static WAITING: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HAS_WAITING: AtomicBool = AtomicBool::new(false);
/// More are dropped: one that matters is also in the state page.
const WAITING_MAX: usize = 16;
const STDERR: i32 = 2;

/// Writes a note; only in a thread of the server.
pub(crate) fn write_note(level: &str, text: &str) {
    if is_log() {
        let line = format!("{} 0 [{level}] [truetps-prealloc] {text}\n", utc(next::wall_ns()));
        next::write_bytes(STDERR, line.as_bytes());
    }
}

/// For the background thread.
pub(crate) fn leave_note(level: &'static str, text: &str) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    if waiting.len() < WAITING_MAX {
        waiting.push(format!("{level}|{text}"));
        HAS_WAITING.store(true, Ordering::Release);
    }
}

/// Writes the waiting notes; only in a thread of the server.
#[inline]
pub(crate) fn write_waiting() {
    if !HAS_WAITING.load(Ordering::Relaxed) || !HAS_WAITING.swap(false, Ordering::AcqRel) {
        return;
    }
    let notes = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    for note in notes {
        let (level, text) = note.split_once('|').unwrap_or(("Note", &note));
        write_note(level, text);
    }
}

/// A server may have closed its standard error, and opened a file of its data with this number. A
/// log is no regular file or is appended to.
fn is_log() -> bool {
    next::facts_of(STDERR).is_some_and(|facts| {
        !facts.is_regular() || next::status_flags(STDERR) & libc::O_APPEND != 0
    })
}

/// `2026-11-24T19:05:30.123456Z`
#[expect(clippy::arithmetic_side_effects, reason = "a time of this millennium, in i64")]
fn utc(ns: u64) -> String {
    let (seconds, micros) = ((ns / 1_000_000_000) as i64, ns % 1_000_000_000 / 1000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years (Howard Hinnant, "chrono-compatible low-level
    // date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(utc(1_709_210_096_123_456_789), "2024-02-29T12:34:56.123456Z");
        assert_eq!(utc(1_795_547_130_000_001_000), "2026-11-24T19:05:30.000001Z");
    }
}
