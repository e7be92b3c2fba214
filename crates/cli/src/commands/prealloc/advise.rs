//! `truetps prealloc advise`: a sweep of the factor `prealloc` with the settings of a server and
//! the flushes of its disk.

use std::path::{Path, PathBuf};

use clap::Parser;
use truetps_disk::measure_disk;
use truetps_driver::Client;

use super::binlogs::{connect, variable};
use crate::args::{AdviseArgs, BinlogArgs, Cli, FolderArgs, TruetpsCommand};
use crate::commands::sweep;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::LoginArgs;
use crate::terminal::{print_message, print_progress};

/// Settings that decide what a binlog costs.
const SERVER_SETTINGS: [&str; 5] = [
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "binlog_format",
    "binlog_row_image",
    "max_binlog_size",
];

pub(super) fn run(args: &AdviseArgs) -> Result<Exit, CommandFailure> {
    let mut settings = vec!["log_bin=ON".to_owned()];
    match &args.named {
        Some(named) => settings.extend(settings_of(named, args)?),
        None => settings
            .extend(["sync_binlog=1".to_owned(), "innodb_flush_log_at_trx_commit=1".to_owned()]),
    }
    let disk = match &args.folder {
        Some(folder) => Some(profile_of(folder, &args.place.runs)?.display().to_string()),
        None => args.place.disk.clone(),
    };
    let connections = args.connections.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut words =
        vec!["truetps", "sweep", &args.workload, "--vary", "prealloc=0,ahead", "-c", &connections];
    for setting in &settings {
        words.extend(["--set", setting]);
    }
    let blocks = args.blocks.to_string();
    words.extend(["--blocks", &blocks]);
    if disk.is_none() {
        print_message(
            "note: measured on this machine's own disk; if the server's disk is another one, name \
             a profile (--disk, `truetps disk list`) or measure the server's disk (--folder)\n",
        );
    }
    print_progress(&format!("Asks   {}\n", words.join(" ")));
    let TruetpsCommand::Sweep(mut asked) =
        Cli::try_parse_from(&words).map_err(|error| CommandFailure::usage(error.render()))?.command
    else {
        unreachable!("the command is sweep")
    };
    asked.place = FolderArgs { disk, ..args.place.clone() };
    sweep::run(&asked)
}

/// Settings of a running server, as `NAME=VALUE`; refuses where there is nothing to gain.
fn settings_of(named: &str, args: &AdviseArgs) -> Result<Vec<String>, CommandFailure> {
    let FolderArgs { defaults_file, ask_password, sandbox, .. } = args.place.clone();
    let server = BinlogArgs {
        named: named.to_owned(),
        login: LoginArgs { defaults_file, ask_password },
        sandbox,
    };
    let mut client = connect(&server)?;
    if let Some(why) = why_no_gain(&mut client) {
        return Err(CommandFailure::usage(format!("{named}: {why}"))
            .hint("to ask for other settings, leave the server out"));
    }
    Ok(SERVER_SETTINGS
        .iter()
        .filter_map(|name| Some(format!("{name}={}", variable(&mut client, name)?)))
        .collect())
}

fn why_no_gain(client: &mut Client) -> Option<&'static str> {
    if variable(client, "log_bin").as_deref() != Some("1") {
        return Some("log_bin is OFF, and nothing else is preallocated");
    }
    if variable(client, "sync_binlog").as_deref() == Some("0") {
        return Some(
            "sync_binlog is 0: no commit waits for the binlog, and there is nothing to gain",
        );
    }
    (variable(client, "binlog_checksum").as_deref() == Some("NONE"))
        .then_some("binlog_checksum is NONE, and the library refuses such binlogs")
}

/// The disk of a folder as a profile, in a file among the runs.
fn profile_of(folder: &Path, runs: &Path) -> Result<PathBuf, CommandFailure> {
    print_progress(&format!("measuring the disk of {}\n", folder.display()));
    let found = measure_disk(folder)?;
    let path = runs.join("measured-disk.toml");
    let text = found.profile("measured-disk").to_toml();
    std::fs::create_dir_all(runs)
        .and_then(|()| truetps_files::write_atomically(&path, text.as_bytes()))
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", runs.display())))?;
    Ok(path)
}
