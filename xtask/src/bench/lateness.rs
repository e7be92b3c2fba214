//! `bench lateness`: how much later than scheduled the engine starts transactions in an open loop.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, value_parser};
use truetps_engine::RateOf;
use truetps_probe::clock;
use truetps_record::{OpenLoop, Spacing};

use crate::bench::client::{OpenFigures, rate_of, rate_of_word};
use crate::bench::figures::spread;
use crate::bench::null::{self, CLIENT_CORE, SERVER_CORE};
use crate::bench::options::{KeptOptions, by_word, seconds, spacing, spacing_word};
use crate::bench::pin::pinned;
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::new_command;
use crate::bench::report::{host_line, keep};
use crate::bench::sample::{ResourceSample, SampleLook};
use crate::bench::server::Server;

/// The first transactions of a session are slower: caches, the server's threads.
const WARM_UP: Duration = Duration::from_secs(2);
/// Connecting and warm-up are over after this time, before the window is observed from outside.
const BEFORE_LOOK: Duration = Duration::from_secs(3);
/// The parts of the measure phase before the first reading and after the last one.
const AROUND_LOOKS: Duration = Duration::from_secs(2);

/// A column of the raw figures, and its source.
type LatenessColumn = (&'static str, fn(&OpenLoop) -> Option<f64>);

const COLUMNS: [LatenessColumn; 6] = [
    ("late_us_p50", |open| open.late_us_p50),
    ("late_us_p99", |open| open.late_us_p99),
    ("late_us_max", |open| open.late_us_max),
    ("lag_us_p50", |open| open.lag_us_p50),
    ("lag_us_p99", |open| open.lag_us_p99),
    ("lag_us_max", |open| open.lag_us_max),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LatenessLoad {
    Null,
    Mariadb,
}

impl LatenessLoad {
    fn parse(text: &str) -> Result<Self, String> {
        by_word(text, &[Self::Null, Self::Mariadb], Self::word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Mariadb => "mariadb",
        }
    }
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
    #[arg(long = "server", value_delimiter = ',', default_value = "null,mariadb", value_parser = LatenessLoad::parse)]
    servers: Vec<LatenessLoad>,
    /// Whose rate it is: each, all, or both with a comma
    #[arg(long, value_delimiter = ',', default_value = "each,all", value_parser = rate_of)]
    of: Vec<RateOf>,
    /// constant, poisson, or both with a comma
    #[arg(long = "spacing", value_delimiter = ',', default_value = "constant,poisson", value_parser = spacing)]
    spacings: Vec<Spacing>,
    #[command(flatten)]
    kept: KeptOptions,
}

fn window(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|time| if time.as_secs() < 3 { Err("less than 3".to_owned()) } else { Ok(time) })
}

fn starts_a_second(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "not a number above 0".to_owned())
}

/// One run.
struct LatenessRow {
    server: LatenessLoad,
    of: RateOf,
    spacing: Spacing,
    figures: OpenFigures,
    seen: ResourceSample,
}

pub(crate) fn run(root: &Path, options: &LatenessOptions) -> anyhow::Result<()> {
    let mut head = String::from("# Lateness of scheduled starts in an open loop\n\n");
    let mut rows = Vec::new();
    for kind in &options.servers {
        match kind {
            LatenessLoad::Null => {
                let mut server = null::start(options.clients)?;
                let _ = writeln!(head, "- null server on core {SERVER_CORE}, the engine on core {CLIENT_CORE}");
                measure(options, *kind, &mut server, Some(CLIENT_CORE), &mut rows)?;
            }
            LatenessLoad::Mariadb => {
                let mut server = PrivateServer::start(options.clients, &options.kept.settings)?;
                head.push_str(&server.describe(&options.kept.settings));
                measure(options, *kind, &mut server, None, &mut rows)?;
            }
        }
    }
    let _ = writeln!(
        head,
        "{}- {} clients, {} starts a second together, text protocol; {} runs of {} s after {} s of warm-up; figures are \
         medians [min..max] of the runs\n- {}\n",
        host_line(),
        options.clients,
        options.rate,
        options.runs,
        options.window.as_secs_f64(),
        WARM_UP.as_secs(),
        clock::now_rfc3339()
    );
    let readme = format!("{head}{}", table(&rows));
    println!("\n{readme}");
    if !options.kept.no_result {
        println!("kept in {}", keep(root, "lateness", &readme, &csv(&rows))?.display());
    }
    Ok(())
}

fn measure(
    options: &LatenessOptions,
    kind: LatenessLoad,
    server: &mut dyn Server,
    core: Option<u32>,
    rows: &mut Vec<LatenessRow>,
) -> anyhow::Result<()> {
    // Forms are neighbours, so that a disturbance meets all of them.
    for n in 0..options.runs {
        for of in &options.of {
            for spacing in &options.spacings {
                let command = command(options, server.socket(), *of, *spacing)?;
                let command = pinned(command, core)?;
                let (figures, seen) = watch(command, options, server)?;
                let row = LatenessRow { server: kind, of: *of, spacing: *spacing, figures, seen };
                println!("run {}: {}", n + 1, csv_line(&row));
                rows.push(row);
            }
        }
    }
    Ok(())
}

fn command(options: &LatenessOptions, socket: &Path, of: RateOf, spacing: Spacing) -> anyhow::Result<Command> {
    let rate = match of {
        RateOf::All => options.rate,
        RateOf::EachClient => options.rate / f64::from(options.clients),
    };
    let mut command = new_command(std::env::current_exe()?);
    command.arg("bench-client").arg(socket);
    command.args([options.clients.to_string(), options.window.as_secs_f64().to_string()]);
    command.args(["--rate", &rate.to_string(), "--of", rate_of_word(of), "--spacing", spacing_word(spacing)]);
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

fn look(child: &Child, options: &LatenessOptions, server: &mut dyn Server) -> anyhow::Result<ResourceSample> {
    sleep(BEFORE_LOOK);
    let first = SampleLook::now(child.id(), server)?;
    sleep(options.window.saturating_sub(AROUND_LOOKS));
    first.until(&SampleLook::now(child.id(), server)?)
}

fn table(rows: &[LatenessRow]) -> String {
    let mut text = String::from(
        "`late`: the engine's own lateness, of starts for which a client was free. `lag`: with the wait for a client. \
         Microseconds.\n\n| server | rate of | spacing | late p50 | late p99 | late max | lag p50 | lag p99 | lag max | CPU \
         µs a start | cores elsewhere | runs |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut cells: Vec<(LatenessLoad, RateOf, Spacing)> = Vec::new();
    for row in rows {
        let cell = (row.server, row.of, row.spacing);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    for cell in cells {
        let mine: Vec<&LatenessRow> = rows.iter().filter(|row| (row.server, row.of, row.spacing) == cell).collect();
        let of = |figure: &dyn Fn(&LatenessRow) -> Option<f64>, decimals| {
            spread(&mine.iter().filter_map(|row| figure(row)).collect::<Vec<_>>(), decimals)
        };
        let latencies = COLUMNS.map(|(_, column)| of(&|row| column(&row.figures.open_loop), 0)).join(" | ");
        let cpu = of(&|row| Some(row.figures.cpu_us_a_start()), 1);
        let elsewhere = of(&|row| Some(row.seen.cores_elsewhere), 2);
        let (server, form, spacing) = (cell.0.word(), rate_of_word(cell.1), spacing_word(cell.2));
        let _ =
            writeln!(text, "| {server} | {form} | {spacing} | {latencies} | {cpu} | {elsewhere} | {} |", mine.len());
    }
    text
}

fn csv(rows: &[LatenessRow]) -> String {
    let columns = COLUMNS.map(|(name, _)| name).join(",");
    let mut text = format!(
        "server,rate_of,spacing,started,scheduled,queued,failed,seconds,{columns},cpu_us_a_start,cores_elsewhere,cores_idle\n"
    );
    for row in rows {
        let _ = writeln!(text, "{}", csv_line(row));
    }
    text
}

fn csv_line(row: &LatenessRow) -> String {
    let OpenFigures { open_loop, started, failed, seconds, .. } = &row.figures;
    let latencies = COLUMNS.map(|(_, column)| column(open_loop).map_or_else(String::new, |us| format!("{us:.1}")));
    format!(
        "{},{},{},{started},{},{},{failed},{seconds:.2},{},{:.2},{:.3},{:.3}",
        row.server.word(),
        rate_of_word(row.of),
        spacing_word(row.spacing),
        open_loop.starts.scheduled,
        open_loop.starts.queued,
        latencies.join(","),
        row.figures.cpu_us_a_start(),
        row.seen.cores_elsewhere,
        row.seen.cores_idle
    )
}

impl OpenFigures {
    fn cpu_us_a_start(&self) -> f64 {
        self.cpu_us / self.started.max(1) as f64
    }
}
