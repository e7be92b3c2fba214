//! Counters and gauges, other than waits, that differ between a period and the rest of the time.

use serde::Serialize;
use truetps_record::{ProbeSeries, ProbeSource};

use crate::redo::RedoAge;
use crate::stretch::{mean_over, widened};

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignUnit {
    /// The share of a whole, 0 to 1.
    Share,
    PerSecond,
    BytesPerSecond,
    /// Cores that were busy.
    Cores,
}

/// One figure within a stretch and in the time that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignalChange {
    pub name: &'static str,
    pub unit: SignUnit,
    pub value: f64,
    pub usual: Option<f64>,
}

/// How a sign is read.
enum SignalFormula {
    /// One gauge of another one.
    Of(&'static str, &'static str),
    /// Growth of a counter: of a time in the time that passed, of other amounts in a second.
    Rate(&'static str),
    /// Age of the checkpoint, of what the redo log has room for.
    Redo,
}

const SIGNS: &[(&str, SignUnit, SignalFormula)] = &[
    ("checkpoint age, of the redo log", SignUnit::Share, SignalFormula::Redo),
    (
        "dirty pages of the buffer pool",
        SignUnit::Share,
        SignalFormula::Of(
            "status.Innodb_buffer_pool_pages_dirty",
            "status.Innodb_buffer_pool_pages_total",
        ),
    ),
    ("Innodb_log_waits", SignUnit::PerSecond, SignalFormula::Rate("status.Innodb_log_waits")),
    (
        "Innodb_buffer_pool_wait_free",
        SignUnit::PerSecond,
        SignalFormula::Rate("status.Innodb_buffer_pool_wait_free"),
    ),
    (
        "Innodb_row_lock_waits",
        SignUnit::PerSecond,
        SignalFormula::Rate("status.Innodb_row_lock_waits"),
    ),
    (
        "Innodb_pages_written",
        SignUnit::PerSecond,
        SignalFormula::Rate("status.Innodb_pages_written"),
    ),
    ("Innodb_pages_read", SignUnit::PerSecond, SignalFormula::Rate("status.Innodb_pages_read")),
    ("Innodb_data_fsyncs", SignUnit::PerSecond, SignalFormula::Rate("status.Innodb_data_fsyncs")),
    // Of PostgreSQL: up to 16 and since 17; up to 17 and since 18.
    (
        "checkpoints (requested)",
        SignUnit::PerSecond,
        SignalFormula::Rate("pg_stat_bgwriter.checkpoints_req"),
    ),
    (
        "checkpoints (requested)",
        SignUnit::PerSecond,
        SignalFormula::Rate("pg_stat_checkpointer.num_requested"),
    ),
    ("WAL syncs", SignUnit::PerSecond, SignalFormula::Rate("pg_stat_wal.wal_sync")),
    ("WAL syncs", SignUnit::PerSecond, SignalFormula::Rate("pg_stat_io.wal.normal.fsyncs")),
    ("server CPU", SignUnit::Cores, SignalFormula::Rate("server.cpu_us")),
    ("all processes stopped by the disk", SignUnit::Share, SignalFormula::Rate("psi.io.full_us")),
    ("some process waited for a core", SignUnit::Share, SignalFormula::Rate("psi.cpu.some_us")),
    ("disk busy", SignUnit::Share, SignalFormula::Rate("disk.io_ms")),
    ("disk writes", SignUnit::BytesPerSecond, SignalFormula::Rate("disk.write_bytes")),
    ("disk flushes", SignUnit::PerSecond, SignalFormula::Rate("disk.flushes")),
];

/// Signs that differ between a stretch and others, in the order of the table. The stretch is
/// widened to the readings around it.
pub(crate) fn signs(
    probe: &ProbeSeries,
    (from_ms, to_ms): (f64, f64),
    elsewhere: &[(f64, f64)],
) -> Vec<SignalChange> {
    let read = SIGNS.iter().filter_map(|(name, unit, how)| {
        let value = how.within(probe, widened(probe.times(how.source(probe)?), from_ms, to_ms))?;
        let usual = mean_over(elsewhere, |part| how.within(probe, part));
        let sign = SignalChange { name, unit: *unit, value, usual };
        sign.differs_clearly().then_some(sign)
    });
    read.collect()
}

impl SignalFormula {
    /// What is read for it: server and host are read at different moments. `None` where it is
    /// absent.
    fn source(&self, probe: &ProbeSeries) -> Option<ProbeSource> {
        match self {
            Self::Of(name, _) | Self::Rate(name) => Some(probe.signal(name)?.signal.source),
            Self::Redo => Some(ProbeSource::Server),
        }
    }

    fn within(&self, probe: &ProbeSeries, (from_ms, to_ms): (f64, f64)) -> Option<f64> {
        match self {
            Self::Of(part, whole) => {
                Some(highest(probe, part, from_ms, to_ms)? / highest(probe, whole, from_ms, to_ms)?)
                    .filter(|share| share.is_finite())
            }
            Self::Rate(name) => {
                const SECOND_MS: f64 = 1e3;
                let factor = probe.signal(name)?.signal.unit.length_ms().unwrap_or(SECOND_MS);
                let rate = probe.growth(name, from_ms, to_ms, 0.0)? / (to_ms - from_ms) * factor;
                rate.is_finite().then_some(rate)
            }
            Self::Redo => {
                let times = probe.times(ProbeSource::Server).iter();
                times
                    .filter(|at| (from_ms..=to_ms).contains(*at))
                    .filter_map(|at| redo_share(probe, *at))
                    .reduce(f64::max)
            }
        }
    }
}

/// From values of one reading.
fn redo_share(probe: &ProbeSeries, at_ms: f64) -> Option<f64> {
    let age = RedoAge::of(|name| {
        let points = probe.points(name);
        let found = points.partition_point(|point| point.at_ms < at_ms);
        points
            .get(found)
            .filter(|point| point.at_ms.total_cmp(&at_ms).is_eq())
            .map(|point| point.value)
    });
    age?.share()
}

fn highest(probe: &ProbeSeries, name: &str, from_ms: f64, to_ms: f64) -> Option<f64> {
    let points = probe.points(name);
    let from = points.partition_point(|point| point.at_ms < from_ms);
    let to = points.partition_point(|point| point.at_ms <= to_ms).max(from);
    points[from..to].iter().map(|point| point.value).reduce(f64::max)
}

impl SignalChange {
    pub fn has_risen(&self) -> bool {
        self.usual.is_none_or(|usual| self.value > usual)
    }

    /// Twice as much or half of it; of shares and cores, a difference that can be seen in a chart.
    fn differs_clearly(&self) -> bool {
        const SHARE_MIN: f64 = 0.15;
        const FACTOR_MIN: f64 = 2.0;
        const PER_SECOND_MIN: f64 = 1.0;
        // Without anything to hold it against it tells nothing.
        let Some(usual) = self.usual else { return false };
        let (least, most) = (self.value.min(usual), self.value.max(usual));
        match self.unit {
            SignUnit::Share | SignUnit::Cores => most - least >= SHARE_MIN,
            SignUnit::PerSecond | SignUnit::BytesPerSecond => {
                most >= PER_SECOND_MIN && most >= FACTOR_MIN * least
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{ProbeHeader, ProbeSample, ProbeSource};

    use super::*;

    #[test]
    fn only_what_differs_is_reported() {
        let header = ProbeHeader::of_version_1(1e3, None);
        let sample = |second: u32, values: [(&str, f64); 5]| ProbeSample {
            source: ProbeSource::Server,
            at_ms: f64::from(second) * 1e3,
            took_ms: 1.0,
            lost: Vec::new(),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        // In the third second the server stands still; the checkpoint age rises, and pages are
        // written as ever.
        let (cpu, pages) = ([0.0, 9e5, 18e5, 18e5, 27e5], [0.0, 50.0, 100.0, 150.0, 200.0]);
        let age = [10.0, 10.0, 10.0, 90.0, 10.0];
        let samples = (0..5).map(|n| {
            let values = [
                ("server.cpu_us", cpu[n]),
                ("status.Innodb_pages_written", pages[n]),
                ("status.Innodb_checkpoint_age", age[n]),
                ("status.Innodb_checkpoint_max_age", 100.0),
                ("disk.flushes", 0.0),
            ];
            sample(n as u32, values)
        });
        let series = ProbeSeries::of(&header, samples);
        let found = signs(&series, (2000.0, 3000.0), &[(0.0, 2000.0), (3000.5, 4000.0)]);
        let values: Vec<_> = found.iter().map(|sign| (sign.name, sign.value)).collect();
        assert_eq!(values, [("checkpoint age, of the redo log", 0.9), ("server CPU", 0.0)]);
        assert!((found[1].usual.unwrap() - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_redo_log_that_fills_up_is_seen_in_positions_too() {
        let header = ProbeHeader::of_version_1(1e3, None);
        let value = |name: &str, value: f64| (format!("status.Innodb_redo_log_{name}"), value);
        let sample = |second: u32, checkpoint: f64| ProbeSample {
            source: ProbeSource::Server,
            at_ms: f64::from(second) * 1e3,
            took_ms: 1.0,
            lost: Vec::new(),
            values: [
                value("current_lsn", 1e6),
                value("checkpoint_lsn", checkpoint),
                value("capacity_resized", 1e5),
            ]
            .into(),
        };
        // The checkpoint falls behind for a moment.
        let series = ProbeSeries::of(
            &header,
            [9.9e5, 9.9e5, 9.1e5, 9.9e5]
                .into_iter()
                .enumerate()
                .map(|(n, at)| sample(n as u32, at)),
        );
        let found = signs(&series, (1500.0, 2500.0), &[(0.0, 1000.0)]);
        assert_eq!(found.len(), 1, "{found:?}");
        let (sign, usual) = (found[0], found[0].usual.unwrap());
        assert_eq!(sign.name, "checkpoint age, of the redo log");
        assert!((sign.value - 0.9).abs() < 1e-9 && (usual - 0.1).abs() < 1e-9, "{sign:?}");
    }
}
