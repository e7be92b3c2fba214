//! What the main thread and the clients of a command have in common, and the runs of both.

use std::sync::{Arc, Mutex, OnceLock};

use truetps_probe::clock;

use super::command_run::{CommandRun, ServerWarning};
use super::control::Control;
use super::counters::Counters;
use super::pace::RatePace;
use super::usage::Usage;
use crate::interrupt::Interrupt;
use crate::options::RunSettings;
use crate::output::MessageLog;
use crate::rand::{Unique, Xoroshiro};

/// Threads with their own tally of events; more than this share them to save memory. With a rate
/// each tally has four histograms of 230 KB instead of one.
const TALLIES_MAX: u32 = 64;
const TALLIES_WITH_RATE_MAX: u32 = 16;

#[derive(Clone)]
pub(crate) struct CommandShared {
    pub(crate) log: Arc<MessageLog>,
    interrupt: Interrupt,
    unique: Arc<Unique>,
    seed: u64,
}

impl CommandShared {
    /// `seed`: of all random numbers; `None`: a random one.
    pub(crate) fn new(log: Arc<MessageLog>, interrupt: Interrupt, seed: Option<i32>) -> Self {
        let seed = seed.map_or_else(any_seed, |seed| seed.cast_unsigned().into());
        // Unique numbers continue from run to run: they do not depend on the seed, or keys of the
        // last run would be repeated.
        let mut chance = Xoroshiro::from_seed(any_seed(), 0);
        let unique = Arc::new(Unique::new(chance.next_u64() as u32, chance.next_u64() as u32));
        Self { log, interrupt, unique, seed }
    }

    /// For the main thread's state, which is not a client: nothing limits it, and no figure counts
    /// its statements.
    pub(crate) fn run_of_main_thread(
        &self,
        settings: RunSettings,
        server_warning: Option<ServerWarning>,
    ) -> Arc<CommandRun> {
        let (control, counters, usage) =
            (Control::new(0, false), Counters::new(0, 1, 1, false), Usage::new(0));
        Arc::new(self.run(settings, control, counters, usage, server_warning))
    }

    /// For all clients on these threads.
    pub(crate) fn run_of_clients(&self, settings: RunSettings, threads: u32) -> Arc<CommandRun> {
        let part = settings.ours.part;
        let control = Control::new(settings.events.unwrap_or(0), !settings.warmup.is_zero());
        let now_ns = control.now_ns();
        let control = control.with_pace(settings.rate.map(|rate| {
            RatePace::new(rate.into(), Xoroshiro::from_seed(self.seed, u64::MAX), now_ns, part)
        }));
        let has_rate = settings.rate.is_some();
        let tallies_max = if has_rate { TALLIES_WITH_RATE_MAX } else { TALLIES_MAX };
        let counters =
            Counters::new(settings.threads, threads, tallies_max, has_rate).of_parts(part.of);
        Arc::new(self.run(settings, control, counters, Usage::new(threads), None))
    }

    fn run(
        &self,
        settings: RunSettings,
        control: Control,
        counters: Counters,
        usage: Usage,
        server_warning: Option<ServerWarning>,
    ) -> CommandRun {
        CommandRun {
            control,
            counters,
            usage,
            server_warning,
            settings,
            seed: self.seed,
            log: Arc::clone(&self.log),
            unique: Arc::clone(&self.unique),
            interrupt: self.interrupt.clone(),
            notes: Mutex::default(),
            server: OnceLock::new(),
            started_at: clock::now_rfc3339(),
        }
    }
}

/// A seed from the system's own random numbers, below 2^63.
fn any_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 1
}
