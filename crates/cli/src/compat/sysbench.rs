//! `truetps sysbench …`, and a link to this program that is called `sysbench`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crate::say;
use crate::signals::stop_flag;

/// The name of the personality, and of the link.
const NAME: &str = "sysbench";

/// The arguments of sysbench, its own name first; `None` where somebody else is called.
pub(crate) fn arguments(mut arguments: Vec<OsString>) -> Option<Vec<OsString>> {
    let program = Path::new(arguments.first()?).file_name().map(OsStr::to_owned);
    if program.is_some_and(|program| program == NAME) {
        return Some(arguments);
    }
    if arguments.get(1).is_some_and(|word| word == NAME) {
        arguments.remove(0);
        return Some(arguments);
    }
    None
}

pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> Option<Vec<OsString>> {
        arguments(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn by_a_word_or_by_a_link() {
        assert_eq!(called(&["/bin/truetps", "sysbench", "--help"]).unwrap(), ["sysbench", "--help"]);
        assert_eq!(called(&["/opt/sysbench", "sysbench"]).unwrap(), ["/opt/sysbench", "sysbench"]);
        assert_eq!(called(&["truetps", "run", "sysbench"]), None);
        assert_eq!(called(&[]), None);
    }
}
