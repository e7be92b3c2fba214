//! `truetps sysbench …`, and a link to this program that is called `sysbench`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use truetps_sysbench::Interrupt;

use crate::say;
use crate::signals::{leave_now, stop_flag};

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
        interrupt: Interrupt::new(stop),
    };
    let watched = world.interrupt.clone();
    std::thread::spawn(move || leave_if_nobody_listens(&watched));
    ExitCode::from(truetps_sysbench::run_program(arguments, &world))
}

/// A script may go on for ever where it is not asked to end: then the program ends without it.
fn leave_if_nobody_listens(interrupt: &Interrupt) {
    const LOOK: Duration = Duration::from_millis(100);
    const PATIENCE: Duration = Duration::from_secs(3);
    let (mut heard, mut since) = (None, Instant::now());
    loop {
        std::thread::sleep(LOOK);
        let heard_now = interrupt.heard();
        if heard_now != heard {
            (heard, since) = (heard_now, Instant::now());
        } else if heard.is_some() && since.elapsed() >= PATIENCE {
            say("truetps: interrupted; the script does not end, and is left behind\n");
            leave_now();
        }
    }
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
