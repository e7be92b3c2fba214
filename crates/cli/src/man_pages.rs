//! The manual pages for `man`, one for each command.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::settings::SETTINGS;
use crate::version;

/// Writes the pages into a folder, which is created: `truetps.1`, `truetps-run.1`, …
pub(crate) fn write(folder: &Path) -> Result<Exit, CommandFailure> {
    let mut cli = Cli::command().version(version::short()).long_version(None::<&str>);
    cli.build();
    fs::create_dir_all(folder)
        .and_then(|()| write_all(&cli, folder))
        .map_err(|error| CommandFailure::failed(format!("{}: {error}", folder.display())))?;
    Ok(Exit::Good)
}

fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in
        command.get_subcommands().filter(|inner| !inner.is_hide_set() && !is_builtin_help(inner))
    {
        write_all(inner, folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Man::new(command.clone())
        .title(&name)
        .manual("truetps")
        .source(format!("truetps {}", version::short()));
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Clap's name for what stands after the options: examples, exit codes.
    let mut text = String::from_utf8_lossy(&text).replace(".SH EXTRA", ".SH NOTES");
    if name == command.get_name() {
        text += &general_sections();
    }
    fs::write(folder.join(format!("{name}.1")), text)
}

/// `truetps server help …`: the same as `--help` of each.
fn is_builtin_help(command: &Command) -> bool {
    command.get_name() == "help" && command.get_arguments().all(|arg| arg.get_id() != "words")
}

/// What holds for all commands.
fn general_sections() -> String {
    let variables: Vec<_> =
        SETTINGS.iter().map(|setting| format!("{}, ", setting.variable())).collect();
    format!(
        ".SH ENVIRONMENT\n{}TRUETPS_CONFIG\n.RS 4\nDefaults of flags, which come before the files \
         listed below.\n.RE\n\
         .TP\nTRUETPS_PASSWORD\nPassword of the account of a DSN.\n\
         .TP\nTRUETPS_PARTS_SECRET\nSecret of the parts of a load (\\-\\-part), if not the \
         password.\n\
         .TP\nNO_COLOR\nPrint without colours.\n\
         .SH FILES\n.TP\n\\&./truetps.toml\nDefaults of flags in this folder and those below it.\n\
         .TP\n~/.config/truetps/config.toml\nDefaults of flags of a user. `truetps config show \
         \\-\\-origin` lists all settings, `truetps help reference/config` describes them.\n",
        variables.concat()
    )
}
