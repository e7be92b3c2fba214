//! A server during one trial: the load, its state afterwards, and its files.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use truetps_driver::{Client, DriverError, Target, server_settings};
use truetps_files::write_atomically;
use truetps_folder::{FolderError, TrialWriter};
use truetps_record::{LogVolume, NoEvidence, Trial};
use truetps_recording::TrialEvent;
use truetps_sandbox::RunningServer;
use truetps_trial::{RanTrial, TrialContext, run_trial};

use crate::error::LabError;
use crate::trial::evidence::ServerState;
use crate::trial::log_reader::LogReader;
use crate::trial::write_transactions::WriteCount;

/// A server that does not answer a trivial query for this long hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of log lines of the server that are kept with a trial and quoted in a reason.
const LOG_LINES_KEPT: usize = 200;
const LOG_LINES_QUOTED: usize = 3;

/// A server in its initial state, for one trial.
pub(crate) trait ReadyServer<'l> {
    /// The address that the load connects to, and the process id of the server if it is one process
    /// of this host.
    fn address(&self) -> (&'l Target, Option<u32>);

    /// Settings of the load's sessions that replace the server's, as such a session shows them.
    fn session_settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Oddities of its start, reported with the trial.
    fn take_notes(&mut self) -> Vec<String>;

    /// Runs and records the load.
    fn run_load(
        &mut self,
        context: &TrialContext<'_>,
        trial: Trial,
        writer: TrialWriter,
        on_event: &mut dyn FnMut(TrialEvent<'_>),
    ) -> RanTrial;

    /// Its state after the load.
    fn state(&mut self) -> ServerState;

    /// What it has written to its logs since the last trial, where that is read.
    fn logged(&mut self) -> Option<LogVolume>;

    /// What it has written so far, before the load.
    fn logged_so_far(&mut self) -> Option<LogVolume> {
        None
    }

    /// Whether other sessions may have changed or restarted it:
    /// [`crate::trial::server_provider::ServerProvider::trouble`] checks that.
    fn is_external(&self) -> bool;

    /// Writes its option file, log and variables.
    fn write_files(&mut self, state: &ServerState, path: &Path) -> Result<(), LabError>;
}

/// A running server, private or external.
pub(crate) struct TrialServer<'l> {
    /// For everything that is not measured.
    pub(crate) client: &'l mut Client,
    /// Only for an external server: reads how much it writes to its logs.
    pub(crate) log: Option<&'l mut LogReader>,
    /// The address that the load connects to.
    pub(crate) target: &'l Target,
    /// The address that `client` connects to, for a reconnect.
    pub(crate) control: Target,
    /// Settings of the load's sessions that replace the server's.
    pub(crate) session: BTreeMap<String, String>,
    /// The process, if truetps started it.
    pub(crate) server: Option<&'l mut RunningServer>,
    /// Its process id, if it is one process of this host.
    pub(crate) pid: Option<u32>,
    pub(crate) notes: Vec<String>,
}

impl<'l> ReadyServer<'l> for TrialServer<'l> {
    fn address(&self) -> (&'l Target, Option<u32>) {
        (self.target, self.pid)
    }

    fn session_settings(&self) -> BTreeMap<String, String> {
        self.session.clone()
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn run_load(
        &mut self,
        context: &TrialContext<'_>,
        trial: Trial,
        writer: TrialWriter,
        on_event: &mut dyn FnMut(TrialEvent<'_>),
    ) -> RanTrial {
        let writes = WriteCount::before(self.client, self.target);
        let mut ran = run_trial(context, trial, writer, on_event);
        writes.judge(self.client, &mut ran.trial);
        ran
    }

    fn state(&mut self) -> ServerState {
        // If the client's time limit cannot be set, the server is lost: the query below reports it.
        let _ = self.client.set_timeout(ANSWER_TIMEOUT);
        if let Some(status) = self.server.as_mut().and_then(|server| server.exit_status_if_dead()) {
            let disk_ended = self.server.as_ref().and_then(|server| server.disk_ended());
            let cause = disk_ended.map_or_else(String::new, |ended| {
                format!("; the process of its emulated disk had ended before: {ended}")
            });
            let status = format!("{status}{cause}");
            return ServerState::Gone(NoEvidence::ServerDied { status, log: self.log_tail() });
        }
        match self.ask() {
            Ok(()) => ServerState::Answers,
            Err(error) => ServerState::Gone(NoEvidence::ServerSilent {
                error: error.to_string(),
                log: self.log_tail(),
            }),
        }
    }

    fn logged(&mut self) -> Option<LogVolume> {
        self.log.as_mut()?.volume_since(self.client).ok()
    }

    fn logged_so_far(&mut self) -> Option<LogVolume> {
        self.log.as_mut()?.so_far(self.client).ok()
    }

    fn is_external(&self) -> bool {
        self.server.is_none()
    }

    fn write_files(&mut self, state: &ServerState, path: &Path) -> Result<(), LabError> {
        if let Some(server) = &self.server {
            let (name, text) = server.option_file();
            write(&path.join(name), text.as_bytes())?;
            let log = server.error_log_tail(LOG_LINES_KEPT);
            write(&path.join("error.log"), log.as_bytes())?;
        }
        // A server that is gone cannot be queried; its option file has the settings of its start.
        let answers = *state == ServerState::Answers;
        let variables = if answers { server_settings(self.client).ok() } else { None };
        if let Some(mut variables) = variables {
            variables.append(&mut self.session);
            let text =
                serde_json::to_vec_pretty(&variables).expect("a map of texts has a JSON form");
            write(&path.join("variables.json"), &text)?;
        }
        Ok(())
    }
}

impl TrialServer<'_> {
    /// The last lines of the log of a private server.
    fn log_tail(&self) -> Option<String> {
        Some(self.server.as_ref()?.error_log_tail(LOG_LINES_QUOTED))
    }

    /// A trivial query. A healthy server may have closed a session that was idle for a whole trial:
    /// a new session asks once more.
    fn ask(&mut self) -> Result<(), DriverError> {
        match self.client.query_value("SELECT 1") {
            Err(error) if is_closed(&error) => {
                *self.client = Client::connect(&self.control, ANSWER_TIMEOUT)?;
                self.client.query_value("SELECT 1").map(drop)
            }
            other => other.map(drop),
        }
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), FolderError> {
    write_atomically(path, content).map_err(FolderError::io(path))
}

/// Whether the server may have closed the session by itself.
fn is_closed(error: &DriverError) -> bool {
    match error {
        DriverError::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
        ),
        DriverError::Closed | DriverError::Server(_) => true,
        _ => false,
    }
}
