//! A private server that is as fast as it can be, so that the generator shows.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use truetps_driver::Client;
use truetps_record::{Protocol, SettingValue, SqlDialect};
use truetps_sandbox::{
    Catalogue, Home, HostLimits, LimitError, Needs, RunningServer, Sandbox, SandboxOptions,
    ServerBinary, ServerLoad, Settings, StartOptions, check_limits, chosen_settings, find,
    raise_open_files,
};

use crate::bench::client::{SCHEMA, workload_spec};
use crate::bench::sample::Server;

/// An observer's question waits with the statements of thousands of sessions.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

pub(crate) struct PrivateServer {
    running: RunningServer,
    pub(crate) client: Client,
    version: String,
    threading: String,
    /// What the server counts once for each transaction of the load.
    pub(crate) counter: &'static str,
    // After `running`: the folder is deleted after its last user.
    _sandbox: Sandbox,
}

impl PrivateServer {
    /// With the table that the engine writes to.
    pub(crate) fn start(connections_max: u32, extra: &[(String, String)]) -> anyhow::Result<Self> {
        let load = ServerLoad { connections_max, statements_per_connection: 1 };
        let mut server = Self::start_bare(None, load, extra)?;
        create_tables(&mut server.client)?;
        Ok(server)
    }

    /// Without tables; of a program of this folder.
    pub(crate) fn start_bare(
        basedir: Option<&Path>,
        load: ServerLoad,
        extra: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let home = Home::open(None)?;
        let binary = find(basedir, None, home.user())?;
        let settings = settings(&home, &binary, load, extra)?;
        let needs = Needs::of(&settings);
        raise_open_files(&needs).map_err(with_hint)?;
        check_limits(&needs, &HostLimits::read()).map_err(with_hint)?;
        let options =
            SandboxOptions { settings: settings.clone(), data_bytes: 1 << 30, disk: None };
        let sandbox = Sandbox::create(&home, &binary, &options)?;
        let running = sandbox.start(&StartOptions::new(settings))?;
        let mut client = Client::connect_unix(running.socket(), "root", None, ANSWER_TIMEOUT)?;
        check_room(&mut client, load.connections_max)?;
        // A pool of threads would let the observer wait behind the load; elsewhere the variable is
        // unknown.
        let _ = client.execute("SET SESSION thread_pool_priority = 'high'");
        let threading = client.query_value("SELECT @@GLOBAL.thread_handling")?.unwrap_or_default();
        let (version, counter) = (binary.version_text, "Com_insert");
        Ok(Self { running, client, version, threading, counter, _sandbox: sandbox })
    }

    /// Lines for the head of a report.
    pub(crate) fn describe(&self, extra: &[(String, String)]) -> String {
        let extra: Vec<_> = extra.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let extra = extra.concat();
        format!(
            "- server: {}\n- threading: {}; innodb_flush_log_at_trx_commit=0, no binlog{extra}\n",
            self.version, self.threading
        )
    }

    /// A value of `SHOW GLOBAL STATUS`.
    pub(crate) fn value(&mut self, name: &str) -> anyhow::Result<u64> {
        let rows = self.client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?.rows;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
        value
            .and_then(|text| text.parse().ok())
            .with_context(|| format!("the server shows no {name}"))
    }
}

impl Server for PrivateServer {
    fn socket(&self) -> &Path {
        self.running.socket()
    }

    fn pid(&self) -> u32 {
        self.running.pid()
    }

    fn empty(&mut self) -> anyhow::Result<()> {
        self.client.execute(&format!("TRUNCATE TABLE {SCHEMA}.sbtest1"))?;
        Ok(())
    }

    fn sessions(&mut self) -> anyhow::Result<u64> {
        Ok(self.value("Threads_connected")?.saturating_sub(1))
    }

    fn statements(&mut self) -> anyhow::Result<u64> {
        self.value(self.counter)
    }
}

fn settings(
    home: &Home,
    binary: &ServerBinary,
    load: ServerLoad,
    extra: &[(String, String)],
) -> anyhow::Result<Settings> {
    let memory = truetps_probe::host_facts(home.path(), None).memory_bytes;
    let chosen = chosen_settings(memory, load, binary.flavour, binary.version);
    let mut settings =
        Settings::new(binary.family(), &Catalogue::ask(binary, home.user())?.keep_known(chosen));
    // No flush and no binlog.
    settings.set("innodb_flush_log_at_trx_commit", SettingValue::Int(0));
    for (name, level) in extra {
        settings.set(name, SettingValue::Text(level.clone()));
    }
    Ok(settings)
}

pub(crate) fn with_hint(error: LimitError) -> anyhow::Error {
    let hint = error.hint();
    anyhow::Error::new(error).context(format!("this host cannot carry the load; {hint}"))
}

/// A server with too few open files takes fewer connections than its settings say.
fn check_room(client: &mut Client, connections: u32) -> anyhow::Result<()> {
    let text = client
        .query_value("SELECT @@GLOBAL.max_connections")?
        .context("max_connections has no value")?;
    if text.parse::<u32>().context("max_connections")? <= connections {
        bail!(
            "the server takes only {text} connections, {connections} and the observer's are \
             needed: see `ulimit -n`"
        );
    }
    Ok(())
}

fn create_tables(client: &mut Client) -> anyhow::Result<()> {
    let workload = truetps_workload::build(&workload_spec(Protocol::Text), SqlDialect::Mysql, 1)?;
    client.execute(&format!("CREATE DATABASE {SCHEMA}"))?;
    client.execute(&format!("USE {SCHEMA}"))?;
    for table in workload.tables() {
        for sql in table.create_sql() {
            client.execute(sql)?;
        }
    }
    Ok(())
}
