//! Figures that no measurement can have: a folder may have been edited by hand, and one such number would spoil every mean
//! that it goes into.

use serde::Serialize;
use serde_json::Value;

use crate::{Interval, ProbeSample, Trial};

/// Whole numbers up to here are exact as floating-point ones; nothing that is counted or timed comes near it.
const FIGURE_MAX: f64 = 9e15;

impl Trial {
    /// Names the first measured figure that cannot be true.
    pub(crate) fn check(&self) -> Result<(), String> {
        first_wrong("measured", &self.measured)
    }
}

impl ProbeSample {
    /// A reading may have been made before the first transaction.
    pub(crate) fn is_possible(&self) -> bool {
        self.at_ms.abs() <= FIGURE_MAX && !is_wrong(self.took_ms)
    }
}

impl Interval {
    /// Names the first figure that cannot be true.
    pub(crate) fn check(&self) -> Result<(), String> {
        let response = &self.response;
        let times = [
            ("start_ms", Some(self.start_ms)),
            ("length_ms", Some(self.length_ms)),
            ("tps", Some(self.tps)),
            ("ok", Some(self.counts.ok as f64)),
            ("response_us_mean", response.response_us_mean),
            ("response_us_p50", response.response_us_p50),
            ("response_us_p95", response.response_us_p95),
            ("response_us_p99", response.response_us_p99),
            ("response_us_p999", response.response_us_p999),
            ("response_us_max", response.response_us_max),
        ];
        let wrong =
            times.into_iter().find_map(|(name, value)| value.filter(|value| is_wrong(*value)).map(|v| (name, v)));
        if let Some((name, value)) = wrong {
            return Err(said(name, value));
        }
        first_wrong("gaps", &self.gaps)?;
        first_wrong("open_loop", &self.open_loop)
    }
}

fn is_wrong(value: f64) -> bool {
    !(0.0..=FIGURE_MAX).contains(&value)
}

fn said(name: &str, value: f64) -> String {
    // Without an exponent 1e308 is 309 digits.
    let text = if value.abs() > FIGURE_MAX { format!("{value:e}") } else { value.to_string() };
    format!("{name} is {text}: nothing that was measured can be")
}

fn first_wrong(name: &str, part: &impl Serialize) -> Result<(), String> {
    let value = serde_json::to_value(part).map_err(|error| error.to_string())?;
    walk(name, &value)
}

fn walk(name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            number.as_f64().filter(|value| is_wrong(*value)).map_or(Ok(()), |v| Err(said(name, v)))
        }
        Value::Array(list) => list.iter().try_for_each(|one| walk(name, one)),
        Value::Object(fields) => fields.iter().try_for_each(|(field, one)| walk(&format!("{name}.{field}"), one)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: &str = r#"{"phase": "measure", "start_ms": 0.0, "length_ms": 1000.0, "carried_in": 0, "started": 5,
        "ok": 5, "failed": 0, "in_flight": 0, "statements": 5, "tps": 5.0, "response_us_mean": null,
        "response_us_p50": 1.0, "response_us_p95": null, "response_us_p99": 2.0, "response_us_p999": null,
        "response_us_max": 3.0, "gaps": [{"start_ms": 4.0, "length_ms": 100.0}]}"#;

    fn check(from: &str, to: &str, expect: Option<&str>) {
        let interval: Interval = serde_json::from_str(&INTERVAL.replace(from, to)).unwrap();
        let expect = expect.map(|start| format!("{start}: nothing that was measured can be"));
        assert_eq!(interval.check().err(), expect, "{to}");
    }

    #[test]
    fn figures_that_cannot_be_are_named() {
        check("", "", None);
        check("\"tps\": 5.0", "\"tps\": -5.0", Some("tps is -5"));
        check("\"tps\": 5.0", "\"tps\": 1e300", Some("tps is 1e300"));
        check("p99\": 2.0", "p99\": -0.5", Some("response_us_p99 is -0.5"));
        check("\"ok\": 5", "\"ok\": 18446744073709551615", Some("ok is 1.8446744073709552e19"));
        check("\"length_ms\": 100.0", "\"length_ms\": -1.0", Some("gaps.length_ms is -1"));
    }
}
