//! The statements of one session, and their outcomes.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{
    Connector, DriverError, Link, Reply, ResultSets, Scratch, ServerError, SessionEvent, Target,
};
use truetps_record::SqlDialect;

use super::definition::{definition_sql, definition_version};
use super::inspection::is_denied;
use super::session_mark::SessionMark;
use crate::table::{RowLookup, StoredRow};
use crate::{FoundVerdict, InsertRow, SeenRow, StatementOutcome, TableColumns};

/// Sessions of this account, here or in other gateways, that are committing rows, or may be.
const RUNNING_COMMITS: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> \
     CONNECTION_ID() AND USER = SUBSTRING_INDEX(USER(), '@', 1) AND (INFO LIKE 'INSERT%' OR INFO \
     LIKE 'COMMIT%')";
const LOG_POSITIONS: &[u8] =
    b"SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', 'Innodb_lsn_flushed', \
     'Innodb_redo_log_current_lsn', 'Innodb_redo_log_flushed_to_disk_lsn')";
/// A commit that waits for the standbys, if there are any to wait for: then they have what was
/// committed before it.
const WAIT_FOR_STANDBY: &[u8] = b"SELECT pg_catalog.pg_logical_emit_message(true, 'truetps', '') \
     WHERE pg_catalog.current_setting('synchronous_standby_names') <> ''";
const COMMIT_LOOK: Duration = Duration::from_millis(2);
/// Rows of one statement that looks for them.
const SOUGHT_ROWS_MAX: usize = 200;
/// Longest login, and longest wait for the end of a statement that did not answer.
const LOGIN_TIME: Duration = Duration::from_secs(5);
/// `ER_NET_PACKET_TOO_LARGE`, for a statement that is not sent because the server would close the
/// connection.
const PACKET_TOO_LONG: u16 = 1153;
/// The SQLSTATE of a wrong value, for a row whose trigger changes the session.
const SESSION_CHANGED: &str = "22000";
const LOCK_TIME_MAX: Duration = Duration::from_secs(1);
/// The server refuses it within a transaction; outside, the next transaction has what it would have
/// had.
const NEEDS_NO_TRANSACTION: &[u8] = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
/// Bytes of a packet that are not the statement.
const PACKET_HEAD: usize = 64;

/// One session that inserts.
pub(super) struct CommitConnection {
    link: Link,
    scratch: Scratch,
    results: Option<Box<ResultSets>>,
    statement: Vec<u8>,
    mark: SessionMark,
    /// The server takes no longer statement.
    packet_bytes: usize,
    /// The statements after its login.
    setup: Vec<String>,
    /// What [`session_state_sql`] gave after them.
    state: Vec<Option<String>>,
    is_spent: bool,
}

/// What a session has of the settings that decide how a row is read and committed, which a trigger
/// may change for this row and those after it.
fn session_state_sql(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Mysql => {
            "SELECT @@time_zone, @@sql_mode, @@character_set_client, @@collation_connection, \
             @@unique_checks, @@foreign_key_checks, @@sql_select_limit, \
             @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@autocommit, @@completion_type, \
             @@character_set_results, @@character_set_connection, @@sql_big_selects, \
             @@sql_safe_updates, ABS(@@timestamp - UNIX_TIMESTAMP(SYSDATE())) < 60 /*M!100201 , \
             @@check_constraint_checks, @@max_statement_time, @@tx_isolation, @@tx_read_only */ \
             /*!50720 , @@max_execution_time, @@transaction_isolation, @@transaction_read_only */"
        }
        SqlDialect::Postgres => {
            // Names with a point are of applications: a trigger may tell another one something by
            // them.
            "SELECT pg_catalog.current_setting('role'), (SELECT pg_catalog.string_agg(name || '=' \
             || setting, ',' ORDER BY name) FROM pg_settings WHERE source = 'session' AND name NOT \
             LIKE '%.%')"
        }
    }
}

/// Statements after which the server refuses wrong values instead of changing them, reads a literal
/// in one way whatever the server or the account has set, and gives up waiting before the client
/// does, which waits for `time`: then the outcome is known.
pub(super) fn setup_statements(dialect: SqlDialect, time: Duration) -> Vec<String> {
    let half = time / 2;
    // All rows of a batch wait for the lock that one of them needs.
    let lock_time = half.min(LOCK_TIME_MAX);
    match dialect {
        SqlDialect::Mysql => {
            let (seconds, lock_seconds) = (half.as_secs().max(1), lock_time.as_secs().max(1));
            vec![
                // The server's init_connect may have begun one: rows would be acknowledged that
                // nothing commits.
                "ROLLBACK AND NO CHAIN NO RELEASE".to_owned(),
                "SET NAMES utf8mb4".to_owned(),
                "SET SESSION sql_mode = 'TRADITIONAL'".to_owned(),
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".to_owned(),
                format!(
                    "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', unique_checks = 1, \
                     foreign_key_checks = 1 /*M!100201 , check_constraint_checks = 1 */, time_zone \
                     = '+00:00', sql_select_limit = {}, sql_big_selects = 1, timestamp = DEFAULT, \
                     innodb_lock_wait_timeout = {lock_seconds}, lock_wait_timeout = {seconds}",
                    u64::MAX
                ),
            ]
        }
        SqlDialect::Postgres => vec![
            "SET client_encoding = 'UTF8'".to_owned(),
            "SET standard_conforming_strings = on".to_owned(),
            "SET default_transaction_isolation = 'read committed'".to_owned(),
            "SET TimeZone = 'UTC'".to_owned(),
            "SET timezone_abbreviations = 'Default'".to_owned(),
            // Dates with slashes, in arrays and ranges: those that have no year in front are
            // refused.
            "SET DateStyle = 'ISO, YMD'".to_owned(),
            "SET IntervalStyle = 'postgres'".to_owned(),
            "SET array_nulls = on".to_owned(),
            "SET xmloption = 'content'".to_owned(),
            "SET extra_float_digits = 1".to_owned(),
            "SET bytea_output = 'hex'".to_owned(),
            format!("SET statement_timeout = {}", (half + half / 2).as_millis()),
            format!("SET lock_timeout = {}", lock_time.as_millis()),
            "SET idle_in_transaction_session_timeout = 0".to_owned(),
        ],
    }
}

impl CommitConnection {
    /// Logs in. Host names are looked up each time: after a fail-over the name may stand for
    /// another server.
    pub(super) fn open(target: &Target, number: u32) -> Result<Self, DriverError> {
        let connector = Connector::ad_hoc(target.clone())?;
        let mut scratch = Scratch::default();
        let link = connector.connect(number, &mut scratch, Some(Instant::now() + LOGIN_TIME))?;
        let results = Some(Box::default());
        let (statement, mark) = (Vec::new(), SessionMark::new());
        let setup = target.setup.clone();
        let mut opened = Self {
            link,
            scratch,
            results,
            statement,
            mark,
            packet_bytes: usize::MAX,
            setup,
            state: Vec::new(),
            is_spent: false,
        };
        opened.read_session(target.dialect)?;
        opened.take_mark(target.dialect)?;
        opened.state = opened
            .query(session_state_sql(target.dialect).as_bytes(), Instant::now() + LOGIN_TIME)?;
        Ok(opened)
    }

    /// Reads back what the setup statements have set: a proxy may have swallowed them. A statement
    /// in an open transaction would commit nothing.
    fn read_session(&mut self, dialect: SqlDialect) -> Result<(), DriverError> {
        let sql = match dialect {
            SqlDialect::Mysql => {
                "SELECT @@max_allowed_packet, @@autocommit = 1 AND @@character_set_client = \
                 'utf8mb4' AND @@time_zone = '+00:00' AND FIND_IN_SET('STRICT_ALL_TABLES', \
                 @@sql_mode) > 0 AND FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@sql_mode) = 0, 1 /*M! \
                 AND @@in_transaction = 0 */"
            }
            SqlDialect::Postgres => {
                "SELECT 1000000000, CASE WHEN \
                 pg_catalog.current_setting('standard_conforming_strings') = 'on' AND \
                 pg_catalog.current_setting('client_encoding') = 'UTF8' AND \
                 pg_catalog.current_setting('TimeZone') = 'UTC' THEN 1 ELSE 0 END, CASE WHEN \
                 pg_catalog.now() = pg_catalog.statement_timestamp() THEN 1 ELSE 0 END"
            }
        };
        let values = self.query(sql.as_bytes(), Instant::now() + LOGIN_TIME)?;
        let cells: Vec<String> = values.into_iter().flatten().collect();
        let [packet, is_strict, is_free] = &cells[..] else {
            return Err(DriverError::Protocol("another number of columns than asked for"));
        };
        if is_strict != "1" {
            return Err(DriverError::Protocol(
                "a session that is not strict although it was set to be",
            ));
        }
        if is_free != "1" {
            return Err(DriverError::Protocol("a new session that is in a transaction"));
        }
        if dialect == SqlDialect::Mysql {
            self.query(NEEDS_NO_TRANSACTION, Instant::now() + LOGIN_TIME)?;
        }
        self.packet_bytes = packet.parse().unwrap_or(usize::MAX);
        Ok(())
    }

    /// Servers that refuse it do without: then a session that does not answer is left to them.
    fn take_mark(&mut self, dialect: SqlDialect) -> Result<(), DriverError> {
        let sql = self.mark.take_sql(dialect);
        match self.query(sql.as_bytes(), Instant::now() + LOGIN_TIME) {
            Ok(_) | Err(DriverError::Server(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    pub(super) fn mark(&self) -> &SessionMark {
        &self.mark
    }

    /// Whether the server has not closed the idle connection.
    pub(super) fn is_open(&mut self) -> bool {
        matches!(self.link.receive(&mut self.scratch), Ok(None))
    }

    /// Inserts rows with one statement, which commits. Where the table may change them, they are
    /// read again before their commit.
    pub(super) fn insert<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> StatementOutcome {
        if columns.reads_back {
            return self.insert_and_read(columns, rows, deadline);
        }
        outcome(self.insert_rows(columns, rows, deadline), |new_rows| StatementOutcome::Inserted {
            new_rows,
            told: Vec::new(),
        })
    }

    fn insert_rows<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> Result<u64, DriverError> {
        self.statement.clear();
        self.statement.extend_from_slice(columns.insert_head().as_bytes());
        for (n, (_, row)) in rows.clone().enumerate() {
            self.statement.extend_from_slice(if n > 0 { b",(" } else { b"(" });
            row.put_values("DEFAULT", &mut self.statement);
            self.statement.push(b')');
        }
        if self.statement.len() + PACKET_HEAD > self.packet_bytes {
            let message = "the statement is longer than max_allowed_packet".to_owned();
            let error = ServerError {
                code: PACKET_TOO_LONG,
                sqlstate: "08S01".to_owned(),
                message,
                position: 0,
            };
            return Err(error.into());
        }
        Ok(self.run_statement(deadline)?.affected_rows)
    }

    /// Commits only if each row is found as it was sent, or if the answers may have the
    /// differences.
    fn insert_and_read<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> StatementOutcome {
        let inserted = self.in_transaction(columns, rows, deadline);
        let is_kept = matches!(inserted, Ok(StatementOutcome::Inserted { .. }));
        if matches!(inserted, Ok(_) | Err(DriverError::Server(_))) {
            let end: &[u8] = if is_kept { b"COMMIT" } else { b"ROLLBACK" };
            if let Err(error) = self.query(end, deadline) {
                return match error {
                    DriverError::Server(error) if is_kept => StatementOutcome::Refused(error),
                    _ => StatementOutcome::Lost { was_sent: is_kept },
                };
            }
        }
        if matches!(inserted, Ok(StatementOutcome::Refused(_)))
            && self.set_up_again(columns.dialect, deadline).is_err()
        {
            return StatementOutcome::Lost { was_sent: false };
        }
        outcome(inserted, |done| done)
    }

    /// After a trigger has changed the session.
    fn set_up_again(&mut self, dialect: SqlDialect, deadline: Instant) -> Result<(), DriverError> {
        for sql in self.setup.clone() {
            self.query(sql.as_bytes(), deadline)?;
        }
        // A new session has what these statements do not set.
        self.is_spent = self.query(session_state_sql(dialect).as_bytes(), deadline)? != self.state;
        Ok(())
    }

    /// Whether the session has settings that only a new one is without.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn in_transaction<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> Result<StatementOutcome, DriverError> {
        self.query(b"START TRANSACTION", deadline)?;
        // Where a trigger gives a row another key, the row that is found under the key that was
        // sent may be an older one.
        let old = self.look_up(columns, rows, deadline)?;
        let new_rows = self.insert_rows(columns, rows, deadline)?;
        if columns.dialect == SqlDialect::Postgres {
            // A trigger at the commit would change rows after they were read.
            self.query(b"SET CONSTRAINTS ALL IMMEDIATE", deadline)?;
        }
        if self.query(session_state_sql(columns.dialect).as_bytes(), deadline)? != self.state {
            // One of the rows does, and those after it were read otherwise.
            let message = "a trigger changes the settings of the session".to_owned();
            let error =
                ServerError { code: 0, sqlstate: SESSION_CHANGED.to_owned(), message, position: 0 };
            return Ok(StatementOutcome::Refused(error));
        }
        let moved: Vec<_> = old.iter().map(|old| (old.row, None)).collect();
        if !moved.is_empty() {
            return Ok(StatementOutcome::Changed { rows: moved });
        }
        let mut found = self.look_up(columns, rows, deadline)?;
        // MySQL misses rows of partitions where keys that its collation takes for equal are sought
        // together.
        for alone in rows
            .clone()
            .filter(|(number, _)| !found.iter().any(|found| found.row == *number))
            .collect::<Vec<_>>()
        {
            found.extend(self.look_up(columns, &std::iter::once(alone), deadline)?);
        }
        let mut changed = Vec::new();
        let mut told = Vec::new();
        for (number, _) in rows.clone() {
            match found.iter().find(|found| found.row == number) {
                Some(StoredRow { differs: None, .. }) => {}
                Some(StoredRow { shown, .. }) if !columns.refuses_changes => {
                    told.push((number, shown.clone()));
                }
                Some(StoredRow { differs: Some(column), .. }) => {
                    changed.push((number, Some(columns.columns()[*column].name.clone())));
                }
                None => changed.push((number, None)),
            }
        }
        if !changed.is_empty() {
            return Ok(StatementOutcome::Changed { rows: changed });
        }
        Ok(StatementOutcome::Inserted { new_rows, told })
    }

    /// Looks for rows in the table. `compares`: a row with the same key is another one if its
    /// values differ.
    pub(super) fn compare<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        compares: bool,
        deadline: Instant,
    ) -> StatementOutcome {
        let found = self.look_up(columns, rows, deadline).and_then(|found| {
            if !found.is_empty() {
                self.wait_for_commits(columns.dialect, deadline)?;
            }
            Ok(found)
        });
        outcome(found, |found| {
            let seen = found.into_iter().map(|found| SeenRow {
                row: found.row,
                verdict: match found.differs {
                    Some(_) if !columns.refuses_changes => FoundVerdict::Told(found.shown),
                    Some(_) if compares => FoundVerdict::Differs,
                    _ => FoundVerdict::Equal,
                },
            });
            StatementOutcome::Compared { found: seen.collect() }
        })
    }

    /// A row of InnoDB is seen before its commit is on disk: the session that inserts it releases
    /// its locks first. Waits until the log is flushed up to what was seen, or until no session of
    /// this account inserts any more.
    fn wait_for_commits(
        &mut self,
        dialect: SqlDialect,
        deadline: Instant,
    ) -> Result<(), DriverError> {
        if dialect == SqlDialect::Postgres {
            // Its rows are seen after the flush; but also if the session ended that waited for a
            // standby.
            return self.query(WAIT_FOR_STANDBY, deadline).map(drop);
        }
        let mut seen_at = None;
        while self.has_value_above_zero(RUNNING_COMMITS, deadline)? {
            let [current, flushed] = self.log_positions(deadline)?;
            let seen_at = *seen_at.get_or_insert(current);
            if flushed.is_some_and(|flushed| Some(flushed) >= seen_at) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            thread::sleep(COMMIT_LOOK);
        }
        Ok(())
    }

    fn has_value_above_zero(&mut self, sql: &str, deadline: Instant) -> Result<bool, DriverError> {
        let values = self.query(sql.as_bytes(), deadline)?;
        Ok(values.into_iter().flatten().any(|value| value != "0"))
    }

    /// How far the redo log is written, and how far it is on disk; servers before MySQL 8.0.30 do
    /// not say it.
    fn log_positions(&mut self, deadline: Instant) -> Result<[Option<u64>; 2], DriverError> {
        let values: Vec<_> = self.query(LOG_POSITIONS, deadline)?.into_iter().flatten().collect();
        let names = [
            ["Innodb_lsn_current", "Innodb_redo_log_current_lsn"],
            ["Innodb_lsn_flushed", "Innodb_redo_log_flushed_to_disk_lsn"],
        ];
        Ok(names.map(|names| {
            let pair = values
                .chunks_exact(2)
                .find(|pair| names.iter().any(|name| pair[0].eq_ignore_ascii_case(name)));
            pair.and_then(|pair| pair[1].parse().ok())
        }))
    }

    fn look_up<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> Result<Vec<StoredRow>, DriverError> {
        let lookup = RowLookup(columns);
        let mut found = Vec::new();
        let mut first = 0;
        loop {
            let part = rows.clone().skip(first).take(SOUGHT_ROWS_MAX);
            let count = part.clone().count();
            if count == 0 {
                return Ok(found);
            }
            let mut sql = std::mem::take(&mut self.statement);
            sql.clear();
            lookup.put_sql(part.clone(), &mut sql);
            self.statement = sql;
            let results = self.results.take().unwrap_or_default();
            self.results = self.link.collect(results);
            let Some(sets) = self.run_statement(deadline)?.sets else {
                return Err(DriverError::Protocol("a SELECT without a result"));
            };
            found.extend(lookup.found(part, &sets));
            self.results = Some(sets);
            first += count;
        }
    }

    /// Whether the table has another definition than `columns` were read from.
    pub(super) fn inspect(
        &mut self,
        table: &str,
        columns: &TableColumns,
        deadline: Instant,
    ) -> StatementOutcome {
        let mut values = Vec::new();
        for sql in definition_sql(columns.dialect, table) {
            match self.query(sql.as_bytes(), deadline) {
                Ok(found) => values.extend(found),
                Err(error) => return outcome(Err(error), |()| StatementOutcome::Connected),
            }
        }
        let version = definition_version(values.iter().map(Option::as_deref));
        if version != columns.version {
            return StatementOutcome::Inspected { has_changed: true };
        }
        match self.try_rights(columns, deadline) {
            Ok(()) => StatementOutcome::Inspected { has_changed: false },
            // Rows show other errors.
            Err(DriverError::Server(error)) if !is_denied(&error) => {
                StatementOutcome::Inspected { has_changed: false }
            }
            Err(error) => outcome(Err(error), |()| StatementOutcome::Connected),
        }
    }

    /// Inserts and reads no row.
    fn try_rights(&mut self, columns: &TableColumns, deadline: Instant) -> Result<(), DriverError> {
        self.query(b"START TRANSACTION", deadline)?;
        let tried = self.query(columns.insert_nothing().as_bytes(), deadline);
        if matches!(tried, Ok(_) | Err(DriverError::Server(_))) {
            self.query(b"ROLLBACK", deadline)?;
        }
        tried.map(drop)
    }

    /// Runs what is in `statement`.
    fn run_statement(&mut self, deadline: Instant) -> Result<Reply, DriverError> {
        self.link.send_bytes(&self.statement, &mut self.scratch)?;
        self.reply(deadline)
    }

    /// All values of a result, row after row.
    fn query(&mut self, sql: &[u8], deadline: Instant) -> Result<Vec<Option<String>>, DriverError> {
        let results = self.results.take().unwrap_or_default();
        self.results = self.link.collect(results);
        self.link.send_bytes(sql, &mut self.scratch)?;
        let reply = self.reply(deadline)?;
        let Some(sets) = reply.sets else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        for set in sets.iter() {
            values.extend(
                set.values().map(|value| Some(String::from_utf8_lossy(value?).into_owned())),
            );
        }
        self.results = Some(sets);
        Ok(values)
    }

    fn reply(&mut self, deadline: Instant) -> Result<Reply, DriverError> {
        match self.link.wait(&mut self.scratch, Some(deadline))? {
            SessionEvent::Reply(Reply { error: Some(error), .. }) => Err(error.into()),
            SessionEvent::Reply(reply) => Ok(reply),
            _ => Err(DriverError::Protocol("another event than a reply")),
        }
    }
}

fn outcome<T>(
    result: Result<T, DriverError>,
    success: impl FnOnce(T) -> StatementOutcome,
) -> StatementOutcome {
    match result {
        Ok(value) => success(value),
        Err(DriverError::Server(error)) => StatementOutcome::Refused(error),
        Err(_) => StatementOutcome::Lost { was_sent: true },
    }
}
