//! How long answers lay ready while other clients of their thread had their turns.

/// A thread that looked for answers for longer than this has slept until the first one came.
const SLEPT_NS: u64 = 20_000;

/// When answers arrived, as far as the thread can see: between its last two looks.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    earliest_ns: u64,
    latest_ns: u64,
}

impl Arrivals {
    /// The thread began to look for answers at `began_ns`, and has found some.
    pub(super) fn looked(&mut self, began_ns: u64, now_ns: u64) {
        let has_slept = now_ns.saturating_sub(began_ns) > SLEPT_NS;
        self.earliest_ns = if has_slept { now_ns } else { self.latest_ns };
        self.latest_ns = now_ns;
    }

    /// The shortest and the longest time that the answer to a statement of this time may have been
    /// ready.
    pub(super) fn ready_ns(&self, sent_ns: u64, now_ns: u64) -> (u64, u64) {
        (
            now_ns.saturating_sub(self.latest_ns),
            now_ns.saturating_sub(self.earliest_ns.max(sent_ns)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_answer_that_came_during_the_turn_of_another_client_was_ready() {
        let mut arrivals = Arrivals::default();
        arrivals.looked(10 * MS, 30 * MS);
        assert_eq!(arrivals.ready_ns(0, 30 * MS), (0, 0), "the thread slept until it came");
        assert_eq!(
            arrivals.ready_ns(0, 32 * MS),
            (2 * MS, 2 * MS),
            "the second one waits for the turn of the first"
        );
        // Two turns later, an answer is there at once.
        arrivals.looked(34 * MS, 34 * MS + 1);
        assert_eq!(arrivals.ready_ns(0, 34 * MS + 1), (0, 4 * MS + 1));
        assert_eq!(
            arrivals.ready_ns(33 * MS, 34 * MS + 1),
            (0, MS + 1),
            "not before its statement"
        );
        assert_eq!(arrivals.ready_ns(0, 37 * MS), (3 * MS - 1, 7 * MS));
    }
}
