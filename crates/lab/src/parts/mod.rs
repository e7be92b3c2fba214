//! One experiment by several load generators: see `docs/guides/many-machines.md`.
//!
//! - `table`: where the parts meet, in truetps's own schema of the server; `clock`: the server's clock;
//! - `meeting`: how they agree on each trial;
//! - `script_meeting`: the same for a load that a script makes;
//! - `joined`: the server of a part that has prepared nothing itself.

mod clock;
mod joined;
mod meeting;
mod script_meeting;
mod table;

pub(crate) use joined::JoinedServer;
pub(crate) use meeting::Meeting;
pub use script_meeting::ScriptMeeting;
pub(crate) use table::{TABLE as PARTS_TABLE, meeting_outline};
