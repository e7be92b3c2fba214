//! The allocator: mimalloc, and an end in words where it has no memory.
//!
//! Rust ends a program by SIGABRT where an allocation fails, as in an address space that is limited
//! (`ulimit -v`). A script that starts the program takes that for a crash of it, and sysbench has
//! an exit code there.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU8, Ordering};

use mimalloc::MiMalloc;

use crate::exit::Exit;

const NO_MEMORY: &[u8] = b"truetps: out of memory (`ulimit -v` limits the address space)\n";

static EXIT_CODE: AtomicU8 = AtomicU8::new(Exit::Failed as u8);

/// The exit code from now on, if there is no memory.
pub(crate) fn set_exit_code(code: u8) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

pub(crate) struct EndingAllocator;

#[expect(unsafe_code, reason = "allocators are unsafe; this one passes every call to mimalloc")]
// SAFETY: each block is mimalloc's, and goes back to it.
unsafe impl GlobalAlloc for EndingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is mimalloc's condition.
        or_end(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { MiMalloc.realloc(block, layout, new_size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

#[inline]
fn or_end(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        end();
    }
    block
}

/// Other threads may hold locks: nothing but system calls. What was measured is on disk already.
#[cold]
fn end() -> ! {
    let _ = rustix::io::write(rustix::stdio::stderr(), NO_MEMORY);
    signal_hook::low_level::exit(EXIT_CODE.load(Ordering::Relaxed).into())
}
