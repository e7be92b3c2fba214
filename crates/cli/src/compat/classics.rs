//! `truetps slap …` and `truetps mtls …`, and links to this program that have the originals' names.

use std::ffi::OsString;
use std::process::ExitCode;

use truetps_compat::World;

use crate::say;
use crate::signals::stop_flag;

/// Runs one of the programs; its name is the first argument.
pub(super) fn run(program: fn(Vec<OsString>, &mut World<'_>) -> u8, arguments: Vec<OsString>) -> ExitCode {
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(failure) => {
            say(&failure.to_string());
            return failure.exit.into();
        }
    };
    let mut world = World {
        environment: &|name| std::env::var_os(name),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        stop,
        out: &mut std::io::stdout().lock(),
        err: &mut std::io::stderr(),
    };
    ExitCode::from(program(arguments, &mut world))
}
