//! Series of a probe, from a few values.

use truetps_record::{Family, ProbeHeader, ProbeSample, ProbeSeries, ProbeSource};

pub(super) fn series(samples: &[(f64, &[(&str, f64)])]) -> ProbeSeries {
    let header = ProbeHeader::of_version_1(1e3, Some(Family::Mysql));
    let sample = |(at_ms, values): &(f64, &[(&str, f64)])| ProbeSample {
        source: ProbeSource::Server,
        at_ms: *at_ms,
        took_ms: 1.0,
        lost: Vec::new(),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    };
    ProbeSeries::of(&header, samples.iter().map(sample))
}

pub(super) const REDO: &str = "wait.wait/io/file/innodb/innodb_log_file.us";
pub(super) const BINLOG: &str = "wait.wait/io/file/sql/binlog.us";
