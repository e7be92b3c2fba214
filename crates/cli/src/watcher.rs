//! Who hears of a run while it goes on, and how it is ended.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use truetps_compat::Farewell;
use truetps_lab::{Event, Listener, Place};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::say_raw;
use crate::signals;
use crate::site::Site;
use crate::ui::{self, Ui};

/// A line, or a picture.
pub(crate) enum Watcher {
    Line(Box<Progress>),
    Picture(Box<Ui>),
}

impl Watcher {
    /// With the flag that ends the run. Whoever leaves a server of the user in the middle is told what puts it back.
    pub(crate) fn start(title: &str, site: &Site, as_picture: bool) -> Result<(Arc<AtomicBool>, Self), Failure> {
        let farewell = Arc::new(Farewell::default());
        if as_picture {
            return Self::picture(title, farewell);
        }
        if let Place::Private { .. } = site.place() {
            return Ok((signals::stop_flag()?, Self::Line(Box::new(Progress::new()))));
        }
        let stop = signals::stop_flag_that_answers(Arc::clone(&farewell))?;
        Ok((stop, Self::Line(Box::new(Progress::with_farewell(farewell)))))
    }

    /// Words on stderr would be drawn over: they wait until the picture is gone.
    fn picture(title: &str, farewell: Arc<Farewell>) -> Result<(Arc<AtomicBool>, Self), Failure> {
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

impl Listener for Watcher {
    fn event(&mut self, event: &Event<'_>) {
        match self {
            Self::Line(line) => line.event(event),
            Self::Picture(picture) => picture.event(event),
        }
    }
}
