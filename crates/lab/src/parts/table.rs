//! The table in which the parts of an experiment meet, and the locks that show which parts are alive.
//!
//! Each part writes its own row. A part that is alive holds a lock of its session: the server releases it when the process
//! or its host is gone, and to ask for it writes nothing.

use truetps_driver::{Client, DriverError, Target};
use truetps_record::{Part, SqlDialect, fnv1a};

use crate::external::CLIENT_TIMEOUT;

pub(crate) const TABLE: &str = "truetps_parts";
/// The first of two numbers of an advisory lock in PostgreSQL: "ttps".
const LOCK_CLASS: u32 = 0x7474_7073;

/// How far a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartPhase {
    /// Part 0: the experiment is decided, and others may come. Others: they have come.
    Joined,
    /// Part 0: the server is ready for the round.
    Prepared,
    /// Others: all clients have connected.
    Ready,
    /// Part 0: the start of the round is named.
    Started,
    /// Part 0: the round will not start.
    Cancelled,
    /// The load has ended. Part 0: in all parts, or it has not started; the verdict says which.
    Done,
    /// Others: the load has failed.
    Failed,
    /// Part 0: no round follows.
    Over,
}

impl PartPhase {
    const ALL: [Self; 8] = [
        Self::Joined,
        Self::Prepared,
        Self::Ready,
        Self::Started,
        Self::Cancelled,
        Self::Done,
        Self::Failed,
        Self::Over,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Joined => "joined",
            Self::Prepared => "prepared",
            Self::Ready => "ready",
            Self::Started => "started",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Over => "over",
        }
    }
}

/// The row of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartRow {
    pub(crate) part: u32,
    /// Trials are counted from 1; 0: none yet.
    pub(crate) round: u32,
    pub(crate) phase: PartPhase,
    /// The start of the round by the server's clock, in microseconds since 1970; 0: not named.
    pub(crate) start_us: i64,
    pub(crate) note: String,
    /// Part 0: the last round that is over for all, and why it is no evidence. They stay while the next one begins: a part
    /// may read them late.
    pub(crate) judged: u32,
    pub(crate) verdict: String,
}

impl PartRow {
    /// Before the first round.
    pub(crate) fn joined(part: u32) -> Self {
        Self {
            part,
            round: 0,
            phase: PartPhase::Joined,
            start_us: 0,
            note: String::new(),
            judged: 0,
            verdict: String::new(),
        }
    }
}

/// A session at the table.
pub(crate) struct PartsTable {
    pub(crate) client: Client,
    schema: String,
}

impl PartsTable {
    /// `inside`: the schema of the experiment.
    pub(crate) fn connect(inside: &Target) -> Result<Self, DriverError> {
        let mut client = Client::connect(inside, CLIENT_TIMEOUT)?;
        client.set_timeout(CLIENT_TIMEOUT)?;
        Ok(Self { client, schema: inside.login.database.clone().unwrap_or_default() })
    }

    pub(crate) fn create(&mut self) -> Result<(), DriverError> {
        let sql = create_sql(self.client.dialect());
        self.client.execute(&sql).map(drop)
    }

    /// Holds the lock of this part from now on; `false`: another process is that part.
    pub(crate) fn take_lock(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = take_lock_sql(self.client.dialect(), &self.schema, part);
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// Whether the lock is of the session that the next statement runs in. It is not behind a proxy that spreads the
    /// statements of one session over several.
    pub(crate) fn has_lock(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => format!("SELECT IS_USED_LOCK('{}') = CONNECTION_ID()", lock_name(&self.schema, part)),
            SqlDialect::Postgres => format!("{} AND pid = pg_backend_pid()", lock_count_sql(part)),
        };
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// Whether any process is this part.
    pub(crate) fn is_alive(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => format!("SELECT IS_FREE_LOCK('{}') = 0", lock_name(&self.schema, part)),
            SqlDialect::Postgres => lock_count_sql(part),
        };
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// `invitation`: of part 0, and stays; empty for others.
    pub(crate) fn insert(&mut self, row: &PartRow, invitation: &str) -> Result<(), DriverError> {
        let PartRow { part, round, phase, start_us, note, judged, verdict } = row;
        let (phase, note, verdict, invitation) = (phase.word(), hex(note), hex(verdict), hex(invitation));
        let sql = format!(
            "INSERT INTO {TABLE} (part, round, phase, start_us, note, judged, verdict, invitation) \
             VALUES ({part}, {round}, '{phase}', {start_us}, '{note}', {judged}, '{verdict}', '{invitation}')"
        );
        self.client.execute(&sql).map(drop)
    }

    pub(crate) fn invitation(&mut self) -> Result<Option<String>, DriverError> {
        let found = self.client.query_value(&format!("SELECT invitation FROM {TABLE} WHERE part = 0"))?;
        Ok(found.and_then(|digits| text_of_hex(&digits)))
    }

    pub(crate) fn update(&mut self, row: &PartRow) -> Result<(), DriverError> {
        let PartRow { part, round, phase, start_us, note, judged, verdict } = row;
        let (phase, note, verdict) = (phase.word(), hex(note), hex(verdict));
        let sql = format!(
            "UPDATE {TABLE} SET round = {round}, phase = '{phase}', start_us = {start_us}, note = '{note}', \
             judged = {judged}, verdict = '{verdict}' WHERE part = {part}"
        );
        self.client.execute(&sql).map(drop)
    }

    /// The row of one part; `None`: it has not come.
    pub(crate) fn row(&mut self, part: u32) -> Result<Option<PartRow>, DriverError> {
        Ok(self.rows_where(&format!("part = {part}"))?.into_iter().next())
    }

    pub(crate) fn rows(&mut self) -> Result<Vec<PartRow>, DriverError> {
        self.rows_where("part > 0")
    }

    fn rows_where(&mut self, condition: &str) -> Result<Vec<PartRow>, DriverError> {
        let sql = format!(
            "SELECT part, round, phase, start_us, note, judged, verdict FROM {TABLE} WHERE {condition} ORDER BY part"
        );
        let rows = self.client.query(&sql)?.rows;
        Ok(rows.iter().filter_map(|row| row_of(row)).collect())
    }

    /// The server's clock, in microseconds since 1970: without a time zone, whose hours may be there twice.
    pub(crate) fn now_us(&mut self) -> Result<i64, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
            SqlDialect::Postgres => "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        };
        let text = self.client.query_value(sql)?.unwrap_or_default();
        text.parse().map_err(|_| DriverError::Protocol("its clock reads no number"))
    }
}

fn create_sql(dialect: SqlDialect) -> String {
    let text = match dialect {
        SqlDialect::Mysql => "MEDIUMTEXT",
        SqlDialect::Postgres => "TEXT",
    };
    format!(
        "CREATE TABLE {TABLE} (part INT NOT NULL PRIMARY KEY, round INT NOT NULL, phase VARCHAR(16) NOT NULL, \
         start_us BIGINT NOT NULL, note {text} NOT NULL, judged INT NOT NULL, verdict {text} NOT NULL, \
         invitation {text} NOT NULL)"
    )
}

fn take_lock_sql(dialect: SqlDialect, schema: &str, part: u32) -> String {
    match dialect {
        SqlDialect::Mysql => format!("SELECT GET_LOCK('{}', 0)", lock_name(schema, part)),
        SqlDialect::Postgres => format!("SELECT pg_try_advisory_lock({LOCK_CLASS}, {part})::int"),
    }
}

/// Locks are of the whole server in the MySQL family, and their names are short.
fn lock_name(schema: &str, part: u32) -> String {
    format!("truetps.part.{part}.{:016x}", fnv1a(schema.as_bytes()))
}

/// The statements with which a part meets the others.
pub(crate) fn meeting_outline(dialect: SqlDialect, schema: &str, part: Part) -> Vec<String> {
    let mut sent = vec!["-- the meeting of the parts, in a session of its own:".to_owned()];
    sent.extend(part.is_first().then(|| create_sql(dialect)));
    sent.push(take_lock_sql(dialect, schema, part.index));
    sent.push(format!(
        "-- before and after each trial: INSERT and UPDATE of the row part = {} in {TABLE}, SELECT of the others', of the \
         server's clock, and of who holds the locks of the other parts",
        part.index
    ));
    sent
}

fn lock_count_sql(part: u32) -> String {
    format!(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK_CLASS} AND objid = {part} \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
}

fn row_of(row: &[Option<String>]) -> Option<PartRow> {
    let [part, round, phase, start_us, note, judged, verdict] = row else { return None };
    let word = phase.as_deref()?;
    Some(PartRow {
        part: part.as_deref()?.parse().ok()?,
        round: round.as_deref()?.parse().ok()?,
        phase: PartPhase::ALL.into_iter().find(|phase| phase.word() == word)?,
        start_us: start_us.as_deref()?.parse().ok()?,
        note: text_of_hex(note.as_deref()?)?,
        judged: judged.as_deref()?.parse().ok()?,
        verdict: text_of_hex(verdict.as_deref()?)?,
    })
}

/// A text with no character that any mode of any server reads as anything but itself.
fn hex(text: &str) -> String {
    use std::fmt::Write as _;
    let mut digits = String::with_capacity(2 * text.len());
    for byte in text.bytes() {
        write!(digits, "{byte:02x}").expect("a String takes everything");
    }
    digits
}

fn text_of_hex(digits: &str) -> Option<String> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<_>> = digits.as_bytes().chunks(2).map(pair).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_every_character() {
        let note = "it's \"quoted\" \\ \u{1f980}\n";
        assert_eq!(text_of_hex(&hex(note)).as_deref(), Some(note));
        assert_eq!(text_of_hex("4g"), None);
    }

    #[test]
    fn a_row_of_another_form_is_left_out() {
        let row = |phase: &str| ["3", "7", phase, "12", &hex("why"), "6", ""].map(|cell| Some(cell.to_owned()));
        let expected = PartRow {
            part: 3,
            round: 7,
            phase: PartPhase::Failed,
            start_us: 12,
            note: "why".to_owned(),
            judged: 6,
            verdict: String::new(),
        };
        assert_eq!(row_of(&row("failed")), Some(expected));
        assert_eq!(row_of(&row("lost")), None);
        assert_eq!(row_of(&row("failed")[1..]), None);
    }
}
