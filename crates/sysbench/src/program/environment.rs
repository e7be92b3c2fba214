//! What the program that runs this personality passes to it.

use std::ffi::OsString;

use truetps_recording::LiveView;

use crate::interrupt::Interrupt;
use crate::parts::MeetParts;
use crate::run::ServerWarning;

/// The environment of the program.
pub struct SysbenchEnv<'a> {
    pub environment: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
    /// Cores that clients may be spread over.
    pub cores: u32,
    pub interrupt: Interrupt,
    /// A one-line warning about a server before it is written to.
    pub server_warning: ServerWarning,
    /// Lets a run of `--part` meet the others.
    pub meet_parts: MeetParts<'a>,
    /// Opens the view of `--ui` for a run with this title, or says why it cannot be opened.
    pub live_view: &'a (dyn Fn(&str) -> Result<LiveView, String> + Sync),
}
