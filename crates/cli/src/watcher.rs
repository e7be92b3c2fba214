//! Observers of a run in progress, and the ways to end it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, Listener, ServerSource};

use crate::failure::CommandFailure;
use crate::live_view::LiveViewOpener;
use crate::progress::Progress;
use crate::signals;
use crate::site::RunSite;
use crate::ui::Ui;

/// A line, or a picture.
pub(crate) enum ProgressWatcher {
    Line(Box<Progress>),
    Picture(Box<Ui>),
}

impl ProgressWatcher {
    /// Starts it; returns the flag that ends the run, too. On a second Ctrl-C on an external
    /// server, the restore command is printed.
    pub(crate) fn start(
        title: &str,
        site: &RunSite,
        as_picture: bool,
    ) -> Result<(Arc<AtomicBool>, Self), CommandFailure> {
        if as_picture || matches!(site.source(), ServerSource::Private { .. }) {
            return Self::start_without_restore(title, as_picture);
        }
        let messages = Arc::new(InterruptMessages::default());
        let stop = signals::stop_flag_that_answers(Arc::clone(&messages))?;
        Ok((stop, Self::Line(Box::new(Progress::with_messages(messages)))))
    }

    /// Starts the watcher of a run after which no external server has to be restored.
    pub(crate) fn start_without_restore(
        title: &str,
        as_picture: bool,
    ) -> Result<(Arc<AtomicBool>, Self), CommandFailure> {
        if as_picture {
            let views = LiveViewOpener::listen(Arc::new(InterruptMessages::default()))?;
            let picture = views.open(title)?;
            return Ok((views.stop, Self::Picture(Box::new(picture))));
        }
        Ok((signals::stop_flag()?, Self::Line(Box::new(Progress::new()))))
    }
}

impl Listener for ProgressWatcher {
    fn event(&mut self, event: &ExperimentEvent<'_>) {
        match self {
            Self::Line(line) => line.event(event),
            Self::Picture(picture) => picture.event(event),
        }
    }
}
