//! What a user demands of response times: `p99<1s,failed<0.1%`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Measured, did_you_mean, near_matches};

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slo {
    conditions: Vec<SloCondition>,
}

#[derive(Debug, Clone, PartialEq)]
struct SloCondition {
    figure: &'static str,
    /// Microseconds; a share of 0 to 1 for `failed`.
    below: f64,
    /// As it was written.
    text: String,
}

type SloFigure = fn(&Measured) -> Option<f64>;

const FIGURES: [(&str, SloFigure); 7] = [
    ("mean", |it| it.response.response_us_mean),
    ("p50", |it| it.response.response_us_p50),
    ("p95", |it| it.response.response_us_p95),
    ("p99", |it| it.response.response_us_p99),
    ("p999", |it| it.response.response_us_p999),
    ("max", |it| it.response.response_us_max),
    (FAILED, |it| {
        let ended = it.counts.ok + it.counts.failed;
        (ended > 0).then(|| it.counts.failed as f64 / ended as f64)
    }),
];
const FAILED: &str = "failed";
const UNITS_US: [(&str, f64); 6] =
    [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9)];

impl Slo {
    /// Why a valid trial did not keep its rate: it was not sustained, or it breaks a condition.
    pub fn not_kept_by(&self, measured: &Measured) -> Option<String> {
        if measured.sustained == Some(false) {
            return Some("not sustained".to_owned());
        }
        self.broken_by(measured)
    }

    /// The first condition that these figures break, with the figure itself; `None` where all hold.
    /// A figure that was not measured breaks its condition.
    fn broken_by(&self, measured: &Measured) -> Option<String> {
        self.conditions.iter().find_map(|condition| {
            let (_, value) = FIGURES.iter().find(|(figure, _)| *figure == condition.figure)?;
            let found = value(measured);
            if found.is_some_and(|value| value < condition.below) {
                return None;
            }
            let found = match found {
                None => "was not measured".to_owned(),
                Some(share) if condition.figure == FAILED => format!("was {:.3} %", share * 100.0),
                Some(us) => format!("was {:.3} ms", us / 1e3),
            };
            Some(format!("{}: {} {found}", condition.text, condition.figure))
        })
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let conditions =
            text.split(',').map(|part| condition(part.trim())).collect::<Result<_, _>>()?;
        Ok(Self { conditions })
    }
}

fn condition(text: &str) -> Result<SloCondition, String> {
    let Some((figure, limit)) = text.split_once('<') else {
        return Err(format!("`{text}` is not of the form FIGURE<LIMIT, such as p99<1s"));
    };
    let figure = figure.trim().replace("p99.9", "p999");
    let names = FIGURES.map(|(name, _)| name);
    let Some(figure) = names.into_iter().find(|known| *known == figure) else {
        let near = near_matches(&figure, names);
        return Err(format!(
            "`{figure}` is none of the figures {}{}",
            names.join(", "),
            did_you_mean(&near)
        ));
    };
    let limit = limit.trim_start_matches('=').trim();
    let below = if figure == FAILED { share(limit) } else { time_us(limit) };
    let below = below.ok_or_else(|| {
        let form = if figure == FAILED {
            "a share such as 0.1%"
        } else {
            "a time such as 500us, 20ms or 1s"
        };
        format!("`{limit}` in `{text}` is not {form}")
    })?;
    Ok(SloCondition { figure, below, text: text.to_owned() })
}

fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

fn time_us(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let (_, us) = UNITS_US.into_iter().find(|(known, _)| *known == unit.trim())?;
    let time = number.parse::<f64>().ok()? * us;
    (time.is_finite() && time > 0.0).then_some(time)
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> =
            self.conditions.iter().map(|condition| condition.text.as_str()).collect();
        f.write_str(&texts.join(","))
    }
}

impl TryFrom<String> for Slo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> Self {
        slo.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, LatencyFigures};

    #[test]
    fn conditions_are_read_and_judged() {
        let slo: Slo = "p99<20ms, max < 1s,failed<0.5%,p99.9<=30000us".parse().unwrap();
        let response = LatencyFigures {
            response_us_p99: Some(19_000.0),
            response_us_p999: Some(29_000.0),
            response_us_max: Some(500_000.0),
            ..LatencyFigures::default()
        };
        let counts = Counts { ok: 1000, failed: 2, ..Counts::default() };
        let mut measured = Measured { counts, response, ..Measured::default() };
        assert_eq!(slo.broken_by(&measured), None);
        measured.response.response_us_max = Some(2_500_000.0);
        assert_eq!(slo.broken_by(&measured).unwrap(), "max < 1s: max was 2500.000 ms");
        measured.response.response_us_max = None;
        assert!(slo.broken_by(&measured).unwrap().contains("was not measured"));
        measured.response.response_us_max = Some(1.0);
        measured.counts.failed = 10;
        assert!(slo.broken_by(&measured).unwrap().contains("failed was 0.990 %"));
        assert_eq!(slo.to_string().parse::<Slo>().unwrap(), slo);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expect) in [
            ("", "FIGURE<LIMIT"),
            ("p99>1s", "FIGURE<LIMIT"),
            ("p98<1s", "did you mean"),
            ("p99<1", "`1` in `p99<1` is not a time"),
            ("p99<1 parsec", "not a time"),
            ("p99<0s", "not a time"),
            ("p99<-1s", "not a time"),
            ("failed<1s", "not a share"),
        ] {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }
}
