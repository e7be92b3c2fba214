//! The run folder of such a run: an experiment in the original program's order.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use truetps_driver::{Client, DriverError, LoginError, Target};
use truetps_folder::{ExperimentFolder, FolderError, TrialWriter};
use truetps_plan::{Plan, ProbeSpec};
use truetps_probe::{RunPresence, clock};
use truetps_record::{Configuration, Experiment, ScheduledTrial, ServerFacts, Trial, TrialRole};
use truetps_recording::{
    ExperimentStart, LiveView, RunsFolder, TrialEvent, TrialPlace, host_of_external_server,
    is_remarked, new_experiment, new_trial, state_runs, try_state_runs,
};

const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a run is to be recorded.
#[derive(Debug, Clone)]
pub(crate) struct RunsWish {
    /// `None`: nowhere.
    pub(crate) folder: Option<PathBuf>,
    /// By the user.
    pub(crate) is_named: bool,
}

impl RunsWish {
    /// `named`: by the user; the word `none` means no folder.
    pub(crate) fn of(
        named: Option<PathBuf>,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        let named = named.filter(|runs| !runs.as_os_str().is_empty());
        let is_named = named.is_some();
        let folder = named.unwrap_or_else(|| state_runs(environment));
        Self { folder: Some(folder).filter(|folder| folder != Path::new("none")), is_named }
    }
}

/// Checks that the folder is writable before anything is measured: if it is not, a named one is an
/// error, and another one a warning.
pub(crate) fn choose_runs(
    wish: &RunsWish,
    environment: &dyn Fn(&str) -> Option<OsString>,
    warn: &mut dyn FnMut(&str),
) -> Result<RunsFolder, String> {
    let mut runs = wish.folder.as_deref();
    if runs.is_some() && !wish.is_named {
        runs = match try_state_runs(environment) {
            Ok(()) => runs,
            Err(warning) => {
                warn(&warning);
                None
            }
        };
    }
    let tried = runs.map_or(Ok(()), ExperimentFolder::check_writable);
    tried.map_err(|error| {
        format!("{error} (name another folder with --runs=DIR or TRUETPS_RUNS, or use --runs=none)")
    })?;
    RunsFolder::choose(runs).map_err(|error| format!("no temporary folder: {error}"))
}

pub(crate) struct CompatRecording {
    folder: ExperimentFolder,
    experiment: Experiment,
    plan: Plan,
    server: ServerFacts,
    is_kept: bool,
    view: RefCell<Option<LiveView>>,
    /// Where other runs of truetps are registered.
    pub(crate) presence: RunPresence,
}

/// The plan of one trial: its time and its settings.
#[derive(Debug, Clone)]
pub(crate) struct TrialTurn {
    /// Number of the repetition, from 0.
    pub(crate) block: u32,
    pub(crate) configuration: Configuration,
}

impl CompatRecording {
    /// Creates the folder, with everything that is planned.
    pub(crate) fn begin(
        runs: &RunsFolder,
        plan: Plan,
        turns: &[TrialTurn],
        server: ServerFacts,
        target: &Target,
        command: Vec<String>,
        workers: u32,
    ) -> Result<Self, FolderError> {
        let experiment = new_experiment(ExperimentStart {
            plan: &plan,
            tool_version: TOOL_VERSION,
            workers,
            host: host_of_external_server(),
            server: Some(server.clone()),
            sandbox_dir: None,
            server_address: Some(target.to_string()),
            schedule: turns.iter().zip(1..).map(|(turn, n)| scheduled(turn, n)).collect(),
            command,
        });
        let name = format!("{}-{}", plan.name, clock::folder_stamp());
        let folder = ExperimentFolder::create(runs.path(), &name, &plan, &experiment)?;
        let presence = RunPresence::announce(&plan.name);
        Ok(Self {
            folder,
            experiment,
            plan,
            server,
            is_kept: runs.is_kept(),
            view: RefCell::default(),
            presence,
        })
    }

    /// Shows the runs in this view.
    pub(crate) fn show_in(&self, view: Option<LiveView>) {
        *self.view.borrow_mut() = view;
    }

    /// Where the user finds it: the last line, on stderr. `is_named`: the user has named the folder
    /// of runs.
    pub(crate) fn say_where(&self, is_named: bool, err: &mut dyn Write) {
        if let Some(path) = self.path().filter(|_| is_remarked(is_named)) {
            let _ = writeln!(err, "truetps: recorded in {}", path.display());
            self.folder
                .not_latest()
                .into_iter()
                .for_each(|warning| drop(writeln!(err, "truetps: {warning}")));
        }
    }

    /// Its path, for the printed block.
    pub(crate) fn kept_in(&self) -> Option<String> {
        self.path().map(|path| path.display().to_string())
    }

    /// How server and host are watched.
    pub(crate) fn probe(&self) -> &ProbeSpec {
        &self.plan.probe
    }

    /// Passes an event of the trial of this number on to the live view, if there is one.
    pub(crate) fn show(&self, number: usize, event: TrialEvent<'_>) {
        let Some(view) = &mut *self.view.borrow_mut() else { return };
        let schedule = &self.experiment.schedule;
        let of = Some(schedule.len());
        view.trial_event(
            TrialPlace { trial: &schedule[number], index: number, of, left: None },
            event,
        );
    }

    /// Its path, if it is kept.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.is_kept.then(|| self.folder.path())
    }

    /// Begins the trial of this number, from 0.
    pub(crate) fn begin_trial(&self, number: usize) -> Result<(Trial, TrialWriter), FolderError> {
        let planned = &self.experiment.schedule[number];
        let trial = new_trial(&self.plan, planned, Some(self.server.clone()), TOOL_VERSION);
        let writer = self.folder.begin_trial(&trial)?;
        Ok((trial, writer))
    }
}

fn scheduled(turn: &TrialTurn, number: u32) -> ScheduledTrial {
    ScheduledTrial {
        name: format!("trial-{number:04}"),
        block: turn.block,
        position: number - 1,
        role: TrialRole::Cell,
        configuration: turn.configuration.clone(),
        mixture: None,
    }
}

/// The server's version.
pub(crate) fn server_facts(client: &mut Client) -> Result<ServerFacts, DriverError> {
    // Percona Server identifies itself only in its comment.
    let text = client.query_value("SELECT CONCAT(VERSION(), ' ', @@version_comment)")?;
    Ok(ServerFacts::from_version_text(&text.unwrap_or_default()))
}

/// The server's own message, without the prefix of truetps.
pub(crate) fn server_message(error: &DriverError) -> String {
    match error {
        DriverError::Server(error) => error.message.clone(),
        DriverError::Login(LoginError::UnknownKey { .. }) => format!(
            "{error}; connect with --ssl-mode=verify_identity and --ssl-ca=FILE, or agree to take \
             the key with --get-server-public-key"
        ),
        DriverError::Login(LoginError::NotEncrypted { .. }) => {
            format!("{error}; connect with --ssl-mode=required")
        }
        DriverError::Tls(_) => {
            format!("{error}; --ssl-mode and --ssl-ca choose another way, --ssl-mode=disabled none")
        }
        other => other.to_string(),
    }
}
