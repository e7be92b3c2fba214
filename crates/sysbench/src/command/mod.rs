//! What the threads of a running command share: when events may start, what is counted, and what
//! the threads use.

mod command_run;
mod control;
mod counters;
mod event_tally;
mod pace;
mod sent;
mod shape_text;
mod shared;
mod statements;
mod usage;

pub use command_run::ServerWarning;
pub(crate) use command_run::{CommandRun, ServerSeen, tell};
pub(crate) use control::{EventsEnding, NextEvent, StopReason, UNCLAIMED};
pub(crate) use counters::{Answered, ClientCounters, Counters, SlotCounts};
pub(crate) use event_tally::{EventStart, EventTally};
pub(crate) use sent::{SentCounts, ShapeFinder, ShapeNumber};
pub(crate) use shared::CommandShared;
pub(crate) use statements::{Counter, StatementTimes, statement_kind};
pub(crate) use usage::answer_was_ready;
