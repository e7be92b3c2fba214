//! Runs on an external server: identify the server, check everything before the first change, set
//! its variables, and restore them, however this process ends.
//!
//! - `survey`: all checks before a change; `access`, `grants`, `privileges`: what the account may
//!   do, and who else uses the server; `room`: whether it has sessions for the clients;
//!   `replication`: who receives what is written; `log_volume`: how much that is; `load_volume`:
//!   how much of it the load writes.
//! - `journal`, `journal_file`, `journal_name`: the original state, on disk before the first
//!   change.
//! - `settings_lease`: the settings of a run, from its journal to the last restored one;
//!   `restoring`: how they are restored.
//! - `schema`, `relations`, `mark`, `owned_sql`: where tables are created, and how they are
//!   recognised later; `closing`: before a database is dropped.
//! - `session`: a run; `rehearsal`: what a run would send; `plan_check`: whether it could;
//!   `restore`: what a killed run left.
//! - `control`: sessions that create and set things; `committing`: what each session sets first;
//!   `sessions`: which sessions belong to the run, and how they are ended.
//! - `parts`: a load that several generators make together.
//! - `globals`, `session_settings`: one variable; `identity`: which server.

mod access;
mod closing;
pub(crate) mod committing;
mod control;
mod error;
mod globals;
mod grants;
mod identity;
mod journal;
mod journal_file;
mod journal_name;
mod load_volume;
mod log_volume;
mod mark;
mod owned_sql;
pub(crate) mod parts;
mod plan_check;
mod privileges;
mod rehearsal;
mod relations;
mod replication;
mod restore;
mod restoring;
mod room;
mod schema;
mod session;
mod session_settings;
mod sessions;
mod settings_lease;
mod survey;

pub(crate) use control::{CLIENT_TIMEOUT, control};
pub use error::ExternalError;
pub(crate) use error::NOT_SETTABLE;
pub(crate) use globals::Scopes;
pub use journal::Journal;
pub use journal_file::{LeftJournals, unfinished};
pub(crate) use load_volume::LoadVolume;
pub(crate) use mark::unique_id;
pub use plan_check::{PlanOnServer, check_plan_on};
pub use rehearsal::rehearse;
pub use replication::replication_warning;
pub use restore::{IdentityProof, restore};
pub use restoring::Restored;
pub use schema::refuse_system_schema;
pub(crate) use session::ExternalSession;
pub(crate) use session_settings::{inside_of_load, try_out};
pub(crate) use survey::setting_scopes;
