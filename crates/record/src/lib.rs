//! The nouns of truetps: the records of a measurement, in the form of the run folder.
//!
//! Everything after a measurement (analysis, report, resume) reads only what is defined here. Times come in as
//! arguments, numbers go out with their unit in the name.
//!
//! - What is measured: `configuration` (factors, levels), `experiment` (`experiment.json`), `trial` (`run.json`),
//!   `interval` (a line of `intervals.jsonl`), `counts` (with their equations), `histogram`, `open_loop`, `estimate`.
//! - What is read beside it: `probe`, `signal`, `probe_decoder` (values that samples omit), `responsiveness` (outages).
//! - What other commands record: `explanation`, `pool`, `crash`, `verification`, `probe_run`, `script_record`, `part`.
//! - Servers and their settings: `family`, `server`, `version`, `capture`, `setting_text`, `amount`. `secret` lists the
//!   values that never leave a server.
//! - Texts for people are here only if several programs print them: `reason` words the codes of `run.json` once, for
//!   reports, progress lines and the output of compatible programs; `slo` is what a user demands. `printable` makes
//!   text from outside safe to print, and `exposition` makes it metrics for Prometheus.
//!
//! *Invariant:* no clock, no file, no network, no terminal.

mod amount;
mod calendar;
mod capture;
mod configuration;
mod counts;
mod crash;
mod disk_facts;
mod drive;
mod error_class;
mod estimate;
mod experiment;
mod explanation;
mod exposition;
mod external;
mod family;
mod fnv;
mod histogram;
mod host;
mod interval;
mod near_match;
mod open_loop;
mod other_run;
mod part;
mod personality;
mod pool;
mod prealloc;
mod printable;
mod probe;
mod probe_decoder;
mod probe_run;
mod reason;
mod responsiveness;
mod row_answer;
mod sane;
mod scheduler;
mod script_record;
mod secret;
mod server;
mod setting_text;
mod signal;
mod slo;
mod time_span;
mod trial;
mod verification;
mod version;
mod workload_profile;

pub use amount::{amount_in, same_amount, same_written_amount, unit_bytes};
pub use calendar::{parse_time, put_date, put_time};
pub use capture::{
    CAPTURE_KIND, CAPTURE_SCHEMA_VERSION, Capture, CaptureError, CapturedPlugin, CapturedVariable,
    SchemaShape,
};
pub use configuration::{
    CONNECTIONS, Configuration, DISK, HOT_ROWS, KEY, RATE, ROWS_PER_INSERT, SERVER, SettingValue,
    TABLE_ROWS, is_load_factor, is_setting_factor, is_workload_factor,
};
pub use counts::{Counts, ErrorCount, ErrorTally};
pub use crash::{BinlogDifference, CrashKind, CrashRecord, CrashRole, CrashRun, CrashStep};
pub use disk_facts::{DiskFacts, DiskLevel};
pub use drive::{DriveMode, Protocol, Spacing};
pub use error_class::{ErrorClass, ServerErrorCode, UnknownErrorClass};
pub use estimate::Estimate;
pub use experiment::{Coupling, Experiment, Extension, ScheduledTrial, TrialRole};
pub use explanation::{
    ExplainedFactor, ExplainedSide, Explanation, FactorChange, FactorLevel, LeftOut,
};
pub use exposition::{MetricFamily, MetricKind, MetricLabel};
pub use external::{ExternalFacts, LogVolume, Replication, ReplicationSlot};
pub use family::{Family, SqlDialect};
pub use fnv::fnv1a;
pub use histogram::{Histogram, LatencyFigures, LatencyInterval, new_histogram};
pub use host::{FlushProbe, HostFacts};
pub use interval::{BUCKET_MS, Interval, Phase, TransactionGap};
pub use near_match::{did_you_mean, did_you_mean_or, near_matches};
pub use open_loop::{OpenLoop, StartCounts};
pub use other_run::OtherRun;
pub use part::{CommonStart, MergedPart, Part, PartOfExperiment, TrialPart};
pub use personality::Personality;
pub use pool::{PoolRecord, PoolRule};
pub use prealloc::{PREALLOC, PREALLOC_FILES_MAX, PreallocMode, prealloc_mode};
pub use printable::{
    escaped_text, is_obeyed, printable, printable_json, printable_lines, printable_text,
};
pub use probe::{
    AbsentSignal, ProbeHeader, ProbePoint, ProbeSample, ProbeSeries, ProbeSource, SignalSeries,
};
pub use probe_decoder::{DecodedValue, ProbeDecoder};
pub use probe_run::{CounterSummary, GaugeSummary, ProbeRun, ProbeSummary};
pub use reason::{GeneratorLimit, NoEvidence, Reason};
pub use responsiveness::Responsiveness;
pub use row_answer::{AnsweredRow, MAY_BE_COMMITTED, RowAnswer};
pub use sane::check_path_name;
pub use script_record::{
    AnswersReady, ScriptFairness, ScriptRecord, ScriptRun, ScriptText, SentShape, SentStatements,
};
pub use secret::{HIDDEN, SECRET_VARIABLES, is_secret, without_login, without_logins};
pub use server::{Flavour, ServerFacts};
pub use setting_text::{is_off, same_setting, setting_number};
pub use signal::{Signal, SignalGroup, SignalKind, SignalRegistry, SignalUnit};
pub use slo::Slo;
pub use time_span::TimeSpan;
pub use trial::{
    CPU_MIN_US, CpuWindow, EngineFacts, Measured, ResourceUse, STEADY_WITHIN, Suspension, Trial,
    Validity, ValidityWords,
};
pub use verification::{
    AnswerLogState, KeyColumn, RowComparison, RowCounts, RowExample, RowFault, ServerKill,
    Verification, VerifiedTable, VerifyLoad,
};
pub use version::Version;
pub use workload_profile::WorkloadProfile;

/// Version of every JSON file in a run folder. It grows when a reader of the old version would misread the new one.
///
/// - 1: reasons of `validity` and `generator_limited` are texts.
/// - 2: they are codes with numbers ([`Reason`]).
pub const SCHEMA_VERSION: u32 = 2;
