//! What is asked, and what is measured to answer it.

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseQuestion {
    pub factors: usize,
    /// Factors that are known to matter, the most suspicious first.
    pub suspects: Vec<usize>,
    /// The seed of all random orders and signs.
    pub seed: u64,
    /// The smallest difference of interest, on logarithms.
    pub smallest: f64,
}

impl CauseQuestion {
    /// With the smallest difference of interest in percent, upward.
    pub fn new(factors: usize, suspects: &[usize], seed: u64, smallest_percent: f64) -> Self {
        Self {
            factors,
            suspects: suspects.to_vec(),
            seed,
            smallest: (smallest_percent / 100.0).ln_1p(),
        }
    }
}

/// What a batch is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Corners,
    Suspects,
    Screening,
    Confirming,
}
