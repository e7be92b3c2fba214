//! How often each key is chosen: the part of a plan that decides how hot the hot rows are.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::plan_error::unknown_word;

/// How keys are drawn from a range. [docs/reference/workloads.md] has the formulas.
///
/// In a plan it is a name, `"zipfian"`; a name with parameters, `"zipfian:theta=0.8"`; or a table,
/// `{ kind = "zipfian", theta = 0.8 }`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenDistribution", into = "DistributionTable")]
pub enum KeyDistribution {
    /// Each key as often as any other.
    #[default]
    Uniform,
    /// Key number `r` in proportion to `r^-theta`.
    Zipfian { theta: f64, scrambled: bool },
    /// A share `1 - h` of the accesses goes to a share `h` of the keys, and again so within these.
    Pareto { h: f64, scrambled: bool },
    /// A share `accesses` goes to a share `keys` of the keys, all others get the rest; uniform
    /// within both.
    Special { accesses: f64, keys: f64, scrambled: bool },
    /// Zipfian over the distance from the newest key.
    Latest { theta: f64 },
}

/// Default exponent of `zipfian` and `latest`.
const THETA: f64 = 0.99;
const THETA_MAX: f64 = 10.0;
/// Default of `pareto`: 80 % of the accesses go to 20 % of the keys.
const H: f64 = 0.2;
const ACCESSES: f64 = 0.75;
const KEYS: f64 = 0.01;

impl KeyDistribution {
    /// Names of all kinds.
    pub const KINDS: [&'static str; 5] = ["uniform", "zipfian", "pareto", "special", "latest"];

    /// Parameters of each kind, in the order of `KINDS`.
    const PARAMETERS: [&'static [&'static str]; 5] = [
        &[],
        &["theta", "scrambled"],
        &["h", "scrambled"],
        &["accesses", "keys", "scrambled"],
        &["theta"],
    ];

    fn from_table(table: &DistributionTable) -> Result<Self, String> {
        let kind = table.kind.as_str();
        let Some(n) = Self::KINDS.iter().position(|known| *known == kind) else {
            return Err(unknown_word("distribution", kind, &Self::KINDS));
        };
        let known = Self::PARAMETERS[n];
        if let Some(name) = table.parameters.keys().find(|name| !known.contains(&name.as_str())) {
            let has = if known.is_empty() {
                "none".to_owned()
            } else {
                format!("`{}`", known.join("`, `"))
            };
            return Err(format!("distribution `{kind}` has no parameter `{name}` (it has {has})"));
        }
        let distribution = match kind {
            "zipfian" => Self::Zipfian {
                theta: table.number("theta", THETA, THETA_MAX)?,
                scrambled: table.switch("scrambled")?,
            },
            "pareto" => {
                Self::Pareto { h: table.share("h", H)?, scrambled: table.switch("scrambled")? }
            }
            "special" => Self::Special {
                accesses: table.share("accesses", ACCESSES)?,
                keys: table.share("keys", KEYS)?,
                scrambled: table.switch("scrambled")?,
            },
            "latest" => Self::Latest { theta: table.number("theta", THETA, THETA_MAX)? },
            _ => Self::Uniform,
        };
        Ok(distribution)
    }
}

/// `zipfian` or `zipfian:theta=0.8,scrambled=true`: the form that a command line takes.
impl FromStr for KeyDistribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parameters = BTreeMap::new();
        for word in rest.split(',').filter(|word| !word.trim().is_empty()) {
            let Some((name, value)) = word.split_once('=') else {
                return Err(format!(
                    "`{word}` of the distribution `{text}` is not of the form NAME=VALUE"
                ));
            };
            let value = match value.trim() {
                "true" => Parameter::Switch(true),
                "false" => Parameter::Switch(false),
                number => Parameter::Number(
                    number.parse().map_err(|_| format!("`{word}`: not a number"))?,
                ),
            };
            parameters.insert(name.trim().to_owned(), value);
        }
        Self::from_table(&DistributionTable { kind: kind.trim().to_owned(), parameters })
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a distribution is a name, such as \"zipfian\", or { kind = \"zipfian\", theta = \
                 0.8 }"
)]
enum WrittenDistribution {
    Text(String),
    Table(DistributionTable),
}

/// One type for all kinds, so that the error for an unknown key can list the keys of its kind.
#[derive(Serialize, Deserialize)]
struct DistributionTable {
    kind: String,
    #[serde(flatten)]
    parameters: BTreeMap<String, Parameter>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Parameter {
    Switch(bool),
    Number(f64),
}

impl DistributionTable {
    fn number(&self, name: &str, default: f64, most: f64) -> Result<f64, String> {
        let number = match self.parameters.get(name) {
            None => default,
            Some(Parameter::Number(number)) => *number,
            Some(Parameter::Switch(_)) => return Err(format!("`{name}` is not a number")),
        };
        let fine = number > 0.0 && number <= most;
        if fine {
            Ok(number)
        } else {
            Err(format!("`{name}`: {number} is not above 0 and at most {most}"))
        }
    }

    /// Between 0 and 1, exclusive: a hot set of no keys or of all keys is no hot set.
    fn share(&self, name: &str, default: f64) -> Result<f64, String> {
        let share = self.number(name, default, 1.0)?;
        if share < 1.0 {
            Ok(share)
        } else {
            Err(format!("`{name}`: a share of all must be below 1"))
        }
    }

    fn switch(&self, name: &str) -> Result<bool, String> {
        match self.parameters.get(name) {
            None => Ok(false),
            Some(Parameter::Switch(on)) => Ok(*on),
            Some(Parameter::Number(_)) => Err(format!("`{name}` is true or false")),
        }
    }
}

impl TryFrom<WrittenDistribution> for KeyDistribution {
    type Error = String;

    fn try_from(written: WrittenDistribution) -> Result<Self, String> {
        match written {
            WrittenDistribution::Text(text) => text.parse(),
            WrittenDistribution::Table(table) => Self::from_table(&table),
        }
    }
}

impl From<KeyDistribution> for DistributionTable {
    fn from(distribution: KeyDistribution) -> Self {
        use Parameter::{Number, Switch};
        let (kind, parameters) = match distribution {
            KeyDistribution::Uniform => ("uniform", Vec::new()),
            KeyDistribution::Zipfian { theta, scrambled } => {
                ("zipfian", vec![("theta", Number(theta)), ("scrambled", Switch(scrambled))])
            }
            KeyDistribution::Pareto { h, scrambled } => {
                ("pareto", vec![("h", Number(h)), ("scrambled", Switch(scrambled))])
            }
            KeyDistribution::Special { accesses, keys, scrambled } => {
                let shares = [("accesses", Number(accesses)), ("keys", Number(keys))];
                ("special", [&shares[..], &[("scrambled", Switch(scrambled))]].concat())
            }
            KeyDistribution::Latest { theta } => ("latest", vec![("theta", Number(theta))]),
        };
        let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self { kind: kind.to_owned(), parameters: parameters.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_distribution() {
        let zipfian = KeyDistribution::Zipfian { theta: 0.8, scrambled: true };
        assert_eq!("zipfian:theta=0.8,scrambled=true".parse(), Ok(zipfian));
        assert_eq!(
            "zipfian".parse(),
            Ok(KeyDistribution::Zipfian { theta: 0.99, scrambled: false })
        );
        assert_eq!(
            "special".parse(),
            Ok(KeyDistribution::Special { accesses: 0.75, keys: 0.01, scrambled: false })
        );
        assert_eq!(
            "pareto:h=0.1".parse(),
            Ok(KeyDistribution::Pareto { h: 0.1, scrambled: false })
        );

        let parse = |text: &str| {
            toml::from_str::<BTreeMap<String, KeyDistribution>>(text).map(|table| table["d"])
        };
        assert_eq!(parse("d = \"latest\"").unwrap(), KeyDistribution::Latest { theta: 0.99 });
        assert_eq!(
            parse("d = { kind = \"zipfian\", theta = 0.8, scrambled = true }").unwrap(),
            zipfian
        );
        assert_eq!(
            parse("d = { kind = \"latest\", theta = 2 }").unwrap(),
            KeyDistribution::Latest { theta: 2.0 }
        );
        for kind in KeyDistribution::KINDS {
            let d = kind.parse().unwrap();
            assert_eq!(parse(&toml::to_string(&BTreeMap::from([("d", d)])).unwrap()).unwrap(), d);
        }
    }

    #[test]
    fn wrong_distributions_are_named() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<KeyDistribution>().unwrap_err();
            assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
        };
        check("zipfan", "unknown distribution `zipfan` (did you mean `zipfian`?)");
        check("xyz", "known: `uniform`, `zipfian`");
        check("uniform:theta=1", "`uniform` has no parameter `theta` (it has none)");
        check("zipfian:h=1", "(it has `theta`, `scrambled`)");
        check("zipfian:theta=0", "`theta`: 0 is not above 0");
        check("zipfian:theta=nan", "`theta`: NaN is not above 0");
        check("zipfian:theta=x", "not a number");
        check("zipfian:theta", "NAME=VALUE");
        check("pareto:h=1", "`h`: a share of all must be below 1");
        check("special:scrambled=1", "`scrambled` is true or false");
    }
}
