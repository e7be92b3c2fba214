//! `truetps server start`, `stop`, `status`, `sql`, `log`: a server with a name, and what runs of it.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use truetps_driver::{Client, QueryResult};
use truetps_record::{SqlDialect, split_sql};
use truetps_report::format;
use truetps_sandbox::{
    Family, Home, Instance, InstanceOptions, Named, NamedError, NamedServer, SandboxError, State, Status,
};

use crate::commands::run::settings;
use crate::commands::server::{open, refused};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::server_args::{LogArgs, NameArgs, SqlArgs, StartArgs, StopArgs};
use crate::{print_out, say, signals};

/// Cells wider than this are cut at a terminal.
const CELL_CHARS_MAX: usize = 60;
const ASK_TIME_LIMIT: Duration = Duration::from_secs(10);

fn get(home: &Home, name: &str) -> Result<NamedServer, Failure> {
    Named::of(home).get(name).map_err(|error| refused(&error))
}

pub(crate) fn start(args: &StartArgs) -> Result<Exit, Failure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let options = InstanceOptions {
        settings: settings(&args.settings)?,
        port: args.port,
        ready_time_limit: Duration::from_secs(args.wait),
    };
    say(&format!("starting {} ({})\n", server.name, server.what()));
    let stop = signals::stop_flag()?;
    let instance = Instance::of(Named::of(&home), &server);
    let status = match instance.start(&options, &stop) {
        Err(SandboxError::Named(error @ NamedError::Interrupted { .. })) => {
            say(&format!("{error}\n"));
            return Ok(Exit::Interrupted);
        }
        other => other.map_err(|error| refused(&error))?,
    };
    let exit = print_out(&described(&server, &status));
    let name = &server.name;
    let (owner, version) = match server.family() {
        Family::Mysql => ("root", "@@version"),
        Family::Postgres => ("postgres", "version()"),
    };
    if status.port.is_some() {
        say(&format!("\n{owner} comes by the socket alone: make an account with a password for the port\n"));
    }
    say(&format!(
        "\nNext   truetps server sql {name} 'SELECT {version}', truetps server status {name}, truetps server stop {name}\n"
    ));
    Ok(exit)
}

pub(crate) fn stop(args: &StopArgs) -> Result<Exit, Failure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let ended = Instance::of(Named::of(&home), &server)
        .stop(args.kill, Duration::from_secs(args.wait))
        .map_err(|error| refused(&error))?;
    let how = match (ended.clean, ended.killed) {
        (true, _) => "stopped cleanly",
        (false, true) if args.kill => "killed: its next start recovers",
        (false, true) => "did not end in time and was killed: its next start recovers",
        (false, false) => "ended, and did not say that all was well: see its log",
    };
    let took = format::duration(ended.took);
    let exit = print_out(&format!("{} (pid {}) {how}, after {took}\n", server.name, ended.pid));
    say(&format!("\nNext   truetps server start {0}, truetps server log {0}\n", server.name));
    Ok(exit)
}

pub(crate) fn status(args: &NameArgs) -> Result<Exit, Failure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let status = Instance::of(Named::of(&home), &server).status().map_err(|error| refused(&error))?;
    let printed = print_out(&described(&server, &status));
    if status.state == State::Running {
        return Ok(printed);
    }
    let next = if matches!(status.state, State::Died | State::NotStarted) { "log" } else { "start" };
    say(&format!("\nNext   truetps server {next} {}\n", server.name));
    Ok(if printed == Exit::Good { Exit::No } else { printed })
}

fn described(server: &NamedServer, status: &Status) -> String {
    let state = match status.state {
        State::NeverStarted => "was never started",
        State::Running => "runs",
        State::Stopped => "was stopped",
        State::Killed => "was killed by `stop`: its next start recovers",
        State::NotStarted => "does not run: its last start failed, or was cut short",
        State::Died => "died, or was killed: its next start recovers",
    };
    let mut lines = vec![
        ("server", format!("{} {state}", server.name)),
        ("version", server.what()),
        ("program", server.program.display().to_string()),
    ];
    if let Some(pid) = status.pid {
        lines.push(("pid", pid.to_string()));
        lines.extend(status.uptime.map(|uptime| ("uptime", format::duration(uptime))));
        lines.push(("socket", status.socket.display().to_string()));
        lines.push(("dsn", dsn(server.family(), status)));
        lines.extend(status.port.map(|port| ("tcp", format!("127.0.0.1:{port}, for accounts with a password"))));
    }
    if status.state != State::NeverStarted {
        let settings: Vec<_> =
            status.settings.iter().map(|(name, value)| format!("{name}={}", value.option_text())).collect();
        let text = if settings.is_empty() { "the server's own".to_owned() } else { settings.join(" ") };
        lines.push(("settings", text));
        lines.push(("data", format!("{} ({})", status.datadir.display(), format::bytes(status.data_bytes))));
        lines.push(("log", status.error_log.display().to_string()));
    }
    let lines: Vec<_> = lines.into_iter().map(|(word, text)| format!("{word:<9} {text}\n")).collect();
    lines.concat()
}

/// As `--dsn` and `server capture` take it.
fn dsn(family: Family, status: &Status) -> String {
    let path: String = status.socket.display().to_string().bytes().map(escaped).collect();
    match family {
        Family::Mysql => format!("mysql://root@?socket={path}"),
        Family::Postgres => format!("postgresql://postgres@/postgres?socket={path}"),
    }
}

fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

pub(crate) fn log(args: &LogArgs) -> Result<Exit, Failure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let text = Instance::of(Named::of(&home), &server).log_tail(args.lines);
    if text.is_empty() {
        say(&format!("{} has written no log yet\n", server.name));
        return Ok(Exit::Good);
    }
    Ok(print_out(&format!("{}\n", text.trim_end())))
}

pub(crate) fn sql(args: &SqlArgs) -> Result<Exit, Failure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let statements = statements(&args.sql, server.family())?;
    let instance = Instance::of(Named::of(&home), &server);
    let mut client = instance.connect(ASK_TIME_LIMIT).map_err(|error| refused(&error))?;
    client.set_timeout(Duration::from_secs(args.wait)).map_err(Failure::failed)?;
    let mut exit = Exit::Good;
    for statement in &statements {
        exit = answer(&mut client, statement)?;
        if exit != Exit::Good {
            break;
        }
    }
    Ok(exit)
}

fn statements(typed: &[String], family: Family) -> Result<Vec<String>, Failure> {
    let mut text = String::new();
    if typed.is_empty() {
        std::io::stdin().read_to_string(&mut text).map_err(|error| Failure::usage(format!("stdin: {error}")))?;
    }
    let texts = if typed.is_empty() { vec![text] } else { typed.to_vec() };
    let dialect = match family {
        Family::Mysql => SqlDialect::Mysql,
        Family::Postgres => SqlDialect::Postgres,
    };
    let mut statements = Vec::new();
    for text in texts {
        statements.extend(split_sql(&text, ";", dialect).map_err(Failure::usage)?);
    }
    if statements.is_empty() {
        return Err(Failure::usage("there is no statement, neither on the command line nor on stdin"));
    }
    Ok(statements)
}

fn answer(client: &mut Client, statement: &str) -> Result<Exit, Failure> {
    let failed = |source| SandboxError::Sql { action: "run the statement", source };
    let result = client.query(statement).map_err(|error| refused(&failed(error)))?;
    if result.columns.is_empty() {
        say(&format!("{}\n", format::plural(result.affected_rows, "row")));
        return Ok(Exit::Good);
    }
    Ok(print_out(&if std::io::stdout().is_terminal() { table(&result) } else { tabs(&result) }))
}

/// As the `mysql` client writes it for programs: `\\N` is no value, tabs and newlines in a value are escaped.
fn tabs(result: &QueryResult) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
    let row = |cells: Vec<String>| format!("{}\n", cells.join("\t"));
    let mut text = row(result.columns.iter().map(|name| escape(name)).collect());
    for cells in &result.rows {
        text.push_str(&row(cells
            .iter()
            .map(|cell| cell.as_deref().map_or_else(|| "\\N".to_owned(), escape))
            .collect()));
    }
    text
}

fn table(result: &QueryResult) -> String {
    let cut = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.chars().count() <= CELL_CHARS_MAX {
            return text;
        }
        text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
    };
    let mut rows = vec![result.columns.iter().map(|name| cut(name)).collect::<Vec<_>>()];
    rows.extend(
        result.rows.iter().map(|cells| cells.iter().map(|cell| cut(cell.as_deref().unwrap_or("NULL"))).collect()),
    );
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..result.columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rule = format!("{}\n", widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  "));
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.insert(1, rule);
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> QueryResult {
        let text = |text: &str| Some(text.to_owned());
        QueryResult {
            columns: vec!["id".to_owned(), "name".to_owned()],
            rows: vec![vec![text("1"), text("a\tb")], vec![text("22"), None]],
            affected_rows: 0,
            warnings: 0,
        }
    }

    #[test]
    fn answers_for_programs_and_for_people() {
        assert_eq!(tabs(&result()), "id\tname\n1\ta\\tb\n22\t\\N\n");
        assert_eq!(table(&result()), "id  name\n--  ----\n1   a b\n22  NULL\n");
    }
}
