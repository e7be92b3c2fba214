//! Statements: texts, prepared ones, their results and their errors.

use std::rc::Rc;

use truetps_driver::{
    DriverError, Link, Prepared, Reply, ResultSets, count_parameters, with_numbered_parameters,
};
use truetps_record::{ErrorClass, SqlDialect};

use super::bound::Binds;
use super::bulk::Bulk;
use super::connection::{ConnectReason, ConnectionWait, Goal};
use super::driver::SqlError;
use super::libpq;
use super::statement::ScriptStatement;
use super::store::{Answer, RequestProgress, Store};
use crate::command::{Counter, ShapeNumber, statement_kind};
use crate::output::MessageLevel;

/// MySQL's error number for a statement that cannot be prepared.
const UNSUPPORTED: u16 = 1295;

impl Store {
    /// `con:query()`.
    pub(crate) fn query(&mut self, handle: u32, text: &[u8]) -> RequestProgress {
        match self.connections.get(handle) {
            Some(connection) if connection.is_dry => {
                let shape = self.shape_of(handle, text);
                return self.dry(handle, shape);
            }
            Some(connection)
                if connection.is_open() && connection.doing == ConnectionWait::Nothing => {}
            _ => return self.closed_already(),
        }
        self.forget_results(handle);
        if let Some(step) = self.lost_while_idle(handle, text, ConnectionWait::Query) {
            return step;
        }
        let shape = self.shape_of(handle, text);
        self.send_text(handle, text, statement_kind(text), shape)
    }

    /// In a dry run, every statement succeeds without an effect.
    fn dry(&mut self, handle: u32, shape: ShapeNumber) -> RequestProgress {
        self.run.counters.record_unsent(self.share, shape);
        if let Some(connection) = self.connections.get(handle) {
            connection.show_success();
            self.run.counters.slot(connection.tid).count(Counter::Other, 1);
        }
        RequestProgress::Done(Answer::NONE)
    }

    fn closed_already(&self) -> RequestProgress {
        self.run.log.text(MessageLevel::Alert, "attempt to use an already closed connection");
        RequestProgress::Done(Answer::MISUSE)
    }

    /// If the connection broke while nothing was in flight, this command fails with that error.
    fn lost_while_idle(
        &mut self,
        handle: u32,
        text: &[u8],
        doing: ConnectionWait,
    ) -> Option<RequestProgress> {
        let connection = self.connections.get_mut(handle)?;
        let error = connection.lost.take()?;
        connection.text.clear();
        connection.text.extend_from_slice(text);
        connection.doing = doing;
        Some(self.on_loss(handle, &error))
    }

    fn send_text(
        &mut self,
        handle: u32,
        text: &[u8],
        kind: usize,
        shape: ShapeNumber,
    ) -> RequestProgress {
        let (token, now_ns) = (self.buffers.token(), self.run.control.now_ns());
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let link = connection.send_statement(ConnectionWait::Query, text, (kind, shape), now_ns);
        let Some(link) = link else { return self.closed_already() };
        link.collect(token);
        let sent = link.send_bytes(text, &mut self.scratch);
        connection.awaits_sets = true;
        self.after_sending(handle, sent)
    }

    fn after_sending(&mut self, handle: u32, sent: Result<(), DriverError>) -> RequestProgress {
        let sent = sent.map(|()| {
            self.connections
                .get(handle)
                .and_then(|c| c.link.as_ref())
                .is_some_and(Link::wants_to_write)
        });
        match sent {
            Ok(true) => self.watch(handle, false),
            Ok(false) => {}
            // Nothing was sent, and the session remains usable.
            Err(DriverError::Misuse(problem)) => {
                self.idle(handle);
                self.run.log.text(MessageLevel::Fatal, problem);
                return RequestProgress::Done(Answer::MISUSE);
            }
            Err(error) => return self.on_loss(handle, &error),
        }
        RequestProgress::Wait
    }

    /// `con:prepare()`.
    pub(crate) fn prepare(&mut self, handle: u32, text: &[u8]) -> RequestProgress {
        let Some(connection) =
            self.connections.get(handle).filter(|connection| connection.is_open())
        else {
            self.closed_already();
            return RequestProgress::Done(Answer::CLOSED);
        };
        let (is_mysql, is_dry) =
            (self.driver_of(connection).target.dialect == SqlDialect::Mysql, connection.is_dry);
        if let Some(step) = self.lost_while_idle(handle, text, ConnectionWait::Query) {
            return step;
        }
        let is_emulated = is_dry || self.drivers.emulates_prepared();
        let shape = self.statement_shapes.take();
        let number = self.statements.next();
        let Some(connection) =
            self.connections.get(handle).map(|connection| connection.shape.clone())
        else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let store = self.number;
        shape.with(|shape| {
            (shape.connection, shape.handle, shape.store) = (connection.address(), number, store);
        });
        connection.with(|connection| connection.statement = shape.address());
        let text = self.shared_text(text);
        let waits_for_types = !is_mysql && text.contains(&b'?');
        let shape_number = self.shape_of(handle, &text);
        self.statements.insert(ScriptStatement::new(
            handle,
            shape,
            text,
            shape_number,
            is_emulated,
        ));
        if let Some(connection) = self.connections.get_mut(handle) {
            connection.statements.push(number);
        }
        // PostgreSQL prepares it later, when the types of the values are known.
        if is_emulated || waits_for_types {
            RequestProgress::Done(Answer::NONE)
        } else {
            self.send_prepare(handle, number, Goal::New)
        }
    }

    /// The values of a statement have been bound: PostgreSQL prepares it now.
    pub(crate) fn prepare_bound(&mut self, number: u32) -> RequestProgress {
        let Some(statement) = self.statements.get(number) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let handle = statement.connection;
        let is_due = statement.handle.is_none() && !statement.is_emulated && !statement.is_closed;
        let is_open =
            self.connections.get(handle).is_some_and(|connection| connection.link.is_some());
        if !is_due || !is_open || self.dialect_of(handle) != Some(SqlDialect::Postgres) {
            return RequestProgress::Done(Answer::NONE);
        }
        self.forget_results(handle);
        self.send_prepare(handle, number, Goal::Bound)
    }

    /// The text, shared by all statements of this state.
    fn shared_text(&mut self, text: &[u8]) -> Rc<[u8]> {
        const TEXTS_MAX: usize = 10_000;
        if let Some(known) = self.texts.get(text) {
            return Rc::clone(known);
        }
        let shared: Rc<[u8]> = text.into();
        if self.texts.len() < TEXTS_MAX {
            self.texts.insert(Rc::clone(&shared));
        }
        shared
    }

    fn send_prepare(&mut self, handle: u32, number: u32, goal: Goal) -> RequestProgress {
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let Some(statement) = self.statements.get(number) else { return self.closed_already() };
        let doing = ConnectionWait::Prepare { statement: number, goal };
        let link = connection.send_statement(
            doing,
            &statement.text,
            (statement.kind, statement.shape_number),
            now_ns,
        );
        let Some(link) = link else { return self.closed_already() };
        let sent = link.prepare(&statement.text, &statement.binds.types(), &mut self.scratch);
        self.after_sending(handle, sent)
    }

    pub(super) fn on_prepared(
        &mut self,
        handle: u32,
        number: u32,
        prepared: Prepared,
        goal: Goal,
    ) -> RequestProgress {
        self.idle(handle);
        if let Some(statement) = self.statements.get_mut(number) {
            (statement.handle, statement.params) = (Some(prepared.handle), prepared.params);
        }
        if goal == Goal::Execute {
            self.execute(number)
        } else {
            RequestProgress::Done(Answer::NONE)
        }
    }

    /// The server has refused to prepare the statement.
    pub(super) fn on_refused(
        &mut self,
        handle: u32,
        number: u32,
        reply: Reply,
        goal: Goal,
    ) -> RequestProgress {
        self.buffers.keep(reply.sets);
        self.idle(handle);
        let Some(error) = reply.error else { return RequestProgress::Done(Answer::MISUSE) };
        if error.code == UNSUPPORTED {
            if let Some(statement) = self.statements.get_mut(number) {
                statement.is_emulated = true;
            }
            return if goal == Goal::Execute {
                self.execute(number)
            } else {
                RequestProgress::Done(Answer::NONE)
            };
        }
        let sql_error = SqlError::of_server(&error);
        if goal == Goal::Execute {
            return self.failed(handle, &sql_error, error.class(), error.code, true);
        }
        self.tally(error.class(), error.code, &error.message);
        if let Some(connection) = self.connections.get_mut(handle) {
            connection.show_error(2, &sql_error);
        }
        if self.dialect_of(handle) == Some(SqlDialect::Postgres) {
            let text = self
                .connections
                .get(handle)
                .map(|connection| with_numbered_parameters(&connection.text));
            let words = libpq::words(&error, &text.unwrap_or_default());
            self.run.log.text(MessageLevel::Fatal, &format!("PQprepare() failed: {words}"));
        } else {
            self.run.log.text(MessageLevel::Fatal, "mysql_stmt_prepare() failed");
            self.run.log.text(
                MessageLevel::Fatal,
                &format!("MySQL error: {} \"{}\"", error.code, error.message),
            );
        }
        if goal == Goal::New {
            // The script gets no object for it.
            self.release_statement(number);
        }
        RequestProgress::Done(Answer::MISUSE)
    }

    /// `stmt:bind_param()`. If the number of values is wrong, earlier values stay bound.
    pub(crate) fn bind(&mut self, number: u32, binds: Binds) -> bool {
        if let Some((level, problem)) = self.wrong_number(number, binds.len()) {
            self.run.log.text(level, problem);
            return false;
        }
        match self.statements.get_mut(number) {
            Some(statement) if !statement.is_closed => {
                let (had, has) = (statement.binds.types(), binds.types());
                statement.binds = binds;
                // PostgreSQL has prepared it with other types.
                let (connection, is_stale) = (statement.connection, had != has);
                if is_stale && self.dialect_of(connection) == Some(SqlDialect::Postgres) {
                    self.forget_prepared(number);
                }
                true
            }
            _ => false,
        }
    }

    /// The message for a wrong number of parameters. For PostgreSQL, sysbench only checks
    /// statements that the server does not know yet.
    fn wrong_number(&self, number: u32, values: usize) -> Option<(MessageLevel, &'static str)> {
        let statement =
            self.statements.get(number).filter(|one| !one.is_closed && !one.is_emulated)?;
        if self.dialect_of(statement.connection) == Some(SqlDialect::Postgres) {
            let is_wrong =
                statement.handle.is_none() && values != count_parameters(&statement.text);
            return is_wrong.then_some((
                MessageLevel::Alert,
                "wrong number of parameters in prepared statement",
            ));
        }
        let is_wrong = values != usize::from(statement.params);
        is_wrong
            .then_some((MessageLevel::Fatal, "Wrong number of parameters to mysql_stmt_bind_param"))
    }

    fn forget_prepared(&mut self, number: u32) {
        let Some(statement) = self.statements.get_mut(number) else { return };
        let link = self
            .connections
            .get_mut(statement.connection)
            .and_then(|connection| connection.link.as_mut());
        if let (Some(prepared), Some(link)) = (statement.handle.take(), link) {
            // If the connection is gone, the next command reports it.
            let _ = link.close_statement(prepared, &mut self.scratch);
        }
    }

    /// `stmt:execute()`.
    pub(crate) fn execute(&mut self, number: u32) -> RequestProgress {
        let Some(statement) = self.statements.get(number).filter(|statement| !statement.is_closed)
        else {
            self.run.log.text(MessageLevel::Alert, "attempt to use an already closed statement");
            return RequestProgress::Done(Answer::MISUSE);
        };
        let (handle, kind, shape) = (statement.connection, statement.kind, statement.shape_number);
        let (is_emulated, prepared) = (statement.is_emulated, statement.handle);
        match self.connections.get(handle) {
            Some(connection) if connection.is_dry => return self.dry(handle, shape),
            Some(connection)
                if connection.is_open() && connection.doing == ConnectionWait::Nothing => {}
            _ => return self.closed_already(),
        }
        self.forget_results(handle);
        let text = self
            .statements
            .get(number)
            .map(|statement| Rc::clone(&statement.text))
            .unwrap_or_default();
        if let Some(step) =
            self.lost_while_idle(handle, &text, ConnectionWait::Execute { statement: number })
        {
            return step;
        }
        match prepared {
            _ if is_emulated => self.send_emulated(handle, number, kind, shape),
            Some(prepared) => self.send_execute(handle, number, prepared),
            None => self.send_prepare(handle, number, Goal::Execute),
        }
    }

    fn send_emulated(
        &mut self,
        handle: u32,
        number: u32,
        kind: usize,
        shape: ShapeNumber,
    ) -> RequestProgress {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if let Some(statement) = self.statements.get(number) {
            statement.emulated(&mut text);
        }
        let step = self.send_text(handle, &text, kind, shape);
        self.text = text;
        step
    }

    fn send_execute(&mut self, handle: u32, number: u32, prepared: u32) -> RequestProgress {
        let (token, now_ns) = (self.buffers.token(), self.run.control.now_ns());
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let Some(statement) = self.statements.get(number) else { return self.closed_already() };
        let doing = ConnectionWait::Execute { statement: number };
        let link = connection.send_statement(
            doing,
            &statement.text,
            (statement.kind, statement.shape_number),
            now_ns,
        );
        let Some(link) = link else { return self.closed_already() };
        if !statement.fill(&mut self.scratch.params) {
            let error = SqlError {
                number: 2031,
                state: "HY000".to_owned(),
                message: "No data supplied for parameters in prepared statement".to_owned(),
            };
            return self.failed(handle, &error, ErrorClass::of_code(2031), 2031, true);
        }
        link.collect(token);
        let sent = link.execute(prepared, &mut self.scratch);
        connection.awaits_sets = true;
        self.after_sending(handle, sent)
    }

    /// `stmt:close()`. 0: success.
    pub(crate) fn close_statement(&mut self, number: u32) -> i32 {
        let is_open = self.statements.get(number).is_some_and(|statement| !statement.is_closed);
        if !is_open {
            self.run.log.text(MessageLevel::Alert, "attempt to close an already closed statement");
            return 1;
        }
        self.forget_prepared(number);
        if let Some(statement) = self.statements.get_mut(number) {
            statement.forget();
            if let Some(connection) = self.connections.get_mut(statement.connection) {
                connection.statements.retain(|other| *other != number);
            }
        }
        0
    }

    /// The script has dropped the statement.
    pub(super) fn release_statement(&mut self, number: u32) {
        self.forget_prepared(number);
        let Some(statement) = self.statements.remove(number) else { return };
        if let Some(connection) = self.connections.get_mut(statement.connection) {
            connection.statements.retain(|other| *other != number);
        }
        self.statement_shapes.give_back(statement.shape);
    }

    //
    // Replies
    //

    pub(super) fn on_reply(
        &mut self,
        handle: u32,
        reply: Reply,
        prepared: Option<u32>,
    ) -> RequestProgress {
        self.idle(handle);
        if let Some(error) = reply.error {
            self.record(handle, Counter::Error);
            self.buffers.keep(reply.sets);
            return self.failed(
                handle,
                &SqlError::of_server(&error),
                error.class(),
                error.code,
                prepared.is_some(),
            );
        }
        let dialect = self.dialect_of(handle);
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        if dialect == Some(SqlDialect::Postgres) && asks_nothing(&connection.text) {
            self.buffers.keep(reply.sets);
            return self.nothing_asked(handle);
        }
        connection.show_success();
        connection.sets = reply.sets;
        // For several statements in one text, MySQL's clients see all results in turn, and
        // PostgreSQL's only the last.
        let sets = connection.sets.as_deref().map_or(0, ResultSets::len);
        let shown = if dialect == Some(SqlDialect::Postgres) { sets.saturating_sub(1) } else { 0 };
        let counter = connection.open_set(shown);
        let (has_rows, has_more) = (counter == Counter::Read, connection.has_more_sets());
        self.run.counters.slot(connection.tid).count(counter, 1);
        self.record(handle, counter);
        if !has_more && !has_rows {
            self.forget_results(handle);
        }
        // A prepared statement always has its own result, which may have no rows.
        RequestProgress::Done(if has_rows || prepared.is_some() {
            Answer::RESULT
        } else {
            Answer::NONE
        })
    }

    /// PostgreSQL has a special answer to a text without a statement, which users of libpq treat as
    /// an error.
    fn nothing_asked(&mut self, handle: u32) -> RequestProgress {
        self.record(handle, Counter::Error);
        if let Some(connection) = self.connections.get(handle) {
            connection.show_failure();
            self.run.counters.slot(connection.tid).count(Counter::Error, 1);
        }
        RequestProgress::Done(Answer::MISUSE)
    }

    /// A statement failed, or its connection did.
    pub(super) fn failed(
        &mut self,
        handle: u32,
        error: &SqlError,
        class: ErrorClass,
        code: u16,
        is_prepared: bool,
    ) -> RequestProgress {
        self.tally(class, code, &error.message);
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let Ok(ready) = self.drivers.get(connection.driver) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let is_ignored = ready.driver.ignored.has(error);
        let dialect = ready.driver.target.dialect;
        connection.show_error(if is_ignored { 1 } else { 2 }, error);
        connection.doing = ConnectionWait::Nothing;
        let tid = connection.tid;
        self.run.counters.slot(tid).count(Counter::Error, 1);
        if !is_ignored {
            self.say_failed(handle, error, dialect, is_prepared);
            return RequestProgress::Done(Answer::FAILED);
        }
        let is_gone =
            self.connections.get(handle).is_some_and(|connection| connection.link.is_none());
        if is_gone || error.is_loss() {
            if let Some(connection) = self.connections.get_mut(handle) {
                (connection.link, connection.back_off_ns) = (None, 0);
            }
            return self.begin_connect(handle, ConnectReason::Broken);
        }
        if dialect == SqlDialect::Postgres {
            self.send_rollback(handle)
        } else {
            RequestProgress::Done(Answer::FAILED)
        }
    }

    /// After an error inside a transaction, PostgreSQL accepts only this.
    fn send_rollback(&mut self, handle: u32) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let Some(link) = &mut connection.link else { return RequestProgress::Done(Answer::FAILED) };
        connection.doing = ConnectionWait::RollBack;
        let sent = link.send_bytes(b"ROLLBACK", &mut self.scratch);
        self.after_sending(handle, sent)
    }

    fn say_failed(&self, handle: u32, error: &SqlError, dialect: SqlDialect, is_prepared: bool) {
        let connection = self.connections.get(handle);
        let text = connection
            .map(|connection| String::from_utf8_lossy(&connection.text))
            .unwrap_or_default();
        let SqlError { number, message, .. } = error;
        let log = &self.run.log;
        match dialect {
            SqlDialect::Mysql => {
                let call = if is_prepared { "mysql_stmt_execute" } else { "mysql_drv_query" };
                let text =
                    format!("{call}() returned error {number} ({message}) for query '{text}'");
                log.text(MessageLevel::Fatal, &text);
            }
            SqlDialect::Postgres => {
                let call = if is_prepared { "PQexecPrepared" } else { "PQexec" };
                log.text(MessageLevel::Fatal, &format!("{call}() failed: 7 {message}"));
                log.text(MessageLevel::Fatal, &format!("failed query was: {text}"));
            }
        }
    }

    /// `con:next_result()`.
    pub(crate) fn next_result(&mut self, handle: u32) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return self.closed_already();
        };
        if !connection.is_open() {
            return self.closed_already();
        }
        if !connection.has_more_sets() {
            return RequestProgress::Done(Answer::NONE);
        }
        let next = connection.set + 1;
        let counter = connection.open_set(next);
        self.run.counters.slot(connection.tid).count(counter, 1);
        RequestProgress::Done(if counter == Counter::Read { Answer::RESULT } else { Answer::NONE })
    }

    //
    // Rows gathered into one INSERT
    //

    /// On a closed connection the misuse is reported here, and the first row fails.
    pub(crate) fn bulk_begin(&mut self, handle: u32, head: &[u8]) {
        match self.connections.get_mut(handle).filter(|connection| connection.is_open()) {
            Some(connection) => connection.bulk = Some(Bulk::new(head)),
            None => {
                self.closed_already();
            }
        }
    }

    /// As [`Bulk::add`].
    pub(crate) fn bulk_row(&mut self, handle: u32, row: &[u8]) -> Option<bool> {
        let Some(bulk) =
            self.connections.get_mut(handle).and_then(|connection| connection.bulk.as_mut())
        else {
            self.run.log.text(
                MessageLevel::Alert,
                "attempt to call bulk_insert_next() before bulk_insert_init()",
            );
            return None;
        };
        let added = bulk.add(row);
        if added.is_none() {
            self.run.log.text(
                MessageLevel::Fatal,
                "a row of a bulk insert is longer than the largest statement",
            );
        }
        added
    }

    /// Whether there are rows that have to be sent.
    pub(crate) fn bulk_end(&mut self, handle: u32) -> bool {
        let bulk = self.connections.get(handle).and_then(|connection| connection.bulk.as_ref());
        bulk.is_some_and(|bulk| !bulk.is_empty())
    }

    /// Sends the rows that were gathered.
    pub(crate) fn flush(&mut self, handle: u32) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return self.closed_already();
        };
        let Some(mut bulk) = connection.bulk.take() else {
            return RequestProgress::Done(Answer::NONE);
        };
        let step = self.query(handle, &bulk.text);
        bulk.clear();
        if let Some(connection) = self.connections.get_mut(handle) {
            connection.bulk = Some(bulk);
        }
        step
    }
}

/// Whether a text has nothing but blanks and semicolons.
fn asks_nothing(sql: &[u8]) -> bool {
    sql.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';')
}
