//! A server of the user: a guest makes a schema of its own there, and touches nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use truetps_driver::{Client, Dialect, DriverError, Endpoint, Target};
use truetps_record::{Plan, ServerFacts};
use truetps_workload::Workload;

use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::ground::Site;
use crate::mark::Mark;
use crate::tables::{Ownership, Tables};

const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Errors "database exists" of MySQL and of PostgreSQL.
const DATABASE_EXISTS: u16 = 1007;
const DUPLICATE_DATABASE: &str = "42P04";

pub(crate) struct Guest<'a> {
    /// As the user named it; the schema is made and dropped from there.
    outside: Target,
    /// Inside the schema.
    inside: Target,
    schema: String,
    tables: Tables,
    stop: &'a AtomicBool,
    client: Option<Client>,
    is_loaded: bool,
    has_left: bool,
    mark: Mark,
}

impl<'a> Guest<'a> {
    /// Checks that the plan asks for nothing that a guest does not do, logs in, and makes the schema.
    pub(crate) fn enter(
        plan: &Plan,
        workload: &dyn Workload,
        target: &Target,
        schema: &str,
        stop: &'a AtomicBool,
    ) -> Result<(Self, ServerFacts), LabError> {
        let settings = plan.server.settings.keys().map(String::as_str).chain(plan.setting_factors().into_keys());
        if let Some(name) = settings.into_iter().next() {
            return Err(LabError::SettingOfGuest { name: name.to_owned() });
        }
        let mut client = Client::connect(target, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
        let facts = facts(&mut client, target.dialect)?;
        if plan.server.flavour.is_some_and(|wanted| wanted != facts.flavour) {
            return Err(LabError::OtherFlavour { wanted: plan.server.flavour, found: facts.flavour });
        }
        if target.dialect == Dialect::Mysql && client.query_value("SELECT @@autocommit")?.as_deref() != Some("1") {
            return Err(LabError::NoAutocommit);
        }
        create_schema(&mut client, schema)?;
        let mut inside = target.clone();
        inside.login.database = Some(schema.to_owned());
        let mark = Mark::new();
        if let Err(error) = mark_all(&mark, &inside) {
            // Nothing is in it yet, and this is the session that made it.
            let _ = client.execute(&format!("DROP DATABASE {}", quoted(target.dialect, schema)));
            return Err(error);
        }
        let tables = Tables::new(workload, true, Ownership::Guest(target.dialect));
        let guest = Self {
            outside: target.clone(),
            inside,
            schema: schema.to_owned(),
            tables,
            stop,
            client: None,
            is_loaded: false,
            has_left: false,
            mark,
        };
        Ok((guest, facts))
    }

    /// Connects to the schema and fills its tables, if that has not been done.
    pub(crate) fn prepare(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        let client = if let Some(client) = &mut self.client {
            client
        } else {
            let mut client = Client::connect(&self.inside, CLIENT_TIMEOUT)?;
            if !self.mark.is_in(&mut client)? {
                return Err(LabError::OtherSchema { at: self.inside.endpoint(0).clone() });
            }
            self.client.insert(client)
        };
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

    pub(crate) fn ready(&mut self, listener: &mut dyn Listener) -> Result<Site<'_>, LabError> {
        self.prepare(listener)?;
        let Self { client: Some(client), inside, tables, .. } = self else {
            unreachable!("it has just been connected")
        };
        let notes = tables.refill(client)?.into_iter().collect();
        // One server behind several addresses, or a PostgreSQL with a process for each session, is not one process.
        let is_one = inside.dialect == Dialect::Mysql && matches!(inside.endpoints[..], [Endpoint::Unix(_)]);
        let pid = if is_one { client.peer_pid() } else { None };
        Ok(Site { client, target: inside, server: None, pid, notes })
    }

    pub(crate) fn discard(&mut self) {
        self.client = None;
    }

    /// Drops the schema, and says so where that cannot be: a server that has become read-only, or is gone.
    pub(crate) fn leave(&mut self, listener: &mut dyn Listener) {
        self.has_left = true;
        if let Err(error) = self.drop_schema() {
            let schema = &self.schema;
            listener.event(&Event::Warning(format!(
                "the schema `{schema}` could not be dropped ({error}): when the server can, DROP DATABASE {schema}"
            )));
        }
    }

    /// Drops the schema that has our mark, and no other of its name.
    fn drop_schema(&mut self) -> Result<(), LabError> {
        self.client = None;
        let name = quoted(self.outside.dialect, &self.schema);
        let mut client = Client::connect(&self.outside, CLIENT_TIMEOUT)?;
        let is_ours = match self.outside.dialect {
            Dialect::Mysql => self.mark.is_in_schema(&mut client, &name)?,
            Dialect::Postgres => self.mark.is_in(&mut Client::connect(&self.inside, CLIENT_TIMEOUT)?)?,
        };
        if !is_ours {
            return Err(LabError::OtherSchema { at: self.outside.endpoint(0).clone() });
        }
        let dropped = match self.outside.dialect {
            Dialect::Mysql => client.execute(&format!("DROP DATABASE {name}")).map(drop),
            // Sessions of the load may still be on their way out. Servers before 13 do not know the word.
            Dialect::Postgres => match client.execute(&format!("DROP DATABASE {name} WITH (FORCE)")) {
                Err(DriverError::Server(_)) => client.execute(&format!("DROP DATABASE {name}")).map(drop),
                other => other.map(drop),
            },
        };
        Ok(dropped?)
    }
}

/// Leaves the mark in the schema, and makes sure that it is seen through every endpoint: several addresses must lead to
/// one server, or to servers that follow each other.
fn mark_all(mark: &Mark, inside: &Target) -> Result<(), LabError> {
    for (n, endpoint) in inside.endpoints.iter().enumerate() {
        let one = Target { endpoints: vec![endpoint.clone()], ..inside.clone() };
        let mut client = Client::connect(&one, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
        if n == 0 {
            mark.leave(&mut client)?;
        } else if !mark.is_in(&mut client)? {
            return Err(LabError::OtherSchema { at: endpoint.clone() });
        }
    }
    Ok(())
}

impl Drop for Guest<'_> {
    /// The schema goes with its maker, also where nobody listens any more: the next run says what to do about the rest.
    fn drop(&mut self) {
        if !self.has_left {
            let _ = self.drop_schema();
        }
    }
}

fn create_schema(client: &mut Client, schema: &str) -> Result<(), LabError> {
    match client.execute(&format!("CREATE DATABASE {}", quoted(client.dialect(), schema))) {
        Ok(_) => Ok(()),
        Err(DriverError::Server(error)) if error.code == DATABASE_EXISTS || error.sqlstate == DUPLICATE_DATABASE => {
            Err(LabError::SchemaExists { schema: schema.to_owned() })
        }
        Err(source) => Err(LabError::Schema { schema: schema.to_owned(), source }),
    }
}

/// The name as an identifier.
fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
        Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
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
