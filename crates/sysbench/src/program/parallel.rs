//! A command that each client runs separately.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use truetps_record::Part;

use crate::exit_code::{GOOD, INTERRUPTED};
use crate::output::{MessageLevel, lines};
use crate::run::{WorkerContext, WorkerEvent, groups, start};

use super::script_command::{ScriptCommand, writes_at_once};

/// Interval at which the user's request to end is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Returns the exit status.
pub(super) fn run_parallel(command: &ScriptCommand<'_>) -> u8 {
    let threads = command.options.settings.threads;
    command.shared.log.text(MessageLevel::Notice, lines::INITIALIZING_THREADS);
    let context = command.workers(command.options.settings.of_part(), threads, "parallel_command");
    let (news_out, news) = channel();
    for group in groups(Part::WHOLE, threads, threads) {
        let (_go, go) = channel();
        if let Err(problem) = start(&context, group, &news_out, go) {
            return command.main.fatal(&problem);
        }
    }
    wait_for_ends(command, &context, &news)
}

fn wait_for_ends(
    command: &ScriptCommand<'_>,
    context: &WorkerContext,
    news: &Receiver<WorkerEvent>,
) -> u8 {
    let (mut running, mut is_interrupted) = (context.threads, false);
    // Not before the clients have had time to connect: the session limit may equal their number.
    let mut warning = writes_at_once(&command.script).then_some(command.env.server_warning);
    while running > 0 {
        match news.recv_timeout(LOOK) {
            Ok(WorkerEvent::Failed(_, failure)) => {
                command.main.fatal(&failure.line());
            }
            Ok(WorkerEvent::Ended) => running -= 1,
            Err(RecvTimeoutError::Timeout) if context.run.server.get().is_some() => {
                warning.take().into_iter().for_each(|warning| context.run.warn_of_server(warning));
            }
            Ok(WorkerEvent::Ready) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !is_interrupted && command.env.interrupt.hear() {
            is_interrupted = true;
            context.run.control.abandon();
        }
    }
    if is_interrupted { INTERRUPTED } else { GOOD }
}
