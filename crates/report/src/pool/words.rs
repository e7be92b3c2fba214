//! The words of an answer about a pool.

use truetps_archive::PoolRun;
use truetps_pool::{
    Carrying, CurvePoint, PoolAgainst, PoolComparison, PoolOutcome, PoolParameters, ROOM,
    RateAnswer, SHARE_OF_BEST,
};
use truetps_record::{Estimate, Family, SqlDialect};

use crate::disturbances::disturbed;
use crate::{durability_of, external, format, names};

/// Ratios that are known within this factor are good, or fair.
const GOOD_FACTOR: f64 = 1.1;
const FAIR_FACTOR: f64 = 1.3;
/// So many times the advice may be needed where it is good, or fair.
const GOOD_MORE: f64 = 1.5;
const FAIR_MORE: f64 = 3.0;

/// Sentences, the most important first: what was asked, then the rest.
pub(crate) fn answer(run: &PoolRun) -> Vec<String> {
    let findings = &run.findings;
    match findings.outcome {
        PoolOutcome::NoResult => return vec!["No trial gave a result.".to_owned()],
        PoolOutcome::NothingMeetsLimit => return vec![nothing_meets_limit(run)],
        PoolOutcome::Advised | PoolOutcome::Unfinished => {}
    }
    let Some(point) = findings.advice.and_then(|advice| findings.point(advice)) else {
        return vec!["Not enough was measured for an advice.".to_owned()];
    };
    let so_far =
        if findings.outcome == PoolOutcome::Advised { "" } else { "So far, without a check: " };
    let Some(rate) = &run.rate else {
        let start = if so_far.is_empty() { "Use " } else { so_far };
        // The current number was asked about: its sentence is no part that may be left out.
        let advised = Some(start.to_owned() + &most_throughput(run, point));
        let said = [advised, near_limit(run, point), current(run, point)];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(" ");
        return std::iter::once(said).chain(growing(run)).collect();
    };
    let most = format!("For the most throughput: {}", most_throughput(run, point));
    let said = [Some(so_far.to_owned() + &rate_answer(run, rate)), Some(most)];
    said.into_iter().chain([near_limit(run, point), growing(run)]).flatten().collect()
}

/// The advice, and what it is worth.
fn most_throughput(run: &PoolRun, point: &CurvePoint) -> String {
    let findings = &run.findings;
    let limit = run
        .pool
        .p99_limit_us
        .map(|limit| format!(" within a p99 of {}", format::duration_us(limit)));
    // The best number may be the advice, and the largest: then fewer show what it is worth.
    let larger =
        findings.against(PoolAgainst::Best).filter(|best| best.connections > point.connections);
    let other = larger.or_else(|| findings.against(PoolAgainst::Smaller));
    let other = other.map(|other| {
        format!("; {} give {}", names::connections(other.connections), part_of_advice(other))
    });
    format!(
        "{}{}: {}{}.",
        names::connections(point.connections),
        limit.unwrap_or_default(),
        figures(point),
        other.unwrap_or_default(),
    )
}

fn figures(point: &CurvePoint) -> String {
    let p99 = point
        .response_us_p99
        .map(|p99| format!(" at a p99 of {}", format::duration_us(p99)))
        .unwrap_or_default();
    format!("{} tps{p99}", format::tps(point.tps))
}

/// `20.0 ms [18.0 ms, 22.0 ms]`
pub(crate) fn p99_range(point: &CurvePoint) -> Option<String> {
    let [p99, low, high] =
        [point.response_us_p99, point.response_us_p99_low, point.response_us_p99_high]
            .map(|us| us.map(format::duration_us));
    Some(match low.zip(high) {
        Some((low, high)) => format!("{} [{low}, {high}]", p99?),
        None => p99?,
    })
}

/// What the limit leaves open: the advice may be over it, and a larger number within it.
fn near_limit(run: &PoolRun, advice: &CurvePoint) -> Option<String> {
    let own = advice.is_near_limit.then(|| p99_range(advice)).flatten();
    let own = own.map(|range| format!("That is near the limit: the p99 is {range}."));
    let larger = run.findings.near_limit.and_then(|number| run.findings.point(number));
    let larger = larger.and_then(|point| {
        Some(format!(
            "{} give {} tps near the limit: their p99 is {}.",
            names::connections(point.connections),
            format::tps(point.tps),
            p99_range(point)?
        ))
    });
    format::joined(own.into_iter().chain(larger), " ")
}

fn growing(run: &PoolRun) -> Option<String> {
    let largest = names::connections(run.findings.curve.last()?.connections);
    let text = format!(
        "Throughput still grows at {largest}, the most that were tried: more may give more."
    );
    run.findings.is_growing.then_some(text)
}

/// Whether the number that was asked about carries the rate, and which is the smallest that does.
fn rate_answer(run: &PoolRun, answer: &RateAnswer) -> String {
    let rate = format!("{} a second", format::rate(answer.rate));
    let [smallest, current] = [answer.smallest, run.pool.current]
        .map(|number| number.and_then(|number| run.findings.point(number)));
    let of_smallest = match smallest {
        Some(point) => {
            format!("{} carry it ({})", names::connections(point.connections), figures(point))
        }
        None => "no number that was tried carries it with room".to_owned(),
    };
    let Some((current, carrying)) = current.zip(answer.current) else {
        let sign = if smallest.is_some() { ':' } else { ',' };
        return format!("For {rate}{sign} {of_smallest}.");
    };
    let number = names::connections(current.connections);
    let verb = if current.connections == 1 { "carries" } else { "carry" };
    match carrying {
        Carrying::Carries => {
            let fewer = smallest.filter(|point| point.connections < current.connections);
            let fewer = fewer
                .map(|point| format!("; {} would, too", format::count(point.connections.into())));
            format!(
                "Yes: {number} {verb} {rate} ({}){}.",
                figures(current),
                fewer.unwrap_or_default()
            )
        }
        Carrying::Barely => format!(
            "Barely: {number} reach {rate} without room ({}); {of_smallest}.",
            figures(current)
        ),
        Carrying::TooFew => {
            format!("No: {number} do not reach {rate} ({}); {of_smallest}.", figures(current))
        }
        Carrying::TooSlow => format!(
            "No: with {number} p99 is over the limit at full load ({}), and {rate} are wanted; \
             {of_smallest}.",
            figures(current)
        ),
    }
}

/// The inverse of a ratio, of the other number to the advice: `×1.02 [0.99 to 1.06] of it`.
fn part_of_advice(comparison: &PoolComparison) -> String {
    let inverse = Estimate {
        value: 1.0 / comparison.ratio,
        low: comparison.ratio_high.map(|high| 1.0 / high),
        high: comparison.ratio_low.map(|low| 1.0 / low),
        n: comparison.pairs as usize,
    };
    format!("{} of that", format::ratio_estimate_of(&inverse, "pair"))
}

fn current(run: &PoolRun, advice: &CurvePoint) -> Option<String> {
    let current = run.findings.point(run.pool.current?)?;
    if current.connections == advice.connections {
        return Some(format!(
            "The current {} are the advice.",
            names::connections(current.connections)
        ));
    }
    let against = run.findings.against(PoolAgainst::Current)?;
    let ratio = Estimate {
        value: against.ratio,
        low: against.ratio_low,
        high: against.ratio_high,
        n: against.pairs as usize,
    };
    Some(format!(
        "Against the current {} ({} tps, p99 {}) it gives {}: {}.",
        format::count(current.connections.into()),
        format::tps(current.tps),
        format::or_nothing(current.response_us_p99, format::duration_us),
        format::ratio_estimate_of(&ratio, "pair"),
        verdict(&ratio)
    ))
}

/// In words that the interval supports.
fn verdict(ratio: &Estimate) -> &'static str {
    match (ratio.low, ratio.high) {
        (Some(low), _) if low > 1.0 => "more",
        (_, Some(high)) if high < 1.0 => "less",
        (Some(low), Some(high)) if low >= SHARE_OF_BEST && high <= 1.0 / SHARE_OF_BEST => {
            "the same within 5 %"
        }
        _ => "not decided, more trials or a quieter machine would tell",
    }
}

fn nothing_meets_limit(run: &PoolRun) -> String {
    let limit = format::duration_us(run.pool.p99_limit_us.unwrap_or_default());
    let with_p99 =
        run.findings.curve.iter().filter_map(|point| Some((point, point.response_us_p99?)));
    let least = with_p99.min_by(|a, b| a.1.total_cmp(&b.1));
    let exists = least.map(|(point, p99)| {
        let connections = names::connections(point.connections);
        format!(
            ": the shortest is {}, with {connections} and {} tps",
            p99_range(point).unwrap_or_else(|| format::duration_us(p99)),
            format::tps(point.tps)
        )
    });
    format!("No number of connections has a p99 of {limit}{}.", exists.unwrap_or_default())
}

/// What a rate needs: at least by Little's law, and as measured.
pub(crate) fn rate_text(run: &PoolRun) -> Option<String> {
    let rate = run.pool.rate?;
    let per_second = format!("{} a second", format::rate(rate));
    let alone_us = run.findings.curve.first().and_then(|point| point.response_us_mean)?;
    let least = (rate * alone_us / 1e6).ceil().max(1.0);
    let law = format!(
        "{per_second} × {} of one connection alone: at least {} in use (Little's law)",
        format::duration_us(alone_us),
        names::connections(least as u32),
    );
    let most = run.findings.curve.iter().map(|point| point.tps).fold(0.0, f64::max);
    let smallest =
        run.rate.and_then(|answer| answer.smallest).and_then(|number| run.findings.point(number));
    Some(match smallest {
        Some(point) => {
            format!(
                "{law}; {} tps measured with {}",
                format::tps(point.tps),
                names::connections(point.connections)
            )
        }
        None => format!(
            "{law}; no number of connections carries that rate within the limits and with room \
             (×{ROOM}): the most is {} tps",
            format::tps(most)
        ),
    })
}

/// How far the rule of thumb is off.
pub(crate) fn rule_text(run: &PoolRun) -> Option<String> {
    let rule = run.pool.rule?;
    let rule_of_thumb =
        format!("\"cores × 2 + spindles\" gives {}", format::count(rule.connections.into()));
    let (point, advice) = (run.findings.point(rule.connections)?, run.findings.advice?);
    let advised = run.findings.point(advice)?;
    let share = format::ratio(point.tps / advised.tps);
    Some(if rule.connections == advice {
        format!("{rule_of_thumb}, which is the advice")
    } else {
        let [tps, of_advice] = [point, advised].map(|point| format::tps(point.tps));
        format!(
            "{rule_of_thumb}, in place of {}: {tps} tps, {share} of the {of_advice} tps",
            format::count(advice.into())
        )
    })
}

/// The law is a description of the measured range, and says nothing beyond it.
pub(crate) fn usl_text(run: &PoolRun) -> Option<String> {
    let usl = run.findings.usl?;
    let (first, last) = (run.findings.curve.first()?, run.findings.curve.last()?);
    Some(format!(
        "Universal Scalability Law from {} to {}: {} tps of one connection, contention σ = {:.4}, \
         coherency κ = {:.2e}; the farthest point is {} off",
        first.connections,
        last.connections,
        format::tps(usl.lambda),
        usl.sigma,
        usl.kappa,
        format::percent(usl.worst - 1.0),
    ))
}

/// Where a larger share of the trials has no result, the advice is of those that happened to have
/// one.
const FAILED_MAX: f64 = 0.1;

pub(crate) fn trust(run: &PoolRun) -> Vec<String> {
    let mut said = Vec::new();
    if run.is_foreign {
        said.push(
            "the recorded trials are not those that the seed leads to: only the first part of them \
             counts".to_owned(),
        );
    }
    let limited = run
        .trials
        .iter()
        .filter_map(|one| one.trial.measured.as_ref()?.generator_limited.as_ref())
        .count();
    if limited > 0 {
        said.push(format!(
            "the load generator limited {}: the server may do more",
            format::trials(limited)
        ));
    }
    said.extend(external::platform_notes(&run.trials));
    let found = disturbed(run.trials.iter().map(|one| &one.trial));
    let is_disturbed = found.iter().any(|one| one.is_grave);
    said.extend(found.into_iter().map(|one| one.text));
    let reasons: Vec<_> = run.trials.iter().filter_map(|one| one.trial.validity.reason()).collect();
    if let Some(first) = reasons.first() {
        let all = format::trials(run.trials.len());
        said.push(format!("{} of {all} gave no result; the first: {first}", reasons.len()));
    }
    let grade = match precision(run) {
        // A number of connections whose trials fail is no candidate, however many it could serve.
        _ if reasons.len() as f64 > FAILED_MAX * run.trials.len() as f64 => "low",
        Precision::Good if !is_disturbed => "good",
        Precision::Good | Precision::Fair => "fair",
        Precision::Low => "low",
    };
    let known: Vec<_> = noise(run).into_iter().chain([needed(run), ratios(run)]).collect();
    said.insert(0, format!("{grade}: {}", known.join("; ")));
    said
}

/// How well the answer is known.
enum Precision {
    Good,
    Fair,
    Low,
}

/// By the ratios, and by how many more connections may be needed than are advised.
fn precision(run: &PoolRun) -> Precision {
    let findings = &run.findings;
    let more = findings.enough.zip(findings.advice);
    let more = more.map_or(f64::INFINITY, |(enough, advice)| f64::from(enough) / f64::from(advice));
    match widest_ratio(run) {
        Some(ratio) if ratio < GOOD_FACTOR && more <= GOOD_MORE => Precision::Good,
        Some(ratio) if ratio < FAIR_FACTOR && more <= FAIR_MORE => Precision::Fair,
        _ => Precision::Low,
    }
}

/// The factor within which the ratios are known; `None` where the advice was not checked.
fn widest_ratio(run: &PoolRun) -> Option<f64> {
    let comparisons = run.findings.comparisons.iter();
    let factors =
        comparisons.map(|one| one.ratio_high.map_or(f64::INFINITY, |high| high / one.ratio));
    factors.reduce(f64::max).filter(|_| run.findings.outcome == PoolOutcome::Advised)
}

fn ratios(run: &PoolRun) -> String {
    match widest_ratio(run) {
        None => "there was no check".to_owned(),
        Some(widest) if widest.is_infinite() => "the ratios have no interval".to_owned(),
        Some(widest) => format!("the ratios are known within {}", format::ratio(widest)),
    }
}

/// Which numbers surely lack, and surely have, the share of the best that is asked for.
fn needed(run: &PoolRun) -> String {
    let share = format::percent(SHARE_OF_BEST);
    match (run.findings.too_few, run.findings.enough) {
        (None, None) => format!("it is open which numbers have {share} of the best"),
        (Some(few), None) => {
            format!("{} are too few, and it is open how many are enough", number(few))
        }
        (None, Some(enough)) => format!("{} are enough", number(enough)),
        (Some(few), Some(enough)) => {
            format!("{} are too few and {} enough", number(few), number(enough))
        }
    }
}

fn number(connections: u32) -> String {
    format::count(connections.into())
}

/// How much trials differ.
fn noise(run: &PoolRun) -> Option<String> {
    let scatter = format::scatter(run.findings.trial_sd?);
    let far_off = match run.findings.far_off {
        0 => String::new(),
        n => format!(", {} far off hardly count", format::trials(n as usize)),
    };
    Some(format!("one trial varies by {scatter}{far_off}"))
}

/// What the commits that were measured survive.
pub(crate) fn durability_text(run: &PoolRun) -> Option<String> {
    durability_of(&run.experiment, &run.trials).map(|durability| durability.sentence)
}

/// What a row of the curve is.
pub(crate) fn remark(run: &PoolRun, point: &CurvePoint) -> String {
    let number = Some(point.connections);
    let marks = [
        (run.findings.advice == number, "advice"),
        (run.findings.best == number && run.findings.advice != number, "best"),
        (run.pool.current == number, "current"),
        (run.rate.is_some_and(|rate| rate.smallest == number), "carries the rate"),
        (run.pool.rule.map(|rule| rule.connections) == number, "rule of thumb"),
        (!point.meets_limit && !point.is_near_limit, "p99 over the limit"),
        (point.is_near_limit, "p99 near the limit"),
    ];
    marks.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

/// The parameters in one line.
pub(crate) fn parameters_text(run: &PoolRun) -> Option<String> {
    let parameters = run.parameters.as_ref()?;
    let each = match parameters.instances {
        1 => String::new(),
        n => {
            let (all, wanted) = (parameters.size.saturating_mul(n), parameters.connections);
            let other = if all == wanted {
                String::new()
            } else {
                format!(" ({} in all, in place of {})", number(all), number(wanted))
            };
            format!(" in each of {} processes{other}", number(n))
        }
    };
    Some(format!(
        "initial = least = most = {}{each}; max lifetime {} s, acquire timeout {} ms, statement \
         timeout {} ms",
        format::count(parameters.size.into()),
        format::count(parameters.max_lifetime_s),
        format::count(parameters.acquire_timeout_ms),
        format::count(parameters.statement_timeout_ms),
    ))
}

/// Parameter, value, reason.
pub(crate) fn reasons(run: &PoolRun, parameters: &PoolParameters) -> Vec<[String; 3]> {
    let share = match parameters.instances {
        1 => "measured".to_owned(),
        n => format!(
            "{} for {} processes",
            names::connections(parameters.connections),
            format::count(n.into())
        ),
    };
    let idle = match dialect(run) {
        Some(SqlDialect::Postgres) => "idle_session_timeout",
        _ => "wait_timeout",
    };
    let lifetime = match parameters.wait_timeout_s {
        Some(wait) if wait <= 1_800 => format!("30 s before the server's {idle} of {wait} s"),
        Some(wait) => format!(
            "under the server's {idle} of {wait} s; renewed in half an hour, so that a new server \
             gets its share"
        ),
        None => "renewed in half an hour, so that a new server gets its share; shorter than a \
             firewall's limit"
            .to_owned(),
    };
    let acquire = match run.pool.p99_limit_us {
        Some(limit) => format!(
            "what the limit of {} leaves beside p99; at least 250 ms",
            format::duration_us(limit)
        ),
        None => "a request that waits longer is better refused than kept".to_owned(),
    };
    let size = format::count(parameters.size.into());
    let PoolParameters { idle_timeout_s, max_lifetime_s, .. } = parameters;
    let [acquire_timeout, statement_timeout] =
        [parameters.acquire_timeout_ms, parameters.statement_timeout_ms]
            .map(|ms| format!("{} ms", format::count(ms)));
    let rows = [
        ("most connections", size.clone(), &*share),
        ("least and initial", size, "the same: no connection is made while users wait"),
        ("idle timeout", format!("{idle_timeout_s} s"), "without effect while least = most"),
        ("max lifetime", format!("{max_lifetime_s} s"), &lifetime),
        ("acquire timeout", acquire_timeout, &acquire),
        (
            "statement timeout",
            statement_timeout,
            "20 × p99, at least 5 s: longer is a fault, not a queue",
        ),
    ];
    rows.map(|(name, value, why)| [name.to_owned(), value, why.to_owned()]).to_vec()
}

pub(crate) fn dialect(run: &PoolRun) -> Option<SqlDialect> {
    Some(Family::from(run.experiment.server.as_ref()?.flavour).dialect())
}
