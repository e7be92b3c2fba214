//! A disk without moving parts: latencies, a number of requests at a time, and limits of requests
//! and bytes a second.

use std::f64::consts::TAU;

use truetps_random::RandomStream;

use super::request::{DiskRequest, us};
use crate::profile::DiskProfile;

#[derive(Debug)]
pub(super) struct FlashModel {
    profile: DiskProfile,
    random: RandomStream,
    /// When each place of the queue is free again; empty: no limit.
    places_ns: Vec<u64>,
    /// When the limits of requests and of bytes let the next request begin.
    next_by_iops_ns: u64,
    next_by_bytes_ns: u64,
    /// When all writes so far are done: a flush waits for them.
    writes_done_ns: u64,
}

impl FlashModel {
    pub(super) fn new(profile: &DiskProfile, random: RandomStream) -> Self {
        Self {
            profile: profile.clone(),
            random,
            places_ns: vec![0; profile.queue_depth as usize],
            next_by_iops_ns: 0,
            next_by_bytes_ns: 0,
            writes_done_ns: 0,
        }
    }

    pub(super) fn done_ns(&mut self, now_ns: u64, request: DiskRequest) -> u64 {
        match request {
            DiskRequest::Read(range) => {
                let latency_ns = self.latency_ns(self.profile.read_us);
                self.transfer(now_ns, range.length, latency_ns)
            }
            DiskRequest::Write(range) => {
                let latency_ns = self.latency_ns(self.profile.write_us);
                let done_ns = self.transfer(now_ns, range.length, latency_ns);
                self.writes_done_ns = self.writes_done_ns.max(done_ns);
                done_ns
            }
            DiskRequest::Flush => {
                let latency_ns = self.latency_ns(self.profile.flush_us);
                now_ns.max(self.writes_done_ns) + latency_ns
            }
        }
    }

    /// Takes the place that is free first. A limit of a rate never makes up for time that was not
    /// used.
    fn transfer(&mut self, now_ns: u64, bytes: u64, latency_ns: u64) -> u64 {
        let place = self.places_ns.iter_mut().min();
        let free_ns = place.as_deref().copied().unwrap_or(0);
        let begin_ns = now_ns.max(free_ns).max(self.next_by_iops_ns).max(self.next_by_bytes_ns);
        if let Some(each_ns) = 1_000_000_000_u64.checked_div(u64::from(self.profile.iops)) {
            self.next_by_iops_ns = begin_ns + each_ns;
        }
        // 10^6 bytes a second are a byte in a microsecond.
        if let Some(whole_ns) = (bytes * 1_000).checked_div(u64::from(self.profile.bandwidth_mb_s))
        {
            self.next_by_bytes_ns = begin_ns + whole_ns;
        }
        let done_ns = (begin_ns + latency_ns).max(self.next_by_bytes_ns);
        if let Some(place) = place {
            *place = done_ns;
        }
        done_ns
    }

    /// Log-normal with the profile's latency as its median.
    fn latency_ns(&mut self, median_us: u32) -> u64 {
        if self.profile.jitter == 0.0 || median_us == 0 {
            return us(median_us);
        }
        // Box and Muller's normal number.
        let (radius, angle) =
            ((-2.0 * self.random.open_unit().ln()).sqrt(), TAU * self.random.open_unit());
        (us(median_us) as f64 * (self.profile.jitter * radius * angle.cos()).exp()) as u64
    }
}
