//! Progress on stderr: one line that is written over where stderr is a terminal, one line a block
//! where it is not.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use truetps_analysis::StallsSoFar;
use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, Listener};
use truetps_record::{Interval, Trial};
use truetps_recording::{TrialEvent, TrialPlace};
use truetps_report::{format, printable};

use crate::block_progress::BlockProgress;
use crate::progress_line::ProgressLine;
use crate::running_trial::{
    RunningTrial, lasting_line, stage_of, trial_label, trial_number, tried_rate_text,
    update_messages,
};
use crate::terminal::terminal_columns;
use crate::terminal::{is_quiet, print_progress, say_raw};

/// The line is written over at most this often.
const REDRAW: Duration = Duration::from_millis(100);
const COLUMNS_DEFAULT: usize = 80;
/// Where there is no terminal, a step that takes long is reported again after this.
const TELL_AGAIN: Duration = Duration::from_secs(10);

pub(crate) struct Progress {
    live: bool,
    line_is_up: bool,
    drawn: Option<Instant>,
    /// Text that the signal handlers print.
    messages: Arc<InterruptMessages>,
    trial: RunningTrial,
    block: BlockProgress,
    /// The stage that was reported last, in an experiment that plans as it goes.
    stage: Option<&'static str>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let no_line =
            std::env::var_os("TRUETPS_NO_PROGRESS").is_some_and(|value| !value.is_empty());
        let live = std::io::stderr().is_terminal() && !no_line && !is_quiet();
        Self {
            live,
            line_is_up: false,
            drawn: None,
            messages: Arc::default(),
            trial: RunningTrial::default(),
            block: BlockProgress::default(),
            stage: None,
        }
    }

    /// Progress that keeps these texts of the signal handlers up to date.
    pub(crate) fn with_messages(messages: Arc<InterruptMessages>) -> Self {
        let mut progress = Self::new();
        progress.messages = messages;
        progress
    }

    /// Writes over the line, where there is one.
    fn draw(&mut self, text: &str) {
        if !self.live {
            return;
        }
        let shown: String = printable(text).chars().take(columns()).collect();
        say_raw(&format!("\r\x1b[K{shown}"));
        self.line_is_up = true;
        self.drawn = Some(Instant::now());
    }

    /// A line that stays.
    pub(crate) fn print_line(&mut self, text: &str) {
        self.clear();
        crate::terminal::print_line(text);
    }

    /// A line that stays where progress is wanted.
    fn print_progress_line(&mut self, text: &str) {
        self.clear();
        print_progress(&(printable(text) + "\n"));
    }

    fn step(&mut self, text: &str) {
        self.drawn = None;
        if self.live { self.draw(text) } else { self.print_progress_line(text) }
    }

    /// Rows are loaded: on a terminal the line follows, elsewhere a line now and then has it.
    fn loading(&mut self, rows: u64, of: u64) {
        let text = format!("loading rows: {} of {}", format::count(rows), format::count(of));
        let again = if self.live { REDRAW } else { TELL_AGAIN };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < again) {
            return;
        }
        if self.live {
            self.draw(&text);
        } else {
            self.print_progress_line(&text);
            self.drawn = Some(Instant::now());
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.line_is_up {
            say_raw("\r\x1b[K");
            self.line_is_up = false;
        }
    }

    fn trial_event(&mut self, place: TrialPlace<'_>, event: TrialEvent<'_>) {
        self.trial.event(event);
        match event {
            TrialEvent::Begins => {
                let line = self.block.begins(place);
                line.filter(|_| !self.live).iter().for_each(|line| self.print_progress_line(line));
                let (number, left) = (trial_number(place), left_text(place));
                self.draw(&format!("{number} {}  starting{left}", place.trial.configuration));
            }
            TrialEvent::Interval(interval, _) => self.interval(place, interval),
            TrialEvent::Ends(trial) => self.trial_ends(place, trial),
            TrialEvent::Sample(..) | TrialEvent::OtherRun(_) | TrialEvent::Suspended(_) => {}
        }
    }

    fn interval(&mut self, place: TrialPlace<'_>, interval: &Interval) {
        let stalls = self.trial.stalls.interval(interval);
        let probe = self.trial.probe.now(interval.start_ms + interval.length_ms);
        let line = ProgressLine::of(interval, stalls, &probe).within_experiment(
            &trial_number(place),
            &place.trial.configuration.to_string(),
            place.left,
        );
        self.draw(&line.fitting(columns()));
    }

    /// `  2 stalls, longest 1.90 s`; nothing where there was none.
    fn stalls_text(&self) -> String {
        match self.trial.stalls.in_the_end() {
            StallsSoFar { count: 0, .. } => String::new(),
            StallsSoFar { count, longest_ms, .. } => {
                let longest = format::duration_us(longest_ms * 1e3);
                format!("  {}, longest {longest}", format::plural(count.into(), "stall"))
            }
        }
    }

    fn trial_ends(&mut self, place: TrialPlace<'_>, trial: &Trial) {
        if self.live || self.stage.is_some() {
            return;
        }
        if BlockProgress::is_for(place) {
            let line = self.block.ends(place, trial, self.trial.stalls.in_the_end().count);
            if let Some(line) = line {
                self.print_progress_line(&line);
            }
            return;
        }
        // An invalid trial has a line of its own.
        if trial.validity.reason().is_some() {
            return;
        }
        let Some(measured) = &trial.measured else { return };
        let p99 = measured
            .response
            .response_us_p99
            .map_or(String::new(), |us| format!("  p99 {}", format::duration_us(us)));
        let (tps, left) = (format::tps(measured.tps) + " tps", left_text(place));
        let sustained = measured
            .sustained
            .map_or("", |kept_up| if kept_up { "  sustained" } else { "  NOT SUSTAINED" });
        let limited = measured.generator_limited.as_ref().map_or("", |_| "  generator-limited");
        let (failed, stalls) = (measured.counts.failed, self.stalls_text());
        let label = trial_label(place, trial);
        let line =
            format!("{label}  {tps}{p99}{stalls}{sustained}{limited}  failed {failed}{left}");
        self.print_progress_line(&line);
    }
}

/// `  left 1 min 10 s`; nothing where it is not known.
fn left_text(place: TrialPlace<'_>) -> String {
    place.left.map_or(String::new(), |left| format!("  left {}", format::duration(left)))
}

/// What fits in a line of the terminal. The last column stays free: some terminals go to the next
/// line after it.
fn columns() -> usize {
    terminal_columns(std::io::stderr())
        .map_or(COLUMNS_DEFAULT, |columns| columns.max(20))
        .saturating_sub(1)
}

impl Listener for Progress {
    fn event(&mut self, event: &ExperimentEvent<'_>) {
        if let Some(line) = lasting_line(event) {
            self.print_line(&line);
        }
        update_messages(&self.messages, event, if self.live { "\r\x1b[K" } else { "" });
        match event {
            ExperimentEvent::Preparing(step) => self.step(step),
            ExperimentEvent::RateTried { rate, broken } => {
                self.step(&tried_rate_text(*rate, *broken));
            }
            ExperimentEvent::Investigating { .. }
            | ExperimentEvent::SearchingPool { .. }
            | ExperimentEvent::SearchingRate { .. } => {
                let Some(stage) = stage_of(event) else { return };
                if self.stage != Some(stage.what) {
                    self.stage = Some(stage.what);
                    self.print_progress_line(&stage.text);
                }
                self.draw(&stage.text);
            }
            ExperimentEvent::Loading { rows, of } => self.loading(*rows, *of),
            ExperimentEvent::Trial(place, event) => self.trial_event(*place, *event),
            ExperimentEvent::Journal(_)
            | ExperimentEvent::Restored
            | ExperimentEvent::Warning(_) => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
        // The line of a block that was interrupted.
        let line = self.block.take();
        line.filter(|_| !self.live).iter().for_each(|line| self.print_progress_line(line));
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use truetps_record::{Configuration, Counts, Phase, ScheduledTrial, TrialRole};

    use super::*;

    #[test]
    fn an_experiment_that_plans_as_it_goes_shows_no_end() {
        let trial = ScheduledTrial {
            name: "trial-0003".to_owned(),
            block: 0,
            position: 2,
            role: TrialRole::Cell,
            configuration: Configuration { levels: IndexMap::new() },
            mixture: None,
        };
        let check = |of, left: Option<u64>, expect: &str| {
            let place =
                TrialPlace { trial: &trial, index: 2, of, left: left.map(Duration::from_secs) };
            assert_eq!(trial_number(place) + &left_text(place), expect);
        };
        check(Some(8), Some(70), "[3/8]  left 1 min 10 s");
        check(Some(3), Some(0), "[3/3]  left 0 s");
        check(Some(8), None, "[3/8]");
        check(None, None, "[3]");
    }

    /// While it lasts, a standstill from the beginning on has no level to be below.
    #[test]
    fn a_standstill_is_reported_when_the_trial_ends() {
        let mut progress = Progress::new();
        for second in 0..4 {
            let counts = Counts { in_flight: 4, ..Counts::default() };
            let interval =
                Interval::of_counts(Phase::Measure, f64::from(second) * 1e3, 1e3, counts);
            let so_far =
                progress.trial.stalls.interval(&Interval { buckets: vec![0; 10], ..interval });
            assert_eq!(so_far.count, 0);
        }
        assert_eq!(progress.stalls_text(), "  1 stall, longest 4.00 s");
    }
}
