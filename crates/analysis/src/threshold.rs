//! `--fail-if 'tps<-5%'`: a bound that a change must not cross, for scripts.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use truetps_record::Estimate;

use crate::compare::{ComparedLine, Comparison};
use crate::effect::ALPHA;
use crate::figure::Figure;
use crate::judge::Judgement;

/// A relative change of a figure, b over a, that is too much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    figure: Figure,
    is_below: bool,
    /// -0.05: five percent less.
    share: f64,
}

/// Whether a threshold was crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdState {
    /// The estimate is beyond it, and it is shown that something changed (or, of a gain that was
    /// asked for, that it has not come).
    Crossed,
    /// The whole interval is on its good side.
    Kept,
    /// Neither: too few trials, or too much noise.
    Unsure,
    /// A side does not have the figure.
    NoFigure,
    /// It is known of both sides only that the figure is under what is recorded.
    Bound,
    /// It is not known of both sides what a commit survives.
    DurabilityUnknown,
}

impl Threshold {
    /// What the comparison says of it. `of` thresholds are judged at once, in all comparisons
    /// together: with a share of the chance each (Bonferroni), nothing that did not change crosses
    /// any of them more often than once in 20. "All are kept" needs no share: it is wrong only
    /// where each of the broken ones is wrong.
    pub fn state(&self, comparison: &Comparison, of: usize) -> ThresholdState {
        let Some(line) = comparison.line(self.figure) else { return ThresholdState::NoFigure };
        if line.is_bound() {
            return self.judge_bound(line);
        }
        let (Some(a), Some(b)) = (line.a, line.b) else { return ThresholdState::NoFigure };
        let estimates = line.estimate_at(ALPHA).zip(line.estimate_at(ALPHA / of.max(1) as f64));
        let Some((usual, strict)) = estimates else { return ThresholdState::NoFigure };
        let (no_change, bound) = match line.is_ratio {
            true => (1.0, 1.0 + self.share),
            // Nothing on both sides: any more than that is too much.
            false if a == 0.0 && b == 0.0 => (0.0, 0.0),
            false => (0.0, self.share * a),
        };
        self.judge(&usual, &strict, no_change, bound)
    }

    /// From a side that has gaps of which none is recorded on the other one.
    fn judge_bound(&self, line: &ComparedLine) -> ThresholdState {
        let bound = 1.0 + self.share;
        let is_more = matches!(line.change, Judgement::Higher)
            && line.ratio_at_least().is_some_and(|ratio| ratio > bound);
        let is_less = matches!(line.change, Judgement::Lower)
            && line.ratio_at_most().is_some_and(|ratio| ratio < bound);
        match (is_more, is_less) {
            (true, _) if self.is_below => ThresholdState::Kept,
            (_, true) if !self.is_below => ThresholdState::Kept,
            (false, false) if line.a_under.is_some() && line.b_under.is_some() => {
                ThresholdState::Bound
            }
            (false, false) => ThresholdState::Unsure,
            _ => ThresholdState::Crossed,
        }
    }

    fn judge(
        &self,
        usual: &Estimate,
        strict: &Estimate,
        no_change: f64,
        bound: f64,
    ) -> ThresholdState {
        let [usual_ends, strict_ends] = [usual, strict].map(|one| one.low.zip(one.high));
        let Some(((low, high), (strict_low, strict_high))) = usual_ends.zip(strict_ends) else {
            return ThresholdState::Unsure;
        };
        // `tps<5%` asks for a gain: that one has to be missed for sure, where `tps<-5%` needs a
        // loss for sure.
        let (is_beyond, is_shown, is_kept) = if self.is_below {
            (usual.value < bound, strict_high < no_change.max(bound), low >= bound)
        } else {
            (usual.value > bound, strict_low > no_change.min(bound), high <= bound)
        };
        if is_beyond && is_shown {
            ThresholdState::Crossed
        } else if is_kept {
            ThresholdState::Kept
        } else {
            ThresholdState::Unsure
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// `NAME<PERCENT%` or `NAME>PERCENT%`, such as `tps<-5%`.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "is neither `durability` nor of the form NAME<PERCENT% or \
                            NAME>PERCENT%, such as tps<-5%";
        let at = text.find(['<', '>']).ok_or(FORM)?;
        let (name, percent) = (text[..at].trim(), text[at + 1..].trim());
        let number = percent.strip_suffix('%').ok_or(FORM)?.trim();
        let percent: f64 =
            number.parse().ok().filter(|percent: &f64| percent.is_finite()).ok_or(FORM)?;
        if percent <= -100.0 {
            return Err(format!("no figure can fall by {} % or more", -percent));
        }
        let figure = Figure::compared()
            .find(|figure| figure.key() == name || figure.short_key() == Some(name));
        let figure = figure.ok_or_else(|| {
            let words: Vec<_> = Figure::compared()
                .map(|figure| figure.short_key().unwrap_or(figure.key()))
                .collect();
            format!("unknown figure `{name}`; known: {}", words.join(", "))
        })?;
        Ok(Self { figure, is_below: text[at..].starts_with('<'), share: percent / 100.0 })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_below { '<' } else { '>' };
        // Percent as they were typed: 0.07 * 100 is not quite 7.
        let percent = (self.share * 1e8).round() / 1e6;
        write!(f, "{}{sign}{percent}%", self.figure.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str, value: f64, low: f64, high: f64) -> ThresholdState {
        let threshold: Threshold = text.parse().unwrap();
        let estimate = Estimate { value, low: Some(low), high: Some(high), n: 5 };
        threshold.judge(&estimate, &estimate, 1.0, 1.0 + threshold.share)
    }

    #[test]
    fn states() {
        use ThresholdState::{Crossed, Kept, Unsure};
        let check = |text: &str, (value, low, high), expect| {
            assert_eq!(state(text, value, low, high), expect, "{text}");
        };
        check("tps<-5%", (0.90, 0.88, 0.92), Crossed);
        check("tps<-5%", (0.94, 0.85, 0.99), Crossed);
        check("tps<-5%", (0.94, 0.80, 1.05), Unsure);
        check("tps<-5%", (0.99, 0.96, 1.02), Kept);
        check("tps<-5%", (0.97, 0.94, 1.00), Unsure);
        check("p99>10%", (1.30, 1.20, 1.40), Crossed);
        check("p99>10%", (1.00, 0.95, 1.09), Kept);
        // A gain that was asked for and did not come.
        check("tps<5%", (1.01, 0.98, 1.04), Crossed);
        check("tps<5%", (1.10, 1.07, 1.13), Kept);
        check("tps<5%", (1.01, 0.90, 1.12), Unsure);
        let threshold: Threshold = "tps<-5%".parse().unwrap();
        let one = Estimate { value: 0.5, low: None, high: None, n: 1 };
        assert_eq!(threshold.judge(&one, &one, 1.0, 0.95), Unsure);
        // Shown for itself alone, and not as one of many.
        let estimate = |low, high| Estimate { value: 0.94, low: Some(low), high: Some(high), n: 5 };
        assert_eq!(
            threshold.judge(&estimate(0.89, 0.99), &estimate(0.85, 1.03), 1.0, 0.95),
            Unsure
        );
    }

    #[test]
    fn words() {
        let check = |text: &str, expect: &str| {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), expect);
        };
        check("tps<-5%", "tps<-5%");
        check(" p99 > 7 %", "response_us_p99>7%");
        check("redo_syncs_per_tx>2.5%", "redo_syncs_per_tx>2.5%");
        let wrong = |text: &str, part: &str| {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        wrong("tps", "nor of the form");
        wrong("tps<-5", "nor of the form");
        wrong("tps<x%", "nor of the form");
        wrong("qps<-5%", "unknown figure `qps`; known: tps, rows_changed_per_s, p99, max_gap");
        wrong("tps<-150%", "no figure can fall by 150 %");
    }
}
