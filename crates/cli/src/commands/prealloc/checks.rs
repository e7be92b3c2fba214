//! What would keep a server from loading the library, or from using it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::getxattr;
use truetps_binlog::is_tested;
use truetps_driver::Client;
use truetps_files::{open_regular, trusted_path};

use super::binlogs::variable;

/// The auxiliary vector's entry of a process that the loader treats as privileged.
const AT_SECURE: u64 = 23;
const CAPABILITIES: &str = "security.capability";
const SET_ID_BITS: u32 = 0o6000;
const PID_BYTES_MAX: u64 = 32;

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckResult {
    Good(String),
    /// It works, but differently from what one expects.
    Note(String),
    /// The library is not loaded, or refuses.
    Obstacle(String),
}

/// Checks the version and the settings of a server.
pub(super) fn check_server(client: &mut Client, is_forced: bool) -> Vec<CheckResult> {
    let version = variable(client, "version").unwrap_or_default();
    let mut found = Vec::new();
    found.push(match (is_tested(&version), is_forced) {
        (true, _) => CheckResult::Good(format!("{version} was tested with the library")),
        (false, true) => {
            CheckResult::Note(format!("{version} was not tested; --force uses it anyway"))
        }
        (false, false) => CheckResult::Obstacle(format!(
            "{version} was not tested with the library (--force uses it anyway)"
        )),
    });
    found.push(match variable(client, "binlog_checksum").as_deref() {
        Some("NONE") => CheckResult::Obstacle(
            "binlog_checksum is NONE: after a power cut a torn event would look like a whole one; \
             set it to CRC32"
                .to_owned(),
        ),
        _ => CheckResult::Good("binlogs have checksums".to_owned()),
    });
    if is_on(client, "binlog_encryption") || is_on(client, "encrypt_binlog") {
        found.push(CheckResult::Obstacle(
            "binlogs are encrypted: their end could not be found after a power cut".to_owned(),
        ));
    }
    let sync_binlog = variable(client, "sync_binlog");
    let flush_log = variable(client, "innodb_flush_log_at_trx_commit");
    match (sync_binlog.as_deref(), flush_log.as_deref()) {
        (Some("0"), _) => found.push(CheckResult::Obstacle(
            "sync_binlog is 0: no commit waits for the binlog; there is nothing to gain, and the \
             zeros cost writes"
                .to_owned(),
        )),
        (Some("1"), Some("1")) => {
            found.push(CheckResult::Good(
                "each commit group flushes redo log and binlog".to_owned(),
            ));
        }
        (Some(sync), _) => {
            found.push(CheckResult::Good(format!("sync_binlog is {sync}: binlogs are flushed")));
        }
        (None, _) => {}
    }
    if variable(client, "binlog_storage_engine").is_some_and(|engine| !engine.is_empty()) {
        found.push(CheckResult::Obstacle(
            "binlog_storage_engine is set: the engine preallocates the binlog itself, and a commit \
             is one flush"
                .to_owned(),
        ));
    }
    found
}

fn is_on(client: &mut Client, name: &str) -> bool {
    variable(client, name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("on"))
}

/// Checks the files that the drop-in names: `ExecStartPre` of some servers' units runs as root.
pub(super) fn check_files(program: &Path, library_dir: &Path) -> Vec<CheckResult> {
    [("the program", program), ("the folder of the library", library_dir)]
        .into_iter()
        .map(|(what, path)| match trusted_path(path) {
            Ok(path) => CheckResult::Good(format!(
                "{what}, {}, can be changed by root only",
                path.display()
            )),
            Err(problem) => CheckResult::Obstacle(format!(
                "{what} would run with a server's rights, or root's, and others than root could \
                 replace it: {problem}"
            )),
        })
        .collect()
}

/// Checks the server's process, if it can be seen, and its program.
pub(super) fn check_process(client: &mut Client) -> Vec<CheckResult> {
    let pid_file = client
        .query_value("SELECT CONCAT(@@GLOBAL.datadir, '|', @@GLOBAL.pid_file)")
        .ok()
        .flatten();
    let Some(pid) = pid_file.and_then(|text| pid_of(&text)) else {
        return vec![CheckResult::Note(
            "the server's process cannot be seen from here: its loader was not checked".to_owned(),
        )];
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    let mut found = vec![];
    match fs::read(process.join("auxv")).ok().and_then(|bytes| is_secure(&bytes)) {
        Some(true) => found.push(CheckResult::Obstacle(
            "the server's program has file capabilities or a set-user-ID bit: the loader ignores \
             LD_PRELOAD"
                .to_owned(),
        )),
        Some(false) => found.push(CheckResult::Good(
            "the loader of the running server takes LD_PRELOAD".to_owned(),
        )),
        None => found.push(CheckResult::Note(format!(
            "/proc/{pid}/auxv cannot be read: run this as root to check the loader"
        ))),
    }
    let profile = fs::read_to_string(process.join("attr/current")).unwrap_or_default();
    if profile.contains("(enforce)") {
        found.push(CheckResult::Obstacle(format!(
            "AppArmor confines the server ({}): its profile has to allow the library, `m` and `r`",
            profile.trim().trim_end_matches(" (enforce)")
        )));
    }
    found.extend(check_program(&process.join("exe")));
    found
}

/// Checks a program; it need not run.
fn check_program(program: &Path) -> Vec<CheckResult> {
    let mut found = Vec::new();
    let shown = fs::read_link(program).unwrap_or_else(|_| program.to_owned());
    let shown = shown.display();
    if getxattr(program, CAPABILITIES, &mut [0_u8; 256]).is_ok() {
        found.push(CheckResult::Obstacle(format!(
            "{shown} has file capabilities (getcap): the loader ignores LD_PRELOAD"
        )));
    }
    if fs::metadata(program)
        .is_ok_and(|facts| std::os::unix::fs::MetadataExt::mode(&facts) & SET_ID_BITS != 0)
    {
        found.push(CheckResult::Obstacle(format!(
            "{shown} has a set-user-ID bit: the loader ignores LD_PRELOAD"
        )));
    }
    let mut head = vec![0; 4096];
    let read = open_regular(program).and_then(|mut file| file.read(&mut head)).unwrap_or(0);
    if head[..read].windows(8).any(|window| window == b"/ld-musl") {
        found.push(CheckResult::Obstacle(format!(
            "{shown} uses musl, and the library is for the GNU C library"
        )));
    }
    found
}

/// The process id in the file of `DATADIR|PIDFILE`.
fn pid_of(text: &str) -> Option<u32> {
    let (datadir, file) = text.split_once('|')?;
    let mut written = String::new();
    // A file that the server has named: it may be anything, or without end.
    let named = open_regular(&Path::new(datadir).join(file)).ok()?;
    named.take(PID_BYTES_MAX).read_to_string(&mut written).ok()?;
    let pid = written.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    (name.starts_with("mysqld") || name.starts_with("mariadbd")).then_some(pid)
}

/// `AT_SECURE` of an auxiliary vector: pairs of words.
fn is_secure(auxv: &[u8]) -> Option<bool> {
    let words: Vec<_> = auxv
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
        .collect();
    words.chunks_exact(2).find(|pair| pair[0] == AT_SECURE).map(|pair| pair[1] != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_not_privileged() {
        assert_eq!(is_secure(&fs::read("/proc/self/auxv").unwrap()), Some(false));
        let pair = |tag: u64, value: u64| [tag.to_ne_bytes(), value.to_ne_bytes()].concat();
        assert_eq!(
            is_secure(&[pair(6, 4096), pair(AT_SECURE, 1), pair(0, 0)].concat()),
            Some(true)
        );
        assert_eq!(is_secure(&pair(6, 4096)), None);
    }

    fn is_obstacle(found: &CheckResult, word: &str) -> bool {
        matches!(found, CheckResult::Obstacle(text) if text.contains(word))
    }

    #[test]
    fn obstacles_of_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mysqld");
        fs::write(&program, b"\x7fELF....../lib/ld-musl-x86_64.so.1").unwrap();
        assert!(check_program(&program).iter().any(|found| is_obstacle(found, "musl")));
        let mut mode = fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o4755);
        fs::set_permissions(&program, mode).unwrap();
        assert!(check_program(&program).iter().any(|found| is_obstacle(found, "set-user-ID")));
        assert_eq!(check_program(Path::new("/bin/true")), []);
    }
}
