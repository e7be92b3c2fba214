//! Connections, statements and results as scripts see them: C structures at fixed addresses, which
//! LuaJIT reads directly.
//!
//! `prelude/declarations.h` has the same layouts. An address is reused after its object is gone,
//! and memory is freed only with the whole [`Shapes`]: a script that keeps a pointer for too long
//! reads the next object, never freed memory.
#![allow(
    unsafe_code,
    reason = "the one place where memory is shared with LuaJIT; see the types' documentation"
)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_int};
use std::rc::Rc;

/// `sql_driver`.
#[repr(C)]
pub(crate) struct DriverShape {
    pub(crate) short_name: *const c_char,
    pub(crate) long_name: *const c_char,
    pub(crate) handle: u32,
}

/// `sql_connection`.
#[repr(C)]
pub(crate) struct ConnectionShape {
    /// 0 none, 1 ignorable, 2 fatal.
    pub(crate) error: c_int,
    pub(crate) sql_errno: c_int,
    pub(crate) sql_state: *const c_char,
    pub(crate) sql_errmsg: *const c_char,
    pub(crate) driver: *const DriverShape,
    pub(crate) handle: u32,
    pub(crate) tid: u32,
    pub(crate) result: *mut ResultShape,
    /// The statement that was prepared last.
    pub(crate) statement: *mut StatementShape,
    /// The store that it belongs to; see `released.rs`.
    pub(crate) store: u32,
    /// Storage of the two texts above: scripts may keep the pointers. The texts are
    /// zero-terminated.
    pub(crate) state_text: [u8; STATE_BYTES],
    pub(crate) message_text: [u8; MESSAGE_BYTES],
}

/// Sizes of an SQLSTATE, and of a message as servers send it, each with its terminator.
pub(crate) const STATE_BYTES: usize = 8;
pub(crate) const MESSAGE_BYTES: usize = 512;

/// `sql_statement`.
#[repr(C)]
pub(crate) struct StatementShape {
    pub(crate) connection: *mut ConnectionShape,
    pub(crate) query: *const c_char,
    pub(crate) counter: c_int,
    pub(crate) handle: u32,
    pub(crate) store: u32,
}

/// `sql_result`.
#[repr(C)]
pub(crate) struct ResultShape {
    pub(crate) counter: c_int,
    pub(crate) rows: u32,
    pub(crate) fields: u32,
    pub(crate) statement: *mut StatementShape,
    pub(crate) pointer: *mut (),
    pub(crate) row_pointer: *mut (),
    pub(crate) row_values: *mut (),
    /// Handle of the connection, as a Lua number.
    pub(crate) serial: f64,
}

/// A value that is bound to a statement: `sql_bind`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct BindShape {
    pub(crate) kind: c_int,
    pub(crate) buffer: *const u8,
    pub(crate) length: *const std::ffi::c_ulong,
    pub(crate) length_max: std::ffi::c_ulong,
    pub(crate) is_null: *const u8,
}

macro_rules! zeroed {
    ($($shape:ty),*) => {$(
        impl Default for $shape {
            fn default() -> Self {
                // SAFETY: numbers and raw pointers, for which all zeros are a value.
                unsafe { std::mem::zeroed() }
            }
        }
    )*};
}
zeroed!(ConnectionShape, StatementShape, ResultShape);

/// The memory of one structure, which lives as long as any handle to it. Only the thread that owns
/// the Lua state reads and writes it.
pub(crate) struct LuaStructure<T>(Rc<StructurePlace<T>>);

struct StructurePlace<T> {
    is_in_use: Cell<bool>,
    structure: UnsafeCell<T>,
}

impl<T> Clone for LuaStructure<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> LuaStructure<T> {
    pub(crate) fn new(structure: T) -> Self {
        Self(Rc::new(StructurePlace {
            is_in_use: Cell::new(false),
            structure: UnsafeCell::new(structure),
        }))
    }

    pub(crate) fn address(&self) -> *mut T {
        self.0.structure.get()
    }

    /// Changes the structure. `change` must not call into Lua.
    ///
    /// # Panics
    ///
    /// If called inside another change of the same structure.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        assert!(!self.0.is_in_use.replace(true), "a structure is changed by one at a time");
        // SAFETY: the memory lives as long as this handle; no other handle gives out a reference
        // during the call; Lua code, the only other reader and writer, does not run while `change`
        // does.
        let result = unsafe { change(&mut *self.0.structure.get()) };
        self.0.is_in_use.set(false);
        result
    }
}

/// Memory for structures of one kind.
pub(crate) struct Shapes<T> {
    /// Scripts may hold the address of each.
    all: Vec<LuaStructure<T>>,
    free: Vec<LuaStructure<T>>,
}

impl<T: Default> Shapes<T> {
    pub(crate) fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    /// Memory with a fresh structure.
    pub(crate) fn take(&mut self) -> LuaStructure<T> {
        if let Some(shape) = self.free.pop() {
            shape.with(|structure| *structure = T::default());
            return shape;
        }
        let shape = LuaStructure::new(T::default());
        self.all.push(shape.clone());
        shape
    }

    /// The object is gone: its memory may be reused by the next one.
    pub(crate) fn give_back(&mut self, shape: LuaStructure<T>) {
        self.free.push(shape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_again_and_is_fresh() {
        let mut shapes = Shapes::<ConnectionShape>::new();
        let first = shapes.take();
        first.with(|connection| connection.sql_errno = 7);
        shapes.give_back(first.clone());
        let second = shapes.take();
        assert_eq!(first.address(), second.address());
        assert_eq!(second.with(|connection| connection.sql_errno), 0);
        assert_ne!(shapes.take().address(), second.address());
        drop(shapes);
        assert_eq!(second.with(|connection| connection.sql_errno), 0, "a handle keeps its memory");
    }

    #[test]
    #[should_panic(expected = "by one at a time")]
    fn a_structure_is_not_lent_twice() {
        let shape = Shapes::<ResultShape>::new().take();
        shape.with(|_| shape.with(|result| result.rows = 1));
    }
}
