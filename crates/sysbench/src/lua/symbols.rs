//! The C functions that scripts find with `ffi.C`, with sysbench's names and types.
//!
//! They are called by LuaJIT, on the thread of the client that runs. None of them may panic or
//! unwind. The program exports them: see the build script of the `cli` crate.
#![allow(unsafe_code, reason = "functions that C code calls by name, with pointers that it made")]

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_double, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use truetps_random::UnitSource;

use super::context::{self, Context, EventTurn};
use super::request::{GO, LATER, NOT_SENT, STOP, answer_soon};
use crate::command::{EventStart, NextEvent};
use crate::output::LogHistogram;
use crate::rand;
use crate::sql::{ConnectionShape, Released, StatementShape, release};

/// Longest text that `sb_rand_varstr` makes; there is no buffer of that size.
const TEXT_BYTES_MAX: u32 = 1 << 30;

/// Buckets of a script's histogram.
const HISTOGRAM_SIZE_MAX: usize = 1 << 24;

/// C functions that draw a number of a range, each by a method of the distributions.
macro_rules! draws {
    ($($name:ident: $method:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(a: u32, b: u32) -> u32 {
            context::with(|context| {
                context.distribution.$method(&mut context.random.borrow_mut(), a, b)
            })
            .unwrap_or(a)
        }
    )*};
}
draws!(
    sb_rand_default: draw,
    sb_rand_uniform: uniform,
    sb_rand_gaussian: gaussian,
    sb_rand_special: special,
    sb_rand_pareto: pareto,
    sb_rand_zipfian: zipfian
);

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_rand_unique() -> u32 {
    context::with(|context| context.run.unique.next()).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_rand_uniform_double() -> c_double {
    context::with(|context| context.random.borrow_mut().unit()).unwrap_or(0.0)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_rand_uniform_uint64() -> u64 {
    context::with(|context| context.random.borrow_mut().next_u64()).unwrap_or(0)
}

/// Fills `out` by the pattern `format`, without a terminator.
///
/// # Safety
/// `format` is a C string, and `out` has room for as many bytes as it has.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sb_rand_str(format: *const c_char, out: *mut c_char) {
    if format.is_null() || out.is_null() {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let format = unsafe { CStr::from_ptr(format) }.to_bytes();
    let (begin, other) = (format.as_ptr().addr(), out.addr());
    // A script may pass the pattern itself as `out`: two references to one memory are not allowed.
    let overlaps =
        begin < other.saturating_add(format.len()) && other < begin.saturating_add(format.len());
    let format: Cow<'_, [u8]> = if overlaps { format.to_owned().into() } else { format.into() };
    // SAFETY: guaranteed by the caller; no other reference to this memory is used any more.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), format.len()) };
    context::with(|context| rand::string(&mut context.random.borrow_mut(), &format, out));
}

/// Fills `out` with a text of random length, and returns the length.
///
/// # Safety
/// `out` has room for `length_max` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sb_rand_varstr(
    out: *mut c_char,
    length_min: u32,
    length_max: u32,
) -> u32 {
    if out.is_null() || length_min > length_max || length_max > TEXT_BYTES_MAX {
        return 0;
    }
    // SAFETY: guaranteed by the caller.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), length_max as usize) };
    let length = context::with(|context| {
        rand::varstring(&mut context.random.borrow_mut(), length_min, length_max, out) as u32
    });
    length.unwrap_or(0)
}

/// Whether there is another event, for scripts with their own `thread_run`. Waits until the event
/// is due.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_more_events(_tid: c_int) -> bool {
    loop {
        match context::with(Context::next) {
            None | Some(NextEvent::Stop(_)) => return false,
            Some(NextEvent::Go(event)) => {
                context::with(|context| context.start_ns.set(event.scheduled_ns));
                return true;
            }
            Some(NextEvent::Wait { due_ns }) => {
                let now_ns =
                    context::with(|context| context.run.control.now_ns()).unwrap_or(due_ns);
                // In short steps, so that the end of the run is noticed.
                let wait = Duration::from_nanos(due_ns.saturating_sub(now_ns))
                    .min(Duration::from_millis(50));
                std::thread::sleep(wait);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_event_start(_tid: c_int) {
    context::with(|context| {
        let asked_ns = context.start_ns.replace(0);
        let has_schedule = asked_ns != 0 && context.run.control.has_pace();
        let started_ns = context.run.control.now_ns();
        context.begin_event(EventStart {
            scheduled_ns: if has_schedule { asked_ns } else { started_ns },
            started_ns,
        });
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_event_stop(_tid: c_int) {
    context::with(Context::end_event);
}

fn with_slot<R>(tid: c_int, f: impl FnOnce(&crate::command::ClientCounters) -> R) -> Option<R> {
    let tid = u32::try_from(tid).ok()?;
    context::with(|context| f(context.run.counters.slot(tid)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_counter_inc(tid: c_int, counter: c_int) {
    with_slot(tid, |slot| slot.count_number(counter, 1));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_counter_add(tid: c_int, counter: c_int, value: u64) {
    with_slot(tid, |slot| slot.count_number(counter, value));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_counter_val(tid: c_int, counter: c_int) -> u64 {
    with_slot(tid, |slot| slot.value(counter)).unwrap_or(0)
}

/// A script's own histogram, which it may pass to other threads.
type ScriptHistogram = Mutex<LogHistogram>;

/// Null if the range is invalid.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sb_histogram_new(
    size: usize,
    range_min: c_double,
    range_max: c_double,
) -> *mut ScriptHistogram {
    let is_range = size > 0
        && size <= HISTOGRAM_SIZE_MAX
        && range_min > 0.0
        && range_max > range_min
        && range_max.is_finite();
    if is_range {
        Box::into_raw(Box::new(Mutex::new(LogHistogram::new(size, range_min, range_max))))
    } else {
        std::ptr::null_mut()
    }
}

fn lock(histogram: &ScriptHistogram) -> MutexGuard<'_, LogHistogram> {
    histogram.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// `histogram` is null, or came from [`sb_histogram_new`] and has not been deleted.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sb_histogram_delete(histogram: *mut ScriptHistogram) {
    if !histogram.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(histogram) });
    }
}

/// # Safety
/// As of [`sb_histogram_delete`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sb_histogram_update(
    histogram: *mut ScriptHistogram,
    value: c_double,
) {
    // SAFETY: guaranteed by the caller.
    if let Some(histogram) = unsafe { histogram.as_ref() } {
        lock(histogram).add(value, 1);
    }
}

/// # Safety
/// As of [`sb_histogram_delete`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sb_histogram_print(histogram: *mut ScriptHistogram) {
    // SAFETY: guaranteed by the caller.
    if let Some(histogram) = unsafe { histogram.as_ref() } {
        context::with(|context| context.run.log.script(lock(histogram).text().as_bytes()));
    }
}

/// An event of the test `cpu`: how many of the numbers from 3 to `limit` are prime. Each is divided
/// by 2, 3, 4, … up to its square root until a division is exact, in 64 bits: this is the work that
/// sysbench's figure stands for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn truetps_count_primes(limit: u32) -> u32 {
    (3..=u64::from(limit))
        .filter(|number| !(2..=number.isqrt()).any(|by| std::hint::black_box(number % by) == 0))
        .count() as u32
}

/// Requests the next event, which begins: [`STOP`], [`GO`], or [`LATER`] if the caller has to yield
/// first.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn truetps_next_event(_tid: c_int) -> c_int {
    match context::with(Context::next_event) {
        None | Some(EventTurn::Stop) => STOP,
        Some(EventTurn::Go) => GO,
        Some(EventTurn::Wait { .. } | EventTurn::Pass) => LATER,
    }
}

/// Sends a text on a connection: the answer to it, [`NOT_SENT`] or
/// [`LATE`](super::request::LATE).
///
/// # Safety
/// `text` points to `length` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn truetps_query(
    connection: u32,
    text: *const c_char,
    length: usize,
) -> c_int {
    if text.is_null() {
        return NOT_SENT;
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    context::with(|context| {
        answer_soon(context, |store| (connection, store.query(connection, text)))
    })
    .unwrap_or(NOT_SENT)
}

/// Executes a prepared statement in the same way.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn truetps_execute(statement: u32) -> c_int {
    context::with(|context| {
        answer_soon(context, |store| (store.connection_of(statement), store.execute(statement)))
    })
    .unwrap_or(NOT_SENT)
}

/// Whether a failed event may be retried: not after the run has ended.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn truetps_may_restart(_tid: c_int) -> c_int {
    context::with(|context| c_int::from(context.run.control.may_restart())).unwrap_or(0)
}

/// The running event is not counted.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn truetps_abandon_event(_tid: c_int) {
    context::with(|context| context.run.counters.drop_event(context.share, context.tid, false));
}

/// A script has dropped this connection.
///
/// # Safety
/// `connection` is null or memory that lives as long as its Lua state.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn truetps_release_connection(connection: *const ConnectionShape) {
    // SAFETY: guaranteed by the caller.
    if let Some(connection) = unsafe { connection.as_ref() } {
        release(connection.store, Released::Connection(connection.handle));
    }
}

/// A script has dropped this statement.
///
/// # Safety
/// `statement` is null or memory that lives as long as its Lua state.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn truetps_release_statement(statement: *const StatementShape) {
    // SAFETY: guaranteed by the caller.
    if let Some(statement) = unsafe { statement.as_ref() } {
        release(statement.store, Released::Statement(statement.handle));
    }
}

/// Keeps all of them in the program: the linker drops functions that no Rust code mentions.
pub(crate) fn keep() {
    let all: [*const (); 29] = [
        sb_rand_default as *const (),
        sb_rand_uniform as *const (),
        sb_rand_gaussian as *const (),
        sb_rand_special as *const (),
        sb_rand_pareto as *const (),
        sb_rand_zipfian as *const (),
        sb_rand_unique as *const (),
        sb_rand_uniform_double as *const (),
        sb_rand_uniform_uint64 as *const (),
        sb_rand_str as *const (),
        sb_rand_varstr as *const (),
        sb_more_events as *const (),
        sb_event_start as *const (),
        sb_event_stop as *const (),
        sb_counter_inc as *const (),
        sb_counter_add as *const (),
        sb_counter_val as *const (),
        sb_histogram_new as *const (),
        sb_histogram_delete as *const (),
        sb_histogram_update as *const (),
        sb_histogram_print as *const (),
        truetps_count_primes as *const (),
        truetps_next_event as *const (),
        truetps_query as *const (),
        truetps_execute as *const (),
        truetps_may_restart as *const (),
        truetps_abandon_event as *const (),
        truetps_release_connection as *const (),
        truetps_release_statement as *const (),
    ];
    std::hint::black_box(all);
}
