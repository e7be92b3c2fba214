//! `truetps gateway`: takes rows over HTTP until a signal.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rustix::process::geteuid;
use truetps_driver::{DriverError, Target};
use truetps_files::read_text;
use truetps_gateway::{AccessTokens, GatewayConfig, RunningGateway, TableConfig};
use truetps_record::Flavour;
use truetps_sandbox::{
    Home, RunningServer, Sandbox, SandboxOptions, Settings, StartOptions, find,
    raise_open_files_to_hard,
};

use crate::args::GatewayArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::{LoginSources, target};
use crate::signals;
use crate::site::{DSN, dsn_of_settings, private_disk};
use crate::terminal::{print_line, print_message, print_out, print_progress};

const TOKENS: &str = "TRUETPS_GATEWAY_TOKENS";
const METRICS_TOKENS: &str = "TRUETPS_GATEWAY_METRICS_TOKENS";
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);
const CLIENT_TIME: Duration = Duration::from_secs(30);
const STOP_TIME: Duration = Duration::from_secs(30);
const SCHEMA: &str = "gateway";
const READINGS: &str = "readings";
/// The table of `--private`: a client numbers its rows.
const CREATE_READINGS: &str = "CREATE TABLE gateway.readings (client INT UNSIGNED NOT NULL, seq \
     BIGINT UNSIGNED NOT NULL, value DOUBLE NULL, at TIMESTAMP(3) NOT NULL DEFAULT \
     CURRENT_TIMESTAMP(3), PRIMARY KEY (client, seq)) ENGINE=InnoDB";

pub(crate) fn run(args: &GatewayArgs) -> Result<Exit, CommandFailure> {
    let dsn = args.dsn.clone().or_else(dsn_of_settings).filter(|_| !args.private);
    if dsn.is_none() && !args.private {
        return Err(CommandFailure::usage("--dsn (or TRUETPS_DSN) or --private is missing"));
    }
    let tokens = tokens()?;
    let config = configuration(args, &tokens)?;
    // A connection is a descriptor. Where it cannot be raised, fewer connections are accepted at a
    // time.
    raise_open_files_to_hard();
    let stop = signals::stop_flag()?;
    let (private, target) = if let Some(dsn) = dsn {
        let sources =
            LoginSources::of_one(args.login.defaults_file.as_deref(), args.login.ask_password);
        (None, target(&dsn, DSN, &sources)?)
    } else {
        let server = TryoutServer::start(args)?;
        let target = server.running.target(SCHEMA);
        (Some(server), target)
    };
    let gateway = RunningGateway::start(&config, &target, tokens)?;
    print_warnings(&gateway);
    if args.check {
        return Ok(print_out(&promise(&gateway, &target)));
    }
    print_message(&promise(&gateway, &target));
    let (scheme, address) =
        (if config.tls.is_some() { "https" } else { "http" }, gateway.address());
    for table in &config.tables {
        print_message(&format!("Rows of {0}: {scheme}://{address}/v1/{0}\n", table.name));
    }
    if config.page {
        print_message(&format!("Page: {scheme}://{address}/\n"));
    }
    if let Some(address) = gateway.metrics_address() {
        print_message(&format!("Figures: http://{address}/metrics\n"));
    }
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    print_progress("draining: no new rows are taken\n");
    let ended = gateway.stop(Duration::from_secs_f64(config.drain_s));
    print_message(&format!("{} rows stored since the start\n", ended.stored));
    if let Some(private) = private {
        private.end()?;
    }
    if ended.is_drained {
        return Ok(Exit::Good);
    }
    let message =
        format!("rows were left without an answer of the database after {} s", config.drain_s);
    Err(CommandFailure::failed(message)
        .hint("their clients were answered 503, and send them again; drain_s is longer time"))
}

fn tokens() -> Result<AccessTokens, CommandFailure> {
    let tokens = match variable(TOKENS)? {
        None => AccessTokens::default(),
        Some(text) => {
            AccessTokens::parse(&text).map_err(|problem| wrong_tokens(TOKENS, &problem))?
        }
    };
    match variable(METRICS_TOKENS)? {
        None => Ok(tokens),
        Some(text) => tokens
            .with_metrics_tokens(&text)
            .map_err(|problem| wrong_tokens(METRICS_TOKENS, &problem)),
    }
}

fn variable(name: &str) -> Result<Option<String>, CommandFailure> {
    match std::env::var(name) {
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(CommandFailure::usage(format!("{name}: {error}"))),
        Ok(text) => Ok(Some(text)),
    }
}

fn wrong_tokens(variable: &str, problem: &str) -> CommandFailure {
    CommandFailure::usage(format!("{variable}: {problem}"))
        .hint("tokens of 16 characters or more, with commas between them: openssl rand -hex 16")
}

/// The file's configuration, with what was typed over it, checked.
fn configuration(
    args: &GatewayArgs,
    tokens: &AccessTokens,
) -> Result<GatewayConfig, CommandFailure> {
    let mut config =
        args.config.as_deref().map_or_else(|| Ok(GatewayConfig::default()), read_config)?;
    for name in &args.tables {
        if !config.tables.iter().any(|table| table.name == *name) {
            config.tables.push(TableConfig::named(name));
        }
    }
    if args.private && config.tables.is_empty() {
        config.tables.push(TableConfig::named(READINGS));
    }
    config.listen = args.listen.unwrap_or(config.listen);
    config.listen_remote |= args.listen_remote;
    config.anonymous |= args.anonymous;
    config.page |= args.page;
    config.check(tokens).map_err(|error| {
        let file =
            args.config.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
        CommandFailure::usage(format!("{file}{error}")).hint_if(error.hint.map(str::to_owned))
    })?;
    Ok(config)
}

fn read_config(path: &Path) -> Result<GatewayConfig, CommandFailure> {
    let text = read_text(path, CONFIG_BYTES_MAX).map_err(|error| wrong_config(path, &error))?;
    GatewayConfig::parse(&text)
        .map_err(|error| wrong_config(path, &error).hint_if(error.hint.map(str::to_owned)))
}

fn wrong_config(path: &Path, problem: &impl Display) -> CommandFailure {
    CommandFailure::usage(format!("--config {}: {problem}", path.display()))
}

fn print_warnings(gateway: &RunningGateway) {
    let root = "the gateway runs as root and needs no rights: use a user of its own";
    let root = geteuid().is_root().then_some(root);
    for warning in gateway.warnings().iter().map(String::as_str).chain(root) {
        print_line(&format!("warning: {warning}"));
    }
}

/// What the gateway promises for each table.
fn promise(gateway: &RunningGateway, target: &Target) -> String {
    let mut lines = Vec::new();
    for note in gateway.notes() {
        let (word, sentence) = &note.durability;
        lines.push(format!(
            "{target}, table {}: a row is known by {}\n",
            note.table,
            note.key.join(", ")
        ));
        lines.push(format!("  X-Durability: {word}: {sentence}\n"));
        lines.extend(note.warnings.iter().map(|warning| format!("  warning: {warning}\n")));
    }
    lines.concat()
}

/// A private server with an empty table, for a try.
struct TryoutServer {
    running: RunningServer,
    _sandbox: Sandbox,
}

impl TryoutServer {
    fn start(args: &GatewayArgs) -> Result<Self, CommandFailure> {
        let home =
            Home::open(args.sandbox.sandbox_dir.as_deref()).map_err(CommandFailure::broken)?;
        let binary = [Flavour::Mariadb, Flavour::Mysql, Flavour::Percona]
            .into_iter()
            .find_map(|flavour| find(None, Some(flavour), home.user()).ok())
            .ok_or_else(|| {
                CommandFailure::usage("--private: no server of the MySQL family was found")
                    .hint("truetps doctor")
            })?;
        let options = SandboxOptions {
            disk: args.disk.as_deref().map(private_disk).transpose()?,
            ..SandboxOptions::new(Settings::empty(binary.family()))
        };
        print_progress(&format!("starting a private server: {}\n", binary.path.display()));
        let sandbox = Sandbox::create(&home, &binary, &options).map_err(CommandFailure::broken)?;
        let running = sandbox
            .start(&StartOptions::new(Settings::empty(binary.family())))
            .map_err(CommandFailure::broken)?;
        create_readings(&running).map_err(CommandFailure::broken)?;
        // Until now the disk was as fast as the host's, so that the server is soon ready.
        sandbox.set_disk_timed(true).map_err(CommandFailure::broken)?;
        Ok(Self { running, _sandbox: sandbox })
    }

    fn end(self) -> Result<(), CommandFailure> {
        let stopped = self.running.stop(STOP_TIME);
        stopped.map(|_| ()).map_err(CommandFailure::broken)
    }
}

fn create_readings(server: &RunningServer) -> Result<(), DriverError> {
    let mut client = server.connect(CLIENT_TIME)?;
    client.execute(&format!("CREATE DATABASE {SCHEMA}"))?;
    client.execute(CREATE_READINGS)?;
    Ok(())
}
