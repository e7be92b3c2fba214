//! Finds clients that hold the thread of other clients.

use truetps_measure::ThreadUse;

/// A client that computes or waits for longer without a statement holds its thread.
pub(super) const HOLDS_MS_MAX: u64 = 20;
const HOLDS_NS_MAX: u64 = HOLDS_MS_MAX * 1_000_000;
/// Turns that are measured after a long one.
const MEASURED: u32 = 4096;

/// A turn may be long because the thread had no core. Whether it had one is read for a while after
/// the first long turn: an event that holds its thread is not the only one of its kind.
#[derive(Debug, Default)]
pub(super) struct LongTurns {
    usage: Option<ThreadUse>,
    left: u32,
}

impl LongTurns {
    pub(super) fn begin(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            self.usage.get_or_insert_with(ThreadUse::new).since_last();
        }
    }

    /// A turn of this length ends. Whether it held the thread.
    pub(super) fn end(&mut self, held_ns: u64) -> bool {
        if held_ns <= HOLDS_NS_MAX {
            return false;
        }
        let waited_ns =
            self.usage.as_mut().filter(|_| self.left > 0).map(|usage| usage.since_last().wait_ns);
        if self.left == 0 {
            self.left = MEASURED;
        }
        waited_ns
            .is_some_and(|waited_ns| held_ns.saturating_sub(waited_ns.unwrap_or(0)) > HOLDS_NS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_turn_that_is_long_by_itself_is_found() {
        let mut turns = LongTurns::default();
        let mut turn = |held_ns| {
            turns.begin();
            turns.end(held_ns)
        };
        assert!(!turn(HOLDS_NS_MAX), "short");
        assert!(!turn(100 * HOLDS_NS_MAX), "nothing is known of the time before");
        assert!(!turn(1));
        assert!(
            turn(100 * HOLDS_NS_MAX),
            "the thread of this test did not wait for two seconds in between"
        );
    }
}
