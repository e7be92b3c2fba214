//! Initialises a data folder with the server's own program: no shell script of the distribution takes part.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::binary::{ServerBinary, ServerVersion, bootstrap_file};
use crate::copy::check_free;
use crate::error::SandboxError;
use crate::home::{make_passable, make_private};
use crate::log_tail::excerpt;
use crate::options::OptionLine;
use crate::run::run_to_end;
use crate::server_user::ServerUser;
use crate::settings::Settings;

const TIME_LIMIT: Duration = Duration::from_mins(3);
const BUILD_BYTES: u64 = 256 << 20;
const MARIADB_MIN: ServerVersion = ServerVersion::new(10, 4, 0);
const MYSQL_MIN: ServerVersion = ServerVersion::new(5, 7, 6);

/// MariaDB's own SQL, in order. The last three may be missing in a small package.
const BOOTSTRAP_FILES: [(&str, bool); 5] = [
    ("system_tables.sql", true),
    ("performance_tables.sql", true),
    ("system_tables_data.sql", true),
    ("maria_add_gis_sp_bootstrap.sql", false),
    ("sys_schema.sql", false),
];
/// One statement a line: that is what `--bootstrap` reads.
const BEFORE: &str = "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n";
/// Only root@localhost without a password, and the owner of the sys schema, who cannot log in.
const AFTER: &str = "\nuse mysql;\n\
    DELETE FROM global_priv WHERE NOT (User='mariadb.sys' OR (User='root' AND Host='localhost'));\n\
    DELETE FROM proxies_priv WHERE NOT (User='root' AND Host='localhost');\n\
    DELETE FROM db;\n";

/// Makes `folder` with an initialised `data/` in it.
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
    check_free(folder.parent().unwrap_or(folder), "a new data folder", BUILD_BYTES)?;
    make_passable(folder, user).map_err(SandboxError::io("make", folder))?;
    let (data, tmp) = (folder.join("data"), folder.join("tmp"));
    make_private(&data, user)?;
    make_private(&tmp, user)?;
    let script = if binary.is_mariadb() {
        make_private(&data.join("mysql"), user)?;
        Some(bootstrap_script(binary, folder)?)
    } else {
        None
    };
    let mut lines = vec![OptionLine::flag("no-defaults")];
    lines.extend(binary.tree_lines());
    lines.extend([OptionLine::new("datadir", &data), OptionLine::new("tmpdir", &tmp)]);
    lines.extend(if binary.is_mariadb() { mariadb_lines() } else { mysql_lines(binary.version) });
    lines.extend(initial.iter().map(|(name, value)| OptionLine::of_setting(name, value)));
    initialise(binary, user, &lines, script)?;
    fs::remove_dir_all(&tmp).map_err(SandboxError::io("remove", &tmp))?;
    check_made(binary, &data)
}

/// A small redo log and buffer pool: the server makes the log that it wants at its first start.
fn mariadb_lines() -> Vec<OptionLine> {
    vec![
        OptionLine::flag("bootstrap"),
        OptionLine::flag("silent-startup"),
        OptionLine::flag("skip-log-bin"),
        OptionLine::new("log-warnings", "0"),
        OptionLine::new("enforce-storage-engine", ""),
        OptionLine::new("max-allowed-packet", "8M"),
        OptionLine::new("net-buffer-length", "16K"),
        OptionLine::new("innodb-log-file-size", "8M"),
        OptionLine::new("innodb-buffer-pool-size", "64M"),
    ]
}

fn mysql_lines(version: ServerVersion) -> Vec<OptionLine> {
    let redo = if version >= ServerVersion::new(8, 0, 30) {
        OptionLine::new("innodb-redo-log-capacity", "16M")
    } else {
        OptionLine::new("innodb-log-file-size", "8M")
    };
    vec![
        OptionLine::flag("initialize-insecure"),
        OptionLine::flag("skip-log-bin"),
        redo,
        OptionLine::new("innodb-buffer-pool-size", "64M"),
    ]
}

fn bootstrap_script(binary: &ServerBinary, folder: &Path) -> Result<PathBuf, SandboxError> {
    let mut text = BEFORE.as_bytes().to_vec();
    for (name, needed) in BOOTSTRAP_FILES {
        let plain = binary.share_dir.join(name);
        let found = if plain.is_file() { Some(plain) } else { bootstrap_file(&binary.share_dir, name) };
        match found {
            Some(path) => text.extend(fs::read(&path).map_err(SandboxError::io("read", &path))?),
            None if needed => {
                let problem = format!("has no mysql_{name}, which a new data folder is made with");
                return Err(SandboxError::Content { path: binary.share_dir.clone(), problem });
            }
            None => {}
        }
        text.push(b'\n');
    }
    text.extend(AFTER.as_bytes());
    let path = folder.join("bootstrap.sql");
    let write = || File::create(&path)?.write_all(&text);
    write().map_err(SandboxError::io("write", &path))?;
    Ok(path)
}

fn initialise(
    binary: &ServerBinary,
    user: &ServerUser,
    lines: &[OptionLine],
    script: Option<PathBuf>,
) -> Result<(), SandboxError> {
    let fail = |how: String, log: String| SandboxError::Initialise { binary: binary.path.clone(), how, log };
    let arguments: Vec<OsString> = lines.iter().map(OptionLine::argument).collect();
    let input = match &script {
        Some(path) => Some(File::open(path).map_err(SandboxError::io("open", path))?),
        None => None,
    };
    let output = run_to_end(&binary.path, &arguments, input, user, TIME_LIMIT)
        .map_err(|error| fail(error.to_string(), String::new()))?;
    if !output.status.success() {
        let log = excerpt(&format!("{}\n{}", output.stdout, output.stderr));
        return Err(fail(output.status.to_string(), log));
    }
    script.map_or(Ok(()), |path| fs::remove_file(&path).map_err(SandboxError::io("remove", &path)))
}

/// A server that ends well but made nothing is a wrapper that swallowed our options.
fn check_made(binary: &ServerBinary, data: &Path) -> Result<(), SandboxError> {
    let missing = ["ibdata1", "mysql"].into_iter().find(|name| !data.join(name).exists());
    missing.map_or(Ok(()), |name| {
        let how = format!("it ended well, but made no `{name}` in {}", data.display());
        Err(SandboxError::Initialise { binary: binary.path.clone(), how, log: String::new() })
    })
}
