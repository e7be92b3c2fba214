//! Waits for the first answer of a started server: a private or a named one.

use std::path::Path;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError};
use truetps_record::Family;

use crate::error::SandboxError;
use crate::home::server_paths::ServerPaths;
use crate::server::family;
use crate::settings::server_settings::Settings;
use crate::system::log_tail::{excerpt, tail_text};

pub(crate) const PROBE_TIME_LIMIT: Duration = Duration::from_secs(5);
/// Interval between checks, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// A server that refuses each login for this long will not accept one later.
const REFUSED_TIME_LIMIT: Duration = Duration::from_secs(3);
/// SQLSTATEs of a PostgreSQL that starts or recovers, and of a server that rejects connections.
const NOT_YET: [&str; 2] = ["57P03", "08004"];

/// Whether a started server refuses its owner with an error that is not about its start.
fn is_refused_for_good(error: &DriverError) -> bool {
    matches!(error, DriverError::Server(refusal)
        if !refusal.is_session_limit() && !NOT_YET.contains(&refusal.sqlstate.as_str()))
}

/// A started server that has not answered yet.
#[derive(Debug)]
pub(crate) struct Awaited<'a> {
    pub(crate) family: Family,
    pub(crate) paths: &'a ServerPaths,
    pub(crate) program: &'a Path,
    pub(crate) pid: u32,
    pub(crate) settings: &'a Settings,
    /// Size of the error log before the start.
    pub(crate) log_from: u64,
}

impl Awaited<'_> {
    /// Ready means: the child lives, the kernel reports it as the listening process, and it answers
    /// a query. `look` returns how the child ended, if it did; its error ends the wait. Returns the
    /// time until ready.
    pub(crate) fn wait(
        &self,
        time_limit: Duration,
        mut look: impl FnMut() -> Result<Option<ExitStatus>, SandboxError>,
    ) -> Result<Duration, SandboxError> {
        let began = Instant::now();
        let mut last = "it has not opened its socket".to_owned();
        let mut refused_since = None;
        let mut pause = PAUSE_MIN;
        loop {
            if let Some(status) = look()? {
                return Err(self.failed_start(status));
            }
            let is_refused =
                refused_since.is_some_and(|since: Instant| since.elapsed() >= REFUSED_TIME_LIMIT);
            let is_late = is_refused || began.elapsed() >= time_limit;
            // The last query is for the error message of a server that is not ready.
            if is_late || family::may_answer(self.family, self.paths) {
                match self.probe() {
                    Ok(listener) => {
                        check_listener(&self.paths.socket, self.pid, listener)?;
                        return Ok(began.elapsed());
                    }
                    Err(error) if self.paths.socket.exists() => {
                        let refused = is_refused_for_good(&error);
                        refused_since = if refused {
                            refused_since.or_else(|| Some(Instant::now()))
                        } else {
                            None
                        };
                        last = error.to_string();
                    }
                    Err(_) => {}
                }
            }
            if is_late {
                let (binary, log) = (self.program.to_owned(), self.log_excerpt());
                return Err(SandboxError::NotReady {
                    binary,
                    waited: began.elapsed(),
                    last,
                    log,
                    disk: None,
                });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The listening process; the started server has also answered.
    fn probe(&self) -> Result<Option<u32>, DriverError> {
        let mut client = Client::connect(
            &family::owner(self.family, &self.paths.socket, None),
            PROBE_TIME_LIMIT,
        )?;
        let listener = client.peer_pid();
        if listener == Some(self.pid) {
            client.query("SELECT 1")?;
        }
        Ok(listener)
    }

    fn failed_start(&self, status: ExitStatus) -> SandboxError {
        let (binary, log) = (self.program.to_owned(), self.log_excerpt());
        let named = self.settings.named_in(&log);
        let how = if named.is_empty() {
            status.to_string()
        } else {
            format!("{status}; of its settings the log names {named}")
        };
        SandboxError::Start { binary, how, log }
    }

    /// Its log, or its program's output if it has no log.
    fn log_excerpt(&self) -> String {
        let log = tail_text(&self.paths.error_log, self.log_from);
        excerpt(
            if log.trim().is_empty() { tail_text(&self.paths.console_log, 0) } else { log }
                .as_str(),
        )
    }
}

/// Whether the started server is the listening process. A process without a pid in the current
/// namespace is another one.
pub(crate) fn check_listener(
    socket: &Path,
    started: u32,
    found: Option<u32>,
) -> Result<(), SandboxError> {
    if found == Some(started) {
        return Ok(());
    }
    Err(SandboxError::OtherServer { socket: socket.to_owned(), started, found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::path::PathBuf;

    fn paths(folder: &Path) -> ServerPaths {
        let below = |name: &str| folder.join(name);
        ServerPaths {
            datadir: below("data"),
            tmp: below("tmp"),
            socket: below("socket"),
            pid_file: below("pid"),
            error_log: below("error.log"),
            console_log: below("console.log"),
            option_file: below("options"),
        }
    }

    #[test]
    fn only_the_process_that_was_started_may_listen() {
        let check = |found| {
            check_listener(Path::new("/s"), 7, found)
                .map_err(|error| (error.to_string(), error.hint()))
        };
        assert_eq!(check(Some(7)), Ok(()));
        let (text, hint) = check(Some(8)).unwrap_err();
        assert!(
            text.starts_with("process 8 listens on /s") && hint.unwrap().contains("exec"),
            "{text}"
        );
        let (text, hint) = check(None).unwrap_err();
        assert!(text.starts_with("a process of another pid namespace listens on /s"), "{text}");
        assert!(hint.unwrap().contains("pid namespace of the server"));
    }

    #[test]
    fn a_server_that_never_answers_is_reported_with_its_last_log_lines() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(dir.path());
        let program = PathBuf::from("/x/mysqld");
        let awaited = Awaited {
            family: Family::Mysql,
            paths: &paths,
            program: &program,
            pid: std::process::id(),
            settings: &Settings::empty(Family::Mysql),
            log_from: 4,
        };
        let wait = |limit, look: &mut dyn FnMut() -> Result<Option<ExitStatus>, SandboxError>| {
            awaited.wait(limit, look).unwrap_err()
        };
        std::fs::write(&paths.console_log, "printed\n").unwrap();
        let error = wait(Duration::from_mins(1), &mut || Ok(Some(ExitStatus::from_raw(0))));
        assert!(matches!(&error, SandboxError::Start { log, .. } if log == "printed"), "{error}");
        std::fs::write(&paths.error_log, "old\nnew\n").unwrap();
        let error = wait(Duration::ZERO, &mut || Ok(None));
        assert!(
            matches!(&error, SandboxError::NotReady { log, last, .. } if log == "new" && last.contains("not opened"))
        );
        // A socket without a listener: the error of the last attempt is reported.
        drop(std::os::unix::net::UnixListener::bind(&paths.socket).unwrap());
        let error = wait(Duration::ZERO, &mut || Ok(None));
        assert!(
            matches!(&error, SandboxError::NotReady { last, .. } if last.contains("refused")),
            "{error}"
        );
        let stop = || SandboxError::Content { path: PathBuf::new(), problem: "stop".to_owned() };
        let error = wait(Duration::from_mins(1), &mut || Err(stop()));
        assert!(matches!(error, SandboxError::Content { .. }), "{error}");
    }
}
