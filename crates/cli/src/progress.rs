//! Progress on stderr: one line that is written over where stderr is a terminal, one line a trial where it is not.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use truetps_compat::Farewell;
use truetps_lab::{Event, Listener};
use truetps_record::{Interval, Phase, ScheduledTrial, Trial};
use truetps_report::format;

use crate::say;

/// The line is written over at most this often.
const REDRAW: Duration = Duration::from_millis(100);
const COLUMNS_DEFAULT: usize = 80;

pub(crate) struct Progress {
    live: bool,
    line_is_up: bool,
    drawn: Option<Instant>,
    /// What whoever hears a signal says.
    farewell: Arc<Farewell>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let quiet = std::env::var_os("TRUETPS_NO_PROGRESS").is_some_and(|value| !value.is_empty());
        let live = std::io::stderr().is_terminal() && !quiet;
        Self { live, line_is_up: false, drawn: None, farewell: Arc::default() }
    }

    /// The same, which keeps these words true.
    pub(crate) fn with_farewell(farewell: Arc<Farewell>) -> Self {
        Self { farewell, ..Self::new() }
    }

    /// While something of ours is in a server of the user.
    fn journal(&mut self, path: &Path) {
        self.say(&format!("what is to be put back is written down in {}", path.display()));
        let clear = if self.live { "\r\x1b[K" } else { "" };
        let restore = format!("truetps server restore --journal '{}'", path.display());
        self.farewell.set(
            format!("{clear}ending, and putting back what was there before; once more leaves it, for: {restore}\n"),
            format!("{clear}left as it is; put it back with: {restore}\n"),
        );
    }

    /// Writes over the line, where there is one.
    fn draw(&mut self, text: &str) {
        if !self.live {
            return;
        }
        let columns =
            rustix::termios::tcgetwinsize(std::io::stderr()).map_or(COLUMNS_DEFAULT, |size| size.ws_col.into());
        let shown: String = text.chars().take(columns.max(20) - 1).collect();
        say(&format!("\r\x1b[K{shown}"));
        self.line_is_up = true;
        self.drawn = Some(Instant::now());
    }

    /// A line that stays.
    pub(crate) fn say(&mut self, text: &str) {
        self.clear();
        say(&format!("{text}\n"));
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.line_is_up {
            say("\r\x1b[K");
            self.line_is_up = false;
        }
    }

    fn interval(&mut self, trial: &ScheduledTrial, interval: &Interval, index: usize, of: usize, left: Duration) {
        let phase = if interval.phase == Phase::Measure { "" } else { " (not counted)" };
        let second = (interval.start_ms + interval.length_ms) / 1e3;
        let text = format!(
            "[{}/{of}] {}  {second:.0}s  {}{}{phase}  left {}",
            index + 1,
            trial.configuration,
            throughput(interval),
            figures(interval),
            format::duration(left),
        );
        self.draw(&text);
    }

    fn trial_ends(&mut self, trial: &Trial, index: usize, of: usize, left: Duration) {
        let place = format!("[{}/{of}] {} block {} {}", index + 1, trial.name, trial.block + 1, trial.configuration);
        if let Some(reason) = trial.validity.reason() {
            self.say(&format!("{place}  NOT VALID: {reason}"));
            return;
        }
        if self.live {
            return;
        }
        let Some(measured) = &trial.measured else { return };
        let p99 =
            measured.response.response_us_p99.map_or(String::new(), |us| format!("  p99 {}", format::duration_us(us)));
        let (tps, left) = (format::tps(measured.tps) + " tps", format::duration(left));
        let sustained =
            measured.sustained.map_or("", |kept_up| if kept_up { "  sustained" } else { "  NOT SUSTAINED" });
        let limited = measured.generator_limited.as_ref().map_or("", |_| "  generator-limited");
        let failed = measured.counts.failed;
        self.say(&format!("{place}  {tps}{p99}{sustained}{limited}  failed {failed}  left {left}"));
    }
}

/// `998.0 tps`; of an open loop `998.0/1 000 tps`, with what the schedule had.
fn throughput(interval: &Interval) -> String {
    let tps = format::tps(interval.tps);
    let Some(open) = &interval.open_loop else { return format!("{tps} tps") };
    let scheduled = open.starts.scheduled as f64 / (interval.length_ms.max(1.0) / 1e3);
    format!("{tps}/{} tps", format::tps(scheduled))
}

/// Response times and failures; of an open loop also how late the starts were, and how many wait for a client.
fn figures(interval: &Interval) -> String {
    let response = &interval.response;
    let part =
        |name: &str, us: Option<f64>| us.map_or(String::new(), |us| format!("  {name} {}", format::duration_us(us)));
    let failed =
        if interval.counts.failed > 0 { format!("  failed {}", interval.counts.failed) } else { String::new() };
    let (p50, p99) = (part("p50", response.response_us_p50), part("p99", response.response_us_p99));
    let Some(open) = &interval.open_loop else {
        return [p50, p99, part("max", response.response_us_max), failed].concat();
    };
    let queue = format!("  queue {}", format::count(open.starts.queued));
    let skipped = match open.starts.skipped {
        0 => String::new(),
        skipped => format!("  skipped {}", format::count(skipped)),
    };
    [p50, p99, part("lag p99", open.lag_us_p99), queue, skipped, format!("  err {}", interval.counts.failed)].concat()
}

impl Listener for Progress {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Journal(path) => self.journal(path),
            Event::PutBack => self.farewell.set(String::new(), String::new()),
            Event::Preparing(step) if self.live => self.draw(step),
            Event::Preparing(step) => self.say(step),
            Event::Loading { rows, of } => {
                if self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
                    self.draw(&format!("loading rows: {} of {}", format::count(*rows), format::count(*of)));
                }
            }
            Event::TrialBegins { trial, index, of, left } => {
                let left = format::duration(*left);
                self.draw(&format!("[{}/{of}] {}  starting  left {left}", index + 1, trial.configuration));
            }
            Event::Interval { trial, interval, index, of, left } => self.interval(trial, interval, *index, *of, *left),
            Event::Sample { .. } => {}
            Event::TrialEnds { trial, index, of, left } => self.trial_ends(trial, *index, *of, *left),
            Event::Warning(text) => self.say(&format!("warning: {text}")),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{Counts, LatencyFigures, OpenLoop, StartCounts};

    use super::*;

    fn interval(open_loop: Option<OpenLoop>, failed: u64) -> Interval {
        Interval {
            phase: Phase::Measure,
            start_ms: 11_000.0,
            length_ms: 1000.0,
            counts: Counts { ok: 998, failed, ..Counts::default() },
            tps: 998.0,
            response: LatencyFigures {
                response_us_p50: Some(300.0),
                response_us_p99: Some(2100.0),
                response_us_max: Some(9000.0),
                ..LatencyFigures::default()
            },
            open_loop,
            buckets: Vec::new(),
            gaps: Vec::new(),
        }
    }

    fn check(interval: &Interval, expect: &str) {
        assert_eq!(throughput(interval) + &figures(interval), expect);
    }

    #[test]
    fn a_closed_loop_shows_its_slowest_transaction() {
        check(&interval(None, 0), "998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms");
        check(&interval(None, 2), "998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms  failed 2");
    }

    #[test]
    fn an_open_loop_shows_rate_lag_and_queue() {
        let open = |skipped, queued| {
            let starts = StartCounts { scheduled: 1000, skipped, queued, ..StartCounts::default() };
            Some(OpenLoop { starts, lag_us_p99: Some(200.0), ..OpenLoop::default() })
        };
        check(&interval(open(0, 0), 0), "998.0/1 000 tps  p50 300 µs  p99 2.10 ms  lag p99 200 µs  queue 0  err 0");
        check(
            &interval(open(7, 1234), 3),
            "998.0/1 000 tps  p50 300 µs  p99 2.10 ms  lag p99 200 µs  queue 1 234  skipped 7  err 3",
        );
    }
}
