//! The sentences of an answer on crashes.

use truetps_analysis::{
    CrashAnalysis, CrashPrice, CrashSummary, CrashVerdict, CrashedCell, NotProven, Verdict,
};
use truetps_record::{Configuration, CrashRole, CrashRun};

use crate::format;

/// Prices that are listed one by one; more are counted.
const PRICES_LISTED_MAX: usize = 3;
/// What failed, and the first line of the server's log.
const WHY_LINES: usize = 2;

/// The answer, the most important first.
pub(crate) fn verdicts(run: &CrashRun, analysis: &CrashAnalysis) -> Vec<String> {
    let mut said: Vec<_> = analysis
        .not_proven
        .iter()
        .map(|why| format!("NOT PROVEN: {}", not_proven_text(*why)))
        .collect();
    let of_plan = summaries_of_plan(analysis);
    let broke = of_plan.iter().filter(|(_, one)| one.verdict == CrashVerdict::BrokePromise);
    said.extend(broke.map(|(cell, one)| broken_promise(cell, one)));
    if of_plan.is_empty() {
        said.push("no configuration of the plan was crashed".to_owned());
    } else if said.is_empty() {
        said.extend(losses(&of_plan));
    }
    said.extend(prices(analysis));
    said.extend(left_out(run));
    said
}

fn summaries_of_plan(analysis: &CrashAnalysis) -> Vec<(&CrashedCell, &CrashSummary)> {
    let cells = analysis.cells.iter().filter(|cell| cell.role == CrashRole::Cell);
    cells.flat_map(|cell| cell.kinds.iter().map(move |one| (cell, one))).collect()
}

fn broken_promise(cell: &CrashedCell, one: &CrashSummary) -> String {
    let CrashSummary { kind, crashes, crashes_with_loss, lost_max, broken, .. } = one;
    let rows = format::plural(*lost_max, "row");
    let lost = (*lost_max > 0).then(|| format!("lost up to {rows} in {crashes_with_loss}"));
    let broke = (*broken > 0).then(|| format!("broke the table in {broken}"));
    let found: Vec<_> = lost.into_iter().chain(broke).collect();
    let label = cell.configuration.settings_label();
    format!(
        "{label} promises to keep all, and {} of {crashes} crashes ({kind})",
        found.join(" and ")
    )
}

/// What was lost, and where too few crashes lost nothing to say so.
fn losses(of_plan: &[(&CrashedCell, &CrashSummary)]) -> Vec<String> {
    let has_lost = of_plan.iter().any(|(_, one)| one.lost_max > 0);
    let few: Vec<_> =
        of_plan.iter().map(|(_, one)| *one).filter(|one| !one.states_something()).collect();
    let mut said = Vec::new();
    if has_lost {
        said.push("losses only where the settings allow them".to_owned());
    } else if few.is_empty() {
        let widest = of_plan.iter().map(|(_, one)| one.loss_share_max).fold(0.0, f64::max);
        said.push(format!(
            "nothing was lost: at most {} of crashes of a kind lose something (95 %)",
            format::percent(widest)
        ));
    }
    said.extend(no_statement(&few));
    said
}

fn no_statement(few: &[&CrashSummary]) -> Option<String> {
    let widest = few.iter().max_by(|a, b| a.loss_share_max.total_cmp(&b.loss_share_max))?;
    Some(format!(
        "no statement where nothing was lost in {}: up to {} of them may lose something (95 %); it \
         takes {} crashes of each kind",
        crashes(widest.crashes),
        format::percent(widest.loss_share_max),
        CrashSummary::crashes_to_state()
    ))
}

fn crashes(n: usize) -> String {
    if n == 1 { "1 crash".to_owned() } else { format!("{} crashes", format::count(n as u64)) }
}

/// What the settings cost or gain.
fn prices(analysis: &CrashAnalysis) -> Option<String> {
    let priced: Vec<_> =
        analysis.cells.iter().filter_map(|cell| Some((cell, cell.price.as_ref()?))).collect();
    let safest = analysis.safest.as_ref().filter(|_| !priced.is_empty())?;
    let texts: Vec<_> = if priced.len() <= PRICES_LISTED_MAX {
        priced.iter().map(|(cell, price)| price_text(cell, price, safest)).collect()
    } else {
        counted_prices(&priced)
    };
    Some(format!("throughput against {}: {}", safest.settings_label(), texts.join("; ")))
}

fn price_text(cell: &CrashedCell, price: &CrashPrice, safest: &Configuration) -> String {
    let ratio = format::ratio_estimate_of(&price.tps_ratio, "pair");
    let label = differing_label(&cell.configuration, safest);
    format!("{label} {ratio}, {}", format::verdict(price.verdict))
}

/// The levels that another configuration does not have.
fn differing_label(configuration: &Configuration, from: &Configuration) -> String {
    let differing: Vec<_> = configuration
        .conditions()
        .filter(|(name, level)| from.levels.get(*name) != Some(level))
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    differing.join(" ")
}

/// How many have which verdict, with their smallest and largest ratio.
fn counted_prices(priced: &[(&CrashedCell, &CrashPrice)]) -> Vec<String> {
    let words = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent]
        .map(format::verdict_word)
        .into_iter()
        .chain([format::verdict_word(Verdict::NotEnoughData { more_blocks: None })]);
    let counted = words.filter_map(|word| {
        let of_word = priced.iter().filter(|(_, one)| format::verdict_word(one.verdict) == word);
        let ratios: Vec<_> = of_word.map(|(_, one)| one.tps_ratio).collect();
        Some(format!("{} {word} ({})", ratios.len(), format::ratio_range(&ratios)?))
    });
    counted.collect()
}

/// Configurations that were not crashed to the end.
fn left_out(run: &CrashRun) -> Vec<String> {
    let each = run.configurations.iter().filter_map(|one| {
        // The rest of a server's log is in the record.
        let why: Vec<_> = one.left_out.as_deref()?.lines().take(WHY_LINES).collect();
        let why = why.join(" ");
        let role = if one.role == CrashRole::Cell { "" } else { "control " };
        let label = one.configuration.settings_label();
        Some(format!("{role}{label}: its remaining crashes were left out: {why}"))
    });
    each.collect()
}

/// The control and the configuration of the plan with its settings, as a check of the figures.
pub(crate) fn twins(analysis: &CrashAnalysis) -> Vec<String> {
    let each = analysis.twins.iter().map(|twins| {
        let alarm = if twins.alarm { "A/A alarm, small differences are no evidence: " } else { "" };
        format!(
            "{alarm}the control with the settings of {} differed from it by {} ({})",
            twins.configuration.settings_label(),
            format::difference_estimate(&twins.tps_ratio),
            format::plural(twins.tps_ratio.n as u64, "pair")
        )
    });
    each.collect()
}

fn not_proven_text(why: NotProven) -> String {
    match why {
        NotProven::NoControlThatKeeps { kind } => {
            format!("{kind}: settings that keep all were not crashed")
        }
        NotProven::ControlLost { kind } => {
            format!("{kind}: settings that keep all lost or broke something")
        }
        NotProven::NoControlThatLoses { kind } => {
            format!("{kind}: settings that must lose something were not crashed")
        }
        NotProven::ControlKept { kind } => {
            format!("{kind}: settings that must lose something lost nothing")
        }
        NotProven::Holes { kind } => {
            format!("{kind}: rows acknowledged after a lost one are there")
        }
    }
}
