//! A run on an external server: creates a schema there, or tables in an existing one, sets the
//! plan's settings, and restores both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use truetps_driver::{Client, ConnectionIds, DriverError, Endpoint, ServerError, Target};
use truetps_plan::Plan;
use truetps_record::{Configuration, ExternalFacts, ServerFacts, SqlDialect};
use truetps_workload::Workload;

use super::control::{CLIENT_TIMEOUT, control};
use super::globals::Scopes;
use super::grants::account;
use super::journal_file::OpenJournal;
use super::log_volume::Filling;
use super::restoring::Restored;
use super::schema::Schema;
use super::session_settings;
use super::settings_lease::{SettingsLease, finish};
use super::survey::survey;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::schedule::schedule;
use crate::trial::log_reader::LogReader;
use crate::trial::ready_server::{ReadyServer, TrialServer};
use crate::trial::server_provider::{ExternalServer, ServerProvider};
use crate::trial::tables::Tables;

/// A restarting server must be back within this time: InnoDB may have much to recover, and settings
/// stay changed unless truetps waits.
const RETURN_WAIT: Duration = Duration::from_mins(10);

/// State of a server that may be restarted at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerPresence {
    There,
    /// A trial had trouble: the server may be shutting down, or starting.
    Lost,
    /// It did not come back in time: trials do not wait again.
    Away,
}

pub(crate) struct ExternalSession<'a> {
    plan: &'a Plan,
    scopes: Scopes,
    schema: Schema,
    /// Where the load connects to, with the settings of its sessions.
    inside: Target,
    tables: Tables,
    stop: &'a AtomicBool,
    /// Creates and sets things.
    client: Option<Client>,
    is_loaded: bool,
    /// `None` once everything is restored.
    lease: Option<SettingsLease>,
    is_made: bool,
    presence: ServerPresence,
    facts: ExternalFacts,
    /// `None`: nothing was written yet.
    log: Option<LogReader>,
    /// Oddities since the last trial, reported with the next one.
    notes: Vec<String>,
}

impl<'a> ExternalSession<'a> {
    /// Checks that the server accepts everything in the plan, writes the journal, creates the
    /// schema, and tries the levels of settings.
    pub(crate) fn enter(
        plan: &'a Plan,
        stop: &'a AtomicBool,
        tool_version: &str,
        external: &ExternalServer,
        workload: &dyn Workload,
        listener: &mut dyn Listener,
    ) -> Result<(Self, ServerFacts), LabError> {
        let target = &external.target;
        let ids = ConnectionIds::default();
        let control = Target { connections: Some(ids.clone()), ..control(target) };
        let mut client =
            Client::connect(&control, CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
        let found = survey(&mut client, plan, external, workload, tool_version, listener)?;
        let sets = found.sets();
        let journal = OpenJournal::begin(&external.journals, found.journal, sets)?;
        listener.event(&ExperimentEvent::Journal(&journal.path));
        let mut schema = found.schema;
        let sessions = schema.own_sessions(&ids);
        let mut session = Self {
            plan,
            inside: schema.server.inside.clone(),
            tables: schema.tables_of(workload),
            schema,
            stop,
            client: None,
            is_loaded: false,
            lease: Some(SettingsLease::new(journal, found.scopes.clone(), sessions)),
            scopes: found.scopes,
            is_made: false,
            presence: ServerPresence::There,
            facts: found.external,
            log: None,
            notes: Vec::new(),
        };
        let created = session.create_schema(&mut client);
        session.client = Some(client);
        match created.and_then(|()| session.use_schema()) {
            Ok(()) => Ok((session, found.facts)),
            Err(error) => Err(error.and_not_left(session.leave(listener))),
        }
    }

    /// The name of the load's sessions on PostgreSQL.
    pub(crate) fn sessions_name(&self) -> String {
        self.schema.server.mark.signature()
    }

    fn create_schema(&mut self, client: &mut Client) -> Result<(), LabError> {
        let lease = self.lease.as_mut().expect("it has just been entered");
        lease.acquire(client)?;
        if client.dialect() == SqlDialect::Postgres {
            self.schema
                .server
                .outside
                .setup
                .iter()
                .try_for_each(|sql| client.execute(sql).map(drop))?;
        }
        let server = lease.journal.journal.server.clone();
        let made = self.schema.make(client, &server, &mut |made| lease.note(made));
        // Also after a failure half-way: what has the run's mark belongs to the run.
        self.is_made = !matches!(
            made,
            Err(LabError::SchemaExists { .. }
                | LabError::Schema { source: DriverError::Server(_), .. })
        );
        made?;
        let account =
            if client.dialect() == SqlDialect::Mysql { account(client)? } else { String::new() };
        lease.try_levels(client, self.plan, &account)?;
        session_settings::try_levels(&self.schema.server.inside, &self.scopes, self.plan)
    }

    /// Moves the session into the schema; a PostgreSQL session cannot move, and is replaced by
    /// another.
    fn use_schema(&mut self) -> Result<(), LabError> {
        if let (SqlDialect::Mysql, Some(client)) = (self.inside.dialect, &mut self.client) {
            client.execute(&format!("USE {}", self.schema.server.name.quoted()))?;
        } else {
            self.client = None;
        }
        Ok(())
    }

    /// Connects to the schema and fills its tables, unless already done.
    pub(crate) fn prepare(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        if self.client.is_none() {
            self.client = Some(self.reconnect(listener)?);
        }
        if self.is_loaded {
            return Ok(());
        }
        let Self { client: Some(client), lease: Some(lease), tables, stop, log, plan, .. } = self
        else {
            unreachable!("it has just been connected, and is not left yet")
        };
        let log = match log {
            Some(log) => log,
            None => log.insert(LogReader::begin(client)?),
        };
        let mut filling = Filling::new(log, schedule(plan).len());
        let loaded = tables.load(
            client,
            &mut |client, filled| {
                listener.event(&ExperimentEvent::Loading { rows: filled.rows, of: filled.of });
                filling.look(client, &filled).into_iter().for_each(|text| listener.warn(text));
                !stop.load(Ordering::Relaxed)
            },
            &mut |made| Ok(lease.note(made)?),
        )?;
        filling.end(client).into_iter().for_each(|text| listener.warn(text));
        if !loaded {
            return Err(LabError::Interrupted);
        }
        for name in tables.refilled_whole(client)? {
            listener.warn(format!(
                "the table `{name}` has no primary key by which its rows can be copied in parts: \
                 before each trial it is refilled in one transaction"
            ));
        }
        self.is_loaded = true;
        Ok(())
    }

    /// A new session, in the run's schema. If the connection was lost, waits for the server, which
    /// may be restarting.
    fn reconnect(&mut self, listener: &mut dyn Listener) -> Result<Client, LabError> {
        let mut client = self.connect_again(self.presence == ServerPresence::Lost, listener)?;
        if let Some(lease) = &mut self.lease {
            // The trial sets again what the server has forgotten.
            self.notes.extend(lease.verify_server(&mut client)?);
        }
        if !self.schema.server.is_marked_here(&mut client)? {
            return Err(LabError::OtherSchema { at: self.inside.endpoint(0).clone() });
        }
        Ok(client)
    }

    fn check_server(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<Option<String>, LabError> {
        let Self { client, lease: Some(lease), plan, .. } = self else { return Ok(None) };
        let asked = match client {
            Some(client) => check_with(lease, client, plan, configuration),
            None => Err(DriverError::Closed.into()),
        };
        match asked {
            Ok(trouble) => Ok(trouble),
            Err(LabError::External(error @ super::ExternalError::OtherServer { .. })) => {
                Err(error.into())
            }
            // A healthy server may have closed the session, or the server may be starting.
            Err(_) => {
                self.client = None;
                let mut client =
                    self.connect_again(self.presence != ServerPresence::Away, listener)?;
                let Self { lease: Some(lease), plan, .. } = self else { return Ok(None) };
                let trouble = check_with(lease, &mut client, plan, configuration)?;
                self.client = Some(client);
                Ok(trouble)
            }
        }
    }

    /// Into the schema, for a trial.
    fn connect_again(
        &mut self,
        is_awaited: bool,
        listener: &mut dyn Listener,
    ) -> Result<Client, DriverError> {
        let inside = control(&self.schema.server.inside);
        let client = connect_patiently(&inside, is_awaited, self.stop, listener);
        if client.is_ok() {
            self.presence = ServerPresence::There;
        } else if is_awaited {
            self.presence = ServerPresence::Away;
        }
        client
    }

    /// Global settings are restored first: they affect all users. The journal stays until
    /// everything is done. The session that set them restores them; if it is gone, another one
    /// does.
    fn clean_up(
        &mut self,
        mut lease: SettingsLease,
        listener: &mut dyn Listener,
    ) -> Result<Restored, LabError> {
        let mut restored = Restored::default();
        lease.journal.is_leaving = true;
        if !self.is_made && lease.has_set_nothing() {
            // Everything is restored: there is nothing left to check in the server.
            return finished(lease, restored);
        }
        let mut client = match self.client.take() {
            // A PostgreSQL database cannot be dropped while a session is in it.
            Some(client) if self.inside.dialect == SqlDialect::Mysql => Some(client),
            _ => None,
        };
        let mut is_restored = false;
        if let Some(live) = &mut client {
            let restoring =
                live.set_timeout(CLIENT_TIMEOUT).map_err(LabError::from).and_then(|()| {
                    lease.verify_server(live)?;
                    Ok(lease.restore(live, &mut restored)?)
                });
            is_restored = restoring.is_ok();
        }
        let mut client = match client {
            Some(client) if is_restored => client,
            gone => {
                drop(gone);
                let is_awaited = self.presence == ServerPresence::Lost || lease.sets_anything();
                let outside = control(&self.schema.server.outside);
                // A user who does not want to wait ends the program; its last message names the
                // journal.
                let mut client =
                    connect_patiently(&outside, is_awaited, &AtomicBool::new(false), listener)?;
                lease.verify_server(&mut client)?;
                restored = Restored::default();
                lease.restore(&mut client, &mut restored)?;
                client
            }
        };
        client.set_timeout(CLIENT_TIMEOUT)?;
        match lease.end_sessions(&mut client) {
            Ok(left) => restored.failed.extend(left),
            Err(error) => {
                restored.failed.push(format!("cannot list the sessions of the run: {error}"));
            }
        }
        if self.is_made
            && let Err(error) =
                self.schema.clean(client, &lease.journal.journal.schema, &mut restored)
        {
            restored.failed.push(format!(
                "the schema `{}` could not be dropped ({})",
                self.schema.name(),
                error.plain()
            ));
        }
        finished(lease, restored)
    }
}

impl ServerProvider for ExternalSession<'_> {
    fn external_facts(&self) -> Option<&ExternalFacts> {
        Some(&self.facts)
    }

    fn ready<'s>(
        &'s mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError> {
        self.prepare(listener)?;
        let Self {
            client: Some(client),
            inside,
            tables,
            lease: Some(lease),
            plan,
            notes,
            scopes,
            schema,
            log,
            ..
        } = self
        else {
            unreachable!("it has just been connected, and is not left yet")
        };
        let mut notes = std::mem::take(notes);
        notes.extend(lease.verify_server(client)?);
        lease.apply(client, plan, configuration)?;
        let own = session_settings::try_out(inside, scopes, plan, configuration)?;
        inside.setup = [&schema.server.inside.setup[..], &own.setup].concat();
        // Their locks would block the trial.
        notes.extend(lease.end_sessions(client)?);
        schema.check_signatures(client)?;
        notes.extend(tables.refill(client)?);
        // One server behind several addresses, or a PostgreSQL with a process for each session, is
        // not one process.
        let is_one = inside.dialect == SqlDialect::Mysql
            && matches!(inside.endpoints[..], [Endpoint::Unix(_)]);
        let pid = if is_one { client.peer_pid() } else { None };
        let control = control(&schema.server.inside);
        Ok(Box::new(TrialServer {
            client,
            log: log.as_mut(),
            target: inside,
            control,
            server: None,
            pid,
            notes,
            session: own.found,
        }))
    }

    /// Why the trial that just ended is invalid. If the server cannot be asked whether it stayed
    /// the same, the trial is invalid, too.
    fn trouble(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Option<String> {
        let trouble = match self.check_server(configuration, listener) {
            Ok(trouble) => trouble?,
            Err(error) => format!("cannot check whether the server stayed the same: {error}"),
        };
        self.discard();
        Some(trouble)
    }

    fn discard(&mut self) {
        self.client = None;
        if self.presence == ServerPresence::There {
            self.presence = ServerPresence::Lost;
        }
    }

    /// Restores the settings and drops what belongs to the run. An error says why that failed: the
    /// server has become read-only, or is gone.
    fn leave(&mut self, listener: &mut dyn Listener) -> Option<LabError> {
        let lease = self.lease.take()?;
        let journal = lease.journal.path.clone();
        match self.clean_up(lease, listener) {
            Ok(restored) => {
                listener.event(&ExperimentEvent::Restored);
                restored
                    .left
                    .into_iter()
                    .chain(restored.notes)
                    .for_each(|text| listener.warn(text));
                if let Some(kept) = restored.kept {
                    listener.warn(format!(
                        "the original values of the variables are kept in {}",
                        kept.display()
                    ));
                }
                None
            }
            Err(error) => Some(LabError::NotLeft { why: Box::new(error), journal, after: None }),
        }
    }
}

/// Anything not restored, in the server or in the journal, is an error.
fn finished(lease: SettingsLease, mut restored: Restored) -> Result<Restored, LabError> {
    finish(lease.journal, &mut restored);
    if restored.failed.is_empty() {
        return Ok(restored);
    }
    Err(super::ExternalError::NotAsBefore { what: restored.failed }.into())
}

impl Drop for ExternalSession<'_> {
    /// Restores the server also if the listener is gone: the next run reports what remains.
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            let _ = self.clean_up(lease, &mut NullListener);
        }
    }
}

struct NullListener;

impl Listener for NullListener {
    fn event(&mut self, _: &ExperimentEvent<'_>) {}
}

fn check_with(
    lease: &mut SettingsLease,
    client: &mut Client,
    plan: &Plan,
    configuration: &Configuration,
) -> Result<Option<String>, LabError> {
    if let Some(restarted) = lease.verify_server(client)? {
        return Ok(Some(restarted));
    }
    Ok(lease.trouble(client, plan, configuration)?)
}

/// A server that refuses the account, or that has no such schema, is reachable: it may be another
/// one. If it has only too many sessions of the account, the sessions of the load are ending.
fn is_there(refused: &ServerError) -> bool {
    let state = refused.sqlstate.as_str();
    (state.starts_with("28") || state == "42000" || state == "3D000") && !refused.is_session_limit()
}

/// Connects; if it `is_awaited`, retries an unreachable server for a while and reports that.
fn connect_patiently(
    target: &Target,
    is_awaited: bool,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<Client, DriverError> {
    const PAUSE: Duration = Duration::from_millis(100);
    let began = Instant::now();
    let mut is_reported = false;
    loop {
        match Client::connect(target, CLIENT_TIMEOUT) {
            Err(error)
                if is_awaited && began.elapsed() < RETURN_WAIT && !stop.load(Ordering::Relaxed) =>
            {
                if matches!(&error, DriverError::Server(refused) if is_there(refused)) {
                    return Err(error);
                }
                if !std::mem::replace(&mut is_reported, true) {
                    let minutes = RETURN_WAIT.as_secs() / 60;
                    let text =
                        format!("{error}: waiting up to {minutes} min for the server to come back");
                    listener.warn(text);
                }
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}
