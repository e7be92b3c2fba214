//! What differs between the settings of two servers, most likely to matter first.
//!
//! `compare` makes the `document`: which settings differ (`equal`), in which order (`order`), which
//! of them are folded away and why (`folded`), and what is noted on each side (`notes`).

mod compare;
mod document;
mod equal;
mod folded;
mod notes;
mod order;
#[cfg(test)]
mod tests;

pub use compare::diff;
pub use document::{Diff, Difference, Placed, SideFacts};
