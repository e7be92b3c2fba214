//! Mixtures of two configurations.

use serde::{Deserialize, Serialize};

/// Factors that an investigation can have.
pub const FACTORS_MAX: usize = 128;

/// Factors that have the level of B; the others have the level of A. Factor 0 is the lowest bit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Mixture(u128);

impl Mixture {
    /// Configuration A itself.
    pub const A: Self = Self(0);

    /// Configuration B itself, of this many factors.
    pub fn b(factors: usize) -> Self {
        Self(if factors >= FACTORS_MAX { u128::MAX } else { (1 << factors) - 1 })
    }

    /// The factor alone.
    pub fn only(factor: usize) -> Self {
        Self(1 << factor)
    }

    pub fn has(self, factor: usize) -> bool {
        self.0 >> factor & 1 == 1
    }

    /// The factors of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The factors in it, in order.
    pub fn factors(self) -> impl Iterator<Item = usize> {
        (0..FACTORS_MAX).filter(move |factor| self.has(*factor))
    }
}

impl FromIterator<usize> for Mixture {
    fn from_iter<I: IntoIterator<Item = usize>>(factors: I) -> Self {
        factors.into_iter().fold(Self::A, |mixture, factor| mixture.with(Self::only(factor)))
    }
}

/// Hexadecimal: JSON has no numbers of this size.
impl From<Mixture> for String {
    fn from(mixture: Mixture) -> Self {
        format!("{:x}", mixture.0)
    }
}

impl TryFrom<String> for Mixture {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(|error| format!("`{text}` is not a mixture: {error}"))
    }
}
