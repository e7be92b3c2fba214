//! `--rand-*`.

use super::lookup::Lookup;
use super::{OptionRefusal, number};

/// The distribution of `sysbench.rand.default()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RandType {
    Uniform,
    Gaussian,
    /// Of 1.0.
    Special,
    Pareto,
    /// Of 1.1.
    Zipfian,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RandSettings {
    pub(crate) kind: RandType,
    /// None: the time of day.
    pub(crate) seed: Option<i32>,
    /// Number of uniform numbers whose mean is one gaussian or special number.
    pub(crate) spec_iter: i32,
    /// Percentage of the range.
    pub(crate) spec_pct: i32,
    /// Percentage of the numbers.
    pub(crate) spec_res: i32,
    pub(crate) pareto_h: f64,
    pub(crate) zipfian_exp: f64,
}

impl RandSettings {
    pub(super) fn read(lookup: &Lookup<'_>) -> Result<Self, OptionRefusal> {
        let kind = match lookup.bytes("rand-type") {
            b"uniform" => RandType::Uniform,
            b"gaussian" => RandType::Gaussian,
            b"special" => RandType::Special,
            b"pareto" => RandType::Pareto,
            b"zipfian" => RandType::Zipfian,
            other => {
                return Err(OptionRefusal::fatal([b"Invalid random numbers distribution: ", other, b"."].concat()));
            }
        };
        Ok(Self {
            kind,
            seed: Some(lookup.int("rand-seed")?).filter(|seed| *seed != 0),
            spec_iter: lookup.int("rand-spec-iter")?,
            spec_pct: lookup.int("rand-spec-pct")?,
            spec_res: lookup.int("rand-spec-res")?,
            pareto_h: number::double(lookup.bytes("rand-pareto-h")),
            zipfian_exp: number::double(lookup.bytes("rand-zipfian-exp")),
        })
    }
}
