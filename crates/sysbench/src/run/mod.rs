//! Threads, clients, events, time.

mod command_shared;
mod control;
mod count;
mod counters;
mod event_tally;
mod latency_windows;
mod load;
mod long_turns;
mod lua_thread;
mod pace;
mod recorded_series;
mod reports;
mod sent;
mod shape_text;
mod shared;
mod statements;
mod ticks;
mod turn_waits;
mod usage;
mod worker;

pub(crate) use command_shared::CommandShared;
pub(crate) use control::{EventsEnding, NextEvent, StopReason, UNCLAIMED};
pub(crate) use count::Count;
pub(crate) use counters::{Answered, ClientCounters};
pub(crate) use event_tally::{EventStart, EventTally};
pub(crate) use latency_windows::{log_histogram, percentiles, statement_latencies};
pub(crate) use load::LoadRun;
pub(crate) use lua_thread::LuaThread;
pub(crate) use recorded_series::RecordedSeries;
pub(crate) use reports::call_function;
pub(crate) use sent::{ShapeFinder, ShapeNumber};
pub use shared::ServerWarning;
pub(crate) use shared::{CommandRun, ServerSeen, tell};
pub(crate) use statements::{Counter, statement_kind};
pub(crate) use worker::{RUN, WorkerContext, WorkerEvent, groups, stack_bytes, start};
