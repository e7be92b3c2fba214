//! Ctrl-C: the first one stops and summarises, the second one leaves now.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// A flag that the first signal raises.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    const INTERRUPTED: i32 = 130;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag raised and leaves; servers die with us (parent-death signal).
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::failed(format!("cannot handle signals: {error}")))?;
    }
    Ok(stop)
}

/// As the second signal does.
pub(crate) fn leave_now() {
    // It fails for unknown signals only.
    let _ = signal_hook::low_level::raise(SIGINT);
}
