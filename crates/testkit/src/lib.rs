//! Servers for tests: installed programs of the MySQL family (`mysql_family`), which the sandbox
//! starts, and private PostgreSQL servers (`private_postgres`), in a folder of their own, removed
//! when the value is dropped or the test's process ends in any way.
//!
//! - `machine`: which tests run beside each other, and `permits`: in all programs of a run.
//!   `templates`: initialised datadirs, shared between tests.
//! - `arithmetics`: what no answer may say. `fit`: judges random draws. `pid_namespace`: runs a
//!   test in a pid namespace of its own.
//!
//! *Invariant:* in `[dev-dependencies]` only. A server that this crate did not start is never
//! touched (there is no default port, and each folder is new), and no server outlives its test.

mod arithmetics;
mod fit;
mod machine;
pub mod mysql_family;
mod os_user;
mod permits;
mod pid_namespace;
mod port;
mod postgres;
mod private_postgres;
mod programs;
mod servers;
mod spawn;
mod templates;

pub use arithmetics::contradictions;
pub use fit::{assert_fits, chi_square};
pub use machine::{MachineGuard, quiet_machine, share_machine, take_machine};
pub use pid_namespace::{inside_pid_namespace, run_in_pid_namespace};
pub use port::free_port;
pub use postgres::{PostgresError, PostgresOptions, PostgresServer, TlsFiles};
pub use private_postgres::{every_postgres, private_postgres};
pub use programs::Programs;
pub use templates::{TestHome, keep_templates, lend_templates};
