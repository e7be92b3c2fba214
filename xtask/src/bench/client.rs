//! The engine as a separate process, so that the same outside observer measures it and other
//! programs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::bail;
use clap::Parser;
use serde::{Deserialize, Serialize};
use truetps_driver::{Connector, Endpoint, Target};
use truetps_engine::{
    LoadSpec, Observer, OpenPacing, Pacing, Rate, RateOf, RunEnding, RunOutcome, run as run_engine,
};
use truetps_plan::{WorkloadKind, WorkloadSpec};
use truetps_record::{Histogram, Interval, OpenLoop, Phase, Protocol, Spacing, SqlDialect};
use truetps_workload::Workload;

use crate::bench::options::{by_word, parse_endpoint, parse_word, seconds};
use crate::bench::programs::DriveChoice;

pub(crate) const SCHEMA: &str = "truetps";
pub(crate) const TABLE_ROWS: u64 = 200_000;

/// Limit for all clients together: servers with a thread for each connection accept thousands of
/// them slowly on a small machine.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(10);

#[derive(Debug, Parser)]
pub(crate) struct ClientOptions {
    #[arg(value_parser = parse_endpoint)]
    server: Endpoint,
    clients: u32,
    #[arg(value_parser = seconds)]
    measure: Duration,
    #[arg(long, default_value = "text", value_parser = parse_word::<Protocol>)]
    protocol: Protocol,
    #[command(flatten)]
    drive: DriveChoice,
    #[arg(long, default_value = "0", value_parser = warm_up)]
    warm_up: Duration,
    /// Starts a second
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long, default_value = "all", value_parser = rate_of)]
    of: RateOf,
    #[arg(long, default_value = "constant", value_parser = parse_word::<Spacing>)]
    spacing: Spacing,
}

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

pub(crate) fn run(options: &ClientOptions) -> anyhow::Result<()> {
    let (workload, connector) = connect_to(&options.server, options.protocol)?;
    let outcome =
        run_engine(&options.load(), &connector, &*workload, &AtomicBool::new(false), &mut Silent)?;
    check(&outcome)?;
    if let Some(figures) = open_figures(&outcome) {
        println!("{}", serde_json::to_string(&figures)?);
    }
    Ok(())
}

impl ClientOptions {
    fn load(&self) -> LoadSpec {
        let workers =
            truetps_probe::worker_count(self.drive.workers, truetps_probe::usable_cores());
        let mut load = LoadSpec::closed(self.clients, workers, self.measure);
        load.connect_timeout = CONNECT_TIMEOUT;
        load.mode = self.drive.mode;
        load.warm_up = self.warm_up;
        if let Some(rate) = self.rate {
            let (rate, of, spacing) = (Rate::constant(rate), self.of, self.spacing);
            load.pacing =
                Pacing::Open(OpenPacing { rate, of, spacing, latency_limit: None, seed: 1 });
        }
        load
    }
}

/// A time, which may be 0.
fn warm_up(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { seconds(text) }
}

pub(crate) fn rate_of(text: &str) -> Result<RateOf, String> {
    by_word(text, &[RateOf::All, RateOf::EachClient], rate_of_word)
}

pub(crate) fn rate_of_word(of: RateOf) -> &'static str {
    match of {
        RateOf::All => "all",
        RateOf::EachClient => "each",
    }
}

/// A run with missing clients gives no figure.
fn check(outcome: &RunOutcome) -> anyhow::Result<()> {
    if outcome.ending != RunEnding::Complete
        || outcome.clients_not_connected > 0
        || outcome.end.lost > 0
    {
        let cause = outcome.connect_errors.first().or(outcome.errors().next());
        bail!(
            "{:?}: {} clients did not connect, {} were lost: {cause:?}",
            outcome.ending,
            outcome.clients_not_connected,
            outcome.end.lost
        );
    }
    Ok(())
}

fn open_figures(outcome: &RunOutcome) -> Option<OpenFigures> {
    let measured = outcome.measured.as_ref()?;
    Some(OpenFigures {
        open_loop: measured.open_loop?,
        started: measured.counts.started,
        failed: measured.counts.failed,
        cpu_us: measured.workers_used.cpu.as_secs_f64() * 1e6,
        seconds: measured.schedule_length.as_secs_f64(),
    })
}

/// What clients of this server send, and what logs them in.
pub(crate) fn connect_to(
    server: &Endpoint,
    protocol: Protocol,
) -> anyhow::Result<(Arc<dyn Workload>, Connector)> {
    let workload = truetps_workload::build(&workload_spec(protocol), SqlDialect::Mysql, 1)?;
    let target =
        Target { endpoints: vec![server.clone()], ..Target::mysql_unix("", "root", Some(SCHEMA)) };
    let connector = Connector::new(target, workload.statements(), protocol == Protocol::Prepared)?;
    Ok((workload, connector))
}

pub(crate) fn workload_spec(protocol: Protocol) -> WorkloadSpec {
    WorkloadSpec { table_rows: TABLE_ROWS, protocol, ..WorkloadSpec::new(WorkloadKind::Insert) }
}

struct Silent;

impl Observer for Silent {
    fn phase(&mut self, _: Phase) {}

    fn interval(&mut self, _: &Interval, _: &Histogram) -> Result<(), String> {
        Ok(())
    }
}
