//! mysqlslap: its options, its report, and the queries of its tests by our engine.

mod auto;
mod bench;
mod help;
mod print;
mod report;
mod script;
mod settings;
mod specs;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::{Client, Target};
use truetps_record::{
    CONNECTIONS, Configuration, Design, ErrorPolicy, ExperimentFolder, Load, Personality, Plan, Protocol,
    QuickOverrides, ServerSpec, SettingValue, WorkloadSpec,
};

use self::bench::{Bench, Stop};
use self::script::Script;
use self::settings::{Csv, Settings};
use crate::World;
use crate::mysql_words::{OptionFiles, Refusal, Words, parse};
use crate::recording::{Place, Recording, Turn, said, server_facts};
use crate::terminal::ask_password;

/// The name in messages.
const NAME: &str = "mysqlslap";
const GOOD: u8 = 0;
const FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;
/// The server answers the first questions within this time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// No statement of the preparation takes longer.
const PREPARE_TIMEOUT: Duration = Duration::from_hours(24);

/// Runs a command line of mysqlslap, its name first. Returns the exit status.
pub fn run(arguments: Vec<OsString>, world: &mut World<'_>) -> u8 {
    let mut typed = VecDeque::new();
    for argument in arguments.into_iter().skip(1) {
        match argument.into_string() {
            Ok(word) => typed.push_back(word),
            Err(word) => {
                let text = format!("an argument is no UTF-8: {}", word.to_string_lossy());
                return refuse(&Refusal::new(FAILED, text), world);
            }
        }
    }
    match go(typed, world) {
        Ok(exit) => exit,
        Err(refusal) => refuse(&refusal, world),
    }
}

fn refuse(refusal: &Refusal, world: &mut World<'_>) -> u8 {
    let before = refusal.before.as_ref().map_or_else(String::new, |line| format!("{line}\n"));
    let _ = writeln!(world.err, "{before}{NAME}: {}", refusal.text);
    refusal.exit
}

fn go(mut typed: VecDeque<String>, world: &mut World<'_>) -> Result<u8, Refusal> {
    let command: Vec<String> = std::iter::once("truetps slap".to_owned()).chain(without_secrets(&typed)).collect();
    let files = OptionFiles::take(&mut typed, &specs::GROUPS, world.environment);
    let from_files = files.read()?;
    if files.prints {
        let all = from_files.words.iter().cloned().chain(typed).collect::<VecDeque<_>>();
        let line = without_secrets(&all).collect::<Vec<_>>().join(" ");
        let _ = writeln!(world.out, "{NAME} would have been started with the following arguments:\n{line}");
        return Ok(GOOD);
    }
    let words = parse(&specs::SPECS, from_files.words.into_iter().chain(typed))?;
    for warning in from_files.warnings.iter().chain(&words.warnings) {
        let _ = writeln!(world.err, "Warning: {NAME}: {warning}");
    }
    if words.is_on("help") || words.is_on("version") {
        let text = if words.is_on("help") { help::page() } else { help::version() };
        let _ = world.out.write_all(text.as_bytes());
        return Ok(GOOD);
    }
    for other in &words.others {
        let _ = writeln!(world.err, "Warning: {NAME}: '{other}' belongs to no option, and is not used");
    }
    let settings = Settings::read(&words)?;
    let script = Script::load(&settings).map_err(|text| Refusal::new(FAILED, text))?;
    if settings.only_prints {
        let _ = world.out.write_all(print::all(&settings, &script, &words).as_bytes());
        return Ok(GOOD);
    }
    check_places(&settings)?;
    let target = settings::target(&words, world.environment, &ask_password)?;
    let target = Target { setup: setup(&words), ..target };
    test(&settings, &script, &target, command, world)
}

/// What each connection begins with.
fn setup(words: &Words) -> Vec<String> {
    let mode = words.text("sql-mode").map(|mode| format!("SET sql_mode='{}'", mode.replace('\'', "''")));
    let init = words.text("init-command").filter(|sql| !sql.is_empty()).map(str::to_owned);
    mode.into_iter().chain(init).collect()
}

/// Whatever is to be written is tried before anything is measured.
fn check_places(settings: &Settings) -> Result<(), Refusal> {
    if let Csv::File(path) = &settings.output.csv {
        bench::append(path, "")
            .map_err(|error| Refusal::new(FAILED, format!("Could not open csv file: {} ({error})", path.display())))?;
    }
    if let Some(runs) = &settings.runs {
        ExperimentFolder::check_writable(runs)
            .map_err(|error| Refusal::new(FAILED, format!("{error} (--runs=none keeps nothing)")))?;
    }
    Ok(())
}

fn test(
    settings: &Settings,
    script: &Script,
    target: &Target,
    command: Vec<String>,
    world: &mut World<'_>,
) -> Result<u8, Refusal> {
    let failed = |text: String| Refusal::new(FAILED, text);
    let connected = Client::connect(target, ANSWER_TIMEOUT);
    let mut admin = connected.map_err(|error| failed(format!("Error when connecting to server: {}", said(&error))))?;
    let server = server_facts(&mut admin).map_err(|error| failed(said(&error)))?;
    admin.set_timeout(PREPARE_TIMEOUT).map_err(|error| failed(said(&error)))?;
    let workers = if settings.workers > 0 { settings.workers } else { (world.cores / 2).max(1) };
    let dropped;
    let place = if let Some(runs) = &settings.runs {
        Place::Kept(runs.clone())
    } else {
        dropped = tempfile::tempdir().map_err(|error| failed(format!("no temporary folder: {error}")))?;
        Place::Dropped(dropped.path().to_owned())
    };
    let endpoint = target.endpoint(0).to_string();
    let recording =
        Recording::begin(&place, plan(settings, script), &turns(settings), server, endpoint, command, workers);
    let recording = recording.map_err(|error| failed(error.to_string()))?;
    let mut bench = Bench {
        settings,
        script,
        target,
        admin,
        recording,
        world,
        workers,
        trials: 0,
        has_made_schema: false,
        is_good: true,
    };
    let stopped = bench.run();
    // What was made is taken away, however it went.
    let dropped = bench.drop_schema();
    let is_good = bench.is_good;
    match (stopped, dropped) {
        (Err(Stop::Failed(text)), _) | (Ok(()), Err(Stop::Failed(text))) => Err(failed(text)),
        (Err(Stop::Interrupted), _) | (_, Err(Stop::Interrupted)) => Ok(INTERRUPTED),
        (Ok(()), Ok(())) => Ok(if is_good { GOOD } else { FAILED }),
    }
}

/// In a record: these runs end with their queries.
const UNLIMITED_S: f64 = 0.0;
const ENGINE: &str = "default_storage_engine";

/// Each run in the order of the original: engines, clients, repetitions.
fn turns(settings: &Settings) -> Vec<Turn> {
    let engines: Vec<Option<&str>> = match &settings.engines[..] {
        [] => vec![None],
        engines => engines.iter().map(|engine| Some(engine.name.as_str())).collect(),
    };
    let mut turns = Vec::new();
    for engine in engines {
        for clients in &settings.concurrency {
            let mut levels = IndexMap::from([(CONNECTIONS.to_owned(), SettingValue::Int((*clients).into()))]);
            if let Some(engine) = engine {
                levels.insert(ENGINE.to_owned(), SettingValue::Text(engine.to_owned()));
            }
            let configuration = Configuration { levels };
            // What is named twice is one configuration, with twice the repetitions.
            let before = turns.iter().filter(|turn: &&Turn| turn.configuration == configuration).count() as u32;
            let blocks = 0..u32::try_from(settings.iterations).unwrap_or(u32::MAX);
            turns.extend(blocks.map(|n| Turn { block: before + n, configuration: configuration.clone() }));
        }
    }
    turns
}

/// What plans have words for.
fn plan(settings: &Settings, script: &Script) -> Plan {
    let turns = turns(settings);
    let mut factors: IndexMap<String, Vec<SettingValue>> = IndexMap::new();
    for (name, level) in turns.iter().flat_map(|turn| &turn.configuration.levels) {
        let levels = factors.entry(name.clone()).or_default();
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    let blocks = turns.iter().map(|turn| turn.block + 1).max().unwrap_or(1);
    let batch = settings.commit.unwrap_or(1);
    let mut workload = WorkloadSpec::new("sql");
    workload.protocol = if settings.prepared { Protocol::Prepared } else { Protocol::Text };
    workload.sql = script.queries.iter().map(print::query).collect();
    workload.create.clone_from(&script.create);
    workload.commit_every = settings.commit.and_then(|n| u32::try_from(n).ok());
    Plan {
        name: "slap".to_owned(),
        about: format!("{NAME}: {}", script.queries[0].sql.chars().take(80).collect::<String>()),
        recorded_from: Some(Personality::Slap),
        server: ServerSpec::default(),
        workload,
        load: Load {
            warm_up_s: 0.0,
            measure_s: settings.time.map_or(UNLIMITED_S, |time| time.as_secs_f64()),
            // How many transactions these are depends on the clients, where they have several queries each.
            measure_transactions: settings.queries.filter(|_| batch == 1),
            rate: settings.rate.map(|rate| rate / batch as f64),
            errors: ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() },
            ..Load::default()
        },
        factors,
        design: Design { blocks, seed: settings.seed, aa_pair: false, ..Design::default() },
        quick: QuickOverrides::default(),
    }
}

/// Words for the record, without passwords.
fn without_secrets(words: &VecDeque<String>) -> impl Iterator<Item = String> {
    words.iter().map(|word| {
        if word.starts_with("--pass") && word.contains('=') {
            return "--password=…".to_owned();
        }
        let is_short = word.starts_with("-p") && word.len() > 2 && !word.starts_with("--");
        if is_short { "-p…".to_owned() } else { word.clone() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_recorded() {
        let words: VecDeque<_> =
            ["-psecret", "--password=secret", "--pass=secret", "-p", "-a"].map(str::to_owned).into();
        assert_eq!(without_secrets(&words).collect::<Vec<_>>(), ["-p…", "--password=…", "--password=…", "-p", "-a"]);
    }
}
