//! What concerns all folders of a home: opening it, adding and removing named servers, and removing
//! leftovers.

pub(crate) mod adding;
pub(crate) mod archive;
pub(crate) mod leftovers;
pub(crate) mod opening;
pub(crate) mod removal;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod unfinished;
