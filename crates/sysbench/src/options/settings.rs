//! The known options: read, checked and combined.

use std::time::Duration;

use super::lookup::Lookup;
use super::{Notice, OptionRefusal, Ours, RandSettings, limits, number};

/// With more, a run would not measure the server any more.
const THREADS_MAX: i32 = 1_000_000;
/// More frequent reports would be most of the work.
const REPORT_INTERVAL_MIN: f64 = 0.01;
const REPORT_INTERVAL_MAX: f64 = 31_536_000.0;
const VERBOSITY_MAX: u8 = 5;

/// Names of 0.5, and their replacements.
const OLD_NAMES: [(&str, &str); 4] = [
    ("num-threads", "threads"),
    ("max-requests", "events"),
    ("max-time", "time"),
    ("tx-rate", "rate"),
];

/// All settings of a run except servers and the script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSettings {
    /// Clients: 1 to 1 000 000.
    pub(crate) threads: u32,
    /// Events of all clients together. None: no limit.
    pub(crate) events: Option<u64>,
    /// None: no limit.
    pub(crate) time: Option<Duration>,
    pub(crate) warmup: Duration,
    /// Since the start of the run. None: never.
    pub(crate) forced_shutdown: Option<Duration>,
    pub(crate) thread_init_timeout: Duration,
    /// Events a second of all clients together. None: as many as possible.
    pub(crate) rate: Option<u32>,
    /// None: no intermediate reports.
    pub(crate) report_interval: Option<Duration>,
    /// Seconds after the start, ascending.
    pub(crate) checkpoints: Vec<u32>,
    pub(crate) debug: bool,
    pub(crate) validate: bool,
    /// None: none is reported.
    pub(crate) percentile: Option<u8>,
    pub(crate) histogram: bool,
    /// 0 (only fatal messages) to 5 (everything); `--debug` makes it 5.
    pub(crate) verbosity: u8,
    /// The argument of `luajit -j`; empty for none.
    pub(crate) luajit_cmd: Vec<u8>,
    pub(crate) rand: RandSettings,
    pub(crate) ours: Ours,
}

impl RunSettings {
    /// Reads and checks all of them, in sysbench's order, and returns the warnings to print first.
    ///
    /// # Errors
    ///
    /// The first wrong value; the refusal contains earlier warnings.
    pub(super) fn read(lookup: &Lookup<'_>) -> Result<(Self, Vec<Notice>), OptionRefusal> {
        let mut notices = Vec::new();
        match Self::read_noting(lookup, &mut notices) {
            Ok(settings) => Ok((settings, notices)),
            Err(refusal) => Err(OptionRefusal { notices, ..refusal }),
        }
    }

    /// The share of this part: clients, and events if their number is limited. A rate stays: each
    /// part makes its own starts of the one schedule.
    pub(crate) fn of_part(&self) -> Self {
        let part = self.ours.part;
        let threads = part.share(self.threads.into()) as u32;
        Self { threads, events: self.events.map(|events| part.share(events)), ..self.clone() }
    }

    fn read_noting(lookup: &Lookup<'_>, notices: &mut Vec<Notice>) -> Result<Self, OptionRefusal> {
        let threads = renamed(lookup, notices, "num-threads", "threads")?;
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(OptionRefusal::invalid_limit("--threads", threads));
        }
        let events = renamed(lookup, notices, "max-requests", "events")?;
        let time = seconds(renamed(lookup, notices, "max-time", "time")?);
        if events <= 0 && time.is_none() {
            notices.push(Notice::warning(
                "Both event and time limits are disabled, running an endless test",
            ));
        }
        let warmup = lookup.int("warmup-time")?;
        if warmup < 0 {
            return Err(OptionRefusal::invalid_limit("--warmup-time", warmup));
        }
        let forced_shutdown = limits::forced_shutdown(lookup.bytes("forced-shutdown"), time)?;
        if number::size(lookup.bytes("thread-stack-size")) == 0 {
            return Err(OptionRefusal::invalid_limit("thread-stack-size", 0));
        }
        let init_timeout = lookup.int("thread-init-timeout")?;
        if init_timeout < 1 {
            return Err(OptionRefusal::invalid_limit("--thread-init-timeout", init_timeout));
        }
        let rate = renamed(lookup, notices, "tx-rate", "rate")?;
        let Ok(rate) = u32::try_from(rate) else {
            return Err(OptionRefusal::invalid_limit("--rate", rate));
        };
        let report_interval = report_interval(lookup)?;
        let rand = RandSettings::read(lookup)?;
        let ours = Ours::read(lookup)?;
        if lookup.strict {
            check_part(&ours, threads as u32, events, &rand)?;
        }
        let checkpoints = limits::checkpoints(&lookup.list("report-checkpoints"))?;
        let debug = lookup.switch("debug");
        let verbosity = verbosity(lookup)?;
        let histogram = lookup.switch("histogram");
        Ok(Self {
            threads: threads as u32,
            events: (events > 0).then_some(events as u64),
            time,
            warmup: Duration::from_secs(warmup as u64),
            forced_shutdown,
            thread_init_timeout: Duration::from_secs(init_timeout as u64),
            rate: (rate > 0).then_some(rate),
            report_interval,
            checkpoints,
            debug,
            validate: lookup.switch("validate"),
            percentile: percentile(lookup, histogram)?,
            histogram,
            verbosity: if debug { VERBOSITY_MAX } else { verbosity },
            luajit_cmd: lookup.bytes("luajit-cmd").to_vec(),
            rand,
            ours,
        })
    }
}

/// All parts draw different numbers of one seed, and each has a client.
fn check_part(
    ours: &Ours,
    threads: u32,
    events: i32,
    rand: &RandSettings,
) -> Result<(), OptionRefusal> {
    let of = ours.part.of;
    let problem = if ours.part.is_whole() {
        return Ok(());
    } else if rand.seed.is_none() {
        "--part needs --rand-seed=N, the same in all parts".to_owned()
    } else if threads < of {
        format!("--part divides the clients of all parts: --threads={threads} is less than {of}")
    } else if (1..of as i32).contains(&events) {
        format!("--part divides the events of all parts: --events={events} is less than {of}")
    } else {
        return Ok(());
    };
    Err(OptionRefusal::usage(problem))
}

/// The value of a renamed option; using the old name gives a warning. If both are given, the old
/// name takes precedence. 0 under the old name (1 for threads, and a negative time) counts as not
/// given.
fn renamed(
    lookup: &Lookup<'_>,
    notices: &mut Vec<Notice>,
    old: &str,
    new: &str,
) -> Result<i32, OptionRefusal> {
    let number = lookup.int(old)?;
    if !is_used(old, number) {
        return lookup.int(new);
    }
    notices.push(Notice::warning(&format!("--{old} is deprecated, use --{new} instead")));
    Ok(number)
}

fn is_used(old: &str, number: i32) -> bool {
    match old {
        "num-threads" => !matches!(number, 0 | 1),
        "max-time" => number > 0,
        _ => number != 0,
    }
}

/// Options that determine the value of another one: its name and the text that scripts see there.
pub(super) fn decided(lookup: &Lookup<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let old = OLD_NAMES
        .into_iter()
        .filter(|(old, _)| lookup.int(old).is_ok_and(|number| is_used(old, number)));
    let mut decided: Vec<_> = old.map(|(old, new)| (new, lookup.bytes(old).to_vec())).collect();
    if lookup.switch("debug") {
        decided.push(("verbosity", b"5".to_vec()));
    }
    decided
}

/// None for 0 and, as in sysbench, for negative numbers.
fn seconds(number: i32) -> Option<Duration> {
    (number > 0).then(|| Duration::from_secs(number as u64))
}

/// sysbench accepts only whole seconds, including meaningless negative ones.
fn report_interval(lookup: &Lookup<'_>) -> Result<Option<Duration>, OptionRefusal> {
    let text = lookup.bytes("report-interval");
    let number = number::int(text).map(f64::from).or_else(|| number::strict_double(text));
    match number {
        Some(0.0) => Ok(None),
        Some(number) if (REPORT_INTERVAL_MIN..=REPORT_INTERVAL_MAX).contains(&number) => {
            Ok(Some(Duration::from_secs_f64(number)))
        }
        _ => Err(OptionRefusal::invalid_value(b"report_interval", text)),
    }
}

fn verbosity(lookup: &Lookup<'_>) -> Result<u8, OptionRefusal> {
    let number = lookup.int("verbosity")?;
    let fine = u8::try_from(number).ok().filter(|number| *number <= VERBOSITY_MAX);
    fine.ok_or_else(|| OptionRefusal::logged(format!("Invalid value for verbosity: {number}")))
}

fn percentile(lookup: &Lookup<'_>, histogram: bool) -> Result<Option<u8>, OptionRefusal> {
    let number = lookup.int("percentile")?;
    let Some(percentile) = u8::try_from(number).ok().filter(|number| *number <= 100) else {
        return Err(OptionRefusal::fatal(format!("Invalid value for --percentile: {number}")));
    };
    if percentile == 0 && histogram {
        return Err(OptionRefusal::fatal("--histogram cannot be used with --percentile=0"));
    }
    Ok((percentile > 0).then_some(percentile))
}
