//! What it takes to be a guest on a server that is somebody's: to know which server it is, to ask before anything is
//! made, to set its variables, and to put them back, whatever becomes of this process.
//!
//! - `survey`: all that is asked first; `access`, `grants`, `privileges`: what the account may do, and who else is there; `room`: whether
//!   the clients fit in; `replication`: who else gets what is written;
//!   `log_volume`: how much; `load_volume`: how much of it the load will write.
//! - `journal`, `journal_file`: what was there before, on disk before the first change.
//! - `hold`: the settings of a run, from its journal to the last one that is put back; `put_back`: how that is done.
//! - `schema`, `relations`, `mark`, `owned_sql`: where tables are made, and how they are known again; `closing`: before a
//!   database is dropped.
//! - `guest`: a run; `rehearsal`: what one would send; `restore`: what a killed one left.
//! - `sessions`: which sessions are the run's, and their end.
//! - `globals`, `session_settings`: one variable; `identity`: which server.

mod access;
mod closing;
mod error;
mod globals;
mod grants;
mod identity;
mod journal;
mod journal_file;
mod load_volume;
mod log_volume;
mod mark;
mod owned_sql;
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

pub use error::ForeignError;
pub use journal::Journal;
pub use journal_file::{LeftJournals, unfinished};
pub(crate) use load_volume::LoadVolume;
pub(crate) use log_volume::LogReader;
pub use rehearsal::rehearse;
pub use replication::replication_warning;
pub use restore::{IdentityProof, restore};
pub use restoring::Restored;
pub(crate) use schema::MadeSchema;
pub use schema::refuse_system_schema;
pub(crate) use session::ExternalSession;
