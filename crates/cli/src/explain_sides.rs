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
        let named = |side, plan| Ok(Self { word: word.to_owned(), side, plan, server: None });
        if path.is_dir() {
            return of_folder(word, path, home);
        }
        if path.exists() {
            let side = side_of_path(path, None).map_err(|error| failure(&error))?;
            if !side.is_complete {
                return named(NamedSide::OptionFile(path.to_owned()), None);
            }
            return named(NamedSide::Whole { side: Box::new(side), levels: IndexMap::new() }, None);
        }
        if NamedServers::of(home).get(word).is_ok() {
            return named(NamedSide::Server(word.to_owned()), None);
        }
        if word == DEFAULTS {
            return named(
                NamedSide::Typed { settings: IndexMap::new(), levels: IndexMap::new() },
                None,
            );
        }
        if word.contains('=') && !word.contains("://") {
            let (settings, levels) = typed(word)?;
            return named(NamedSide::Typed { settings, levels }, None);
        }
        let message =
            format!("{word}: is no file, no folder, no named server, and no list of settings");
        let hint = if word.contains("://") {
            "explain measures mixtures on private servers: write the server's settings with \
             `truetps server capture`, and name that file"
        } else {
            "name an option file, a capture or dump of a server's variables, a run folder, a \
             server that `truetps server add NAME PATH` has added, NAME=VALUE,NAME=VALUE, or \
             defaults"
        };
        Err(CommandFailure::usage(message).hint(hint))
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
        let place = if is_setting_factor(&name) { &mut settings } else { &mut levels };
        if place.insert(name.clone(), level_of(value.trim())).is_some() {
            return Err(CommandFailure::usage(format!("{word}: {name} is set twice")));
        }
    }
    Ok((settings, levels))
}

/// An experiment of one configuration, or one trial of it. Of a private server, the settings that
/// it was started with; of another one, all its variables.
fn of_folder(word: &str, path: &Path, home: &Home) -> Result<NamedBy, CommandFailure> {
    let (folder, named) = ExperimentFolder::find(path).map_err(CommandFailure::usage)?;
    let plan = folder.plan().map_err(CommandFailure::usage)?;
    let experiment = folder.experiment().map_err(CommandFailure::usage)?;
    if plan.recorded_from.is_some() {
        let message = format!("{word}: is a run of a script, which explain cannot repeat");
        return Err(CommandFailure::usage(message)
            .hint("write its statements as a workload of a plan (`truetps help plan`)"));
    }
    let is_named = |name: &str| named.as_ref().is_none_or(|wanted| wanted == name);
    let mut trials = experiment.schedule.iter().filter(|scheduled| is_named(&scheduled.name));
    let Some(first) = trials.next() else {
        return Err(CommandFailure::usage(format!("{word}: has no trial")));
    };
    if trials.any(|other| other.configuration != first.configuration) {
        let message = format!("{word}: has trials of several configurations");
        return Err(CommandFailure::usage(message)
            .hint(format!("name one trial's folder: {word}/{}", first.name)));
    }
    let of = |wanted: bool| {
        let levels = first.configuration.levels.iter();
        let levels =
            levels.filter(move |(name, _)| is_setting_factor(name) == wanted && *name != SERVER);
        levels.map(|(name, level)| (name.clone(), level.clone()))
    };
    let levels = of(false).collect();
    let trial = folder.trial(&first.name).map_err(CommandFailure::usage)?;
    let server = trial.and_then(|trial| trial.server).or_else(|| experiment.server.clone());
    let side = if experiment.sandbox_dir.is_some() {
        let chosen = server.iter().flat_map(|server| &server.chosen_settings);
        let mut settings: Levels =
            chosen.map(|(name, value)| (name.clone(), level_of(value))).collect();
        settings.extend(plan.server.settings.clone());
        settings.extend(of(true));
        NamedSide::Typed { settings, levels }
    } else {
        let side = side_of_path(path, None).map_err(|error| failure(&error))?;
        NamedSide::Whole { side: Box::new(side), levels }
    };
    let is_there = |name: &String| NamedServers::of(home).get(name).is_ok();
    let server = server.and_then(|server| server.name).filter(is_there);
    Ok(NamedBy { word: word.to_owned(), side, plan: Some(plan), server })
}

/// Both sides, on the programs that they are measured with.
pub(crate) fn sides(
    named: &[NamedBy; 2],
    programs: &[ServerProgram],
    home: &Home,
    common: &IndexMap<String, SettingValue>,
) -> Result<[ExplainSide; 2], CommandFailure> {
    let program_of = |index: usize| if programs.len() > 1 { index } else { 0 };
    // The option file of a program that neither side names is common to both.
    let is_named = named.iter().any(|one| one.server().is_some());
    let base = programs.iter().take(usize::from(!is_named)).flat_map(|program| &program.base);
    let side = |index: usize| -> Result<ExplainSide, CommandFailure> {
        let program = &programs[program_of(index)];
        let mut side = ExplainSide {
            name: named[index].word.clone(),
            program: program_of(index),
            settings: base
                .clone()
                .map(|(name, value)| (name.clone(), level_of(value)))
                .chain(common.clone())
                .collect(),
            levels: named[index].levels(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        fill(&mut side, &named[index].side, &named[1 - index].side, program, home)?;
        Ok(side)
    };
    let mut sides = [side(0)?, side(1)?];
    let default_pool = |side: &ExplainSide| {
        let catalogue = Catalogue::ask(&programs[side.program].binary, home.user()).ok()?;
        catalogue.default_value(POOL).map(level_of)
    };
    scale(&mut sides, HostLimits::read().memory_bytes, default_pool);
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
            let server = NamedServers::of(home).get(name)?;
            side.settings.extend(
                server.base_settings().map(|(name, value)| (name.to_owned(), level_of(value))),
            );
        }
        NamedSide::Typed { settings, .. } => side.settings.extend(settings.clone()),
        NamedSide::OptionFile(path) => of_file(side, path, program, home.user())?,
        NamedSide::Whole { side: whole, .. } => of_whole(side, whole, other, program, home.user())?,
    }
    Ok(())
}

fn of_file(
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
    let value_of = |name: &str| {
        settings
            .iter()
            .find(|one| one.name == name)
            .map(|one| one.value.clone())
            .unwrap_or_default()
    };
    side.left_out.extend(ignored.into_iter().map(|(name, reason)| {
        let value = value_of(&name);
        (name, value, format!("a private server has its own: {reason}"))
    }));
    side.settings.extend(kept.into_iter().map(|(name, value)| (name, level_of(&value))));
    Ok(())
}

/// Of all variables of a server: those that differ from the other side's, or, where that is no such
/// list, from the program's defaults.
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
        let is_same = |value: &str| {
            same_setting(value, &found.value) || is_same_list(name, value, &found.value)
        };
        let differs = reference.get(name.as_str()).is_some_and(|value| !is_same(value));
        if !differs || inert_reason(name).is_some() {
            continue;
        }
        let platform_reason = || platform.and_then(|platform| platform.without_meaning(name));
        if let Some(reason) = load_session_reason(name).map(str::to_owned).or_else(platform_reason)
        {
            side.left_out.push((name.clone(), found.value.clone(), reason));
        } else if catalogue.check_name(name).is_ok() {
            side.settings.insert(name.clone(), level_of(&found.value));
        }
    }
    Ok(())
}
