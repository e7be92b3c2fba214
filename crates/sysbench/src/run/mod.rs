//! Threads, clients, events, time.

mod board;
mod control;
mod count;
mod host;
mod ledger;
mod load;
mod pace;
mod reports;
mod sent;
mod shape_text;
mod shared;
mod statements;
mod ticks;
mod usage;
mod worker;

pub(crate) use board::{Answered, Board, Counter, Share, Slot, SlotCounts};
pub(crate) use control::{Control, Next, UNCLAIMED, Why};
pub(crate) use count::Count;
pub(crate) use host::{Failure, Host};
pub(crate) use ledger::{fairness, log_histogram, percentiles, statement_latencies};
pub(crate) use load::{Ending, LARGE_STACK_BYTES, Load, stack_bytes};
pub(crate) use pace::Pace;
pub(crate) use reports::call_function;
pub(crate) use sent::{ShapeFinder, ShapeNumber};
pub use shared::ServerWarning;
pub(crate) use shared::{Run, ServerSeen};
pub(crate) use statements::statement_kind;
pub(crate) use usage::Usage;
pub(crate) use worker::{Crew, News, RUN, groups, work};
