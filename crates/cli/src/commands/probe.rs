//! `truetps probe`: watches a server without load.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_archive::RecordedProbe;
use truetps_driver::{DriverError, Target};
use truetps_folder::{FolderError, ProbeFolder};
use truetps_knowledge::platform_of;
use truetps_measure::SuspensionWatch;
use truetps_plan::ProbeSpec;
use truetps_probe::{clock, host_facts};
use truetps_record::{ProbeRun, SCHEMA_VERSION, ServerFacts, Suspension};
use truetps_recording::{TrialWatch, WatchedServer};
use truetps_report::ProbeMetrics;

use crate::answer::print_answer;
use crate::args::{AnswerForm, WatchArgs};
use crate::commands::instance::target_of;
use crate::exit::Exit;
use crate::exporter::{BoundExporter, Exporter};
use crate::failure::CommandFailure;
use crate::live_view::LiveViewOpener;
use crate::probe_picture::ProbePicture;
use crate::probe_text::ProbeLines;
use crate::terminal::{is_quiet, print_line, print_message, print_progress};
use crate::terminal::{shell_path, shown, terminal_columns};
use crate::{signals, ui};

const NO_ROOM: &str = "make room, or name a writable folder with --runs (or TRUETPS_RUNS)";
/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn run(args: &WatchArgs) -> Result<Exit, CommandFailure> {
    check_times(args)?;
    let bound = BoundExporter::bind(&args.listening)?;
    if args.ui {
        ui::check()?;
    }
    let target = target_of(&args.server)?;
    let mut watched =
        WatchedServer::log_in(&target, None).map_err(|error| refused(&target, &error))?;
    let mut about = record_of(args, &target, &mut watched);
    // The signals belong to the picture, where there is one.
    let views = if args.ui { Some(LiveViewOpener::listen(Arc::default())?) } else { None };
    let stop = match &views {
        Some(views) => Arc::clone(&views.stop),
        None => signals::stop_flag()?,
    };
    let name = format!("probe-{}", clock::folder_stamp());
    let folder = ProbeFolder::create(&args.runs, &name, &about)
        .map_err(|error| CommandFailure::from(error).or_hint(NO_ROOM))?;
    let watch = TrialWatch::start(watched, args.interval, |header| folder.begin(header));
    let mut watch = watch.map_err(|error| CommandFailure::broken(error).or_hint(NO_ROOM))?;
    for text in watch.not_started() {
        print_line(&format!("warning: {text}"));
    }
    let zero = Instant::now();
    let exporter = bound.map(|bound| {
        print_line(&format!("Listening on http://{}/metrics", bound.address()));
        bound.with(ProbeMetrics::new(watch.header(), &about.server, &about.tool_version), zero)
    });
    let mut suspended = Suspended { watch: SuspensionWatch::start(), zero, reported: 0 };
    let display = if let Some(views) = &views {
        let picture = views.open_for_server(&format!("probe of {target}"))?;
        ProbeDisplay::Picture(Box::new(ProbePicture::new(picture, watch.header())))
    } else {
        let lines =
            ProbeLines::new(watch.header(), terminal_columns(std::io::stderr())).quiet(is_quiet());
        ProbeDisplay::Lines(Box::new(lines))
    };
    let mut view = ProbeView { display, exporter };
    let error = watch_until(&mut watch, args, &mut view, &mut suspended, &stop);
    // The picture ends before anything is printed.
    drop(view);
    let error = error.or_else(|| {
        about.suspensions = suspended.watch.since(zero);
        about.ended_at = Some(clock::now_rfc3339());
        about.kept_bytes = folder.kept_bytes().ok();
        folder.write(&about).err()
    });
    finish(&folder, error.as_ref(), args)
}

/// What the folder says about the probe as it begins.
fn record_of(args: &WatchArgs, target: &Target, watched: &mut WatchedServer) -> ProbeRun {
    let server = ServerFacts::from_version_text(watched.version_text().unwrap_or_default());
    let settings = watched.settings().unwrap_or_default();
    let platform = platform_of(
        server.flavour,
        settings.iter().map(|(name, value)| (name.as_str(), value.as_str())),
    );
    ProbeRun {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        target: target.to_string(),
        server,
        platform: platform.map(|platform| platform.name.clone()),
        hostname: host_facts(&args.runs, None).hostname,
        started_at: clock::now_rfc3339(),
        ended_at: None,
        kept_bytes: None,
        suspensions: Vec::new(),
    }
}

/// Answers from the folder. `error`: why it was not recorded to the end.
fn finish(
    folder: &ProbeFolder,
    error: Option<&FolderError>,
    args: &WatchArgs,
) -> Result<Exit, CommandFailure> {
    let recorded = RecordedProbe::read(folder).map_err(unreadable);
    let exit = recorded.and_then(|run| show(&run, args.answer.form()));
    print_progress(&format!(
        "\nSaved  {}\nNext   truetps report {}\n",
        shown(folder.path()).display(),
        shell_path(folder.path())
    ));
    if let Some(error) = error {
        return Err(CommandFailure::failed(format!("not recorded to the end: {error}"))
            .advised_by(error)
            .or_hint(NO_ROOM));
    }
    exit
}

/// Checks the times before any query: a probe needs two readings, at a valid interval.
fn check_times(args: &WatchArgs) -> Result<(), CommandFailure> {
    let spec = ProbeSpec { interval_s: args.interval.as_secs_f64(), ..ProbeSpec::default() };
    spec.check().map_err(|problem| {
        CommandFailure::usage(format!("`--interval`: {problem}"))
            .hint("for example --interval 250ms")
    })?;
    if let Some(duration) = args.duration.filter(|duration| *duration < args.interval) {
        let (shown, interval) =
            (humantime::format_duration(duration), humantime::format_duration(args.interval));
        let message = format!(
            "`--duration`: {shown} is shorter than the interval of {interval}: there would be no \
             rate"
        );
        return Err(
            CommandFailure::usage(message).hint("watch for longer, or more often with --interval")
        );
    }
    Ok(())
}

fn refused(target: &Target, error: &DriverError) -> CommandFailure {
    let message = format!("{target}: {error}");
    let failure = if error.is_refused_login() {
        CommandFailure::usage(message)
    } else {
        CommandFailure::failed(message)
    };
    failure.advised_by(error)
}

/// Shows each sample. Returns the error if samples could not be kept: the probe then ends.
fn watch_until(
    watch: &mut TrialWatch,
    args: &WatchArgs,
    view: &mut ProbeView,
    suspended: &mut Suspended,
    stop: &AtomicBool,
) -> Option<FolderError> {
    let zero = suspended.zero;
    watch.clock(zero);
    watch.mark();
    loop {
        let now = zero.elapsed();
        let left = args.duration.map(|duration| duration.saturating_sub(now));
        view.tell(watch, now, left, suspended);
        if stop.load(Ordering::Relaxed) || left == Some(Duration::ZERO) || !watch.is_recording() {
            break;
        }
        thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
    }
    watch.mark();
    let error = watch.end();
    view.tell(watch, zero.elapsed(), None, suspended);
    error
}

/// When truetps itself did not run, and how much of that was reported.
struct Suspended {
    watch: SuspensionWatch,
    zero: Instant,
    reported: usize,
}

impl Suspended {
    /// Suspensions since the last call.
    fn take_new(&mut self) -> Vec<Suspension> {
        let all = self.watch.since(self.zero);
        let new = all[self.reported.min(all.len())..].to_vec();
        self.reported = all.len();
        new
    }
}

fn print_suspension(suspension: &Suspension) {
    let (at, length) = (suspension.end_ms() / 1e3, suspension.length_ms / 1e3);
    print_message(&format!(
        "{at:.1}s  truetps itself was suspended for {length:.1} s: the server was not watched then\n"
    ));
}

/// What shows the readings while the probe runs.
struct ProbeView {
    display: ProbeDisplay,
    exporter: Option<Exporter>,
}

enum ProbeDisplay {
    Lines(Box<ProbeLines>),
    Picture(Box<ProbePicture>),
}

impl ProbeView {
    /// Shows the readings since the last call.
    fn tell(
        &mut self,
        watch: &TrialWatch,
        now: Duration,
        left: Option<Duration>,
        suspended: &mut Suspended,
    ) {
        let new = suspended.take_new();
        let samples: Vec<_> = watch.samples().collect();
        if let Some(exporter) = &self.exporter {
            for suspension in &new {
                exporter.suspended(*suspension);
            }
            for sample in &samples {
                exporter.sample(sample);
            }
            exporter.accept();
        }
        match &mut self.display {
            ProbeDisplay::Lines(lines) => {
                lines.note_look(now);
                new.iter().for_each(print_suspension);
                for line in
                    samples.iter().flat_map(|sample| lines.sample(sample)).collect::<Vec<_>>()
                {
                    print_line(&line);
                }
                if let Some(line) = lines.outage() {
                    print_line(&line);
                }
            }
            ProbeDisplay::Picture(picture) => {
                for sample in samples {
                    picture.sample(&sample, left);
                }
            }
        }
    }
}

/// Prints the summary. It is a failure if the server did not answer at the end.
pub(crate) fn show(run: &RecordedProbe, form: AnswerForm) -> Result<Exit, CommandFailure> {
    if let Some(damage) = &run.summary.damage {
        print_line(&format!("warning: {}: probe.jsonl: {damage}", shown(&run.path).display()));
    }
    let exit = print_answer(run, form)?;
    if run.summary.answers_at_end {
        return Ok(exit);
    }
    let message = format!("{}: the server did not answer at the end", run.summary.run.target);
    Err(CommandFailure::failed(message)
        .hint("the readings until then are kept; see the server's error log"))
}

/// Why a folder gives no summary.
pub(crate) fn unreadable(error: FolderError) -> CommandFailure {
    CommandFailure::broken(error).or_hint(
        "probe.json and probe.jsonl record the probe: if one is missing, cut off or edited, \
         restore the file that truetps has written",
    )
}

/// The folder of a probe, where this is one.
pub(crate) fn folder_of(path: Option<&Path>) -> Option<ProbeFolder> {
    ProbeFolder::open(path?)
}

/// Refuses the folder of a probe in a command that is about trials.
pub(crate) fn refuse_folder(path: Option<&Path>) -> Result<(), CommandFailure> {
    let Some(folder) = folder_of(path) else { return Ok(()) };
    let path = shown(folder.path()).display().to_string();
    let message = format!(
        "{path}: the folder of a probe (`truetps probe`): it watched a server and has no trial"
    );
    Err(CommandFailure::usage(message)
        .hint(format!("truetps report {}", shell_path(folder.path()))))
}
