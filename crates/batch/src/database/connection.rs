//! The statements of one session, and their outcomes.

use std::io;
use std::time::{Duration, Instant};

use truetps_driver::{
    Client, Connector, DriverError, Link, Reply, ResultSets, Scratch, ServerError, SessionEvent, Target,
};
use truetps_record::SqlDialect;

use super::inspection::{definition_sql, definition_version};
use crate::{InsertRow, StatementOutcome, TableColumns};

/// Values of this connection's last batch, in columns of the table's types.
const SENT_TABLE: &str = "truetps_sent";
const ROW_COLUMN: &str = "truetps_row";
/// Longest login, and longest wait for the end of a statement that did not answer.
const LOGIN_TIME: Duration = Duration::from_secs(5);
/// `ER_NET_PACKET_TOO_LARGE`, for a statement that is not sent because the server would close the connection.
const PACKET_TOO_LONG: u16 = 1153;
/// Bytes of a packet that are not the statement.
const PACKET_HEAD: usize = 64;

/// One session that inserts.
pub(super) struct CommitConnection {
    link: Link,
    scratch: Scratch,
    results: Option<Box<ResultSets>>,
    statement: Vec<u8>,
    /// The server's number of this session.
    id: String,
    /// The server takes no longer statement.
    packet_bytes: usize,
    has_sent_table: bool,
}

/// Statements after which the server refuses wrong values instead of changing them, and gives up waiting before the
/// client does, which waits for `time`: then the outcome is known.
pub(super) fn setup_statements(dialect: SqlDialect, time: Duration) -> Vec<String> {
    let half = time / 2;
    match dialect {
        SqlDialect::Mysql => {
            let seconds = half.as_secs().max(1);
            vec![
                "SET NAMES utf8mb4".to_owned(),
                "SET SESSION sql_mode = 'TRADITIONAL'".to_owned(),
                format!(
                    "SET SESSION autocommit = 1, unique_checks = 1, foreign_key_checks = 1, \
                     innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}"
                ),
            ]
        }
        SqlDialect::Postgres => vec![
            "SET client_encoding = 'UTF8'".to_owned(),
            "SET standard_conforming_strings = on".to_owned(),
            format!("SET statement_timeout = {}", (half + half / 2).as_millis()),
            format!("SET lock_timeout = {}", half.as_millis()),
            "SET idle_in_transaction_session_timeout = 0".to_owned(),
        ],
    }
}

impl CommitConnection {
    /// Logs in. Host names are looked up each time: after a fail-over the name may stand for another server.
    pub(super) fn open(target: &Target, number: u32) -> Result<Self, DriverError> {
        let connector = Connector::ad_hoc(target.clone())?;
        let mut scratch = Scratch::default();
        let link = connector.connect(number, &mut scratch, Some(Instant::now() + LOGIN_TIME))?;
        let results = Some(Box::default());
        let (statement, id) = (Vec::new(), String::new());
        let mut opened =
            Self { link, scratch, results, statement, id, packet_bytes: usize::MAX, has_sent_table: false };
        opened.read_session(target.dialect)?;
        Ok(opened)
    }

    /// Reads back what the setup statements have set: a proxy may have swallowed them.
    fn read_session(&mut self, dialect: SqlDialect) -> Result<(), DriverError> {
        let sql = match dialect {
            SqlDialect::Mysql => {
                "SELECT CONNECTION_ID(), @@max_allowed_packet, @@autocommit = 1 AND @@character_set_client = 'utf8mb4' \
                 AND FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) > 0 \
                 AND FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@sql_mode) = 0"
            }
            SqlDialect::Postgres => {
                "SELECT pg_backend_pid(), 1000000000, CASE WHEN current_setting('standard_conforming_strings') = 'on' \
                 AND current_setting('client_encoding') = 'UTF8' THEN 1 ELSE 0 END"
            }
        };
        let values = self.query(sql.as_bytes(), Instant::now() + LOGIN_TIME)?;
        let cells: Vec<String> = values.into_iter().flatten().collect();
        let [id, packet, is_strict] = &cells[..] else {
            return Err(DriverError::Protocol("another number of columns than asked for"));
        };
        if is_strict != "1" {
            return Err(DriverError::Protocol("a session that is not strict although it was set to be"));
        }
        self.id.clone_from(id);
        self.packet_bytes = packet.parse().unwrap_or(usize::MAX);
        Ok(())
    }

    pub(super) fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the server has not closed the idle connection.
    pub(super) fn is_open(&mut self) -> bool {
        matches!(self.link.receive(&mut self.scratch), Ok(None))
    }

    /// Inserts rows with one statement, which commits.
    pub(super) fn insert<'a>(
        &mut self,
        columns: &TableColumns,
        rows: impl Iterator<Item = (usize, &'a InsertRow)>,
        deadline: Instant,
    ) -> StatementOutcome {
        self.statement.clear();
        self.statement.extend_from_slice(columns.insert_head().as_bytes());
        put_rows(rows, |row, out| row.put_values("DEFAULT", out), &mut self.statement);
        self.statement.extend_from_slice(columns.insert_tail().as_bytes());
        if self.statement.len() + PACKET_HEAD > self.packet_bytes {
            let message = "the statement is longer than max_allowed_packet".to_owned();
            let error = ServerError { code: PACKET_TOO_LONG, sqlstate: "08S01".to_owned(), message, position: 0 };
            return StatementOutcome::Refused(error);
        }
        outcome(self.run_statement(deadline), |reply| StatementOutcome::Inserted { new_rows: reply.affected_rows })
    }

    /// Finds the rows that are stored with other values. The values go through a temporary table with columns of the
    /// same types, so that the server compares what it has made of them: 0.1 is another number in a FLOAT column.
    pub(super) fn compare<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> StatementOutcome {
        let compared = self.differing_rows(columns, rows, deadline);
        outcome(compared, |different| StatementOutcome::Compared { different })
    }

    fn differing_rows<'a>(
        &mut self,
        columns: &TableColumns,
        rows: &(impl Iterator<Item = (usize, &'a InsertRow)> + Clone),
        deadline: Instant,
    ) -> Result<Vec<usize>, DriverError> {
        let sql = if self.has_sent_table { format!("DELETE FROM {SENT_TABLE}") } else { make_sent_table(columns) };
        self.query(sql.as_bytes(), deadline)?;
        self.has_sent_table = true;
        self.statement.clear();
        self.statement.extend_from_slice(format!("INSERT INTO {SENT_TABLE} VALUES ").as_bytes());
        let mut numbers = rows.clone().map(|(number, _)| number);
        let put = |row: &InsertRow, out: &mut Vec<u8>| {
            out.extend_from_slice(format!("{},", numbers.next().unwrap_or_default()).as_bytes());
            row.put_values("NULL", out);
        };
        put_rows(rows.clone(), put, &mut self.statement);
        self.run_statement(deadline)?;
        let found = self.query(compare_sql(columns).as_bytes(), deadline)?;
        let mut different = Vec::new();
        for cells in found.chunks_exact(2) {
            let (Some(number), Some(equal)) = (&cells[0], &cells[1]) else { continue };
            let number: usize = number.parse().map_err(|_| DriverError::Protocol("no number of a row"))?;
            let row = rows.clone().find(|(of, _)| *of == number).map(|(_, row)| row);
            // Columns that the client left out may have any value.
            let differs = |row: &InsertRow| {
                row.column_literals().zip(equal.bytes()).any(|(literal, equal)| !literal.is_empty() && equal == b'0')
            };
            if row.is_some_and(differs) {
                different.push(number);
            }
        }
        Ok(different)
    }

    /// Whether the table has another definition than `columns` were read from.
    pub(super) fn inspect(&mut self, table: &str, columns: &TableColumns, deadline: Instant) -> StatementOutcome {
        let found = self.query(definition_sql(columns.dialect, table).as_bytes(), deadline);
        outcome(found, |cells| {
            let definition = cells.into_iter().next_back().flatten().unwrap_or_default();
            StatementOutcome::Inspected { has_changed: definition_version(&definition) != columns.version }
        })
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
        let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let values = sets.iter().flat_map(|set| set.values().map(text).collect::<Vec<_>>()).collect();
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

fn put_rows<'a>(
    rows: impl Iterator<Item = (usize, &'a InsertRow)>,
    mut put: impl FnMut(&InsertRow, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    for (n, (_, row)) in rows.enumerate() {
        out.extend_from_slice(if n > 0 { b",(" } else { b"(" });
        put(row, out);
        out.push(b')');
    }
}

/// The columns are nullable and have no defaults, because each comes from the side of a join that may be empty. Servers
/// may demand a primary key (`sql_require_primary_key`).
fn make_sent_table(columns: &TableColumns) -> String {
    let list: Vec<_> = (0..columns.columns().len()).map(|n| format!("t.{}", columns.quoted(n))).collect();
    let (list, table) = (list.join(","), &columns.table);
    let key = match columns.dialect {
        SqlDialect::Mysql => format!("({ROW_COLUMN} INT PRIMARY KEY) "),
        SqlDialect::Postgres => String::new(),
    };
    format!(
        "CREATE TEMPORARY TABLE {SENT_TABLE} {key}AS SELECT one.n AS {ROW_COLUMN},{list} \
         FROM (SELECT 0 AS n) AS one LEFT JOIN {table} AS t ON 1 = 0 LIMIT 0"
    )
}

/// Selects the number of each row that differs in any column, with a digit for each column: 1 is equal.
fn compare_sql(columns: &TableColumns) -> String {
    let equal: Vec<_> = (0..columns.columns().len())
        .map(|n| {
            let (name, is_text) = (columns.quoted(n), columns.columns()[n].is_text);
            match columns.dialect {
                _ if columns.key().contains(&n) => "1=1".to_owned(),
                SqlDialect::Mysql if is_text => format!("CAST(s.{name} AS BINARY)<=>CAST(t.{name} AS BINARY)"),
                SqlDialect::Mysql => format!("s.{name}<=>t.{name}"),
                SqlDialect::Postgres => format!("s.{name}::text IS NOT DISTINCT FROM t.{name}::text"),
            }
        })
        .collect();
    let key = columns.key().iter().map(|n| {
        let name = columns.quoted(*n);
        format!("s.{name}=t.{name}")
    });
    let digits: Vec<_> = equal.iter().map(|equal| format!("CASE WHEN {equal} THEN '1' ELSE '0' END")).collect();
    format!(
        "SELECT s.{ROW_COLUMN},CONCAT({}) FROM {SENT_TABLE} AS s JOIN {} AS t ON {} WHERE NOT ({})",
        digits.join(","),
        columns.table,
        key.collect::<Vec<_>>().join(" AND "),
        equal.join(" AND ")
    )
}

fn outcome<T>(result: Result<T, DriverError>, success: impl FnOnce(T) -> StatementOutcome) -> StatementOutcome {
    match result {
        Ok(value) => success(value),
        Err(DriverError::Server(error)) => StatementOutcome::Refused(error),
        Err(_) => StatementOutcome::Lost { was_sent: true },
    }
}

/// Ends a session that did not answer in time, so that its statement does not block the same one on another connection.
/// Nothing depends on its success.
pub(super) fn end_session(target: &Target, id: &str) -> io::Result<()> {
    let mut client = Client::connect(target, LOGIN_TIME).map_err(io::Error::other)?;
    let sql = match target.dialect {
        SqlDialect::Mysql => format!("KILL {id}"),
        SqlDialect::Postgres => format!("SELECT pg_terminate_backend({id})"),
    };
    client.execute(&sql).map(|_| ()).map_err(io::Error::other)
}
