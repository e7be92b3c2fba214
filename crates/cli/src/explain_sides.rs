//! The two sides of `truetps explain`, from the words of the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use truetps_folder::ExperimentFolder;
use truetps_inspect::{server_options, side_of_path};
use truetps_knowledge::{SettingsSide, inert_reason};
use truetps_lab::{ExplainSide, ServerProgram};
use truetps_plan::{Plan, level_of};
use truetps_record::{SettingValue, is_setting_factor, same_setting};
use truetps_sandbox::{BaseSettings, Catalogue, FileSetting, Home, NamedServers, ServerUser, base_settings};

use crate::commands::capture::failure;
use crate::failure::CommandFailure;
use crate::print_message;

/// A server without settings of its own.
const DEFAULTS: &str = "defaults";

/// What a word names, before it is known which program it is measured with.
pub(crate) enum NamedSide {
    /// A server with a name: its program and its option file.
    Server(String),
    /// Settings and levels that were typed.
    Typed { settings: IndexMap<String, SettingValue>, levels: IndexMap<String, SettingValue> },
    OptionFile(PathBuf),
    /// All variables of a server, and the levels of its load.
    Whole { side: Box<SettingsSide>, levels: IndexMap<String, SettingValue> },
}

/// What was named, and the plan of a run folder.
pub(crate) struct NamedBy {
    pub(crate) word: String,
    pub(crate) side: NamedSide,
    pub(crate) plan: Option<Plan>,
}

impl NamedBy {
    /// A file or folder has precedence over a named server, and that over settings.
    pub(crate) fn read(word: &str, home: &Home) -> Result<Self, CommandFailure> {
        let path = Path::new(word);
        let named = |side, plan| Ok(Self { word: word.to_owned(), side, plan });
        if path.is_dir() {
            let (side, levels, plan) = of_folder(path)?;
            return named(NamedSide::Whole { side: Box::new(side), levels }, Some(plan));
        }
        if path.exists() {
            let side = side_of_path(path, None).map_err(|error| failure(&error))?;
            return match side.is_complete {
                true => named(NamedSide::Whole { side: Box::new(side), levels: IndexMap::new() }, None),
                false => named(NamedSide::OptionFile(path.to_owned()), None),
            };
        }
        if NamedServers::of(home).get(word).is_ok() {
            return named(NamedSide::Server(word.to_owned()), None);
        }
        if word == DEFAULTS {
            return named(NamedSide::Typed { settings: IndexMap::new(), levels: IndexMap::new() }, None);
        }
        if word.contains('=') && !word.contains("://") {
            let (settings, levels) = typed(word)?;
            return named(NamedSide::Typed { settings, levels }, None);
        }
        let message = format!("{word}: is no file, no folder, no named server, and no list of settings");
        let hint = if word.contains("://") {
            "explain measures mixtures on private servers: write the server's settings with `truetps server capture`, and name that file"
        } else {
            "name an option file, a capture, a run folder, a server of `truetps server list`, NAME=VALUE,NAME=VALUE, or defaults"
        };
        Err(CommandFailure::usage(message).hint(hint))
    }

    pub(crate) fn server(&self) -> Option<&str> {
        if let NamedSide::Server(name) = &self.side { Some(name) } else { None }
    }

    /// Levels that are no settings.
    pub(crate) fn levels(&self) -> IndexMap<String, SettingValue> {
        match &self.side {
            NamedSide::Typed { levels, .. } | NamedSide::Whole { levels, .. } => levels.clone(),
            NamedSide::Server(_) | NamedSide::OptionFile(_) => IndexMap::new(),
        }
    }
}

type Levels = IndexMap<String, SettingValue>;

/// `sync_binlog=1,connections=8`: settings, and levels of the load.
fn typed(word: &str) -> Result<(Levels, Levels), CommandFailure> {
    let (mut settings, mut levels) = (IndexMap::new(), IndexMap::new());
    for part in word.split(',') {
        let Some((name, value)) = part.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            return Err(CommandFailure::usage(format!("{word}: `{part}` is not of the form NAME=VALUE")));
        };
        let name = name.trim().replace('-', "_");
        let place = if is_setting_factor(&name) { &mut settings } else { &mut levels };
        if place.insert(name.clone(), level_of(value.trim())).is_some() {
            return Err(CommandFailure::usage(format!("{word}: {name} is set twice")));
        }
    }
    Ok((settings, levels))
}

/// An experiment of one configuration, or one trial of it.
fn of_folder(path: &Path) -> Result<(SettingsSide, Levels, Plan), CommandFailure> {
    let side = side_of_path(path, None).map_err(|error| failure(&error))?;
    let (folder, named) = ExperimentFolder::find(path).map_err(CommandFailure::usage)?;
    let (plan, experiment) = (folder.plan().map_err(CommandFailure::usage)?, folder.experiment().map_err(CommandFailure::usage)?);
    let mut configurations: Vec<_> = experiment
        .schedule
        .iter()
        .filter(|scheduled| named.as_ref().is_none_or(|name| *name == scheduled.name))
        .map(|scheduled| &scheduled.configuration)
        .collect();
    configurations.dedup();
    let Some(first) = configurations.first() else {
        return Err(CommandFailure::usage(format!("{}: has no trial", path.display())));
    };
    if configurations.iter().any(|other| other != first) {
        let message = format!("{}: has trials of several configurations", path.display());
        return Err(CommandFailure::usage(message).hint(format!("name one trial's folder: {}/trial-0001", path.display())));
    }
    if plan.recorded_from.is_some() {
        let message = format!("{}: is a run of a script, which explain cannot repeat", path.display());
        return Err(CommandFailure::usage(message).hint("write its statements as a workload of a plan (`truetps help plan`)"));
    }
    let levels = first.levels.iter().filter(|(name, _)| !is_setting_factor(name));
    let levels = levels.map(|(name, level)| (name.clone(), level.clone())).collect();
    Ok((side, levels, plan))
}

/// Both sides, on the programs that they are measured with.
pub(crate) fn sides(
    named: &[NamedBy; 2],
    programs: &[ServerProgram],
    home: &Home,
    common: &IndexMap<String, SettingValue>,
) -> Result<[ExplainSide; 2], CommandFailure> {
    let program_of = |index: usize| if programs.len() > 1 { index } else { 0 };
    let side = |index: usize| -> Result<ExplainSide, CommandFailure> {
        let program = &programs[program_of(index)];
        let mut side = ExplainSide {
            name: named[index].word.clone(),
            program: program_of(index),
            settings: common.clone(),
            levels: named[index].levels(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        fill(&mut side, &named[index].side, &named[1 - index].side, program, home)?;
        Ok(side)
    };
    let mut sides = [side(0)?, side(1)?];
    crate::explain_scale::scale(&mut sides, truetps_sandbox::HostLimits::read().memory_bytes);
    Ok(sides)
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
            let server = NamedServers::of(home).get(name).map_err(|error| CommandFailure::usage(&error).hint_if(error.hint()))?;
            side.settings.extend(server.base_settings().map(|(name, value)| (name.to_owned(), level_of(value))));
        }
        NamedSide::Typed { settings, .. } => side.settings.extend(settings.clone()),
        NamedSide::OptionFile(path) => of_file(side, path, program, home.user())?,
        NamedSide::Whole { side: whole, .. } => of_whole(side, whole, other, program, home.user())?,
    }
    Ok(())
}

fn of_file(side: &mut ExplainSide, path: &Path, program: &ServerProgram, user: &ServerUser) -> Result<(), CommandFailure> {
    let binary = &program.binary;
    let read = server_options(path, binary.flavour, &binary.version.to_string()).map_err(|error| failure(&error))?;
    read.notes.iter().for_each(|note| print_message(&format!("{}: {note}\n", path.display())));
    let settings = read.settings.into_iter();
    let settings: Vec<_> =
        settings.map(|(name, found)| FileSetting { name, value: found.value, is_loose: found.is_loose }).collect();
    let BaseSettings { kept, ignored } = base_settings(binary, user, &settings)
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", path.display())).hint_if(error.hint()))?;
    let value_of = |name: &str| settings.iter().find(|one| one.name == name).map(|one| one.value.clone()).unwrap_or_default();
    side.left_out.extend(ignored.into_iter().map(|(name, reason)| {
        let value = value_of(&name);
        (name, value, format!("a private server has its own: {reason}"))
    }));
    side.settings.extend(kept.into_iter().map(|(name, value)| (name, level_of(&value))));
    Ok(())
}

/// Of all variables of a server: those that differ from the other side's, or, where that is no such list, from the program's
/// defaults.
fn of_whole(
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
        NamedSide::Whole { side: other, .. } => {
            other.settings.iter().map(|(name, found)| (name.as_str(), found.value.as_str())).collect()
        }
        _ => catalogue.names().filter_map(|name| Some((name, catalogue.default_value(name)?))).collect(),
    };
    for (name, found) in &whole.settings {
        let differs = reference.get(name.as_str()).is_some_and(|value| !same_setting(value, &found.value));
        if differs && inert_reason(name).is_none() && catalogue.check_name(name).is_ok() {
            side.settings.insert(name.clone(), level_of(&found.value));
        }
    }
    Ok(())
}
