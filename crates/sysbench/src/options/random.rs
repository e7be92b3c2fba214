//! `--rand-*`.

use super::lookup::Lookup;
use super::{OptionRefusal, number};
use crate::rand::{DistributionName, Parameters};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RandSettings {
    /// The distribution of `sysbench.rand.default()`.
    pub(crate) kind: DistributionName,
    /// None: the time of day.
    pub(crate) seed: Option<i32>,
    pub(crate) parameters: Parameters,
}

impl RandSettings {
    pub(super) fn read(lookup: &Lookup<'_>) -> Result<Self, OptionRefusal> {
        let kind = match lookup.bytes("rand-type") {
            b"uniform" => DistributionName::Uniform,
            b"gaussian" => DistributionName::Gaussian,
            b"special" => DistributionName::Special,
            b"pareto" => DistributionName::Pareto,
            b"zipfian" => DistributionName::Zipfian,
            other => {
                return Err(OptionRefusal::fatal(
                    [b"Invalid random numbers distribution: ", other, b"."].concat(),
                ));
            }
        };
        let seed = Some(lookup.int("rand-seed")?).filter(|seed| *seed != 0);
        let parameters = Parameters {
            iter: count(lookup, "rand-spec-iter")?,
            pct: count(lookup, "rand-spec-pct")?,
            res: count(lookup, "rand-spec-res")?,
            pareto_h: number::double(lookup.bytes("rand-pareto-h")),
            zipfian_exp: number::double(lookup.bytes("rand-zipfian-exp")),
        };
        Ok(Self { kind, seed, parameters })
    }
}

/// A negative number is none.
fn count(lookup: &Lookup<'_>, name: &str) -> Result<u32, OptionRefusal> {
    lookup.int(name).map(|number| u32::try_from(number).unwrap_or(0))
}
