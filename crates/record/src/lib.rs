//! The nouns of truetps: the records of a measurement, in the form of the run folder.
//!
//! Everything after a measurement (analysis, report, resume) reads only what is defined here. Times
//! come in as arguments, numbers go out with their unit in the name.
//!
//! - `trials`: what a trial is and what came out of it. `probe`: what was read beside it.
//! - `experiments`: factors, levels, the schedule, the parts of a load. `commands`: what other
//!   commands record.
//! - `servers`: the server, its host and its disk. `settings`: values of settings and their texts;
//!   secrets.
//! - `texts`: texts for people, where several programs print them: dates, near matches, metrics.
//! - `sane`: values that no measurement can have. `estimate`, `time_span`, `schema_version`, `fnv`:
//!   what several of these use.
//!
//! *Invariant:* no clock, no file, no network, no terminal.

mod commands;
mod estimate;
mod experiments;
mod fnv;
mod probe;
mod sane;
mod schema_version;
mod servers;
mod settings;
mod texts;
mod time_span;
mod trials;

pub use commands::asked::{Asked, AskedServer};
pub use commands::crash::{
    BinlogDifference, CrashKind, CrashRecord, CrashRole, CrashRun, CrashStep, CrashedConfiguration,
};
pub use commands::explanation::{
    ExplainedFactor, ExplainedSide, Explanation, FactorChange, FactorLevel, LeftOut,
};
pub use commands::pool::{PoolRecord, PoolRule};
pub use commands::row_answer::{AnsweredRow, MAY_BE_COMMITTED, RowAnswer};
pub use commands::script_record::{
    AnswersReady, ScriptFairness, ScriptRecord, ScriptRun, ScriptText, SentShape, SentStatements,
};
pub use commands::verification::{
    AnswerLogState, KeyColumn, RowComparison, RowCounts, RowExample, RowFault, ServerKill,
    Verification, VerifiedTable, VerifyLoad,
};
pub use estimate::Estimate;
pub use experiments::configuration::{
    CONNECTIONS, Configuration, DISK, HOT_ROWS, KEY, RATE, ROWS_PER_INSERT, SERVER, TABLE_ROWS,
    is_load_factor, is_setting_factor, is_workload_factor,
};
pub use experiments::experiment::{Coupling, Experiment, Extension, ScheduledTrial, TrialRole};
pub use experiments::part::{CommonStart, MergedPart, Part, PartOfExperiment, TrialPart};
pub use experiments::personality::Personality;
pub use experiments::prealloc::{PREALLOC, PREALLOC_FILES_MAX, PreallocMode, prealloc_mode};
pub use experiments::slo::Slo;
pub use fnv::fnv1a;
pub use probe::decoder::{DecodedValue, ProbeDecoder};
pub use probe::responsiveness::Responsiveness;
pub use probe::run::{CounterSummary, GaugeSummary, ProbeRun, ProbeSummary};
pub use probe::samples::{AbsentSignal, ProbeHeader, ProbePoint, ProbeSample};
pub use probe::series::{ProbeSeries, SignalSeries};
pub use probe::signal::{ProbeSource, Signal, SignalGroup, SignalKind, SignalRegistry, SignalUnit};
pub use sane::check_path_name;
pub use schema_version::SCHEMA_VERSION;
pub use servers::capture::{
    CAPTURE_KIND, CAPTURE_SCHEMA_VERSION, Capture, CaptureError, CapturedPlugin, CapturedVariable,
    SchemaShape,
};
pub use servers::disk_facts::{DiskFacts, DiskLevel};
pub use servers::external::{ExternalFacts, LogVolume, Replication, ReplicationSlot};
pub use servers::family::{Family, SqlDialect};
pub use servers::host::{FlushProbe, HostFacts};
pub use servers::server::{Flavour, ServerFacts};
pub use servers::version::Version;
pub use settings::amount::{amount_in, same_amount, same_written_amount, unit_bytes};
pub use settings::secret::{HIDDEN, SECRET_VARIABLES, is_secret, without_login, without_logins};
pub use settings::setting_text::{is_off, same_setting, setting_number};
pub use settings::setting_value::SettingValue;
pub use texts::calendar::{parse_time, put_date, put_time};
pub use texts::exposition::{MetricFamily, MetricKind, MetricLabel};
pub use texts::near_match::{did_you_mean, did_you_mean_or, near_matches};
pub use texts::printable::{
    escaped_text, is_obeyed, printable, printable_json, printable_lines, printable_text,
};
pub use time_span::TimeSpan;
pub use trials::counts::{Counts, ErrorCount, ErrorTally};
pub use trials::disturbance::Disturbance;
pub(crate) use trials::disturbance::LoadSurroundings;
pub use trials::drive::{DriveMode, Protocol, Spacing};
pub use trials::error_class::{ErrorClass, ServerErrorCode, UnknownErrorClass};
pub use trials::histogram::{Histogram, LatencyFigures, new_histogram};
pub use trials::interval::{
    BUCKET_MS, Interval, LatencyInterval, Phase, TransactionGap, per_second,
};
pub use trials::measured::{CPU_MIN_US, CpuWindow, Measured, ResourceUse, STEADY_WITHIN};
pub use trials::open_loop::{OpenLoop, StartCounts};
pub use trials::other_run::OtherRun;
pub use trials::reason::{GeneratorLimit, NoEvidence, Reason};
pub use trials::surroundings::{OtherPrograms, ProgramUse, TrialSurroundings};
pub use trials::trial::{EngineFacts, Suspension, Trial, Validity, ValidityWords};
pub use trials::workload_profile::WorkloadProfile;
