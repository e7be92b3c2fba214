//! Which numbers of connections carry the rate that an application has.

use serde::Serialize;

use crate::curve::CurvePoint;
use crate::findings::PoolFindings;

/// A number carries a rate if its throughput is so many times the rate. Near its limit requests
/// wait for each other, and means of a few trials differ by some percent.
pub const ROOM: f64 = 1.25;

/// What a number of connections is for a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrying {
    Carries,
    /// It reaches the rate without room.
    Barely,
    TooFew,
    /// It has enough throughput, and its p99 is over the limit.
    TooSlow,
}

/// What the trials say about a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateAnswer {
    /// Transactions a second.
    pub rate: f64,
    /// What the number that the user has now is; `None` where it was not measured.
    pub current: Option<Carrying>,
    /// The smallest measured number that carries it.
    pub smallest: Option<u32>,
    /// The number to configure: the current one if it carries the rate, else the smallest; `None`
    /// where none does.
    pub connections: Option<u32>,
}

impl RateAnswer {
    pub fn new(findings: &PoolFindings, rate: f64, current: Option<u32>) -> Self {
        let mut carrying_ones =
            findings.curve.iter().filter(|point| carrying(point, rate) == Carrying::Carries);
        let smallest = carrying_ones.next().map(|point| point.connections);
        let now = current.and_then(|number| Some(carrying(findings.point(number)?, rate)));
        let connections = current.filter(|_| now == Some(Carrying::Carries)).or(smallest);
        Self { rate, current: now, smallest, connections }
    }
}

fn carrying(point: &CurvePoint, rate: f64) -> Carrying {
    if point.tps < rate {
        Carrying::TooFew
    } else if !point.meets_limit {
        Carrying::TooSlow
    } else if point.tps < ROOM * rate {
        Carrying::Barely
    } else {
        Carrying::Carries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(points: &[(u32, f64, bool)]) -> PoolFindings {
        let point = |(connections, tps, meets_limit): &(u32, f64, bool)| CurvePoint {
            connections: *connections,
            trials: 3,
            tps: *tps,
            tps_smoothed: *tps,
            response_us_p99: None,
            response_us_p99_low: None,
            response_us_p99_high: None,
            response_us_mean: None,
            meets_limit: *meets_limit,
            is_near_limit: false,
        };
        PoolFindings { curve: points.iter().map(point).collect(), ..PoolFindings::default() }
    }

    #[test]
    fn the_current_number_stays_where_it_carries_the_rate() {
        let found = findings(&[
            (1, 500.0, true),
            (5, 1_260.0, true),
            (10, 2_432.0, true),
            (128, 20_670.0, true),
        ]);
        let answer = |rate, current| RateAnswer::new(&found, rate, current);
        let yes = answer(1_000.0, Some(10));
        assert_eq!(
            (yes.current, yes.smallest, yes.connections),
            (Some(Carrying::Carries), Some(5), Some(10))
        );
        let barely = answer(2_000.0, Some(10));
        assert_eq!((barely.current, barely.connections), (Some(Carrying::Barely), Some(128)));
        let no = answer(3_000.0, Some(10));
        assert_eq!((no.current, no.connections), (Some(Carrying::TooFew), Some(128)));
        let none = answer(30_000.0, None);
        assert_eq!((none.current, none.smallest, none.connections), (None, None, None));
    }

    #[test]
    fn a_number_over_the_limit_of_p99_carries_nothing() {
        let found = findings(&[(4, 800.0, true), (10, 2_000.0, false)]);
        let answer = RateAnswer::new(&found, 1_000.0, Some(10));
        assert_eq!((answer.current, answer.connections), (Some(Carrying::TooSlow), None));
    }
}
