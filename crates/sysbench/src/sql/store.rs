//! The connections and statements of one Lua state: begins the requests of scripts, and returns
//! their answers.

use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::fd::OwnedFd;
use truetps_driver::{Alarm, DriverError, Handles, Link, RowValues, Scratch, SessionEvent, Target};
use truetps_record::{ErrorClass, SqlDialect};

use super::connection::{ConnectReason, Connection, ConnectionWait, Goal};
use super::driver::{Driver, SqlError, connect_failure, files_advice, is_out_of_files};
use super::drivers::{Drivers, ReadyDriver};
use super::released::{Released, has_released, next_store, take_released};
use super::result_buffers::ResultBuffers;
use super::shapes::{
    ConnectionShape, DriverShape, LuaStructure, ResultShape, Shapes, StatementShape,
};
use super::statement::ScriptStatement;
use crate::command::{Answered, CommandRun, Counter, ServerSeen, ShapeFinder, ShapeNumber};
use crate::output::MessageLevel;

/// The answer to a script.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    /// An address, if one was requested.
    pub(crate) value: f64,
}

impl Answer {
    pub(crate) const RESULT: Self = Self::of(1);
    pub(crate) const NONE: Self = Self::of(2);
    pub(crate) const FAILED: Self = Self::of(3);
    /// The call was wrong, whatever the server would answer.
    pub(crate) const MISUSE: Self = Self::of(4);
    /// The connection is closed, and no error is raised for it.
    pub(crate) const CLOSED: Self = Self::of(5);

    pub(crate) const fn of(code: i32) -> Self {
        Self { code, value: 0.0 }
    }
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RequestProgress {
    Done(Answer),
    /// The server of this connection has to answer, or a timer has to expire.
    Wait,
}

/// A thread checks at least this often whether it should stop.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Between two attempts to connect.
const AGAIN_NS: u64 = 1_000_000;
/// … after repeated failures.
const AGAIN_NS_MAX: u64 = 200_000_000;

/// Clients of a run whose threads have an alarm each: with very many, alarms would expire more
/// often than threads wait.
const ALARMS_MAX: u32 = 64;

/// A driver that was given to a script.
fn ready(drivers: &Drivers, number: usize) -> &ReadyDriver {
    drivers.get(number).expect("a connection's driver was made ready when the script asked for it")
}

fn driver_shape(number: usize) -> LuaStructure<DriverShape> {
    let name = Drivers::NAMES[number].as_ptr();
    LuaStructure::new(DriverShape { short_name: name, long_name: name, handle: number as u32 })
}

pub(crate) struct Store {
    /// See `released.rs`.
    pub(super) number: u32,
    pub(crate) run: Arc<CommandRun>,
    /// Another one only before any of them is used.
    pub(crate) drivers: Arc<Drivers>,
    /// Index of the shard of counters that this thread writes to.
    pub(super) share: usize,
    pub(super) connections: Handles<Connection>,
    pub(super) statements: Handles<ScriptStatement>,
    pub(super) scratch: Scratch,
    pub(super) buffers: ResultBuffers,
    /// Watches sockets. `None`: the thread never waits for several at once.
    pub(crate) epoll: Option<OwnedFd>,
    /// Ends the waits for one socket. `None`: each has a time limit of its own.
    look: Option<Alarm>,
    driver_shapes: [LuaStructure<DriverShape>; Drivers::COUNT],
    connection_shapes: Shapes<ConnectionShape>,
    result_shapes: Shapes<ResultShape>,
    pub(super) statement_shapes: Shapes<StatementShape>,
    /// Buffer for the text of a statement with values in it.
    pub(super) text: Vec<u8>,
    /// Texts of prepared statements.
    pub(super) texts: HashSet<Rc<[u8]>>,
    shapes: ShapeFinder,
}

impl Store {
    pub(crate) fn new(
        run: Arc<CommandRun>,
        drivers: Arc<Drivers>,
        share: usize,
        watches: bool,
    ) -> io::Result<Self> {
        let epoll = if watches { Some(epoll::create(epoll::CreateFlags::CLOEXEC)?) } else { None };
        let look = if watches || run.settings.threads > ALARMS_MAX {
            None
        } else {
            Some(Alarm::every(LOOK)?)
        };
        Ok(Self {
            number: next_store(),
            run,
            share,
            connections: Handles::default(),
            statements: Handles::default(),
            scratch: Scratch::default(),
            buffers: ResultBuffers::default(),
            epoll,
            look,
            driver_shapes: std::array::from_fn(driver_shape),
            connection_shapes: Shapes::new(),
            result_shapes: Shapes::new(),
            statement_shapes: Shapes::new(),
            drivers,
            text: Vec::new(),
            texts: HashSet::new(),
            shapes: ShapeFinder::default(),
        })
    }

    /// `sysbench.sql.driver()`: the address of a driver's structure.
    pub(crate) fn driver(&self, name: Option<&str>) -> Option<f64> {
        match self.drivers.find(name) {
            Ok(number) => Some(self.driver_shapes[number].address().expose_provenance() as f64),
            Err(line) => {
                self.run.log.text(MessageLevel::Fatal, &line);
                None
            }
        }
    }

    pub(super) fn driver_of(&self, connection: &Connection) -> &Driver {
        &ready(&self.drivers, connection.driver).driver
    }

    pub(super) fn dialect_of(&self, handle: u32) -> Option<SqlDialect> {
        Some(self.driver_of(self.connections.get(handle)?).target.dialect)
    }

    /// The connection of a statement.
    pub(crate) fn connection_of(&self, statement: u32) -> u32 {
        self.statements.get(statement).map_or(u32::MAX, |statement| statement.connection)
    }

    //
    // Connecting
    //

    /// `drv:connect()`: the handle of the connection that is being opened, and its progress.
    pub(crate) fn connect(&mut self, driver: u32, tid: u32) -> (u32, RequestProgress) {
        let driver = driver as usize;
        if driver >= Drivers::COUNT || self.drivers.get(driver).is_err() {
            return (u32::MAX, RequestProgress::Done(Answer::MISUSE));
        }
        let number = self.drivers.next_connection();
        let (shape, result) = (self.connection_shapes.take(), self.result_shapes.take());
        let handle = self.connections.next();
        result.with(|shape| shape.serial = f64::from(handle));
        shape.with(|shape| {
            (shape.handle, shape.tid, shape.result, shape.store) =
                (handle, tid, result.address(), self.number);
            shape.driver = self.driver_shapes[driver].address();
        });
        let mut connection = Connection::new(driver, number, tid, shape, result);
        connection.is_dry = self.driver_of(&connection).is_dry_run;
        let is_dry = connection.is_dry;
        self.connections.insert(connection);
        if is_dry {
            return (handle, RequestProgress::Done(self.connected_answer(handle)));
        }
        let step = self.begin_connect(handle, ConnectReason::First);
        (handle, step)
    }

    fn connected_answer(&self, handle: u32) -> Answer {
        let address =
            self.connections.get(handle).map_or(0, |c| c.shape.address().expose_provenance());
        Answer { value: address as f64, ..Answer::NONE }
    }

    /// `con:reconnect()`.
    pub(crate) fn reconnect(&mut self, handle: u32) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        if connection.is_dry {
            return RequestProgress::Done(Answer::NONE);
        }
        if let Some(link) = connection.link.take() {
            link.quit(&mut self.scratch);
        }
        self.forget_results(handle);
        self.begin_connect(handle, ConnectReason::Asked)
    }

    fn connect_timeout_ns(&self, handle: u32) -> u64 {
        let connection = self.connections.get(handle);
        let of_driver =
            connection.and_then(|one| ready(&self.drivers, one.driver).driver.connect_timeout);
        let timeout = of_driver.or(self.run.settings.ours.connect_timeout);
        timeout.and_then(|timeout| u64::try_from(timeout.as_nanos()).ok()).unwrap_or(u64::MAX)
    }

    pub(super) fn begin_connect(&mut self, handle: u32, why: ConnectReason) -> RequestProgress {
        let timeout_ns = self.connect_timeout_ns(handle);
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        connection.doing = ConnectionWait::Connecting(why);
        connection.gives_up_ns = now_ns.saturating_add(timeout_ns);
        for statement in connection.statements.clone() {
            // The next server does not know it.
            if let Some(statement) = self.statements.get_mut(statement) {
                statement.handle = None;
            }
        }
        self.try_connect(handle)
    }

    fn try_connect(&mut self, handle: u32) -> RequestProgress {
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let connector = match ready(&self.drivers, connection.driver).connector() {
            Ok(connector) => connector,
            Err(error) => return self.not_connected(handle, &error),
        };
        let begun = connector.open_socket(connection.number).map(|socket| {
            let mut link = Link::new(socket, connector.session(connection.number));
            link.start_login(&mut self.scratch).map(|()| link)
        });
        match begun {
            Ok(Ok(link)) => {
                connection.wakes_ns = connection.gives_up_ns;
                connection.link = Some(link);
                self.watch(handle, true);
                RequestProgress::Wait
            }
            Ok(Err(error)) => self.not_connected(handle, &error),
            // The server's queue is full for the moment.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && now_ns < connection.gives_up_ns =>
            {
                connection.wakes_ns = now_ns + AGAIN_NS;
                RequestProgress::Wait
            }
            Err(source) => {
                let endpoint = connector.endpoint(connection.number).clone();
                self.not_connected(handle, &DriverError::Connect { endpoint, source })
            }
        }
    }

    fn not_connected(&mut self, handle: u32, error: &DriverError) -> RequestProgress {
        let timeout_ns = self.connect_timeout_ns(handle);
        let now_ns = self.run.control.now_ns();
        // Until its event can no longer be retried, the connection is needed.
        let has_ended = !self.run.control.may_restart();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        connection.link = None;
        let ConnectionWait::Connecting(why) = connection.doing else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        if why == ConnectReason::Broken && !has_ended {
            connection.back_off_ns = (connection.back_off_ns * 2).clamp(AGAIN_NS, AGAIN_NS_MAX);
            connection.wakes_ns = now_ns + connection.back_off_ns;
            connection.gives_up_ns = connection.wakes_ns.saturating_add(timeout_ns);
            return RequestProgress::Wait;
        }
        (connection.doing, connection.wakes_ns) = (ConnectionWait::Nothing, u64::MAX);
        // The error that broke the connection is still set, and no longer restarts an event.
        if why == ConnectReason::Broken {
            return RequestProgress::Done(Answer::FAILED);
        }
        let driver = &ready(&self.drivers, connection.driver).driver;
        let sql_error = SqlError::of_driver(error, driver.target.dialect);
        connection.show_error(2, &sql_error);
        // One line suffices for all clients: the cause is a limit of the process.
        let limit = is_out_of_files(error).then(|| files_advice(self.run.settings.threads));
        if limit.as_ref().is_none_or(|advice| self.run.note(advice.clone())) {
            let lines = connect_failure(
                driver.target.dialect,
                driver.target.endpoint(connection.number),
                error,
            );
            for line in lines.iter().chain(&limit) {
                self.run.log.text(MessageLevel::Fatal, line);
            }
        }
        if let Some(hint) = error.hint() {
            self.run.note(format!("{error}; hint: {hint}"));
        }
        self.tally(error.class(), error.code(), &error.to_string());
        if why == ConnectReason::First {
            self.release(handle);
        }
        RequestProgress::Done(Answer::MISUSE)
    }

    fn connected(&mut self, handle: u32, why: ConnectReason) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        (connection.doing, connection.wakes_ns) = (ConnectionWait::Nothing, u64::MAX);
        let tid = connection.tid;
        if let Some(link) = &connection.link {
            let driver = &ready(&self.drivers, connection.driver).driver;
            let is_first = self.run.server.get().is_none();
            self.run.server.get_or_init(|| {
                let load_target = driver.bare_target();
                let endpoints = vec![driver.target.endpoint(connection.number).clone()];
                ServerSeen {
                    version: link.session().server_version().to_owned(),
                    target: Target { endpoints, ..load_target.clone() },
                    load_target,
                }
            });
            self.run
                .server_warning
                .filter(|_| is_first)
                .into_iter()
                .for_each(|ask| self.run.warn_of_server(ask));
        }
        match why {
            ConnectReason::First => {
                connection.show_success();
                RequestProgress::Done(self.connected_answer(handle))
            }
            ConnectReason::Asked => {
                connection.show_success();
                self.run.counters.slot(tid).count(Counter::Reconnect, 1);
                RequestProgress::Done(Answer::NONE)
            }
            // The error that broke it is still set, and restarts the event.
            ConnectReason::Broken => {
                self.run.counters.slot(tid).count(Counter::Reconnect, 1);
                RequestProgress::Done(Answer::FAILED)
            }
        }
    }

    /// Watches the socket of a connection, which has just been opened.
    pub(super) fn watch(&mut self, handle: u32, is_new: bool) {
        let Some(epoll) = &self.epoll else { return };
        let Some(link) =
            self.connections.get(handle).and_then(|connection| connection.link.as_ref())
        else {
            return;
        };
        let data = epoll::EventData::new_u64(handle.into());
        let for_room = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        let flags = if link.wants_to_write() { for_room } else { epoll::EventFlags::IN };
        // Adding a socket fails if the system has no memory for it: then no event ever arrives, and
        // the connect timeout ends the wait.
        let _ = if is_new {
            epoll::add(epoll, link, data, flags)
        } else {
            epoll::modify(epoll, link, data, flags)
        };
    }

    //
    // Replies
    //

    /// The server of this connection may have answered.
    pub(crate) fn on_ready(&mut self, handle: u32) -> RequestProgress {
        self.lend(handle);
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let Some(link) = &mut connection.link else { return RequestProgress::Wait };
        let received = link.receive(&mut self.scratch);
        if connection.doing == ConnectionWait::Nothing {
            // No client waits for it: the next command fails.
            if let Err(error) = received {
                (connection.link, connection.lost) = (None, Some(error));
            }
            return RequestProgress::Wait;
        }
        match received {
            Ok(None) => {
                if link.has_more() || link.wants_to_write() {
                    // Its edge was consumed, or a file is being sent: the wait must be armed again.
                    self.watch(handle, false);
                }
                RequestProgress::Wait
            }
            Ok(Some(event)) => self.on_event(handle, event),
            Err(error) => self.on_loss(handle, &error),
        }
    }

    /// Waits for the server of this connection, and returns the result.
    fn wait(&mut self, handle: u32, until_ns: u64) -> RequestProgress {
        self.lend(handle);
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        let until_ns = until_ns.min(connection.wakes_ns);
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        let Some(link) = &mut connection.link else {
            std::thread::sleep(left);
            return self.on_time(handle);
        };
        match link.wait(&mut self.scratch, Instant::now().checked_add(left)) {
            Ok(event) => self.on_event(handle, event),
            Err(DriverError::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {
                self.on_time(handle)
            }
            Err(error) => self.on_loss(handle, &error),
        }
    }

    /// Waits in the same way for at most [`LOOK`].
    pub(crate) fn wait_a_while(&mut self, handle: u32) -> RequestProgress {
        // A login has times of its own.
        let connection =
            self.connections.get(handle).filter(|connection| !connection.is_connecting());
        let link = connection.and_then(|connection| connection.link.as_ref());
        let Some((look, link)) = self.look.as_ref().zip(link) else {
            return self
                .wait(handle, self.run.control.now_ns().saturating_add(LOOK.as_nanos() as u64));
        };
        match link.sleep_beside(look, None) {
            Ok(true) => self.on_ready(handle),
            Ok(false) => RequestProgress::Wait,
            Err(error) => self.on_loss(handle, &error.into()),
        }
    }

    /// Whether the run no longer waits.
    pub(crate) fn gives_up(&self) -> bool {
        self.run.interrupt.is_asked() || self.run.control.gives_up()
    }

    /// Time of the connection's next action; u64::MAX: never.
    pub(crate) fn wakes_ns(&self, handle: u32) -> u64 {
        let connecting =
            self.connections.get(handle).filter(|connection| connection.is_connecting());
        connecting.map_or(u64::MAX, |connection| connection.wakes_ns)
    }

    /// The timer of a connection may have expired.
    pub(crate) fn on_time(&mut self, handle: u32) -> RequestProgress {
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        if !connection.is_connecting() || now_ns < connection.wakes_ns {
            return RequestProgress::Wait;
        }
        if connection.link.is_none() {
            return self.try_connect(handle);
        }
        let endpoint = ready(&self.drivers, connection.driver)
            .driver
            .target
            .endpoint(connection.number)
            .clone();
        let source = io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time");
        self.not_connected(handle, &DriverError::Connect { endpoint, source })
    }

    fn on_event(&mut self, handle: u32, event: SessionEvent) -> RequestProgress {
        let Some(connection) = self.connections.get(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        match (event, connection.doing.clone()) {
            (SessionEvent::Ready, ConnectionWait::Connecting(why)) => self.connected(handle, why),
            (SessionEvent::Prepared(prepared), ConnectionWait::Prepare { statement, goal }) => {
                self.on_prepared(handle, statement, prepared, goal)
            }
            (SessionEvent::Reply(reply), ConnectionWait::Prepare { statement, goal }) => {
                self.on_refused(handle, statement, reply, goal)
            }
            (SessionEvent::Reply(reply), ConnectionWait::Query) => {
                self.on_reply(handle, reply, None)
            }
            (SessionEvent::Reply(reply), ConnectionWait::Execute { statement }) => {
                self.on_reply(handle, reply, Some(statement))
            }
            (SessionEvent::Reply(reply), ConnectionWait::RollBack) => {
                self.buffers.keep(reply.sets);
                self.idle(handle);
                RequestProgress::Done(Answer::FAILED)
            }
            (SessionEvent::Pending, _) => RequestProgress::Wait,
            _ => self.on_loss(handle, &DriverError::Protocol("an unexpected reply")),
        }
    }

    pub(super) fn idle(&mut self, handle: u32) {
        if let Some(connection) = self.connections.get_mut(handle) {
            connection.doing = ConnectionWait::Nothing;
        }
    }

    /// The connection broke.
    pub(super) fn on_loss(&mut self, handle: u32, error: &DriverError) -> RequestProgress {
        let Some(connection) = self.connections.get_mut(handle) else {
            return RequestProgress::Done(Answer::MISUSE);
        };
        if connection.is_connecting() {
            return self.not_connected(handle, error);
        }
        connection.link = None;
        let unborn = match connection.doing {
            ConnectionWait::Prepare { statement, goal: Goal::New } => Some(statement),
            _ => None,
        };
        let dialect = ready(&self.drivers, connection.driver).driver.target.dialect;
        let (class, code) = (error.class(), error.code());
        let is_prepared = matches!(
            connection.doing,
            ConnectionWait::Prepare { .. } | ConnectionWait::Execute { .. }
        );
        if let Some(statement) = unborn {
            self.release_statement(statement);
        }
        self.failed(handle, &SqlError::of_driver(error, dialect), class, code, is_prepared)
    }

    /// The statement in flight has been answered.
    pub(super) fn record(&mut self, handle: u32, outcome: Counter) {
        let now_ns = self.run.control.now_ns();
        let Some(connection) = self.connections.get(handle) else { return };
        let (kind, shape) = (connection.kind, connection.shape_number);
        let length_ns = now_ns.saturating_sub(connection.sent_ns);
        self.run
            .counters
            .record_statement(self.share, &Answered { kind, shape, outcome, length_ns });
    }

    /// The shape of a statement on this connection, which only a run folder keeps.
    pub(super) fn shape_of(&mut self, handle: u32, sql: &[u8]) -> ShapeNumber {
        let is_recorded = self.run.settings.ours.runs.is_some();
        let Some(dialect) = self.dialect_of(handle).filter(|_| is_recorded) else {
            return ShapeNumber::default();
        };
        self.shapes.find(sql, dialect, &self.run.counters.shapes)
    }

    pub(super) fn tally(&self, class: ErrorClass, code: u16, message: &str) {
        self.run.counters.record_error(self.share, class, code, message);
    }

    //
    // Results
    //

    /// Lends a buffer to a statement whose reply begins to arrive.
    fn lend(&mut self, handle: u32) {
        let Some(connection) =
            self.connections.get_mut(handle).filter(|connection| connection.awaits_sets)
        else {
            return;
        };
        connection.awaits_sets = false;
        if let Some(link) = &mut connection.link {
            self.buffers.lend(link);
        }
    }

    /// `rs:fetch_row()`: `take` gets the number of columns and the values. `None`: there is no row.
    pub(crate) fn next_row<R>(
        &mut self,
        handle: u32,
        take: impl FnOnce(u32, &mut RowValues<'_>) -> R,
    ) -> Option<R> {
        let connection =
            self.connections.get_mut(handle).filter(|connection| connection.sets.is_some());
        let Some(connection) = connection else {
            self.run
                .log
                .text(MessageLevel::Alert, "attempt to fetch row from an invalid result set");
            return None;
        };
        let is_empty = connection
            .sets
            .as_deref()
            .and_then(|sets| sets.get(connection.set))
            .is_none_or(|set| set.rows == 0);
        if is_empty {
            self.run.log.text(MessageLevel::Alert, "attempt to fetch row from an empty result set");
        }
        connection.next_row(take)
    }

    /// `rs:free()`. `false`: there is nothing to free.
    pub(crate) fn free_result(&mut self, handle: u32) -> bool {
        if self.connections.get(handle).is_none_or(|connection| connection.sets.is_none()) {
            self.run.log.text(MessageLevel::Alert, "attempt to free an invalid result set");
            return false;
        }
        self.forget_results(handle);
        true
    }

    pub(crate) fn has_more_results(&mut self, handle: u32) -> bool {
        self.connections.get(handle).is_some_and(Connection::has_more_sets)
    }

    pub(super) fn forget_results(&mut self, handle: u32) {
        let Some(connection) = self.connections.get_mut(handle) else { return };
        connection.rows_left = 0;
        let sets = connection.sets.take();
        self.buffers.keep(sets);
    }

    //
    // Ends
    //

    /// `con:disconnect()`. `false`: it was closed already.
    pub(crate) fn disconnect(&mut self, handle: u32) -> bool {
        self.forget_results(handle);
        let Some(connection) = self.connections.get_mut(handle) else { return false };
        let was_open = connection.is_open();
        connection.is_dry = false;
        connection.lost = None;
        (connection.doing, connection.wakes_ns) = (ConnectionWait::Nothing, u64::MAX);
        if let Some(link) = connection.link.take() {
            link.quit(&mut self.scratch);
        }
        if !was_open {
            self.run.log.text(MessageLevel::Alert, "attempt to close an already closed connection");
        }
        was_open
    }

    /// The script has dropped the connection.
    pub(crate) fn release(&mut self, handle: u32) {
        self.forget_results(handle);
        let Some(mut connection) = self.connections.remove(handle) else { return };
        if let Some(link) = connection.link.take() {
            link.quit(&mut self.scratch);
        }
        // Their handles are freed when the script has dropped them, too.
        for statement in connection.statements {
            if let Some(statement) = self.statements.get_mut(statement) {
                statement.forget();
            }
        }
        self.connection_shapes.give_back(connection.shape);
        self.result_shapes.give_back(connection.result);
    }

    /// Frees the objects that the script has dropped.
    pub(crate) fn release_forgotten(&mut self) {
        if !has_released() {
            return;
        }
        for what in take_released(self.number) {
            match what {
                Released::Connection(handle) => self.release(handle),
                Released::Statement(number) => self.release_statement(number),
            }
        }
    }
}

impl Drop for Store {
    /// The state is closed: its finalisers have added objects that will never be fetched.
    fn drop(&mut self) {
        take_released(self.number);
    }
}
