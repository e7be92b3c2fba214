//! `truetps probe`: watches a server without load.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{DriverError, Target};
use truetps_lab::{Watch, Watched};
use truetps_probe::{clock, host_facts};
use truetps_record::{ProbeFolder, ProbeRun, ProbeSource, ProbeSpec, ProbeSummary, SCHEMA_VERSION, ServerFacts};

use crate::answer::shown;
use crate::args::{TableFormat, WatchArgs};
use crate::commands::instance::owner_of;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::login::{Sources, target};
use crate::probe_text::{Meter, table};
use crate::{print_out, say, signals};

/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(20);
/// What comes later than this at the end is not waited for.
const LAST_SAMPLE: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let spec = ProbeSpec { interval_s: args.interval.as_secs_f64(), ..ProbeSpec::default() };
    spec.check().map_err(|error| Failure::usage(format!("--interval: {error}")))?;
    let target = target_of(args)?;
    let watched = Watched::log_in(&target, None).map_err(|error| refused(&target, &error))?;
    let server = ServerFacts::from_version_text(watched.version_text().unwrap_or_default());
    let mut about = ProbeRun {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        target: target.to_string(),
        server,
        hostname: host_facts(&args.runs, None).hostname,
        started_at: clock::now_rfc3339(),
        ended_at: None,
    };
    let stop = signals::stop_flag()?;
    let name = format!("probe-{}", clock::folder_stamp());
    let folder = ProbeFolder::create(&args.runs, &name, &about).map_err(Failure::usage)?;
    let mut watch = Watch::begin(watched, args.interval, |header| folder.begin(header)).map_err(Failure::failed)?;
    watch.clock(Instant::now());
    watch_until(&mut watch, args.duration, &stop);
    let error = watch.end();
    about.ended_at = Some(clock::now_rfc3339());
    folder.write(&about).map_err(Failure::failed)?;
    if let Some(error) = error {
        return Err(Failure::failed(format!("not recorded to the end: {error}")));
    }
    let exit = show(&folder, args.format)?;
    let path = shown(folder.path());
    say(&format!("\nSaved  {}\nNext   truetps report {}\n", path.display(), path.display()));
    Ok(exit)
}

/// The owner of a server with a name needs no password, and gets nobody's.
fn target_of(args: &WatchArgs) -> Result<Target, Failure> {
    let named = if args.server.contains("://") { None } else { owner_of(&args.sandbox, &args.server)? };
    let sources = Sources::of_one(args.login.defaults_file.as_deref(), args.login.ask_password);
    named.map_or_else(|| target(&args.server, "DSN", &sources), Ok)
}

fn refused(target: &Target, error: &DriverError) -> Failure {
    let message = format!("{target}: {error}");
    let failure = if error.is_refused_login() { Failure::usage(message) } else { Failure::failed(message) };
    failure.hint(error.hint())
}

/// A line for each sample of the server, on stderr.
fn watch_until(watch: &mut Watch, duration: Option<Duration>, stop: &AtomicBool) {
    let began = Instant::now();
    let mut meter = Meter::default();
    loop {
        for sample in watch.samples() {
            if let Some(line) = meter.line(&sample).filter(|_| sample.source == ProbeSource::Server) {
                say(&(line + "\n"));
            }
        }
        if stop.load(Ordering::Relaxed) || duration.is_some_and(|duration| began.elapsed() >= duration + LAST_SAMPLE) {
            return watch.mark();
        }
        thread::sleep(LOOK);
    }
}

/// What was seen, again from the folder.
pub(crate) fn show(folder: &ProbeFolder, format: TableFormat) -> Result<Exit, Failure> {
    let (run, series) = (folder.run().map_err(Failure::failed)?, folder.series().map_err(Failure::failed)?);
    let summary = ProbeSummary::of(run, &series);
    Ok(print_out(&match format {
        TableFormat::Json => summary.to_json(),
        TableFormat::Text | TableFormat::Csv | TableFormat::Md => table(&summary, format),
    }))
}

/// The folder of a probe, where this is one.
pub(crate) fn folder_of(path: Option<&Path>) -> Option<ProbeFolder> {
    ProbeFolder::open(path?)
}
