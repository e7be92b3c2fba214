//! The server's clock as this part sees it. Clocks of hosts need not agree: the parts agree on a
//! moment of the server's clock, and each finds it on its own monotonic clock by the shortest of
//! some round trips (Cristian's algorithm [12]).

use std::time::{Duration, Instant};

use truetps_driver::DriverError;
use truetps_probe::clock;
use truetps_record::CommonStart;

use super::table::PartsTable;

/// Round trips whose shortest one counts.
const ROUND_TRIPS: u32 = 9;
/// No further one begins after this time: a start may be near.
const TRIPS_TIME: Duration = Duration::from_millis(150);

/// A moment of this part, and the server's clock at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerClock {
    at: Instant,
    server_us: i64,
    /// Half a round trip.
    uncertainty: Duration,
    /// The server's clock less the wall clock of this host.
    offset_us: f64,
}

impl ServerClock {
    pub(super) fn compare(table: &mut PartsTable) -> Result<Self, DriverError> {
        let mut best: Option<Self> = None;
        let began = Instant::now();
        for _ in 0..ROUND_TRIPS {
            let (sent, wall_us) = (Instant::now(), clock::epoch_s() * 1e6);
            let server_us = table.now_us()?;
            let uncertainty = sent.elapsed() / 2;
            let offset_us = server_us as f64 - (wall_us + uncertainty.as_secs_f64() * 1e6);
            let one = Self { at: sent + uncertainty, server_us, uncertainty, offset_us };
            if best.is_none_or(|best| one.uncertainty < best.uncertainty) {
                best = Some(one);
            }
            if began.elapsed() >= TRIPS_TIME {
                break;
            }
        }
        Ok(best.expect("there was a round trip"))
    }

    pub(super) fn now_us(&self) -> i64 {
        self.server_us.saturating_add(self.at.elapsed().as_micros() as i64)
    }

    /// `None`: the moment was before this clock was read, or is too far ahead for a clock.
    pub(super) fn moment(&self, server_us: i64) -> Option<Instant> {
        let ahead = u64::try_from(server_us.checked_sub(self.server_us)?).ok()?;
        self.at.checked_add(Duration::from_micros(ahead))
    }

    pub(super) fn uncertainty(&self) -> Duration {
        self.uncertainty
    }

    pub(super) fn start(&self, server_us: i64) -> CommonStart {
        let uncertainty_us = self.uncertainty.as_secs_f64() * 1e6;
        CommonStart { server_us, uncertainty_us, clock_offset_us: self.offset_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_the_server_is_one_of_this_host() {
        let at = Instant::now();
        let clock = ServerClock {
            at,
            server_us: 5_000_000,
            uncertainty: Duration::from_micros(80),
            offset_us: -3.0e9,
        };
        assert_eq!(clock.moment(5_250_000), Some(at + Duration::from_millis(250)));
        for other in [4_999_999, i64::MIN, i64::MAX] {
            assert_eq!(
                clock.moment(other).filter(|at| *at < clock.at + Duration::from_hours(1)),
                None,
                "{other}"
            );
        }
        let start = clock.start(7);
        assert_eq!(
            (start.server_us, start.uncertainty_us, start.clock_offset_us),
            (7, 80.0, -3.0e9)
        );
    }
}
