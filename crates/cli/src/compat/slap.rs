//! `truetps slap …`, and a link to this program that is called `mysqlslap` or `mariadb-slap`.

use std::ffi::OsString;
use std::process::ExitCode;

use truetps_compat::{World, run_slap};

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
    let mut world = World {
        environment: &|name| std::env::var_os(name),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        stop,
        out: &mut std::io::stdout().lock(),
        err: &mut std::io::stderr(),
    };
    ExitCode::from(run_slap(arguments.into_iter().skip(1).collect(), &mut world))
}
