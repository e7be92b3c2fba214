//! One experiment by several load generators: see `docs/guides/many-machines.md`.
//!
//! - `table`: where the parts meet, in truetps's own schema of the server; `row`: the row of a
//!   part; `clock`: the server's clock;
//! - `invitation`: what part 0 says before the first trial, compared with what another part knows
//!   itself;
//! - `secret`, `proof`: how a part knows that another part of the same load wrote a row;
//! - `meeting`: how they agree on each trial;
//! - `script_meeting`: the same for a load that a script makes;
//! - `joined`: the server of a part that has prepared nothing itself.

mod clock;
mod error;
mod hex;
mod invitation;
mod joined;
mod meeting;
mod proof;
mod row;
mod script_meeting;
mod secret;
mod table;

pub use error::PARTS_SECRET;
pub(crate) use error::PartsError;
pub(crate) use invitation::{Invitation, OwnExperiment};
pub(crate) use joined::JoinedServer;
pub(crate) use meeting::Meeting;
pub(crate) use row::PARTS_TABLE;
pub use script_meeting::ScriptMeeting;
pub(crate) use secret::parts_secret;
pub(crate) use table::meeting_outline;
