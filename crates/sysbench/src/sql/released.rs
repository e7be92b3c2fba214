//! Objects that scripts have dropped: finalisers of LuaJIT add them, and the runtime releases them
//! when it is safe.
//!
//! A thread may have several states, each with its own store. Each store has a number, so that
//! handles of different stores are not confused.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// An object of a store by its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Released {
    Connection(u32),
    Statement(u32),
}

thread_local! {
    static RELEASED: RefCell<Vec<(u32, Released)>> = const { RefCell::new(Vec::new()) };
}

/// A number for a new store.
pub(crate) fn next_store() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn release(store: u32, what: Released) {
    // At the end of a thread the list is gone, and not needed.
    let _ = RELEASED.try_with(|released| released.borrow_mut().push((store, what)));
}

/// Whether this thread has objects to release.
pub(crate) fn has_released() -> bool {
    RELEASED.with_borrow(|released| !released.is_empty())
}

/// Takes the objects of this store.
pub(crate) fn take_released(store: u32) -> Vec<Released> {
    RELEASED.with_borrow_mut(|released| {
        let mine = released.iter().filter(|(of, _)| *of == store).map(|(_, what)| *what).collect();
        released.retain(|(of, _)| *of != store);
        mine
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_gets_its_own() {
        let (a, b) = (next_store(), next_store());
        release(a, Released::Connection(0));
        release(b, Released::Connection(0));
        release(a, Released::Statement(3));
        assert!(has_released());
        assert_eq!(take_released(a), [Released::Connection(0), Released::Statement(3)]);
        assert_eq!(take_released(a), []);
        assert_eq!(take_released(b), [Released::Connection(0)]);
        assert!(!has_released());
    }
}
