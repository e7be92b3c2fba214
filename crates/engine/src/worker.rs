//! One OS thread with its share of the clients, and how it waits for their sockets.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use truetps_driver::{Alarm, Connector, Scratch};
use truetps_workload::Workload;

use crate::client::EngineClient;
use crate::load::LoadSpec;
use crate::mode::Threads;
use crate::quota::QuotaCount;

/// A worker checks at least this often whether the run was ended early.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
const EVENTS_MAX: usize = 256;
/// A sleeping thread wakes up late by up to about this much. If starts are rare enough to afford
/// it, it wakes up earlier by this much and polls the clock until the start is due.
const EARLY_NS: u64 = 60_000;
/// … which takes one twentieth of a core at this rate of starts a second.
pub(crate) const EARLY_RATE_MAX: f64 = 1_000.0;
/// Mark the timers among the sockets.
const TIMER: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

/// Data shared by all workers.
pub(crate) struct SharedRun<'a> {
    pub(crate) load: &'a LoadSpec,
    pub(crate) threads: Threads,
    pub(crate) connector: &'a Connector,
    pub(crate) workload: &'a dyn Workload,
    /// Set by the user to end the run.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) quota: QuotaCount,
    /// The error that ended the run.
    pub(crate) fatal: OnceLock<String>,
}

pub(crate) struct Worker<'a> {
    pub(crate) number: usize,
    pub(crate) shared: &'a SharedRun<'a>,
    epoll: OwnedFd,
    /// For starts of an open loop: epoll's own timeout has a resolution of a millisecond.
    timer: OwnedFd,
    timer_set_to_ns: u64,
    /// Ends each wait that has no nearer end.
    look: Alarm,
    /// See [`EARLY_NS`].
    pub(crate) wakes_early: bool,
    pub(crate) events: Vec<epoll::Event>,
    /// Slot = index in the worker's list of clients.
    pub(crate) clients: Vec<EngineClient>,
    pub(crate) scratch: Scratch,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(number: usize, shared: &'a SharedRun<'a>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let look = Alarm::every(LOOK)?;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &look, epoll::EventData::new_u64(ALARM), epoll::EventFlags::IN)?;
        Ok(Self {
            number,
            shared,
            epoll,
            timer,
            timer_set_to_ns: u64::MAX,
            look,
            wakes_early: false,
            events: Vec::with_capacity(EVENTS_MAX),
            clients: Vec::new(),
            scratch: Scratch::default(),
        })
    }

    /// Watches the socket of the client in this slot, which has just been opened.
    pub(crate) fn watch(&mut self, slot: usize) -> io::Result<()> {
        let Some(link) = &self.clients[slot].link else { return Ok(()) };
        let data = epoll::EventData::new_u64(slot as u64);
        if link.wants_to_write() {
            epoll::add(
                &self.epoll,
                link,
                data,
                epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET,
            )?;
        } else {
            epoll::add(&self.epoll, link, data, epoll::EventFlags::IN)?;
        }
        Ok(())
    }

    /// If the socket accepted only a part, the rest is sent when there is room; if it has more
    /// bytes than were read, the next wait reports it again. It is then watched for both for the
    /// rest of its life: an extra wake-up is cheaper than changing the watch again.
    #[inline]
    pub(crate) fn watch_for_more(&mut self, slot: usize) {
        let link = self.clients[slot].link.as_ref();
        if let Some(link) = link.filter(|link| link.wants_to_write() || link.has_more()) {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            // It has been registered since it was opened, so this cannot fail.
            let _ = epoll::modify(&self.epoll, link, epoll::EventData::new_u64(slot as u64), flags);
        }
    }

    /// Waits for sockets, at most for `longest` and [`LOOK`], and until `due_ns` at the latest.
    /// `events` has the clients with events.
    pub(crate) fn wait(&mut self, longest: Duration, now_ns: u64, due_ns: u64) -> io::Result<()> {
        self.events.clear();
        if self.shared.threads.is_blocking
            && self.clients.first().is_some_and(EngineClient::is_busy)
        {
            return self.wait_for_the_only_client(longest);
        }
        let due_ns = if self.wakes_early && due_ns != u64::MAX {
            due_ns.saturating_sub(EARLY_NS)
        } else {
            due_ns
        };
        let longest = if due_ns <= now_ns { Duration::ZERO } else { longest };
        if !longest.is_zero() {
            self.set_timer(now_ns, due_ns)?;
        }
        let limit = nearer_than_look(longest).map(timespec);
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let look = &self.look;
        self.events.retain(|event| match event.data.u64() {
            TIMER => false,
            ALARM => {
                look.acknowledge();
                false
            }
            _ => true,
        });
        Ok(())
    }

    /// A direct wait for the one socket of this thread. Measured:
    /// `docs/decisions/0006-drive-mode.md`.
    fn wait_for_the_only_client(&mut self, longest: Duration) -> io::Result<()> {
        let Some(link) = &self.clients[0].link else { return Ok(()) };
        if link.sleep_beside(&self.look, nearer_than_look(longest))? {
            self.events.push(epoll::Event {
                flags: epoll::EventFlags::IN,
                data: epoll::EventData::new_u64(0),
            });
        }
        Ok(())
    }

    fn set_timer(&mut self, now_ns: u64, due_ns: u64) -> io::Result<()> {
        if due_ns == self.timer_set_to_ns {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A time of zero would disable it.
        let left_ns = if due_ns == u64::MAX { 0 } else { due_ns.saturating_sub(now_ns).max(1) };
        let it_value = Timespec {
            tv_sec: (left_ns / 1_000_000_000) as i64,
            tv_nsec: (left_ns % 1_000_000_000) as i64,
        };
        timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value },
        )?;
        self.timer_set_to_ns = due_ns;
        Ok(())
    }

    pub(crate) fn quit(&mut self) {
        for client in &mut self.clients {
            if let Some(link) = client.link.take() {
                link.quit(&mut self.scratch);
            }
        }
    }
}

/// Only such a wait needs a time limit of its own.
fn nearer_than_look(longest: Duration) -> Option<Duration> {
    (longest < LOOK).then_some(longest)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}
