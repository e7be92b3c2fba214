//! The parts that several load generators made of one load.

use std::collections::BTreeSet;

use truetps_record::{Experiment, MergedPart, Trial, TrialPart};

use crate::ReportInput;
use crate::format::{self, mean};

/// A part that does less than this share of the median part's transactions a client, or whose
/// generator takes more than its inverse of the median part's CPU time, differs from the others.
const ALIKE_SHARE: f64 = 0.8;
/// The name that [`part_of_load`] has in CSV and among labels.
pub(crate) const PART_OF_LOAD: &str = "part_of_load";
/// A load of more parts than these has lines of those parts only that differ.
const PARTS_SHOWN_MAX: usize = 16;

/// Why the figures are not of the whole load; `None` where they are.
pub fn incomplete(experiment: &Experiment) -> Option<String> {
    if let Some(of) = &experiment.part {
        let part = of.part;
        return Some(format!(
            "only part {part} of a load: `truetps merge` makes the whole of all {} parts",
            part.of
        ));
    }
    let missing = format::joined(missing(experiment), ", ")?;
    Some(format!("part {missing} is missing: no trial is the whole load"))
}

/// What the figures are of, for programs: `1/4` where it is that part only, and `without 1/4` where
/// it is missing; `None` for the whole load.
pub(crate) fn part_of_load(experiment: &Experiment) -> Option<String> {
    if let Some(of) = &experiment.part {
        return Some(of.part.to_string());
    }
    Some(format!("without {}", format::joined(missing(experiment), " ")?))
}

/// Parts that were not merged, as `1/4`.
fn missing(experiment: &Experiment) -> Vec<String> {
    let of = experiment.parts.len() + experiment.parts_missing.len();
    experiment.parts_missing.iter().map(|index| format!("{index}/{of}")).collect()
}

/// One line a part of a merged experiment, and what differs; empty for others.
pub(crate) fn lines(input: &ReportInput<'_>) -> Vec<String> {
    let (all, medians) = sums(input);
    let count = all.len();
    let lines = all
        .iter()
        .map(|part| (part.difference(&medians), part))
        .filter(|(difference, _)| count <= PARTS_SHOWN_MAX || difference.is_some());
    let mut said: Vec<_> = lines.map(|(difference, part)| part.line(count, difference)).collect();
    if count > said.len() {
        said.push(format!("{count} parts, of which {} differ from the others", said.len()));
    }
    said
}

/// For one screen: how many parts there were, how exactly they started together, and which one
/// differs.
pub(crate) fn short(input: &ReportInput<'_>) -> Vec<String> {
    let parts = &input.run.experiment.parts;
    if parts.is_empty() {
        return Vec::new();
    }
    let (all, medians) = sums(input);
    let hosts: BTreeSet<_> = parts.iter().map(|part| &part.host).collect();
    let (count, hosts) =
        (format::plural(parts.len() as u64, "part"), format::plural(hosts.len() as u64, "host"));
    let within = all.iter().filter_map(|part| part.uncertainty_us_max).reduce(f64::max);
    let within = within
        .map(|us| format!(", each start known within ±{}", format::duration_us(us)))
        .unwrap_or_default();
    let differing =
        all.iter().filter_map(|part| Some(part.line(all.len(), Some(part.difference(&medians)?))));
    std::iter::once(format!("a load of {count} on {hosts}{within}")).chain(differing).collect()
}

fn sums<'a>(input: &'a ReportInput<'_>) -> (Vec<PartSums<'a>>, Medians) {
    let all: Vec<_> =
        input.run.experiment.parts.iter().map(|part| PartSums::of(part, input.trials())).collect();
    let medians = Medians::of(&all);
    (all, medians)
}

/// What a part did in all trials together.
struct PartSums<'a> {
    part: &'a MergedPart,
    tps: Vec<f64>,
    clients: u32,
    /// Transactions a second of each client.
    tps_a_client: Vec<f64>,
    cpu_us_per_tx: Vec<f64>,
    busy_max: Option<f64>,
    late_us_p99_max: Option<f64>,
    uncertainty_us_max: Option<f64>,
    clock_offset_us: Option<f64>,
}

impl<'a> PartSums<'a> {
    fn of<'t>(part: &'a MergedPart, trials: impl Iterator<Item = &'t Trial>) -> Self {
        let own: Vec<&TrialPart> = trials
            .filter_map(|trial| trial.parts.iter().find(|one| one.index == part.index))
            .collect();
        Self {
            part,
            tps: own.iter().filter_map(|one| one.tps).collect(),
            clients: own.iter().map(|one| one.clients).max().unwrap_or(0),
            tps_a_client: own
                .iter()
                .filter_map(|one| Some(one.tps? / f64::from(one.clients.max(1))))
                .collect(),
            cpu_us_per_tx: own.iter().filter_map(|one| one.client_cpu_us_per_tx).collect(),
            busy_max: largest(own.iter().map(|one| one.worker_busy_max)),
            late_us_p99_max: largest(own.iter().map(|one| one.late_us_p99)),
            uncertainty_us_max: largest(own.iter().map(|one| Some(one.start?.uncertainty_us))),
            clock_offset_us: own.iter().find_map(|one| Some(one.start?.clock_offset_us)),
        }
    }

    fn difference(&self, medians: &Medians) -> Option<String> {
        let figures = [
            (&self.tps_a_client, medians.tps_a_client, "the median part's tps a client"),
            (&self.cpu_us_per_tx, medians.cpu_us_per_tx, "its generator's CPU time"),
        ];
        let said = figures.into_iter().filter_map(|(own, median, what)| {
            let ratio = mean(own)? / median?;
            let is_alike = (ALIKE_SHARE..=1.0 / ALIKE_SHARE).contains(&ratio);
            (!is_alike).then(|| format!("{} of {what}", format::ratio(ratio)))
        });
        format::joined(said, " and ")
    }

    fn line(&self, of: usize, difference: Option<String>) -> String {
        let MergedPart { index, host, .. } = self.part;
        let mut facts = Vec::new();
        facts.extend(mean(&self.tps).map(|tps| format!("{} tps on average", format::tps(tps))));
        facts.push(format!("up to {}", format::plural(self.clients.into(), "client")));
        facts.extend(
            mean(&self.cpu_us_per_tx).map(|us| format!("generator CPU {us:.1} µs a transaction")),
        );
        facts.extend(
            self.busy_max.map(|busy| format!("busiest worker {} CPU", format::percent(busy))),
        );
        facts.extend(
            self.late_us_p99_max
                .map(|us| format!("starts late by {} (p99)", format::duration_us(us))),
        );
        facts.extend(
            self.uncertainty_us_max
                .map(|us| format!("start known within ±{}", format::duration_us(us))),
        );
        facts.extend(self.clock_offset_us.map(|us| {
            let side = if us < 0.0 { "ahead of" } else { "behind" };
            format!("host's clock {} {side} the server's", format::duration_us(us.abs()))
        }));
        let differs =
            difference.map(|difference| format!("; DIFFERS: {difference}")).unwrap_or_default();
        format!("part {index}/{of} on {host}: {}{differs}", facts.join(", "))
    }
}

struct Medians {
    tps_a_client: Option<f64>,
    cpu_us_per_tx: Option<f64>,
}

impl Medians {
    fn of(all: &[PartSums<'_>]) -> Self {
        Self {
            tps_a_client: median(all.iter().filter_map(|part| mean(&part.tps_a_client)).collect()),
            cpu_us_per_tx: median(
                all.iter().filter_map(|part| mean(&part.cpu_us_per_tx)).collect(),
            ),
        }
    }
}

fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(f64::max)
}

/// The upper one of the two in the middle; `None` of none, and of zero.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().filter(|median| *median > 0.0)
}

#[cfg(test)]
mod tests {
    use truetps_record::{CommonStart, Part, PartOfExperiment};

    use super::*;
    use crate::fixture::Fixture;

    fn part(index: u32, tps: f64) -> TrialPart {
        TrialPart {
            index,
            tps: Some(tps),
            clients: 2,
            client_cpu_us_per_tx: Some(10.0),
            worker_busy_max: Some(0.25),
            late_us_p99: None,
            start: Some(CommonStart {
                server_us: 1,
                uncertainty_us: 150.0,
                clock_offset_us: -2_000_000.0,
            }),
            problem: None,
        }
    }

    fn merged(index: u32) -> MergedPart {
        MergedPart { index, host: format!("host-{index}"), folder: "x".to_owned() }
    }

    #[test]
    fn a_part_that_differs_is_named() {
        let mut trial = Fixture::connections_only().run.trials[0].trial.clone();
        trial.parts = vec![part(0, 1000.0), part(1, 1100.0), part(2, 500.0)];
        let all: Vec<_> = [0, 1, 2].map(merged).into();
        let sums: Vec<_> =
            all.iter().map(|part| PartSums::of(part, std::iter::once(&trial))).collect();
        let medians = Medians::of(&sums);
        assert_eq!(sums[0].difference(&medians), None);
        let line = sums[2].line(3, sums[2].difference(&medians));
        let expect = "part 2/3 on host-2: 500.0 tps on average, up to 2 clients, generator CPU \
                      10.0 µs a transaction, busiest worker 25 % CPU, start known within ±150 µs, \
                      host's clock 2.00 s ahead of the server's; DIFFERS: ×0.500 of the median \
                      part's tps a client";
        assert_eq!(line, expect);
    }

    #[test]
    fn a_part_is_never_taken_for_the_whole() {
        let mut experiment = Fixture::connections_only().run.experiment;
        assert_eq!((incomplete(&experiment), part_of_load(&experiment)), (None, None));
        experiment.parts = vec![merged(0), merged(2)];
        experiment.parts_missing = vec![1];
        assert_eq!(
            incomplete(&experiment).as_deref(),
            Some("part 1/3 is missing: no trial is the whole load")
        );
        assert_eq!(part_of_load(&experiment).as_deref(), Some("without 1/3"));
        experiment.part = Some(PartOfExperiment {
            part: Part { index: 1, of: 3 },
            pid: 7,
            meeting: "m".to_owned(),
        });
        assert!(
            incomplete(&experiment)
                .is_some_and(|text| text.starts_with("only part 1/3 of a load: "))
        );
        assert_eq!(part_of_load(&experiment).as_deref(), Some("1/3"));
    }
}
