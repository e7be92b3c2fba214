//! The life of a command: read the command line, load the script, do what the command line
//! requests.

mod dispatch;
mod environment;
mod load;
mod main_state;
mod parallel;
mod script_command;
mod script_lookup;
mod script_options;
mod streams;

use std::ffi::OsString;

use crate::exit_code::{FAILED, GOOD, UNREAD};
use crate::options::{self, FirstRequest, OutputStream, Surroundings};
use crate::run::start_thread;

pub use environment::SysbenchEnv;
use script_options::LoadedScript;
use streams::{refuse, write_to};

/// The process list shows a typed password until it is masked.
const TYPED_PASSWORD: &str = "truetps: warning: a password on the command line can be read by \
                              other users of this host: put it in the file of --config-file, or \
                              use --dsn with TRUETPS_PASSWORD\n";

/// Runs a command line of sysbench; the first argument is the program's name. Returns the exit
/// status.
pub fn run(argv: &[OsString], env: &SysbenchEnv<'_>) -> u8 {
    // The main state gets a stack as large as the workers'.
    std::thread::scope(|scope| {
        let started = start_thread("sysbench", 1, |builder| {
            let argv = argv.to_vec();
            builder.spawn_scoped(scope, || run_here(argv, env))
        });
        match started {
            Ok(thread) => thread.join().unwrap_or(FAILED),
            Err(error) => {
                write_to(
                    OutputStream::Stderr,
                    format!("truetps: no thread can be started: {error}\n").as_bytes(),
                );
                FAILED
            }
        }
    })
}

fn run_here(argv: Vec<OsString>, env: &SysbenchEnv<'_>) -> u8 {
    let surroundings =
        Surroundings { environment: env.environment, read_file: &|path| std::fs::read(path) };
    let has_typed_password = options::has_typed_password(&argv);
    let pass = match options::first_pass(argv, &surroundings) {
        Ok(pass) => pass,
        Err(refusal) => return refuse(&refusal),
    };
    for notice in &pass.notices {
        write_to(notice.stream, &notice.text);
    }
    match pass.wish {
        FirstRequest::Help => {
            write_to(OutputStream::Stdout, &options::help_page(&pass.registry));
            GOOD
        }
        FirstRequest::Version => {
            write_to(OutputStream::Stdout, options::version_line(pass.compat).as_bytes());
            GOOD
        }
        FirstRequest::Script => {
            if has_typed_password {
                write_to(OutputStream::Stderr, TYPED_PASSWORD.as_bytes());
            }
            let status = LoadedScript::begin(pass, env)
                .and_then(LoadedScript::run)
                .unwrap_or_else(|status| status);
            if env.interrupt.is_unread() { UNREAD } else { status }
        }
    }
}
