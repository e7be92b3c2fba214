//! `bench report`: how long `truetps report` takes over an hour of measurements, and how large its
//! page is.
//!
//! The folders are generated: the trials and seconds of one hour, each second with its buckets, a
//! histogram of some hundred different response times, and a sample of the probe with the counters
//! of a server.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use truetps_folder::{ExperimentFolder, TrialWriter};
use truetps_plan::Plan;
use truetps_record::{
    Configuration, Counts, Experiment, Histogram, Interval, LatencyFigures, Phase, ProbeHeader,
    ProbeSample, ProbeSource, ScheduledTrial, Trial, TrialRole, new_histogram,
};
use truetps_workload::RandomStream;

use crate::bench::figures::spread;
use crate::bench::programs::new_command;

/// A real run, which provides host and server of the generated ones.
const EXPERIMENT: &str =
    include_str!("../../../crates/report/testdata/before-probe/experiment.json");
const TRIAL: &str =
    include_str!("../../../crates/report/testdata/before-probe/trial-0001/run.json");
const REPEATS: u32 = 5;
/// Limits for an experiment of one hour, and for its page.
const SECONDS_MAX: f64 = 2.0;
const BYTES_MAX: u64 = 600_000;

/// An hour of measurements.
struct Shape {
    name: &'static str,
    connections: &'static [u32],
    blocks: u32,
    seconds: u32,
}

const SHAPES: [Shape; 3] = [
    Shape { name: "30 trials of 2 minutes", connections: &[4, 50], blocks: 5, seconds: 120 },
    Shape { name: "3 trials of 20 minutes", connections: &[50], blocks: 1, seconds: 1200 },
    Shape { name: "3 trials of an hour", connections: &[50], blocks: 1, seconds: 3600 },
];

#[derive(Debug, Parser)]
pub(crate) struct ReportBenchOptions {
    /// This program [default: target/release/truetps]
    #[arg(long, value_name = "PATH")]
    truetps: Option<PathBuf>,
    /// Keep the generated folders here
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) fn run(root: &Path, options: ReportBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.unwrap_or_else(|| root.join("target/release/truetps"));
    ensure!(
        truetps.is_file(),
        "{}: not there: cargo build --release, or --truetps PATH",
        truetps.display()
    );
    let own = tempfile::tempdir()?;
    let place = options.keep.unwrap_or_else(|| own.path().to_owned());
    let mut is_slow = false;
    for shape in SHAPES {
        let folder = shape.make(&place)?;
        let seconds =
            (0..REPEATS).map(|_| time(&truetps, &folder)).collect::<anyhow::Result<Vec<_>>>()?;
        let bytes = folder.join("report.html").metadata()?.len();
        println!("{}: {} s, page {} KB", shape.name, spread(&seconds, 2), bytes / 1000);
        is_slow |= seconds.iter().any(|one| *one > SECONDS_MAX) || bytes > BYTES_MAX;
    }
    ensure!(!is_slow, "more than {SECONDS_MAX} s, or a page of more than {BYTES_MAX} bytes");
    Ok(())
}

fn time(truetps: &Path, folder: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let output = new_command(truetps).arg("report").arg(folder).output()?;
    let seconds = began.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.code().is_some_and(|code| code == 0 || code == 3),
        "truetps report: {said}"
    );
    Ok(seconds)
}

impl Shape {
    fn plan(&self) -> anyhow::Result<Plan> {
        let text = format!(
            "name = \"hour\"\nabout = \"made up\"\n[workload]\nname = \
             \"insert\"\n[load]\nmeasure_s = {}\n[design]\nblocks = {}\n\
             aa_pair = false\n[factors]\ninnodb_flush_log_at_trx_commit = [1, 2, 0]\nconnections = \
             {:?}\n",
            self.seconds, self.blocks, self.connections
        );
        Ok(Plan::parse(&text)?)
    }

    /// Writes the folder and answers its path.
    fn make(&self, place: &Path) -> anyhow::Result<PathBuf> {
        let plan = self.plan()?;
        let mut experiment: Experiment = serde_json::from_str(EXPERIMENT)?;
        experiment.schedule = schedule(&plan);
        let folder = ExperimentFolder::create(place, self.name, &plan, &experiment)?;
        for (index, scheduled) in experiment.schedule.iter().enumerate() {
            let mut trial: Trial = serde_json::from_str(TRIAL)?;
            trial.name.clone_from(&scheduled.name);
            trial.configuration = scheduled.configuration.clone();
            (trial.block, trial.position, trial.role) =
                (scheduled.block, scheduled.position, TrialRole::Cell);
            let mut writer = folder.begin_trial(&trial)?;
            self.fill(&mut writer, index as u64)?;
            let measured = trial.measured.as_mut().context("the trial has figures")?;
            measured.tps = 3000.0 + 100.0 * (index % 7) as f64;
            writer.write_trial(&trial)?;
        }
        Ok(folder.path().to_owned())
    }

    fn fill(&self, writer: &mut TrialWriter, trial: u64) -> anyhow::Result<()> {
        let header = ProbeHeader::of_version_1(1e3, None);
        let mut probe = writer.begin_probe(&header)?;
        let mut random = RandomStream::new(1, trial);
        for second in 0..self.seconds {
            let histogram = histogram(&mut random);
            writer.append(&interval(second, &histogram, &mut random), &histogram)?;
            probe.append(&sample(second, &mut random))?;
        }
        Ok(())
    }
}

fn schedule(plan: &Plan) -> Vec<ScheduledTrial> {
    let configurations: Vec<Configuration> = plan.configurations();
    let trials = (0..plan.design.blocks)
        .flat_map(|block| configurations.iter().enumerate().map(move |one| (block, one)));
    let entry =
        |(index, (block, (position, configuration))): (usize, (u32, (usize, &Configuration)))| {
            ScheduledTrial {
                name: format!("trial-{:04}", index + 1),
                block,
                position: position as u32,
                role: TrialRole::Cell,
                configuration: configuration.clone(),
                mixture: None,
            }
        };
    trials.enumerate().map(entry).collect()
}

fn interval(second: u32, histogram: &Histogram, random: &mut RandomStream) -> Interval {
    let ok = histogram.len();
    let stalled = random.below(200) == 0;
    Interval {
        phase: if second == 0 { Phase::WarmUp } else { Phase::Measure },
        start_ms: f64::from(second) * 1e3,
        length_ms: 1e3,
        counts: Counts { started: ok, ok, statements: ok, ..Counts::default() },
        tps: ok as f64,
        response: LatencyFigures::of(histogram),
        open_loop: None,
        buckets: (0..10).map(|_| if stalled { 3 } else { 280 + random.below(40) as u32 }).collect(),
        gaps: Vec::new(),
    }
}

/// 3,000 response times around 4 ms with a long tail.
fn histogram(random: &mut RandomStream) -> Histogram {
    let mut histogram = new_histogram();
    for _ in 0..3000 {
        let tail = (random.below(1000) as f64 / 1000.0).powi(6) * 60e6;
        histogram.saturating_record(1_000_000 + random.below(3_000_000) + tail as u64);
    }
    histogram
}

/// Sixty counters that grow, eight of them waits.
fn sample(second: u32, random: &mut RandomStream) -> ProbeSample {
    let waits = ["innodb_log_file", "innodb_data_file", "innodb_dblwr_file"];
    let waits = waits.iter().map(|name| (format!("wait.wait/io/file/innodb/{name}.us"), 500_000));
    let states = (0..5).map(|n| (format!("wait.wait/synch/mutex/sql/LOCK_{n}.us"), 20_000));
    let counters = (0..52).map(|n| (format!("status.Innodb_counter_{n}"), 1000 + n));
    let values = waits
        .chain(states)
        .chain(counters)
        .map(|(name, rate)| (name, f64::from(second) * rate as f64 + random.below(rate) as f64));
    ProbeSample {
        source: ProbeSource::Server,
        at_ms: f64::from(second) * 1e3,
        took_ms: 2.0,
        values: values.collect(),
        lost: Vec::new(),
    }
}
