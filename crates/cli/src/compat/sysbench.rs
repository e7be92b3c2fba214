//! `truetps sysbench …`, and a link to this program that is called `sysbench`.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use truetps_sysbench::Interrupt;

use super::hidden::secret;
use crate::failure::CommandFailure;
use crate::live_view::LiveViewOpener;
use crate::settings;
use crate::signals::leave_now;
use crate::terminal::print_message;

/// It only sleeps and prints.
const WATCHER_STACK_BYTES: usize = 256 << 10;

pub(super) fn run(arguments: &[OsString]) -> Result<ExitCode, CommandFailure> {
    let views = LiveViewOpener::listen(Arc::default())?;
    let env = truetps_sysbench::SysbenchEnv {
        environment: &|name| secret(name).or_else(|| settings::variable(name)),
        cores: truetps_probe::usable_cores(),
        interrupt: Interrupt::new(Arc::clone(&views.stop)),
        server_warning: truetps_lab::replication_warning,
        meet_parts: &super::parts::meet,
        live_view: &|title| views.open_for_program(title),
    };
    let watched = env.interrupt.clone();
    std::thread::Builder::new()
        .stack_size(WATCHER_STACK_BYTES)
        .spawn(move || leave_if_interrupt_is_ignored(&watched))
        .map_err(|error| CommandFailure::failed(format!("no thread can be started: {error}")))?;
    Ok(crate::exit::of_code(truetps_sysbench::run_program(arguments, &env)))
}

/// A script may ignore the interrupt and run for ever: then the program ends without it.
fn leave_if_interrupt_is_ignored(interrupt: &Interrupt) {
    const LOOK: Duration = Duration::from_millis(100);
    const PATIENCE: Duration = Duration::from_secs(3);
    let (mut heard, mut since) = (None, Instant::now());
    loop {
        std::thread::sleep(LOOK);
        let heard_now = interrupt.heard();
        if heard_now != heard {
            (heard, since) = (heard_now, Instant::now());
        } else if heard.is_some() && since.elapsed() >= PATIENCE {
            print_message("truetps: interrupted; the script does not end, and is left behind\n");
            leave_now();
        }
    }
}
