//! One session with a server, and the queries that it answers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError, Target, Traffic, server_settings};
use truetps_record::{AbsentSignal, Flavour, ProbeSource, SignalGroup, SqlDialect};

use crate::watch::offer::{server_said, why_refused};
use crate::watch::reading::{ProbeReading, ProbeValues};
use crate::watch::shape::ProbeQuestion;
use crate::watch::signals::{SIGNALS, signal_groups};
use crate::watch::{mysql, postgres};

/// Time limit of the first login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of an answer, after which the session is lost. Until then an answer is late, but
/// valid.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Shortest time between two attempts to restore a lost session.
const AGAIN: Duration = Duration::from_secs(1);
/// A statement that the server has refused this many times in a row is not sent again.
const REFUSALS_MAX: u32 = 3;

struct QuestionState {
    question: ProbeQuestion,
    /// Number in a row.
    refusals: u32,
}

/// Watches a server with its own session, which is never a measured one.
pub struct ServerWatch {
    target: Target,
    client: Option<Client>,
    asked: Vec<QuestionState>,
    pid: Option<u32>,
    version: String,
    /// When a lost session may be restored.
    next_try: Instant,
    /// Traffic of earlier sessions: the server's traffic counters include it, but it is not the
    /// load's.
    traffic_before: Traffic,
}

impl fmt::Debug for ServerWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerWatch")
            .field("target", &self.target)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl ServerWatch {
    /// Logs in and finds out what can be read, and what is absent. Takes at most a few seconds if
    /// the server hangs.
    ///
    /// # Errors
    ///
    /// The login failed, or the server does not answer.
    pub fn begin(target: &Target) -> Result<(Self, Vec<AbsentSignal>), DriverError> {
        let mut target = Target {
            setup: Vec::new(),
            connections: None,
            sends_local_files: false,
            ..target.clone()
        };
        if target.dialect == SqlDialect::Mysql {
            // No query needs it, and it may be dropped during the watch.
            target.login.database = None;
        }
        let mut client = Client::connect(&target, LOGIN_TIMEOUT)?;
        let offers = match target.dialect {
            SqlDialect::Mysql => mysql::offers(&mut client)?,
            SqlDialect::Postgres => postgres::offers(&mut client)?,
        };
        let (mut asked, mut absent) = (Vec::new(), Vec::new());
        for offer in offers {
            absent.extend(offer.absent);
            match understood(&mut client, offer.questions)? {
                Ok(None) => {}
                Ok(Some(question)) => asked.push(QuestionState { question, refusals: 0 }),
                Err(signal) => absent.push(signal),
            }
        }
        let version = match target.dialect {
            SqlDialect::Mysql => "SELECT CONCAT(@@version, ' ', @@version_comment)",
            SqlDialect::Postgres => "SELECT version()",
        };
        let version = server_said(client.query_value(version))?.ok().flatten().unwrap_or_default();
        client.set_timeout(ANSWER_TIMEOUT)?;
        let pid = client.peer_pid();
        Ok((
            Self {
                target,
                client: Some(client),
                asked,
                pid,
                version,
                next_try: Instant::now(),
                traffic_before: Traffic::default(),
            },
            absent,
        ))
    }

    /// All sources of a server of this kind as absent, for a server that cannot be queried.
    pub fn all_absent(dialect: SqlDialect, why: &str) -> Vec<AbsentSignal> {
        let places = match dialect {
            SqlDialect::Mysql => mysql::PLACES,
            SqlDialect::Postgres => postgres::PLACES,
        };
        places
            .iter()
            .map(|what| AbsentSignal { what: (*what).to_owned(), why: why.to_owned() })
            .collect()
    }

    /// All values that readings may have.
    pub fn signals(&self) -> impl Iterator<Item = SignalGroup> {
        let own = signal_groups(ProbeSource::Server, "probe", &SIGNALS.probe);
        self.asked.iter().flat_map(|asked| asked.question.signals()).chain(own)
    }

    /// The process behind a unix socket.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The version that the server reports.
    pub fn version_text(&self) -> &str {
        &self.version
    }

    /// `None` if the server does not report its version.
    pub fn flavour(&self) -> Option<Flavour> {
        (!self.version.is_empty()).then(|| Flavour::from_version_text(&self.version))
    }

    /// Whether the session limits of the account and of the server allow this many further sessions
    /// besides the current ones, which include this session. Yes, if the limits are unknown.
    pub fn leaves_room_for(&mut self, clients: u32) -> bool {
        let questions = match self.target.dialect {
            SqlDialect::Mysql => [mysql::ROOM, mysql::SERVER_ROOM],
            SqlDialect::Postgres => [postgres::ROOM, postgres::SERVER_ROOM],
        };
        questions.into_iter().all(|sql| {
            let answer = self.client.as_mut().and_then(|client| client.query(sql).ok());
            let row = answer.and_then(|answer| answer.rows.into_iter().next()).unwrap_or_default();
            let numbers: Vec<i64> = row.into_iter().filter_map(|cell| cell?.parse().ok()).collect();
            let [limit, in_use] = numbers[..] else { return true };
            limit < 0 || i64::from(clients) <= limit - in_use
        })
    }

    /// The server's settings; `None`: they could not be read.
    pub fn settings(&mut self) -> Option<BTreeMap<String, String>> {
        server_settings(self.client.as_mut()?).ok()
    }

    /// Queries everything once, in a new session if the last one was ended. `None`: the server has
    /// not answered; a later reading tries to make a new session.
    pub fn read(&mut self) -> Option<ProbeReading> {
        self.ask_all().or_else(|| self.ask_all())
    }

    fn ask_all(&mut self) -> Option<ProbeReading> {
        if self.client.is_none() && !self.connect_again() {
            return None;
        }
        let client = self.client.as_mut()?;
        let mut reading = ProbeReading::default();
        for asked in &mut self.asked {
            match server_said(client.query(&asked.question.sql)) {
                Ok(Ok(answer)) => {
                    asked.refusals = 0;
                    asked.question.read_values(&answer, &mut reading.values);
                }
                Ok(Err(why)) => {
                    asked.refusals += 1;
                    reading.absent(asked.question.what, why.to_string());
                }
                Err(_) => {
                    let all = plus(self.traffic_before, client.traffic());
                    (self.client, self.traffic_before) = (None, all);
                    return None;
                }
            }
        }
        let own = plus(self.traffic_before, client.traffic());
        reading.put("probe.sent_bytes", own.sent_bytes as f64);
        reading.put("probe.received_bytes", own.received_bytes as f64);
        self.asked.retain(|asked| asked.refusals < REFUSALS_MAX);
        Some(reading)
    }

    fn connect_again(&mut self) -> bool {
        if Instant::now() < self.next_try {
            return false;
        }
        self.next_try = Instant::now() + AGAIN;
        // The timeout of an answer: servers count aborted logins, and may block their host.
        self.client = Client::connect(&self.target, ANSWER_TIMEOUT).ok();
        self.pid = self.client.as_ref().and_then(Client::peer_pid);
        self.client.is_some()
    }
}

fn plus(one: Traffic, other: Traffic) -> Traffic {
    Traffic {
        sent_bytes: one.sent_bytes + other.sent_bytes,
        received_bytes: one.received_bytes + other.received_bytes,
    }
}

/// The first of these queries that the server answers; `None` if the list is empty.
fn understood(
    client: &mut Client,
    questions: Vec<ProbeQuestion>,
) -> Result<Result<Option<ProbeQuestion>, AbsentSignal>, DriverError> {
    let Some(what) = questions.first().map(|question| question.what) else { return Ok(Ok(None)) };
    let what = what.to_owned();
    let mut refusals = Vec::new();
    for question in questions {
        match server_said(client.query(&question.sql))? {
            Ok(answer) if is_empty(&question, &answer) => {
                let why = "the server reports no data for it".to_owned();
                return Ok(Err(AbsentSignal { what, why }));
            }
            Ok(_) => return Ok(Ok(Some(question))),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Ok(Err(AbsentSignal { what, why: why_refused(&refusals).unwrap_or_default() }))
}

/// An account may see a table without its rows. Sessions and waits are legitimately empty while the
/// server is idle.
fn is_empty(question: &ProbeQuestion, answer: &truetps_driver::QueryResult) -> bool {
    let mut values = ProbeValues::new();
    question.read_values(answer, &mut values);
    values.is_empty() && ["status", "metric"].contains(&question.what)
}
