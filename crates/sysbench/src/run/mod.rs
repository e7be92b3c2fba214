//! Threads, clients, events, time.

mod board;
mod control;
mod host;
mod pace;
mod shared;

pub(crate) use board::{Counter, Share, Slot, SlotCounts, statement_kind};
pub(crate) use control::{Control, Next, UNCLAIMED, Why};
pub(crate) use host::{Failure, Host};
pub(crate) use pace::Pace;
pub(crate) use shared::Run;
