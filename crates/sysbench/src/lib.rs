//! The sysbench personality: existing scripts and command lines run unmodified, as
//! `truetps sysbench`.
//!
//! It is a crate of its own because other rules apply to it: its lines, options and exit codes are
//! defined by sysbench, and it runs scripts of users, for which it needs LuaJIT. It uses the
//! sessions of `truetps_driver` and has its own event loop; `truetps_measure` counts its events,
//! judges its runs and detects a suspended process.
//!
//! ```text
//! options ──▶ program ──▶ LuaState, run::LuaThread ─▶ sql::Store ──▶ driver::Link
//! what was    the life    a thread: clients are     connections,    a socket with
//! typed       of a        coroutines that yield     statements,     its session
//!             command     requests                  results
//!                        │
//!                        └──▶ command::Counters ▶ run::{Count, reports} ──▶ output, recording
//!                             counters            what happened since       lines, JSON, folder
//! ```
//!
//! - `options`: two passes over the command line, because a script declares options of its own; the
//!   registry. No I/O.
//! - `program`: finds the script (`script_lookup`), runs its body in the main thread's state
//!   (`main_state`), reads the options (`script_options`), then runs the command (`dispatch` of a
//!   `script_command`): there, in each client (`parallel`), or as a load (`load`). `environment` is
//!   what the caller passes. `exit_code` has the exit statuses.
//! - `lua`: `state` makes a LuaJIT state with the prelude; `request` lists the requests of scripts,
//!   and the codes of the answers; `context` is the client that runs now; `failure` is how a script
//!   fails.
//! - `lua/prelude/`: the Lua environment of scripts: `client` (procedures of a client),
//!   `environment` and `layers` (globals of a client over globals of all), `sql`, `cmdline`,
//!   `legacy`, `inspection` (does the script need its own Lua state for each client?).
//! - `command`: what the threads of a command share: `control` (when events may start), `pace`
//!   (`--rate`), `counters` (`Counters`: counts of all clients, readable at any time, and an
//!   `EventTally` for each thread), `sent` (statements by shape), `usage` (what the threads use).
//! - `run`: `lua_thread` (`LuaThread`: one thread, one Lua state; it resumes clients and waits on
//!   epoll), `load` (a run from start to report), `recorded_series` (`RecordedSeries`: the
//!   intervals of the run folder), `latency_windows` (`LatencyWindow`: the figures of sysbench's
//!   reports since a moment).
//! - `sql`: `store` and `commands` start the SQL requests of a script and report when the answers
//!   have arrived; results stay in borrowed buffers. `shapes` are the structures that scripts read;
//!   `released` are objects that a script has dropped.
//!
//! `command` ← `sql` ← `lua` ← `run`: each knows what stands before it, and nothing behind it.
//!
//! - `rand`: the random numbers of scripts.
//! - `output`: every printed line, and the JSON document. `recording`: the run folder, with its
//!   probe (`ScriptRecording` has a `truetps_recording::TrialRecorder`), and the events of the live
//!   view. A folder of runs that the user named must be writable; without one, a run that cannot be
//!   recorded prints one line and continues.
//! - `parts`: a run as one part of a load that several processes make. How the parts meet is the
//!   caller's ([`PartsMeeting`]).
//!
//! `run` does not use the schedule, quota and phases of `measure`, because sysbench promises
//! others: one queue of starts for the clients of all threads, drawn from the script's own
//! generator, in which a free client claims the next start before it is due; `--events` counts
//! starts; and the measured time lasts until the last event has ended. `measure` splits its
//! schedule between workers that share no state, counts ends, and drains.
//!
//! *Unsafe* are `sql/shapes.rs` (structures that LuaJIT reads while Rust owns them),
//! `lua/symbols.rs` (C functions that scripts call by name), `sql/bound.rs` (buffers of LuaJIT with
//! the values of a statement), and two calls in `lua/state.rs`: scripts have `ffi`, and expect
//! memory. `docs/decisions/0007-lua.md` has the reasons.
//!
//! *Invariants:* this crate contains no text and no code of sysbench, which is GPL; users bring
//! their own copy of its scripts. A script that fails ends its run, and never the process. A script
//! cannot see the state of another client. A test compares the tables of
//! `docs/reference/sysbench.md` with the program.

mod command;
mod exit_code;
mod interrupt;
mod lua;
mod options;
mod output;
mod parts;
mod program;
mod rand;
mod recording;
mod run;
mod sql;

pub use command::ServerWarning;
pub use interrupt::Interrupt;
pub use options::masked;
pub use parts::{MeetParts, PartsMeeting, PartsRequest};
pub use program::{SysbenchEnv, run as run_program};
