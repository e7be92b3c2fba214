//! Questions that share one chance of a false claim, judged together.

use crate::effect::Effect;
use crate::figure::Figure;
use crate::holm::{FamilyTest, HolmResult, holm};
use crate::judge::{Judge, Judgement, Missing};

/// The figures that comparisons have a verdict on, with their parts of the chance of a false claim:
/// throughput has most of it, because it is what is asked; the other two explain it, and are given
/// what leaves that nearly untouched.
pub(crate) const JUDGED: [(Figure, f64); 3] =
    [(Figure::Tps, 1.0), (Figure::ResponseP99, 0.125), (Figure::ServerCpu, 0.125)];

/// One figure of one comparison.
pub(crate) struct Question {
    pub(crate) effect: Effect,
    /// Its part of the chance, relative to the others'.
    pub(crate) weight: f64,
    /// Smallest difference of interest, in the unit of the effect.
    pub(crate) margin: f64,
}

pub(crate) struct JudgedQuestion {
    pub(crate) change: Judgement,
    /// What a verdict lacks, where the 95 % interval excludes "no difference" and there is none.
    pub(crate) missing: Option<Missing>,
    /// The level of its test, or the level that its test has to reach.
    pub(crate) level: f64,
}

/// Judges all of them, with a chance of at most `alpha` that any difference is claimed that is not
/// there, and at most half of that that any is called equivalent that is not. `alpha_next` is what
/// the next look at more data may spend.
pub(crate) fn judge(questions: &[Question], alpha: f64, alpha_next: f64) -> Vec<JudgedQuestion> {
    let differing = holm_results(questions, alpha, |one, share| one.effect.p_value(share));
    let equivalent = holm_results(questions, alpha, |one, share| {
        one.effect.p_value_equivalent(share, one.margin)
    });
    let answers =
        questions.iter().zip(differing).zip(equivalent).map(|((one, differs), equals)| {
            let judge = Judge {
                differs: differs.rejected,
                is_equivalent: equals.rejected,
                level: differs.level,
                level_next: differs.level * alpha_next / alpha,
                margin: one.margin,
            };
            JudgedQuestion {
                change: judge.change(&one.effect),
                missing: judge.missing(&one.effect),
                level: differs.level,
            }
        });
    answers.collect()
}

/// `p_value`: for a test at the level that is the question's part of `alpha`.
fn holm_results(
    questions: &[Question],
    alpha: f64,
    p_value: impl Fn(&Question, f64) -> f64,
) -> Vec<HolmResult> {
    let all: f64 = questions.iter().map(|one| one.weight).sum();
    let tests = questions.iter().map(|one| FamilyTest {
        p_value: p_value(one, alpha * one.weight / all),
        weight: one.weight,
    });
    holm(&tests.collect::<Vec<_>>(), alpha)
}
