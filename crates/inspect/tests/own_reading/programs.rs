//! The servers' programs, and both readings of a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;

use truetps_files::{OptionFileError, OptionReader, OptionStyle, OptionVisitor, OptionWalk};
use truetps_knowledge::{GroupUse, Version, group_use};
use truetps_record::Flavour;
use truetps_sandbox::{ServerBinary, ServerUser};
use truetps_testkit::mysql_family::{fetched_server, mariadb};

/// The system's MariaDB, and those that are fetched.
pub(crate) fn mysql_family(test: &str) -> Vec<ServerBinary> {
    let fetched = ["mysql-5.7", "mysql-8.0", "mysql-9.7", "mariadb-11.8"];
    let fetched = fetched.into_iter().filter_map(|name| Some(fetched_server(test, name)?.binary));
    mariadb(test).into_iter().chain(fetched).collect()
}

/// A program run as the user that servers run as, without a login or option file of the user who
/// runs the tests.
#[expect(clippy::disallowed_methods, reason = "the servers' own programs")]
pub(crate) fn output_of(program: &Path, words: &[&str]) -> Output {
    let user = ServerUser::choose();
    let mut command = Command::new(program);
    command.args(words).env_clear().env("LC_ALL", "C").stdin(Stdio::null()).current_dir("/");
    if user.switch {
        command.uid(user.uid).gid(user.gid);
    }
    command.output().unwrap()
}

/// A client, as the user who runs the tests.
#[expect(clippy::disallowed_methods, reason = "the servers' own clients")]
pub(crate) fn our_output(program: &Path, words: &[&str]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command::new(program)
        .args(words)
        .env_clear()
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A folder that the servers' user may enter.
pub(crate) fn open_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

pub(crate) fn write(path: &Path, text: &[u8]) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

/// The arguments with which a server would start with this file; `None`: it refuses the file.
pub(crate) fn servers_words(binary: &ServerBinary, path: &Path) -> Option<String> {
    let named = format!("--defaults-file={}", path.display());
    let output = output_of(&binary.path, &[&named, "--print-defaults"]);
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, words) = text.split_once("following arguments:\n")?;
    Some(words.strip_suffix('\n').unwrap_or(words).trim_end_matches(' ').to_owned())
}

struct ReadWords<'a> {
    flavour: Flavour,
    version: &'a Version,
    arguments: Vec<String>,
    notes: Vec<String>,
}

impl OptionVisitor for ReadWords<'_> {
    fn reads(&mut self, group: &str) -> bool {
        group_use(group, Some(self.flavour), Some(self.version)) == GroupUse::Server
    }

    fn setting(&mut self, _: &Path, name: &str, value: Option<&str>) -> bool {
        self.arguments
            .push(value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}")));
        true
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

/// What truetps reads of them, with its notes.
pub(crate) fn our_words(
    binary: &ServerBinary,
    path: &Path,
) -> (Result<String, OptionFileError>, Vec<String>) {
    let version = Version::parse(&binary.version.to_string()).unwrap();
    let mut words = ReadWords {
        flavour: binary.flavour,
        version: &version,
        arguments: Vec::new(),
        notes: Vec::new(),
    };
    let read = OptionWalk::new(OptionStyle::Groups, OptionReader::Server, &mut words).file(path);
    (read.map(|()| words.arguments.join(" ").trim_end_matches(' ').to_owned()), words.notes)
}

/// Runs a check of each case on all cores, and reports every failure.
pub(crate) fn check_all<T: Sync>(
    cases: &[T],
    check: impl Fn(&T, &Path) -> Result<(), String> + Sync,
) {
    let wrong = Mutex::new(Vec::new());
    let next = Mutex::new(0..cases.len());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let dir = open_folder();
                loop {
                    let Some(n) = next.lock().unwrap().next() else { return };
                    if let Err(told) = check(&cases[n], dir.path()) {
                        wrong.lock().unwrap().push(told);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Both readings of a file of this text. `Err`: they differ.
pub(crate) fn compare(binary: &ServerBinary, text: &[u8], dir: &Path) -> Result<(), String> {
    let path: PathBuf = dir.join("my.cnf");
    write(&path, text);
    let servers = servers_words(binary, &path);
    let (ours, notes) = our_words(binary, &path);
    let is_same = match (&servers, &ours) {
        (Some(servers), Ok(ours)) => servers == ours,
        (None, Err(_)) => true,
        _ => false,
    };
    let server = format!("{} {}", binary.flavour, binary.version);
    if is_same || known_difference(binary, text, servers.as_ref(), &ours, &notes) {
        return Ok(());
    }
    Err(format!(
        "{server}: {}\n  the server: {servers:?}\n  truetps:    {ours:?} {notes:?}",
        text.escape_ascii()
    ))
}

/// What is read differently on purpose.
fn known_difference(
    binary: &ServerBinary,
    text: &[u8],
    servers: Option<&String>,
    ours: &Result<String, OptionFileError>,
    notes: &[String],
) -> bool {
    let has_note = |part: &str| notes.iter().any(|note| note.contains(part));
    match ours {
        // What no report could show; and lines of which servers read a part that depends on their
        // version.
        Err(OptionFileError::Encoding { .. } | OptionFileError::Cut { .. }) => true,
        // Of a line without a name, they print what is in memory before it; none starts with it.
        Err(OptionFileError::Line { fault, .. }) => fault.contains("no name"),
        Err(_) => false,
        // It may be read by a program that drops the mark, as Windows' editors write it; a note
        // says so.
        Ok(_) if text.starts_with(b"\xef\xbb\xbf") => {
            has_note("byte order mark") && servers.is_none()
        }
        // The file may be a copy from a host that has the folder.
        Ok(_) if servers.is_none() => has_note("!includedir"),
        // Whether a server is built with NDB is not known by its version; a note says so. 9.7 of
        // Debian is.
        Ok(_) if text.windows(13).any(|part| part.eq_ignore_ascii_case(b"mysql_cluster")) => {
            binary.flavour == Flavour::Mysql && binary.version.major >= 9
        }
        // From 9 on, a comment behind the path of an include is none of it.
        Ok(_) => binary.version.major == 9 && has_note(" #"),
    }
}
