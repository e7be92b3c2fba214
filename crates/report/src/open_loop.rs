//! Open loops in words: whether the server kept up with the schedule, and why not.

use truetps_analysis::{
    Analysis, BrokenRate, Cell, Curve, Figure, MaxRate, NotSustained, OpenLoopCell, SustainedRange,
    TriedRate,
};

use crate::generator::{self, LIMITED};
use crate::load::TargetRate;
use crate::{ReportInput, format, names};

/// How response time, service time, lag and lateness belong together: stands wherever they are
/// shown.
pub(crate) const TIMES_EXPLAINED: &str = "Response time counts from the scheduled start of a \
    transaction, so it includes waits for a free client or a stalled server; service time counts \
    from the actual start, which is all that a closed loop shows. Lag is the actual start minus \
    the scheduled one, and late the generator's own share of it.";
/// Stands where open loops are compared with each other.
pub(crate) const TPS_EXPLAINED: &str = "Where a server keeps up, its tps is the rate, whatever \
    else differs: compare the response times there.";

/// Whether any configuration has figures of an open loop.
pub(crate) fn has_figures(analysis: &Analysis) -> bool {
    analysis.cells.iter().any(|cell| cell.open_loop.is_some())
}

/// `yes`, `no`, `in 3 of 5 trials`, `not judged`.
pub(crate) fn sustained(open: &OpenLoopCell) -> String {
    let share = open.sustained;
    match (share.of, share.is_all(), share.is_none()) {
        (0, ..) => "not judged".to_owned(),
        (_, true, _) => "yes".to_owned(),
        (_, _, true) => "no".to_owned(),
        _ => format!("in {} of {} trials", share.trials, share.of),
    }
}

/// Whether it was sustained, and why not: `no: 312 of 10 000 starts were still waiting at the end
/// (3.1 %)`.
pub(crate) fn sustained_with_reason(open: &OpenLoopCell) -> String {
    match why_not(open) {
        Some(why) => format!("{}: {why}", sustained(open)),
        None => sustained(open),
    }
}

/// Counts of the first trial that was not sustained.
pub(crate) fn why_not(open: &OpenLoopCell) -> Option<String> {
    let NotSustained { trial: _, scheduled, skipped, queued } = open.not_sustained.as_ref()?;
    let all = format::plural(*scheduled, "start");
    let parts: Vec<_> = [(*queued, "still waiting at the end"), (*skipped, "skipped")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .enumerate()
        .map(|(index, (number, what))| {
            // The first one names the whole.
            let of = if index == 0 { format!(" of {all}") } else { String::new() };
            let were = if number == 1 { "was" } else { "were" };
            let share = format::percent(number as f64 / (*scheduled).max(1) as f64);
            format!("{}{of} {were} {what} ({share})", format::count(number))
        })
        .collect();
    Some(if parts.is_empty() {
        format!("recorded as not sustained, but of {all} none was queued or skipped")
    } else {
        parts.join(" and ")
    })
}

/// The first lines of a report of an open loop; empty for a closed one.
pub(crate) fn verdicts(input: &ReportInput<'_>) -> Vec<String> {
    let lines = input.analysis.curves.iter().filter_map(|curve| match curve.sustained {
        Some(range) => Some(range_line(input, curve, range)),
        None if curve.cells.len() > 1 => levels_line(input, curve),
        None => {
            names::cells(input.analysis, curve).into_iter().find_map(|cell| cell_line(input, cell))
        }
    });
    lines.collect()
}

/// `Target rate 700 tps: sustained at 8 and 50 connections; not at 1 connection: …`, for one rate
/// at several numbers of connections.
fn levels_line(input: &ReportInput<'_>, curve: &Curve) -> Option<String> {
    let analysis = input.analysis;
    let open: Vec<_> =
        names::cells(analysis, curve).into_iter().filter(|cell| cell.open_loop.is_some()).collect();
    let (kept_up, others): (Vec<_>, Vec<_>) =
        open.iter().copied().partition(|cell| is_sustained(cell));
    let first = *open.first()?;
    let mut parts = Vec::new();
    parts.extend((!kept_up.is_empty()).then(|| format!("sustained at {}", at(analysis, &kept_up))));
    parts.extend((!others.is_empty()).then(|| {
        let why = others.iter().find_map(|cell| why_not(cell.open_loop.as_ref()?));
        let word = if why.is_some() { "not sustained" } else { "not judged" };
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        let first = if others.len() > 1 && !why.is_empty() { ", first" } else { "" };
        format!("{word} at {}{first}{why}", at(analysis, &others))
    }));
    let per_client = input.run.plan.load.rate_per_client;
    let rate = per_client.map_or_else(
        || rate_text(input, first),
        |rate| format!("{} tps a client", format::rate(rate)),
    );
    let subject = if curve.label.is_empty() {
        "Target".to_owned()
    } else {
        format!("{}, target", curve.label)
    };
    Some(format!("{subject} rate {rate}: {}.", parts.join("; ")))
}

/// `8 and 50 connections`.
fn at(analysis: &Analysis, cells: &[&Cell]) -> String {
    let levels: Vec<_> =
        cells.iter().map(|cell| analysis.axis.level(&cell.configuration)).collect();
    let mark = generator::limited_mark(cells.iter().any(|cell| generator::is_limited(cell)));
    format!("{}{mark}", names::at_levels(analysis.axis, &levels))
}

pub(crate) fn is_sustained(cell: &Cell) -> bool {
    cell.open_loop.as_ref().is_some_and(|open| open.sustained.is_all())
}

/// `Highest rate that is sustained and keeps to p99<1s: between 4 420 tps (held in 5 of 5 trials)
/// and 5 360 tps (held in 1 of 3 trials; trial-0011: p99 was 72.679 ms); a closed loop reached
/// 7 120 tps. …`
pub(crate) fn max_rate_line(found: &MaxRate) -> String {
    let (Some(coverage), Some(sure)) = (found.coverage, found.sure) else {
        return line_by_one_failure(found);
    };
    let subject = format!("Highest rate that is sustained and keeps to {}", found.slo);
    let closed = found
        .closed_loop_tps
        .map_or(String::new(), |tps| format!("; a closed loop reached {} tps", format::tps(tps)));
    if found.is_flat {
        return format!("{subject}: {}{closed}.", not_of_rate(&found.rates));
    }
    let held = found.held.as_ref().map(|held| {
        let mark = generator::limited_note(held.generator_limited);
        let (rate, of) = (format::tps(held.rate), format::trials(held.of));
        format!("{rate} tps (held in {} of {of}{mark})", held.trials.len())
    });
    let broken = found.broken.as_ref().map(|broken| {
        let BrokenRate { trial, why, broken: n, of, .. } = broken;
        let mark = generator::limited_note(broken.generator_limited);
        let (rate, held) = (format::tps(broken.rate), of - n);
        format!("{rate} tps (held in {held} of {}; {trial}: {why}{mark})", format::trials(*of))
    });
    let between = match (&held, &broken) {
        (Some(held), Some(broken)) => format!("between {held} and {broken}"),
        (Some(held), None) => format!("above {held}; no higher rate is known to fail"),
        (None, Some(broken)) => format!("below {broken}; no rate that was tried is known to hold"),
        (None, None) => "not known".to_owned(),
    };
    let claims = (held.is_some() && broken.is_some()).then(|| {
        format!(
            " On a host whose speed does not jump, the rate that half of all trials hold is \
             between the two with {}; if nothing disturbs it, a new trial at the lower one holds \
             with {}.",
            format::percent(coverage),
            format::percent(sure)
        )
    });
    format!("{subject}: {between}{closed}.{}", claims.unwrap_or_default())
}

/// No model of rates fits: none of its rates is a claim.
fn not_of_rate(rates: &[TriedRate]) -> String {
    let held = rates.iter().map(|one| one.held).sum::<usize>();
    let of = format::trials(rates.iter().map(|one| one.of).sum());
    format!(
        "not known, as trials failed as often at low rates as at high ones ({held} of {of} held): \
         something else than the rate makes them fail"
    )
}

/// The answer of older versions.
fn line_by_one_failure(found: &MaxRate) -> String {
    let held = found.held.as_ref().map_or("none that was tried".to_owned(), |held| {
        let all = if held.trials.len() > 1 { "all of " } else { "" };
        let (rate, trials) = (format::tps(held.rate), format::list(&held.trials));
        let mark = generator::limited_note(held.generator_limited);
        format!("{rate} tps (held in {all}{trials}{mark})")
    });
    let broken = found.broken.as_ref().map_or("no higher one was tried".to_owned(), |broken| {
        let BrokenRate { trial, why, broken: n, of, .. } = broken;
        let rate = format::tps(broken.rate);
        let mark = generator::limited_note(broken.generator_limited);
        format!("{rate} tps failed in {n} of {} ({trial}: {why}{mark})", format::trials(*of))
    });
    format!("Highest rate that is sustained and keeps to {}: {held}; {broken}.", found.slo)
}

/// In a search: what became of the rate of a cell. `None` elsewhere.
pub(crate) fn tried<'a>(input: &ReportInput<'a>, cell: &Cell) -> Option<&'a TriedRate> {
    let rate = cell.configuration.rate()?;
    input.analysis.max_rate.as_ref()?.rates.iter().find(|tried| tried.rate.total_cmp(&rate).is_eq())
}

/// In a search: in how many of its trials a rate held, `in all of 3 trials`; `None` elsewhere.
pub(crate) fn held(input: &ReportInput<'_>, cell: &Cell) -> Option<String> {
    let tried = tried(input, cell)?;
    let of = format::trials(tried.of);
    Some(match &tried.broken_by {
        _ if tried.of == 0 => "not judged".to_owned(),
        None if tried.of == 1 => format!("in {of}"),
        None => format!("in all of {of}"),
        Some((trial, why)) => format!("in {} of {of}: {trial}: {why}", tried.held),
    })
}

/// `Sustained up to a target rate of 1 000 tps (p99 2.10 ms there); not at 2 000 tps: …`.
fn range_line(input: &ReportInput<'_>, curve: &Curve, range: SustainedRange) -> String {
    let [highest, first_not] =
        [range.highest, range.first_not].map(|cell| cell.map(|cell| &input.analysis.cells[cell]));
    let not = first_not.map_or(String::new(), |cell| {
        let why = cell.open_loop.as_ref().map_or(String::new(), sustained_with_reason);
        let why = why.strip_prefix("no: ").unwrap_or(&why);
        let limited = generator::limited_note(generator::is_limited(cell));
        format!("{}: {why}{limited}", rate_text(input, cell))
    });
    let highest = highest.map(|cell| rate_text(input, cell) + &p99_there(cell));
    let text = match (highest, not.is_empty()) {
        (Some(highest), true) => format!("sustained at every rate tried, up to {highest}"),
        (Some(highest), false) => {
            format!("sustained up to a target rate of {highest}; not at {not}")
        }
        (None, _) => format!("sustained at no rate tried; not at {not}"),
    };
    if curve.label.is_empty() {
        format!("{}.", names::capital(&text))
    } else {
        format!("{}: {text}.", curve.label)
    }
}

/// ` (p99 2.10 ms there)`.
fn p99_there(cell: &Cell) -> String {
    let p99 =
        cell.get(Figure::ResponseP99).map(|us| format!("p99 {} there", format::duration_us(us)));
    let mark = generator::is_limited(cell).then(|| LIMITED.to_owned());
    let said = format::joined(p99.into_iter().chain(mark), ", ");
    said.map_or(String::new(), |said| format!(" ({said})"))
}

/// `Sustained: yes. 998.2 tps of a target rate of 1 000 tps with 8 connections; response time p50
/// 312 µs, p99 2.10 ms`.
fn cell_line(input: &ReportInput<'_>, cell: &Cell) -> Option<String> {
    let (open, tps) = (cell.open_loop.as_ref()?, cell.tps.as_ref()?);
    let connections = names::connections(connections_of(input, cell));
    let settings = cell.configuration.settings_label();
    let subject = if settings.is_empty() { String::new() } else { format!("{settings}: ") };
    let times = [Figure::ResponseP50, Figure::ResponseP99].into_iter().filter_map(|figure| {
        let value = format::figure(figure, cell.get(figure)?);
        Some(format!("{} {value}", format::short_name(figure)))
    });
    let response = format::joined(times, ", ")
        .map_or(String::new(), |times| format!("; response time {times}"));
    let word = if subject.is_empty() { "Sustained" } else { "sustained" };
    Some(format!(
        "{subject}{word}: {}. {} tps of a target rate of {} with {connections}{response} ({}){}.",
        sustained_with_reason(open),
        format::tps(tps.value),
        rate_text(input, cell),
        names::certainty(tps),
        generator::limited_note(generator::is_limited(cell)),
    ))
}

/// A part of a load has fewer than the whole.
fn connections_of(input: &ReportInput<'_>, cell: &Cell) -> u32 {
    let is_part = input.run.experiment.part.is_some();
    let of_cell = input.trials().find(|trial| trial.configuration == cell.configuration);
    let engine = of_cell.filter(|_| is_part).and_then(|trial| trial.engine.as_ref());
    engine.map_or_else(|| cell.configuration.connections(), |engine| engine.clients)
}

/// `1 000 tps`; what the schedule had, where the plan does not say. Of a part of a load: its own
/// share.
pub(crate) fn rate_text(input: &ReportInput<'_>, cell: &Cell) -> String {
    let target = TargetRate::of(&input.run.plan, &cell.configuration);
    match (target, cell.get(Figure::ScheduledRate)) {
        (Some(target), Some(rate)) if input.run.experiment.part.is_some() => {
            format!("{} tps, its part of {}", format::tps(rate), target.text())
        }
        (Some(target), _) => target.text(),
        (None, Some(rate)) => format!("{} tps", format::tps(rate)),
        (None, None) => format::NOTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use truetps_analysis::HeldRate;

    use super::*;
    use crate::fixture::Fixture;
    use crate::{FolderAnswer, ReportAnswer};

    fn check(fixture: &Fixture, expect: &[&str]) {
        assert_eq!(verdicts(&fixture.input()), expect);
    }

    #[test]
    fn a_search_has_an_answer() {
        let mut found = MaxRate {
            slo: "p99<20ms".to_owned(),
            closed_loop_tps: Some(7120.0),
            coverage: None,
            sure: None,
            is_flat: false,
            held: Some(HeldRate {
                rate: 4590.0,
                trials: ["trial-0004", "trial-0006", "trial-0007"].map(str::to_owned).to_vec(),
                of: 3,
                generator_limited: false,
            }),
            broken: Some(BrokenRate {
                rate: 4790.0,
                trial: "trial-0005".to_owned(),
                why: "p99 was 72 ms".to_owned(),
                broken: 1,
                of: 3,
                generator_limited: true,
            }),
            rates: Vec::new(),
        };
        assert_eq!(
            max_rate_line(&found),
            "Highest rate that is sustained and keeps to p99<20ms: 4 590 tps (held in all of \
             trial-0004, trial-0006 and trial-0007); 4 790 tps failed in 1 of 3 trials \
             (trial-0005: p99 was 72 ms; generator-limited)."
        );
        found = MaxRate { coverage: Some(0.95), sure: Some(0.98), ..found };
        assert_eq!(
            max_rate_line(&found),
            "Highest rate that is sustained and keeps to p99<20ms: between 4 590 tps (held in 3 of \
             3 trials) and 4 790 tps (held in 2 of 3 trials; trial-0005: p99 was 72 ms; \
             generator-limited); a closed loop reached 7 120 tps. On a host whose speed does \
             not jump, the rate that half of all trials hold is between the two with 95 %; if \
             nothing disturbs it, a new trial at the lower one holds with 98 %."
        );
        (found.held, found.broken) = (None, None);
        assert!(max_rate_line(&found).contains("not known; a closed loop reached"));
        let tried = |rate, held, of| TriedRate { rate, held, of, broken_by: None };
        let rates = vec![tried(1000.0, 1, 4), tried(4000.0, 1, 3)];
        assert_eq!(
            max_rate_line(&MaxRate { is_flat: true, rates, ..found.clone() }),
            "Highest rate that is sustained and keeps to p99<20ms: not known, as trials failed as \
             often at low rates as at high ones (2 of 7 trials held): something else than the rate \
             makes them fail; a closed loop reached 7 120 tps."
        );
        found.coverage = None;
        assert!(max_rate_line(&found).ends_with("none that was tried; no higher one was tried."));
    }

    #[test]
    fn a_rate_is_marked_by_all_of_its_trials() {
        let mut fixture = Fixture::rates();
        let rate = fixture.analysis.cells[0].configuration.rate().unwrap();
        let broken_by = Some(("trial-0002".to_owned(), "p99 was 66 ms".to_owned()));
        let rates = vec![truetps_analysis::TriedRate { rate, held: 2, of: 3, broken_by }];
        let found = MaxRate {
            slo: "p99<20ms".to_owned(),
            closed_loop_tps: None,
            coverage: None,
            sure: None,
            is_flat: false,
            held: None,
            broken: None,
            rates,
        };
        fixture.analysis.max_rate = Some(found);
        let input = fixture.input();
        let text = "in 2 of 3 trials: trial-0002: p99 was 66 ms";
        assert_eq!(held(&input, &input.analysis.cells[0]).as_deref(), Some(text));
        assert!(
            input.text(crate::TextScreen::PLAIN).contains("in 2 of 3 trials"),
            "{}",
            input.text(crate::TextScreen::PLAIN)
        );
        assert!(input.html().contains("in 2 of 3 trials"));
    }

    #[test]
    fn a_closed_loop_has_no_such_line() {
        check(&Fixture::durability(), &[]);
    }

    #[test]
    fn one_trial_says_whether_it_was_sustained_and_why_not() {
        check(
            &Fixture::open_run(1000),
            &["Sustained: yes. 1 000 tps of a target rate of 1 000 tps with 8 connections; \
               response time p50 300 µs, p99 2.10 ms (one trial, so without an interval)."],
        );
        check(
            &Fixture::open_run(8000),
            &["Sustained: no: 2 400 of 80 000 starts were still waiting at the end (3.0 %). 7 \
               760 tps of a target rate of 8 000 tps with 8 connections; response time p50 90.0 \
               ms, p99 310 ms (one trial, so without an interval)."],
        );
    }

    #[test]
    fn a_sweep_of_rates_says_up_to_where() {
        check(
            &Fixture::rates(),
            &[
                "innodb_flush_log_at_trx_commit=1: sustained up to a target rate of 2 000 tps (p99 \
               2.10 ms there); not at 4 000 tps: 1 200 of 40 000 starts were still waiting at the \
               end (3.0 %); generator-limited.",
                "innodb_flush_log_at_trx_commit=2: sustained at every rate tried, up to 4 000 tps \
                 (p99 2.10 ms there).",
            ],
        );
    }

    #[test]
    fn one_rate_at_several_connections_is_one_line() {
        let plan = "name = \"fixed\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[load]\nrate = \
                    8000\n[design]\n\
                    blocks = 1\naa_pair = false\n[factors]\nconnections = [1, 8, 50]\n";
        let fixture = Fixture::of_plan(plan).with(|trials| {
            for trial in trials {
                let sustained = trial.configuration.connections() > 1;
                crate::fixture_open::open(trial, 8000.0, sustained);
            }
        });
        check(
            &fixture,
            &["Target rate 8 000 tps: sustained at 8 and 50 connections; not sustained at 1 \
               connection: 2 400 of 80 000 starts were still waiting at the end (3.0 %)."],
        );
        assert_eq!(crate::verdicts(&fixture.input()).len(), 1);
    }

    #[test]
    fn both_reasons_and_the_share_of_trials_are_reported() {
        let mut fixture = Fixture::open_run(1000);
        let open = fixture.analysis.cells[0].open_loop.as_mut().unwrap();
        open.sustained = truetps_analysis::TrialShare { trials: 3, of: 5 };
        let trial = "trial-0004".to_owned();
        open.not_sustained =
            Some(NotSustained { trial, scheduled: 10_000, skipped: 1, queued: 312 });
        assert_eq!(
            sustained_with_reason(open),
            "in 3 of 5 trials: 312 of 10 000 starts were still waiting at the end (3.1 %) and 1 \
             was skipped (0.01 %)"
        );
        open.sustained = truetps_analysis::TrialShare::default();
        open.not_sustained = None;
        assert_eq!(sustained_with_reason(open), "not judged");
    }
}
