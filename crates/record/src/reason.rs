//! Why a trial is no evidence, and why the load generator was the bottleneck: in `run.json` a code with its numbers. The
//! words are here because the programs that record trials show them, too, and not only reports.

use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

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
        let wrong = |error: serde_json::Error| {
            let error = error.to_string();
            let problem = error.split(", expected").next().unwrap_or_default();
            D::Error::custom(format!(
                "code {code} is no reason of schema version {SCHEMA_VERSION}: {problem}"
            ))
        };
        serde_json::from_value(written).map(Self::Code).map_err(wrong)
    }
}

/// Why a trial is invalid or partial. `error` is the first message of the server or of the operating system; `log` has
/// the last lines of the server's log, and is absent where truetps cannot read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NoEvidence {
    /// By the user.
    Interrupted,
    /// The parts of a load did not start, or did not all end, together.
    PartsApart { problem: String },
    /// In a trial's file until the trial ends.
    NotEnded,
    /// In a trial's file until truetps has asked whether another session changed the server.
    ServerNotChecked,
    /// By `--forced-shutdown` of sysbench, before all events had ended.
    ForcedShutdown,
    /// Events had not ended long after the time of the run.
    DrainTimeout,
    /// The load could not begin.
    NotStarted { error: String },
    /// What was measured could not be written to the end.
    NotRecorded { error: String },
    /// There was no server in its initial state.
    ServerNotPrepared { error: String },
    /// A private server has ended; `status` is how.
    ServerDied { status: String, log: Option<String> },
    /// It no longer answered a query after the load.
    ServerSilent { error: String, log: Option<String> },
    /// An external server was restarted, or another session changed it.
    ServerChanged { change: String },
    /// `at_limit`: the server limits the number of sessions.
    NoClientConnected { error: Option<String>, at_limit: bool },
    /// Likewise of some clients.
    ClientsNotConnected { clients: u32, of: u32, error: Option<String>, at_limit: bool },
    /// Before the end of the measure phase.
    AllClientsLost { error: Option<String> },
    /// Likewise of some clients.
    ClientsLost { clients: u32, error: Option<String> },
    /// `hangs`: no client had an answer in that time.
    ClientsUnanswered { clients: u32, of: u32, seconds: u64, hangs: bool },
    /// More than half of the clients never ended a transaction.
    ClientsUnfinished { clients: u32, of: u32, seconds: f64 },
    /// A client of a personality has ended with an error.
    ClientFailed { error: Option<String> },
    /// Of a class that the plan calls fatal.
    FatalError { error: String },
    /// More than the allowed share of the measure phase.
    TransactionsFailed { failed: u64, of: u64, error: Option<String> },
    /// In warm-up or drain, where no failure is allowed.
    FailedOutsideMeasure { failed: u64, error: Option<String> },
    /// The server counted fewer transactions that write than the clients committed.
    FewerCommits { counted: u64, commits: u64 },
    /// The measure phase was never reached.
    NotMeasured,
    /// The schedule of an open loop has no start in the measure phase.
    NothingScheduled { seconds: f64 },
    /// No event ended in the measured time.
    NothingEnded,
    /// The process or the machine of the load generator did not run.
    GeneratorSuspended { seconds: f64 },
    /// Of a trial that calls itself valid: found when it is read.
    FiguresMissing,
    /// Likewise.
    TpsImpossible { tps: f64 },
    /// Likewise.
    LengthImpossible { length_ms: f64 },
}

/// Why the load generator was the bottleneck. Shares are shares of the measured time, 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum GeneratorLimit {
    /// A worker thread was on a CPU.
    WorkerBusy { workers: u32, share: f64 },
    /// A worker thread was on a CPU for more than this share: concluded from a record without a judgement.
    WorkerBusyOver { share: f64 },
    /// A worker that runs a script had no time left: it ran for one share and was ready, but without a core, for the
    /// other. `useful_workers`: more that the clients and the host's cores would have work for.
    WorkerFull {
        workers: u32,
        ran: f64,
        waited: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        useful_workers: Option<u32>,
    },
    /// One percent of the starts were later than this although a client was free.
    StartsLate { late_us_p99: f64 },
    /// The worker threads together used the cores that they may use.
    CoresUsed { cores: f64, of: f64 },
    /// A worker thread was ready and had no core, while others that its process may use were idle. `None`: not known, as
    /// in records of older versions.
    WorkerWaited {
        share: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_cores: Option<f64>,
    },
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

impl fmt::Display for NoEvidence {
    #[expect(clippy::too_many_lines, reason = "a table: one text for each variant")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::NotEnded => f.write_str("truetps ended before the trial did"),
            Self::ServerNotChecked => f.write_str("truetps ended before it had checked the server"),
            Self::ForcedShutdown => {
                f.write_str("--forced-shutdown ended it before all events had ended")
            }
            Self::DrainTimeout => {
                f.write_str("events had not ended long after --time (--drain-timeout)")
            }
            Self::NotMeasured => f.write_str("the measure phase was never reached"),
            Self::NothingEnded => f.write_str("no event ended in the measured time"),
            Self::FiguresMissing => f.write_str("marked valid, but without figures"),
            Self::TpsImpossible { tps } => write!(f, "its tps is no throughput: {tps}"),
            Self::LengthImpossible { length_ms } => {
                write!(f, "its measure phase has no length: {length_ms} ms")
            }
            Self::NotStarted { error: text } | Self::ServerChanged { change: text } => {
                f.write_str(text)
            }
            Self::NotRecorded { error } => write!(f, "not recorded to the end: {error}"),
            Self::ServerNotPrepared { error } => {
                write!(f, "the server could not be prepared: {error}")
            }
            Self::ServerDied { status, log } => {
                write!(f, "the server died ({status}){}", log_tail(log.as_deref()))
            }
            Self::ServerSilent { error, log } => {
                write!(f, "the server no longer answers ({error}){}", log_tail(log.as_deref()))
            }
            Self::PartsApart { problem } => write!(f, "the load was not whole: {problem}"),
            Self::NoClientConnected { error, at_limit } => {
                write!(
                    f,
                    "no client could connect: {}{}",
                    first(error.as_deref()),
                    session_limit(*at_limit)
                )
            }
            Self::ClientsNotConnected { clients, of, error, at_limit } => {
                let (error, limit) = (first(error.as_deref()), session_limit(*at_limit));
                write!(f, "{clients} of {of} clients could not connect: {error}{limit}")
            }
            Self::AllClientsLost { error } => {
                write!(f, "all clients lost their connection: {}", first(error.as_deref()))
            }
            Self::ClientsLost { clients, error } => {
                write!(f, "{clients} clients lost their connection: {}", first(error.as_deref()))
            }
            Self::ClientsUnanswered { clients, of, seconds, hangs } => {
                // A server that answers some clients is slow.
                let hangs =
                    if *hangs { ": the server hangs" } else { ", while others were answered" };
                write!(
                    f,
                    "{clients} of {of} clients had no answer {seconds} s after the end{hangs}"
                )
            }
            Self::ClientsUnfinished { clients, of, seconds } => {
                write!(
                    f,
                    "{clients} of {of} clients finished no transaction in the measured {seconds:.1} s"
                )
            }
            Self::ClientFailed { error } => {
                write!(
                    f,
                    "a client failed: {}",
                    error.as_deref().unwrap_or("the reason was printed")
                )
            }
            Self::FatalError { error } => {
                write!(f, "ended by an error that the plan calls fatal: {error}")
            }
            Self::TransactionsFailed { failed, of, error } => {
                write!(f, "{failed} of {of} transactions failed: {}", first(error.as_deref()))
            }
            Self::FailedOutsideMeasure { failed, error } => {
                write!(
                    f,
                    "{failed} transactions failed outside the measure phase: {}",
                    first(error.as_deref())
                )
            }
            Self::FewerCommits { counted, commits } => {
                write!(
                    f,
                    "the server counted {counted} transactions that write, and the clients had {commits} committed: what they measured were no commits"
                )
            }
            Self::NothingScheduled { seconds } => {
                write!(
                    f,
                    "nothing was scheduled in the measured {seconds:.1} s: raise the rate, or measure for longer"
                )
            }
            Self::GeneratorSuspended { seconds } => write!(
                f,
                "the load generator was suspended for {seconds:.1} s (stopped, frozen, or its machine was paused)"
            ),
        }
    }
}

fn first(error: Option<&str>) -> &str {
    error.unwrap_or("no error was reported")
}

fn session_limit(at_limit: bool) -> &'static str {
    if at_limit { " (truetps needs one more session than the number of clients)" } else { "" }
}

fn log_tail(lines: Option<&str>) -> String {
    match lines {
        None => String::new(),
        Some("") => "; its log is empty".to_owned(),
        Some(lines) => format!("; last log lines: {lines}"),
    }
}

impl fmt::Display for GeneratorLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkerBusy { workers, share } => {
                let busy = share * 100.0;
                write!(
                    f,
                    "one of {workers} worker threads was busy for {busy:.0} % of its time; use more workers"
                )
            }
            Self::WorkerBusyOver { share } => {
                write!(f, "a worker was on a CPU for more than {:.0} % of the time", share * 100.0)
            }
            Self::WorkerFull { workers, ran, waited, useful_workers } => {
                let which = if *workers == 1 {
                    "the one thread".to_owned()
                } else {
                    format!("one of the {workers} threads")
                };
                let (ran, waited) = (ran * 100.0, waited * 100.0);
                write!(f, "{which} that runs the clients had no time left: {ran:.0} % running")?;
                if waited >= 0.5 {
                    write!(f, " and {waited:.0} % waiting for a core")?;
                }
                useful_workers.map_or(Ok(()), |useful| write!(f, "; use --workers={useful}"))
            }
            Self::StartsLate { late_us_p99 } => {
                let ms = late_us_p99 / 1e3;
                write!(
                    f,
                    "1 % of the starts were more than {ms:.1} ms late although a client was free"
                )
            }
            Self::CoresUsed { cores, of } => {
                let s = if *of > 1.0 { "s" } else { "" };
                write!(
                    f,
                    "the worker threads used {cores:.2} of the {of} core{s} that they may use"
                )
            }
            Self::WorkerWaited { share, idle_cores } => {
                write!(
                    f,
                    "a worker thread waited for a core for {:.0} % of its time",
                    share * 100.0
                )?;
                match idle_cores {
                    Some(idle) => {
                        write!(f, " while {idle:.1} of the cores that truetps may use were idle")
                    }
                    None => Ok(()),
                }
            }
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
            "code \"moon_full\" is no reason of schema version 2: unknown variant `moon_full`"
        );
        assert_eq!(
            error(serde_json::json!({ "code": "clients_lost", "error": null })),
            "code \"clients_lost\" is no reason of schema version 2: missing field `clients`"
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
