//! The summary of `truetps probe`: rates of counters, values of gauges, and absent signals.

use serde::Serialize;
use truetps_analysis::TopWaits;
use truetps_knowledge::{Platform, platform_named};
use truetps_record::ProbeSummary;

use crate::csv_rows::{self, CsvRows};
use crate::document::{Block, Document, DocumentSection, DocumentTable};
use crate::external::PlatformPart;
use crate::json::json_text;
use crate::{format, waits};

/// The summary with the longest waits, as an indented JSON document that ends with a line feed.
pub(crate) fn probe_json(summary: &ProbeSummary, waits: Option<&TopWaits>) -> String {
    #[derive(Serialize)]
    struct ProbeDocument<'a> {
        #[serde(flatten)]
        summary: &'a ProbeSummary,
        /// `null` for an ordinary server.
        platform: Option<PlatformPart<'a>>,
        waits: Option<TopWaits>,
    }
    let platform = platform(summary).map(PlatformPart::of);
    json_text(&ProbeDocument { summary, platform, waits: waits.map(TopWaits::bounded) })
}

/// The managed or distributed server that was watched.
fn platform(summary: &ProbeSummary) -> Option<&'static Platform> {
    platform_named(summary.run.server.flavour, summary.run.platform.as_deref()?)
}

/// One line a signal, and one for how long the server did not answer.
pub(crate) fn probe_csv(summary: &ProbeSummary) -> String {
    let mut rows = CsvRows::new(["signal", "kind", "growth", "per_second", "mean", "max", "last"]);
    let silent_ms = summary.no_answer_ms;
    let share = (summary.length_ms > 0.0).then(|| silent_ms / (summary.length_ms / 1e3));
    let figures = [Some(silent_ms), share, None, None, None];
    rows.push(csv_fields("probe.no_answer_ms", "counter", figures));
    for (name, counter) in &summary.counters {
        let figures = [Some(counter.growth), Some(counter.per_second), None, None, None];
        rows.push(csv_fields(name, "counter", figures));
    }
    for (name, gauge) in &summary.gauges {
        let figures = [None, None, Some(gauge.mean), Some(gauge.max), Some(gauge.last)];
        rows.push(csv_fields(name, "gauge", figures));
    }
    rows.into_text()
}

fn csv_fields(name: &str, kind: &str, figures: [Option<f64>; 5]) -> impl Iterator<Item = String> {
    [name.to_owned(), kind.to_owned()].into_iter().chain(figures.map(csv_rows::number))
}

pub(crate) fn document(summary: &ProbeSummary, waits: Option<&TopWaits>) -> Document {
    let run = &summary.run;
    let counters = summary
        .counters
        .iter()
        .map(|(name, counter)| row(&[counter.growth, counter.per_second], name));
    let counters = DocumentTable::new(["grew by", "a second", "signal"], counters);
    let gauges =
        summary.gauges.iter().map(|(name, gauge)| row(&[gauge.mean, gauge.max, gauge.last], name));
    let gauges = DocumentTable::new(["mean", "max", "last", "signal"], gauges);
    let absent =
        summary.absent.iter().map(|signal| format!("{}: {}", signal.what, signal.why)).collect();
    let sections = [
        waits.map(waits::watched),
        DocumentSection::of("Counters", [counters.block()]),
        DocumentSection::of("Gauges", [gauges.block()]),
        DocumentSection::of("Absent", [Block::list(absent)]),
    ];
    Document::new(
        format!("{}: {} {}", run.target, run.server.flavour, run.server.version),
        facts(summary),
        sections,
    )
}

pub(crate) fn facts(summary: &ProbeSummary) -> Vec<(&'static str, String)> {
    let length = seconds(summary.length_ms);
    let samples = format::plural(summary.samples as u64, "sample");
    let cut = if summary.run.ended_at.is_none() {
        "; the record is cut off or still being written"
    } else {
        ""
    };
    let mut facts = vec![(
        "Watched",
        format!("{length} from {}, {samples} of the server{cut}", summary.run.started_at),
    )];
    facts.extend(platform(summary).map(|platform| {
        let caution =
            platform.caution.as_ref().map(|caution| format!(". {caution}")).unwrap_or_default();
        ("Platform", format!("{}{caution}", platform.sentence()))
    }));
    if let Some(first) = summary.run.suspensions.first() {
        let all = seconds(summary.run.suspensions.iter().map(|one| one.length_ms).sum());
        let times = match summary.run.suspensions.len() {
            1 => String::new(),
            times => format!("{times} times, first "),
        };
        let from = seconds(first.start_ms);
        facts.push((
            "Suspended",
            format!(
                "truetps itself did not run for {all} ({times}from {from} on): the server was \
                     not watched then"
            ),
        ));
    }
    let longest =
        summary.outages.iter().copied().max_by(|a, b| a.length_ms().total_cmp(&b.length_ms()));
    if let Some(longest) = longest {
        let from = seconds(longest.from_ms);
        let longest = match &summary.outages[..] {
            [_] => format!("from {from} on"),
            all => format!(
                "{} times, longest {} from {from} on",
                all.len(),
                seconds(longest.length_ms())
            ),
        };
        let all = seconds(summary.no_answer_ms);
        facts.push(("Outage", format!("not answering: {all} of {length} ({longest})")));
    }
    if !summary.resets_ms.is_empty() {
        let times: Vec<_> = summary.resets_ms.iter().map(|at_ms| seconds(*at_ms)).collect();
        let why = "the server was restarted, or they were reset; the step before is left out";
        facts.push(("Restart", format!("counters fell at {}: {why}", format::list(&times))));
    }
    facts.extend(
        summary.damage.as_ref().map(|damage| ("Damaged", format!("probe.jsonl: {damage}"))),
    );
    if !summary.answers_at_end {
        facts.push(("At end", "the server did not answer".to_owned()));
    }
    facts
}

fn row(figures: &[f64], name: &str) -> Vec<String> {
    figures.iter().map(|figure| amount(*figure)).chain([name.to_owned()]).collect()
}

/// A time on the clock of the probe's lines: `4.5 s`.
fn seconds(ms: f64) -> String {
    format!("{:.1} s", ms / 1e3)
}

/// Whole numbers as they are, others with four digits, and no fractions from a thousand on.
pub(crate) fn amount(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let digits =
        if size >= 1e3 || size.fract() == 0.0 { format::whole(size) } else { format::tps(size) };
    format!("{sign}{digits}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use truetps_analysis::{TopWait, WaitClass, WaitSource};
    use truetps_record::{
        AbsentSignal, CounterSummary, GaugeSummary, ProbeRun, ServerFacts, TimeSpan,
    };

    use super::*;
    use crate::ReportAnswer;
    use crate::TextScreen;
    use truetps_archive::RecordedProbe;

    fn probe(summary: &ProbeSummary, waits: Option<&TopWaits>) -> RecordedProbe {
        let path = std::path::PathBuf::new();
        RecordedProbe { path, summary: summary.clone(), waits: waits.cloned() }
    }

    fn summary() -> ProbeSummary {
        ProbeSummary {
            schema_version: 1,
            run: ProbeRun {
                schema_version: 1,
                tool_version: "1".to_owned(),
                target: "mysql://root@?socket=/s".to_owned(),
                server: ServerFacts::from_version_text("8.0.36"),
                platform: None,
                hostname: "h".to_owned(),
                started_at: "2026-11-21T20:34:38Z".to_owned(),
                ended_at: Some("2026-11-21T20:34:58Z".to_owned()),
                kept_bytes: None,
                suspensions: Vec::new(),
            },
            length_ms: 20_000.0,
            samples: 3,
            outages: vec![
                TimeSpan { from_ms: 2000.0, to_ms: 3500.0 },
                TimeSpan { from_ms: 6000.0, to_ms: 20_000.0 },
            ],
            no_answer_ms: 15_500.0,
            answers_at_end: false,
            resets_ms: vec![3500.0],
            damage: Some("line 5 cannot be understood".to_owned()),
            counters: BTreeMap::from([
                ("status.a".to_owned(), CounterSummary { growth: 4000.0, per_second: 2000.4 }),
                ("status.rare".to_owned(), CounterSummary { growth: 1.0, per_second: 0.05 }),
            ]),
            gauges: BTreeMap::from([(
                "session.a, b".to_owned(),
                GaugeSummary { mean: 1.5, max: 3.0, last: 0.0 },
            )]),
            absent: vec![AbsentSignal { what: "wait".to_owned(), why: "off \u{1b}[2J".to_owned() }],
        }
    }

    /// Sentences, the most telling signals and no list of all; all are a flag away.
    #[test]
    fn one_screen_of_a_probe() {
        let mut summary = summary();
        for n in 0..80 {
            let counter = CounterSummary { growth: f64::from(n), per_second: f64::from(n) };
            summary.counters.insert(format!("status.made_up_{n}"), counter);
        }
        let commits = CounterSummary { growth: 400.0, per_second: 20.0 };
        summary.counters.insert("status.Handler_commit".to_owned(), commits);
        let wait = |n: u32| TopWait {
            name: format!("wait/io/file/innodb/{n}"),
            class: WaitClass::RedoFlush,
            source: WaitSource::Timed,
            sessions: 2.0,
            share: None,
            count: None,
            us_per_tx: None,
        };
        let waits = TopWaits { list: (0..30).map(wait).collect(), more: 3, readings: 3 };
        crate::summary::check_screen(|screen| {
            crate::summary::probe_summary(&summary, Some(&waits), screen)
        });
        crate::summary::check_screen(|screen| {
            crate::summary::probe_summary(&summary, None, screen)
        });
        let text = crate::summary::probe_summary(&summary, Some(&waits), TextScreen::PLAIN);
        for part in [
            "Answer    In 20 s the server did 20 handler commits/s; at the end it did not answer.",
            "commits      20/s  status.Handler_commit",
            "Waits     redo flush: 2.000 sessions (wait/io/file/innodb/0)",
            "Outage    not answering: 15.5 s of 20.0 s",
        ] {
            assert!(text.contains(part), "{part}\n---\n{text}");
        }
        assert!(!text.contains("made_up"), "{text}");
        // Of a server with a binlog: transactions, and not what handlers did for them.
        summary.counters.insert(
            "status.Binlog_commits".to_owned(),
            CounterSummary { growth: 40.0, per_second: 2.0 },
        );
        let text = crate::summary::probe_summary(&summary, None, TextScreen::PLAIN);
        assert!(text.contains("the server did 2 commits/s"), "{text}");
    }

    fn gauge(mean: f64, max: f64, last: f64) -> GaugeSummary {
        GaugeSummary { mean, max, last }
    }

    /// A counter that has not grown is not in a summary; that is no failure to read it.
    #[test]
    fn an_idle_server_and_a_replica_have_sentences_of_their_own() {
        let mut idle = summary();
        let answer = |summary: &ProbeSummary| {
            let text = crate::summary::probe_summary(summary, None, TextScreen::PLAIN);
            let answer: Vec<_> =
                text.lines().skip_while(|line| !line.starts_with("Answer")).collect();
            answer.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            answer(&idle).contains("In 20 s the server committed nothing; at the end"),
            "{}",
            answer(&idle)
        );
        let redo = CounterSummary { growth: 40_960.0, per_second: 2048.0 };
        idle.counters.insert("status.Innodb_os_log_written".to_owned(), redo);
        let said = answer(&idle);
        assert!(
            said.contains("the server committed nothing, and wrote 2.0 KiB/s of redo log;"),
            "{said}"
        );

        let mut replica = summary();
        replica.gauges.insert("replica.Last_Errno".to_owned(), gauge(0.0, 0.0, 0.0));
        let said = answer(&replica);
        assert!(
            said.contains("how far it is behind its source: replication does not run."),
            "{said}"
        );
        replica.gauges.insert("replica.Seconds_Behind_Source".to_owned(), gauge(0.68, 3.0, 0.0));
        let lag = "The replica was at most 3 s behind its source, 0.680 s on average, 0 s in the \
                   last reading";
        assert!(answer(&replica).contains(&format!("{lag}.")), "{}", answer(&replica));
        let what = "replica.Seconds_Behind_Source".to_owned();
        replica
            .absent
            .push(AbsentSignal { what, why: "no longer reported by the server".to_owned() });
        let said = answer(&replica);
        assert!(
            said.contains(&format!("{lag}; for a part of the time replication did not run.")),
            "{said}"
        );

        let none = ProbeSummary { samples: 0, ..summary() };
        assert!(
            answer(&none).contains("too few readings came to tell what the server did"),
            "{}",
            answer(&none)
        );
    }

    #[test]
    fn waits_come_first_and_in_their_order() {
        let wait = |name: &str, sessions| TopWait {
            name: name.to_owned(),
            class: WaitClass::Latch,
            source: WaitSource::Timed,
            sessions,
            share: None,
            count: Some(7.0),
            us_per_tx: None,
        };
        let waits =
            TopWaits { list: vec![wait("wait/z", 2.0), wait("wait/a", 0.5)], more: 0, readings: 3 };
        let (summary, waits) = (summary(), Some(&waits));
        let text = probe(&summary, waits).text(TextScreen::PLAIN);
        assert!(text.find(waits::HEADING) < text.find("Counters"), "{text}");
        for document in [text, probe(&summary, waits).markdown(), probe_json(&summary, waits)] {
            let (first, second) = (document.find("wait/z"), document.find("wait/a"));
            assert!(first.is_some() && first < second, "{document}");
        }
    }

    #[test]
    fn a_terminal_sees_rates_outages_and_what_is_absent() {
        let text = probe(&summary(), None).text(TextScreen::PLAIN);
        let expect = "\
mysql://root@?socket=/s: mysql 8.0.36

Watched   20.0 s from 2026-11-21T20:34:38Z, 3 samples of the server
Outage    not answering: 15.5 s of 20.0 s (2 times, longest 14.0 s from 6.0 s on)
Restart   counters fell at 3.5 s: the server was restarted, or they were reset; the step before is
          left out
Damaged   probe.jsonl: line 5 cannot be understood
At end    the server did not answer

Counters

grew by  a second  signal
  4 000     2 000  status.a
      1     0.050  status.rare

Gauges

 mean  max  last  signal
1.500    3     0  session.a, b

Absent

- wait: off [2J
";
        assert_eq!(text, expect);
        let quiet = ProbeSummary {
            outages: Vec::new(),
            no_answer_ms: 0.0,
            resets_ms: Vec::new(),
            damage: None,
            answers_at_end: true,
            ..summary()
        };
        assert!(
            !probe(&quiet, None).text(TextScreen::PLAIN).contains("nswer"),
            "{}",
            probe(&quiet, None).text(TextScreen::PLAIN)
        );
    }

    #[test]
    fn the_same_as_markdown_and_csv() {
        let text = probe(&summary(), None).markdown();
        assert!(
            text.contains("| 4 000 | 2 000 | status.a |")
                && text.contains("not answering: 15.5 s of"),
            "{text}"
        );
        let csv = probe_csv(&summary());
        let expect = "signal,kind,growth,per_second,mean,max,last\r\n\
                      probe.no_answer_ms,counter,15500,775,,,\r\n\
                      status.a,counter,4000,2000.4,,,\r\n\
                      status.rare,counter,1,0.05,,,\r\n\
                      \"session.a, b\",gauge,,,1.5,3,0\r\n";
        assert_eq!(csv, expect);
    }
}
