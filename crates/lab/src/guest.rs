//! A server of the user: a guest makes a schema there, or tables in one that it is given, sets what the plan says, and
//! leaves both as they were.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use truetps_driver::{Client, Dialect, DriverError, Endpoint, Target};
use truetps_record::{Configuration, Plan, ServerFacts};
use truetps_workload::Workload;

use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::experiment::Request;
use crate::foreign::{self, ForeignError, Hold};
use crate::ground::{Foreign, Site};
use crate::schema::Schema;
use crate::session_settings;
use crate::tables::{Ownership, Tables};

pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
/// A server that is being restarted is back within this time, or is not waited for.
const RETURN_WAIT: Duration = Duration::from_secs(20);

pub(crate) struct Guest<'a> {
    plan: &'a Plan,
    schema: Schema,
    /// Where the load connects to, with what its sessions set for themselves.
    inside: Target,
    tables: Tables,
    stop: &'a AtomicBool,
    client: Option<Client>,
    is_loaded: bool,
    /// `None` when everything is put back.
    hold: Option<Hold>,
    is_made: bool,
    /// A trial has had trouble: the server may be on its way down, or up.
    was_lost: bool,
}

impl<'a> Guest<'a> {
    /// Asks the server whether it takes all that the plan asks for, writes the journal, tries the levels of settings, and
    /// makes the schema.
    pub(crate) fn enter(
        request: &Request<'a>,
        foreign: &Foreign,
        workload: &dyn Workload,
        listener: &mut dyn Listener,
    ) -> Result<(Self, ServerFacts), LabError> {
        let (plan, target) = (request.plan, &foreign.target);
        let mut client = Client::connect(target, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
        let schema = Schema::new(target, &foreign.schema, foreign.schema_is_theirs, workload);
        let facts = check(&mut client, plan, foreign, listener)?;
        let identity = foreign::Identity::ask(&mut client).map_err(ForeignError::from)?;
        let sets = target.dialect == Dialect::Mysql && !foreign::names(plan).is_empty();
        let journal = foreign::Journal::new(request.tool_version, identity, target.to_string(), schema.record());
        foreign::refuse_unfinished(&foreign.journals, &journal, sets)?;
        schema.check(&mut client)?;
        let journal = foreign::OpenJournal::begin(&foreign.journals, journal, sets)?;
        let mut guest = Self {
            plan,
            inside: schema.inside().clone(),
            schema,
            tables: Tables::new(workload, true, Ownership::Guest(target.dialect)),
            stop: request.stop,
            client: None,
            is_loaded: false,
            hold: Some(Hold::new(journal, &mut client)?),
            is_made: false,
            was_lost: false,
        };
        match guest.move_in(&mut client) {
            Ok(()) => Ok((guest, facts)),
            Err(error) => {
                guest.leave(listener);
                Err(error)
            }
        }
    }

    fn move_in(&mut self, client: &mut Client) -> Result<(), LabError> {
        if let Some(hold) = &mut self.hold {
            let account = if client.dialect() == Dialect::Mysql { foreign::account(client)? } else { String::new() };
            hold.try_levels(client, self.plan, &account)?;
        }
        // Also where the making fails half-way: what has our mark is ours.
        self.is_made = true;
        self.schema.make(client)
    }

    /// Connects to the schema and fills its tables, if that has not been done.
    pub(crate) fn prepare(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        if self.client.is_none() {
            self.client = Some(self.come_back()?);
        }
        let client = self.client.as_mut().expect("it has just been connected");
        if self.is_loaded {
            return Ok(());
        }
        let stop = self.stop;
        let loaded = self.tables.load(client, &mut |rows, of| {
            listener.event(&Event::Loading { rows, of });
            !stop.load(Ordering::Relaxed)
        })?;
        if !loaded {
            return Err(LabError::Interrupted);
        }
        self.is_loaded = true;
        Ok(())
    }

    /// A new session, in the schema that is ours. A server that was lost is waited for, as it may be restarting.
    fn come_back(&mut self) -> Result<Client, LabError> {
        let mut client = connect_patiently(self.schema.inside(), self.was_lost, self.stop)?;
        self.was_lost = false;
        if !self.schema.mark().is_in(&mut client)? {
            return Err(LabError::OtherSchema { at: self.inside.endpoint(0).clone() });
        }
        if let Some(hold) = &mut self.hold {
            // Whatever it has forgotten is set again by the trial.
            hold.look_for_restart(&mut client)?;
        }
        Ok(client)
    }

    pub(crate) fn ready(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<Site<'_>, LabError> {
        self.prepare(listener)?;
        let Self { client: Some(client), inside, tables, hold: Some(hold), plan, .. } = self else {
            unreachable!("it has just been connected")
        };
        hold.look_for_restart(client)?;
        hold.apply(client, plan, configuration)?;
        if inside.dialect == Dialect::Postgres {
            inside.setup = session_settings::apply(client, plan, configuration)?;
        }
        let notes = tables.refill(client)?.into_iter().collect();
        // One server behind several addresses, or a PostgreSQL with a process for each session, is not one process.
        let is_one = inside.dialect == Dialect::Mysql && matches!(inside.endpoints[..], [Endpoint::Unix(_)]);
        let pid = if is_one { client.peer_pid() } else { None };
        Ok(Site { client, target: inside, server: None, pid, notes })
    }

    /// Why the trial that has just ended is no evidence. A server that does not answer has told so already.
    pub(crate) fn trouble(&mut self, configuration: &Configuration) -> Option<String> {
        let hold = self.hold.as_mut()?;
        let asked = self.client.as_mut().and_then(|client| hold.trouble(client, self.plan, configuration).ok());
        let told = if let Some(told) = asked {
            told
        } else {
            let mut client = connect_patiently(self.schema.inside(), true, self.stop).ok()?;
            hold.trouble(&mut client, self.plan, configuration).ok()?
        }?;
        self.discard();
        Some(told)
    }

    pub(crate) fn discard(&mut self) {
        self.client = None;
        self.was_lost = true;
    }

    /// Puts back and drops what is ours, and says so where that cannot be: a server that has become read-only, or is gone.
    pub(crate) fn leave(&mut self, listener: &mut dyn Listener) {
        let Some(hold) = self.hold.take() else { return };
        let path = hold.path().display().to_string();
        match self.clean_up(hold) {
            Ok(told) => told.into_iter().for_each(|text| listener.event(&Event::Warning(text))),
            Err(error) => listener.event(&Event::Warning(format!(
                "the server could not be left as it was: {error}; when it can: truetps server restore --journal '{path}'"
            ))),
        }
    }

    /// The settings first: they are everybody's. The journal stays until all of it is done.
    fn clean_up(&mut self, mut hold: Hold) -> Result<Vec<String>, LabError> {
        self.client = None;
        let is_awaited = self.was_lost && hold.sets_anything();
        let mut client = connect_patiently(self.schema.outside(), is_awaited, &AtomicBool::new(false))?;
        hold.look_for_restart(&mut client)?;
        let told = hold.put_back(&mut client)?;
        if self.is_made {
            let dropped = self.schema.drop_ours(&mut client);
            dropped.map_err(|error| LabError::NotDropped {
                schema: self.schema.name().to_owned(),
                error: error.to_string(),
            })?;
        }
        hold.finish()?;
        Ok(told)
    }
}

impl Drop for Guest<'_> {
    /// The server is left as it was, also where nobody listens any more: the next run says what to do about the rest.
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take() {
            let _ = self.clean_up(hold);
        }
    }
}

/// Everything that can be asked before anything is made.
pub(crate) fn check(
    client: &mut Client,
    plan: &Plan,
    foreign: &Foreign,
    listener: &mut dyn Listener,
) -> Result<ServerFacts, LabError> {
    let dialect = client.dialect();
    let facts = facts(client, dialect)?;
    if plan.server.flavour.is_some_and(|wanted| wanted != facts.flavour) {
        return Err(LabError::OtherFlavour { wanted: plan.server.flavour, found: facts.flavour });
    }
    if dialect == Dialect::Mysql && client.query_value("SELECT @@autocommit")?.as_deref() != Some("1") {
        return Err(LabError::NoAutocommit);
    }
    let names = foreign::names(plan);
    for name in &names {
        match dialect {
            Dialect::Mysql => {
                foreign::check_known(name, &facts)?;
                foreign::value(client, name)?;
            }
            Dialect::Postgres => session_settings::check(client, name)?,
        }
    }
    for text in foreign::look_around(client, &foreign.schema, foreign.schema_is_theirs, !names.is_empty())? {
        listener.event(&Event::Warning(text));
    }
    Ok(facts)
}

/// Connects; where it `is_awaited`, a server that cannot be reached is tried again for a while.
fn connect_patiently(target: &Target, is_awaited: bool, stop: &AtomicBool) -> Result<Client, DriverError> {
    const PAUSE: Duration = Duration::from_millis(100);
    let began = Instant::now();
    loop {
        match Client::connect(target, CLIENT_TIMEOUT) {
            Err(error) if is_awaited && began.elapsed() < RETURN_WAIT && !stop.load(Ordering::Relaxed) => {
                // A server that refuses the account is there.
                if matches!(&error, DriverError::Server(refused) if refused.sqlstate.starts_with("28")) {
                    return Err(error);
                }
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

fn facts(client: &mut Client, dialect: Dialect) -> Result<ServerFacts, DriverError> {
    let sql = match dialect {
        Dialect::Mysql => "SELECT CONCAT(@@version, ' ', @@version_comment)",
        Dialect::Postgres => "SELECT version()",
    };
    let version_text = client.query_value(sql)?.unwrap_or_default();
    Ok(ServerFacts::from_version_text(&version_text))
}

/// Settings of PostgreSQL that may have a password in them.
const SECRET: &str = "'primary_conninfo', 'restore_command', 'archive_command', 'archive_cleanup_command', \
                      'recovery_end_command', 'ssl_passphrase_command'";

/// All settings of the server, by name; secrets stay there.
pub(crate) fn variables(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    if client.dialect() == Dialect::Mysql {
        return truetps_sandbox::effective_variables(client);
    }
    let rows = client.query(&format!("SELECT name, setting FROM pg_settings WHERE name NOT IN ({SECRET})"))?.rows;
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()?.unwrap_or_default()))
    });
    Ok(pairs.collect())
}
