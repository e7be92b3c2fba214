//! A server program: its family, its version, and the folder of its own files.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use truetps_record::{Family, Flavour, SettingValue};

use crate::error::BinaryError;
use crate::program::postgres::program;
use crate::settings::options::CommandOption;
use crate::settings::version::{is_of_mysql, keeps_redo_size};
use crate::system::run::{ProgramOutput, run_to_end};
use crate::system::server_user::ServerUser;
use crate::{CatalogueError, ServerVersion};

const HELP_TIME_LIMIT: Duration = Duration::from_secs(30);
const VERSION_TIME_LIMIT: Duration = Duration::from_secs(20);

/// A server program that ran and printed its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBinary {
    /// The program itself, links resolved.
    pub path: PathBuf,
    pub flavour: Flavour,
    pub version: ServerVersion,
    /// The line that `--version` prints.
    pub version_text: String,
    /// Root of the server's tree: `bin/` or `sbin/` and `share/` are below it.
    pub basedir: PathBuf,
    /// Folder of its error messages, and of MariaDB's bootstrap SQL; not used for PostgreSQL.
    pub share_dir: PathBuf,
    /// Set only if the server is not at its packaged location: it would search the wrong folder.
    pub plugin_dir: Option<PathBuf>,
}

impl ServerBinary {
    /// Asks a program for its version. It runs as `user`, as the server will, so that a program
    /// which this user cannot run is refused here.
    pub fn examine(path: &Path, user: &ServerUser) -> Result<Self, BinaryError> {
        let path = path.canonicalize().map_err(|error| cannot_run(path, error.to_string()))?;
        if is_for_another_processor(&path) {
            let problem = "it is built for another processor architecture".to_owned();
            return Err(cannot_run(&path, problem));
        }
        if program::is_named_so(&path) {
            return Self::examine_postgres(path, user);
        }
        let output = version_of(&path, &["--no-defaults".into(), "--version".into()], user)?;
        let (version_text, version) = parse_version(&output).ok_or_else(|| {
            BinaryError::NotAServer { path: path.clone(), printed: output.last_words() }
        })?;
        let flavour = Flavour::from_version_text(&version_text);
        let (basedir, share_dir) = find_share_dir(&path, flavour).ok_or_else(|| {
            BinaryError::NoShareDir { path: path.clone(), looked: share_dirs(&path) }
        })?;
        let plugin_dir = find_plugin_dir(&basedir);
        Ok(Self { path, flavour, version, version_text, basedir, share_dir, plugin_dir })
    }

    /// PostgreSQL finds its own files.
    fn examine_postgres(path: PathBuf, user: &ServerUser) -> Result<Self, BinaryError> {
        let output = version_of(&path, &["--version".into()], user)?;
        let (version_text, version) = program::parse_version(&output).ok_or_else(|| {
            BinaryError::NotAServer { path: path.clone(), printed: output.last_words() }
        })?;
        if program::initdb(&path).is_none() {
            return Err(BinaryError::NoInitdb { path });
        }
        let basedir = path.ancestors().nth(2).unwrap_or(&path).to_owned();
        let (flavour, share_dir) = (Flavour::Postgresql, basedir.join("share"));
        Ok(Self { path, flavour, version, version_text, basedir, share_dir, plugin_dir: None })
    }

    pub fn family(&self) -> Family {
        Family::from(self.flavour)
    }

    pub fn is_mariadb(&self) -> bool {
        self.flavour == Flavour::Mariadb
    }

    /// MySQL itself, or Percona's.
    pub(crate) fn is_of_mysql(&self) -> bool {
        is_of_mysql(self.flavour)
    }

    /// Its datadir is created with `--bootstrap`: only MySQL, from 5.7.6 on, has
    /// `--initialize-insecure`.
    pub(crate) fn is_bootstrapped(&self) -> bool {
        self.is_mariadb() || self.version < ServerVersion::new(5, 7, 6)
    }

    /// It does not start if its redo log has another size than configured; MySQL 5.6.8 and later,
    /// and MariaDB, create a new one.
    pub(crate) fn keeps_redo_size(&self) -> bool {
        keeps_redo_size(self.flavour, &self.version.to_string())
    }

    /// A setting of a plan in the syntax of this version.
    pub(crate) fn setting_line(&self, name: &str, value: &SettingValue) -> CommandOption {
        match value {
            // InnoDB of MySQL 5.5 accepts neither ON nor OFF: it warns and uses its default.
            SettingValue::Bool(on)
                if !self.is_mariadb() && self.version < ServerVersion::new(5, 6, 0) =>
            {
                CommandOption::of_setting(name, &SettingValue::Int(i64::from(*on)))
            }
            _ => CommandOption::of_setting(name, value),
        }
    }

    /// Options for the folders of its tree, and against files or sockets that it would create by
    /// default.
    pub(crate) fn tree_lines(&self) -> Vec<CommandOption> {
        let mut lines = vec![
            CommandOption::new("basedir", &self.basedir),
            CommandOption::new("lc-messages-dir", &self.share_dir),
        ];
        lines.extend(self.plugin_dir.iter().map(|path| CommandOption::new("plugin-dir", path)));
        if self.is_mariadb() {
            // MariaDB 11.4 and later creates a key at every start, which takes seconds; this socket
            // has no TLS clients.
            lines.push(CommandOption::flag("skip-ssl"));
            return lines;
        }
        if self.version >= ServerVersion::new(5, 7, 5) {
            // The same for MySQL, which creates its keys at the first start.
            lines.extend([
                CommandOption::new("loose-auto-generate-certs", "OFF"),
                CommandOption::new("loose-sha256-password-auto-generate-rsa-keys", "OFF"),
            ]);
        }
        if self.version >= ServerVersion::new(8, 0, 11) {
            lines.push(CommandOption::new(
                "loose-caching-sha2-password-auto-generate-rsa-keys",
                "OFF",
            ));
            // The X protocol, which would listen on a port and a socket of its own.
            lines.push(CommandOption::new("mysqlx", "OFF"));
        }
        lines
    }

    /// The output of the program with these arguments.
    pub(crate) fn run(
        &self,
        user: &ServerUser,
        arguments: &[OsString],
    ) -> Result<ProgramOutput, CatalogueError> {
        run_to_end(&self.path, arguments, None, user, HELP_TIME_LIMIT).map_err(|error| {
            CatalogueError::Ask { binary: self.path.clone(), problem: error.to_string() }
        })
    }
}

impl fmt::Display for ServerBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.flavour, self.version, self.path.display())
    }
}

/// Output of a program that exits successfully.
fn version_of(
    path: &Path,
    arguments: &[OsString],
    user: &ServerUser,
) -> Result<ProgramOutput, BinaryError> {
    let output = run_to_end(path, arguments, None, user, VERSION_TIME_LIMIT)
        .map_err(|error| cannot_run(path, explain_spawn(&error, user)))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(cannot_run(path, format!("{}: {}", output.status, output.last_words())))
}

fn cannot_run(path: &Path, problem: String) -> BinaryError {
    BinaryError::CannotRun { path: path.to_owned(), problem }
}

/// The operating system's error, and its meaning for a file that exists.
fn explain_spawn(error: &io::Error, user: &ServerUser) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{error} (as the user `{}`, as which it would run)", user.name)
        }
        io::ErrorKind::NotFound => {
            format!("{error} (the file exists: its loader or interpreter is missing)")
        }
        _ => error.to_string(),
    }
}

/// A program of another architecture would be run by the shell, whose error message does not help.
fn is_for_another_processor(path: &Path) -> bool {
    let ours = elf_machine(Path::new("/proc/self/exe"));
    let its = elf_machine(path);
    ours.is_some() && its.is_some() && ours != its
}

/// Word size and machine in the head of an ELF file.
fn elf_machine(path: &Path) -> Option<(u8, [u8; 2])> {
    let mut head = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    head.starts_with(b"\x7fELF").then_some((head[4], [head[18], head[19]]))
}

/// `/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`
fn parse_version(output: &ProgramOutput) -> Option<(String, ServerVersion)> {
    let line = output.stdout.lines().find(|line| line.contains(" Ver "))?;
    let number = line.split(" Ver ").nth(1)?.trim();
    let digits = number.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut parts = digits.split('.').map_while(|part| part.parse().ok());
    let version = ServerVersion::new(parts.next()?, parts.next()?, parts.next().unwrap_or(0));
    Some((line.trim().to_owned(), version))
}

/// Folders that may contain the error messages of the server at `path`, nearest first.
fn share_dirs(path: &Path) -> Vec<PathBuf> {
    bases(path).flat_map(|base| shares(&base)).collect()
}

/// The tree that a program belongs to: `X` for `X/sbin/mariadbd`, `X/bin/mysqld` and for
/// `X/mysqld`.
fn bases(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.ancestors().skip(1).take(2).map(Path::to_owned).collect::<Vec<_>>().into_iter().rev()
}

fn shares(base: &Path) -> [PathBuf; 3] {
    ["share/mysql", "share/mariadb", "share"].map(|name| base.join(name))
}

fn find_share_dir(path: &Path, flavour: Flavour) -> Option<(PathBuf, PathBuf)> {
    bases(path).find_map(|base| {
        let share = shares(&base).into_iter().find(|share| has_server_files(share, flavour));
        share.map(|share| (base, share))
    })
}

fn has_server_files(share: &Path, flavour: Flavour) -> bool {
    share.join("english/errmsg.sys").is_file()
        && (flavour != Flavour::Mariadb || bootstrap_file(share, "system_tables.sql").is_some())
}

/// MariaDB's SQL files were renamed in 11.x: `mysql_system_tables.sql` became
/// `mariadb_system_tables.sql`.
pub(crate) fn bootstrap_file(share: &Path, name: &str) -> Option<PathBuf> {
    let candidates = [format!("mariadb_{name}"), format!("mysql_{name}")];
    candidates.into_iter().map(|name| share.join(name)).find(|path| path.is_file())
}

/// A server below /usr knows its plugin folder; one unpacked elsewhere needs the option.
fn find_plugin_dir(basedir: &Path) -> Option<PathBuf> {
    if basedir == Path::new("/usr") {
        return None;
    }
    let folders = ["lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib64/mariadb/plugin"];
    folders.into_iter().map(|name| basedir.join(name)).find(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn problem(path: &Path) -> String {
        ServerBinary::examine(path, &ServerUser::ourselves()).unwrap_err().to_string()
    }

    #[test]
    fn version_lines() {
        let check = |text: &str, expect: ServerVersion| {
            let dir = tempfile::tempdir().unwrap();
            let share = dir.path().join("share/english");
            fs::create_dir_all(&share).unwrap();
            fs::write(share.join("errmsg.sys"), "").unwrap();
            fs::write(share.with_file_name("mysql_system_tables.sql"), "").unwrap();
            let path = script(dir.path(), "bin/mysqld", &format!("#!/bin/sh\necho '{text}'\n"));
            let binary = ServerBinary::examine(&path, &ServerUser::ourselves()).unwrap();
            assert_eq!(binary.version, expect, "{text}");
            assert_eq!(binary.share_dir, dir.path().canonicalize().unwrap().join("share"));
        };
        check(
            "/usr/sbin/mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian",
            ServerVersion::new(10, 11, 19),
        );
        check("x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", ServerVersion::new(9, 7, 4));
        check("mysqld  Ver 8.0 for Linux", ServerVersion::new(8, 0, 0));
        check(
            "mysqld  Ver 26.10.0 for Linux on x86_64 (MySQL Community Server - GPL)",
            ServerVersion::new(26, 10, 0),
        );
    }

    #[test]
    fn programs_that_cannot_run_are_named_with_the_loader_s_words() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &str, expect: &str| {
            let path = script(dir.path(), name, text);
            let problem = problem(&path);
            assert!(
                problem.contains(expect) && problem.contains(name),
                "{problem}\nshould contain\n{expect}"
            );
        };
        let loader =
            "echo 'error while loading shared libraries: libx.so.1: cannot open' >&2; exit 127";
        check("missing-library", &format!("#!/bin/sh\n{loader}\n"), "libx.so.1");
        check("no-interpreter", "#!/no/such/loader\n", "its loader or interpreter is missing");
        check("wrong-architecture", "\x7fELF\x01\x01\x01 of no machine", "another processor");
        check(
            "not-a-server",
            "#!/bin/sh\necho 1.0\n",
            "is not a MySQL, MariaDB or PostgreSQL server",
        );
        check(
            "no-share",
            "#!/bin/sh\necho 'mysqld  Ver 8.0.1'\n",
            "error-message files (share/) not found in ",
        );
        let gone = problem(&dir.path().join("gone"));
        assert!(gone.contains("No such file"), "{gone}");
    }
}
