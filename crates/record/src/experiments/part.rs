//! A part of a load that several load generators make together.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Part `index` of `of` parts, counted from 0. What is numbered (clients, workers) belongs to part
/// `number mod of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub index: u32,
    pub of: u32,
}

impl Part {
    /// A load that one generator makes.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
    /// Parts of one load, at most.
    pub const PARTS_MAX: u32 = 1000;

    /// Refuses numbers that name no part; says which, as in `--part 4/4`.
    pub fn new(index: u32, of: u32) -> Result<Self, String> {
        if !(1..=Self::PARTS_MAX).contains(&of) {
            return Err(format!(
                "{index}/{of}: between 1 and {} parts are possible",
                Self::PARTS_MAX
            ));
        }
        if index >= of {
            return Err(format!("{index}/{of}: the parts are numbered from 0 to {}", of - 1));
        }
        Ok(Self { index, of })
    }

    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Prepares the server, and names each start.
    pub fn is_first(self) -> bool {
        self.index == 0
    }

    /// How many of `all` numbered things belong to this part.
    pub fn share(self, all: u64) -> u64 {
        all.saturating_sub(self.index.into()).div_ceil(self.of.into())
    }

    /// The share of the part that has most.
    pub fn largest_share(self, all: u32) -> u32 {
        all.div_ceil(self.of)
    }

    /// The number of a worker of this part among the workers of all parts, which have equally many.
    pub fn worker(self, number: usize) -> usize {
        self.index as usize + self.of as usize * number
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        let (index, of) =
            numbers.ok_or_else(|| format!("{text}: not of the form I/N, as in 0/4"))?;
        Self::new(index, of)
    }
}

/// The start of a trial that several parts make together, in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CommonStart {
    /// By the clock of the server, in microseconds since 1970.
    pub server_us: i64,
    /// Half a round trip to the server: the start in this part differs from the common one by no
    /// more than this.
    pub uncertainty_us: f64,
    /// The server's clock less the clock of this part's host. It is not used: clocks of hosts need
    /// not agree.
    pub clock_offset_us: f64,
}

impl CommonStart {
    /// A part whose clock is known less exactly starts too far from the others: half of a bucket of
    /// an interval.
    pub const UNCERTAINTY_MAX: Duration = Duration::from_millis(50);

    /// Why this is not a start together with another part's.
    pub fn problem_beside(self, other: Self) -> Option<String> {
        let max_us = Self::UNCERTAINTY_MAX.as_micros();
        if !(0.0..=max_us as f64).contains(&self.uncertainty_us) {
            return Some(format!(
                "start.uncertainty_us is {:?}: not between 0 and {max_us}",
                self.uncertainty_us
            ));
        }
        (self.server_us != other.server_us).then(|| {
            format!(
                "start.server_us is {}, and {} in another part",
                self.server_us, other.server_us
            )
        })
    }
}

/// One part of an experiment, in the record of the merged experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergedPart {
    pub index: u32,
    pub host: String,
    /// The part's own folder, as it was named.
    pub folder: String,
}

/// The experiment that a part belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartOfExperiment {
    #[serde(flatten)]
    pub part: Part,
    /// The process of truetps, on its host.
    pub pid: u32,
    /// Chosen by part 0; the same in all parts of one experiment, and in no other.
    pub meeting: String,
}

/// One part of a trial, in the record of the merged trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialPart {
    pub index: u32,
    /// `None`: the part has no figures.
    pub tps: Option<f64>,
    pub clients: u32,
    /// CPU time of its generator, in microseconds a transaction.
    pub client_cpu_us_per_tx: Option<f64>,
    /// Share of the measure phase that its busiest worker was on a CPU.
    pub worker_busy_max: Option<f64>,
    /// Lateness of its own starts in an open loop, p99.
    pub late_us_p99: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommonStart>,
    /// Why its figures are no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_all_parts_are_the_whole() {
        for all in [0, 1, 3, 4, 5, 1000] {
            let shares: Vec<_> = (0..4).map(|index| Part { index, of: 4 }.share(all)).collect();
            assert_eq!(shares.iter().sum::<u64>(), all, "{shares:?}");
            assert!(shares.iter().all(
                |share| *share <= u64::from(Part { index: 0, of: 4 }.largest_share(all as u32))
            ));
        }
        assert_eq!(Part::WHOLE.share(7), 7);
    }

    #[test]
    fn workers_of_all_parts_have_different_numbers() {
        let mut numbers: Vec<_> = (0..3)
            .flat_map(|index| (0..4).map(move |worker| Part { index, of: 3 }.worker(worker)))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn parts_are_read_as_they_are_shown() {
        assert_eq!("3/4".parse(), Ok(Part { index: 3, of: 4 }));
        assert_eq!(Part { index: 3, of: 4 }.to_string(), "3/4");
        for (text, problem) in [
            ("4/4", "4/4: the parts are numbered from 0 to 3"),
            ("0/0", "0/0: between 1 and 1000 parts are possible"),
            ("0/1001", "0/1001: between 1 and 1000 parts are possible"),
            ("2", "2: not of the form I/N, as in 0/4"),
            ("-1/4", "-1/4: not of the form I/N, as in 0/4"),
        ] {
            assert_eq!(text.parse::<Part>(), Err(problem.to_owned()));
        }
    }
}
