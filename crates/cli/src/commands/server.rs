//! `truetps server`: private servers, and what killed runs left behind.

use std::path::Path;

use truetps_record::Flavour;
use truetps_report::format;
use truetps_sandbox::{
    Add, Cleaning, Home, Instance, InstanceState, Kept, Listed, NamedError, NamedServers,
    RegistryEntry, SandboxError, ServerBinary, ServerOptionFile, UnfinishedFolder,
    clean_unfinished, remove_templates, templates_bytes, unfinished,
};

use crate::args::SandboxPlace;
use crate::args::server::{AddArgs, CleanArgs, RemoveArgs, ServerCommand};
use crate::commands::{capture, instance, restore, sql};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::option_file::of_file;
use crate::private_home::{open, refused};
use crate::signals;
use crate::terminal::{print_message, print_out, print_progress};

pub(crate) fn run(command: &ServerCommand) -> Result<Exit, CommandFailure> {
    match command {
        ServerCommand::Add(args) => add(args),
        ServerCommand::List(sandbox) => list(sandbox),
        ServerCommand::Start(args) => instance::start(args),
        ServerCommand::Stop(args) => instance::stop(args),
        ServerCommand::Status(args) => instance::status(args),
        ServerCommand::Sql(args) => sql::run(args),
        ServerCommand::Log(args) => instance::log(args),
        ServerCommand::Remove(args) => remove(args),
        ServerCommand::Clean(args) => clean(args),
        ServerCommand::Restore(args) => restore::run(args),
        ServerCommand::Capture(args) => capture::run(args),
    }
}

fn add(args: &AddArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let stop = signals::stop_flag()?;
    let (source, flavour) = source_of(args);
    let read = |binary: &ServerBinary| option_file_of(args, binary, &home);
    let add = Add {
        name: &args.name,
        source,
        flavour,
        option_file: args.my_cnf.is_some().then_some(&read),
        replace: args.replace,
        stop: &stop,
    };
    let server = match NamedServers::of(&home).register(&add) {
        Err(SandboxError::Named(error @ NamedError::NotAdded { .. })) => {
            print_message(&format!("{error}\n"));
            return Ok(Exit::Interrupted);
        }
        other => other.map_err(|error| refused(&error))?,
    };
    let file = server.option_file.as_ref();
    let file = file.map(|file| {
        format!(
            "  {} of {}",
            format::plural(file.settings.len() as u64, "setting"),
            file.path.display()
        )
    });
    let file = file.unwrap_or_default();
    let exit = print_out(&format!(
        "{}  {}  {}{file}\n",
        server.name,
        server.what(),
        server.program.display()
    ));
    print_progress(&format!(
        "\nNext   truetps server start {0}, truetps sweep --quick --server {0}\n",
        server.name
    ));
    Ok(exit)
}

/// Words for the installed server of a family. A server's name may begin with one of them, too.
const FAMILY_WORDS: [(&str, Flavour); 6] = [
    ("mariadb", Flavour::Mariadb),
    ("maria", Flavour::Mariadb),
    ("mysql", Flavour::Mysql),
    ("percona", Flavour::Percona),
    ("postgres", Flavour::Postgresql),
    ("pg", Flavour::Postgresql),
];

/// The path that was typed, and the family of the installed server if none was: `server add pg` is
/// not a MariaDB.
fn source_of(args: &AddArgs) -> (Option<&Path>, Option<Flavour>) {
    match args.path.as_deref() {
        Some(path) if path.symlink_metadata().is_err() => {
            let word =
                path.to_str().map(|word| if word == "postgresql" { "postgres" } else { word });
            match word.and_then(|word| family_of(|known| word == known)) {
                Some(flavour) => (None, Some(flavour)),
                None => (Some(path), None),
            }
        }
        Some(path) => (Some(path), None),
        None => (None, family_of(|known| args.name.starts_with(known))),
    }
}

/// The family that has the first fitting word.
fn family_of(fits: impl Fn(&str) -> bool) -> Option<Flavour> {
    FAMILY_WORDS.iter().find(|(known, _)| fits(known)).map(|(_, flavour)| *flavour)
}

fn option_file_of(
    args: &AddArgs,
    binary: &ServerBinary,
    home: &Home,
) -> Result<ServerOptionFile, String> {
    let named = args.my_cnf.as_deref().unwrap_or(Path::new(""));
    let settings = of_file(named, binary, home.user()).map_err(|failure| failure.text())?;
    let path = named.canonicalize().map_err(|error| format!("{}: {error}", named.display()))?;
    Ok(ServerOptionFile { path, settings: settings.into_iter().collect() })
}

fn remove(args: &RemoveArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    NamedServers::of(&home).remove(&args.name, args.force).map_err(|error| refused(&error))?;
    print_message(&format!("removed {}\n", args.name));
    Ok(Exit::Good)
}

fn list(sandbox: &SandboxPlace) -> Result<Exit, CommandFailure> {
    let home = open(sandbox)?;
    let named = NamedServers::of(&home);
    let servers = named.list().map_err(|error| refused(&error))?;
    let entries = truetps_sandbox::list(&home).map_err(CommandFailure::broken)?;
    let begun = unfinished(&home);
    if entries.is_empty() && servers.is_empty() && begun.is_empty() {
        print_message(&format!("no private server in {}\n", home.path().display()));
        print_progress("\nNext   truetps server add NAME [PATH]\n");
        return Ok(Exit::Good);
    }
    let mut lines = String::new();
    for server in &servers {
        lines.push_str(&named_line(named, server));
    }
    lines.extend(entries.iter().map(line));
    lines.extend(begun.iter().map(unfinished_line));
    let exit = print_out(&lines);
    if !begun.is_empty() || entries.iter().any(|entry| !entry.owner_alive) {
        print_progress("\nNext   truetps server clean\n");
    }
    Ok(exit)
}

fn clean(args: &CleanArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    // First: the other removes them as well, and does not say so.
    let begun = clean_unfinished(&home).map_err(CommandFailure::broken)?;
    let Cleaning { removed, kept, unmounted } =
        truetps_sandbox::clean(&home).map_err(CommandFailure::broken)?;
    let templates = templates_bytes(&home);
    if args.templates {
        remove_templates(&home);
        print_message(&format!(
            "removed the templates ({})\n",
            format::bytes(templates - templates_bytes(&home))
        ));
    } else if removed.is_empty() && kept.is_empty() && begun.is_empty() && unmounted.is_empty() {
        let rest = match templates {
            0 => String::new(),
            bytes => {
                format!(
                    "; templates of {} are kept for the next run (--templates removes them)",
                    format::bytes(bytes)
                )
            }
        };
        print_message(&format!("nothing to clean in {}{rest}\n", home.path().display()));
    }
    for Kept { path, server_pid: pid } in &kept {
        print_message(&format!(
            "kept {}: process {pid} runs a server there that truetps did not start\n",
            path.display()
        ));
        print_message(&format!(
            "hint: `ps -fp {pid}` shows what it is; once its owner has stopped it, clean again\n"
        ));
    }
    let begun = begun
        .iter()
        .map(|one| format!("removed {} ({})\n", one.path.display(), format::bytes(one.size_bytes)));
    let unmounted = unmounted
        .iter()
        .map(|path| format!("unmounted the disk of {}: its process was killed\n", path.display()));
    let lines: Vec<_> = unmounted
        .chain(begun)
        .chain(removed.iter().map(|one| {
            let killed = if one.servers_killed > 0 { ", its server was ended" } else { "" };
            format!(
                "removed {} ({}{killed})\n",
                one.entry.path.display(),
                format::bytes(one.entry.size_bytes)
            )
        }))
        .collect();
    Ok(print_out(&lines.concat()))
}

/// A server that cannot be read gets an error line; the others are still listed.
fn named_line(named: NamedServers<'_>, listed: &Listed) -> String {
    let name = &listed.name;
    let server = match &listed.server {
        Ok(server) => server,
        Err(error) => return format!("{name}  BROKEN: {error}\n"),
    };
    let status = match Instance::of(named, server).status() {
        Ok(status) => status,
        Err(error) => return format!("{name}  BROKEN: {error}\n"),
    };
    let (state, _) = instance::state_words(status.state);
    let is_running = status.state == InstanceState::Running;
    let pid = if is_running { format!(", pid {}", status.pid.unwrap_or(0)) } else { String::new() };
    let held =
        status.held_by.map(|pid| format!(", data held by process {pid}")).unwrap_or_default();
    let disk = status.disk.map_or_else(String::new, |disk| format!("  on {}", disk.profile.name));
    let size = if status.data_bytes > 0 {
        format!("  {}", format::bytes(status.data_bytes))
    } else {
        String::new()
    };
    format!(
        "{name}  {state}{pid}{held}  {}{size}{disk}  {}\n",
        server.what(),
        server.program.display()
    )
}

fn unfinished_line(one: &UnfinishedFolder) -> String {
    format!("left behind, half made  {}  {}\n", format::bytes(one.size_bytes), one.path.display())
}

fn line(entry: &RegistryEntry) -> String {
    let state = match (entry.owner_alive, entry.server_alive) {
        (true, true) => "in use",
        (true, false) => "in use, server not running",
        (false, true) => "left behind, SERVER STILL RUNS",
        (false, false) => "left behind",
    };
    let flavour =
        entry.flavour.map_or_else(|| "unknown server".to_owned(), |flavour| flavour.to_string());
    let version = entry.version.as_deref().unwrap_or("");
    let pid = entry.server_pid.map_or_else(String::new, |pid| format!("  pid {pid}"));
    let size = format::bytes(entry.size_bytes);
    format!("{}  {state}  {flavour} {version}{pid}  {size}  {}\n", entry.id, entry.path.display())
}
