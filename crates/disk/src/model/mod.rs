//! The device model: when a request would be done on the disk of a profile. It has no clock: each call gets the time.

mod flash;
mod rotating;

use truetps_random::RandomStream;

use crate::profile::DiskProfile;
use flash::FlashModel;
use rotating::RotatingModel;

/// A range of bytes on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskRange {
    pub offset: u64,
    pub length: u64,
}

/// What a disk is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskRequest {
    Read(DiskRange),
    Write(DiskRange),
    /// Everything that was acknowledged before becomes durable.
    Flush,
}

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

pub(crate) fn us(us: u32) -> u64 {
    u64::from(us) * 1_000
}

#[cfg(test)]
mod tests;
