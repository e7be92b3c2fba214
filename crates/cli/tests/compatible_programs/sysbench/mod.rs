//! `truetps sysbench` beside Debian's sysbench: the same command lines and scripts, on the same
//! server.
//!
//! What depends on no seed and no clock must be alike: statements that reach the server, rows,
//! counters, every line and the exit code. Where ours differs on purpose, the case says why;
//! docs/reference/sysbench.md says it to users.
//!
//! `TRUETPS_SYSBENCH_UNDER_TEST` names a program to be tested in place of ours. With Debian's own
//! in it, everything must pass but the listed deviations: that is how these tests are tested.

mod api;
mod bundled;
mod cases;
mod command_lines;
mod difference;
mod environment;
mod lines;
mod local_files;
mod pair;
mod program;
mod server;
mod shapes;
mod variants;
mod waits;
