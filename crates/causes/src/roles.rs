//! What a cause is in the answer: its share, its effects, and the role that these support.

use crate::cells::{CellMeans, Noise};
use crate::confirming::{UnitShare, share_terms, together};
use crate::findings::{Cause, CauseRole};
use crate::interval::{LogEstimate, LogInterval, MISSED};
use crate::investigation::Investigation;
use crate::mixture::Mixture;

/// Chance that a role is named where a cause is at the border of two roles.
const ROLE_ALPHA: f64 = 0.3;
/// An effect below this part of another one is small beside it.
const SMALL_SHARE: f64 = 0.5;

impl Investigation<'_> {
    pub(crate) fn sort_causes(&mut self) {
        let causes = &mut self.findings.causes;
        causes.sort_by(|one, other| other.share.value.abs().total_cmp(&one.share.value.abs()));
    }

    /// A unit that is one of these causes.
    pub(crate) fn cause(
        &self,
        one: &UnitShare,
        units: &[Mixture],
        causes: &[Mixture],
        means: &CellMeans,
        noise: Noise,
    ) -> Cause {
        let of_gap = [(self.b(), 1.0), (Mixture::A, -1.0)];
        let level = MISSED / causes.len() as f64;
        let terms = share_terms(one.unit, units);
        let mut cause = Cause {
            factor: one.unit.factors().next().expect("a unit has a factor"),
            share: one.share.joint_interval(causes.len()),
            part: means.ratio(&terms, &of_gap, noise, level),
            is_of_fresh_trials: false,
            alone: means.step(Mixture::A, one.unit, noise).map(|step| step.interval()),
            last: None,
            role: CauseRole::NotKnown,
        };
        if causes.len() == 1 {
            cause.role = self.single_role(&cause.share, means, noise);
            return cause;
        }
        // Of many units not every mixture is measured.
        let ends = [together(causes), together(units)];
        let last = ends.into_iter().find_map(|all| {
            let ends = [(all, 1.0), (all.without(one.unit), -1.0)];
            means.contrast(&ends, noise).map(|step| (ends, step.interval()))
        });
        if let Some((last_terms, last)) = last {
            cause.last = Some(last);
            cause.role = self.role(&cause.share, one.unit, &last_terms, means, noise);
        }
        cause
    }

    /// The role of one of several causes, as far as the intervals of its effects as the first and
    /// as the last one tell it.
    fn role(
        &self,
        share: &LogInterval,
        unit: Mixture,
        last: &[(Mixture, f64)],
        means: &CellMeans,
        noise: Noise,
    ) -> CauseRole {
        if self.is_opposite(share) {
            return CauseRole::Opposite;
        }
        let alone = [(unit, 1.0), (Mixture::A, -1.0)];
        let direction = share.value.signum();
        let of_last = exceeds(&alone, last, direction, means, noise);
        let of_alone = exceeds(last, &alone, direction, means, noise);
        match (of_last, of_alone) {
            (Some(false), Some(true)) => CauseRole::OnlyTogether,
            (Some(true), Some(false)) => CauseRole::EitherAlone,
            (Some(true), Some(true)) => CauseRole::Part,
            _ => CauseRole::NotKnown,
        }
    }

    /// The role of the only cause: both remainders tell a whole from a part.
    fn single_role(&self, share: &LogInterval, means: &CellMeans, noise: Noise) -> CauseRole {
        if self.is_opposite(share) {
            return CauseRole::Opposite;
        }
        let with = self.findings.closures.with;
        let ends = [(self.b(), with), (Mixture::A, self.b().without(with))];
        let rests = ends.map(|(from, to)| means.step(from, to, noise));
        let [Some(rest), Some(without)] = rests else { return CauseRole::NotKnown };
        if self.is_open(&rest) {
            CauseRole::Part
        } else if self.is_below_half(&rest) && self.is_below_half(&without) {
            CauseRole::Sufficient
        } else {
            CauseRole::NotKnown
        }
    }

    /// Whether a remainder is less than half of the difference.
    fn is_below_half(&self, rest: &LogEstimate) -> bool {
        rest.value.abs() + rest.half_width(ROLE_ALPHA) < self.gap() * SMALL_SHARE
    }

    fn is_opposite(&self, share: &LogInterval) -> bool {
        self.findings.gap.is_some_and(|gap| gap.value * share.value < 0.0)
    }
}

/// Whether one effect is more than its part of another one, in this direction. `None`: the two are
/// too near to each other for their noise.
fn exceeds(
    one: &[(Mixture, f64)],
    other: &[(Mixture, f64)],
    direction: f64,
    means: &CellMeans,
    noise: Noise,
) -> Option<bool> {
    let one = one.iter().map(|(at, weight)| (*at, weight * direction));
    let other = other.iter().map(|(at, weight)| (*at, -weight * direction * SMALL_SHARE));
    let step = means.contrast(&one.chain(other).collect::<Vec<_>>(), noise)?;
    step.differs(ROLE_ALPHA).then_some(step.value > 0.0)
}
