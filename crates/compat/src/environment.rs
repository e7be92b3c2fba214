//! What the calling program passes to both.

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use truetps_driver::Target;
use truetps_recording::LiveView;

use crate::interrupt_messages::InterruptMessages;

/// A variable of the environment: the number of the open file with the hidden words of the command
/// line.
pub const HIDDEN_WORDS: &str = "TRUETPS_HIDDEN_WORDS";

/// The environment of a program.
pub struct CompatEnv<'a> {
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// Cores that clients may use.
    pub cores: u32,
    /// The user has pressed Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// The messages printed on Ctrl-C.
    pub interrupt_messages: Arc<InterruptMessages>,
    /// Says before a load what else receives what it writes: replicas, clusters, archives.
    pub server_warning: fn(&Target) -> Option<String>,
    /// Opens the view of `--ui` for a run with this title, or says why it cannot be opened.
    pub live_view: &'a dyn Fn(&str) -> Result<LiveView, String>,
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}
