//! The threads of a command, its clients, and its reports.

mod count;
mod latency_windows;
mod load;
mod long_turns;
mod lua_thread;
mod recorded_series;
mod reports;
mod ticks;
mod turn_waits;
mod worker;

pub(crate) use count::Count;
pub(crate) use latency_windows::{log_histogram, percentiles, statement_latencies};
pub(crate) use load::LoadRun;
pub(crate) use lua_thread::LuaThread;
pub(crate) use recorded_series::RecordedSeries;
pub(crate) use reports::call_function;
pub(crate) use worker::{RUN, WorkerContext, WorkerEvent, groups, start, start_thread};
