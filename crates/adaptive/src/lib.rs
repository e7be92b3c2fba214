//! Experiments that choose what to measure next from what was measured.
//!
//! An [`AdaptiveQuestion`] decides which points are measured, in which order, and what their
//! results say. It knows no servers: it asks a [`Source`] for the results of each [`Batch`]. A
//! laboratory measures them, a `Tape` has them from a record, and a simulation computes them.
//!
//! *Invariant:* no clock, no file, no network. The same question and the same results always lead
//! to the same batches and findings: resuming, and every report of a folder, depend on it.

/// What is asked. It has all that decides about batches and findings, except results.
pub trait AdaptiveQuestion: Sized {
    /// What one trial measures.
    type Point: Copy + PartialEq;
    /// What one trial gave.
    type Reading: Copy;
    /// What a batch is measured for.
    type Stage;
    /// What is known.
    type Findings;

    /// Goes on as far as the source has results.
    fn investigate(&self, source: &mut dyn Source<Self>) -> Self::Findings;

    /// The findings that recorded results lead to, in their order.
    fn replay(&self, results: Vec<(Self::Point, Option<Self::Reading>)>) -> Replayed<Self> {
        let mut tape = Tape::<Self>::new(results);
        let findings = self.investigate(&mut tape);
        Replayed { findings, is_foreign: tape.is_foreign }
    }
}

/// Points to measure one after the other, in this order: a block, within which the machine is taken
/// to be the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<Q: AdaptiveQuestion> {
    pub stage: Q::Stage,
    pub points: Vec<Q::Point>,
    /// Trials of this stage that are planned with this batch and after it; later stages may add
    /// more.
    pub planned: usize,
}

/// Measures points, or knows their results.
pub trait Source<Q: AdaptiveQuestion> {
    /// The result for each point of the batch, in its order; `None` for a trial that gave none. In
    /// place of a list, `None` ends the experiment with what is known.
    fn run(&mut self, batch: &Batch<Q>, so_far: &Q::Findings) -> Option<Vec<Option<Q::Reading>>>;
}

/// The source has ended the experiment: the findings are up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// What a record leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed<Q: AdaptiveQuestion> {
    pub findings: Q::Findings,
    /// Whether other points were asked for than were recorded: the record is of another version, or
    /// was edited.
    pub is_foreign: bool,
}

/// The results of an earlier experiment. It ends where they end.
struct Tape<Q: AdaptiveQuestion> {
    results: std::vec::IntoIter<(Q::Point, Option<Q::Reading>)>,
    is_foreign: bool,
}

impl<Q: AdaptiveQuestion> Tape<Q> {
    fn new(results: Vec<(Q::Point, Option<Q::Reading>)>) -> Self {
        Self { results: results.into_iter(), is_foreign: false }
    }
}

impl<Q: AdaptiveQuestion> Source<Q> for Tape<Q> {
    fn run(&mut self, batch: &Batch<Q>, _: &Q::Findings) -> Option<Vec<Option<Q::Reading>>> {
        let mut known = Vec::new();
        for wanted in &batch.points {
            let (point, reading) = self.results.next()?;
            if point != *wanted {
                self.is_foreign = true;
                return None;
            }
            known.push(reading);
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts to the largest point, two at a time; its findings are what it has heard.
    #[derive(Debug, PartialEq)]
    struct Count(u32);

    impl AdaptiveQuestion for Count {
        type Point = u32;
        type Reading = bool;
        type Stage = ();
        type Findings = Vec<Option<bool>>;

        fn investigate(&self, source: &mut dyn Source<Self>) -> Vec<Option<bool>> {
            let mut heard = Vec::new();
            for first in (0..self.0).step_by(2) {
                let batch = Batch { stage: (), points: vec![first, first + 1], planned: 2 };
                let Some(results) = source.run(&batch, &heard) else { break };
                heard.extend(results);
            }
            heard
        }
    }

    #[test]
    fn a_record_is_replayed_as_far_as_it_is_the_questions() {
        let check = |points: &[u32], heard: usize, is_foreign: bool| {
            let results = points.iter().map(|point| (*point, (*point != 1).then_some(true)));
            let replayed = Count(4).replay(results.collect());
            let all = [Some(true), None, Some(true), Some(true)];
            let expect = Replayed { findings: all[..heard].to_vec(), is_foreign };
            assert_eq!(replayed, expect, "{points:?}");
        };
        check(&[0, 1, 2, 3], 4, false);
        check(&[0, 1, 2], 2, false);
        check(&[], 0, false);
        check(&[0, 1, 3, 2], 2, true);
        check(&[0, 2], 0, true);
    }
}
