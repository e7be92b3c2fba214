//! The meaning of the numbers in sentences: the same in every format.

use truetps_analysis::{Analysis, Contrast, Curve, Knee, Twins, Verdict};
use truetps_record::Coupling;

use crate::generator::{self, LIMITED};
use crate::{ReportInput, durability, format, names, open_loop, risk, steady};

/// More combinations of settings than this are in the table only.
const CURVES_SHOWN_MAX: usize = 4;
/// Below this median a flush is too cheap for the fall that slow disks show at few connections.
const CHEAP_FLUSH_US: f64 = 500.0;

/// The answer to the experiment's question, as sentences.
pub fn meaning(input: &ReportInput<'_>) -> Vec<String> {
    let analysis = input.analysis;
    let mut said = Vec::new();
    if analysis.curves.len() <= CURVES_SHOWN_MAX {
        said.extend(
            analysis
                .curves
                .iter()
                .filter(|curve| curve.is_baseline)
                .filter_map(|curve| cost(input, curve)),
        );
        said.extend(
            analysis.curves.iter().filter_map(|curve| {
                knee_sentence(curve, names::short(&input.run.plan, &curve.label))
            }),
        );
    }
    said.extend(rule(analysis));
    said.extend(cheap_flush(input));
    said.extend(undecided(analysis));
    said.extend(couplings(input));
    said.extend(risk::sentences(input));
    said.extend(durability::sentences(input));
    said
}

/// Settings that change with a level: they may cause the difference.
pub(crate) fn couplings(input: &ReportInput<'_>) -> Vec<String> {
    let sentences = input.run.experiment.couplings.iter().filter_map(|coupling| {
        let Coupling { server, factor, level, name, value, otherwise } = coupling;
        let who = server
            .as_ref()
            .map_or_else(|| "A server".to_owned(), |server| format!("{server}, where it"));
        let known = value != otherwise;
        known.then(|| {
            let (that, comma) = if server.is_some() { ("", ",") } else { (" that", "") };
            format!(
                "{who}{that} starts with {factor}={level}{comma} also has {name}={value} \
                 (otherwise {otherwise}), and so had the trials of that level."
            )
        })
    });
    sentences.collect()
}

/// Limits and doubts about the figures: facts of host, generator and course of the experiment.
pub fn caveats(input: &ReportInput<'_>) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(incomplete(input.analysis));
    said.extend(alarm(input.analysis));
    said.extend(generator::warning(input.analysis));
    said.extend(steady::warning(input.analysis));
    said.extend(open_loops_compared(input.analysis));
    said.extend(memory_disk(input));
    if input.run.experiment.quick {
        said.push(
            "This was a quick run with short trials: trust the trends, not the figures.".to_owned(),
        );
    }
    said.extend(shared_cores(input));
    said
}

pub(crate) fn shared_cores(input: &ReportInput<'_>) -> Option<String> {
    let shares = generator::Facts::of(input).shares_cores;
    // Without any trial this is unknown, and a sandbox is usually on this host.
    let is_known_apart =
        shares == Some(false) || (shares.is_none() && !input.run.trials.is_empty());
    (!is_known_apart).then(|| {
        format!(
            "Generator and server share the {} of this host: {}.",
            format::plural(input.run.experiment.host.cores.into(), "core"),
            generator::bound(input.analysis).unwrap_or_else(|| without_bound(input.analysis))
        )
    })
}

fn without_bound(analysis: &Analysis) -> String {
    let is_missing =
        analysis.cells.iter().any(|cell| cell.tps.is_some() && cell.open_loop.is_none());
    let missing = if is_missing { " (no useful bound is known)" } else { "" };
    format!("the generator takes CPU time from the server{missing}")
}

/// "Equivalent" is not a result if the schedule decides the throughput.
fn open_loops_compared(analysis: &Analysis) -> Option<String> {
    let compares = open_loop::has_figures(analysis) && !analysis.contrasts.is_empty();
    compares.then(|| open_loop::TPS_EXPLAINED.to_owned())
}

/// What the baseline costs against each other curve: at the number of connections that suits the
/// baseline best, so that the comparison is fair to it.
fn cost(input: &ReportInput<'_>, baseline: &Curve) -> Option<String> {
    let analysis = input.analysis;
    if open_loop::has_figures(analysis) {
        return None;
    }
    let (connections, why) = match (&baseline.knee, &baseline.cells[..]) {
        (Some(knee), _) => (knee.best_connections, "where it is fastest"),
        (None, [only]) => {
            (analysis.cells[*only].configuration.connections(), "the only number tried")
        }
        (None, _) => return None,
    };
    let fair = analysis.contrasts.iter().filter(|contrast| {
        baseline.cells.contains(&contrast.baseline_cell)
            && [contrast.cell, contrast.baseline_cell]
                .map(|cell| analysis.cells[cell].configuration.connections())
                == [connections; 2]
    });
    let clauses = format::joined(fair.filter_map(|contrast| clause(input, contrast)), "; ")?;
    let at = names::connections(connections);
    Some(format!("Against {} at {at}, {why}: {clauses}.", baseline.label))
}

fn clause(input: &ReportInput<'_>, contrast: &Contrast) -> Option<String> {
    let curve = input.analysis.curves.iter().find(|curve| curve.cells.contains(&contrast.cell))?;
    let name = names::short(&input.run.plan, &curve.label);
    let mark = generator::limited_mark(contrast.generator_limited);
    let times = format::ratio_estimate(&contrast.tps_ratio);
    Some(match contrast.verdict {
        Verdict::Faster => format!("{name} takes {times} as many transactions a second{mark}"),
        Verdict::Slower => format!("{name} takes only {times} as many transactions a second{mark}"),
        Verdict::Equivalent => {
            format!(
                "{name} makes no difference of {} or more{mark}",
                format::percent(input.analysis.smallest_effect)
            )
        }
        Verdict::NotEnoughData { .. } => {
            format!("{name} shows no clear difference ({times}){mark}")
        }
    })
}

/// Where more connections stop helping, of a curve by the name that it is known by; `None` where it
/// has no knee.
pub(crate) fn knee_sentence(curve: &Curve, name: &str) -> Option<String> {
    let knee = curve.knee.as_ref()?;
    let best = names::connections(knee.best_connections);
    let subject =
        if name.is_empty() { "Throughput".to_owned() } else { format!("With {name}, throughput") };
    let tps = format::tps(knee.best_tps);
    let fewer = if knee.connections < knee.best_connections {
        let share = format::percent(knee.ratio_to_best.value);
        let reach = if knee.connections == 1 { "reaches" } else { "reach" };
        format!(", and {} already {reach} {share} of that", names::connections(knee.connections))
    } else {
        String::new()
    };
    let mark = generator::limited_note(knee.generator_limited);
    Some(format!("{subject} is highest at {best} ({tps} tps){fewer}{}{mark}.", beyond(knee)))
}

fn beyond(knee: &Knee) -> String {
    if knee.best_is_last {
        return "; these are the most connections tried, and it may rise further".to_owned();
    }
    match &knee.last_ratio {
        Some(last) => {
            let word = if last.high.is_some_and(|high| high < 1.0) { "falls to" } else { "is" };
            let about = format::percent(last.value);
            let interval = last.low.zip(last.high);
            let interval = interval
                .map(|(low, high)| {
                    format!(" (interval {} to {})", format::percent(low), format::percent(high))
                })
                .unwrap_or_default();
            format!("; at the most connections tried it {word} about {about} of the peak{interval}")
        }
        None => String::new(),
    }
}

fn rule(analysis: &Analysis) -> Option<String> {
    let knees = analysis.curves.iter().filter_map(|curve| curve.knee.as_ref());
    let found: Vec<_> = knees.map(|knee| format::count(knee.connections.into())).collect();
    if found.is_empty() || analysis.curves.len() > CURVES_SHOWN_MAX {
        return None;
    }
    Some(format!(
        "The rule of thumb \"cores × 2 + spindles\" gives {} on this host; measured: {}.",
        names::connections(analysis.rule_connections?),
        format::list(&found)
    ))
}

/// The rule's number, for one line.
pub(crate) fn rule_short(analysis: &Analysis) -> Option<String> {
    Some(format!(
        "\"cores × 2 + spindles\" gives {}",
        format::count(analysis.rule_connections?.into())
    ))
}

/// What the A/A pairs differ by, and which differences get a verdict. `None` where neither is
/// known.
pub(crate) fn noise_sentence(analysis: &Analysis) -> Option<String> {
    let twins = analysis.twins.as_ref().map(twins_sentence);
    let shows = factors(analysis).filter(|_| !analysis.contrasts.is_empty());
    let shows = shows.map(|factors| format!("a verdict needs a factor of about {factors}"));
    format::joined(twins.into_iter().chain(shows), "; ")
}

/// The smallest detectable effects of the quietest and of the noisiest load, as factors in either
/// direction.
fn factors(analysis: &Analysis) -> Option<String> {
    let mut noise: Vec<_> = analysis.noise.iter().collect();
    // The first of those that are equally quiet, and the last of those that are equally noisy.
    noise.sort_by(|one, other| {
        one.smallest_detectable_effect.total_cmp(&other.smallest_detectable_effect)
    });
    let ends = [*noise.first()?, *noise.last()?];
    let [least, most] = ends.map(|one| format!("{:.2}", 1.0 + one.smallest_detectable_effect));
    let [quietest, noisiest] = ends.map(|one| &one.load);
    Some(match noise.len() {
        1 => least,
        _ => format!("{least} ({quietest}) to {most} ({noisiest})"),
    })
}

/// What the A/A pairs differ by.
pub(crate) fn twins_sentence(twins: &Twins) -> String {
    let limited = twins.pairs.iter().any(|pair| pair.generator_limited);
    let mark = if limited { format!(", {LIMITED}") } else { String::new() };
    let pairs = format::plural(twins.pairs.len() as u64, "pair");
    let differed = match twins.ratio.low {
        Some(_) => format::difference_estimate(&twins.ratio),
        None => format::difference(twins.ratio.value),
    };
    format!("identical runs differed by {differed} ({pairs}{mark})")
}

/// A remark about hosts whose flushes are too cheap to show the setting's cost elsewhere.
pub(crate) fn cheap_flush(input: &ReportInput<'_>) -> Option<String> {
    let flush =
        input.run.experiment.host.flush.filter(|_| input.run.experiment.disks.is_empty())?;
    if flush.us_p50 >= CHEAP_FLUSH_US || !input.run.plan.factors.contains_key(risk::FLUSH) {
        return None;
    }
    Some(format!(
        "A flush takes {} here (median): on a disk that needs 10 ms or more for one, {}=1 falls to \
         some tens of tps at one connection; this host cannot show that.",
        format::duration_us(flush.us_p50),
        risk::FLUSH
    ))
}

pub(crate) fn undecided(analysis: &Analysis) -> Option<String> {
    let open = analysis.contrasts.iter().filter_map(|contrast| match contrast.verdict {
        Verdict::NotEnoughData { more_blocks } => Some(more_blocks),
        _ => None,
    });
    let open: Vec<_> = open.collect();
    if open.is_empty() {
        return None;
    }
    let (text, them) = match analysis.contrasts.len() {
        1 => ("The comparison is undecided".to_owned(), "it"),
        all => (format!("{} of {all} comparisons are undecided", open.len()), "them all"),
    };
    let most = open.iter().flatten().max();
    Some(match most {
        Some(most) if open.iter().all(Option::is_some) => {
            format!("{text}; {} would decide {them}.", format::more_blocks(*most))
        }
        _ => format!("{text}."),
    })
}

pub(crate) fn incomplete(analysis: &Analysis) -> Option<String> {
    let without = analysis.cells.iter().filter(|cell| cell.tps.is_none()).count();
    let n = format::plural(analysis.cells.len() as u64, "configuration");
    (without > 0)
        .then(|| format!("{without} of {n} have no valid trial: the experiment is not complete."))
}

fn alarm(analysis: &Analysis) -> Option<String> {
    let twins = analysis.twins.as_ref().filter(|twins| twins.alarm)?;
    Some(format!(
        "A/A alarm: the same configuration differed from itself by {}; something other than the \
         settings changes the figures here, so small differences are not evidence.",
        format::difference_estimate(&twins.ratio)
    ))
}

pub(crate) fn memory_disk(input: &ReportInput<'_>) -> Option<String> {
    let file_system = durability::datadir_file_system(&input.run.experiment);
    let file_system = file_system.filter(|name| ["tmpfs", "ramfs"].contains(name))?;
    Some(format!(
        "The datadir is in memory ({file_system}): a flush costs nothing there, so the cost of \
         durability settings cannot be measured."
    ))
}

#[cfg(test)]
mod tests {
    use truetps_record::SettingValue;

    use super::*;
    use crate::ReportAnswer;
    use crate::fixture::Fixture;

    fn check(sentences: &[String], expect: &str) {
        assert!(
            sentences.iter().any(|one| one.contains(expect)),
            "{sentences:#?}\nshould contain\n{expect}"
        );
    }

    fn check_absent(sentences: &[String], part: &str) {
        assert!(
            !sentences.iter().any(|one| one.contains(part)),
            "{sentences:#?}\nshould not contain\n{part}"
        );
    }

    #[test]
    fn cost_knee_and_rule() {
        let fixture = Fixture::durability();
        let said = meaning(&fixture.input());
        check(
            &said,
            "Against innodb_flush_log_at_trx_commit=1 at 50 connections, where it is fastest: =2 \
            takes ×2.26 [2.16, 2.37] as many transactions a second; =0 takes ×2.28 [2.17, 2.39] as \
            many transactions a second.",
        );
        check(
            &said,
            "With =1, throughput is highest at 50 connections (2 652 tps); these are the most \
            connections tried, and it may rise further.",
        );
        check(
            &said,
            "With =2, throughput is highest at 8 connections (9 029 tps); at the most connections \
            tried it falls to about 66 % of the peak (interval 62 % to 71 %).",
        );
        check(&said, "gives 5 connections on this host; measured: 50, 8 and 8.");
        check_absent(&said, "undecided");
    }

    #[test]
    fn fewer_connections_that_reach_the_best_are_named() {
        let fixture = Fixture::connections_only()
            .with(|trials| trials[0].measured.as_mut().unwrap().tps = 800.0);
        check(
            &meaning(&fixture.input()),
            "(819.5 tps), and 1 connection already reaches 98 % of that;",
        );
    }

    #[test]
    fn cheap_flushes_are_reported_and_dear_ones_are_not() {
        let mut fixture = Fixture::durability();
        check(
            &meaning(&fixture.input()),
            "A flush takes 310 µs here (median): on a disk that needs 10 ms or more",
        );
        fixture.run.experiment.host.flush.as_mut().unwrap().us_p50 = 12_000.0;
        check_absent(&meaning(&fixture.input()), "A flush takes");
        check_absent(&meaning(&Fixture::connections_only().input()), "A flush takes");
    }

    #[test]
    fn what_a_level_brings_along_is_reported() {
        let mut fixture = Fixture::durability();
        let coupling = |level, value: &str| Coupling {
            server: None,
            factor: "innodb_flush_log_at_trx_commit".to_owned(),
            level: SettingValue::Int(level),
            name: "innodb_log_file_buffering".to_owned(),
            value: value.to_owned(),
            otherwise: "OFF".to_owned(),
        };
        fixture.run.experiment.couplings = vec![coupling(1, "OFF"), coupling(2, "ON")];
        let said = meaning(&fixture.input());
        check(
            &said,
            "starts with innodb_flush_log_at_trx_commit=2 also has innodb_log_file_buffering=ON \
             (otherwise OFF)",
        );
        check_absent(&said, "starts with innodb_flush_log_at_trx_commit=1");
    }

    #[test]
    fn open_comparisons_are_counted() {
        let fixture = Fixture::durability().with(|trials| trials.retain(|trial| trial.block == 0));
        check(&meaning(&fixture.input()), "6 of 6 comparisons are undecided.");
        check(&meaning(&fixture.input()), "=2 shows no clear difference (×2.22 (1 block))");
    }

    #[test]
    fn one_comparison_is_not_counted() {
        let fixture = Fixture::of_plan(
            "name = \"b\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[design]\nblocks = \
             1\naa_pair = false\n\
             [factors]\nsync_binlog = [1, 0]\nconnections = [1]\n",
        );
        check(&meaning(&fixture.input()), "The comparison is undecided");
        let text = fixture.input().text(crate::TextScreen::PLAIN);
        assert!(
            text.contains("the difference passes a t\ntest, and")
                && !text.contains("all 1 comparisons"),
            "{text}"
        );
    }

    #[test]
    fn caveats_say_what_limits_the_figures() {
        let mut fixture = Fixture::durability();
        let said = caveats(&fixture.input());
        assert_eq!(said.len(), 1, "{said:#?}");
        check(&said, "Generator and server share the 2 cores of this host");
        fixture.run.experiment.host.file_system = Some("tmpfs".to_owned());
        fixture.run.experiment.quick = true;
        check(&caveats(&fixture.input()), "The datadir is in memory (tmpfs)");
        check(&caveats(&fixture.input()), "This was a quick run");
        check(&caveats(&Fixture::troubled().input()), "more than 90 % of the time");
        let empty = Fixture::durability().with(Vec::clear);
        check(&caveats(&empty.input()), "9 of 9 configurations have no valid trial");
    }

    #[test]
    fn an_alarm_of_the_twins_is_reported() {
        let fixture = Fixture::durability().with(|trials| {
            for trial in
                trials.iter_mut().filter(|trial| trial.role == truetps_record::TrialRole::AaTwin)
            {
                trial.measured.as_mut().unwrap().tps *= 2.0;
            }
        });
        check(
            &caveats(&fixture.input()),
            "A/A alarm: the same configuration differed from itself by +101 %",
        );
    }
}
