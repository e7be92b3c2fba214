//! The line of an interval: its parts, and what of them is left out where the terminal is narrow.

use std::time::Duration;

use truetps_analysis::{ProbeNow, StallsSoFar};
use truetps_record::{Interval, Phase};
use truetps_report::format;

/// A configuration that is cut shorter than this says nothing.
const CONFIGURATION_MIN: usize = 12;

/// What a part is, in the order in which they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Left,
    State,
    Redo,
    Median,
    Configuration,
    Trial,
    Tail,
    Failed,
    /// Never left out.
    Core,
}

/// Parts in the order in which they are shown.
#[derive(Debug)]
pub(crate) struct ProgressLine(Vec<(Worth, String)>);

impl ProgressLine {
    /// What an interval says, with what is known of stalls and server at its end.
    pub(crate) fn of(interval: &Interval, stalls: StallsSoFar, probe: &ProbeNow) -> Self {
        let response = &interval.response;
        let failed = interval.counts.failed;
        let mut parts = vec![
            (Worth::Core, Some(format!("{:.0}s", (interval.start_ms + interval.length_ms) / 1e3))),
            (Worth::Core, Some(throughput(interval))),
            (Worth::Median, named_us("p50", response.response_us_p50)),
            (Worth::Tail, named_us("p99", response.response_us_p99)),
        ];
        match &interval.open_loop {
            None => parts.extend([
                (Worth::Tail, named_us("max", response.response_us_max)),
                (Worth::Failed, (failed > 0).then(|| format!("failed {failed}"))),
            ]),
            Some(open) => parts.extend([
                (Worth::Tail, named_us("lag p99", open.lag_us_p99)),
                (Worth::Tail, Some(format!("queue {}", format::count(open.starts.queued)))),
                (
                    Worth::Failed,
                    (open.starts.skipped > 0)
                        .then(|| format!("skipped {}", format::count(open.starts.skipped))),
                ),
                (Worth::Failed, Some(format!("err {failed}"))),
            ]),
        }
        let not_counted = (interval.phase != Phase::Measure).then(|| "(not counted)".to_owned());
        parts.extend([
            (Worth::Core, not_counted),
            (Worth::Redo, probe.redo_share.map(|share| format!("redo {:.0}%", share * 100.0))),
            (Worth::State, waits(probe)),
            (Worth::Core, stall(stalls)),
        ]);
        Self(parts.into_iter().filter_map(|(worth, text)| Some((worth, text?))).collect())
    }

    /// The line of an interval within an experiment: the trial's number and configuration in front,
    /// and the time that is left before a stall.
    pub(crate) fn within_experiment(
        mut self,
        trial: &str,
        configuration: &str,
        left: Option<Duration>,
    ) -> Self {
        let stall = self.0.pop_if(|(_, text)| text.starts_with(STALL));
        if let Some(left) = left {
            self.0.push((Worth::Left, format!("left {}", format::duration(left))));
        }
        self.0.extend(stall);
        let front =
            [(Worth::Trial, trial.to_owned()), (Worth::Configuration, configuration.to_owned())];
        self.0.splice(0..0, front);
        self
    }

    /// As much of it as has room, what matters most first.
    pub(crate) fn fitting(mut self, columns: usize) -> String {
        loop {
            let over = self.length().saturating_sub(columns);
            let least = self.0.iter().enumerate().min_by_key(|(_, (worth, _))| *worth);
            let Some((index, (worth, text))) =
                least.filter(|(_, (worth, _))| over > 0 && *worth < Worth::Core)
            else {
                return self.0.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(GAP);
            };
            let kept = text.chars().count().saturating_sub(over + 1);
            if *worth == Worth::Configuration && kept >= CONFIGURATION_MIN {
                let short: String = text.chars().take(kept).collect();
                self.0[index] = (Worth::Core, short + "…");
            } else {
                self.0.remove(index);
            }
        }
    }

    fn length(&self) -> usize {
        let texts: usize = self.0.iter().map(|(_, text)| text.chars().count()).sum();
        texts + GAP.len() * self.0.len().saturating_sub(1)
    }
}

/// `p99 1.20 ms`
fn named_us(name: &str, us: Option<f64>) -> Option<String> {
    us.map(|us| format!("{name} {}", format::duration_us(us)))
}

const GAP: &str = "  ";
const STALL: &str = "STALL";

/// `998.0 tps`; of an open loop `998.0/1 000 tps`, with what the schedule had.
pub(crate) fn throughput(interval: &Interval) -> String {
    let tps = format::tps(interval.tps);
    let Some(open) = &interval.open_loop else { return format!("{tps} tps") };
    let scheduled = open.starts.scheduled as f64 / (interval.length_ms.max(1.0) / 1e3);
    format!("{tps}/{} tps", format::tps(scheduled))
}

/// The state that most sessions wait in: `waits Commit 12`; or `no answer 2.5s`.
fn waits(probe: &ProbeNow) -> Option<String> {
    if let Some(outage) = probe.outage {
        return Some(format!("no answer {:.1}s", outage.length_ms() / 1e3));
    }
    let top = probe.states.as_ref()?.first()?;
    Some(format!("waits {} {:.0}", top.name, top.sessions))
}

/// How long the stall lasts that goes on, or how much of the interval was one: `STALL 0.3s`.
fn stall(stalls: StallsSoFar) -> Option<String> {
    let length_ms = stalls.going_on_ms.unwrap_or(stalls.stalled_ms);
    (length_ms > 0.0).then(|| format!("{STALL} {:.1}s", length_ms / 1e3))
}

#[cfg(test)]
mod tests {
    use truetps_analysis::LiveWait;
    use truetps_record::{Counts, LatencyFigures, OpenLoop, StartCounts};

    use super::*;

    fn interval(open_loop: Option<OpenLoop>, failed: u64) -> Interval {
        let counts = Counts { ok: 998, failed, ..Counts::default() };
        Interval {
            response: LatencyFigures {
                response_us_p50: Some(300.0),
                response_us_p99: Some(2100.0),
                response_us_max: Some(9000.0),
                ..LatencyFigures::default()
            },
            open_loop,
            ..Interval::of_counts(Phase::Measure, 11_000.0, 1000.0, counts)
        }
    }

    fn quiet(interval: &Interval) -> ProgressLine {
        ProgressLine::of(interval, StallsSoFar::default(), &ProbeNow::default())
    }

    fn check(interval: &Interval, expect: &str) {
        assert_eq!(quiet(interval).fitting(200), expect);
    }

    #[test]
    fn a_closed_loop_shows_its_slowest_transaction() {
        check(&interval(None, 0), "12s  998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms");
        check(&interval(None, 2), "12s  998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms  failed 2");
        let warm_up = Interval { phase: Phase::WarmUp, ..interval(None, 0) };
        check(&warm_up, "12s  998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms  (not counted)");
    }

    #[test]
    fn an_open_loop_shows_rate_lag_and_queue() {
        let open = |skipped, queued| {
            let starts = StartCounts { scheduled: 1000, skipped, queued, ..StartCounts::default() };
            Some(OpenLoop { starts, lag_us_p99: Some(200.0), ..OpenLoop::default() })
        };
        check(
            &interval(open(0, 0), 0),
            "12s  998.0/1 000 tps  p50 300 µs  p99 2.10 ms  lag p99 200 µs  queue 0  err 0",
        );
        check(
            &interval(open(7, 1234), 3),
            "12s  998.0/1 000 tps  p50 300 µs  p99 2.10 ms  lag p99 200 µs  queue 1 234  skipped \
             7  err 3",
        );
    }

    fn with_all() -> ProgressLine {
        let waits = vec![LiveWait { name: "Commit".to_owned(), sessions: 12.0 }];
        let probe =
            ProbeNow { redo_share: Some(0.614), states: Some(waits), ..ProbeNow::default() };
        let stalls = StallsSoFar {
            stalled_ms: 300.0,
            count: 1,
            longest_ms: 300.0,
            ..StallsSoFar::default()
        };
        let configuration = "innodb_flush_log_at_trx_commit=1 connections=50";
        ProgressLine::of(&interval(None, 2), stalls, &probe).within_experiment(
            "[1/3]",
            configuration,
            Some(Duration::from_secs(70)),
        )
    }

    #[test]
    fn server_and_stall_are_reported_where_there_is_something() {
        assert_eq!(
            with_all().fitting(200),
            "[1/3]  innodb_flush_log_at_trx_commit=1 connections=50  12s  998.0 tps  p50 300 µs  \
             p99 2.10 ms  max 9.00 ms  failed 2  redo 61%  waits Commit 12  left 1 min 10 s  STALL \
             0.3s"
        );
        let without_end = quiet(&interval(None, 0)).within_experiment("[3]", "rate=9", None);
        assert_eq!(
            without_end.fitting(200),
            "[3]  rate=9  12s  998.0 tps  p50 300 µs  p99 2.10 ms  max 9.00 ms"
        );
        let going_on =
            StallsSoFar { stalled_ms: 1e3, going_on_ms: Some(2300.0), ..StallsSoFar::default() };
        assert_eq!(stall(going_on).as_deref(), Some("STALL 2.3s"));
    }

    #[test]
    fn a_narrow_terminal_loses_what_matters_least() {
        let check = |columns, expect: &str| {
            let text = with_all().fitting(columns);
            assert_eq!(text, expect);
            assert!(text.chars().count() <= columns);
        };
        check(
            119,
            "[1/3]  innodb_flush_log_at_trx_commit=1 connections=50  12s  998.0 tps  p99 2.10 ms  \
             max 9.00 ms  failed 2  STALL 0.3s",
        );
        check(
            89,
            "[1/3]  innodb_flush_log_…  12s  998.0 tps  p99 2.10 ms  max 9.00 ms  failed 2  STALL \
             0.3s",
        );
        check(79, "[1/3]  12s  998.0 tps  p99 2.10 ms  max 9.00 ms  failed 2  STALL 0.3s");
        check(40, "12s  998.0 tps  failed 2  STALL 0.3s");
        let short = with_all().fitting(10);
        assert_eq!(short, "12s  998.0 tps  STALL 0.3s");
    }
}
