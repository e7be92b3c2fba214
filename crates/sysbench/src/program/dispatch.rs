//! Running the command: in the main state, in each client, or as a load.

use crate::exit_code::{FAILED, GOOD, ProgramExit};

use super::load::run_load;
use super::main_state::MainState;
use super::parallel::run_parallel;
use super::script_command::ScriptCommand;

/// Returns the exit status.
pub(super) fn execute(command: &mut ScriptCommand<'_>, name: &[u8]) -> Result<u8, ProgramExit> {
    let name = String::from_utf8_lossy(name).into_owned();
    if name != "run" && !command.options.settings.ours.part.is_whole() {
        let problem = format!(
            "--part divides the load of `run`: `{name}` is for all parts, and runs once without it"
        );
        return Err(command.main.fatal(&problem));
    }
    if command.main.cmdline_says("command_defined", &name)? {
        let is_parallel = command.main.cmdline_says("command_parallel", &name)?;
        if is_parallel && command.options.settings.threads > 1 {
            return Ok(run_parallel(command));
        }
        return Ok(if command.main.run_command(&name)? { GOOD } else { FAILED });
    }
    if name == "run" { run_load(command) } else { call(&mut command.main, &name) }
}

/// `prepare`, `cleanup`, `help`: a global function.
fn call(main: &mut MainState, name: &str) -> Result<u8, ProgramExit> {
    match main.call(name) {
        // In sysbench, too, a failing help is not an error.
        Err(_) if name == "help" => Ok(GOOD),
        called => called.map(|()| GOOD),
    }
}
