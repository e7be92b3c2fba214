//! The engine as a separate process, so that the same outside observer measures it and other programs.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use truetps_driver::{Connector, Dialect, Target};
use truetps_engine::{LoadSpec, Observer, OpenPacing, Pacing, Rate, RateOf, RunEnding, RunOutcome, run as run_engine};
use truetps_record::{Histogram, Interval, OpenLoop, Phase, Protocol, Spacing, WorkloadSpec};

use crate::bench::options::{Words, mode, protocol};

pub(crate) const SCHEMA: &str = "truetps";
pub(crate) const TABLE_ROWS: u64 = 200_000;

/// Limit for all clients together: servers with a thread for each connection accept thousands of them slowly on a small
/// machine.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(10);

const USAGE: &str = "bench-client SOCKET CLIENTS SECONDS [--protocol text|prepared] [--mode auto|blocking|multiplexed] \
                     [--workers N] [--warm-up SECONDS] [--rate STARTS [--of all|each] [--spacing constant|poisson]]";

/// The figures at the end of an open loop, as one line of JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct OpenFigures {
    pub(crate) open_loop: OpenLoop,
    pub(crate) started: u64,
    pub(crate) failed: u64,
    /// CPU time of the workers in the measure phase.
    pub(crate) cpu_us: f64,
    pub(crate) seconds: f64,
}

pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let [socket, clients, seconds, options @ ..] = args else { bail!(USAGE) };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let measure = Duration::from_secs_f64(seconds.parse().context("SECONDS")?);
    let mut load = LoadSpec::closed(clients.parse().context("CLIENTS")?, (cores / 2).max(1), measure);
    load.connect_timeout = CONNECT_TIMEOUT;
    let protocol = set_options(&mut load, options)?;
    let workload = truetps_workload::build(&workload_spec(protocol), Dialect::Mysql, 1)?;
    let target = Target::mysql_unix(*socket, "root", Some(SCHEMA));
    let connector = Connector::new(target, workload.statements(), protocol == Protocol::Prepared)?;
    let outcome = run_engine(&load, &connector, &*workload, &AtomicBool::new(false), &mut Silent)?;
    check(&outcome)?;
    if let Some(figures) = open_figures(&outcome) {
        println!("{}", serde_json::to_string(&figures)?);
    }
    Ok(())
}

fn set_options(load: &mut LoadSpec, options: &[&str]) -> anyhow::Result<Protocol> {
    let mut chosen = Protocol::Text;
    let (mut rate, mut of, mut spacing) = (None, RateOf::All, Spacing::Constant);
    let mut words = Words::new(options);
    while let Some(word) = words.next() {
        match word {
            "--protocol" => chosen = protocol(words.value()?).context("--protocol text|prepared")?,
            "--mode" => load.mode = mode(words.value()?)?,
            "--workers" => load.workers = words.number()?,
            "--warm-up" => load.warm_up = words.seconds()?,
            "--rate" => rate = Some(words.value()?.parse::<f64>().context("--rate")?),
            "--of" => of = rate_of(words.value()?).context("--of all|each")?,
            "--spacing" => spacing = spacing_of(words.value()?).context("--spacing constant|poisson")?,
            other => bail!("unknown option {other}\n{USAGE}"),
        }
    }
    if let Some(rate) = rate {
        load.pacing =
            Pacing::Open(OpenPacing { rate: Rate::constant(rate), of, spacing, latency_limit: None, seed: 1 });
    }
    Ok(chosen)
}

pub(crate) fn rate_of(word: &str) -> Option<RateOf> {
    [RateOf::All, RateOf::EachClient].into_iter().find(|of| rate_of_word(*of) == word)
}

pub(crate) fn rate_of_word(of: RateOf) -> &'static str {
    match of {
        RateOf::All => "all",
        RateOf::EachClient => "each",
    }
}

pub(crate) fn spacing_of(word: &str) -> Option<Spacing> {
    [Spacing::Constant, Spacing::Poisson].into_iter().find(|spacing| spacing_word(*spacing) == word)
}

pub(crate) fn spacing_word(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Constant => "constant",
        Spacing::Poisson => "poisson",
    }
}

/// A run with missing clients gives no figure.
fn check(outcome: &RunOutcome) -> anyhow::Result<()> {
    if outcome.ending != RunEnding::Complete || outcome.clients_failed > 0 || outcome.clients_lost > 0 {
        let cause = outcome.connect_errors.first().or(outcome.errors.first());
        bail!(
            "{:?}: {} clients did not connect, {} were lost: {cause:?}",
            outcome.ending,
            outcome.clients_failed,
            outcome.clients_lost
        );
    }
    Ok(())
}

fn open_figures(outcome: &RunOutcome) -> Option<OpenFigures> {
    let counts = outcome.measured?;
    Some(OpenFigures {
        open_loop: outcome.open_loop?,
        started: counts.started,
        failed: counts.failed,
        cpu_us: outcome.client_cpu.as_secs_f64() * 1e6,
        seconds: outcome.measure_length.as_secs_f64(),
    })
}

pub(crate) fn workload_spec(protocol: Protocol) -> WorkloadSpec {
    WorkloadSpec { table_rows: TABLE_ROWS, protocol, ..WorkloadSpec::new("insert") }
}

struct Silent;

impl Observer for Silent {
    fn phase(&mut self, _: Phase) {}

    fn interval(&mut self, _: &Interval, _: &Histogram) -> Result<(), String> {
        Ok(())
    }
}
