//! The tables of an explanation.

use truetps_archive::ExplainedRun;
use truetps_causes::{Cause, LogInterval, Mixture};
use truetps_record::LeftOut;

use super::factors::{factor_name, level_text, part_text, ratio_of, ratio_text, with_names};
use super::words;
use crate::document::{DocumentTable, TableEntry, TableForest, Tone};
use crate::format;

pub(crate) fn causes_table(run: &ExplainedRun) -> DocumentTable {
    let header = ["A", "B", "alone", "last", "share", "of it", "role", "cause"];
    let causes = &run.findings.causes;
    let table = DocumentTable::new(header, causes.iter().map(|cause| cause_row(run, cause)));
    with_forest(table, run, causes.iter().map(|cause| Some(cause.share)))
}

fn cause_row(run: &ExplainedRun, cause: &Cause) -> Vec<TableEntry> {
    let factor = &run.explanation.factors[cause.factor];
    let [alone, last] = [cause.alone, cause.last].map(|interval| {
        format::or_nothing(interval, |interval| format::ratio(interval.value.exp()))
    });
    let part = format::or_nothing(cause.part, |part| part_text(&part));
    let texts = [
        level_text(factor, true),
        level_text(factor, false),
        alone,
        last,
        ratio_text(&cause.share),
        part,
        words::role(cause.role).to_owned(),
        factor_name(run, cause.factor),
    ];
    texts.into_iter().map(TableEntry::from).collect()
}

/// Adds a picture of each ratio.
fn with_forest(
    table: DocumentTable,
    run: &ExplainedRun,
    ratios: impl Iterator<Item = Option<LogInterval>>,
) -> DocumentTable {
    let ratios = ratios.map(|ratio| ratio.as_ref().map(ratio_of)).collect();
    DocumentTable {
        forest: Some(TableForest { ratios, smallest_effect: run.findings.smallest.exp_m1() }),
        ..table
    }
}

pub(super) fn others_table(run: &ExplainedRun) -> DocumentTable {
    let others = &run.findings.others;
    let rows = others.iter().map(|one| {
        let factor = &run.explanation.factors[one.factor];
        let effect = format::or_nothing(one.effect, |effect| ratio_text(&effect));
        let under = one.effect.map_or(format::NOTHING.to_owned(), |effect| {
            let is_low = effect.low.abs() > effect.high.abs();
            format::difference(if is_low { effect.low } else { effect.high }.exp())
        });
        [
            level_text(factor, true),
            level_text(factor, false),
            effect,
            under,
            factor_name(run, one.factor),
        ]
    });
    let table = DocumentTable::new(["A", "B", "effect", "at most", "factor"], rows);
    with_forest(table, run, others.iter().map(|one| one.effect))
}

pub(super) fn closures_table(run: &ExplainedRun) -> DocumentTable {
    let closures = &run.findings.closures;
    let closures = [
        (closures.sufficiency, "A with all causes, against B"),
        (closures.exclusivity, "B without any cause, against A"),
    ];
    let known: Vec<_> =
        closures.into_iter().filter_map(|(ratio, what)| Some((ratio?, what))).collect();
    let rows = known.iter().map(|(ratio, what)| {
        let tone = if ratio.is_decided() { Tone::Unsure } else { Tone::Good };
        [TableEntry::new(ratio_text(ratio), tone), (*what).into()]
    });
    let table = DocumentTable::new(["ratio", "what"], rows);
    with_forest(table, run, known.iter().map(|(ratio, _)| Some(*ratio)))
}

pub(super) fn left_out_table(left_out: &[LeftOut]) -> DocumentTable {
    let groups = crate::grouped(left_out.iter().map(|one| (one.reason.clone(), one.name.clone())));
    let rows = groups.into_iter().map(|(reason, names)| {
        [names.len().to_string(), format!("{reason}: {}", names.join(", "))]
    });
    DocumentTable::new(["settings", "why"], rows)
}

pub(super) fn trials_table(run: &ExplainedRun) -> DocumentTable {
    let factors = &run.explanation.factors;
    let b = Mixture::b(factors.len());
    let rows = run.trials.iter().map(|(mixture, loaded)| {
        let with = with_names(factors, *mixture);
        let what = match *mixture {
            Mixture::A => "A".to_owned(),
            whole if whole == b => "B".to_owned(),
            _ if with.len() * 2 > factors.len() => {
                let without: Vec<_> = (0..factors.len())
                    .filter(|index| !mixture.has(*index))
                    .map(|index| factors[index].name.clone())
                    .collect();
                format!("B without {}", without.join(", "))
            }
            _ => format!("A with {}", with.join(", ")),
        };
        let tps = format::or_nothing(loaded.trial.log_tps(), |log| format::tps(log.exp()));
        let problem =
            loaded.trial.validity.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
        [loaded.trial.name.clone(), tps, format!("{what}{problem}")]
    });
    DocumentTable::new(["trial", "tps", "mixture"], rows)
}
