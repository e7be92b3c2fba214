//! The verdicts of whole experiments under nine kinds of noise whose truth is known: false claims,
//! coverage, power.
//!
//! `cargo test -p truetps-analysis simulated --
//! --nocapture` prints the tables of `docs/method/error-rates.md`.

use std::fmt::Write as _;
use std::thread;

use truetps_plan::Plan;
use truetps_record::{Configuration, Experiment, Extension};

use crate::synthetic::{Random, flush_and_connections, plan, run};
use crate::{Analysis, LoadedTrial, Verdict, analyse};

const REPEATS: u64 = 500;

/// How trials scatter around their true throughput, on logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoiseModel {
    /// Equal everywhere.
    Normal(f64),
    /// 6, 6, 20 % at 1, 50 and 200 connections: as measured on a machine with two cores.
    ByConnections,
    /// Student's t with three degrees of freedom: heavy tails.
    HeavyTails,
    /// One trial in twenty has half of the throughput.
    Halved,
    /// Neighbours in time are alike, and the machine becomes slower.
    Drift,
    /// One block in four is four times as noisy.
    NoisyBlocks,
    /// Half of the trials have a dip of 10 % on average.
    Dips,
    /// The levels have standard deviations of 1 : 0.5 : 2.
    ByLevel,
    /// 1 : 4 : 1.
    OneNoisyLevel,
}

use NoiseModel::{
    ByConnections, ByLevel, Dips, Drift, Halved, HeavyTails, NoisyBlocks, Normal, OneNoisyLevel,
};

const MODELS: [NoiseModel; 10] = [
    Normal(0.1),
    Normal(0.2),
    ByConnections,
    HeavyTails,
    Halved,
    Drift,
    NoisyBlocks,
    Dips,
    ByLevel,
    OneNoisyLevel,
];

/// Draws the noise of one experiment.
struct Scatter<'a> {
    model: NoiseModel,
    random: &'a mut Random,
    /// Noise of the trial before.
    last: f64,
    trials: u32,
    block: u32,
    /// How noisy it is.
    block_factor: f64,
    /// What neighbours in time have in common, in a random order of the block's trials.
    drift: Vec<f64>,
}

impl<'a> Scatter<'a> {
    fn new(model: NoiseModel, random: &'a mut Random) -> Self {
        Self {
            model,
            random,
            last: 0.0,
            trials: 0,
            block: u32::MAX,
            block_factor: 1.0,
            drift: Vec::new(),
        }
    }

    fn begin_block(&mut self, block: u32) {
        const TRIALS: usize = 10;
        self.block = block;
        self.block_factor = if self.random.uniform() < 0.25 { 4.0 } else { 1.0 };
        self.drift.clear();
        for _ in 0..TRIALS {
            self.last = 0.5 * self.last + 0.1 * 0.75_f64.sqrt() * self.random.normal();
            self.trials += 1;
            let at = (self.random.uniform() * (self.drift.len() + 1) as f64) as usize;
            self.drift.insert(at, self.last - 0.003 * f64::from(self.trials));
        }
    }

    fn log(&mut self, block: u32, configuration: &Configuration) -> f64 {
        let (flush, connections) = flush_and_connections(configuration);
        if self.block != block {
            self.begin_block(block);
        }
        let normal = self.random.normal();
        match self.model {
            Normal(sd) => sd * normal,
            ByConnections if connections == 200 => 0.2 * normal,
            ByConnections => 0.06 * normal,
            HeavyTails => {
                let squares: f64 = (0..3).map(|_| self.random.normal().powi(2)).sum();
                0.15 * normal / squares.sqrt()
            }
            Halved => 0.05 * normal - if self.random.uniform() < 0.05 { 2_f64.ln() } else { 0.0 },
            Drift => self.drift.pop().unwrap(),
            NoisyBlocks => 0.1 * normal * self.block_factor,
            Dips => {
                let dip = if self.random.uniform() < 0.5 { self.random.exponential() } else { 0.0 };
                0.03 * normal - 0.1 * dip
            }
            ByLevel => 0.1 * normal * [2.0, 1.0, 0.5][flush as usize],
            OneNoisyLevel => 0.05 * normal * [1.0, 1.0, 4.0][flush as usize],
        }
    }
}

/// A plan as the shipped quick ones: three levels at three numbers of connections, and a twin.
fn quick_plan(blocks: u32) -> Plan {
    plan("[1, 2, 0]", "[1, 50, 200]", blocks)
}

/// An experiment whose trials get other throughputs for each repeat.
struct Simulated {
    plan: Plan,
    experiment: Experiment,
    trials: Vec<LoadedTrial>,
}

impl Simulated {
    fn new(plan: Plan, looks: &[u32]) -> Self {
        let (made, trials) = run(&plan, |_, _| 1e4);
        Self { plan, experiment: extended(made, looks), trials }
    }

    /// `effect` is the true ratio to the baseline of each other configuration.
    fn analyse(
        &mut self,
        model: NoiseModel,
        random: &mut Random,
        effect: impl Fn(&Configuration) -> f64,
    ) -> Analysis {
        let mut scatter = Scatter::new(model, random);
        for LoadedTrial { trial, .. } in &mut self.trials {
            let tps = 1e4
                * effect(&trial.configuration)
                * scatter.log(trial.block, &trial.configuration).exp();
            trial.measured.as_mut().unwrap().tps = tps;
        }
        analyse(&self.plan, &self.experiment, &self.trials)
    }
}

/// With `--nocapture`.
#[expect(clippy::print_stdout, reason = "the tables of the method's documentation")]
fn show(table: &str) {
    println!("{table}");
}

fn is_claim(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// Blocks after which the experiment was looked at; the last is the whole.
fn extended(mut experiment: Experiment, looks: &[u32]) -> Experiment {
    let pairs = looks.windows(2);
    experiment.extensions = pairs
        .map(|pair| Extension {
            extended_at: String::new(),
            blocks_before: pair[0],
            blocks: pair[1],
            command: Vec::new(),
        })
        .collect();
    experiment
}

/// Share of experiments with a false claim, and share of intervals that contain the truth.
fn false_claims(model: NoiseModel, looks: &[u32], seed: u64) -> (f64, f64) {
    let mut simulated = Simulated::new(quick_plan(*looks.last().unwrap()), looks);
    let (mut families, mut covered, mut contrasts) = (0, 0, 0);
    for repeat in 0..REPEATS {
        let analysis = simulated.analyse(model, &mut Random(seed + repeat), |_| 1.0);
        families += u32::from(analysis.contrasts.iter().any(|contrast| is_claim(contrast.verdict)));
        for contrast in &analysis.contrasts {
            let ratio = contrast.tps_ratio;
            // An interval that is left out is one of nearly everything.
            covered += u32::from(
                ratio.low.is_none_or(|low| low <= 1.0) && ratio.high.is_none_or(|high| 1.0 <= high),
            );
            contrasts += 1;
        }
    }
    (f64::from(families) / REPEATS as f64, f64::from(covered) / f64::from(contrasts))
}

/// The lines of a kind of noise, and what is wrong in them.
fn false_claims_of(model: NoiseModel, seed: u64) -> (String, Vec<String>) {
    let (mut lines, mut wrong) = (String::new(), Vec::new());
    for looks in [&[2][..], &[6], &[15], &[6, 12, 24]] {
        let (families, covered) = false_claims(model, looks, seed);
        writeln!(
            lines,
            "| {model:?} | {looks:?} | {:.1} % | {:.1} % |",
            100.0 * families,
            100.0 * covered
        )
        .unwrap();
        // Outliers make intervals wider than they have to be, never narrower.
        let has_outliers =
            matches!(model, HeavyTails | Halved | NoisyBlocks | Dips | ByLevel | OneNoisyLevel);
        let most = if has_outliers || looks[0] < 4 { 1.0 } else { 0.96 };
        // Two blocks do not tell which level is the noisy one.
        let least = if looks[0] == 2 { 0.93 } else { 0.94 };
        if families > 0.05 || !(least..=most).contains(&covered) {
            wrong.push(format!("{model:?} {looks:?}: {families} {covered}"));
        }
    }
    (lines, wrong)
}

#[test]
fn simulated_experiments_claim_nothing_false() {
    // On all cores: each kind of noise has seeds of its own.
    let found: Vec<_> = thread::scope(|scope| {
        let seeded = MODELS.into_iter().zip((0..).step_by(1_000_000));
        let threads: Vec<_> =
            seeded.map(|(model, seed)| scope.spawn(move || false_claims_of(model, seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (lines, wrong): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let head = "| noise | looks at blocks | false claims | intervals that hold the truth \
                |\n|---|---|---|---|\n";
    show(&format!("{head}{}", lines.concat()));
    assert!(wrong.concat().is_empty(), "{:#?}", wrong.concat());
}

/// Chance of a verdict for each of six comparisons that all have this effect.
fn power(model: NoiseModel, blocks: u32, effect: f64) -> f64 {
    let mut simulated = Simulated::new(quick_plan(blocks), &[blocks]);
    let true_ratio = |configuration: &Configuration| {
        if flush_and_connections(configuration).0 == 1 { 1.0 } else { effect }
    };
    let (mut found, mut contrasts) = (0, 0);
    for repeat in 0..REPEATS / 8 {
        let analysis = simulated.analyse(model, &mut Random(77 + repeat), true_ratio);
        let is_found = |verdict: Verdict| {
            verdict == if effect > 1.0 { Verdict::Faster } else { Verdict::Slower }
        };
        found += analysis.contrasts.iter().filter(|contrast| is_found(contrast.verdict)).count();
        contrasts += analysis.contrasts.len();
    }
    found as f64 / contrasts as f64
}

#[test]
fn simulated_effects_are_found() {
    const EFFECTS: [f64; 5] = [1.05, 1.1, 1.2, 1.3, 1.5];
    let mut table = String::from(
        "| noise | blocks | 5 % | 10 % | 20 % | 30 % | 50 % |\n|---|---|---|---|---|---|---|\n",
    );
    for model in [Normal(0.1), Normal(0.2), ByConnections] {
        for blocks in [4, 6, 15, 30] {
            let found = EFFECTS.map(|effect| format!("{:.2}", power(model, blocks, effect)));
            writeln!(table, "| {model:?} | {blocks} | {} |", found.join(" | ")).unwrap();
        }
    }
    show(&table);
    // The quick plan, and the full one.
    let (quick, full) = (power(Normal(0.1), 6, 1.3), power(Normal(0.1), 15, 1.2));
    assert!(quick > 0.75 && full > 0.95, "{quick} {full}\n{table}");
}

/// A claim that a first look has made is kept where more data say the same, and withdrawn where
/// they do not.
#[test]
fn an_earlier_claim_needs_the_present_interval() {
    let looked = |later: f64| {
        let plan = plan("[1, 2]", "[8]", 12);
        let mut random = Random(3);
        let (made, trials) = run(&plan, |block, configuration| {
            let ratio = if block < 6 { 1.5 } else { later };
            let ratio = if flush_and_connections(configuration).0 == 1 { 1.0 } else { ratio };
            1e4 * ratio * (0.05 * random.normal()).exp()
        });
        analyse(&plan, &extended(made, &[6, 12]), &trials).contrasts.remove(0)
    };
    let kept = looked(1.5);
    assert_eq!((kept.verdict, kept.decided_after_blocks), (Verdict::Faster, Some(6)));
    let equivalent = |later: f64| {
        let plan = plan("[1, 2]", "[8]", 12);
        let (made, trials) = run(&plan, |block, configuration| {
            let ratio =
                if block < 6 || flush_and_connections(configuration).0 == 1 { 1.0 } else { later };
            1e4 * ratio * (1.0 + 1e-4 * f64::from(block))
        });
        analyse(&plan, &extended(made, &[6, 12]), &trials).contrasts.remove(0).verdict
    };
    assert_eq!(equivalent(1.0), Verdict::Equivalent);
    assert_ne!(equivalent(1.3), Verdict::Equivalent);
    let withdrawn = looked(0.66);
    assert!(
        !is_claim(withdrawn.verdict) && withdrawn.decided_after_blocks.is_none(),
        "{withdrawn:?}"
    );
}

/// Only the cells of what is open get more blocks: the others keep their verdict and their data.
#[test]
fn what_is_decided_needs_no_more_blocks() {
    let mut simulated = Simulated::new(quick_plan(12), &[6, 12]);
    let is_extended = |configuration: &Configuration| flush_and_connections(configuration).1 == 200;
    let effect = |configuration: &Configuration| {
        if flush_and_connections(configuration).0 == 1 { 1.0 } else { 2.0 }
    };
    simulated.trials.retain(|one| one.trial.block < 6 || is_extended(&one.trial.configuration));
    let analysis = simulated.analyse(ByConnections, &mut Random(11), effect);
    for contrast in &analysis.contrasts {
        let is_later = is_extended(&analysis.cells[contrast.cell].configuration);
        assert_eq!(contrast.tps_ratio.n, if is_later { 12 } else { 6 });
        assert_eq!(contrast.verdict, Verdict::Faster, "{contrast:?}");
    }
}
