//! What needs to know all kinds of folders: opening a home, and removing leftovers.

pub(crate) mod leftovers;
pub(crate) mod opening;
pub(crate) mod unfinished;
