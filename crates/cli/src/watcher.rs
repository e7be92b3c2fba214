//! Observers of a run in progress, and how a run is ended.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, Listener, ServerSource};

use crate::failure::CommandFailure;
use crate::progress::Progress;
use crate::site::RunSite;
use crate::ui::{self, Ui};
use crate::{say_raw, signals};

/// A line, or a picture.
pub(crate) enum ProgressWatcher {
    Line(Box<Progress>),
    Picture(Box<Ui>),
}

impl ProgressWatcher {
    /// With the flag that ends the run. On a second Ctrl-C on an external server, the restore command is printed.
    pub(crate) fn start(
        title: &str,
        site: &RunSite,
        as_picture: bool,
    ) -> Result<(Arc<AtomicBool>, Self), CommandFailure> {
        let farewell = Arc::new(InterruptMessages::default());
        if as_picture {
            return Self::picture(title, farewell);
        }
        if let ServerSource::Private { .. } = site.place() {
            return Ok((signals::stop_flag()?, Self::Line(Box::new(Progress::new()))));
        }
        let stop = signals::stop_flag_that_answers(Arc::clone(&farewell))?;
        Ok((stop, Self::Line(Box::new(Progress::with_farewell(farewell)))))
    }

    /// Words on stderr would be drawn over: they wait until the picture is gone.
    fn picture(title: &str, farewell: Arc<InterruptMessages>) -> Result<(Arc<AtomicBool>, Self), CommandFailure> {
        let shared = ui::prepare(title)?;
        let (first, second) = (Arc::clone(&shared), Arc::clone(&shared));
        let (its_first, its_second) = (Arc::clone(&farewell), Arc::clone(&farewell));
        let stop = signals::stop_flag_that_does(
            move || first.notice(its_first.first().trim_end()),
            move || {
                second.leave();
                say_raw(&its_second.second());
            },
        )?;
        let picture = Ui::start(shared, farewell, Arc::clone(&stop))?;
        Ok((stop, Self::Picture(Box::new(picture))))
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
