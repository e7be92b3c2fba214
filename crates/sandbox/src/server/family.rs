//! The differences between the server families: options, login and shutdown. Everything else in
//! this crate is common to both, or is read from the program itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use truetps_driver::Target;
use truetps_record::Family;

use super::postgres_options;
use crate::data::postgres_state::{forget_dead_server, says_that_it_is_ready};
use crate::data::postgres_template::OWNER;
use crate::error::SandboxError;
use crate::home::server_paths::ServerPaths;
use crate::program::binary::ServerBinary;
use crate::settings::options;
use crate::settings::options::CommandOption;
use crate::settings::server_settings::Settings;
use crate::system::datadir_servers::option_with;
use crate::system::folders::{give, remove_file};
use crate::system::run::quiet_command;
use crate::system::server_user::ServerUser;

/// Features that private servers disable because they take a second at the first start; versions
/// without the option ignore it.
const KEYS: [&str; 3] = [
    "loose-auto-generate-certs",
    "loose-sha256-password-auto-generate-rsa-keys",
    "loose-caching-sha2-password-auto-generate-rsa-keys",
];

/// The owner account of a server, which has no password and connects by the socket. `schema`: the
/// schema of its tables; a private PostgreSQL has one database, which contains them.
pub(crate) fn owner(family: Family, socket: &Path, schema: Option<&str>) -> Target {
    match family {
        Family::Mysql => Target::mysql_unix(socket, "root", schema),
        Family::Postgresql => Target::postgres_unix(socket, OWNER, postgres_options::DATABASE),
    }
}

/// Whether a connection attempt makes sense: the server has opened its socket, and not only to
/// report that it is starting.
pub(crate) fn may_answer(family: Family, paths: &ServerPaths) -> bool {
    match family {
        Family::Mysql => paths.socket.exists(),
        Family::Postgresql => paths.socket.exists() && says_that_it_is_ready(&paths.datadir),
    }
}

/// Asks a server for a quick clean shutdown. PostgreSQL would wait for its clients after SIGTERM.
pub(crate) fn stop_signal(family: Family) -> Signal {
    match family {
        Family::Mysql => Signal::TERM,
        Family::Postgresql => Signal::INT,
    }
}

/// All options of a server, in order: its paths, its isolation, and the settings.
pub(crate) fn lines(
    family: Family,
    binary: &ServerBinary,
    paths: &ServerPaths,
    settings: &Settings,
    port: Option<u16>,
) -> Vec<CommandOption> {
    match family {
        Family::Mysql => mysql_lines(binary, paths, settings, port),
        Family::Postgresql => postgres_options::lines(paths, settings, port),
    }
}

/// Name and text of a file with these lines.
pub(crate) fn option_file(
    family: Family,
    comment: &str,
    paths: &ServerPaths,
    lines: &[CommandOption],
) -> (&'static str, String) {
    match family {
        Family::Mysql => ("my.cnf", options::option_file(comment, lines)),
        Family::Postgresql => {
            (postgres_options::OPTION_FILE, postgres_options::option_file(comment, paths, lines))
        }
    }
}

/// The command with which a user starts a server with such a file.
pub(crate) fn by_hand(family: Family, program: &Path, paths: &ServerPaths) -> String {
    match family {
        Family::Mysql => format!("{} --defaults-file=THIS-FILE", program.display()),
        Family::Postgresql => {
            format!("{} -D {} --config-file=THIS-FILE", program.display(), paths.datadir.display())
        }
    }
}

/// A server's command line; its output goes to an existing log.
pub(crate) fn command(
    family: Family,
    program: &Path,
    paths: &ServerPaths,
    lines: &[CommandOption],
    user: &ServerUser,
) -> Result<Command, SandboxError> {
    let mut command = quiet_command(program);
    let log = match family {
        Family::Mysql => {
            // It must be the first option, or the system's option files are read.
            command.arg("--no-defaults").args(lines.iter().map(CommandOption::argument));
            &paths.console_log
        }
        Family::Postgresql => {
            // Not on the command line: options there cannot be changed while the server runs.
            write_for(user, &paths.option_file, &postgres_options::option_file("", paths, lines))?;
            let folder = option_with(postgres_options::DATA_FOLDER, &paths.datadir);
            command.args([folder, option_with("--config-file=", &paths.option_file)]);
            &paths.error_log
        }
    };
    let printed =
        OpenOptions::new().append(true).open(log).and_then(|log| Ok((log.try_clone()?, log)));
    let (stdout, stderr) = printed.map_err(SandboxError::io("open", log))?;
    command.stdout(stdout).stderr(stderr).current_dir(&paths.datadir);
    Ok(command)
}

/// Removes what a dead server left in its data and what would stop the next one from starting. Call
/// it only when no process holds the data.
pub(crate) fn forget_dead(
    family: Family,
    datadir: &Path,
    user: &ServerUser,
) -> Result<(), SandboxError> {
    match family {
        Family::Mysql => Ok(()),
        Family::Postgresql => {
            forget_dead_server(datadir, user).map_err(SandboxError::io("clear", datadir))
        }
    }
}

/// Removes settings changed at run time that the next start would otherwise use.
pub(crate) fn forget_changes(family: Family, datadir: &Path) -> Result<(), SandboxError> {
    match family {
        Family::Mysql => Ok(()),
        Family::Postgresql => remove_file(&datadir.join(postgres_options::CHANGES_FILE)).map(drop),
    }
}

fn mysql_lines(
    binary: &ServerBinary,
    paths: &ServerPaths,
    settings: &Settings,
    port: Option<u16>,
) -> Vec<CommandOption> {
    let mut lines = binary.tree_lines();
    lines.extend([
        CommandOption::new("datadir", &paths.datadir),
        CommandOption::new("tmpdir", &paths.tmp),
        CommandOption::new("socket", &paths.socket),
        CommandOption::new("pid-file", &paths.pid_file),
        CommandOption::new("log-error", &paths.error_log),
        // Clients can read and write files only in the temporary folder: without this option they
        // could write plugins.
        CommandOption::new("secure-file-priv", &paths.tmp),
    ]);
    match port {
        None => lines.push(CommandOption::flag("skip-networking")),
        Some(port) => {
            lines.push(CommandOption::new("bind-address", Ipv4Addr::LOCALHOST.to_string()));
            lines.push(CommandOption::new("port", port.to_string()));
            // 127.0.0.1 is then not `localhost`, so that the owner, which has no password, cannot
            // log in this way.
            lines.push(CommandOption::flag("skip-name-resolve"));
            if binary.is_of_mysql() {
                // MySQL 8 accepts a password for the first time only over TLS or with the server's
                // key.
                lines.extend(KEYS.map(|name| CommandOption::new(name, "ON")));
            }
        }
    }
    // Last, because the last option of a name counts: settings that may not be changed are refused
    // elsewhere.
    lines.extend(settings.iter().map(|(name, value)| binary.setting_line(name, value)));
    lines
}

/// Replaces a file that the server's user reads. Its folder belongs to truetps, so that user cannot
/// place a link there.
fn write_for(user: &ServerUser, path: &Path, text: &str) -> Result<(), SandboxError> {
    remove_file(path)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(SandboxError::io("write", path))?;
    give(path, user)
}
