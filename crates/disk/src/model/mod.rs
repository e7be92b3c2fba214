//! The device model: when a request would be done on the disk of a profile. It has no clock: each
//! call gets the time.

mod flash;
mod request;
mod rotating;

use truetps_random::RandomStream;

use crate::profile::DiskProfile;
use flash::FlashModel;
pub use request::{DiskRange, DiskRequest};
use rotating::RotatingModel;

/// A disk that is busy with what it was asked for.
#[derive(Debug)]
pub struct DeviceModel {
    mechanism: Mechanism,
    flush_lies: bool,
}

#[derive(Debug)]
enum Mechanism {
    Flash(FlashModel),
    Rotating(RotatingModel),
}

impl DeviceModel {
    pub fn new(profile: &DiskProfile, seed: u64) -> Self {
        let mechanism = match profile.rotating {
            Some(geometry) => Mechanism::Rotating(RotatingModel::new(profile, geometry)),
            None => Mechanism::Flash(FlashModel::new(profile, RandomStream::new(seed, 0))),
        };
        Self { mechanism, flush_lies: profile.flush_lies }
    }

    /// Whether the position of data decides.
    pub(crate) fn is_rotating(&self) -> bool {
        matches!(self.mechanism, Mechanism::Rotating(_))
    }

    /// When a request that arrives now is done, in ns. Times of calls must not decrease.
    pub fn done_ns(&mut self, now_ns: u64, request: DiskRequest) -> u64 {
        if request == DiskRequest::Flush && self.flush_lies {
            return now_ns;
        }
        match &mut self.mechanism {
            Mechanism::Flash(model) => model.done_ns(now_ns, request),
            Mechanism::Rotating(model) => model.done_ns(now_ns, request),
        }
    }
}

impl DiskProfile {
    /// Median duration of a page that is overwritten and flushed by one client, in µs: what the
    /// model says of it.
    pub fn overwrite_us(&self) -> f64 {
        const TIMES: usize = 101;
        let mut model = DeviceModel::new(self, 0);
        let page = DiskRange { offset: 1 << 30, length: 4096 };
        let mut now_ns = 0;
        let mut all_ns: Vec<_> = (0..TIMES)
            .map(|_| {
                let began_ns = now_ns;
                now_ns = model.done_ns(now_ns, DiskRequest::Write(page));
                now_ns = model.done_ns(now_ns, DiskRequest::Flush);
                now_ns - began_ns
            })
            .collect();
        all_ns.sort_unstable();
        all_ns[TIMES / 2] as f64 / 1e3
    }
}

#[cfg(test)]
mod tests;
