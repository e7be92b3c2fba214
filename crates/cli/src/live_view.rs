//! The live view of the other programs' command lines, where `--ui` is one of their own options: the picture, and their
//! output, which is held back while the picture is there.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};
use rustix::termios::isatty;
use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, Listener};
use truetps_recording::{LiveView, TrialEvent, TrialListener, TrialPlace};

use crate::failure::CommandFailure;
use crate::say_raw;
use crate::signals::stop_flag_that_does;
use crate::ui::{self, SharedPicture, Ui};

/// Signals are heard from its creation on; the view may be opened later.
pub(crate) struct LiveViewOpener {
    pub(crate) stop: Arc<AtomicBool>,
    farewell: Arc<InterruptMessages>,
    opened: Arc<OnceLock<OpenedView>>,
}

struct OpenedView {
    picture: Arc<SharedPicture>,
    output: HeldOutput,
}

impl OpenedView {
    fn leave(&self) {
        self.picture.leave();
        self.output.release();
    }
}

impl LiveViewOpener {
    /// `farewell`: the texts for the first and second Ctrl-C.
    pub(crate) fn listen(farewell: Arc<InterruptMessages>) -> Result<Self, CommandFailure> {
        let opened: Arc<OnceLock<OpenedView>> = Arc::default();
        let (first, second) = (Arc::clone(&opened), Arc::clone(&opened));
        let (its_first, its_second) = (Arc::clone(&farewell), Arc::clone(&farewell));
        let stop = stop_flag_that_does(
            move || match first.get() {
                Some(view) => view.picture.notice(its_first.first().trim_end()),
                None => say_raw(&its_first.first()),
            },
            move || {
                second.get().into_iter().for_each(OpenedView::leave);
                say_raw(&its_second.second());
            },
        )?;
        Ok(Self { stop, farewell, opened })
    }

    /// The view of a run with this title. The error is a message for the user.
    pub(crate) fn open(&self, title: &str) -> Result<LiveView, String> {
        let text = |failure: CommandFailure| failure.to_string().trim_end().trim_start_matches("error: ").to_owned();
        ui::check().map_err(text)?;
        let picture = ui::prepare(title).map_err(text)?;
        let output = HeldOutput::hold().map_err(|error| format!("--ui: cannot hold the output back: {error}"))?;
        let view = self.opened.get_or_init(|| OpenedView { picture, output });
        let ui = Ui::start(Arc::clone(&view.picture), Arc::clone(&self.farewell), Arc::clone(&self.stop));
        match ui {
            Ok(ui) => Ok(Box::new(ProgramView { ui: Some(ui), opened: Arc::clone(&self.opened) })),
            Err(failure) => {
                view.leave();
                Err(text(failure))
            }
        }
    }
}

struct ProgramView {
    ui: Option<Ui>,
    opened: Arc<OnceLock<OpenedView>>,
}

impl TrialListener for ProgramView {
    fn trial_event(&mut self, place: TrialPlace<'_>, event: TrialEvent<'_>) {
        self.ui.iter_mut().for_each(|ui| ui.event(&ExperimentEvent::Trial(place, event)));
    }
}

impl Drop for ProgramView {
    fn drop(&mut self) {
        self.ui = None;
        self.opened.get().into_iter().for_each(OpenedView::leave);
    }
}

/// Output to the terminal of the picture, from the program and from its scripts, which is printed at the end.
struct HeldOutput(Mutex<Option<Held>>);

struct Held {
    file: File,
    stderr: OwnedFd,
    /// `None`: the standard output goes elsewhere, and was left alone.
    stdout: Option<OwnedFd>,
}

const FIRST_FREE: i32 = 3;

impl HeldOutput {
    fn hold() -> std::io::Result<Self> {
        let file = memfd_create("truetps-output", MemfdFlags::CLOEXEC)?;
        let is_same = isatty(stdout()) && fstat(stdout())?.st_rdev == fstat(stderr())?.st_rdev;
        let held = Held {
            stderr: fcntl_dupfd_cloexec(stderr(), FIRST_FREE)?,
            stdout: if is_same { Some(fcntl_dupfd_cloexec(stdout(), FIRST_FREE)?) } else { None },
            file: file.into(),
        };
        if held.stdout.is_some() {
            dup2_stdout(&held.file)?;
        }
        dup2_stderr(&held.file)?;
        Ok(Self(Mutex::new(Some(held))))
    }

    /// Prints what was held back, and holds nothing further.
    fn release(&self) {
        let Some(mut held) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // A write to a terminal that is gone is ignored.
        let _ = std::io::stdout().flush();
        let _ = dup2_stderr(&held.stderr);
        let _ = held.stdout.as_ref().map(dup2_stdout);
        let mut bytes = Vec::new();
        if held.file.rewind().is_ok() && held.file.read_to_end(&mut bytes).is_ok() {
            let _ = File::from(held.stderr).write_all(&bytes);
        }
    }
}
