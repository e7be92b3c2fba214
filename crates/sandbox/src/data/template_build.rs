//! Initialises a datadir with the server's own program, without any shell script of the
//! distribution.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::data::initialiser::{check_made, run_initialiser};
use crate::data::old_redo;
use crate::error::SandboxError;
use crate::program::binary::{ServerBinary, bootstrap_file};
use crate::settings::options::CommandOption;
use crate::settings::server_settings::Settings;
use crate::settings::version::ServerVersion;
use crate::system::copy::copy_datadir;
use crate::system::folders::{give, make_own, make_passable, make_private, remove_tree};
use crate::system::server_user::ServerUser;
use crate::system::space::check_free;

const BUILD_BYTES: u64 = 256 << 20;
const MARIADB_MIN: ServerVersion = ServerVersion::new(10, 4, 0);
const MYSQL_MIN: ServerVersion = ServerVersion::new(5, 5, 0);

/// SQL files of a server's tree, in order, and whether each is required.
type BootstrapFiles = &'static [(&'static str, bool)];
/// The last three may be missing in a small package.
const MARIADB_FILES: BootstrapFiles = &[
    ("system_tables.sql", true),
    ("performance_tables.sql", true),
    ("system_tables_data.sql", true),
    ("maria_add_gis_sp_bootstrap.sql", false),
    ("sys_schema.sql", false),
];
/// The SQL that `mysql_install_db` sends to MySQL 5.5 and 5.6, without the help texts.
const MYSQL_FILES: BootstrapFiles =
    &[("system_tables.sql", true), ("system_tables_data.sql", true)];
/// One statement per line, as `--bootstrap` requires.
const BEFORE: &str =
    "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n";
/// Only root@localhost without a password, and the owner of the sys schema, which cannot log in.
const MARIADB_AFTER: &str = "\nuse mysql;\n\
    DELETE FROM global_priv WHERE NOT (User='mariadb.sys' OR (User='root' AND Host='localhost'));\n\
    DELETE FROM proxies_priv WHERE NOT (User='root' AND Host='localhost');\n\
    DELETE FROM db;\n";
const MYSQL_AFTER: &str = "\nuse mysql;\n\
    DELETE FROM user WHERE NOT (User='root' AND Host='localhost');\n\
    UPDATE user SET Password='';\n\
    DELETE FROM proxies_priv WHERE NOT (User='root' AND Host='localhost');\n\
    DELETE FROM db;\n";

/// How a server creates its first datadir.
enum Way {
    /// The server does it itself.
    Initialize,
    /// The server reads the SQL of its own tree.
    Bootstrap(BootstrapFiles),
    /// The tree contains ready-made tables, and no SQL to create them.
    Shipped(PathBuf),
}

impl Way {
    fn of(binary: &ServerBinary) -> Self {
        if binary.is_mariadb() {
            return Self::Bootstrap(MARIADB_FILES);
        }
        if !binary.is_bootstrapped() {
            return Self::Initialize;
        }
        let shipped = ["data", "data/mysql"].map(|name| binary.basedir.join(name));
        let has_sql = bootstrap_file(&binary.share_dir, "system_tables.sql").is_some();
        let found = shipped
            .into_iter()
            .find(|datadir| datadir.join("mysql/user.frm").is_file() && !has_sql);
        found.map_or(Self::Bootstrap(MYSQL_FILES), Self::Shipped)
    }

    /// The server's options, in addition to paths.
    fn lines(&self, binary: &ServerBinary) -> Vec<CommandOption> {
        match self {
            Self::Initialize => mysql_lines(binary.version, "initialize-insecure"),
            Self::Bootstrap(_) if binary.is_mariadb() => mariadb_lines(),
            Self::Bootstrap(_) | Self::Shipped(_) => mysql_lines(binary.version, "bootstrap"),
        }
    }
}

/// Creates `folder` with an initialised `data/` in it.
pub(crate) fn build(
    binary: &ServerBinary,
    user: &ServerUser,
    initial: &Settings,
    folder: &Path,
) -> Result<(), SandboxError> {
    let oldest = if binary.is_mariadb() { MARIADB_MIN } else { MYSQL_MIN };
    if binary.version < oldest {
        return Err(SandboxError::TooOld { version_text: binary.version_text.clone() });
    }
    check_free(folder.parent().unwrap_or(folder), "a new datadir", BUILD_BYTES)?;
    make_passable(folder, user).map_err(SandboxError::io("make", folder))?;
    let (datadir, tmp) = (folder.join("data"), folder.join("tmp"));
    make_private(&tmp, user)?;
    let way = Way::of(binary);
    let script = prepare(&way, binary, user, folder)?;
    let mut lines = vec![CommandOption::flag("no-defaults")];
    lines.extend(binary.tree_lines());
    lines.extend([CommandOption::new("datadir", &datadir), CommandOption::new("tmpdir", &tmp)]);
    lines.push(CommandOption::new("secure-file-priv", &tmp));
    lines.extend(way.lines(binary));
    lines.extend(initial.iter().map(|(name, value)| binary.setting_line(name, value)));
    initialise(binary, user, &lines, script)?;
    fs::remove_dir_all(&tmp).map_err(SandboxError::io("remove", &tmp))?;
    check_made(&binary.path, &datadir, ["ibdata1", "mysql"])?;
    if binary.keeps_redo_size() { old_redo::remove(&datadir) } else { Ok(()) }
}

/// Creates `data/` as the server expects it. Returns the SQL that it reads.
fn prepare(
    way: &Way,
    binary: &ServerBinary,
    user: &ServerUser,
    folder: &Path,
) -> Result<Option<PathBuf>, SandboxError> {
    let datadir = folder.join("data");
    match way {
        Way::Initialize => {
            make_private(&datadir, user)?;
            Ok(None)
        }
        Way::Bootstrap(files) => {
            // Its owner is changed after the folder in it is created: the user could change what is
            // below.
            make_own(&datadir)?;
            make_private(&datadir.join("mysql"), user)?;
            give(&datadir, user)?;
            bootstrap_script(binary, files, folder).map(Some)
        }
        Way::Shipped(tables) => {
            copy_datadir(tables, &datadir, user)?;
            // A database open to all users. Its tables can hold privileges of other users.
            remove_tree(&datadir.join("test"))?;
            write_script(folder, MYSQL_AFTER.trim_start().as_bytes()).map(Some)
        }
    }
}

/// A small redo log and buffer pool: the server creates the log that it wants at its first start.
fn mariadb_lines() -> Vec<CommandOption> {
    vec![
        CommandOption::flag("bootstrap"),
        CommandOption::flag("silent-startup"),
        CommandOption::flag("skip-log-bin"),
        CommandOption::new("log-warnings", "0"),
        CommandOption::new("enforce-storage-engine", ""),
        CommandOption::new("max-allowed-packet", "8M"),
        CommandOption::new("net-buffer-length", "16K"),
        CommandOption::new("innodb-log-file-size", "8M"),
        CommandOption::new("innodb-buffer-pool-size", "64M"),
    ]
}

fn mysql_lines(version: ServerVersion, how: &str) -> Vec<CommandOption> {
    let redo = if version >= ServerVersion::new(8, 0, 30) {
        CommandOption::new("innodb-redo-log-capacity", "16M")
    } else {
        CommandOption::new("innodb-log-file-size", "8M")
    };
    vec![
        CommandOption::flag(how),
        CommandOption::flag("skip-log-bin"),
        redo,
        CommandOption::new("innodb-buffer-pool-size", "64M"),
    ]
}

fn bootstrap_script(
    binary: &ServerBinary,
    files: BootstrapFiles,
    folder: &Path,
) -> Result<PathBuf, SandboxError> {
    let mut text = BEFORE.as_bytes().to_vec();
    for (name, needed) in files.iter().copied() {
        let plain = binary.share_dir.join(name);
        let found =
            if plain.is_file() { Some(plain) } else { bootstrap_file(&binary.share_dir, name) };
        match found {
            Some(path) => text.extend(fs::read(&path).map_err(SandboxError::io("read", &path))?),
            None if needed => {
                let problem = format!("has no mysql_{name}, which is needed to create a datadir");
                return Err(SandboxError::Content { path: binary.share_dir.clone(), problem });
            }
            None => {}
        }
        text.push(b'\n');
    }
    let after = if binary.is_mariadb() { MARIADB_AFTER } else { MYSQL_AFTER };
    text.extend(after.as_bytes());
    write_script(folder, &text)
}

fn write_script(folder: &Path, text: &[u8]) -> Result<PathBuf, SandboxError> {
    let path = folder.join("bootstrap.sql");
    let written = File::create(&path).and_then(|mut file| file.write_all(text));
    written.map_err(SandboxError::io("write", &path))?;
    Ok(path)
}

fn initialise(
    binary: &ServerBinary,
    user: &ServerUser,
    lines: &[CommandOption],
    script: Option<PathBuf>,
) -> Result<(), SandboxError> {
    let arguments: Vec<OsString> = lines.iter().map(CommandOption::argument).collect();
    let input = script
        .as_ref()
        .map(|path| File::open(path).map_err(SandboxError::io("open", path)))
        .transpose()?;
    run_initialiser(&binary.path, &arguments, input, user)?;
    script.map_or(Ok(()), |path| fs::remove_file(&path).map_err(SandboxError::io("remove", &path)))
}
