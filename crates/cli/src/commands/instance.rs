//! `truetps server start`, `stop`, `status`, `log`: a named server and its process.

use std::time::Duration;

use indexmap::IndexMap;
use truetps_disk::FlushTimes;
use truetps_driver::Target;
use truetps_record::{Family, SettingValue};
use truetps_report::format;
use truetps_sandbox::{
    DiskReady, DiskStatus, Home, Instance, InstanceOptions, InstanceState, Mismatch, NamedError,
    NamedServer, NamedServers, SandboxError, Status, check_server_name,
};

use crate::args::server::{LogArgs, NameArgs, StartArgs, StopArgs};
use crate::args::{ReadServerArgs, SandboxPlace};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::{LoginSources, target};
use crate::private_home::{open, refused};
use crate::set_words::settings;
use crate::signals;
use crate::site::own_program;
use crate::site::profile;
use crate::terminal::{print_line, print_message, print_out, print_progress};

pub(crate) fn get(home: &Home, name: &str) -> Result<NamedServer, CommandFailure> {
    NamedServers::of(home).get(name).map_err(|error| refused(&error))
}

/// The owner's login at the server of that name, if it runs; `None`: not a valid name, or no such
/// server.
pub(crate) fn owner_of(
    sandbox: &SandboxPlace,
    name: &str,
) -> Result<Option<Target>, CommandFailure> {
    if check_server_name(name).is_err() {
        return Ok(None);
    }
    let home = open(sandbox)?;
    let named = NamedServers::of(&home);
    match named.get(name) {
        Err(SandboxError::Named(NamedError::Unknown { .. })) => Ok(None),
        found => {
            let server = found.map_err(|error| refused(&error))?;
            Instance::of(named, &server).owner().map(Some).map_err(|error| refused(&error))
        }
    }
}

/// The server that a user has named, by its address or its name. The owner of a named server needs
/// no password, and none is sent.
pub(crate) fn target_of(args: &ReadServerArgs) -> Result<Target, CommandFailure> {
    let ReadServerArgs { named: server, sandbox, login } = args;
    if !server.contains("://") {
        if let Some(owner) = owner_of(sandbox, server)? {
            return Ok(owner);
        }
        // Anything else may have a password in it.
        let name = if check_server_name(server).is_ok() { server } else { "DSN" };
        let message = format!("{name}: neither the name of a server nor an address");
        let hint = "`truetps server list` has the names; an address is like \
                    mysql://root@?socket=/run/mysqld/mysqld.sock (`truetps help dsn`)";
        return Err(CommandFailure::usage(message).hint(hint));
    }
    target(server, "DSN", &LoginSources::of_one(login.defaults_file.as_deref(), login.ask_password))
}

/// The settings of a command line over the settings of the server's own option file.
fn over_base(
    server: &NamedServer,
    typed: IndexMap<String, SettingValue>,
) -> IndexMap<String, SettingValue> {
    let base = server
        .base_settings()
        .map(|(name, value)| (name.to_owned(), SettingValue::Text(value.to_owned())));
    let mut settings: IndexMap<_, _> = base.collect();
    settings.extend(typed);
    settings
}

pub(crate) fn start(args: &StartArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let options = InstanceOptions {
        settings: over_base(&server, settings(&args.settings)?),
        port: args.port,
        ready_time_limit: Duration::from_secs(args.wait),
        disk: args.disk.as_deref().map(profile).transpose()?,
        disk_helper: own_program()?,
    };
    print_progress(&format!("starting {} ({})\n", server.name, server.what()));
    let stop = signals::stop_flag()?;
    let instance = Instance::of(NamedServers::of(&home), &server);
    let status = match instance.start(&options, &stop, &disk_ready) {
        Err(SandboxError::Named(error @ NamedError::Interrupted { .. })) => {
            print_message(&format!("{error}\n"));
            return Ok(Exit::Interrupted);
        }
        other => other.map_err(|error| refused(&error))?,
    };
    for Mismatch { name, wanted, found } in &status.adjusted {
        print_line(&format!("{name} = {wanted} of its option file: the server takes {found}"));
    }
    let exit = print_out(&described(&server, &status));
    let name = &server.name;
    let (owner, version) = match server.family() {
        Family::Mysql => ("root", "@@version"),
        Family::Postgresql => ("postgres", "version()"),
    };
    if status.port.is_some() {
        print_message(&format!(
            "\n{owner} can log in through the socket only; create an account with a password for \
             the port\n"
        ));
    }
    print_message(&format!(
        "\nNext   truetps server sql {name} 'SELECT {version}', truetps server status {name}, \
         truetps server stop {name}\n"
    ));
    Ok(exit)
}

fn disk_ready(disk: &DiskReady<'_>) {
    let FlushTimes { overwrite_us_p50, append_us_p50, .. } = disk.flush_times;
    let (overwrite, append) =
        (format::duration_us(overwrite_us_p50), format::duration_us(append_us_p50));
    print_message(&format!("disk {}: overwrite {overwrite}, append {append}\n", disk.profile.name));
}

pub(crate) fn stop(args: &StopArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let ended = Instance::of(NamedServers::of(&home), &server)
        .stop(args.kill, Duration::from_secs(args.wait))
        .map_err(|error| refused(&error))?;
    let how = match (ended.clean, ended.killed) {
        (true, _) => "stopped cleanly",
        (false, true) if args.kill => "killed: its next start recovers",
        (false, true) => "did not end in time and was killed: its next start recovers",
        (false, false) => "stopped without reporting a clean shutdown; see its log",
    };
    let took = format::duration(ended.took);
    let exit = print_out(&format!("{} (pid {}) {how}, after {took}\n", server.name, ended.pid));
    print_progress(&format!(
        "\nNext   truetps server start {0}, truetps server log {0}\n",
        server.name
    ));
    Ok(exit)
}

pub(crate) fn status(args: &NameArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let status =
        Instance::of(NamedServers::of(&home), &server).status().map_err(|error| refused(&error))?;
    let printed = print_out(&described(&server, &status));
    if status.state == InstanceState::Running {
        return Ok(printed);
    }
    if status.held_by.is_some() {
        return Ok(if printed == Exit::Good { Exit::No } else { printed });
    }
    let next = if matches!(status.state, InstanceState::Died | InstanceState::NotStarted) {
        "log"
    } else {
        "start"
    };
    print_progress(&format!("\nNext   truetps server {next} {}\n", server.name));
    Ok(if printed == Exit::Good { Exit::No } else { printed })
}

/// The state in a line of a list, and in a sentence about the server.
pub(crate) fn state_words(state: InstanceState) -> (&'static str, &'static str) {
    match state {
        InstanceState::NeverStarted => ("never started", "was never started"),
        InstanceState::Running => ("runs", "runs"),
        InstanceState::Stopped => ("stopped", "was stopped"),
        InstanceState::Killed => ("killed", "was killed by `stop`: its next start recovers"),
        InstanceState::NotStarted => {
            ("did not start", "does not run: its last start failed or was interrupted")
        }
        InstanceState::Ended => ("ended", "shut down cleanly, not by `stop`"),
        InstanceState::Died => ("died", "died, or was killed: its next start recovers"),
    }
}

fn described(server: &NamedServer, status: &Status) -> String {
    let (_, state) = state_words(status.state);
    let mut lines = vec![
        ("server", format!("{} {state}", server.name)),
        ("version", server.what()),
        ("program", server.program.display().to_string()),
    ];
    if let Some(pid) = status.pid {
        lines.push(("pid", pid.to_string()));
        lines.extend(status.uptime.map(|uptime| ("uptime", format::duration(uptime))));
        lines.push(("socket", status.socket.display().to_string()));
        lines.push(("dsn", format!("'{}'", dsn(server.family(), status))));
        lines.extend(
            status
                .port
                .map(|port| ("tcp", format!("127.0.0.1:{port}, for accounts with a password"))),
        );
    }
    lines.extend(status.disk.as_ref().map(|disk| ("disk", disk_words(disk, status.pid.is_some()))));
    if let Some(pid) = status.held_by {
        lines.push((
            "held by",
            format!("process {pid}, a server on the same data that truetps did not start"),
        ));
    }
    if status.state != InstanceState::NeverStarted {
        let settings: Vec<_> = status
            .settings
            .iter()
            .map(|(name, value)| format!("{name}={}", value.option_text()))
            .collect();
        let text =
            if settings.is_empty() { "the server's own".to_owned() } else { settings.join(" ") };
        lines.push(("settings", text));
        lines.push((
            "data",
            format!("{} ({})", status.datadir.display(), format::bytes(status.data_bytes)),
        ));
        lines.push(("log", status.error_log.display().to_string()));
    }
    let lines: Vec<_> =
        lines.into_iter().map(|(word, text)| format!("{word:<9} {text}\n")).collect();
    lines.concat()
}

fn disk_words(disk: &DiskStatus, server_runs: bool) -> String {
    let name = &disk.profile.name;
    match disk.pid {
        Some(pid) => format!("{name}, emulated by process {pid}"),
        None if server_runs => {
            format!(
                "{name}; its process was killed, and reads and writes fail: stop the server, and \
                 start it again"
            )
        }
        None => format!("{name}, emulated, not mounted"),
    }
}

/// The DSN that `--dsn` and `server capture` take. Its `?` is a pattern for a shell, so it is shown
/// in quotes.
fn dsn(family: Family, status: &Status) -> String {
    let path: String = status.socket.display().to_string().bytes().map(escaped).collect();
    match family {
        Family::Mysql => format!("mysql://root@?socket={path}"),
        Family::Postgresql => format!("postgresql://postgres@/postgres?socket={path}"),
    }
}

fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

pub(crate) fn log(args: &LogArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let text = Instance::of(NamedServers::of(&home), &server).log_tail(args.lines);
    if args.lines == 0 {
        return Ok(Exit::Good);
    }
    if text.is_empty() {
        print_message(&format!("{} has written no log yet\n", server.name));
        return Ok(Exit::Good);
    }
    Ok(print_out(&format!("{}\n", text.trim_end())))
}
