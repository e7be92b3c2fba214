//! `bench lateness`: how much later than scheduled the engine starts transactions in an open loop.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, value_parser};
use serde::{Deserialize, Serialize};
use truetps_engine::RateOf;
use truetps_record::{OpenLoop, Spacing};

use crate::bench::client::{OpenFigures, rate_of, rate_of_word};
use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::null::{self, CLIENT_CORE, SERVER_CORE};
use crate::bench::options::{KeptOptions, parse_word, seconds, starts_a_second, word};
use crate::bench::pin::pinned;
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::new_command;
use crate::bench::sample::{ResourceSample, SampleLook, Server};

/// The first transactions of a session are slower: caches, the server's threads.
const WARM_UP: Duration = Duration::from_secs(2);
/// Connecting and warm-up are over after this time, before the window is observed from outside.
const BEFORE_LOOK: Duration = Duration::from_secs(3);
/// The parts of the measure phase before the first reading and after the last one.
const AROUND_LOOKS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LatenessLoad {
    Null,
    Mariadb,
}

#[derive(Debug, Parser)]
pub(crate) struct LatenessOptions {
    /// Runs of each kind
    #[arg(long, alias = "pairs", value_name = "N", default_value = "5", value_parser = value_parser!(u32).range(1..))]
    runs: u32,
    /// Length of the measure phase in seconds, at least 3
    #[arg(long = "seconds", value_name = "S", default_value = "20", value_parser = window)]
    window: Duration,
    #[arg(long, value_name = "N", default_value = "1000", value_parser = value_parser!(u32).range(1..))]
    clients: u32,
    /// Starts a second of all clients together
    #[arg(long, default_value = "1000", value_parser = starts_a_second)]
    rate: f64,
    /// null, mariadb, or both with a comma
    #[arg(long = "server", value_delimiter = ',', default_value = "null,mariadb", value_parser = parse_word::<LatenessLoad>)]
    servers: Vec<LatenessLoad>,
    /// Whose rate it is: each, all, or both with a comma
    #[arg(long, value_delimiter = ',', default_value = "each,all", value_parser = rate_of)]
    of: Vec<RateOf>,
    /// constant, poisson, or both with a comma
    #[arg(long = "spacing", value_delimiter = ',', default_value = "constant,poisson", value_parser = parse_word::<Spacing>)]
    spacings: Vec<Spacing>,
    #[command(flatten)]
    kept: KeptOptions,
}

fn window(text: &str) -> Result<Duration, String> {
    seconds(text)
        .and_then(|time| if time.as_secs() < 3 { Err("less than 3".to_owned()) } else { Ok(time) })
}

/// The engine's own figures and those from outside.
struct LatenessRun {
    figures: OpenFigures,
    seen: ResourceSample,
}

pub(crate) fn run(root: &Path, options: &LatenessOptions) -> anyhow::Result<()> {
    let (mut servers, mut about): (Vec<(_, Box<dyn Server>, _)>, _) = (Vec::new(), String::new());
    for load in options.servers.iter().copied() {
        match load {
            LatenessLoad::Null => {
                servers.push((load, Box::new(null::start(options.clients)?), Some(CLIENT_CORE)));
                let _ = writeln!(
                    about,
                    "- null server on core {SERVER_CORE}, the engine on core {CLIENT_CORE}"
                );
            }
            LatenessLoad::Mariadb => {
                let server = PrivateServer::start(options.clients, &options.kept.settings)?;
                about += &server.describe(&options.kept.settings);
                servers.push((load, Box::new(server), None));
            }
        }
    }
    let _ = writeln!(
        about,
        "- {} clients, {} starts a second together, text protocol; {} runs of {} s after {} s of \
         warm-up\n- `late`: the engine's own lateness in µs, of starts for which a client was \
         free; `lag`: with the wait for a client",
        options.clients,
        options.rate,
        options.runs,
        options.window.as_secs_f64(),
        WARM_UP.as_secs(),
    );
    let title = "Lateness of scheduled starts in an open loop";
    let mut table =
        RunTable::new(LatenessForms, title, &about, options.kept.folder(root, "lateness"));
    for (load, mut server, core) in servers {
        measure(options, load, &mut *server, core, &mut table)?;
    }
    table.end();
    Ok(())
}

fn measure(
    options: &LatenessOptions,
    load: LatenessLoad,
    server: &mut dyn Server,
    core: Option<u32>,
    table: &mut RunTable<LatenessForms>,
) -> anyhow::Result<()> {
    // Forms are neighbours, so that a disturbance meets all of them.
    for round in 0..options.runs {
        for of in options.of.iter().copied() {
            for spacing in options.spacings.iter().copied() {
                table.measure((load, of, spacing), round..round + 1, |_| {
                    let command = pinned(command(options, server.socket(), of, spacing)?, core)?;
                    let (figures, seen) = watch(command, options, server)?;
                    Ok(Ok(LatenessRun { figures, seen }))
                })?;
            }
        }
    }
    Ok(())
}

struct LatenessForms;

impl BenchComparison for LatenessForms {
    type Cell = (LatenessLoad, RateOf, Spacing);
    type Run = LatenessRun;
    const CELL: &'static [&'static str] = &["server", "rate of", "spacing"];

    fn cell_words(&self, (load, of, spacing): Self::Cell) -> Vec<String> {
        vec![word(load), rate_of_word(of).to_owned(), word(spacing)]
    }

    fn programs(&self, _: Self::Cell) -> Vec<String> {
        vec!["truetps".to_owned()]
    }

    fn columns(&self) -> Vec<FigureColumn<LatenessRun>> {
        vec![
            FigureColumn::shown("late_us_p50", "late p50", 0, |run| {
                run.open_loop(|open| open.late_us_p50)
            }),
            FigureColumn::shown("late_us_p99", "late p99", 0, |run| {
                run.open_loop(|open| open.late_us_p99)
            }),
            FigureColumn::shown("late_us_max", "late max", 0, |run| {
                run.open_loop(|open| open.late_us_max)
            }),
            FigureColumn::shown("lag_us_p50", "lag p50", 0, |run| {
                run.open_loop(|open| open.lag_us_p50)
            }),
            FigureColumn::shown("lag_us_p99", "lag p99", 0, |run| {
                run.open_loop(|open| open.lag_us_p99)
            }),
            FigureColumn::shown("lag_us_max", "lag max", 0, |run| {
                run.open_loop(|open| open.lag_us_max)
            }),
            FigureColumn::shown("cpu_us_a_start", "CPU µs a start", 1, |run: &LatenessRun| {
                run.figures.cpu_us / run.figures.started.max(1) as f64
            }),
            FigureColumn::shown("cores_elsewhere", "cores elsewhere", 2, |run| {
                run.seen.cores_elsewhere
            }),
            FigureColumn::raw("cores_idle", |run| run.seen.cores_idle),
            FigureColumn::raw("started", |run| run.figures.started as f64),
            FigureColumn::raw("scheduled", |run| {
                run.open_loop(|open| Some(open.starts.scheduled as f64))
            }),
            FigureColumn::raw("queued", |run| {
                run.open_loop(|open| Some(open.starts.queued as f64))
            }),
            FigureColumn::raw("failed", |run| run.figures.failed as f64),
            FigureColumn::raw("seconds", |run| run.figures.seconds),
        ]
    }
}

impl LatenessRun {
    fn open_loop(&self, figure: fn(&OpenLoop) -> Option<f64>) -> f64 {
        figure(&self.figures.open_loop).unwrap_or(f64::NAN)
    }
}

fn command(
    options: &LatenessOptions,
    socket: &Path,
    of: RateOf,
    spacing: Spacing,
) -> anyhow::Result<Command> {
    let rate = match of {
        RateOf::All => options.rate,
        RateOf::EachClient => options.rate / f64::from(options.clients),
    };
    let mut command = new_command(std::env::current_exe()?);
    command.arg("bench-client").arg(socket);
    command.args([options.clients.to_string(), options.window.as_secs_f64().to_string()]);
    command.args([
        "--rate",
        &rate.to_string(),
        "--of",
        rate_of_word(of),
        "--spacing",
        &word(spacing),
    ]);
    command.args(["--warm-up", &WARM_UP.as_secs().to_string()]);
    Ok(command)
}

/// The engine's own figures of the whole measure phase, and the outside readings in most of it.
fn watch(
    mut command: Command,
    options: &LatenessOptions,
    server: &mut dyn Server,
) -> anyhow::Result<(OpenFigures, ResourceSample)> {
    server.empty()?;
    let mut child = command.stdout(Stdio::piped()).spawn().context("starting the engine")?;
    let seen = look(&child, options, server);
    if seen.is_err() {
        // It may be the cause of the failure.
        let _ = child.kill();
    }
    let output = child.wait_with_output()?;
    let seen = seen?;
    if !output.status.success() {
        bail!("the engine ended with {}", output.status);
    }
    let figures = serde_json::from_slice(&output.stdout).context("the engine's figures")?;
    Ok((figures, seen))
}

fn look(
    child: &Child,
    options: &LatenessOptions,
    server: &mut dyn Server,
) -> anyhow::Result<ResourceSample> {
    sleep(BEFORE_LOOK);
    let first = SampleLook::now(child.id(), server)?;
    sleep(options.window.saturating_sub(AROUND_LOOKS));
    first.until(&SampleLook::now(child.id(), server)?)
}
