//! A lock, whatever became of who held it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic under the lock leaves nothing half done: what a dead thread held is as good as before.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
