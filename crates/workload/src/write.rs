//! Which rows a statement writes, as far as the profile of a workload needs it.

/// A statement that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Index in [`Workload::tables`](crate::Workload::tables).
    pub table: usize,
    pub kind: WriteKind,
}

/// `key`: which of the statement's parameters, from 0, is the row's primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Insert {
        key: usize,
    },
    /// An INSERT of this number of rows, whose keys the server makes.
    InsertAuto {
        rows: u32,
    },
    Update {
        key: usize,
    },
    Delete {
        key: usize,
    },
}

/// For a workload that has one statement of a kind for each of its tables.
pub(crate) fn for_each_table(tables: u32, kind: WriteKind) -> impl Iterator<Item = Option<Write>> {
    (0..tables as usize).map(move |table| Some(Write { table, kind }))
}
