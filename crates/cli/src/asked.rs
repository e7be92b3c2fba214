//! The arguments of an explanation and of a search for a pool, recorded for a command that goes on
//! with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use indexmap::IndexMap;
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{Asked, AskedServer, Explanation, PoolRecord, SettingValue};

use crate::answer::EDITED;
use crate::args::{
    ChangedLoadArgs, Cli, ExplainArgs, FolderArgs, GeneratorArgs, PoolArgs, SandboxPlace,
    TruetpsCommand,
};
use crate::failure::CommandFailure;
use crate::terminal::{shell_path, shown};

const SWEEP: &str = "sweep";

/// What was asked: the load, and the server. `dsn`: the address without a password.
pub(crate) fn asked(
    load: &ChangedLoadArgs,
    generator: &GeneratorArgs,
    place: &FolderArgs,
    dsn: Option<String>,
) -> Asked {
    Asked {
        settings: load.settings.clone(),
        warm_up_s: load.warm_up,
        measure_s: load.measure,
        table_rows: load.table_rows,
        pin: generator.pin.clone(),
        server: AskedServer {
            // The settings have the password, too: an address of theirs is read there again.
            dsn: dsn.filter(|_| place.dsn.is_some()),
            name: place.server.clone(),
            basedir: place.basedir.as_deref().map(from_the_root),
            sandbox_dir: place.sandbox.sandbox_dir.as_deref().map(from_the_root),
            my_cnf: place.my_cnf.as_deref().map(from_the_root),
            disk: place.disk.clone(),
            schema: place.schema.clone(),
            schema_is_theirs: place.i_own_this_schema,
            defaults_file: place.defaults_file.as_deref().map(from_the_root),
            asks_password: place.ask_password,
            ..AskedServer::default()
        },
        ..Asked::default()
    }
}

/// The command that goes on may be typed in another folder.
fn from_the_root(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The arguments of an earlier explanation, which `again` continues.
pub(crate) fn explain_args(
    folder: &ExperimentFolder,
    again: &ExplainArgs,
) -> Result<ExplainArgs, CommandFailure> {
    let explanation = folder.explanation().map_err(CommandFailure::usage)?;
    let Some(Explanation { seed, smallest_percent, budget_s, asked, .. }) = explanation else {
        return Err(resumed_otherwise(folder, "is not an explanation")?);
    };
    let Some(asked) = recorded(folder)?.or(asked.map(|asked| *asked)) else {
        return match typed(folder)? {
            TruetpsCommand::Explain(args) => Ok(ExplainArgs {
                budget: again.budget.or(args.budget),
                answer: again.answer,
                ..*args
            }),
            _ => Err(of_another_version(folder)),
        };
    };
    check_known(folder, &asked)?;
    let recorded = budget_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let (load, place) = load_and_place(&asked, &again.place);
    let [a, b] = asked.sides.map_or([None, None], |sides| sides.map(Some));
    Ok(ExplainArgs {
        a,
        b,
        plan: asked.plan,
        connections: asked.connections,
        load,
        smallest: smallest_percent,
        budget: again.budget.or(recorded),
        seed,
        resume: None,
        generator: generator(asked.pin),
        answer: again.answer,
        place,
    })
}

/// The arguments of an earlier search, which `again` continues.
pub(crate) fn pool_args(
    folder: &ExperimentFolder,
    again: &PoolArgs,
) -> Result<PoolArgs, CommandFailure> {
    let record = folder.pool().map_err(CommandFailure::usage)?;
    let Some(record) = record else {
        return Err(resumed_otherwise(folder, "is not a search for a pool")?);
    };
    let Some(asked) = recorded(folder)?.or_else(|| record.asked.as_deref().cloned()) else {
        return match typed(folder)? {
            TruetpsCommand::Pool(args) => {
                let most = Some(record.connections_most);
                let libraries = again.libraries.clone();
                let place = FolderArgs { dry_run: again.place.dry_run, ..args.place.clone() };
                Ok(PoolArgs { most, place, answer: again.answer, libraries, ..*args })
            }
            _ => Err(of_another_version(folder)),
        };
    };
    check_known(folder, &asked)?;
    let quick = folder.experiment().map_err(CommandFailure::usage)?.quick;
    Ok(pool_args_of(&record, asked, quick, again))
}

fn pool_args_of(record: &PoolRecord, asked: Asked, quick: bool, again: &PoolArgs) -> PoolArgs {
    let limit_s = record.p99_limit_us.map(|limit| limit / 1e6);
    let (load, place) = load_and_place(&asked, &again.place);
    PoolArgs {
        plan: asked.plan,
        quick,
        current: record.current,
        p99: limit_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        rate: record.rate,
        instances: record.instances,
        most: Some(record.connections_most),
        libraries: again.libraries.clone(),
        load,
        seed: record.seed,
        resume: None,
        generator: generator(asked.pin),
        answer: again.answer,
        place,
    }
}

/// As they were asked for; records of runs are where the present command has them.
fn load_and_place(asked: &Asked, again: &FolderArgs) -> (ChangedLoadArgs, FolderArgs) {
    let load = ChangedLoadArgs {
        settings: asked.settings.clone(),
        warm_up: asked.warm_up_s,
        measure: asked.measure_s,
        table_rows: asked.table_rows,
    };
    let server = asked.server.clone();
    let place = FolderArgs {
        runs: again.runs.clone(),
        sandbox: SandboxPlace { sandbox_dir: server.sandbox_dir.map(PathBuf::from) },
        basedir: server.basedir.map(PathBuf::from),
        server: server.name,
        my_cnf: server.my_cnf.map(PathBuf::from),
        disk: server.disk,
        dsn: server.dsn,
        schema: server.schema,
        i_own_this_schema: server.schema_is_theirs,
        dry_run: again.dry_run,
        defaults_file: again.defaults_file.clone().or(server.defaults_file.map(PathBuf::from)),
        ask_password: again.ask_password || server.asks_password,
    };
    (load, place)
}

/// The number of threads is in the experiment's record, from where it is taken.
fn generator(pin: Option<String>) -> GeneratorArgs {
    GeneratorArgs { workers: None, pin }
}

type PlanAndCommon = (Plan, IndexMap<String, SettingValue>);

/// The plan that the experiment was begun with, and the settings that both sides of an explanation
/// have: the plan that its command line named may be another one now, or gone. `None` in older
/// records.
pub(crate) fn recorded_plan(
    folder: &ExperimentFolder,
) -> Result<Option<PlanAndCommon>, CommandFailure> {
    let Some(asked) = recorded(folder)? else { return Ok(None) };
    let Some(text) = &asked.plan_text else { return Ok(None) };
    let plan = Plan::parse(text).map_err(|error| {
        let file = shown(&folder.path().join("experiment.json"));
        CommandFailure::usage(format!("{}: asked.plan_text: {error}", file.display())).hint(EDITED)
    })?;
    Ok(Some((plan, asked.common)))
}

/// `None` in older records.
fn recorded(folder: &ExperimentFolder) -> Result<Option<Asked>, CommandFailure> {
    let experiment = folder.experiment().map_err(CommandFailure::usage)?;
    Ok(experiment.asked.map(|asked| *asked))
}

/// Refuses what a later version was asked: without it, something else would be measured.
fn check_known(folder: &ExperimentFolder, asked: &Asked) -> Result<(), CommandFailure> {
    match asked.unknown_names().next() {
        Some(name) => {
            let folder = shown(folder.path());
            let problem = format!("{}: this version does not know `{name}`", folder.display());
            Err(CommandFailure::usage(problem).hint("go on with the version that has begun it"))
        }
        None => Ok(()),
    }
}

/// The command line of a folder of before arguments were recorded.
fn typed(folder: &ExperimentFolder) -> Result<TruetpsCommand, CommandFailure> {
    let experiment = folder.experiment().map_err(CommandFailure::usage)?;
    let words = experiment.command.into_iter().map(OsString::from);
    Cli::try_parse_from(words).map(|cli| cli.command).map_err(|_| of_another_version(folder))
}

fn of_another_version(folder: &ExperimentFolder) -> CommandFailure {
    let folder = shown(folder.path());
    let problem = format!("{}: its command line is not one of this version", folder.display());
    CommandFailure::usage(problem).hint("start it again")
}

/// Refuses a folder that `sweep --resume` cannot go on with, because another command chooses its
/// trials.
pub(crate) fn refuse_adaptive(folder: &ExperimentFolder) -> Result<(), CommandFailure> {
    match resumed_by(folder)? {
        SWEEP => Ok(()),
        _ => Err(resumed_otherwise(folder, "its trials follow from each other's results")?),
    }
}

fn resumed_otherwise(
    folder: &ExperimentFolder,
    problem: &str,
) -> Result<CommandFailure, CommandFailure> {
    let command = resumed_by(folder)?;
    Ok(CommandFailure::usage(format!("{}: {problem}", shown(folder.path()).display()))
        .hint(format!("truetps {command} --resume {}", shell_path(folder.path()))))
}

/// The command that goes on with the experiment.
fn resumed_by(folder: &ExperimentFolder) -> Result<&'static str, CommandFailure> {
    Ok(if folder.explanation().map_err(CommandFailure::usage)?.is_some() {
        "explain"
    } else if folder.pool().map_err(CommandFailure::usage)?.is_some() {
        "pool"
    } else {
        SWEEP
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::pool;

    fn parsed(line: &str) -> TruetpsCommand {
        Cli::try_parse_from(line.split_ascii_whitespace()).unwrap().command
    }

    fn pool_command(line: &str) -> PoolArgs {
        let TruetpsCommand::Pool(args) = parsed(line) else { panic!("{line}") };
        *args
    }

    /// Every flag that decides what is measured, through the file and back.
    #[test]
    fn a_search_goes_on_as_it_was_asked() {
        let load = "--set sort_buffer_size=1M --warm-up 0.5 --measure 2 --table-rows 700 --pin=0";
        let search = "--seed 7 --current 9 --p99 20ms --rate 300/s --instances 3 --most 40";
        for server in [
            "--server db --sandbox-dir /s --disk ssd",
            "--basedir /b --my-cnf /my.cnf",
            "--dsn mysql://u@h:1/ --schema mine --i-own-this-schema --defaults-file /f \
             --ask-password",
        ] {
            let first = pool_command(&format!("truetps pool hot-row {load} {search} {server}"));
            let address = first.place.dsn.clone();
            let asked = Asked {
                plan: first.plan.clone(),
                ..asked(&first.load, &first.generator, &first.place, address)
            };
            let json = serde_json::to_string(&(pool::record(&first, 40), asked)).unwrap();
            let (record, asked): (PoolRecord, Asked) = serde_json::from_str(&json).unwrap();
            let again = pool_command("truetps pool --resume x");
            let resumed = pool_args_of(&record, asked, first.quick, &again);
            assert_eq!(format!("{resumed:?}"), format!("{first:?}"), "{server}");
        }
    }

    /// Its password is not in the record.
    #[test]
    fn an_address_of_the_settings_is_read_there_again() {
        let first = pool_command("truetps pool");
        let address = Some("mysql://u@h:1/".to_owned());
        assert_eq!(asked(&first.load, &first.generator, &first.place, address).server.dsn, None);
    }

    /// The search may go on from another folder.
    #[test]
    fn files_and_folders_are_recorded_from_the_root() {
        let first = pool_command("truetps pool --sandbox-dir s --my-cnf ./my.cnf --basedir b");
        let server = asked(&first.load, &first.generator, &first.place, None).server;
        let here = std::env::current_dir().unwrap();
        for (recorded, name) in
            [(server.sandbox_dir, "s"), (server.my_cnf, "my.cnf"), (server.basedir, "b")]
        {
            assert_eq!(recorded, here.join(name).to_str().map(str::to_owned));
        }
    }

    #[test]
    fn what_a_later_version_was_asked_is_known_as_such() {
        let text = r#"{"plan": "insert", "think": "1s", "server": {"name": "a", "proxy": true}}"#;
        let asked: Asked = serde_json::from_str(text).unwrap();
        assert_eq!(asked.unknown_names().collect::<Vec<_>>(), ["think", "proxy"]);
        assert_eq!(Asked::default().unknown_names().count(), 0);
    }
}
