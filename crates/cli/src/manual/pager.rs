//! A pager for long pages.

use std::io::{IsTerminal, Write, stdout};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use truetps_record::SECRET_VARIABLES;

/// 127 is the shell's code for a program that is not there: the page is then printed, without a
/// word about it.
const USUAL: &str = "command -v less >/dev/null || exit 127; exec less";
/// As git does: end at once where all fits the screen, obey colours, leave the text on the screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// Shows a text page by page, with PAGER, else with less. Returns whether it did: not with an empty
/// PAGER or `cat`, nor where the pager cannot be started.
pub(super) fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| USUAL.to_owned());
    if pager.trim().is_empty() || pager.trim() == "cat" || !stdout().is_terminal() {
        return false;
    }
    // Ctrl-C is for the pager: without it, truetps would end and leave the pager behind.
    let heard =
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)));
    let is_shown = run(&pager, text);
    if let Ok(heard) = heard {
        signal_hook::low_level::unregister(heard);
    }
    is_shown
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the sandbox starts servers; this is a program of the user's"
)]
fn run(pager: &str, text: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", pager]).stdin(Stdio::piped());
    for name in SECRET_VARIABLES {
        shell.env_remove(name);
    }
    if std::env::var_os(LESS.0).is_none() {
        shell.env(LESS.0, LESS.1);
    }
    let Ok(mut child) = shell.spawn() else { return false };
    // A pager that is left before the end has closed its input.
    let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    // 127: the shell has found no such program.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
