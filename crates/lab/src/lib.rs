//! Experiments: a plan becomes randomised blocks of trials on private servers or an external one,
//! and a folder of records.
//!
//! The lab decides the order of steps. Its only formulas are the rules that steer a search and the
//! estimates of time and volume. It judges whether a trial is valid, never what its figures mean.
//!
//! # Floors
//!
//! Folders import downward only: `trial`, then `external` and `private` beside each other, then
//! `experiment`, and what plans or runs experiments of its own (`find_max`, `pool`, `explain`,
//! `crash`, `verify`). `error` has the errors of all of them; `event`, `schedule` and `extension`
//! are for all. How the load of a trial is driven, recorded and judged is the crate `trial`
//! (`truetps_trial`).
//!
//! - `trial`: `server_provider` (`ServerProvider`) gives each trial a server (`ready_server`): a
//!   private one, an external one, one that another part has prepared, or in unit tests one that
//!   follows a script. `evidence` (`TrialEvidence`): the validity of a trial, from its load, its
//!   server and what other sessions did. `tables` loads the data and resets them before each trial;
//!   `portions` copies rows in transactions of bounded size. `setting` sets a variable and reads it
//!   back; `server_status` reads what a server shows, and `log_reader` how much it writes to its
//!   logs.
//! - `experiment` (`PreparedExperiment`): the life of an experiment, from its `request`. `setup`
//!   checks everything that can be checked and prepares the servers; `check_settings` and
//!   `planned_disks` are parts of that. `schedule` fixes the order of the trials. `resume` runs the
//!   missing trials of an earlier experiment, `extension` more blocks.
//!
//! # Private servers
//!
//! - `private_servers` (`PrivateServers`) prepares one sandbox for each combination of settings
//!   that need a restart (`PreparedServer`), and runs one of them at a time (`LiveServer`).
//!   `ServerUnderTest` is one of the compared server programs, and `sized_tables` its tables in
//!   each size.
//! - `private_setting` sets variables of private servers of either family; it is never used on
//!   external servers. `preallocation` switches binlog preallocation.
//! - `coupling`: a level is the state of a server that was *started* with it. A server is started
//!   with each level of each factor that could also be set later; variables that change with the
//!   level belong to it. If a coupled variable cannot be set on a running server, each level of the
//!   factor gets a prepared server of its own, and the server is restarted between trials. The
//!   factor `server` is treated alike.
//! - A factor of the workload (`hot_rows`, `key`) changes only what clients send: tables are made
//!   once, for the largest level (`Plan::largest_workload`), and each trial gets the statements of
//!   its own level (`Plan::workload_of`).
//! - Every trial starts alike. A table that grew, pages that wait to be written and a redo log on
//!   its first lap all make the order of trials a hidden factor. Before each trial, after its
//!   settings are set, the tables are refilled from a pristine copy inside the server (or the whole
//!   datadir is copied anew); on private servers all pages are written out, and the binlog of the
//!   MySQL family starts anew. The redo log is overwritten once before the first trial: fresh log
//!   files are unwritten extents, and their first lap pays for journal writes.
//!
//! # External servers
//!
//! `external` (`ExternalSession`) works on a server that truetps did not start: it creates a
//! schema, or tables in a user's schema, and changes settings; in the end it drops what it created
//! and restores the settings. A `survey` sends only queries; the `journal` has the original values
//! on disk before the first change; `settings_lease` owns the settings of a run until they are
//! restored; `restoring` restores them at the end of a run, and `restore` after a killed run. In
//! `schema`, `server_schema` reads what the server shows of the run's schema, `creation` makes it
//! and `cleaning` removes it. *Invariant:* a session that is not proven to be connected to the
//! journal's server ([`IdentityProof`]) changes neither journal nor server.
//!
//! # Experiments that plan as they go
//!
//! - `adaptive` (`AdaptiveTrials`) has the trials of an experiment that decides on each after the
//!   earlier ones: put into the schedule before they begin, read from the folder when it is
//!   resumed. The question asks for points; `Measuring` makes trials of these. `find_max`,
//!   `explain` and `pool` are the three of them. `conditions` says whether server and host have
//!   changed since the earlier trials, and `question` whether plan, record and option files have.
//! - `find_max` measures rates, as the pure module `search` asks for them.
//! - `pool` measures numbers of connections, as the crate `pool` asks for them.
//! - `explain` measures mixtures of two configurations, as `causes` asks for them: `examination`
//!   starts both sides and compares their variables, `differences` says which of them can be
//!   measured (`Candidate`) and why others are left out, `own_values` leaves to the servers what
//!   one side sets, `factors` puts together what has a meaning only together, and `trials`
//!   (`MixtureTrials`) turns mixtures into trials. `private_mixtures` is the part of
//!   `private_servers` for them: servers are prepared when a trial needs them, and share their data
//!   unless a setting binds it.
//!
//! # Crashes, rows, and parts
//!
//! - `crash` crashes private servers: `clients` insert rows and note the answers, `cycle` is one
//!   crash and its recovery, `count` compares rows with answers, `binlog` with the server's binlog,
//!   `table_check` asks the server whether its table is intact, and `controls` are the
//!   configurations that an experiment needs to be believed. Each crash is recorded before the next
//!   one (`CrashFolder`); `analysis` judges, `report` has the words.
//! - `verify` (`truetps verify`): rows are sent to a service or a server, and the table is compared
//!   with their answers. `table` surveys the table and has its statements, `table_reader` reads it
//!   in pages, `spool` spreads rows over buckets on disk, and `comparison` counts faults. `server`
//!   kills servers, but only those that truetps started. *Invariant:* in a server that truetps did
//!   not start, nothing is created, changed or dropped; rows are inserted only where they are sent
//!   as SQL.
//! - `external::parts`: one experiment by several load generators, which meet in the server that
//!   they load. There is no other controller.
//!
//! *Invariant:* the lab prints nothing: the caller decides how [`ExperimentEvent`]s are shown.

mod adaptive;
mod check_settings;
mod conditions;
mod crash;
mod error;
mod event;
mod experiment;
mod explain;
mod extension;
mod external;
mod find_max;
mod pool;
mod private;
mod question;
mod resume;
mod schedule;
mod trial;
mod verify;

pub use check_settings::check_settings;
pub use crash::{CrashOptions, crash};
pub use error::LabError;
pub use event::{ExperimentEvent, Listener};
pub use experiment::duration::estimate;
pub use experiment::{ExperimentRequest, Finished, Pin, start};
pub use explain::{ExplainOptions, ExplainSide, explain, resume_explanation};
pub use extension::{AskForMore, MoreBlocks};
pub use external::parts::{PARTS_SECRET, ScriptMeeting};
pub use external::{
    ExternalError, IdentityProof, Journal, LeftJournals, PlanOnServer, Restored, check_plan_on,
    refuse_system_schema, rehearse, replication_warning, restore, unfinished,
};
pub use find_max::{find_max, search_goes_on};
pub use pool::{find_pool, resume_pool};
pub use resume::resume;
pub use schedule::schedule;
pub use trial::planned_disks::PlannedDisks;
pub use trial::server_provider::{ExternalServer, ServerProgram, ServerSource};
pub use trial::setting::SettingError;
pub use truetps_rates::{RateFindings, RateStage};
pub use verify::{NamedPlace, TableServer, VerifyError, VerifyRequest, compare_again, verify};
