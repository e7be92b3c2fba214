//! `--ui`: the run as a picture on the whole terminal.
//!
//! It reads events and nothing else. The run's thread puts down what an event says; another thread
//! copies that a few times a second and draws it, so that neither a slow terminal nor the picture
//! holds the run.

mod ansi;
mod chart;
mod held;
mod held_output;
mod look;
mod model;
mod panels;
mod picture;
mod screen;
#[cfg(test)]
mod tests;
mod wish;

use std::io::IsTerminal;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, Listener};
use truetps_recording::{TrialEvent, TrialListener, TrialPlace};

use crate::failure::CommandFailure;
use crate::progress::Progress;
use crate::running_trial::{lasting_line, update_messages};
use crate::terminal::print_message;
use crate::ui::held::held;
use crate::ui::held_output::HeldOutput;
use crate::ui::look::Palette;
use crate::ui::model::{LiveWatch, Model, Subject};
use crate::ui::picture::{Moment, PictureView, draw};
use crate::ui::screen::TerminalScreen;
use crate::ui::wish::{Jobs, UserRequest, wish};

/// From one picture to the next, at least.
const FRAME: Duration = Duration::from_millis(100);
/// What changes with time alone is drawn so often.
const SECOND: Duration = Duration::from_secs(1);
/// A picture that does not end is left behind.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lines that are kept for the end; a run that warns more often says so.
const KEPT_MAX: usize = 1000;

/// Shared by the picture, the run and the signal handlers.
pub(crate) struct SharedPicture {
    screen: TerminalScreen,
    watch: Mutex<LiveWatch>,
    kept: Mutex<HeldLines>,
    /// Output of a program that prints while the picture is shown.
    output: HeldOutput,
}

/// Lines that came while the picture was there.
#[derive(Debug, Default)]
struct HeldLines {
    lines: Vec<String>,
    dropped: u64,
}

impl SharedPicture {
    /// Keeps a line for later.
    pub(crate) fn keep(&self, text: &str) {
        let mut kept = held(&self.kept);
        if kept.lines.len() < KEPT_MAX {
            kept.lines.push(text.to_owned());
        } else {
            kept.dropped += 1;
        }
    }

    /// A picture of a server that is only watched.
    pub(crate) fn shows_a_server(&self) {
        held(&self.watch).model.subject = Subject::Server;
    }

    /// Shows a line in the picture, which is not worth a word when it is gone.
    pub(crate) fn notice(&self, text: &str) {
        if !text.is_empty() {
            held(&self.watch).warn(text.to_owned());
        }
    }

    /// Holds back, until the picture is closed, what this process prints to the picture's terminal.
    pub(crate) fn hold_output(&self) -> Result<(), CommandFailure> {
        self.output.hold().map_err(|error| {
            CommandFailure::failed(format!("--ui: cannot hold the output back: {error}"))
        })
    }

    /// Closes the picture for good; prints the output that was held back and the lines that were
    /// kept.
    pub(crate) fn leave(&self) {
        self.screen.leave();
        self.output.release();
        let kept = std::mem::take(&mut *held(&self.kept));
        kept.lines.iter().for_each(|line| print_message(&format!("{line}\n")));
        if kept.dropped > 0 {
            print_message(&format!("and {} more lines\n", kept.dropped));
        }
    }
}

/// Whether there is a terminal that can show it.
pub(crate) fn check() -> Result<(), CommandFailure> {
    let problem = if !std::io::stderr().is_terminal() {
        "--ui needs a terminal on stderr"
    } else if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        "--ui: the terminal cannot show a picture: TERM is not set, or `dumb`"
    } else {
        return Ok(());
    };
    Err(CommandFailure::usage(problem).hint(
        "leave --ui out: progress is then one line on a terminal, and one line for each \
               block elsewhere",
    ))
}

/// The terminal, prepared for a run with this title. Nothing is shown yet.
pub(crate) fn prepare(title: &str) -> Result<Arc<SharedPicture>, CommandFailure> {
    let screen = TerminalScreen::of_stderr().map_err(|error| {
        CommandFailure::failed(format!("--ui: cannot use the terminal: {error}"))
    })?;
    let watch = Mutex::new(LiveWatch::new(title));
    Ok(Arc::new(SharedPicture {
        screen,
        watch,
        kept: Mutex::default(),
        output: HeldOutput::default(),
    }))
}

/// The picture, from here to its drop.
pub(crate) struct Ui {
    shared: Arc<SharedPicture>,
    messages: Arc<InterruptMessages>,
    /// After the picture is closed, the run continues with a progress line.
    line: Progress,
    /// Dropped, it ends the thread that draws.
    wake: Option<UnixStream>,
    ended: Receiver<()>,
}

impl Ui {
    /// `stop` is raised by the first signal.
    pub(crate) fn start(
        shared: Arc<SharedPicture>,
        messages: Arc<InterruptMessages>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, CommandFailure> {
        let (wake, woken) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let jobs = Jobs::register(&shared.screen.gone()).map_err(|error| cannot_start(&error))?;
        leave_on_panic(&shared);
        let (ends, ended) = channel();
        let artist = Artist {
            shared: Arc::clone(&shared),
            view: PictureView { keys: shared.screen.has_keys(), ..PictureView::default() },
            palette: Palette::of_environment(),
            stop,
            jobs,
            frozen: None,
            shown: None,
        };
        thread::Builder::new()
            .name("picture".to_owned())
            .spawn(move || {
                artist.work(&woken);
                drop(ends);
            })
            .map_err(|error| cannot_start(&error))?;
        let line = Progress::with_messages(Arc::clone(&messages));
        Ok(Self { shared, messages, line, wake: Some(wake), ended })
    }
}

fn cannot_start(error: &std::io::Error) -> CommandFailure {
    CommandFailure::failed(format!("--ui: cannot start: {error}"))
}

impl Listener for Ui {
    fn event(&mut self, event: &ExperimentEvent<'_>) {
        if self.shared.screen.is_gone() {
            self.shared.leave();
            return self.line.event(event);
        }
        self.shared.output.trim();
        if let Some(line) = lasting_line(event) {
            self.shared.keep(&line);
        }
        update_messages(&self.messages, event, "");
        held(&self.shared.watch).event(event);
    }
}

impl TrialListener for Ui {
    fn trial_event(&mut self, place: TrialPlace<'_>, event: TrialEvent<'_>) {
        self.event(&ExperimentEvent::Trial(place, event));
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        drop(self.wake.take());
        let _ = self.ended.recv_timeout(PATIENCE);
        self.shared.leave();
    }
}

/// Prints a panic's message after the picture is closed, so that it stays readable.
fn leave_on_panic(shared: &Arc<SharedPicture>) {
    let (shared, before) = (Arc::downgrade(shared), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(shared) = shared.upgrade() {
            shared.screen.leave();
        }
        before(panic);
    }));
}

/// Draws, and listens to keys.
struct Artist {
    shared: Arc<SharedPicture>,
    view: PictureView,
    palette: Palette,
    stop: Arc<AtomicBool>,
    jobs: Jobs,
    frozen: Option<(Model, Instant)>,
    /// What the terminal shows. `None`: who knows.
    shown: Option<Shown>,
}

struct Shown {
    buffer: Buffer,
    version: u64,
    at: Instant,
}

impl Artist {
    fn work(mut self, woken: &UnixStream) {
        let screen = &Arc::clone(&self.shared).screen;
        while !screen.is_gone() && !is_closed(woken) {
            self.job_control();
            if !screen.is_shown() {
                self.shown = None;
                if !screen.show() {
                    thread::park_timeout(FRAME);
                    continue;
                }
            }
            if self.picture().is_err() {
                return screen.leave();
            }
            self.listen(woken);
        }
    }

    /// What the shell or the user ask of the whole program.
    fn job_control(&mut self) {
        let screen = &self.shared.screen;
        if self.jobs.came(SIGTSTP) {
            screen.hide();
            wish::obey(SIGTSTP);
        }
        if self.jobs.came(SIGQUIT) {
            screen.leave();
            wish::obey(SIGQUIT);
        }
        if self.jobs.came(SIGCONT) {
            // Another process had the terminal in between, and may have changed it.
            screen.hide();
        }
    }

    /// Draws where something has changed.
    fn picture(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        let size = self.shared.screen.size();
        let version = held(&self.shared.watch).model.version;
        if let Some(shown) = &self.shown
            && *shown.buffer.area() == size
            && (shown.version == version || self.frozen.is_some())
            && now.duration_since(shown.at) < SECOND
        {
            return Ok(());
        }
        let stopping = self.stop.load(Ordering::Relaxed);
        let mut buffer = Buffer::empty(size);
        if let Some((model, at)) = &self.frozen {
            draw(model, self.view, self.palette, Moment { at: *at, stopping }, &mut buffer);
        } else {
            let model = held(&self.shared.watch).model.clone();
            draw(&model, self.view, self.palette, Moment { at: now, stopping }, &mut buffer);
        }
        let bytes = ansi::changes(self.shown.as_ref().map(|shown| &shown.buffer), &buffer);
        self.shown = Some(Shown { buffer, version, at: now });
        self.shared.screen.write(&bytes)
    }

    /// Waits for the next picture; keys change it at once.
    fn listen(&mut self, woken: &UnixStream) {
        let until = Instant::now() + FRAME;
        loop {
            let wait = until.saturating_duration_since(Instant::now());
            if wait.is_zero() || is_closed(woken) {
                return;
            }
            if !self.view.keys {
                thread::park_timeout(wait);
                return;
            }
            match self.shared.screen.typed(woken, wait) {
                None => self.view.keys = false,
                Some(bytes) if bytes.is_empty() => return,
                Some(bytes) => {
                    for wish in wish(&bytes) {
                        self.grant(wish);
                    }
                    let _ = self.picture();
                }
            }
        }
    }

    fn grant(&mut self, wish: UserRequest) {
        match wish {
            // As Ctrl-C, with all that hears it.
            UserRequest::Stop => crate::signals::leave_now(),
            UserRequest::Freeze => {
                self.frozen = match self.frozen {
                    None => Some((held(&self.shared.watch).model.clone(), Instant::now())),
                    Some(_) => None,
                };
                self.view.frozen = self.frozen.is_some();
            }
            UserRequest::Zoom => self.view.zoom = self.view.zoom.other(),
            UserRequest::Help => self.view.help = !self.view.help,
            UserRequest::Back => self.view.help = false,
            UserRequest::Anew => self.shown = None,
        }
        if let Some(shown) = &mut self.shown {
            // Due now.
            shown.at -= SECOND;
        }
    }
}

/// The other end was dropped.
fn is_closed(woken: &UnixStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut one = [PollFd::new(woken, PollFlags::IN)];
    poll(&mut one, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}
