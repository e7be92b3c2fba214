//! Which tests of a program may run beside each other. Most wait for a server or a measured second,
//! and several of them share the cores well. A test that judges a length of time runs beside others
//! of its kind only, or alone.
//!
//! Within a program this is a lock of the process. Where `xtask` runs programs beside each other, a
//! test takes a permit in addition: one test one, and tests that judge a length of time all of
//! them.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::permits::Permits;

/// Tests of one use of the machine do not take so long together, in any program.
const WAIT_MAX: Duration = Duration::from_mins(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MachineUse {
    /// Beside others that may make both cores and the disk busy.
    Shared,
    /// Beside others that mostly wait.
    Quiet,
    Alone,
}

#[derive(Debug)]
struct MachineState {
    by: MachineUse,
    users: usize,
}

static STATE: Mutex<MachineState> = Mutex::new(MachineState { by: MachineUse::Shared, users: 0 });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// The test of this thread has the machine as it needs it: its servers and folders ask for
    /// nothing.
    static IS_RESERVED: Cell<bool> = const { Cell::new(false) };
    /// The permit of this thread's test.
    static PERMIT: RefCell<Weak<Permits>> = const { RefCell::new(Weak::new()) };
}

/// The machine, for as long as this is not dropped.
#[derive(Debug)]
#[must_use]
pub struct MachineGuard {
    by: Option<MachineUse>,
    permits: Option<Arc<Permits>>,
}

/// For servers and folders of tests, so that a test need not ask. One test may hold several.
pub fn share_machine() -> MachineGuard {
    if IS_RESERVED.get() {
        return MachineGuard { by: None, permits: None };
    }
    let mut guard = enter(MachineUse::Shared);
    guard.permits = permit_of_this_test();
    guard
}

/// For a test that judges a length of time and is idle itself: others of the kind may run
/// meanwhile.
///
/// This is the first line of a test, before its servers and folders; no other thread of it may make
/// any.
pub fn quiet_machine() -> MachineGuard {
    reserve(MachineUse::Quiet)
}

/// For a test that judges a length of time and makes the machine busy: nothing else runs. It is
/// used as [`quiet_machine`].
pub fn take_machine() -> MachineGuard {
    reserve(MachineUse::Alone)
}

fn reserve(by: MachineUse) -> MachineGuard {
    let mut guard = enter(by);
    let permits = if by == MachineUse::Alone { Permits::all() } else { Permits::all_shared() };
    guard.permits = permits.map(Arc::new);
    IS_RESERVED.set(true);
    guard
}

/// One for all servers and folders of a test. A thread without a name was started by a test, which
/// has one.
fn permit_of_this_test() -> Option<Arc<Permits>> {
    thread::current().name()?;
    PERMIT.with_borrow_mut(|held| {
        held.upgrade().or_else(|| {
            let permit = Arc::new(Permits::one()?);
            *held = Arc::downgrade(&permit);
            Some(permit)
        })
    })
}

fn enter(by: MachineUse) -> MachineGuard {
    let is_in_use =
        |state: &mut MachineState| state.users > 0 && (state.by != by || by == MachineUse::Alone);
    let waited = CHANGED.wait_timeout_while(state(), WAIT_MAX, is_in_use);
    let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
    assert!(
        !timeout.timed_out(),
        "the machine was in use for {WAIT_MAX:?}: {state:?}; a test asks for it first"
    );
    (state.by, state.users) = (by, state.users + 1);
    MachineGuard { by: Some(by), permits: None }
}

fn state() -> MutexGuard<'static, MachineState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for MachineGuard {
    fn drop(&mut self) {
        // Before another test of this program waits for them.
        drop(self.permits.take());
        let Some(by) = self.by else { return };
        if by != MachineUse::Shared {
            IS_RESERVED.set(false);
        }
        state().users -= 1;
        CHANGED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// What runs now: tests of each kind.
    #[derive(Default)]
    struct Running([AtomicUsize; 3]);

    impl Running {
        fn test(&self, by: MachineUse, most: &AtomicUsize) {
            let beside = self.0[by as usize].fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(beside, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(2));
            let count = |kind: MachineUse| self.0[kind as usize].load(Ordering::SeqCst);
            // Not the own kind: its tests come and go meanwhile.
            let others = [MachineUse::Shared, MachineUse::Quiet, MachineUse::Alone]
                .into_iter()
                .filter(|kind| *kind != by);
            assert_eq!(others.map(count).sum::<usize>(), 0, "one kind at a time");
            self.0[by as usize].fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn tests_of_one_kind_run_beside_each_other_and_one_may_be_alone() {
        let running = Running::default();
        let most = [0, 0, 0].map(AtomicUsize::new);
        thread::scope(|scope| {
            for number in 0..9 {
                let (running, most) = (&running, &most);
                scope.spawn(move || {
                    for turn in 0..10 {
                        match (turn + number) % 3 {
                            0 => {
                                let _machine = take_machine();
                                let _servers = [share_machine(), share_machine()];
                                running.test(MachineUse::Alone, &most[2]);
                            }
                            1 => {
                                let _machine = quiet_machine();
                                let _server = share_machine();
                                running.test(MachineUse::Quiet, &most[1]);
                            }
                            _ => {
                                let _place = share_machine();
                                let _server = share_machine();
                                running.test(MachineUse::Shared, &most[0]);
                            }
                        }
                    }
                });
            }
        });
        let [shared, quiet, alone] = most.map(AtomicUsize::into_inner);
        assert!(shared > 1 && quiet > 1, "{shared} {quiet}");
        assert_eq!(alone, 1);
    }
}
