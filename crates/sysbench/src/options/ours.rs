//! Options that sysbench does not have.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use truetps_plan::ProbeSpec;
use truetps_record::Part;

use super::lookup::Lookup;
use super::{OptionRefusal, SysbenchRelease, number, value};

/// The scope of a Lua state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LuaIsolation {
    /// truetps chooses.
    Auto,
    /// An OS thread, which runs several clients.
    Worker,
    /// One client, as in sysbench.
    Client,
}

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SysbenchFormat {
    Text,
    /// One JSON document, which is the only content of the standard output.
    Json,
}

/// Values of truetps's own options. If a script declares one of their names, the value here is the
/// default ([`SysbenchOptions::taken`](super::SysbenchOptions::taken)).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ours {
    pub(crate) lua_isolation: LuaIsolation,
    /// OS threads. `None`: truetps chooses.
    pub(crate) workers: Option<u32>,
    /// Each above 0 and below 100, in the order given.
    pub(crate) percentiles: Vec<f64>,
    /// Whether latency is reported of each statement.
    pub(crate) latency_by_statement: bool,
    pub(crate) errors_by_class: bool,
    pub(crate) format: SysbenchFormat,
    /// How long to wait for the end of events after `--time`. None: for ever.
    pub(crate) drain_timeout: Option<Duration>,
    /// None: for ever.
    pub(crate) connect_timeout: Option<Duration>,
    /// Folder of runs. None: the run is not recorded.
    pub(crate) runs: Option<PathBuf>,
    /// How server and host are read during `run`.
    pub(crate) probe: ProbeSpec,
    /// Whether the run is shown live on the whole terminal.
    pub(crate) ui: bool,
    /// The DSN of a server. It may contain a password: do not print it.
    pub(crate) dsn: Option<Vec<u8>>,
    /// The part of the load that this process makes.
    pub(crate) part: Part,
    /// How long parts wait for each other before the first event.
    pub(crate) part_wait: Duration,
    /// Bytes of one Lua state. None: half of the machine's memory.
    pub(crate) lua_memory_limit: Option<u64>,
}

/// Options that name the server; `--dsn` replaces all of them.
const SERVER_OPTIONS: [&str; 11] = [
    "mysql-host",
    "mysql-port",
    "mysql-socket",
    "mysql-user",
    "mysql-password",
    "mysql-db",
    "pgsql-host",
    "pgsql-port",
    "pgsql-user",
    "pgsql-password",
    "pgsql-db",
];

/// A year, so that sums of times cannot overflow.
const SECONDS_MAX: f64 = 31_536_000.0;
const WORKERS_MAX: u32 = 1024;
const PERCENTILES_MAX: usize = 32;
const FOR_EVER: &str = "seconds, or 0 to wait for ever";

impl Ours {
    pub(super) fn read(lookup: &Lookup<'_>) -> Result<Self, OptionRefusal> {
        let isolation = one_of([
            ("auto", LuaIsolation::Auto),
            ("worker", LuaIsolation::Worker),
            ("client", LuaIsolation::Client),
        ]);
        let format = one_of([("text", SysbenchFormat::Text), ("json", SysbenchFormat::Json)]);
        let latency_by = one_of([("", false), ("statement", true)]);
        let workers = lookup.choice("workers", "1 to 1024, or 0 to leave it open", workers)?;
        let drain = lookup.choice("drain-timeout", FOR_EVER, seconds)?;
        let connect = lookup.choice("connect-timeout", FOR_EVER, seconds)?;
        let probe =
            lookup.choice("probe-interval", "0.05 to 60 seconds, or 0 for no probe", probe)?;
        let memory = lookup.choice(
            "lua-memory-limit",
            "bytes, such as 64M, or 0 for half of the machine's memory",
            memory,
        )?;
        let part = lookup.choice("part", "I/N, counted from 0, such as 0/4, or auto", part)?;
        let part_wait = lookup.choice("part-wait", "seconds", seconds)?;
        let runs = lookup.bytes("runs");
        let dsn = lookup.bytes("dsn");
        // Read in the first pass; a wrong value is refused here.
        lookup.choice("compat", "1.0 or 1.1", SysbenchRelease::from_text)?;
        let ours = Self {
            lua_isolation: lookup.choice("lua-isolation", "auto, worker or client", isolation)?,
            workers: Some(workers).filter(|number| *number > 0),
            percentiles: lookup.choice(
                "percentiles",
                "numbers over 0 and under 100, at most 32",
                percentiles,
            )?,
            latency_by_statement: lookup.choice("latency-by", "statement", latency_by)?,
            errors_by_class: lookup.switch("errors-by-class"),
            format: lookup.choice("report-format", "text or json", format)?,
            drain_timeout: Some(drain).filter(|time| !time.is_zero()),
            connect_timeout: Some(connect).filter(|time| !time.is_zero()),
            runs: (runs != b"none" && !runs.is_empty())
                .then(|| PathBuf::from(OsStr::from_bytes(runs))),
            probe,
            ui: lookup.switch("ui"),
            dsn: (!dsn.is_empty()).then(|| dsn.to_vec()),
            part,
            part_wait,
            lua_memory_limit: Some(memory).filter(|bytes| *bytes > 0),
        };
        if lookup.strict
            && ours.dsn.is_some()
            && let Some(other) = SERVER_OPTIONS.iter().find(|name| lookup.is_given(name))
        {
            return Err(OptionRefusal::fatal(format!("--dsn cannot be used with --{other}")));
        }
        Ok(ours)
    }
}

/// Reads one of these words.
fn one_of<T: Copy, const N: usize>(words: [(&'static str, T); N]) -> impl Fn(&[u8]) -> Option<T> {
    move |text| words.iter().find(|(word, _)| word.as_bytes() == text).map(|(_, value)| *value)
}

fn workers(text: &[u8]) -> Option<u32> {
    number::int(text)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number <= WORKERS_MAX)
}

fn part(text: &[u8]) -> Option<Part> {
    if text.is_empty() { Some(Part::WHOLE) } else { std::str::from_utf8(text).ok()?.parse().ok() }
}

fn percentiles(text: &[u8]) -> Option<Vec<f64>> {
    let parts = value::list(text);
    let numbers = parts
        .iter()
        .map(|part| number::strict_double(part).filter(|number| *number > 0.0 && *number < 100.0));
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    (numbers.len() <= PERCENTILES_MAX).then_some(numbers)
}

fn seconds(text: &[u8]) -> Option<Duration> {
    let seconds =
        number::strict_double(text).filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))?;
    Some(Duration::from_secs_f64(seconds))
}

fn probe(text: &[u8]) -> Option<ProbeSpec> {
    number::strict_double(text).and_then(ProbeSpec::of_interval)
}

/// Bytes. Other sizes are read as far as possible; this one limits a run, and must be complete.
fn memory(text: &[u8]) -> Option<u64> {
    let digits = match text {
        [digits @ .., b'K' | b'M' | b'G' | b'T' | b'k' | b'm' | b'g' | b't'] => digits,
        _ => text,
    };
    let fine = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    fine.then(|| number::size(text))
}
