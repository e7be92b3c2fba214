//! The definition of a stall, during a run and afterwards.

/// A stall has less than this share of its baseline.
pub(crate) const STALL_SHARE: f64 = 0.3;
/// … in so many steps in a row: a single one is chance more often than not.
pub(crate) const STALL_STEPS: usize = 2;
/// A step (or a gap) is judged only where so many transactions were to be expected in it: with 20, chance alone leaves
/// fewer than 6 once in 14,000 steps, and twice in a row never.
pub(crate) const EXPECTED_MIN: f64 = 20.0;
/// Stalls this close to each other are one.
pub(crate) const MERGE_MS: f64 = 2.0 * truetps_record::BUCKET_MS;
/// Buckets are joined until a step has as many. All of these divide a second, which is what an interval has; longer steps are
/// no stall's measure.
pub(crate) const JOINED: [usize; 4] = [1, 2, 5, 10];
/// Fewer steps say nothing about what is usual.
pub(crate) const STEPS_MIN: usize = 10;
