//! `--part`: a run as one part of a load. How the parts meet is the caller's.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use truetps_driver::Target;
use truetps_plan::Plan;
use truetps_record::{CommonStart, Experiment, Part, PartOfExperiment, fnv1a};

use crate::rand::Unique;
use crate::recording::{new_experiment, plan_of};
use crate::run::WorkerContext;

/// What a part tells the others, or compares with them, before the first event.
#[derive(Debug)]
pub struct PartsRequest<'a> {
    /// The server in which they meet.
    pub target: Target,
    pub part: Part,
    /// How long they wait for each other.
    pub wait: Duration,
    /// The plan of all parts together.
    pub plan: &'a Plan,
    pub experiment: &'a Experiment,
    /// What must be the same in all parts: the plan, the script and its options.
    pub alike: &'a str,
    /// Set by the user: ends all waits.
    pub stop: &'a AtomicBool,
}

/// The meeting of a part with the others. When it is dropped, the part has left.
pub trait PartsMeeting {
    /// Equal in all parts of a load, and in no other.
    fn name(&self) -> &str;

    /// All clients are ready: waits for the other parts. Returns the moment of the first event in
    /// all of them, or why there is none.
    fn start(&mut self) -> Result<(Instant, CommonStart), String>;

    /// The events are over. `problem`: why the figures of this part are no evidence. Returns why
    /// the load as a whole is none.
    fn end(&mut self, problem: Option<&str>) -> Option<String>;
}

/// Lets a part meet the others; the error is a message for the user.
pub type MeetParts<'a> =
    &'a (dyn for<'r> Fn(PartsRequest<'r>) -> Result<Box<dyn PartsMeeting + 'r>, String> + Sync);

/// This run as a part of a load, before it meets the others.
pub(crate) struct PlannedPart {
    plan: Plan,
    experiment: Experiment,
    alike: String,
}

/// This run as a part of a load.
pub(crate) struct RunningPart<'a> {
    pub(crate) of: PartOfExperiment,
    pub(crate) meeting: Box<dyn PartsMeeting + 'a>,
}

impl PlannedPart {
    /// `None`: this process makes the whole load.
    pub(crate) fn of(context: &WorkerContext) -> Option<Self> {
        if context.run.settings.ours.part.is_whole() {
            return None;
        }
        let plan = plan_of(context);
        let (script, ..) = context.script.sources.recorded();
        let mut alike = plan.to_toml();
        let sha256 = script.sha256.unwrap_or_default();
        writeln!(alike, "sha256 of the script = {sha256}").expect("a String takes everything");
        for line in context.options.typed_for_script() {
            writeln!(alike, "{line}").expect("a String takes everything");
        }
        Some(Self { experiment: new_experiment(context, &plan), plan, alike })
    }

    /// Meets the other parts. Unique numbers are shared among all parts from now on.
    pub(crate) fn meet<'a>(
        &'a self,
        context: &mut WorkerContext,
        stop: &'a AtomicBool,
        meet: MeetParts<'_>,
    ) -> Result<RunningPart<'a>, String> {
        let target = context.drivers.expected_target().ok_or(
            "--part needs the server's address in the options (--mysql-*, --pgsql-* or --dsn): the \
             parts meet there",
        )?;
        let ours = &context.run.settings.ours;
        let (part, wait) = (ours.part, ours.part_wait);
        let Self { plan, experiment, alike } = self;
        let meeting = meet(PartsRequest { target, part, wait, plan, experiment, alike, stop })?;
        let of =
            PartOfExperiment { part, pid: std::process::id(), meeting: meeting.name().to_owned() };
        // Of no other load, as far as hashes differ: its keys may still be there.
        let [start, sequence] = ["start", "sequence"]
            .map(|what| fnv1a(format!("{what} {}", of.meeting).as_bytes()) as u32);
        let run = Arc::get_mut(&mut context.run).expect("no thread has been started yet");
        run.unique = Unique::of_part(start, sequence, part).into();
        Ok(RunningPart { of, meeting })
    }
}
