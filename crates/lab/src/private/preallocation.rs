//! Binlog preallocation as a factor: a private server preloads the library, which is switched on or
//! off for each trial.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use truetps_binlog::state::{StatePage, StatusWord};
use truetps_driver::Client;
use truetps_plan::Plan;
use truetps_preload::{LIBRARY_NAME, Preload, StateFile, place, why_not_live};
use truetps_record::{
    Configuration, PREALLOC, PreallocMode, SettingValue, SqlDialect, prealloc_mode, setting_number,
};
use truetps_sandbox::{Sandbox, Settings, binlog_name};

use crate::error::LabError;
use crate::trial::server_provider::ServerProgram;

/// A private server and its disk are made for the tables and a load of some seconds.
const FREE_FLOOR_MIB: u64 = 16;
/// A prepared file is not larger, as the library's own are.
const FILE_MIB: u64 = 64;
const OBEYS_WITHIN: Duration = Duration::from_secs(10);
/// A slow disk takes long to be filled.
const FILLED_WITHIN: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(5);
/// More writes than this of the other level make a trial something between on and off. A few are of
/// the file's beginning and end, and of the fifth of a second in which the library counts them.
const OTHER_SHARE_MAX: f64 = 0.05;

/// What the server of a configuration is started with. Where the level is off, that is the library
/// of another level: servers of one mode are one process, and only the switch differs.
pub(crate) fn mode_at_start(plan: &Plan, configuration: &Configuration) -> Option<PreallocMode> {
    let levels = plan.factors.get(PREALLOC)?;
    configuration
        .prealloc()
        .or_else(|| levels.iter().find_map(|level| prealloc_mode(level).ok().flatten()))
}

/// How many modes are compared: each needs a start.
pub(crate) fn modes(plan: &Plan) -> usize {
    let levels = plan.factors.get(PREALLOC).into_iter().flatten();
    let mut modes: Vec<_> =
        levels.filter_map(|level| prealloc_mode(level).ok().flatten()).collect();
    modes.sort_by_key(ToString::to_string);
    modes.dedup();
    modes.len()
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(problem: impl ToString) -> LabError {
    LabError::Preallocation { problem: problem.to_string() }
}

/// The basename of the binlogs of a private server.
fn basename(datadir: &Path, settings: &Settings) -> PathBuf {
    datadir.join(binlog_name(settings))
}

/// The way from the datadir to the folder of the private server, which belongs to truetps: the
/// loader takes a blank in a path for its end, and servers are started in their datadir.
fn from_datadir(sandbox: &Sandbox) -> PathBuf {
    let datadir = sandbox.datadir();
    let below =
        datadir.strip_prefix(sandbox.path()).expect("a datadir is in the folder of its server");
    below.components().map(|_| "..").collect()
}

/// Environment variables of a private server that preloads the library.
pub(crate) fn environment(
    sandbox: &Sandbox,
    settings: &Settings,
    mode: PreallocMode,
) -> Result<Vec<(OsString, OsString)>, LabError> {
    // Not in the datadir: the server's user could put another file in its place.
    place(sandbox.path()).map_err(failed)?;
    let library = from_datadir(sandbox).join(LIBRARY_NAME);
    let mut preload = Preload::new(basename(&sandbox.datadir(), settings), mode);
    preload.free_floor_mib = Some(FREE_FLOOR_MIB);
    // What a binlog never becomes need not be prepared.
    let limit =
        settings.get("max_binlog_size").and_then(|limit| setting_number(&limit.option_text()));
    preload.file_mib = limit.map(|bytes| (bytes as u64).div_ceil(1 << 20).clamp(1, FILE_MIB));
    Ok(preload.environment(&library).into())
}

/// The library in a running server.
pub(crate) struct PreallocSwitch {
    state: StateFile,
    /// Since the trial began.
    before: Option<StatePage>,
}

impl PreallocSwitch {
    pub(crate) fn of(datadir: &Path, settings: &Settings) -> Self {
        Self { state: StateFile::of(&basename(datadir, settings)), before: None }
    }

    /// Before the server starts a new binlog: a pool has files ready, or none is used.
    pub(crate) fn set(
        &self,
        client: &mut Client,
        mode: Option<PreallocMode>,
    ) -> Result<(), LabError> {
        let found = client.query_value("SELECT @@GLOBAL.log_bin_basename")?;
        if found.is_none() && mode.is_none() {
            return Ok(());
        }
        if found.as_deref().map(Path::new) != Some(&*self.basename()) {
            let problem = match found {
                None => {
                    "the server has no binlog: set log_bin = true, or leave the combination out"
                        .to_owned()
                }
                Some(found) => {
                    format!("the server's binlogs are {found}.*, and the library watches others")
                }
            };
            return Err(failed(problem));
        }
        self.state.want(mode.is_some(), OBEYS_WITHIN).map_err(failed)?;
        match mode {
            Some(PreallocMode::Pool(files)) => {
                self.wait(|page| page.word(StatusWord::pool_ready) >= u64::from(files)).map(drop)
            }
            Some(PreallocMode::Ahead) | None => Ok(()),
        }
    }

    /// When the server has its new binlog: the level is what was asked for.
    pub(crate) fn begin(&mut self, mode: Option<PreallocMode>) -> Result<(), LabError> {
        let page = match mode {
            Some(_) => Some(self.wait(|page| {
                why_not_live(page).is_none()
                    && page.word(StatusWord::filled_end) > page.word(StatusWord::logical_end)
            })?),
            // Without a binlog there is nothing to watch.
            None => self.state.read().map_err(failed)?,
        };
        self.before = page;
        Ok(())
    }

    /// After the load: why the trial is not one of its level.
    pub(crate) fn trouble(&self, mode: Option<PreallocMode>) -> Result<Option<String>, LabError> {
        let Some(before) = &self.before else { return Ok(None) };
        let now = self.page()?;
        let [inside, beyond] = [StatusWord::writes_inside, StatusWord::writes_beyond]
            .map(|word| now.word(word).saturating_sub(before.word(word)) as f64);
        let (others, what) = match mode {
            Some(_) => (beyond, "beyond what was preallocated"),
            None => (inside, "preallocated while that was off"),
        };
        let ended = mode.and_then(|_| why_not_live(&now));
        let share = others / (inside + beyond).max(1.0);
        Ok(match ended {
            Some(why) => Some(format!("preallocation ended: {why}")),
            None if share > OTHER_SHARE_MAX => {
                Some(format!("{:.0} % of the writes to binlogs were {what}", share * 100.0))
            }
            None => None,
        })
    }

    fn basename(&self) -> PathBuf {
        self.state.path().with_extension("")
    }

    fn page(&self) -> Result<StatePage, LabError> {
        let page = self.state.read().map_err(failed)?;
        page.ok_or_else(|| {
            failed(format!(
                "{} is missing: the server has not loaded the library",
                self.state.path().display()
            ))
        })
    }

    fn wait(&self, is_reached: impl Fn(&StatePage) -> bool) -> Result<StatePage, LabError> {
        let end = Instant::now() + FILLED_WITHIN;
        loop {
            let page = self.page()?;
            if is_reached(&page) {
                return Ok(page);
            }
            if let Some(why) =
                why_not_live(&page).filter(|_| page.reason().is_some() || Instant::now() >= end)
            {
                return Err(failed(why));
            }
            if Instant::now() >= end {
                return Err(failed(format!(
                    "nothing was filled within {} s",
                    FILLED_WITHIN.as_secs()
                )));
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Refused before a server starts.
pub(crate) fn check(plan: &Plan, programs: &[ServerProgram]) -> Result<(), LabError> {
    let Some(levels) = plan.factors.get(PREALLOC) else { return Ok(()) };
    if let Some(program) =
        programs.iter().find(|program| program.binary.family().dialect() == SqlDialect::Postgres)
    {
        return Err(failed(format!("{} has no binlog", program.what())));
    }
    let is_on = levels.iter().any(|level| prealloc_mode(level).is_ok_and(|mode| mode.is_some()));
    if is_on && plan.server.settings.get("log_bin") == Some(&SettingValue::Bool(false)) {
        return Err(failed("log_bin is off, and nothing else is preallocated"));
    }
    Ok(())
}
