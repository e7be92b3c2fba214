//! `truetps sysbench …`, and a link to this program that is called `sysbench`.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::say;
use crate::signals::stop_flag;

pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(failure) => {
            say(&failure.to_string());
            return failure.exit.into();
        }
    };
    let world = truetps_sysbench::World {
        environment: &|name| std::env::var_os(name),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        interrupt: stop,
    };
    ExitCode::from(truetps_sysbench::run_program(arguments, &world))
}
