//! Made-up trials that were watched: a stall whose cause is known, waits, and counters for a
//! ledger.

use truetps_analysis::TrialDetail;
use truetps_record::{
    AbsentSignal, Counts, Family, Interval, LatencyFigures, Phase, ProbeHeader, ProbeSample,
    ProbeSeries, ProbeSource, TransactionGap,
};

use crate::fixture::Fixture;

/// Seconds of each trial: one of warm-up, the rest measured.
const SECONDS: u32 = 31;
/// In the second trial nothing ends from 20.3 s to 22.1 s.
const STALLED: std::ops::Range<u32> = 203..221;
const REDO: &str = "wait.wait/io/file/innodb/innodb_log_file.us";
const PAGES: &str = "wait.wait/io/file/innodb/innodb_data_file.us";

impl Fixture {
    /// Two flush levels at 8 connections, one block: the second trial stalls for 1.8 s, while the
    /// redo log is waited for.
    pub(crate) fn watched() -> Self {
        Self::watched_at("8")
    }

    /// A watched server at several numbers of connections.
    pub(crate) fn watched_at(connections: &str) -> Self {
        let mut fixture = Self::of_plan(&format!(
            "name = \"watched\"\nabout = \"Which flush level stalls?\"\n[workload]\nname = \
             \"insert\"\n[design]\n\
             blocks = 1\naa_pair = false\n[factors]\ninnodb_flush_log_at_trx_commit = [1, \
             2]\nconnections = [{connections}]\n"
        ));
        for one in &mut fixture.run.trials {
            let stalls = one.trial.position == 1;
            one.intervals = (0..SECONDS).map(|second| interval(second, stalls)).collect();
            one.probe = Ok(probe(stalls));
            one.files = vec!["run.json", "intervals.jsonl", "probe.jsonl", "server/my.cnf"];
            one.detail = TrialDetail::of(one);
        }
        fixture.analysis = fixture.run.analyse();
        fixture
    }
}

fn interval(second: u32, stalls: bool) -> Interval {
    let buckets: Vec<u32> = (0..10)
        .map(|bucket| {
            let is_stalled = stalls && STALLED.contains(&(second * 10 + bucket));
            if is_stalled { 0 } else { 95 + (second * 7 + bucket * 3) % 11 }
        })
        .collect();
    let ok: u32 = buckets.iter().sum();
    let ends = stalls && second == STALLED.end / 10;
    let gap = TransactionGap { start_ms: f64::from(STALLED.start) * 100.0, length_ms: 1_800.0 };
    let phase = if second == 0 { Phase::WarmUp } else { Phase::Measure };
    let counts = Counts { ok: ok.into(), started: ok.into(), ..Counts::default() };
    Interval {
        response: LatencyFigures {
            response_us_p99: Some(4000.0),
            response_us_max: Some(9000.0),
            ..Default::default()
        },
        buckets,
        gaps: if ends { vec![gap] } else { Vec::new() },
        ..Interval::of_counts(phase, f64::from(second) * 1e3, 1e3, counts)
    }
}

/// Half a session waits for the redo log; while it stalls, all eight do.
fn probe(stalls: bool) -> ProbeSeries {
    let absent =
        AbsentSignal { what: "file".to_owned(), why: "performance_schema is OFF".to_owned() };
    let header =
        ProbeHeader { absent: vec![absent], ..ProbeHeader::of_version_1(1e3, Some(Family::Mysql)) };
    let (mut redo, mut pages) = (0.0, 0.0);
    let samples = (0..=SECONDS).map(|second| {
        let waits = if stalls && (21..=23).contains(&second) { 7.8e6 } else { 0.5e6 };
        redo += waits;
        pages += 0.2e6 + 1e5 * f64::from(second % 5);
        let second = f64::from(second);
        let values = [
            (REDO, redo),
            (PAGES, pages),
            ("status.Innodb_os_log_written", second * 512_000.0),
            ("status.Innodb_os_log_fsyncs", second * 1020.0),
        ];
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        ProbeSample {
            source: ProbeSource::Server,
            at_ms: second * 1e3,
            took_ms: 1.0,
            values,
            lost: Vec::new(),
        }
    });
    ProbeSeries::of(&header, samples)
}
