//! A timer that expires again and again, for threads that have to look at something else from time
//! to time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// To be waited for beside sockets. A wait with a time limit of its own sets a timer and removes it
/// again, which is a tenth of the CPU time of a client that waits for each of its statements.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// Expires after each `period`, as long as each expiry is acknowledged.
    pub fn every(period: Duration) -> io::Result<Self> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let period =
            Timespec { tv_sec: period.as_secs() as i64, tv_nsec: period.subsec_nanos().into() };
        let repeated = Itimerspec { it_interval: period, it_value: period };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &repeated)?;
        Ok(Self(timer))
    }

    /// Until then it stays readable, and does not expire again.
    pub fn acknowledge(&self) {
        // If it has not expired, there is nothing to read.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
