//! The two sides of `truetps explain`, from the words of the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use truetps_folder::ExperimentFolder;
use truetps_inspect::{server_options, side_of_path};
use truetps_knowledge::{SettingsSide, inert_reason, is_same_list};
use truetps_lab::{ExplainSide, ServerProgram};
use truetps_plan::{Plan, level_of};
use truetps_record::{SERVER, SettingValue, is_setting_factor, same_setting};
use truetps_sandbox::{
    BaseSettings, Catalogue, FileSetting, Home, HostLimits, NamedServers, ServerUser,
    base_settings, load_session_reason,
};

use crate::commands::capture::failure;
use crate::explain_scale::{POOL, scale};
use crate::failure::CommandFailure;
use crate::terminal::print_line;

/// A server without settings of its own.
const DEFAULTS: &str = "defaults";

/// What a word names, before it is known which program it is measured with.
pub(crate) enum NamedSide {
    /// A server with a name: its program and its option file.
    Server(String),
    /// Settings and levels that were typed.
    Typed {
        settings: IndexMap<String, SettingValue>,
        levels: IndexMap<String, SettingValue>,
    },
    OptionFile(PathBuf),
    /// All variables of a server, and the levels of its load.
    Whole {
        side: Box<SettingsSide>,
        levels: IndexMap<String, SettingValue>,
    },
}

/// What was named, and what a run folder says besides.
pub(crate) struct NamedBy {
    pub(crate) word: String,
    pub(crate) side: NamedSide,
    pub(crate) plan: Option<Plan>,
    /// The named server that it was measured on, where that is still there.
    server: Option<String>,
}

impl NamedBy {
    /// A file or folder has precedence over a named server, and that over settings.
    pub(crate) fn read(word: &str, home: &Home) -> Result<Self, CommandFailure> {
        let path = Path::new(word);
        if path.is_dir() {
            return read_folder(word, path, home);
        }
        let side = if path.exists() {
            NamedSide::read_file(path)?
        } else if NamedServers::of(home).get(word).is_ok() {
            NamedSide::Server(word.to_owned())
        } else if word == DEFAULTS {
            NamedSide::Typed { settings: IndexMap::new(), levels: IndexMap::new() }
        } else if word.contains('=') && !word.contains("://") {
            let (settings, levels) = typed(word)?;
            NamedSide::Typed { settings, levels }
        } else {
            return Err(unknown_side(word));
        };
        Ok(Self { word: word.to_owned(), side, plan: None, server: None })
    }

    pub(crate) fn server(&self) -> Option<&str> {
        if let NamedSide::Server(name) = &self.side { Some(name) } else { self.server.as_deref() }
    }

    /// Levels that are no settings.
    pub(crate) fn levels(&self) -> IndexMap<String, SettingValue> {
        match &self.side {
            NamedSide::Typed { levels, .. } | NamedSide::Whole { levels, .. } => levels.clone(),
            NamedSide::Server(_) | NamedSide::OptionFile(_) => IndexMap::new(),
        }
    }
}

impl NamedSide {
    fn read_file(path: &Path) -> Result<Self, CommandFailure> {
        let side = side_of_path(path, None).map_err(|error| failure(&error))?;
        Ok(if side.is_complete {
            Self::Whole { side: Box::new(side), levels: IndexMap::new() }
        } else {
            Self::OptionFile(path.to_owned())
        })
    }
}

fn unknown_side(word: &str) -> CommandFailure {
    let looked_for = std::path::absolute(word).ok().filter(|_| !word.contains("://"));
    let looked_for = looked_for.map(|path| format!(" ({})", path.display())).unwrap_or_default();
    let message = format!(
        "{word}: is not a file, a folder{looked_for}, a named server or a list of settings"
    );
    let hint = if word.contains("://") {
        "explain measures mixtures on private servers: write the server's settings with `truetps \
         server capture`, and name that file"
    } else {
        "name an option file, a capture or dump of a server's variables, a run folder, a server \
         that `truetps server add NAME PATH` has added, NAME=VALUE,NAME=VALUE, or defaults"
    };
    CommandFailure::usage(message).hint(hint)
}

type Levels = IndexMap<String, SettingValue>;

/// `sync_binlog=1,connections=8`: settings, and levels of the load.
fn typed(word: &str) -> Result<(Levels, Levels), CommandFailure> {
    let (mut settings, mut levels) = (IndexMap::new(), IndexMap::new());
    for part in word.split(',') {
        let Some((name, value)) = part.split_once('=').filter(|(name, _)| !name.trim().is_empty())
        else {
            return Err(CommandFailure::usage(format!(
                "{word}: `{part}` is not of the form NAME=VALUE"
            )));
        };
        let name = name.trim().replace('-', "_");
        if name == SERVER {
            let message = format!("{word}: a server is a side of its own");
            return Err(CommandFailure::usage(message)
                .hint(format!("name it alone: truetps explain {} …", value.trim())));
        }
        let values = if is_setting_factor(&name) { &mut settings } else { &mut levels };
        if values.insert(name.clone(), level_of(value.trim())).is_some() {
            return Err(CommandFailure::usage(format!("{word}: {name} is set twice")));
        }
    }
    Ok((settings, levels))
}

/// Reads an experiment of one configuration, or one trial of it. A private server counts with the
/// settings that it was started with; another one with all its variables.
fn read_folder(word: &str, path: &Path, home: &Home) -> Result<NamedBy, CommandFailure> {
    let (folder, named) = ExperimentFolder::find(path).map_err(CommandFailure::usage)?;
    let plan = folder.plan().map_err(CommandFailure::usage)?;
    let experiment = folder.experiment().map_err(CommandFailure::usage)?;
    if plan.recorded_from.is_some() {
        let message = format!("{word}: is a run of a script, which explain cannot repeat");
        return Err(CommandFailure::usage(message)
            .hint("write its statements as a workload of a plan (`truetps help plan`)"));
    }
    let mut trials = experiment
        .schedule
        .iter()
        .filter(|scheduled| named.as_ref().is_none_or(|wanted| *wanted == scheduled.name));
    let Some(first) = trials.next() else {
        return Err(CommandFailure::usage(format!("{word}: has no trial")));
    };
    if trials.any(|other| other.configuration != first.configuration) {
        let message = format!("{word}: has trials of several configurations");
        return Err(CommandFailure::usage(message)
            .hint(format!("name one trial's folder: {word}/{}", first.name)));
    }
    let factors = first.configuration.levels.iter().filter(|(name, _)| *name != SERVER);
    let (varied, levels): (Levels, Levels) = factors
        .map(|(name, level)| (name.clone(), level.clone()))
        .partition(|(name, _)| is_setting_factor(name));
    let trial = folder.trial(&first.name).map_err(CommandFailure::usage)?;
    let server = trial.and_then(|trial| trial.server).or_else(|| experiment.server.clone());
    let side = if experiment.sandbox_dir.is_some() {
        let chosen = server.iter().flat_map(|server| &server.chosen_settings);
        let mut settings: Levels =
            chosen.map(|(name, value)| (name.clone(), level_of(value))).collect();
        settings.extend(plan.server.settings.clone());
        settings.extend(varied);
        NamedSide::Typed { settings, levels }
    } else {
        let side = side_of_path(path, None).map_err(|error| failure(&error))?;
        NamedSide::Whole { side: Box::new(side), levels }
    };
    let server = server
        .and_then(|server| server.name)
        .filter(|name| NamedServers::of(home).get(name).is_ok());
    Ok(NamedBy { word: word.to_owned(), side, plan: Some(plan), server })
}

/// Both sides, on the programs that they are measured with.
pub(crate) fn sides(
    named: &[NamedBy; 2],
    programs: &[ServerProgram],
    home: &Home,
    common: &IndexMap<String, SettingValue>,
) -> Result<[ExplainSide; 2], CommandFailure> {
    // The option file of a program that neither side names is common to both.
    let is_named = named.iter().any(|one| one.server().is_some());
    let base = programs.iter().take(usize::from(!is_named)).flat_map(|program| &program.base);
    let base: Levels =
        base.map(|(name, value)| (name.clone(), level_of(value))).chain(common.clone()).collect();
    let mut sides = [0, 1].map(|index: usize| ExplainSide {
        name: named[index].word.clone(),
        program: index.min(programs.len().saturating_sub(1)),
        settings: base.clone(),
        levels: named[index].levels(),
        left_out: Vec::new(),
        notes: Vec::new(),
    });
    for (index, side) in sides.iter_mut().enumerate() {
        let program = &programs[side.program];
        fill(side, &named[index].side, &named[1 - index].side, program, home)?;
    }
    scale(&mut sides, HostLimits::read().memory_bytes, |side| {
        default_pool(&programs[side.program], home.user())
    });
    Ok(sides)
}

fn default_pool(program: &ServerProgram, user: &ServerUser) -> Option<SettingValue> {
    let catalogue = Catalogue::ask(&program.binary, user).ok()?;
    catalogue.default_value(POOL).map(level_of)
}

fn fill(
    side: &mut ExplainSide,
    named: &NamedSide,
    other: &NamedSide,
    program: &ServerProgram,
    home: &Home,
) -> Result<(), CommandFailure> {
    match named {
        NamedSide::Server(name) => {
            let server = NamedServers::of(home).get(name)?;
            side.settings.extend(
                server.base_settings().map(|(name, value)| (name.to_owned(), level_of(value))),
            );
        }
        NamedSide::Typed { settings, .. } => side.settings.extend(settings.clone()),
        NamedSide::OptionFile(path) => add_option_file(side, path, program, home.user())?,
        NamedSide::Whole { side: whole, .. } => {
            add_differences(side, whole, other, program, home.user())?;
        }
    }
    Ok(())
}

fn add_option_file(
    side: &mut ExplainSide,
    path: &Path,
    program: &ServerProgram,
    user: &ServerUser,
) -> Result<(), CommandFailure> {
    let binary = &program.binary;
    let read = server_options(path, binary.flavour, &binary.version.to_string())
        .map_err(|error| failure(&error))?;
    let settings = read.settings.into_iter();
    let settings: Vec<_> = settings
        .map(|(name, found)| FileSetting {
            name,
            value: found.value,
            is_loose: found.is_loose,
            is_bare: found.is_bare,
        })
        .collect();
    let BaseSettings { kept, ignored, notes } =
        base_settings(binary, user, &settings).map_err(|error| {
            CommandFailure::usage(format!("{}: {error}", path.display())).advised_by(&error)
        })?;
    for note in read.notes.iter().chain(&notes) {
        print_line(&format!("{}: {note}", path.display()));
    }
    side.left_out.extend(ignored.into_iter().map(|(name, reason)| {
        let found = settings.iter().find(|one| one.name == name);
        let value = found.map(|one| one.value.clone()).unwrap_or_default();
        (name, value, format!("a private server has its own: {reason}"))
    }));
    side.settings.extend(kept.into_iter().map(|(name, value)| (name, level_of(&value))));
    Ok(())
}

/// Adds the variables of a server that differ from the other side's, or from the program's defaults
/// where the other side does not list its variables.
fn add_differences(
    side: &mut ExplainSide,
    whole: &SettingsSide,
    other: &NamedSide,
    program: &ServerProgram,
    user: &ServerUser,
) -> Result<(), CommandFailure> {
    let catalogue = Catalogue::ask(&program.binary, user).map_err(CommandFailure::failed)?;
    if let (Some(was), is) = (&whole.version, program.binary.version.to_string())
        && *was != is
    {
        side.notes.push(format!("recorded on {was}, measured on {is}"));
    }
    let reference: BTreeMap<&str, &str> = match other {
        NamedSide::Whole { side: other, .. } => other
            .settings
            .iter()
            .map(|(name, found)| (name.as_str(), found.value.as_str()))
            .collect(),
        _ => catalogue
            .names()
            .filter_map(|name| Some((name, catalogue.default_value(name)?)))
            .collect(),
    };
    let platform = whole.platform();
    for (name, found) in &whole.settings {
        let differs = reference.get(name.as_str()).is_some_and(|value| {
            !same_setting(value, &found.value) && !is_same_list(name, value, &found.value)
        });
        if !differs || inert_reason(name).is_some() {
            continue;
        }
        let reason = load_session_reason(name)
            .map(str::to_owned)
            .or_else(|| platform.and_then(|platform| platform.without_meaning(name)));
        if let Some(reason) = reason {
            side.left_out.push((name.clone(), found.value.clone(), reason));
        } else if catalogue.check_name(name).is_ok() {
            side.settings.insert(name.clone(), level_of(&found.value));
        }
    }
    Ok(())
}
