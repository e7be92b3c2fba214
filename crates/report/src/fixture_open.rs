//! Made-up open loops, and a trial as it was recorded before there were any, for the tests of every
//! format.

use truetps_record::{DriveMode, Experiment, OpenLoop, Reason, StartCounts, Trial};

use crate::ReportAnswer;
use crate::fixture::Fixture;

/// The reason that limited trials of [`Fixture::rates`] give.
const LATE: &str = "its own starts were late: p99 2.5 ms";

impl Fixture {
    /// `truetps run` with a rate: one trial, 8 clients. From 8,000 a second on the server does not
    /// keep up.
    pub(crate) fn open_run(rate: u32) -> Self {
        Self::of_plan(&format!(
            "name = \"run-insert\"\nabout = \"One trial of insert with 8 \
             connections\"\n[workload]\nname = \"insert\"\n\
             [load]\nrate = {rate}\n[design]\nblocks = 1\naa_pair = false\n[factors]\nconnections \
             = [8]\n"
        ))
        .with(|trials| {
            for trial in trials {
                open(trial, f64::from(rate), rate < 8000);
            }
        })
    }

    /// Two flush levels at three rates, three blocks. Level 1 does not keep up with the highest
    /// rate, where the generator was late.
    pub(crate) fn rates() -> Self {
        Self::of_plan(
            "name = \"rates\"\nabout = \"Up to which rate does each setting keep \
             up?\"\n[workload]\nname = \"insert\"\n\
             [load]\narrivals = \"poisson\"\n[load.errors]\nignore = [\"duplicate_key\"]\n\
             [design]\nblocks = 3\naa_pair = false\n[factors]\ninnodb_flush_log_at_trx_commit = \
             [1, 2]\n\
             rate = [1000, 2000, 4000]\nconnections = [8]\n",
        )
        .with(|trials| {
            for trial in trials {
                let rate = trial.configuration.rate().unwrap();
                let sustained =
                    rate < 4000.0 || trial.configuration.settings_label().ends_with("=2");
                open(trial, rate, sustained);
                if !sustained {
                    trial.measured.as_mut().unwrap().generator_limited =
                        Some(Reason::Text(LATE.to_owned()));
                }
            }
        })
    }

    /// A trial of a version that knew no open loop.
    pub(crate) fn old() -> Self {
        let plan = include_str!("../testdata/before-open-loops/plan.toml");
        let mut fixture = Self::of_plan(plan);
        let experiment = include_str!("../testdata/before-open-loops/experiment.json");
        fixture.run.experiment = serde_json::from_str::<Experiment>(experiment).unwrap();
        let trial =
            serde_json::from_str(include_str!("../testdata/before-open-loops/run.json")).unwrap();
        fixture = fixture.with(|trials| *trials = vec![trial]);
        let lines = include_str!("../testdata/before-open-loops/intervals.jsonl").lines();
        fixture.run.trials[0].intervals =
            lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        fixture
    }
}

/// Makes a trial one of an open loop. Where it is not sustained, 3 % of the starts wait at the end.
pub(crate) fn open(trial: &mut Trial, rate: f64, sustained: bool) {
    let engine = trial.engine.as_mut().unwrap();
    (engine.mode, engine.shares_cores) = (Some(DriveMode::Blocking), Some(true));
    let Some(measured) = &mut trial.measured else { return };
    let scheduled = (rate * 10.0) as u64;
    let queued = if sustained { 0 } else { scheduled * 3 / 100 };
    let started = scheduled - queued;
    measured.tps = started as f64 / 10.0;
    measured.qps = measured.tps;
    (measured.counts.started, measured.counts.ok, measured.counts.statements) =
        (started, started, started);
    let response = &mut measured.response;
    let times = if sustained {
        [300.0, 900.0, 2100.0, 5000.0, 9000.0]
    } else {
        [90e3, 250e3, 310e3, 320e3, 330e3]
    };
    (response.response_us_p50, response.response_us_p95) = (Some(times[0]), Some(times[1]));
    (response.response_us_p99, response.response_us_p999) = (Some(times[2]), Some(times[3]));
    response.response_us_max = Some(times[4]);
    measured.resources.worker_wait_max = Some(0.04);
    measured.open_loop =
        Some(open_loop(StartCounts { scheduled, queued, ..StartCounts::default() }, sustained));
    measured.sustained = Some(sustained);
}

pub(crate) fn open_loop(starts: StartCounts, sustained: bool) -> OpenLoop {
    let lag = if sustained { [12.0, 180.0, 2500.0] } else { [89e3, 309e3, 329e3] };
    OpenLoop {
        starts,
        service_us_p50: Some(290.0),
        service_us_p95: Some(800.0),
        service_us_p99: Some(2000.0),
        service_us_p999: Some(3000.0),
        service_us_max: Some(8800.0),
        lag_us_p50: Some(lag[0]),
        lag_us_p99: Some(lag[1]),
        lag_us_max: Some(lag[2]),
        late_us_p50: Some(11.0),
        late_us_p99: Some(60.0),
        late_us_max: Some(900.0),
    }
}

/// `TRUETPS_SHOW=1 cargo test -p truetps-report show -- --nocapture` prints the texts of these
/// fixtures.
#[test]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn show() {
    if std::env::var_os("TRUETPS_SHOW").is_some() {
        for fixture in [
            Fixture::open_run(1000),
            Fixture::open_run(8000),
            Fixture::rates(),
            Fixture::troubled(),
        ] {
            println!("{}\n=====\n", fixture.input().text(crate::TextScreen::PLAIN));
        }
    }
}
