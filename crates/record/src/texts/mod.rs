//! Texts for people. `printable` makes text from outside safe to print.

pub(crate) mod calendar;
pub(crate) mod near_match;
pub(crate) mod printable;
