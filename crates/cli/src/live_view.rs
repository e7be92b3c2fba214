//! Opens the picture of a run, and connects it with the signals.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use truetps_compat::InterruptMessages;
use truetps_recording::LiveView;

use crate::failure::CommandFailure;
use crate::signals::stop_flag_that_does;
use crate::terminal::say_raw;
use crate::ui::{self, SharedPicture, Ui};

/// Signals are heard from its creation on; the view may be opened later.
pub(crate) struct LiveViewOpener {
    pub(crate) stop: Arc<AtomicBool>,
    messages: Arc<InterruptMessages>,
    opened: Arc<OnceLock<Arc<SharedPicture>>>,
}

impl LiveViewOpener {
    /// `messages`: the texts for the first and second Ctrl-C. Words on stderr would be drawn over:
    /// while there is a picture, it shows the first one, and the second one waits until it is
    /// closed.
    pub(crate) fn listen(messages: Arc<InterruptMessages>) -> Result<Self, CommandFailure> {
        let opened: Arc<OnceLock<Arc<SharedPicture>>> = Arc::default();
        let (first, second) = (Arc::clone(&opened), Arc::clone(&opened));
        let (its_first, its_second) = (Arc::clone(&messages), Arc::clone(&messages));
        let stop = stop_flag_that_does(
            move || match first.get() {
                Some(picture) => picture.notice(its_first.first().trim_end()),
                None => say_raw(&its_first.first()),
            },
            move || {
                second.get().into_iter().for_each(|picture| picture.leave());
                say_raw(&its_second.second());
            },
        )?;
        Ok(Self { stop, messages, opened })
    }

    /// The picture of a run with this title.
    pub(crate) fn open(&self, title: &str) -> Result<Ui, CommandFailure> {
        self.show(ui::prepare(title)?)
    }

    /// The picture of a server that is only watched.
    pub(crate) fn open_for_server(&self, title: &str) -> Result<Ui, CommandFailure> {
        let picture = ui::prepare(title)?;
        picture.shows_a_server();
        self.show(picture)
    }

    /// The picture of a program that prints while it runs: its output is held back. The error is a
    /// message for the user.
    pub(crate) fn open_for_program(&self, title: &str) -> Result<LiveView, String> {
        match self.open_over_output(title) {
            Ok(ui) => Ok(Box::new(ui)),
            Err(failure) => {
                Err(failure.to_string().trim_end().trim_start_matches("error: ").to_owned())
            }
        }
    }

    fn open_over_output(&self, title: &str) -> Result<Ui, CommandFailure> {
        ui::check()?;
        let picture = ui::prepare(title)?;
        picture.hold_output()?;
        self.show(picture)
    }

    fn show(&self, picture: Arc<SharedPicture>) -> Result<Ui, CommandFailure> {
        let picture = self.opened.get_or_init(|| picture);
        Ui::start(Arc::clone(picture), Arc::clone(&self.messages), Arc::clone(&self.stop))
            .inspect_err(|_| picture.leave())
    }
}
