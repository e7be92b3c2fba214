//! mysqlslap: its options, its report, and the queries of its tests by truetps's engine.

mod admin;
mod auto;
mod bench;
mod debug_info;
mod help;
mod print;
mod report;
mod script;
mod settings;
mod specs;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use truetps_driver::Target;
use truetps_plan::{
    Design, Plan, ProbeSpec, QuickOverrides, ServerSpec, SqlSpec, WorkloadKind, WorkloadSpec,
};
use truetps_record::{
    CONNECTIONS, Configuration, Personality, Protocol, SettingValue, printable_text,
};
use truetps_recording::RunsFolder;

use self::admin::Admin;
use self::bench::{SlapRun, Stop};
use self::script::SlapScript;
use self::settings::{Csv, SlapSettings};
use self::specs::NAME;
use crate::mysql_words::{MysqlWords, OptionFiles, WordRefusal, parse};
use crate::recording::{CompatRecording, TrialTurn, choose_runs, server_facts, server_message};
use crate::run::{RunRequest, make_room, unless_stopped, workers};
use crate::terminal::{NoPassword, ask_password};
use crate::{CompatEnv, mask};

const GOOD: u8 = 0;
const FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;

/// Runs a command line of mysqlslap, its name first. Returns the exit status.
pub fn run(arguments: Vec<OsString>, env: &mut CompatEnv<'_>) -> u8 {
    let mut typed = VecDeque::new();
    for argument in arguments.into_iter().skip(1) {
        match argument.into_string() {
            Ok(word) => typed.push_back(word),
            Err(word) => {
                let text = format!("an argument is not UTF-8: {}", word.to_string_lossy());
                return refuse(&failed(text), env);
            }
        }
    }
    match run_command(typed, env) {
        Ok(exit) => exit,
        Err(refusal) => refuse(&refusal, env),
    }
}

/// What the process list shows instead of the words of a command line, its name first; `None`: the
/// word itself.
pub fn masked(arguments: &[OsString]) -> Vec<Option<OsString>> {
    let all: Vec<_> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let mut typed: VecDeque<_> = all.iter().skip(1).cloned().collect();
    OptionFiles::take_options(&mut typed, &specs::GROUPS, &|_| None);
    let first = all.len() - typed.len();
    let words = parse(&specs::SPECS, NAME, Vec::new(), typed);
    let mut list = vec![None; first];
    list.extend(mask::masked(&all[first..], words.shown_typed()));
    list
}

fn refuse(refusal: &WordRefusal, env: &mut CompatEnv<'_>) -> u8 {
    let before = refusal.before.as_ref().map_or_else(String::new, |line| format!("{line}\n"));
    let named =
        if refusal.text.is_empty() { String::new() } else { format!("{NAME}: {}\n", refusal.text) };
    let _ = write!(env.err, "{}", printable_text(&format!("{before}{named}")));
    refusal.exit
}

fn run_command(mut typed: VecDeque<String>, env: &mut CompatEnv<'_>) -> Result<u8, WordRefusal> {
    let all = typed.clone();
    let files = OptionFiles::take_options(&mut typed, &specs::GROUPS, env.environment);
    // The names of option files are no secret.
    let about_files = all.iter().take(all.len() - typed.len()).cloned();
    let from_files = files.read()?;
    for warning in &from_files.warnings {
        let _ = writeln!(env.err, "Warning: {NAME}: {}", printable_text(warning));
    }
    let mut words = parse(&specs::SPECS, NAME, from_files.words, typed);
    if files.prints {
        let line = words.shown().join(" ");
        let _ = writeln!(
            env.out,
            "{NAME} would have been started with the following arguments:\n{line}"
        );
        return Ok(GOOD);
    }
    for notice in &words.notices {
        let _ = writeln!(env.err, "{}", printable_text(notice));
    }
    if let Some(refusal) = words.refusal.take() {
        return Err(refusal);
    }
    let shows_usage = words.is_on("debug-info");
    // As in the original, not where the test cannot begin.
    let exit = run_words(&words, about_files.collect(), env)?;
    if shows_usage {
        let _ = env.err.write_all(debug_info::text().as_bytes());
    }
    Ok(exit)
}

/// `about_files`: the words that name option files.
fn run_words(
    words: &MysqlWords,
    about_files: Vec<String>,
    env: &mut CompatEnv<'_>,
) -> Result<u8, WordRefusal> {
    if words.count("help") > 0 || words.count("version") > 0 {
        let text = if words.count("help") > 0 { help::page() } else { help::version() };
        let _ = env.out.write_all(text.as_bytes());
        return Ok(GOOD);
    }
    if words.strays > 0 {
        let _ = writeln!(
            env.err,
            "Warning: {NAME}: words that belong to no option are not used: {} (a password stands \
             right behind -p, without a blank)",
            words.strays
        );
    }
    let settings = SlapSettings::read(words, env.environment)?;
    let script = SlapScript::load(&settings).map_err(failed)?;
    if settings.only_prints {
        return Ok(match print::all(&settings, &script, env.out, &env.stop) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => INTERRUPTED,
            // A closed output.
            _ => GOOD,
        });
    }
    let runs = runs_folder(&settings, env)?;
    let target =
        settings::target(words, env.environment, &|| ask_password(&env.stop).map_err(no_password))?;
    if target.login.password.is_none()
        && let Some(warning) = settings::unread_login_file(env.environment)
    {
        let _ = writeln!(env.err, "Warning: {NAME}: {}", printable_text(&warning));
    }
    let command = std::iter::once("truetps slap".to_owned()).chain(about_files);
    let command = command.chain(words.shown_typed().iter().cloned()).collect();
    test(&settings, &script, &target, &runs, command, env)
}

fn no_password(problem: NoPassword) -> WordRefusal {
    match problem {
        NoPassword::Interrupted => WordRefusal::new(INTERRUPTED, "interrupted"),
        NoPassword::NoTerminal(error) => {
            failed(format!("a password cannot be asked for without a terminal: {error}"))
        }
        NoPassword::Problem(error) => failed(format!("the password cannot be read: {error}")),
    }
}

fn failed(text: String) -> WordRefusal {
    WordRefusal::new(FAILED, text)
}

/// Where runs are written. Every output is checked before anything is measured.
fn runs_folder(
    settings: &SlapSettings,
    env: &mut CompatEnv<'_>,
) -> Result<RunsFolder, WordRefusal> {
    if let Csv::File(path) = &settings.output.csv {
        bench::append(path, "").map_err(|error| {
            failed(format!("Could not open csv file: {} ({error})", path.display()))
        })?;
    }
    choose_runs(&settings.runs, env.environment, &mut |text| {
        let _ = writeln!(env.err, "Warning: {NAME}: {}", printable_text(text));
    })
    .map_err(failed)
}

fn test(
    settings: &SlapSettings,
    script: &SlapScript,
    target: &Target,
    runs: &RunsFolder,
    command: Vec<String>,
    env: &mut CompatEnv<'_>,
) -> Result<u8, WordRefusal> {
    make_room(settings.concurrency.iter().copied().max().unwrap_or(1), target).map_err(failed)?;
    let connected = Admin::connect(target, &settings.schema, Arc::clone(&env.stop));
    let mut admin = connected.map_err(|error| {
        failed(format!("Error when connecting to server: {}", server_message(&error)))
    })?;
    let server = server_facts(admin.client()).map_err(|error| failed(server_message(&error)))?;
    let asked = target.clone();
    let server_warning = env.server_warning;
    let warning = unless_stopped(&env.stop, move || server_warning(&asked)).flatten();
    if let Some(warning) = warning {
        let _ = writeln!(env.err, "{NAME}: {}", truetps_record::printable_lines(&warning));
    }
    let workers = workers(settings.workers, env.cores);
    let recording = CompatRecording::begin(
        runs,
        plan(settings, script),
        &turns(settings),
        server,
        target,
        command,
        workers,
    );
    let recording = recording.map_err(|error| failed(error.to_string()))?;
    recording
        .show_in(settings.output.ui.then(|| (env.live_view)(NAME)).transpose().map_err(failed)?);
    let mut bench = SlapRun {
        settings,
        script,
        target,
        admin,
        recording,
        env,
        workers,
        trials: 0,
        has_made_schema: false,
        is_good: true,
    };
    let stopped = bench.run();
    // What was created is removed, regardless of the result.
    let cleaned = if settings.keeps_schema { Ok(()) } else { bench.drop_schema() };
    let SlapRun { recording, env, is_good, .. } = bench;
    let is_stopped = env.stop.load(Ordering::Relaxed);
    let ended = match (stopped, cleaned) {
        (Err(Stop::Failed(why)), Err(Stop::Failed(also))) => {
            Err(failed(format!("{why}\n{NAME}: {also}")))
        }
        (Err(Stop::Failed(text)), _) => Err(failed(text)),
        (_, Err(Stop::Failed(text))) => {
            Err(WordRefusal::new(if is_stopped { INTERRUPTED } else { FAILED }, text))
        }
        (Err(Stop::Interrupted), _) | (_, Err(Stop::Interrupted)) => Ok(INTERRUPTED),
        (Ok(()), Ok(())) if is_stopped => Ok(INTERRUPTED),
        (Ok(()), Ok(())) => Ok(if is_good { GOOD } else { FAILED }),
    };
    // The last line, also after an error.
    let exit = ended.unwrap_or_else(|refusal| refuse(&refusal, env));
    recording.say_where(settings.runs.is_named, env.err);
    Ok(exit)
}

const ENGINE: &str = "default_storage_engine";

/// Each run in the original's order: engines, clients, repetitions.
fn turns(settings: &SlapSettings) -> Vec<TrialTurn> {
    let mut turns = Vec::new();
    for engine in settings.tested_engines() {
        for clients in &settings.concurrency {
            let mut levels =
                IndexMap::from([(CONNECTIONS.to_owned(), SettingValue::Int((*clients).into()))]);
            if let Some(engine) = engine {
                levels.insert(ENGINE.to_owned(), SettingValue::Text(engine.name.clone()));
            }
            let configuration = Configuration { levels };
            // A setting named twice is one configuration with twice the repetitions.
            let before = turns
                .iter()
                .filter(|turn: &&TrialTurn| turn.configuration == configuration)
                .count() as u32;
            let blocks = 0..u32::try_from(settings.iterations).unwrap_or(u32::MAX);
            turns.extend(
                blocks
                    .map(|n| TrialTurn { block: before + n, configuration: configuration.clone() }),
            );
        }
    }
    turns
}

/// The part that a plan can express.
fn plan(settings: &SlapSettings, script: &SlapScript) -> Plan {
    let turns = turns(settings);
    let mut factors: IndexMap<String, Vec<SettingValue>> = IndexMap::new();
    for (name, level) in turns.iter().flat_map(|turn| &turn.configuration.levels) {
        let levels = factors.entry(name.clone()).or_default();
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    let blocks = turns.iter().map(|turn| turn.block + 1).max().unwrap_or(1);
    let kind = WorkloadKind::Sql(SqlSpec {
        sql: script.queries.iter().map(print::query).collect(),
        create: script.create.clone(),
        commit_every: settings.commit.and_then(|n| u32::try_from(n).ok()),
    });
    let protocol = if settings.prepared { Protocol::Prepared } else { Protocol::Text };
    // The number of transactions depends on the clients if each has several queries.
    let transactions = settings.queries.filter(|_| settings.commit.is_none());
    Plan {
        name: "slap".to_owned(),
        about: format!("{NAME}: {}", script.queries[0].sql.chars().take(80).collect::<String>()),
        recorded_from: Some(Personality::Slap),
        server: ServerSpec::default(),
        disk: None,
        workload: WorkloadSpec { protocol, ..WorkloadSpec::new(kind) },
        load: RunRequest { transactions, ..bench::run_request(settings, 1, 1) }.plan_load(),
        factors,
        design: Design { blocks, seed: settings.seed, aa_pair: false, ..Design::default() },
        // Only for runs that are kept or shown.
        probe: ProbeSpec {
            enabled: settings.probe.enabled
                && (settings.output.ui || settings.runs.folder.is_some()),
            ..settings.probe.clone()
        },
        quick: QuickOverrides::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_processes_shows_no_password() {
        let typed = [
            "slap",
            "--no-defaults",
            "--port=1",
            "-apsecret",
            "-p",
            "secret",
            "--pas=secret",
            "-u",
            "me",
            "--password=",
            "--loose-passwort=secret",
            "-ppass",
            "--password",
            "--query=select '…'",
        ];
        let shown = typed.iter().zip(masked(&typed.map(OsString::from)));
        let shown: Vec<_> =
            shown.map(|(word, mask)| mask.unwrap_or(word.into()).into_string().unwrap()).collect();
        let expect = "slap --no-defaults --port=1 -apx -p x --pas=x -u me --password= \
                      --loose-passwort=x -px --password --query=select '…'";
        assert_eq!(shown.join(" "), expect);
        assert!(masked(&[]).is_empty());
    }
}
