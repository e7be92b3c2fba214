//! What the original report leaves out: a block of lines after it.

use truetps_engine::RunOutcome;
use truetps_record::{
    ErrorCount, ErrorTally, GeneratorLimit, Histogram, LatencyFigures, Measured, Reason, Trial,
    Validity, new_histogram, printable_text,
};

/// The result of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub(crate) validity: Validity,
    /// Transactions a second.
    pub(crate) tps: f64,
    /// The requested number of transactions; `None` if time was the limit.
    pub(crate) wanted: Option<u64>,
    pub(crate) acknowledged: u64,
    pub(crate) failed: u64,
    /// Committed row changes, as the server counts them.
    pub(crate) rows_changed: u64,
    pub(crate) clients: u32,
    /// Clients that could not connect, or lost their connection.
    pub(crate) clients_failed: u32,
    /// Errors of connecting, and of all phases.
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) client_cpu_us: Option<f64>,
    pub(crate) server_cpu_us: Option<f64>,
    pub(crate) connect_ms: f64,
    pub(crate) generator_limited: Option<Reason<GeneratorLimit>>,
}

/// All runs of one test.
#[derive(Debug)]
pub(crate) struct Supplement {
    pub(crate) runs: Vec<RunResult>,
    pub(crate) response: Histogram,
    /// The name of a transaction: queries, rows.
    pub(crate) unit: &'static str,
    pub(crate) seed: u64,
}

impl Supplement {
    pub(crate) fn new(unit: &'static str, seed: u64) -> Self {
        Self { runs: Vec::new(), response: new_histogram(), unit, seed }
    }

    /// Whether every run is valid, according to `run.json` alone.
    pub(crate) fn is_valid(&self) -> bool {
        self.runs.iter().all(|run| run.validity.is_valid())
    }

    /// Errors of all runs, each class once, the most frequent first.
    pub(crate) fn errors(&self) -> Vec<ErrorCount> {
        let mut tally = ErrorTally::default();
        tally.append(self.runs.iter().flat_map(|run| &run.errors));
        let mut errors = tally.into_sorted();
        errors.sort_by_key(|error| std::cmp::Reverse(times(error)));
        errors
    }

    /// Lines with a tab before each, after a heading, with an empty line at the end.
    pub(crate) fn block(&self, kept_in: Option<&str>) -> String {
        let mut lines = vec![
            ("throughput", self.throughput()),
            ("response time", self.response_time()),
            ("acknowledged", self.acknowledged()),
            ("clients", self.clients()),
            ("errors", self.error_texts()),
            ("CPU of a transaction", self.cpu()),
            ("validity", self.validity()),
            ("seed", self.seed.to_string()),
        ];
        lines.extend(kept_in.map(|path| ("kept in", path.to_owned())));
        let lines: Vec<_> =
            lines.into_iter().map(|(name, value)| format!("\t{name}: {value}\n")).collect();
        printable_text(&format!("truetps\n{}\n", lines.concat()))
    }

    fn throughput(&self) -> String {
        let rates: Vec<f64> = self.runs.iter().map(|run| run.tps).collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        match &rates[..] {
            [] => "nothing was run".to_owned(),
            [one] => format!("{} tps (one run, so without a spread)", tps(*one)),
            many => {
                let (least, most) = (
                    many.iter().copied().fold(f64::MAX, f64::min),
                    many.iter().copied().fold(0.0, f64::max),
                );
                format!(
                    "{} tps, mean of {} runs from {} to {}",
                    tps(mean),
                    many.len(),
                    tps(least),
                    tps(most)
                )
            }
        }
    }

    fn response_time(&self) -> String {
        let figures = LatencyFigures::of(&self.response);
        format!(
            "p50 {}, p95 {}, p99 {}, max {}",
            time_or(figures.response_us_p50, "–"),
            time_or(figures.response_us_p95, "–"),
            time_or(figures.response_us_p99, "–"),
            time_or(figures.response_us_max, "–")
        )
    }

    fn acknowledged(&self) -> String {
        let acknowledged: u64 = self.runs.iter().map(|run| run.acknowledged).sum();
        let failed: u64 = self.runs.iter().map(|run| run.failed).sum();
        let rows: u64 = self.runs.iter().map(|run| run.rows_changed).sum();
        let wanted: Option<u64> = self.runs.iter().map(|run| run.wanted).sum();
        let of = wanted.map_or_else(String::new, |wanted| format!(" of {wanted}"));
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        format!("{acknowledged}{of} {}{failed}; {rows} rows changed", self.unit)
    }

    fn clients(&self) -> String {
        // All runs have the same number.
        let clients = self.runs.iter().map(|run| run.clients).max().unwrap_or(0);
        let failed = self.runs.iter().map(|run| run.clients_failed).max().unwrap_or(0);
        let connect_ms = self.runs.iter().map(|run| run.connect_ms).fold(0.0, f64::max);
        let runs_with = self.runs.iter().filter(|run| run.clients_failed > 0).count();
        match (failed, self.runs.len()) {
            (0, _) => format!(
                "{clients}, connected within {} before the time began",
                time(connect_ms * 1e3)
            ),
            (_, 1) => format!("{clients}, of which {failed} failed"),
            (_, runs) => format!(
                "{clients}, of which at most {failed} failed in a run, in {runs_with} of {runs} runs"
            ),
        }
    }

    fn error_texts(&self) -> String {
        let texts: Vec<_> = self.errors().iter().map(error_text).collect();
        if texts.is_empty() { "none".to_owned() } else { texts.join("; ") }
    }

    fn cpu(&self) -> String {
        let client = mean(self.runs.iter().map(|run| run.client_cpu_us));
        let server = mean(self.runs.iter().map(|run| run.server_cpu_us));
        format!("client {}, server {}", time_or(client, "not known"), time_or(server, "not known"))
    }

    fn validity(&self) -> String {
        let bad: Vec<_> = self
            .runs
            .iter()
            .map(|run| &run.validity)
            .filter(|validity| !validity.is_valid())
            .collect();
        let of = if self.runs.len() > 1 {
            format!(" ({} of {} runs)", bad.len(), self.runs.len())
        } else {
            String::new()
        };
        match bad.first() {
            Some(Validity::Invalid(reason)) => return format!("INVALID: {reason}{of}"),
            Some(Validity::Partial(reason)) => return format!("partial: {reason}{of}"),
            Some(Validity::Valid) | None => {}
        }
        let limited = self.runs.iter().find_map(|run| run.generator_limited.as_ref());
        limited.map_or_else(
            || "valid".to_owned(),
            |why| format!("valid, but limited by the generator: {why}"),
        )
    }
}

impl RunResult {
    /// The record of a trial as the result of its run.
    pub(crate) fn of(
        trial: &Trial,
        outcome: Option<&RunOutcome>,
        clients: u32,
        wanted: Option<u64>,
    ) -> Self {
        let measured = trial.measured.as_ref();
        let counts = measured.map(|measured| measured.counts).unwrap_or_default();
        let resources = measured.map(|measured| &measured.resources);
        let errors =
            outcome.map(|all| all.connect_errors.iter().chain(all.errors()).cloned().collect());
        Self {
            validity: trial.validity.clone(),
            tps: measured.map_or(0.0, |measured| measured.tps),
            wanted,
            acknowledged: counts.ok,
            failed: counts.failed,
            rows_changed: counts.rows_changed,
            clients,
            clients_failed: trial.engine.as_ref().map_or(clients, |engine| engine.clients_failed),
            errors: errors.unwrap_or_default(),
            client_cpu_us: resources.and_then(|resources| resources.client_cpu_us_per_tx),
            server_cpu_us: measured.and_then(Measured::server_cpu_us_per_tx),
            connect_ms: outcome.map_or(0.0, |outcome| outcome.connect_ms),
            generator_limited: measured.and_then(|measured| measured.generator_limited.clone()),
        }
    }
}

/// How often an error occurred, whether it ended the transaction or not.
pub(crate) fn times(error: &ErrorCount) -> u64 {
    error.count + error.retried
}

/// `60 connect_failed (Too many connections)`.
pub(crate) fn error_text(error: &ErrorCount) -> String {
    format!("{} {} ({})", times(error), error.class, error.first_message)
}

/// Significant digits, in groups of three.
fn tps(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for at in (first..digits.len()).step_by(3) {
        if at > 0 {
            text.push(' ');
        }
        text += &digits[at..at + 3];
    }
    text
}

/// `None` if one of them is not known, or there are none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all = values.collect::<Option<Vec<f64>>>().filter(|all| !all.is_empty())?;
    Some(all.iter().sum::<f64>() / all.len() as f64)
}

fn time_or(us: Option<f64>, unknown: &str) -> String {
    us.map_or_else(|| unknown.to_owned(), time)
}

/// Microseconds, in a suitable unit.
fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1e3 => (us, "µs"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(tps: f64) -> RunResult {
        RunResult {
            validity: Validity::Valid,
            tps,
            wanted: Some(10),
            acknowledged: 10,
            failed: 0,
            rows_changed: 10,
            clients: 4,
            clients_failed: 0,
            errors: Vec::new(),
            client_cpu_us: Some(8.25),
            server_cpu_us: None,
            connect_ms: 12.0,
            generator_limited: None,
        }
    }

    #[test]
    fn a_test_of_two_runs() {
        let mut truth = Supplement::new("queries", 7);
        truth.runs = vec![ran(12_345.6), ran(99.96)];
        for ns in [1_000_000, 2_000_000] {
            truth.response.record(ns).unwrap();
        }
        assert_eq!(
            truth.block(Some("runs/slap-1")),
            "truetps\n\tthroughput: 6 223 tps, mean of 2 runs from 100.0 to 12 346\n\
             \tresponse time: p50 1.00 ms, p95 2.00 ms, p99 2.00 ms, max 2.00 ms\n\
             \tacknowledged: 20 of 20 queries; 20 rows changed\n\tclients: 4, connected within \
             12.0 ms before the time began\n\
             \terrors: none\n\tCPU of a transaction: client 8.25 µs, server not known\n\tvalidity: \
             valid\n\
             \tseed: 7\n\tkept in: runs/slap-1\n\n"
        );
        assert!(truth.is_valid());
    }

    #[test]
    fn errors_are_reported() {
        let mut truth = Supplement::new("queries", 1);
        let validity = Validity::Invalid(Reason::Text("2 of 10 transactions failed".to_owned()));
        let errors = vec![error("deadlock", 1213, 2, 1)];
        truth.runs = vec![RunResult {
            validity,
            failed: 2,
            acknowledged: 8,
            clients_failed: 1,
            errors,
            ..ran(1.0)
        }];
        let block = truth.block(None);
        assert!(!truth.is_valid());
        for text in [
            "8 of 10 queries, 2 failed; 10 rows",
            "4, of which 1 failed",
            "3 deadlock (said 1213)",
            "INVALID: 2 of 10 transactions failed\n",
        ] {
            assert!(block.contains(text), "{text}: {block}");
        }
    }

    fn error(class: &str, code: u16, count: u64, retried: u64) -> ErrorCount {
        ErrorCount {
            class: class.parse().unwrap(),
            code,
            count,
            retried,
            first_message: format!("said {code}"),
        }
    }

    #[test]
    fn several_runs_are_listed_apart_and_their_errors_together() {
        let mut truth = Supplement::new("queries", 1);
        let bad = |clients_failed, errors| RunResult {
            validity: Validity::Invalid(Reason::Text("clients could not connect".to_owned())),
            clients: 50,
            clients_failed,
            errors,
            ..ran(1.0)
        };
        let refused = |count| error("connect_failed", 1040, count, 0);
        truth.runs = vec![
            bad(6, vec![refused(6)]),
            RunResult { clients: 50, ..ran(1.0) },
            bad(4, vec![error("connection_lost", 0, 0, 5), refused(4)]),
        ];
        let block = truth.block(None);
        for text in [
            "clients: 50, of which at most 6 failed in a run, in 2 of 3 runs\n",
            "errors: 10 connect_failed (said 1040); 5 connection_lost (said 0)\n",
            "validity: INVALID: clients could not connect (2 of 3 runs)\n",
        ] {
            assert!(block.contains(text), "{text}: {block}");
        }
    }

    #[test]
    fn figures() {
        assert_eq!(
            [999.6, 1_000.0, 1_234_567.0, 12.0].map(tps),
            ["1 000", "1 000", "1 234 567", "12.0"]
        );
        assert_eq!(
            [0.5, 999.0, 12_345.0, 2e6].map(time),
            ["0.50 µs", "999 µs", "12.3 ms", "2.00 s"]
        );
    }
}
