//! What disturbed a trial: which of its surroundings count, and the words for them.
//! `docs/method/disturbances.md` has the same thresholds.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::{OtherRun, ProgramUse, Trial, TrialSurroundings};

/// Other programs used this share of the host's cores.
const OTHERS_MIN: f64 = 0.10;
/// From this share on, with fewer than [`IDLE_MIN`] of the cores idle, they decide the figures.
const OTHERS_GRAVE: f64 = 0.25;
/// With this share of the cores idle no program waited for one.
const IDLE_MIN: f64 = 0.10;
/// Other guests of the machine took this share of the host's CPU time.
const STEAL_MIN: f64 = 0.05;
const STEAL_GRAVE: f64 = 0.25;
/// Some task waited for memory for this share of the time.
const MEMORY_MIN: f64 = 0.10;
/// A CPU quota stopped server or generator in this share of its periods.
const THROTTLED_MIN: f64 = 0.10;
const CLOCK_STEP_MIN_MS: f64 = 100.0;

/// One disturbance, with what was measured of it. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Disturbance {
    OtherPrograms { cores: f64, of_cores: f64, idle_cores: f64, largest: Vec<ProgramUse> },
    OtherRuns { commands: BTreeSet<String> },
    Steal { share: f64 },
    MemoryPressure { share: f64 },
    Throttled { share: f64 },
    ClockStep { ms: f64 },
    Traced { by: String },
    ServerStopped { looks: u32, of: u32 },
}

/// What went on beside a load, of which the disturbances are a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadSurroundings<'a> {
    pub(crate) surroundings: Option<&'a TrialSurroundings>,
    pub(crate) steal: Option<f64>,
    pub(crate) beside: &'a [OtherRun],
}

impl Trial {
    /// The gravest first.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let steal = self.measured.as_ref().and_then(|measured| measured.resources.steal);
        let surroundings = self.surroundings.as_ref();
        LoadSurroundings { surroundings, steal, beside: &self.beside }.disturbances()
    }

    /// The first disturbance that decides the figures: a trial without it says more.
    pub fn grave_disturbance(&self) -> Option<Disturbance> {
        self.disturbances().into_iter().find(Disturbance::is_grave)
    }
}

impl LoadSurroundings<'_> {
    /// The gravest first.
    pub(crate) fn disturbances(&self) -> Vec<Disturbance> {
        let mut found: Vec<_> = self.of_host().into_iter().chain(self.of_programs()).collect();
        found.sort_by_key(|one| !one.is_grave());
        found
    }

    fn of_host(&self) -> Vec<Disturbance> {
        let steal = self.steal.filter(|share| *share >= STEAL_MIN);
        let steal = steal.map(|share| Disturbance::Steal { share });
        let runs: BTreeSet<_> = self.beside.iter().map(|other| other.command.clone()).collect();
        let runs = (!runs.is_empty()).then_some(Disturbance::OtherRuns { commands: runs });
        steal.into_iter().chain(runs).collect()
    }

    fn of_programs(&self) -> Vec<Disturbance> {
        let Some(beside) = self.surroundings else { return Vec::new() };
        let others = beside.other_programs.as_ref().filter(|others| others.share() >= OTHERS_MIN);
        let found = [
            others.map(|others| Disturbance::OtherPrograms {
                cores: others.cores,
                of_cores: others.of_cores,
                idle_cores: others.idle_cores,
                largest: others.largest.clone(),
            }),
            beside
                .memory_pressure
                .filter(|share| *share >= MEMORY_MIN)
                .map(|share| Disturbance::MemoryPressure { share }),
            beside
                .throttled
                .filter(|share| *share >= THROTTLED_MIN)
                .map(|share| Disturbance::Throttled { share }),
            beside
                .clock_step_ms
                .filter(|ms| ms.abs() >= CLOCK_STEP_MIN_MS)
                .map(|ms| Disturbance::ClockStep { ms }),
            beside.tracer.clone().map(|by| Disturbance::Traced { by }),
            beside
                .server_stopped
                .zip(beside.server_looks)
                .filter(|(looks, _)| *looks > 0)
                .map(|(looks, of)| Disturbance::ServerStopped { looks, of }),
        ];
        found.into_iter().flatten().collect()
    }
}

impl Disturbance {
    /// Whether it decides the figures.
    pub fn is_grave(&self) -> bool {
        match self {
            Self::OtherPrograms { cores, of_cores, idle_cores, .. } => {
                *cores >= OTHERS_GRAVE * of_cores && *idle_cores < IDLE_MIN * of_cores
            }
            Self::Steal { share } => *share >= STEAL_GRAVE,
            Self::Traced { .. } | Self::ServerStopped { .. } => true,
            Self::OtherRuns { .. }
            | Self::MemoryPressure { .. }
            | Self::Throttled { .. }
            | Self::ClockStep { .. } => false,
        }
    }

    /// Whether two trials had the same kind of disturbance.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// One for the disturbances of several trials: the largest, with the names of all.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::OtherRuns { mut commands }, Self::OtherRuns { commands: more }) => {
                commands.extend(more);
                Self::OtherRuns { commands }
            }
            (one, other) if other.size() > one.size() => other,
            (one, _) => one,
        }
    }

    fn size(&self) -> f64 {
        match self {
            Self::OtherPrograms { cores, .. } => *cores,
            Self::Steal { share } | Self::MemoryPressure { share } | Self::Throttled { share } => {
                *share
            }
            Self::ClockStep { ms } => ms.abs(),
            Self::ServerStopped { looks, of } => f64::from(*looks) / f64::from((*of).max(1)),
            Self::OtherRuns { .. } | Self::Traced { .. } => 0.0,
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(""))
    }
}

impl Disturbance {
    /// The largest one of several trials.
    pub fn at_most(&self) -> String {
        self.sentence("up to ")
    }

    fn sentence(&self, up_to: &str) -> String {
        match self {
            Self::OtherPrograms { cores, of_cores, largest, .. } => {
                let names: Vec<_> =
                    largest.iter().map(|one| format!("{} {:.1}", one.name, one.cores)).collect();
                let sign = if names.is_empty() { "" } else { ": " };
                let names = names.join(", ");
                format!("other programs used {up_to}{cores:.1} of {of_cores:.0} cores{sign}{names}")
            }
            Self::OtherRuns { commands } => {
                let names: Vec<_> =
                    commands.iter().map(|command| format!("truetps {command}")).collect();
                let names = names.join(", ");
                format!("{names} also put load on this host: the figures may be too low")
            }
            Self::Steal { share } => {
                let percent = share * 100.0;
                format!("other guests of the machine took {up_to}{percent:.0} % of the CPU time")
            }
            Self::MemoryPressure { share } => {
                let percent = share * 100.0;
                format!("programs waited for memory for {up_to}{percent:.0} % of the time")
            }
            Self::Throttled { share } => {
                let percent = share * 100.0;
                format!(
                    "a CPU quota stopped server or generator in {up_to}{percent:.0} % of its \
                     periods"
                )
            }
            Self::ClockStep { ms } => {
                let direction = if *ms > 0.0 { "forward" } else { "back" };
                let seconds = ms.abs() / 1e3;
                format!(
                    "the clock was set {direction} by {up_to}{seconds:.1} s: times in logs are \
                     off, durations are not"
                )
            }
            Self::Traced { by } => {
                format!("{by} traced the server: it was slower than by itself")
            }
            Self::ServerStopped { looks, of } => format!(
                "the server's process was stopped by a signal at {up_to}{looks} of {of} looks at it"
            ),
        }
    }
}
