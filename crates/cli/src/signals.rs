//! Ctrl-C: the first one stops and summarises, the second one exits at once. A signal that was
//! ignored when the program started (`nohup`, a shell's background) stays ignored.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::{pipe, unregister};
use truetps_compat::InterruptMessages;

use crate::failure::CommandFailure;
use crate::last_signal::{SIGNAL_BASE, interrupted_code, last_signal, note};
use crate::terminal::say_raw;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Those that were not ignored at the start.
static HEEDED: LazyLock<Vec<i32>> = LazyLock::new(|| {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored_signals(&status);
    SIGNALS.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
});

/// A command listens to signals until it ends.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);
/// A signal ends the program at once, as if it had never listened: once it has stopped listening,
/// and before a command does.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// A file that may not grow any more (`ulimit -f`) makes a write fail, which is reported; it does
/// not end the program.
pub(crate) fn outlive_file_limits() {
    // Where it cannot be handled, the program dies of it as others do.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// A flag that the first signal raises.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, CommandFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    listen();
    for &signal in HEEDED.iter() {
        note(signal).map_err(|error| not_handled(&error))?;
        // In this order: the second signal finds the flag raised and leaves; servers die with
        // truetps (parent-death signal).
        flag::register_conditional_shutdown(signal, SIGNAL_BASE + signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| not_handled(&error))?;
    }
    Ok(stop)
}

/// Signals that wait until they are asked for, and end nothing.
pub(crate) fn waiting() -> Result<Signals, CommandFailure> {
    Signals::new(&*HEEDED).map_err(|error| not_handled(&error))
}

fn listen() {
    IS_LISTENING.store(true, Ordering::Relaxed);
    ENDS_AT_ONCE.store(false, Ordering::Relaxed);
}

/// Does something that a signal ends early by the flag: the terminal is restored before the program
/// ends. Afterwards signals do what they did before. `None`: a signal came.
pub(crate) fn unless_signalled<T>(
    action: impl FnOnce(&AtomicBool) -> T,
) -> Result<Option<T>, CommandFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    ENDS_AT_ONCE.store(false, Ordering::Relaxed);
    let mut listeners = Vec::new();
    for &signal in HEEDED.iter() {
        note(signal).map_err(|error| not_handled(&error))?;
        flag::register_conditional_default(signal, Arc::clone(&ENDS_AT_ONCE))
            .map_err(|error| not_handled(&error))?;
        listeners
            .push(flag::register(signal, Arc::clone(&stop)).map_err(|error| not_handled(&error))?);
    }
    let done = action(&stop);
    ENDS_AT_ONCE.store(!IS_LISTENING.load(Ordering::Relaxed), Ordering::Relaxed);
    for listener in listeners {
        unregister(listener);
    }
    Ok((!stop.load(Ordering::Relaxed)).then_some(done))
}

/// A flag that the first signal raises; each signal is answered on stderr: a second one, before
/// the program leaves.
pub(crate) fn stop_flag_that_answers(
    messages: Arc<InterruptMessages>,
) -> Result<Arc<AtomicBool>, CommandFailure> {
    let second = Arc::clone(&messages);
    // The texts of truetps, which also clear the progress line.
    stop_flag_that_does(move || say_raw(&messages.first()), move || say_raw(&second.second()))
}

/// A flag that the first signal raises; `first` is done at the first signal, and `second` at the
/// second one, before the program leaves.
pub(crate) fn stop_flag_that_does(
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
) -> Result<Arc<AtomicBool>, CommandFailure> {
    answering(first, second).map_err(|error| not_handled(&error))
}

fn answering(
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
) -> io::Result<Arc<AtomicBool>> {
    let (stop, leaves) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (mut heard, came) = UnixStream::pair()?;
    listen();
    for &signal in HEEDED.iter() {
        note(signal)?;
        flag::register_conditional_shutdown(signal, SIGNAL_BASE + signal, Arc::clone(&leaves))?;
        flag::register(signal, Arc::clone(&stop))?;
        pipe::register(signal, came.try_clone()?)?;
    }
    thread::Builder::new().spawn(move || {
        let mut one = [0];
        if heard.read_exact(&mut one).is_ok() {
            first();
        }
        if heard.read_exact(&mut one).is_ok() {
            // First: what it prints may wait for a terminal that accepts nothing, and a third
            // signal ends that.
            leaves.store(true, Ordering::Relaxed);
            second();
            leave_now();
        }
    })?;
    Ok(stop)
}

fn not_handled(error: &io::Error) -> CommandFailure {
    CommandFailure::failed(format!("cannot handle signals: {error}"))
}

/// As the second signal does.
pub(crate) fn leave_now() {
    let signal = last_signal();
    if HEEDED.contains(&signal) {
        // It fails for unknown signals only.
        let _ = signal_hook::low_level::raise(signal);
    } else {
        signal_hook::low_level::exit(interrupted_code().into());
    }
}

/// A bit each, from signal 1 on, of /proc/PID/status.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known() {
        let ignored = ignored_signals("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!((ignored >> (SIGHUP - 1) & 1, ignored >> (SIGINT - 1) & 1), (1, 0));
        assert_eq!(ignored_signals("no status"), 0);
    }
}
