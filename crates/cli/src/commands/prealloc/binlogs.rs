//! Where a server's binlogs are, from the words of the command line.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use truetps_binlog::state::STATE_ENDING;
use truetps_driver::Client;
use truetps_files::OpenFolder;
use truetps_record::SqlDialect;

use crate::args::{BinlogArgs, ReadServerArgs};
use crate::commands::instance::target_of;
use crate::failure::CommandFailure;

const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
const MAGIC: [u8; 4] = *b"\xfebin";

/// The path of the binlogs without the number.
pub(super) fn basename(args: &BinlogArgs) -> Result<PathBuf, CommandFailure> {
    if is_path(&args.named) {
        return basename_of_path(Path::new(&args.named));
    }
    let mut client = connect(args)?;
    let found =
        client.query_value("SELECT @@GLOBAL.log_bin_basename").map_err(CommandFailure::failed)?;
    let found = found.filter(|found| !found.is_empty()).ok_or_else(|| {
        CommandFailure::usage(format!("{}: the server has no binlog (log_bin is OFF)", args.named))
            .hint("nothing is preallocated there")
    })?;
    let folder = Path::new(&found).parent().is_some_and(Path::is_dir);
    if !folder {
        let message = format!(
            "{}: its binlogs are {found}.*, and this machine has no such folder",
            args.named
        );
        return Err(CommandFailure::usage(message).hint("run this command where the server runs"));
    }
    Ok(found.into())
}

/// An address has a scheme; anything else with a `/`, or that is there, is a file or a folder.
pub(super) fn is_path(named: &str) -> bool {
    !named.contains("://") && (named.contains('/') || Path::new(named).exists())
}

pub(super) fn connect(args: &BinlogArgs) -> Result<Client, CommandFailure> {
    let BinlogArgs { named, login, sandbox } = args;
    let read =
        ReadServerArgs { named: named.clone(), login: login.clone(), sandbox: sandbox.clone() };
    let target = target_of(&read)?;
    if target.dialect == SqlDialect::Postgres {
        return Err(CommandFailure::usage(format!("{named}: PostgreSQL has no binlog"))
            .hint("it fills and recycles its own log files: wal_init_zero, wal_recycle"));
    }
    Client::connect(&target, ANSWERS_WITHIN)
        .map_err(|error| CommandFailure::usage(format!("{named}: {error}")))
}

/// A global variable, where the server has it.
pub(super) fn variable(client: &mut Client, name: &str) -> Option<String> {
    client.query_value(&format!("SELECT @@GLOBAL.{name}")).ok().flatten()
}

/// A path that is not a folder is a basename. In a datadir it is the only one that has a state
/// file, or else the only one that has binlogs.
pub(super) fn basename_of_path(path: &Path) -> Result<PathBuf, CommandFailure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let (folder, names) = open_listed(path)
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", path.display())))?;
    let watched: BTreeSet<_> =
        names.iter().filter_map(|name| name.strip_suffix(STATE_ENDING)).collect();
    let found = if watched.is_empty() {
        names.iter().filter_map(|name| binlog_base(&folder, name)).collect()
    } else {
        watched
    };
    let list: Vec<_> = found.into_iter().collect();
    match list[..] {
        [only] => Ok(path.join(only)),
        [] => {
            Err(CommandFailure::usage(format!("{}: no binlog is in this folder", path.display()))
                .hint("name them without their number: /var/log/mysql/binlog"))
        }
        ref several => {
            let message =
                format!("{}: has binlogs of several names: {}", path.display(), several.join(", "));
            Err(CommandFailure::usage(message)
                .hint(format!("name one: {}", path.join(several[0]).display())))
        }
    }
}

/// A folder and the names in it.
fn open_listed(path: &Path) -> io::Result<(OpenFolder, Vec<String>)> {
    let folder = OpenFolder::open_named(path)?;
    let entries = folder.as_owner(|| folder.entries()).flatten()?;
    let names = entries.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    Ok((folder, names))
}

/// `binlog` of `binlog.000017`, if it is one; relay logs look alike.
fn binlog_base<'n>(folder: &OpenFolder, name: &'n str) -> Option<&'n str> {
    let (base, digits) = name.rsplit_once('.')?;
    let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || base.contains("relay") {
        return None;
    }
    let mut magic = [0; 4];
    let mut file = folder.as_owner(|| folder.file(name.as_ref())).flatten().ok()?;
    file.read_exact(&mut magic).ok()?;
    (magic == MAGIC).then_some(base)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_datadir_has_one_basename() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        let found = || basename_of_path(folder.path()).map_err(|failure| failure.text());
        assert!(found().unwrap_err().contains("no binlog"));
        write("mysql-bin.000001", b"\xfebin....");
        write("host-relay-bin.000001", b"\xfebin....");
        write("aria_log.00000001", b"........");
        assert_eq!(found(), Ok(folder.path().join("mysql-bin")));
        write("other.000002", b"\xfebin....");
        assert!(found().unwrap_err().contains("mysql-bin, other"));
        write("other.prealloc", b"");
        assert_eq!(found(), Ok(folder.path().join("other")));
        assert_eq!(
            basename_of_path(Path::new("/data/log/binlog")).ok(),
            Some(PathBuf::from("/data/log/binlog"))
        );
    }
}
