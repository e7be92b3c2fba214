//! `truetps server`: private servers, and what killed runs left behind.

use truetps_report::format;
use truetps_sandbox::{Entry, Home};

use crate::args::SandboxPlace;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print_out, say};

pub(crate) fn list(place: &SandboxPlace) -> Result<Exit, Failure> {
    let home = open(place)?;
    let entries = truetps_sandbox::list(&home).map_err(|error| Failure::failed(&error).hint(error.hint()))?;
    if entries.is_empty() {
        say(&format!("no private server in {}\n", home.path().display()));
        return Ok(Exit::Good);
    }
    let exit = print_out(&entries.iter().map(line).collect::<String>());
    if entries.iter().any(|entry| !entry.owner_alive) {
        say("\nNext   truetps server clean\n");
    }
    Ok(exit)
}

pub(crate) fn clean(place: &SandboxPlace) -> Result<Exit, Failure> {
    let home = open(place)?;
    let cleaned = truetps_sandbox::clean(&home).map_err(|error| Failure::failed(&error).hint(error.hint()))?;
    if cleaned.is_empty() {
        say(&format!("nothing to clean in {}\n", home.path().display()));
    }
    let lines: Vec<_> = cleaned
        .iter()
        .map(|one| {
            let killed = if one.servers_killed > 0 { ", its server was ended" } else { "" };
            format!("removed {} ({}{killed})\n", one.entry.path.display(), format::bytes(one.entry.size_bytes))
        })
        .collect();
    Ok(print_out(&lines.concat()))
}

fn open(place: &SandboxPlace) -> Result<Home, Failure> {
    Home::open(place.sandbox_dir.as_deref()).map_err(|error| Failure::usage(&error).hint(error.hint()))
}

fn line(entry: &Entry) -> String {
    let state = match (entry.owner_alive, entry.server_alive) {
        (true, true) => "in use",
        (true, false) => "in use, server not running",
        (false, true) => "left behind, SERVER STILL RUNS",
        (false, false) => "left behind",
    };
    let flavour = entry.flavour.map_or_else(|| "unknown server".to_owned(), |flavour| flavour.to_string());
    let version = entry.version.as_deref().unwrap_or("");
    let pid = entry.server_pid.map_or_else(String::new, |pid| format!("  pid {pid}"));
    let size = format::bytes(entry.size_bytes);
    format!("{}  {state}  {flavour} {version}{pid}  {size}  {}\n", entry.id, entry.path.display())
}
