//! Captures a running server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use truetps_driver::{Client, Target};
use truetps_knowledge::judge_text;
use truetps_probe::{clock, host_facts, probe_flush};
use truetps_record::{
    CAPTURE_KIND, CAPTURE_SCHEMA_VERSION, Capture, FlushProbe, HostFacts, ServerFacts, SqlDialect,
};

use crate::error::InspectError;
use crate::{ask_mysql, ask_postgres};

/// Time limit of the login and of each query.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of queries about tables, which can take long: after it they are left out.
const TABLES_TIMEOUT: Duration = Duration::from_millis(1500);

#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Version of truetps.
    pub tool_version: String,
    /// Measure a flush in this folder, which is on the disk of the server's data. A file is made
    /// there and removed.
    pub flush_dir: Option<PathBuf>,
    /// Leave out tables, plugins and host: a comparison needs only the variables.
    pub variables_only: bool,
}

/// Captures the server of a target, at its first endpoint.
pub fn capture(target: &Target, options: &CaptureOptions) -> Result<Capture, InspectError> {
    let failed = |source| InspectError::Server { server: target.to_string(), source };
    let mut client = Client::connect(target, TIMEOUT).map_err(failed)?;
    let flush = flush(&client, options.flush_dir.as_deref())?;
    let mut notes = Vec::new();
    let is_mysql = target.dialect == SqlDialect::Mysql;
    let version = if is_mysql {
        "SELECT CONCAT(@@version, ' ', @@version_comment)"
    } else {
        "SELECT version()"
    };
    let server = ServerFacts::from_version_text(
        &client.query_value(version).map_err(failed)?.unwrap_or_default(),
    );
    let variables = if is_mysql {
        ask_mysql::variables(&mut client, &mut notes)
    } else {
        ask_postgres::variables(&mut client, &mut notes)
    };
    let mut capture = Capture {
        schema_version: CAPTURE_SCHEMA_VERSION,
        kind: CAPTURE_KIND.to_owned(),
        tool_version: options.tool_version.clone(),
        captured_at: clock::now_rfc3339(),
        server,
        variables: variables.map_err(failed)?,
        status: if is_mysql {
            ask_mysql::status(&mut client).map_err(failed)?
        } else {
            BTreeMap::new()
        },
        plugins: Vec::new(),
        schemas: Vec::new(),
        host: None,
        durability: None,
        notes,
    };
    if !options.variables_only {
        surroundings(&mut client, &mut capture, flush);
    }
    capture.durability = durability(&capture);
    Ok(capture)
}

/// Requested explicitly, so a failure is an error.
fn flush(client: &Client, dir: Option<&Path>) -> Result<Option<FlushProbe>, InspectError> {
    let Some(dir) = dir else { return Ok(None) };
    if client.peer_pid().is_none() {
        return Err(InspectError::FlushElsewhere);
    }
    Ok(Some(probe_flush(dir)?))
}

/// What a commit on this server survives, in one line.
fn durability(captured: &Capture) -> Option<String> {
    let variables = captured.variables.iter();
    let variables = variables
        .map(|(name, found)| (name.as_str(), found.value.as_str(), found.origin.as_deref()));
    let status = captured.status.iter().map(|(name, value)| (name.as_str(), value.as_str(), None));
    let judged =
        judge_text(captured.server.flavour, &captured.server.version, variables.chain(status))?;
    let file_system = captured.host.as_ref().and_then(|host| host.file_system.as_deref());
    Some(judged.on_file_system(file_system).sentence)
}

/// Plugins, tables and host. Unreadable parts are reported, and are no failure.
fn surroundings(client: &mut Client, capture: &mut Capture, flush: Option<FlushProbe>) {
    let mut notes = std::mem::take(&mut capture.notes);
    let is_mysql = client.dialect() == SqlDialect::Mysql;
    capture.host = host(client, capture, flush, &mut notes);
    let plugins = if is_mysql { ask_mysql::plugins(client) } else { ask_postgres::plugins(client) };
    capture.plugins = noted(plugins, "plugins", &mut notes);
    // The last query: after a timeout the client cannot send another one.
    let schemas =
        client.set_timeout(TABLES_TIMEOUT).map_err(|error| error.to_string()).and_then(|()| {
            if is_mysql {
                ask_mysql::schemas(client, &capture.variables)
            } else {
                ask_postgres::schemas(client).map_err(|error| error.to_string())
            }
        });
    capture.schemas = noted(schemas, "schemas", &mut notes);
    capture.notes = notes;
}

fn noted<T: Default, E: std::fmt::Display>(
    read: Result<T, E>,
    what: &str,
    notes: &mut Vec<String>,
) -> T {
    read.unwrap_or_else(|error| {
        notes.push(format!("{what} could not be read: {error}"));
        T::default()
    })
}

/// Facts of the host, if the server is on this one: only a unix socket proves it.
fn host(
    client: &Client,
    capture: &Capture,
    flush: Option<FlushProbe>,
    notes: &mut Vec<String>,
) -> Option<HostFacts> {
    if client.peer_pid().is_none() {
        notes.push(
            "host facts are left out: only a server behind a unix socket, in this pid \
                   namespace, is known to be on this host"
                .to_owned(),
        );
        return None;
    }
    let named =
        ["datadir", "data_directory"].into_iter().find_map(|name| capture.variables.get(name));
    let data_dir = named.map_or("/", |variable| variable.value.as_str());
    Some(host_facts(Path::new(data_dir), flush))
}
