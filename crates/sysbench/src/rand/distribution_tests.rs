use truetps_testkit::assert_fits;

use super::*;

/// The generator of sysbench's first thread under `--rand-seed=5`.
fn seed_5() -> Xoroshiro {
    Xoroshiro::from_u32s([590_011_675, 99_788_765, 2_131_925_610, 171_864_072])
}

impl Default for Parameters {
    fn default() -> Self {
        Self { iter: ITER, pct: 1, res: 75, pareto_h: 0.2, zipfian_exp: 0.8 }
    }
}

fn distribution(kind: DistributionName) -> RandomDistributions {
    RandomDistributions::new(kind, &Parameters::default())
}

/// What sysbench prints when an event asks for one number: it draws once more, unseen, after each.
fn printed(kind: DistributionName, a: u32, b: u32) -> [u32; 4] {
    let mut random = seed_5();
    let distribution = distribution(kind);
    [(); 4].map(|()| {
        let number = distribution.draw(&mut random, a, b);
        random.next_u64();
        number
    })
}

#[test]
fn numbers_match_sysbench() {
    assert_eq!(printed(DistributionName::Uniform, 1, 1_000), [634, 421, 495, 619]);
    assert_eq!(printed(DistributionName::Gaussian, 1, 1_000), [504, 373, 493, 672]);
    assert_eq!(printed(DistributionName::Special, 1, 10_000), [5_014, 4_993, 5_000, 5_012]);
    assert_eq!(printed(DistributionName::Pareto, 1, 10_000), [373, 20, 63, 312]);
}

#[test]
fn ranges_wrap_as_in_sysbench() {
    assert_eq!(printed(DistributionName::Uniform, 0, u32::MAX), [0; 4]);
    assert_eq!(
        printed(DistributionName::Uniform, 5, 3),
        [2_721_937_289, 1_807_262_952, 2_122_876_885, 2_655_617_482]
    );
    assert_eq!(printed(DistributionName::Gaussian, 0, u32::MAX), [0; 4]);
    assert_eq!(
        printed(DistributionName::Gaussian, 10, 3),
        [2_162_591_385, 1_600_527_945, 2_114_501_079, 2_882_808_369]
    );
    assert_eq!(
        printed(DistributionName::Special, 0, u32::MAX),
        [2_153_228_184, 2_144_081_440, 2_147_237_580, 2_152_564_986]
    );
    assert_eq!(
        printed(DistributionName::Special, 10, 3),
        [2_153_228_191, 2_144_081_447, 2_147_237_587, 2_152_564_993]
    );
    assert_eq!(printed(DistributionName::Special, 1, 1), [1; 4]);
    assert_eq!(
        printed(DistributionName::Pareto, 10, 3),
        [160_059_675, 8_346_001, 26_647_812, 133_972_793]
    );
    assert_eq!(printed(DistributionName::Pareto, 0, u32::MAX), [0; 4]);
}

#[test]
fn no_distribution_leaves_its_range() {
    let mut random = Xoroshiro::from_seed(1, 0);
    for kind in [
        DistributionName::Uniform,
        DistributionName::Gaussian,
        DistributionName::Special,
        DistributionName::Pareto,
        DistributionName::Zipfian,
    ] {
        let distribution = distribution(kind);
        for (a, b) in [(1, 1), (0, 1), (7, 9), (1, 10_000), (u32::MAX - 3, u32::MAX)] {
            for _ in 0..10_000 {
                let number = distribution.draw(&mut random, a, b);
                assert!((a..=b).contains(&number), "{kind:?}: {number} of {a}..={b}");
            }
        }
    }
}

#[test]
fn uniform_is_uniform() {
    let mut random = Xoroshiro::from_seed(2, 0);
    let mut seen = [0; 100];
    for _ in 0..100_000 {
        seen[uniform(&mut random, 1, 100) as usize - 1] += 1;
    }
    assert_fits("uniform", &seen, &[0.01; 100]);
}

#[test]
fn gaussian_has_the_width_of_a_mean_even_with_no_iterations() {
    for iter in [0, 12] {
        let parameters = Parameters { iter, ..Parameters::default() };
        let distribution = RandomDistributions::new(DistributionName::Gaussian, &parameters);
        let mut random = Xoroshiro::from_seed(3, 0);
        let numbers: Vec<f64> = (0..20_000)
            .map(|_| f64::from(distribution.draw(&mut random, 0, 999_999)) / 1e6)
            .collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        // The variance of a uniform number is 1/12, and of the mean of 12 it is 1/144.
        assert!((variance.sqrt() - 1.0 / 12.0).abs() < 0.002, "{variance}");
    }
}

#[test]
fn special_has_three_of_four_draws_in_the_middle_hundredth() {
    let distribution = distribution(DistributionName::Special);
    let mut random = Xoroshiro::from_seed(4, 0);
    let draws = 100_000;
    let middle = (0..draws)
        .filter(|_| (49_500..=50_500).contains(&distribution.draw(&mut random, 0, 100_000)))
        .count();
    // The bell curve adds a few: its density at the middle is 4.8 over a hundredth, in a quarter of
    // the draws.
    let share = middle as f64 / f64::from(draws);
    assert!((0.75..0.78).contains(&share), "{share}");
}

#[test]
fn pareto_gives_four_fifths_of_the_draws_to_a_fifth_of_the_range() {
    let distribution = distribution(DistributionName::Pareto);
    let mut random = Xoroshiro::from_seed(5, 0);
    let draws = 100_000;
    let within = |limit: u32, random: &mut Xoroshiro| {
        (0..draws).filter(|_| distribution.draw(random, 1, 10_000) <= limit).count() as f64
            / f64::from(draws)
    };
    assert!((within(2_000, &mut random) - 0.8).abs() < 0.01);
    assert!((within(400, &mut random) - 0.64).abs() < 0.01);
}
