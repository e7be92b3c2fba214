//! Why a trial is no evidence, and why the load generator was the bottleneck: in `run.json` a code
//! with its numbers. The words are here because the programs that record trials show them, too, and
//! not only reports.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::SCHEMA_VERSION;

/// A code with its numbers, or the words that schema version 1 had instead.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reason<C> {
    Text(String),
    Code(C),
}

/// By hand and not `untagged`, whose errors do not name the code.
impl<'de, C: DeserializeOwned> Deserialize<'de> for Reason<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        let code = match &written {
            Value::String(text) => return Ok(Self::Text(text.clone())),
            other => other["code"].to_string(),
        };
        serde_json::from_value(written).map(Self::Code).map_err(|error| {
            let error = error.to_string();
            let problem = error.split(", expected").next().unwrap_or_default();
            D::Error::custom(format!(
                "code {code} is not a reason of schema version {SCHEMA_VERSION}: {problem}"
            ))
        })
    }
}

/// Why a trial is invalid or partial. `error` is the first message of the server or of the
/// operating system; `log` has the last lines of the server's log, and is absent where truetps
/// cannot read it.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NoEvidence {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The parts of a load did not start, or did not all end, together.
    #[error("the load was not whole: {problem}")]
    PartsApart { problem: String },
    /// In a trial's file until the trial ends.
    #[error("truetps ended before the trial did")]
    NotEnded,
    /// In a trial's file until truetps has asked whether another session changed the server.
    #[error("truetps ended before it had checked the server")]
    ServerNotChecked,
    /// `--forced-shutdown` of sysbench ended it before all events had ended.
    #[error("--forced-shutdown ended it before all events had ended")]
    ForcedShutdown,
    /// Events had not ended long after the time of the run.
    #[error("events had not ended long after --time (--drain-timeout)")]
    DrainTimeout,
    /// The load could not begin.
    #[error("{error}")]
    NotStarted { error: String },
    /// What was measured could not be written to the end.
    #[error("not recorded to the end: {error}")]
    NotRecorded { error: String },
    /// There was no server in its initial state.
    #[error("the server could not be prepared: {error}")]
    ServerNotPrepared { error: String },
    /// A private server has ended; `status` is how.
    #[error("the server died ({status}){}", log_tail(.log.as_deref()))]
    ServerDied { status: String, log: Option<String> },
    /// The server no longer answered a query after the load.
    #[error("the server no longer answers ({error}){}", log_tail(.log.as_deref()))]
    ServerSilent { error: String, log: Option<String> },
    /// An external server was restarted, or another session changed it.
    #[error("{change}")]
    ServerChanged { change: String },
    /// `at_limit`: the server limits the number of sessions.
    #[error("no client could connect: {}{}", reported(.error.as_deref()), session_limit(*.at_limit))]
    NoClientConnected { error: Option<String>, at_limit: bool },
    /// Likewise of some clients.
    #[error(
        "{clients} of {of} clients could not connect: {}{}",
        reported(.error.as_deref()), session_limit(*.at_limit)
    )]
    ClientsNotConnected { clients: u32, of: u32, error: Option<String>, at_limit: bool },
    /// Before the end of the measure phase.
    #[error("all clients lost their connection: {}", reported(.error.as_deref()))]
    AllClientsLost { error: Option<String> },
    /// Likewise of some clients.
    #[error("{clients} clients lost their connection: {}", reported(.error.as_deref()))]
    ClientsLost { clients: u32, error: Option<String> },
    /// `hangs`: no client had an answer in that time.
    #[error(
        "{clients} of {of} clients had no answer {seconds} s after the end{}",
        hang_or_slow(*.hangs)
    )]
    ClientsUnanswered { clients: u32, of: u32, seconds: u64, hangs: bool },
    /// More than half of the clients never ended a transaction.
    #[error("{clients} of {of} clients finished no transaction in the measured {seconds:.1} s")]
    ClientsUnfinished { clients: u32, of: u32, seconds: f64 },
    /// A client of a personality has ended with an error.
    #[error("a client failed: {}", .error.as_deref().unwrap_or("the reason was printed"))]
    ClientFailed { error: Option<String> },
    /// An error of a class that the plan calls fatal.
    #[error("ended by an error that the plan calls fatal: {error}")]
    FatalError { error: String },
    /// More than the allowed share of the measure phase.
    #[error("{failed} of {of} transactions failed: {}", reported(.error.as_deref()))]
    TransactionsFailed { failed: u64, of: u64, error: Option<String> },
    /// In warm-up or drain, where no failure is allowed.
    #[error("{failed} transactions failed outside the measure phase: {}", reported(.error.as_deref()))]
    FailedOutsideMeasure { failed: u64, error: Option<String> },
    /// The server counted fewer transactions that write than the clients committed.
    #[error(
        "the server counted {counted} transactions that write, and the clients had {commits} \
         committed: what they measured were no commits"
    )]
    FewerCommits { counted: u64, commits: u64 },
    /// The measure phase was never reached.
    #[error("the measure phase was never reached")]
    NotMeasured,
    /// The schedule of an open loop has no start in the measure phase.
    #[error(
        "nothing was scheduled in the measured {seconds:.1} s: raise the rate, or measure for longer"
    )]
    NothingScheduled { seconds: f64 },
    /// No event ended in the measured time.
    #[error("no event ended in the measured time")]
    NothingEnded,
    /// The process or the machine of the load generator did not run.
    #[error(
        "the load generator was suspended for {seconds:.1} s (stopped, frozen, or its machine was \
         paused)"
    )]
    GeneratorSuspended { seconds: f64 },
    /// A trial calls itself valid and has no figures: found when it is read.
    #[error("marked valid, but without figures")]
    FiguresMissing,
    /// Likewise found when the trial is read.
    #[error("its tps is not a throughput: {tps}")]
    TpsImpossible { tps: f64 },
    /// Likewise found when the trial is read.
    #[error("its measure phase has no length: {length_ms} ms")]
    LengthImpossible { length_ms: f64 },
}

/// Why the load generator was the bottleneck. Shares are shares of the measured time, 0 to 1.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum GeneratorLimit {
    /// A worker thread was on a CPU.
    #[error(
        "one of {workers} worker threads was busy for {:.0} % of its time; use more workers",
        .share * 100.0
    )]
    WorkerBusy { workers: u32, share: f64 },
    /// A worker thread was on a CPU for more than this share: concluded from a record without a
    /// judgement.
    #[error("a worker was on a CPU for more than {:.0} % of the time", .share * 100.0)]
    WorkerBusyOver { share: f64 },
    /// A worker that runs a script had no time left: it ran for one share and was ready, but
    /// without a core, for the other. `useful_workers`: more that the clients and the host's cores
    /// would have work for.
    #[error(
        "{} that runs the clients had no time left: {:.0} % running{}{}",
        full_worker(*.workers), .ran * 100.0, waiting(*.waited), more_workers(*.useful_workers)
    )]
    WorkerFull {
        workers: u32,
        ran: f64,
        waited: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        useful_workers: Option<u32>,
    },
    /// One percent of the starts were later than this although a client was free.
    #[error(
        "1 % of the starts were more than {:.1} ms late although a client was free",
        .late_us_p99 / 1e3
    )]
    StartsLate { late_us_p99: f64 },
    /// The worker threads together used the cores that they may use.
    #[error(
        "the worker threads used {cores:.2} of the {of} core{} that they may use",
        if *.of > 1.0 { "s" } else { "" }
    )]
    CoresUsed { cores: f64, of: f64 },
    /// A worker thread was ready and had no core, while others that its process may use were idle.
    /// `None`: not known, as in records of older versions.
    #[error(
        "a worker thread waited for a core for {:.0} % of its time{}",
        .share * 100.0, while_idle(*.idle_cores)
    )]
    WorkerWaited {
        share: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_cores: Option<f64>,
    },
}

fn reported(error: Option<&str>) -> &str {
    error.unwrap_or("no error was reported")
}

fn session_limit(at_limit: bool) -> &'static str {
    if at_limit { " (truetps needs one more session than the number of clients)" } else { "" }
}

/// A server that answers some clients is slow.
fn hang_or_slow(hangs: bool) -> &'static str {
    if hangs { ": the server hangs" } else { ", while others were answered" }
}

fn log_tail(lines: Option<&str>) -> String {
    match lines {
        None => String::new(),
        Some("") => "; its log is empty".to_owned(),
        Some(lines) => format!("; last log lines: {lines}"),
    }
}

fn full_worker(workers: u32) -> String {
    if workers == 1 { "the one thread".to_owned() } else { format!("one of the {workers} threads") }
}

fn waiting(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.5 { String::new() } else { format!(" and {percent:.0} % waiting for a core") }
}

fn more_workers(useful: Option<u32>) -> String {
    useful.map_or(String::new(), |useful| format!("; use --workers={useful}"))
}

fn while_idle(cores: Option<f64>) -> String {
    cores.map_or(String::new(), |idle| {
        format!(" while {idle:.1} of the cores that truetps may use were idle")
    })
}

impl<C> From<C> for Reason<C> {
    fn from(code: C) -> Self {
        Self::Code(code)
    }
}

impl Reason<GeneratorLimit> {
    /// Whether more cores are the remedy: more workers would wait, too.
    pub fn lacks_cores(&self) -> bool {
        match self {
            Self::Code(limit) => {
                matches!(
                    limit,
                    GeneratorLimit::WorkerWaited { .. }
                        | GeneratorLimit::CoresUsed { .. }
                        | GeneratorLimit::WorkerFull { useful_workers: None, .. }
                )
            }
            Self::Text(text) => text.contains("waited for a core"),
        }
    }

    /// Whether it was late, and not short of time.
    pub fn is_lateness(&self) -> bool {
        matches!(self, Self::Code(GeneratorLimit::StartsLate { .. }))
    }

    /// Whether the workers ran a script, whose program has no option for their cores.
    pub fn is_of_script(&self) -> bool {
        matches!(self, Self::Code(GeneratorLimit::WorkerFull { .. }))
    }
}

impl<C: fmt::Display> fmt::Display for Reason<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Code(code) => code.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_code_with_its_numbers() {
        let reason =
            Reason::from(NoEvidence::TransactionsFailed { failed: 3, of: 10, error: None });
        let json = serde_json::to_value(&reason).unwrap();
        let expect = serde_json::json!({ "code": "transactions_failed", "failed": 3, "of": 10, "error": null });
        assert_eq!(json, expect);
        assert_eq!(serde_json::from_value::<Reason<NoEvidence>>(json).unwrap(), reason);
        assert_eq!(reason.to_string(), "3 of 10 transactions failed: no error was reported");
    }

    #[test]
    fn a_code_that_is_not_known_is_named() {
        let error = |json: Value| {
            serde_json::from_value::<Reason<NoEvidence>>(json).unwrap_err().to_string()
        };
        assert_eq!(
            error(serde_json::json!({ "code": "moon_full" })),
            "code \"moon_full\" is not a reason of schema version 2: unknown variant `moon_full`"
        );
        assert_eq!(
            error(serde_json::json!({ "code": "clients_lost", "error": null })),
            "code \"clients_lost\" is not a reason of schema version 2: missing field `clients`"
        );
    }

    #[test]
    fn the_words_of_an_old_record_are_kept() {
        let text = "a worker thread waited for a core for 36 % of its time";
        let old: Reason<GeneratorLimit> = serde_json::from_value(text.into()).unwrap();
        assert_eq!(old, Reason::Text(text.to_owned()));
        assert_eq!(serde_json::to_value(&old).unwrap(), text);
        assert!(old.lacks_cores());
        let older = serde_json::json!({ "code": "worker_waited", "share": 0.36 });
        let older: Reason<GeneratorLimit> = serde_json::from_value(older).unwrap();
        assert_eq!(older, GeneratorLimit::WorkerWaited { share: 0.36, idle_cores: None }.into());
        assert_eq!(older.to_string(), text);
        assert!(older.lacks_cores());
        let new =
            Reason::from(GeneratorLimit::WorkerWaited { share: 0.36, idle_cores: Some(1.42) });
        assert_eq!(
            new.to_string(),
            format!("{text} while 1.4 of the cores that truetps may use were idle")
        );
        let all = Reason::from(GeneratorLimit::CoresUsed { cores: 0.914, of: 1.0 });
        assert_eq!(all.to_string(), "the worker threads used 0.91 of the 1 core that they may use");
        assert!(new.lacks_cores() && all.lacks_cores());
        assert!(!Reason::from(GeneratorLimit::StartsLate { late_us_p99: 2500.0 }).lacks_cores());
    }

    #[test]
    fn a_log_may_be_unreadable_or_empty() {
        let died = |log: Option<&str>| {
            NoEvidence::ServerDied { status: "signal 9".to_owned(), log: log.map(str::to_owned) }
                .to_string()
        };
        assert_eq!(died(None), "the server died (signal 9)");
        assert_eq!(died(Some("")), "the server died (signal 9); its log is empty");
        assert_eq!(died(Some("a | b")), "the server died (signal 9); last log lines: a | b");
    }
}
