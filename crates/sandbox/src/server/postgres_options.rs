//! PostgreSQL 13 and later as a private server.
//!
//! Its settings are in a file beside its datadir, which the server reloads on request. The file
//! created by initdb is read first: settings that truetps does not name are as in a fresh cluster.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::home::server_paths::{POSTGRES_PORT, ServerPaths};
use crate::settings::options::{CommandOption, commented};
use crate::settings::postgres::INITIAL;
use crate::settings::server_settings::Settings;

/// The one database of a private server.
pub(crate) const DATABASE: &str = "postgres";
pub(crate) const OPTION_FILE: &str = "postgresql.conf";
/// The file with settings of `ALTER SYSTEM`.
pub(crate) const CHANGES_FILE: &str = "postgresql.auto.conf";
/// The datadir follows in the same argument, which identifies the server.
pub(crate) const DATA_FOLDER: &str = "-D";

/// The server's paths, its isolation, and the settings.
pub(crate) fn lines(
    paths: &ServerPaths,
    settings: &Settings,
    port: Option<u16>,
) -> Vec<CommandOption> {
    let folder = paths.socket.parent().unwrap_or(&paths.socket).display().to_string();
    let address = port.map(|_| Ipv4Addr::LOCALHOST.to_string()).unwrap_or_default();
    let mut lines = vec![
        CommandOption::new("listen_addresses", address),
        CommandOption::new("port", port.unwrap_or(POSTGRES_PORT).to_string()),
        // A list: names with a comma or a blank are quoted.
        CommandOption::new(
            "unix_socket_directories",
            format!("\"{}\"", folder.replace('"', "\"\"")),
        ),
        CommandOption::new("unix_socket_permissions", "0700"),
        CommandOption::new("external_pid_file", &paths.pid_file),
        // In files of the datadir: those in /dev/shm would outlive a killed server.
        CommandOption::new("dynamic_shared_memory_type", "mmap"),
        // Its log is its output.
        CommandOption::new("logging_collector", "off"),
        CommandOption::new("log_destination", "stderr"),
    ];
    let in_file = settings.iter().filter(|(name, _)| !INITIAL.contains(name));
    lines.extend(in_file.map(|(name, value)| CommandOption::new(name, value.option_text())));
    lines
}

pub(crate) fn option_file(comment: &str, paths: &ServerPaths, lines: &[CommandOption]) -> String {
    let mut text = commented(comment);
    let _ = writeln!(
        text,
        "include {}",
        quoted(&paths.datadir.join(OPTION_FILE).display().to_string())
    );
    for line in lines {
        let (name, value) = line.parts();
        let _ = writeln!(text, "{} = {}", name.replace('-', "_"), quoted(&value));
    }
    text
}

/// Quotes are doubled, and backslashes are escapes.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use truetps_record::{Family, SettingValue};

    #[test]
    fn the_file_closes_the_server_off_and_quotes_what_it_must() {
        let path = |name: &str| PathBuf::from("/a b's").join(name);
        let paths = ServerPaths {
            datadir: path("data"),
            tmp: path("tmp"),
            socket: path("run/.s.PGSQL.5432"),
            pid_file: path("run/pid"),
            error_log: path("error.log"),
            console_log: path("console.log"),
            option_file: path(OPTION_FILE),
        };
        let mut settings = Settings::empty(Family::Postgresql);
        settings.set("shared-buffers", SettingValue::Text("1GB".to_owned()));
        settings.set("data_checksums", SettingValue::Bool(true));
        let text = option_file("one\ntwo", &paths, &lines(&paths, &settings, None));
        assert!(
            text.starts_with("# one\n# two\ninclude '/a b''s/data/postgresql.conf'\n"),
            "{text}"
        );
        assert!(text.contains("\nlisten_addresses = ''\n"), "{text}");
        assert!(text.contains("\nunix_socket_directories = '\"/a b''s/run\"'\n"), "{text}");
        assert!(
            text.ends_with("shared_buffers = '1GB'\n"),
            "what a data folder is made with is in no file: {text}"
        );
        let open = option_file("", &paths, &lines(&paths, &settings, Some(7)));
        assert!(open.contains("listen_addresses = '127.0.0.1'\nport = '7'\n"), "{open}");
    }
}
