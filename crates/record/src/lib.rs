//! The nouns of truetps and the run folder that they are kept in.
//!
//! Everything after a measurement (analysis, report, resume) reads only what is defined here. This crate has no
//! clock, no network and no text for people: times come in as arguments, numbers go out with their unit in the name.

mod amount;
mod calendar;
mod capture;
mod configuration;
mod counts;
mod damage;
mod distribution;
mod error_class;
mod estimate;
mod experiment;
mod family;
mod fnv;
mod folder;
mod generator;
mod guest;
mod histogram;
mod host;
mod interval;
mod latency_log;
mod load;
mod named_file;
mod near_match;
mod open_loop;
mod option_file;
mod option_walk;
mod other_run;
mod personality;
mod plan;
mod plan_check;
#[cfg(test)]
mod plan_check_tests;
mod printable;
mod probe;
mod probe_decoder;
mod probe_run;
mod probe_spec;
mod rate;
mod reason;
mod regular_file;
mod responsiveness;
mod run_file;
mod sane;
mod script_record;
mod secret;
mod server;
mod setting_text;
mod signal;
mod slo;
mod sql_script;
mod table_spec;
mod text_file;
mod trial;
mod version;
mod whole_number;
mod workload_check;
mod workload_factor;
mod workload_profile;
mod workload_spec;

pub use amount::{amount_in, same_amount};
pub use calendar::{parse_time, put_date, put_time};
pub use capture::{
    CAPTURE_KIND, CAPTURE_SCHEMA_VERSION, Capture, CaptureError, CapturedPlugin, CapturedVariable, SchemaShape,
};
pub use configuration::{CONNECTIONS, Configuration, RATE, SERVER, SettingValue, is_load_factor};
pub use counts::{Counts, ErrorCount, ErrorTally};
pub use damage::KeptSeries;
pub use distribution::KeyDistribution;
pub use error_class::{ErrorClass, ServerErrorCode, UnknownErrorClass};
pub use estimate::Estimate;
pub use experiment::{Coupling, Experiment, Extension, ScheduledTrial, TrialRole};
pub use family::{Family, SqlDialect};
pub use fnv::fnv1a;
pub use folder::{ExperimentFolder, FolderError, FolderLock, LATEST, ProbeWriter, TrialWriter};
pub use generator::{Alphabet, Generator, GeneratorKind, Scalar, TimeRange, UuidForm, UuidVersion};
pub use guest::{GuestFacts, LogVolume, Replication, ReplicationSlot};
pub use histogram::{Histogram, HistogramError, LatencyFigures, LatencyLogWriter, new_histogram, read_latency_log};
pub use host::{FlushProbe, HostFacts};
pub use interval::{BUCKET_MS, Interval, Phase, TransactionGap};
pub use latency_log::{LatencyInterval, LatencyLog};
pub use load::{DriveMode, ErrorPolicy, Load, Spacing};
pub use named_file::write_named;
pub use near_match::{did_you_mean, did_you_mean_or, near_matches};
pub use open_loop::{OpenLoop, StartCounts};
pub use option_file::{OptionLine, OptionStyle};
pub use option_walk::{OptionFileError, OptionReader, OptionVisitor, OptionWalk};
pub use other_run::OtherRun;
pub use personality::Personality;
pub use plan::{DatadirState, Design, Plan, PlanError, Protocol, QuickOverrides, ServerSpec};
pub use printable::{escaped_text, is_obeyed, printable, printable_json, printable_lines, printable_text};
pub use probe::{AbsentSignal, ProbeHeader, ProbePoint, ProbeSample, ProbeSeries, ProbeSource, SignalSeries};
pub use probe_decoder::{DecodedValue, ProbeDecoder};
pub use probe_run::{CounterSummary, GaugeSummary, ProbeFolder, ProbeRun, ProbeSummary};
pub use probe_spec::ProbeSpec;
pub use rate::{RATE_MAX, RATE_MIN, parse_rate};
pub use reason::{GeneratorLimit, NoEvidence, Reason};
pub use regular_file::{open_no_link, regular_file};
pub use responsiveness::{Outage, Responsiveness};
pub use run_file::write_atomically;
pub use script_record::{ScriptFairness, ScriptRecord, ScriptRun, ScriptText, SentShape, SentStatements};
pub use secret::is_secret;
pub use server::{Flavour, ServerFacts};
pub use setting_text::{is_off, same_setting, setting_number};
pub use signal::{Signal, SignalGroup, SignalKind, SignalRegistry, SignalUnit};
pub use slo::Slo;
pub use sql_script::{SqlScriptError, split_sql};
pub use table_spec::{GeneratedTable, TableSection, VALUE_LENGTH};
pub use text_file::{TextError, read_text};
pub use trial::{CPU_MIN_US, EngineFacts, Measured, ResourceUse, Suspension, Trial, Validity, ValidityWords};
pub use version::Version;
pub use workload_factor::is_workload_factor;
pub use workload_profile::WorkloadProfile;
pub use workload_spec::{
    CustomStatement, CustomTable, KeyMode, ReadWriteMix, SCRIPT_WORKLOAD, SqlParts, WORKLOADS, WorkloadSpec,
};

/// Version of every JSON file in a run folder. It grows when a reader of the old version would misread the new one.
///
/// - 1: reasons of `validity` and `generator_limited` are texts.
/// - 2: they are codes with numbers ([`Reason`]).
pub const SCHEMA_VERSION: u32 = 2;
