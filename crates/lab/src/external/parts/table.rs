//! The table in which the parts of an experiment meet, and the locks that show which parts are
//! alive.
//!
//! Each part writes its own row, with a proof that a part of this load wrote it. A part that is
//! alive holds a lock of its session: the server releases it when the process or its host is gone,
//! and to ask for it writes nothing. Any account may take such a lock: it keeps a part away, and
//! proves nothing.

use truetps_driver::{Client, DriverError, Target};
use truetps_record::{Part, SqlDialect, fnv1a};

use super::hex::{hex, text_of_hex};
use super::proof::RunKey;
use super::row::{PARTS_TABLE, PartPhase, PartRow};
use crate::external::CLIENT_TIMEOUT;

/// Longer texts are cut off, so that another account cannot fill the memory of the parts: then
/// their proof fails.
const NOTE_CHARS_MAX: u32 = 64 << 10;
/// The schedule of 20,000 trials with ten factors has 15 MB.
const INVITATION_CHARS_MAX: u32 = 64 << 20;
/// Rows of a part that are read: there is one.
const ROWS_MAX: u32 = 2;
/// The years 1970 to 2999, in microseconds.
const TIMES_US: std::ops::Range<i64> = 0..32_503_680_000_000_000;
/// The first of two numbers of an advisory lock in PostgreSQL: "ttps".
const LOCK_CLASS: u32 = 0x7474_7073;

/// A row as the server has it: nothing of it is true without its proof.
#[derive(Debug)]
pub(super) struct UnprovenRow {
    pub(super) part: u32,
    /// `None`: it has another form.
    content: Option<(PartRow, String)>,
}

impl UnprovenRow {
    fn of(row: &[Option<String>]) -> Self {
        let part = row.first().and_then(|part| part.as_deref()?.parse().ok());
        Self { part: part.unwrap_or_default(), content: row_of(row) }
    }

    /// From which the run's key is derived, if it is part 0's.
    pub(super) fn number(&self) -> &str {
        self.content.as_ref().map_or("", |(row, _)| &row.number)
    }

    /// `None`: no part of this load wrote it. `invitation`: the digest of part 0's; empty for
    /// others.
    pub(super) fn proven(self, key: &RunKey, invitation: &str) -> Option<PartRow> {
        self.content.filter(|(row, proof)| key.proves(proof, row, invitation)).map(|(row, _)| row)
    }
}

const ROW_COLUMNS: &str =
    "part, round, phase, start_us, note, judged, verdict, serial, number, proof";
/// The owner of the database, unless it is this account, one whose rights this account has, or a
/// superuser. A superuser has the rights of all accounts, and is the one whose rights another owner
/// would want.
const DISTRUSTED_OWNER: &str = "SELECT pg_get_userbyid(datdba)::text FROM pg_database, pg_roles AS \
     me WHERE datname = current_database() AND me.rolname = current_user AND me.oid <> datdba AND \
     NOT EXISTS (SELECT 1 FROM pg_roles WHERE oid = datdba AND rolsuper) AND (me.rolsuper OR NOT \
     pg_has_role(me.oid, datdba, 'USAGE'))";

/// A session at the table.
pub(crate) struct PartsTable {
    pub(crate) client: Client,
    schema: String,
    /// In statements.
    name: String,
}

impl PartsTable {
    /// `inside`: the schema of the experiment.
    pub(crate) fn connect(inside: &Target) -> Result<Self, DriverError> {
        let mut inside = inside.clone();
        inside.setup.extend(search_path(inside.dialect).map(str::to_owned));
        let mut client = Client::connect(&inside, CLIENT_TIMEOUT)?;
        client.set_timeout(CLIENT_TIMEOUT)?;
        let schema = inside.login.database.unwrap_or_default();
        Ok(Self { client, schema, name: name_of(inside.dialect).to_owned() })
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(crate) fn create(&mut self) -> Result<(), DriverError> {
        let sql = create_sql(self.client.dialect());
        self.client.execute(&sql).map(drop)
    }

    /// Why the place is none where this account may read: reading a view, or writing to a table
    /// with triggers in PostgreSQL, runs functions of its owner with the rights of the reader.
    pub(super) fn distrust(&mut self) -> Result<Option<String>, DriverError> {
        let (schema, user) = (&self.schema, "this part's account");
        match self.client.dialect() {
            SqlDialect::Mysql => {
                let sql = format!(
                    "SELECT table_type FROM information_schema.tables WHERE table_schema = \
                     DATABASE() AND table_name = '{PARTS_TABLE}'"
                );
                let kind = self.client.query_value(&sql)?.filter(|kind| kind != "BASE TABLE");
                Ok(kind.map(|kind| {
                    format!("`{PARTS_TABLE}` in the schema `{schema}` is a {kind}, and no table")
                }))
            }
            SqlDialect::Postgres => {
                let owner = self.client.query_value(DISTRUSTED_OWNER)?;
                Ok(owner.map(|owner| {
                    format!("the database `{schema}` belongs to `{owner}`, and not to {user}")
                }))
            }
        }
    }

    /// Holds the lock of this part from now on; `false`: another process is that part.
    pub(crate) fn take_lock(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = take_lock_sql(self.client.dialect(), &self.schema, part);
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// Whether the lock is of the session that the next statement runs in. It is not behind a proxy
    /// that spreads the statements of one session over several.
    pub(crate) fn has_lock(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => format!(
                "SELECT IS_USED_LOCK('{}') = CONNECTION_ID()",
                lock_name(&self.schema, part)
            ),
            SqlDialect::Postgres => format!("{} AND pid = pg_backend_pid()", lock_count_sql(part)),
        };
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// Whether any process is this part.
    pub(crate) fn is_alive(&mut self, part: u32) -> Result<bool, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => {
                format!("SELECT IS_FREE_LOCK('{}') = 0", lock_name(&self.schema, part))
            }
            SqlDialect::Postgres => lock_count_sql(part),
        };
        Ok(self.client.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// `invitation`: of part 0, and stays; empty for others.
    pub(crate) fn insert(
        &mut self,
        row: &PartRow,
        invitation: &str,
        proof: &str,
    ) -> Result<(), DriverError> {
        let PartRow { part, round, phase, start_us, note, judged, verdict, serial, number } = row;
        let (phase, note, verdict) = (phase.word(), hex(note.as_bytes()), hex(verdict.as_bytes()));
        let invitation = hex(invitation.as_bytes());
        let sql = format!(
            "INSERT INTO {} ({ROW_COLUMNS}, invitation, answer) VALUES ({part}, {round}, \
             '{phase}', {start_us}, '{note}', {judged}, '{verdict}', {serial}, '{number}', \
             '{proof}', '{invitation}', '')",
            self.name
        );
        self.client.execute(&sql).map(drop)
    }

    pub(crate) fn update(&mut self, row: &PartRow, proof: &str) -> Result<(), DriverError> {
        let PartRow { part, round, phase, start_us, note, judged, verdict, serial, number: _ } =
            row;
        let (phase, note, verdict) = (phase.word(), hex(note.as_bytes()), hex(verdict.as_bytes()));
        let sql = format!(
            "UPDATE {} SET round = {round}, phase = '{phase}', start_us = {start_us}, note = \
             '{note}', judged = {judged}, verdict = '{verdict}', serial = {serial}, proof = \
             '{proof}' WHERE part = {part}",
            self.name
        );
        self.client.execute(&sql).map(drop)
    }

    /// Part 0 answers to the number of another part.
    pub(super) fn write_answer(&mut self, part: u32, answer: &str) -> Result<(), DriverError> {
        self.client
            .execute(&format!("UPDATE {} SET answer = '{answer}' WHERE part = {part}", self.name))
            .map(drop)
    }

    /// Part 0's answer to this part.
    pub(super) fn answer(&mut self, part: u32) -> Result<String, DriverError> {
        let sql = format!(
            "SELECT {} FROM {} WHERE part = {part}",
            first_chars("answer", NOTE_CHARS_MAX),
            self.name
        );
        Ok(self.client.query_value(&sql)?.unwrap_or_default())
    }

    /// The invitation of part 0, without a proof.
    pub(super) fn invitation(&mut self) -> Result<String, DriverError> {
        let text = first_chars("invitation", INVITATION_CHARS_MAX);
        let found =
            self.client.query_value(&format!("SELECT {text} FROM {} WHERE part = 0", self.name))?;
        Ok(found.and_then(|digits| text_of_hex(&digits)).unwrap_or_default())
    }

    /// The row of one part; `None`: it has not come.
    pub(super) fn row(&mut self, part: u32) -> Result<Option<UnprovenRow>, DriverError> {
        Ok(self.rows_where(&format!("part = {part}"), ROWS_MAX)?.into_iter().next())
    }

    /// The rows of all parts but the first.
    pub(super) fn rows(&mut self, of: u32) -> Result<Vec<UnprovenRow>, DriverError> {
        self.rows_where(&format!("part > 0 AND part < {of}"), of.saturating_mul(ROWS_MAX))
    }

    fn rows_where(
        &mut self,
        condition: &str,
        rows_max: u32,
    ) -> Result<Vec<UnprovenRow>, DriverError> {
        let [note, verdict] = ["note", "verdict"].map(|name| first_chars(name, NOTE_CHARS_MAX));
        let sql = format!(
            "SELECT part, round, phase, start_us, {note}, judged, {verdict}, serial, number, proof \
             FROM {} WHERE {condition} ORDER BY part LIMIT {rows_max}",
            self.name
        );
        let rows = self.client.query(&sql)?.rows;
        Ok(rows.iter().map(|row| UnprovenRow::of(row)).collect())
    }

    /// The server's clock, in microseconds since 1970: without a time zone, whose hours may be
    /// there twice.
    pub(crate) fn now_us(&mut self) -> Result<i64, DriverError> {
        let sql = match self.client.dialect() {
            SqlDialect::Mysql => {
                "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
            }
            SqlDialect::Postgres => {
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
            }
        };
        let text = self.client.query_value(sql)?.unwrap_or_default();
        let now_us = text.parse().ok().filter(|now_us| TIMES_US.contains(now_us));
        now_us.ok_or(DriverError::Protocol("its clock is not in the years 1970 to 2999"))
    }
}

fn create_sql(dialect: SqlDialect) -> String {
    let text = match dialect {
        SqlDialect::Mysql => "MEDIUMTEXT",
        SqlDialect::Postgres => "TEXT",
    };
    format!(
        "CREATE TABLE {} (part INT NOT NULL PRIMARY KEY, round INT NOT NULL, phase VARCHAR(16) NOT \
         NULL, start_us BIGINT NOT NULL, note {text} NOT NULL, judged INT NOT NULL, verdict {text} \
         NOT NULL, serial BIGINT NOT NULL, number VARCHAR(32) NOT NULL, proof VARCHAR(64) NOT \
         NULL, invitation {text} NOT NULL, answer VARCHAR(64) NOT NULL)",
        name_of(dialect)
    )
}

fn name_of(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Mysql => PARTS_TABLE,
        SqlDialect::Postgres => "public.truetps_parts",
    }
}

/// In a database of another owner, an operator or a function of that owner must not be taken for
/// the server's.
fn search_path(dialect: SqlDialect) -> Option<&'static str> {
    (dialect == SqlDialect::Postgres).then_some("SET search_path = pg_catalog")
}

fn first_chars(column: &str, chars_max: u32) -> String {
    format!("LEFT({column}, {chars_max})")
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

/// The lock of a part, as the user can look for it.
pub(super) fn lock_text(dialect: SqlDialect, schema: &str, part: u32) -> String {
    match dialect {
        SqlDialect::Mysql => format!("`{}`", lock_name(schema, part)),
        SqlDialect::Postgres => format!("the advisory lock ({LOCK_CLASS}, {part})"),
    }
}

/// The statements with which a part meets the others.
pub(crate) fn meeting_outline(dialect: SqlDialect, schema: &str, part: Part) -> Vec<String> {
    let mut sent = vec!["-- the meeting of the parts, in a session of its own:".to_owned()];
    sent.extend(part.is_first().then(|| create_sql(dialect)));
    sent.push(take_lock_sql(dialect, schema, part.index));
    sent.push(format!(
        "-- before and after each trial: INSERT and UPDATE of the row part = {} in {PARTS_TABLE}, \
         SELECT of the others', of the server's clock, and of who holds the locks of the other \
         parts",
        part.index
    ));
    sent
}

fn lock_count_sql(part: u32) -> String {
    format!(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK_CLASS} AND \
         objid = {part} AND database = (SELECT oid FROM pg_database WHERE datname = \
         current_database())"
    )
}

/// With its proof.
fn row_of(row: &[Option<String>]) -> Option<(PartRow, String)> {
    let [part, round, phase, start_us, note, judged, verdict, serial, number, proof] = row else {
        return None;
    };
    let word = phase.as_deref()?;
    let row = PartRow {
        part: part.as_deref()?.parse().ok()?,
        round: round.as_deref()?.parse().ok()?,
        phase: PartPhase::ALL.into_iter().find(|phase| phase.word() == word)?,
        start_us: start_us
            .as_deref()?
            .parse()
            .ok()
            .filter(|start_us| TIMES_US.contains(start_us))?,
        note: text_of_hex(note.as_deref()?)?,
        judged: judged.as_deref()?.parse().ok()?,
        verdict: text_of_hex(verdict.as_deref()?)?,
        serial: serial.as_deref()?.parse().ok()?,
        number: number.clone()?,
    };
    Some((row, proof.clone()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_another_form_is_none() {
        let row = |round: &str, phase: &str, start_us: &str, note: &str| {
            ["3", round, phase, start_us, note, "6", "", "9", "ab", "cd"]
                .map(|cell| Some(cell.to_owned()))
        };
        let expected = PartRow {
            round: 7,
            phase: PartPhase::Failed,
            start_us: 12,
            note: "why".to_owned(),
            judged: 6,
            serial: 9,
            ..PartRow::joined(3, "ab".to_owned())
        };
        let why = hex(b"why");
        assert_eq!(row_of(&row("7", "failed", "12", &why)), Some((expected, "cd".to_owned())));
        for (round, phase, start_us, note) in [
            ("7", "lost", "12", &*why),
            ("-1", "failed", "12", &why),
            ("99999999999", "failed", "12", &why),
            ("7", "failed", "-1", &why),
            ("7", "failed", "9223372036854775807", &why),
            ("7", "failed", "12", "why"),
        ] {
            assert!(
                row_of(&row(round, phase, start_us, note)).is_none(),
                "{round} {phase} {start_us} {note}"
            );
        }
        assert!(row_of(&row("7", "failed", "12", &why)[1..]).is_none());
    }
}
