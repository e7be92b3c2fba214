//! Experiments: a plan becomes randomised blocks of trials on private servers or an external one, and a folder of
//! records.
//!
//! The lab decides the order of steps. Its only formulas are the rules that steer a search and the estimates of time and
//! volume. It judges whether a trial is valid, never what its figures mean.

mod adaptive;
mod check_settings;
mod coupling;
mod crash;
mod duration;
mod ending;
mod error;
mod event;
mod evidence;
mod experiment;
#[cfg(test)]
mod experiment_tests;
mod explain;
mod extension;
mod external;
mod find_max;
mod pacing;
mod parts;
mod planned_disks;
mod pool;
mod portions;
mod preallocation;
mod private_mixtures;
mod private_servers;
mod private_setting;
mod ready_server;
mod resume;
mod schedule;
mod search;
mod server_provider;
mod setting;
mod setup;
mod sized_tables;
mod sql_names;
mod tables;
mod trial;
mod verify;
mod write_transactions;

pub use check_settings::check_settings;
pub use crash::{CrashOptions, crash};
pub use duration::estimate;
pub use ending::ServerSession;
pub use error::LabError;
pub use event::{ExperimentEvent, Listener};
pub use experiment::{ExperimentRequest, Finished, Pin, start};
pub use explain::{ExplainOptions, ExplainSide, explain, resume_explanation};
pub use extension::{AskForMore, MoreBlocks};
pub use external::{
    ExternalError, IdentityProof, Journal, LeftJournals, PlanOnServer, Restored, check_plan_on, refuse_system_schema,
    rehearse, replication_warning, restore, unfinished,
};
pub use find_max::find_max;
pub use parts::{PARTS_SECRET, ScriptMeeting};
pub use planned_disks::PlannedDisks;
pub use pool::{find_pool, resume_pool};
pub use resume::resume;
pub use schedule::schedule;
pub use server_provider::{ExternalServer, ServerProgram, ServerSource};
pub use setting::SettingError;
pub use setup::make_room_for_clients;
pub use trial::{RanTrial, StartGate, TrialContext, connect_timeout, run_trial};
pub use verify::{NamedPlace, TableServer, VerifyError, VerifyRequest, compare_again, verify};
