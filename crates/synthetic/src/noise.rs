//! How the speed of a made-up server scatters from trial to trial.

use truetps_random::RandomStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseKind {
    Normal,
    /// Half of it is common to neighbours in time, and the machine becomes slower.
    Drift,
    /// Now and then the machine's speed changes by 30 %, and stays so for a while.
    Jumps,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// One trial in 20 loses 26 to 78 % of its speed.
    Pauses,
}

impl NoiseKind {
    pub const ALL: [Self; 5] =
        [Self::Normal, Self::Drift, Self::Jumps, Self::HeavyTails, Self::Pauses];

    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Drift => "AR + drift",
            Self::Jumps => "speed jumps",
            Self::HeavyTails => "t3",
            Self::Pauses => "pauses",
        }
    }
}

/// Logarithms of speed, one after the other.
#[derive(Debug, Clone)]
pub struct TrialNoise {
    kind: NoiseKind,
    sd: f64,
    random: RandomStream,
    common: f64,
    is_slow: bool,
    trials: u32,
}

impl TrialNoise {
    pub fn new(kind: NoiseKind, sd: f64, mut random: RandomStream) -> Self {
        let common = normal(&mut random);
        let is_slow = random.below(2) == 0;
        Self { kind, sd, random, common, is_slow, trials: 0 }
    }

    /// What follows now, as if drawn again.
    #[must_use]
    pub fn going_on(&self, random: RandomStream) -> Self {
        Self { random, ..self.clone() }
    }

    /// The next trial: the logarithm of its speed.
    pub fn next_ln(&mut self) -> f64 {
        self.trials += 1;
        let own = normal(&mut self.random);
        match self.kind {
            NoiseKind::Normal => self.sd * own,
            NoiseKind::Drift => {
                self.common = 0.8 * self.common + 0.6 * normal(&mut self.random);
                let both = (own + self.common) * 0.5_f64.sqrt();
                self.sd * (both - 0.01 * f64::from(self.trials))
            }
            NoiseKind::Jumps => {
                self.is_slow ^= self.random.below(25) == 0;
                let level = if self.is_slow { -0.5 } else { 0.5 } * 1.3_f64.ln();
                self.sd * own + level
            }
            NoiseKind::HeavyTails => {
                let square: f64 = (0..3).map(|_| normal(&mut self.random).powi(2)).sum();
                self.sd * own / square.sqrt()
            }
            NoiseKind::Pauses => {
                let is_paused = self.random.below(20) == 0;
                let left = if is_paused { 0.22 + 0.52 * self.random.open_unit() } else { 1.0 };
                self.sd * own + left.ln()
            }
        }
    }
}

/// The sum of twelve uniform values has a variance of 1.
fn normal(random: &mut RandomStream) -> f64 {
    (0..12).map(|_| random.open_unit()).sum::<f64>() - 6.0
}
