//! The load generator: how it drove the load, and which figures it limited.

use std::collections::BTreeSet;

use truetps_analysis::{Analysis, Cell, Figure, generator_reason};
use truetps_record::{DriveMode, EngineFacts, Reason, Trial};

use crate::format::and_more;
use crate::{ReportInput, format, grouped};

/// The mark beside every figure that the generator limited.
pub(crate) const LIMITED: &str = "generator-limited";
/// The mark where a word does not fit.
pub(crate) const SIGN: &str = "†";
/// Reasons shown, and configurations named with each; the others have their mark.
const SHOWN_MAX: usize = 3;

pub(crate) fn is_limited(cell: &Cell) -> bool {
    cell.generator_limited.is_some()
}

/// `; generator-limited` behind a figure that it limited.
pub(crate) fn limited_note(is_limited: bool) -> String {
    if is_limited { format!("; {LIMITED}") } else { String::new() }
}

/// ` (generator-limited)` behind a figure that it limited.
pub(crate) fn limited_mark(is_limited: bool) -> String {
    if is_limited { format!(" ({LIMITED})") } else { String::new() }
}

/// Whether it limited one trial.
pub(crate) fn limited_trial(trial: &Trial) -> bool {
    trial.measured.as_ref().is_some_and(|measured| generator_reason(measured).is_some())
}

/// `(2 of 3 trials) a worker was busy 97 % of the time`; `None` where the generator limited
/// nothing.
pub(crate) fn reason(cell: &Cell) -> Option<String> {
    let limited = cell.generator_limited.as_ref()?;
    let of = if limited.of == 1 {
        String::new()
    } else {
        format!("({} of {} trials) ", limited.trials, limited.of)
    };
    Some(format!("{of}{}", limited.first_reason.to_string().trim_end_matches('.')))
}

/// The meaning of the sign; `None` if no figure has it.
pub(crate) fn sign_explained(analysis: &Analysis) -> Option<String> {
    analysis
        .cells
        .iter()
        .any(is_limited)
        .then(|| format!("{SIGN} {LIMITED}: \"What it means\" has the reason."))
}

/// What a mark means in this experiment. A generator that was late and had time left has not kept
/// the server from more.
pub(crate) fn consequence(analysis: &Analysis) -> &'static str {
    let mut limited = analysis.cells.iter().filter_map(|cell| cell.generator_limited.as_ref());
    if limited.all(|limited| limited.first_reason.is_lateness()) {
        "it started transactions late, and response times include that"
    } else {
        "the load generator was the bottleneck; the server may be faster"
    }
}

/// The figures that the generator limited, the reasons, and advice.
pub(crate) fn warning(analysis: &Analysis) -> Option<String> {
    let by_reason = grouped(
        analysis
            .cells
            .iter()
            .filter_map(|cell| Some((reason(cell)?, cell.configuration.to_string()))),
    );
    if by_reason.is_empty() {
        return None;
    }
    let shown = by_reason.iter().take(SHOWN_MAX).map(|(why, configurations)| {
        let named = &configurations[..configurations.len().min(SHOWN_MAX)];
        format!("{}{}: {why}", named.join("; "), and_more(configurations.len() - named.len()))
    });
    let shown: Vec<_> = shown.collect();
    let mut reasons = analysis
        .cells
        .iter()
        .filter_map(|cell| Some(&cell.generator_limited.as_ref()?.first_reason));
    // A worker that waits for a core lacks cores: more workers would wait, too.
    let lacks_cores = reasons.clone().all(Reason::lacks_cores);
    let more_workers = if lacks_cores { "" } else { "more workers (--workers), " };
    let of_its_own = if reasons.all(Reason::is_of_script) { "taskset" } else { "--pin" };
    Some(format!(
        "{LIMITED}: {}. {}{}. Give the generator {more_workers}cores of its own ({of_its_own}), or \
         another machine.",
        consequence(analysis),
        shown.join("; "),
        and_more(by_reason.len() - shown.len()),
    ))
}

/// Says that figures show the generator's limit and not the server's, with the first reason.
/// `None` where it limited nothing.
pub(crate) fn limit(analysis: &Analysis) -> Option<String> {
    let mut limited: Vec<_> = analysis.cells.iter().filter(|cell| is_limited(cell)).collect();
    limited.retain(|cell| {
        cell.generator_limited.as_ref().is_some_and(|limited| !limited.first_reason.is_lateness())
    });
    let why = reason(limited.first()?)?;
    let of = match analysis.cells.len() {
        1 => String::new(),
        all => format!(" in {} of {all} configurations", limited.len()),
    };
    Some(format!("The load generator is the limit{of}, not the server: {why}"))
}

/// Where the server left this share of its CPU time unused, it waited for something else than a
/// free core.
const UNUSED_MIN: f64 = 0.25;

/// The meaning of the column; `None` if no figure has a bound.
pub(crate) fn bound_explained(analysis: &Analysis) -> Option<String> {
    let is_any = analysis.cells.iter().any(|cell| cell.get(Figure::BoundFreeGenerator).is_some());
    is_any.then(|| {
        "bound: so many times the tps at most, with the generator on a machine of its own."
            .to_owned()
    })
}

/// How much more the server might do if the generator ran elsewhere. `None` where no configuration
/// has a bound.
pub(crate) fn bound(analysis: &Analysis) -> Option<String> {
    let mut bounds: Vec<_> = analysis
        .cells
        .iter()
        .filter_map(|cell| Some((cell.get(Figure::BoundFreeGenerator)?, &cell.configuration)))
        .collect();
    bounds.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let ((least, _), (most, configuration)) = (bounds.first()?, bounds.last()?);
    let ends = [least, most].map(|bound| format::bound(*bound));
    // Each configuration's own is in the tables.
    let range = match (analysis.cells.len(), bounds.len()) {
        (2.., 1) => format!("{} at {configuration}", ends[1]),
        _ if ends[0] == ends[1] => ends[1].clone(),
        _ => format!("{} to {}", ends[0], ends[1]),
    };
    Some(format!("with the generator on a machine of its own at most {range}{}", unused(analysis)))
}

/// Where the server waits for something else than CPU time, a faster generator hardly helps.
fn unused(analysis: &Analysis) -> String {
    // Where the generator was the bottleneck, it is what the server waited for.
    let by_server = analysis.cells.iter().filter(|cell| !is_limited(cell));
    let shares: Vec<_> = by_server
        .filter_map(|cell| Some(1.0 - 1.0 / cell.get(Figure::BoundIdleUsed)?))
        .filter(|share| *share >= UNUSED_MIN)
        .collect();
    let Some(most) = shares.iter().copied().reduce(f64::max) else { return String::new() };
    let why = "waits or too few connections limit";
    match analysis.cells.len() {
        1 => {
            format!("; the server left {} of its CPU time unused: {why} it", format::percent(most))
        }
        all => format!("; in {} of {all} configurations {why} the server", shares.len()),
    }
}

/// How the trials were driven, as far as their records say.
pub(crate) struct Facts {
    pub(crate) workers: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) pinned_to: Option<String>,
    pub(crate) shares_cores: Option<bool>,
    /// Largest shares of the measure phase over all configurations.
    pub(crate) busy: Option<f64>,
    pub(crate) wait: Option<f64>,
    pub(crate) steal: Option<f64>,
    pub(crate) reconnects: u64,
}

impl Facts {
    pub(crate) fn of(input: &ReportInput<'_>) -> Self {
        let engines: Vec<_> = input.trials().filter_map(|trial| trial.engine.as_ref()).collect();
        Self {
            workers: workers(&engines),
            mode: mode(&engines),
            pinned_to: pinned_to(&engines),
            shares_cores: shares_cores(&engines),
            busy: largest(input.analysis, Figure::WorkerBusy),
            wait: largest(input.analysis, Figure::WorkerWait),
            steal: largest(input.analysis, Figure::Steal),
            reconnects: engines.iter().map(|engine| engine.reconnects).sum(),
        }
    }

    /// One line; `None` where nothing is known.
    pub(crate) fn line(&self) -> Option<String> {
        let mut parts: Vec<_> =
            [self.workers.clone(), self.mode.clone()].into_iter().flatten().collect();
        parts.extend(self.pinned_to.as_ref().map(|cores| format!("pinned to {cores}")));
        parts.extend(self.shares_cores.map(|shares| shares_text(shares).to_owned()));
        let waited = self
            .wait
            .map(|wait| format!("; waited for a CPU up to {} of the time", format::percent(wait)));
        let waited = waited.unwrap_or_default();
        parts.extend(
            self.busy.map(|busy| format!("busiest worker: {} CPU{waited}", format::percent(busy))),
        );
        parts.extend(self.steal.map(|steal| format!("steal {}", format::percent(steal))));
        parts.extend((self.reconnects > 0).then(|| format::plural(self.reconnects, "reconnect")));
        format::joined(parts, ", ")
    }
}

/// The largest value that a configuration has of a figure.
fn largest(analysis: &Analysis, figure: Figure) -> Option<f64> {
    analysis.cells.iter().filter_map(|cell| cell.get(figure)).reduce(f64::max)
}

pub(crate) fn shares_text(shares: bool) -> &'static str {
    if shares { "on cores of the server too" } else { "on cores that the server does not use" }
}

fn workers(engines: &[&EngineFacts]) -> Option<String> {
    let least = engines.iter().map(|engine| engine.workers).min()?;
    let most = engines.iter().map(|engine| engine.workers).max()?;
    let most_text = format::plural(most.into(), "worker");
    Some(if least == most {
        most_text
    } else {
        format!("{} to {most_text}", format::count(least.into()))
    })
}

fn mode(engines: &[&EngineFacts]) -> Option<String> {
    let names = engines.iter().filter_map(|engine| match engine.mode? {
        DriveMode::Auto => None,
        DriveMode::Blocking => Some("blocking"),
        DriveMode::Multiplexed => Some("multiplexed"),
    });
    let names: Vec<_> = names.collect::<BTreeSet<_>>().into_iter().collect();
    (!names.is_empty()).then(|| format::list(&names))
}

/// `cores 0 and 1`; `None` where no trial was pinned.
fn pinned_to(engines: &[&EngineFacts]) -> Option<String> {
    let cores: BTreeSet<_> = engines.iter().flat_map(|engine| &engine.pinned_to).collect();
    let texts: Vec<_> = cores.iter().map(ToString::to_string).collect();
    let word = if texts.len() == 1 { "core" } else { "cores" };
    (!texts.is_empty()).then(|| format!("{word} {}", format::list(&texts)))
}

/// Whether any trial shared them. A record of an older version does not say, and those were made on
/// one machine.
fn shares_cores(engines: &[&EngineFacts]) -> Option<bool> {
    let known = engines
        .iter()
        .filter_map(|engine| engine.shares_cores.or(engine.mode.is_none().then_some(true)));
    known.reduce(|one, other| one || other)
}

#[cfg(test)]
mod tests {
    use truetps_record::GeneratorLimit;

    use super::*;
    use crate::ReportAnswer;
    use crate::fixture::Fixture;

    #[test]
    fn a_limited_figure_has_its_reason_and_what_to_do() {
        assert_eq!(warning(Fixture::durability().input().analysis), None);
        let said = warning(Fixture::troubled().input().analysis).unwrap();
        for part in [
            "generator-limited: the load generator was the bottleneck; the server may be faster.",
            "innodb_flush_log_at_trx_commit=1 connections=50; innodb_flush_log_at_trx_commit=2 \
             connections=50;",
            "connections=50: (3 of 3 trials) a worker was on a CPU for more than 90 % of the time. \
             Give",
            "--workers",
            "--pin",
            "another machine",
        ] {
            assert!(said.contains(part), "{said}\nshould contain\n{part}");
        }
    }

    #[test]
    fn a_generator_that_was_late_is_no_bottleneck() {
        let fixture = Fixture::durability().with(|trials| {
            let measured = trials.iter_mut().filter_map(|trial| trial.measured.as_mut());
            measured.for_each(|one| {
                one.generator_limited =
                    Some(GeneratorLimit::StartsLate { late_us_p99: 1700.0 }.into());
            });
        });
        let input = fixture.input();
        let said = warning(input.analysis).unwrap();
        assert!(
            said.starts_with("generator-limited: it started transactions late, and response")
                && said.contains("1 % of the starts were more than 1.7 ms late")
                && !said.contains("bottleneck"),
            "{said}"
        );
        assert_eq!(limit(input.analysis), None);
        let answer = crate::summary::summary_text(&input, crate::TextScreen::PLAIN);
        assert!(!answer.contains("bottleneck") && answer.contains("started transactions late"));
    }

    #[test]
    fn a_worker_that_waited_for_a_core_needs_no_more_workers() {
        let fixture = Fixture::durability().with(|trials| {
            let measured = trials.iter_mut().filter_map(|trial| trial.measured.as_mut());
            measured.for_each(|one| {
                one.generator_limited = Some(
                    GeneratorLimit::WorkerWaited { share: 0.36, idle_cores: Some(1.2) }.into(),
                );
            });
        });
        let said = warning(fixture.input().analysis).unwrap();
        assert!(
            said.contains("Give the generator cores of its own (--pin)")
                && !said.contains("--workers"),
            "{said}"
        );
    }

    #[test]
    fn a_generator_that_waits_on_a_saturated_host_has_a_bound_and_no_mark() {
        let fixture = Fixture::durability().with_cpu_times(50, 12e6, 1.7e6, 0.62);
        assert_eq!(warning(fixture.input().analysis), None);
        let said = crate::meaning::caveats(&fixture.input());
        let bound = "share the 2 cores of this host: with the generator on a machine of its own at \
                     most ×1.52";
        assert_eq!(said.iter().filter(|one| one.contains(bound)).count(), 1, "{said:#?}");
        let text = fixture.input().text(crate::TextScreen::PLAIN);
        assert_eq!(text.matches("bound: so many times the tps at most").count(), 1, "{text}");
        assert_eq!(
            text.matches("×1.52").count(),
            4,
            "three rows of tables, and a sentence\n{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&fixture.input().json()).unwrap();
        let cells = json["analysis"]["cells"].as_array().unwrap();
        let near = |cell: &serde_json::Value, key: &str, expect: f64| {
            cell[key].as_f64().is_some_and(|found| (found - expect).abs() < 1e-6)
        };
        assert!(cells.iter().any(|cell| {
            near(cell, "tps_bound_idle_used", 13.7 / 12.0)
                && near(cell, "tps_bound_free_generator", 15.2 / 12.0 * 1.2)
        }));
    }

    #[test]
    fn the_bound_of_a_run_is_in_its_answer() {
        let answer = |server_us, idle_us, wait| {
            let one = "name = \"run-insert\"\nabout = \"?\"\n[workload]\nname = \
                \"insert\"\n[design]\nblocks = 1\n\
                aa_pair = false\n[factors]\nconnections = [8]\n";
            let fixture = Fixture::of_plan(one).with_cpu_times(8, server_us, idle_us, wait);
            crate::summary::summary_text(&fixture.input(), crate::TextScreen::PLAIN)
                .replace("\n          ", " ")
        };
        let check = |answer: &str, expect: &str| {
            assert!(answer.contains(expect), "{answer}\nshould contain\n{expect}");
        };
        let shared = "Bound     Generator and server share the 2 cores of this host: with the \
            generator on a machine of its own at most";
        check(&answer(12e6, 1.7e6, 0.62), &format!("{shared} ×1.52.\n"));
        let idle =
            "; the server left 92 % of its CPU time unused: waits or too few connections limit it.";
        check(&answer(1e6, 12e6, 0.02), &format!("{shared} ×1.51{idle}"));
        let useless = answer(1e6, 12e6, 0.8);
        assert!(!useless.contains("Bound "), "{useless}");
        check(&useless, "takes CPU time from the server (no useful bound is known)");
    }

    #[test]
    fn a_full_worker_of_a_script_is_in_bound_trust_and_meaning() {
        let one = "name = \"run-insert\"\nabout = \"?\"\n[workload]\nname = \
            \"insert\"\n[design]\nblocks = 1\n\
            aa_pair = false\n[factors]\nconnections = [8]\n";
        let texts = |useful_workers, server_us| {
            let fixture =
                Fixture::of_plan(one).with_cpu_times(8, server_us, 1.7e6, 0.38).with(|trials| {
                    let measured = trials.iter_mut().filter_map(|trial| trial.measured.as_mut());
                    measured.for_each(|one| {
                        let limit = GeneratorLimit::WorkerFull {
                            workers: 1,
                            ran: 0.6,
                            waited: 0.38,
                            useful_workers,
                        };
                        one.generator_limited = Some(limit.into());
                    });
                });
            let answer = crate::summary::summary_text(&fixture.input(), crate::TextScreen::PLAIN)
                .replace("\n          ", " ");
            (answer, warning(fixture.input().analysis).unwrap())
        };
        let check = |text: &str, expect: &str| {
            assert!(text.contains(expect), "{text}\nshould contain\n{expect}");
        };
        let full = "Bound     The load generator is the limit, not the server: the one thread that \
            runs the clients had no time left: 60 % running and 38 % waiting for a core";
        let (answer, meaning) = texts(Some(2), 12e6);
        check(
            &answer,
            &format!(
                "{full}; use --workers=2. Generator and server share the 2 cores of this host: \
                 with the"
            ),
        );
        check(
            &answer,
            "† generator-limited: the load generator was the bottleneck; the server may be faster",
        );
        check(
            &meaning,
            "Give the generator more workers (--workers), cores of its own (taskset), or another \
             machine.",
        );
        let (answer, meaning) = texts(None, 0.0);
        check(&answer, &format!("{full}. Generator and server share"));
        check(&meaning, "Give the generator cores of its own (taskset), or another machine.");
    }

    #[test]
    fn facts_of_the_trials_are_one_line() {
        let fixture = Fixture::durability().with(|trials| {
            for trial in trials.iter_mut() {
                let engine = trial.engine.as_mut().unwrap();
                engine.mode = Some(if trial.block == 0 {
                    DriveMode::Blocking
                } else {
                    DriveMode::Multiplexed
                });
                engine.workers = trial.block + 1;
                engine.pinned_to = vec![3, 2];
                engine.shares_cores = Some(false);
                let resources = &mut trial.measured.as_mut().unwrap().resources;
                (resources.worker_wait_max, resources.steal) = (Some(0.041), Some(0.002));
            }
            trials[0].engine.as_mut().unwrap().reconnects = 1;
        });
        assert_eq!(
            Facts::of(&fixture.input()).line().unwrap(),
            "1 to 3 workers, blocking and multiplexed, pinned to cores 2 and 3, on cores that the \
             server does not use, busiest worker: 30 % CPU; waited for a CPU up to 4.1 % of the \
             time, steal 0.20 %, 1 reconnect"
        );
        assert_eq!(Facts::of(&fixture.with(Vec::clear).input()).line(), None);
    }
}
