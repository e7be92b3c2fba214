//! `truetps slap …` and `truetps mtls …`, and links to this program that have the originals' names.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use truetps_compat::{CompatEnv, InterruptMessages};

use crate::failure::CommandFailure;
use crate::live_view::LiveViewOpener;
use crate::settings;

/// Runs one of the programs; its name is the first argument.
pub(super) fn run(
    program: fn(Vec<OsString>, &mut CompatEnv<'_>) -> u8,
    arguments: Vec<OsString>,
) -> Result<ExitCode, CommandFailure> {
    let messages = Arc::new(InterruptMessages::default());
    let views = LiveViewOpener::listen(Arc::clone(&messages))?;
    let mut env = CompatEnv {
        environment: &settings::variable,
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        stop: Arc::clone(&views.stop),
        interrupt_messages: messages,
        server_warning: truetps_lab::replication_warning,
        live_view: &|title| views.open_for_program(title),
        // Locked by each write alone: a second Ctrl-C flushes it, on another thread.
        out: &mut std::io::stdout(),
        err: &mut std::io::stderr(),
    };
    Ok(crate::exit::of_code(program(arguments, &mut env)))
}
