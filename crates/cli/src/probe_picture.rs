//! `truetps probe --ui`: what a probe sees as the picture of a run, in which the server's commits
//! stand for transactions.

use std::time::Duration;

use truetps_analysis::LiveProbe;
use truetps_record::{
    Configuration, Counts, Interval, Phase, ProbeHeader, ProbeSample, ProbeSource, ScheduledTrial,
    TrialRole, new_histogram,
};
use truetps_recording::{TrialEvent, TrialListener, TrialPlace};

use crate::probe_text::{CommitCounter, server_value};
use crate::ui::Ui;

/// The picture, and what the intervals of its chart are made from.
pub(crate) struct ProbePicture {
    ui: Ui,
    commits: CommitMeter,
    header: ProbeHeader,
    trial: ScheduledTrial,
}

impl ProbePicture {
    pub(crate) fn new(ui: Ui, header: &ProbeHeader) -> Self {
        let trial = ScheduledTrial {
            name: String::new(),
            block: 0,
            position: 0,
            role: TrialRole::Cell,
            configuration: Configuration { levels: indexmap::IndexMap::new() },
            mixture: None,
        };
        let mut picture =
            Self { ui, commits: CommitMeter::default(), header: header.clone(), trial };
        picture.event(None, TrialEvent::Begins);
        picture
    }

    /// A reading of the server or of the host.
    pub(crate) fn sample(&mut self, sample: &ProbeSample, left: Option<Duration>) {
        let header = self.header.clone();
        self.event(left, TrialEvent::Sample(&header, sample));
        if let Some(interval) = self.commits.interval(&header, sample) {
            self.event(left, TrialEvent::Interval(&interval, &new_histogram()));
        }
    }

    fn event(&mut self, left: Option<Duration>, event: TrialEvent<'_>) {
        let trial = self.trial.clone();
        self.ui.trial_event(TrialPlace { trial: &trial, index: 0, of: None, left }, event);
    }
}

/// The commits between two readings, as an interval.
#[derive(Default)]
struct CommitMeter {
    live: LiveProbe,
    counter: CommitCounter,
    before_ms: Option<f64>,
}

impl CommitMeter {
    /// `None` for a reading of the host, for the first one, and for one after a restart, where
    /// counters fall.
    fn interval(&mut self, header: &ProbeHeader, sample: &ProbeSample) -> Option<Interval> {
        if !self.live.sample(header, sample) || sample.source != ProbeSource::Server {
            return None;
        }
        let decoder = self.live.decoder()?;
        let reading = self.counter.read(|name| server_value(decoder, name))?;
        let before_ms = self.before_ms.replace(sample.at_ms)?;
        let growth = Some(reading.now - reading.before?).filter(|growth| *growth >= 0.0)?;
        let counts = Counts { ok: growth as u64, ..Counts::default() };
        let length_ms = Some(sample.at_ms - before_ms).filter(|length_ms| *length_ms > 0.0)?;
        Some(Interval::of_counts(Phase::Measure, before_ms, length_ms, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_between_readings_are_the_chart() {
        let header = ProbeHeader::of_version_1(1e3, None);
        let mut meter = CommitMeter::default();
        let mut commits = |source, at_ms, n: f64| {
            let values = std::iter::once(("status.Handler_commit".to_owned(), n)).collect();
            let sample = ProbeSample { source, at_ms, took_ms: 1.0, values, lost: Vec::new() };
            meter.interval(&header, &sample).map(|one| (one.start_ms, one.length_ms, one.tps))
        };
        assert_eq!(
            commits(ProbeSource::Server, 1000.0, 100.0),
            None,
            "there is nothing before the first"
        );
        assert_eq!(commits(ProbeSource::Host, 1500.0, 900.0), None);
        assert_eq!(commits(ProbeSource::Server, 3000.0, 500.0), Some((1000.0, 2000.0, 200.0)));
        assert_eq!(commits(ProbeSource::Server, 4000.0, 10.0), None, "the server was restarted");
        assert_eq!(commits(ProbeSource::Server, 5000.0, 30.0), Some((4000.0, 1000.0, 20.0)));
    }
}
