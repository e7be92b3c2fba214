//! Personalities: other tools' command lines and texts over the same measurement.

mod called;
mod classics;
mod hidden;
mod parts;
mod sysbench;

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) use called::called;
pub(crate) use hidden::arguments;
use truetps_compat::{run_mtls, run_slap};
use truetps_record::Personality;
use truetps_sandbox::raise_open_files_to_hard;

use crate::allocator;

pub(crate) fn run(personality: Personality, arguments: Vec<OsString>) -> ExitCode {
    allocator::set_exit_code(if personality == Personality::Mtls { 2 } else { 1 });
    let ran = match personality {
        Personality::Sysbench => {
            // How many connections a script makes is its own business.
            raise_open_files_to_hard();
            sysbench::run(&arguments)
        }
        Personality::Slap => classics::run(run_slap, arguments),
        Personality::Mtls => classics::run(run_mtls, arguments),
        Personality::Verify => {
            unreachable!("a command of truetps itself: no link and no word leads here")
        }
    };
    ran.unwrap_or_else(|failure| failure.print().into())
}
