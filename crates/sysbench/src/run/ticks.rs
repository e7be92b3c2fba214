//! Periodic times: when reports are due.

/// Moments at equal distances, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    zero_ns: u64,
    every_ns: u64,
    number: u64,
}

impl Ticks {
    /// The first one is `every_ns` after `zero_ns`; there are none where that is 0.
    pub(crate) fn new(zero_ns: u64, every_ns: u64) -> Self {
        Self { zero_ns, every_ns, number: 1 }
    }

    /// u64::MAX: there is none.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.every_ns == 0 {
            u64::MAX
        } else {
            self.zero_ns.saturating_add(self.number.saturating_mul(self.every_ns))
        }
    }

    /// Whether one is due. Several missed ones count as one.
    pub(crate) fn advance_if_due(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns() {
            return false;
        }
        self.number = now_ns.saturating_sub(self.zero_ns) / self.every_ns + 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_was_missed_is_made_up_for_once() {
        let mut ticks = Ticks::new(100, 10);
        assert!(!ticks.advance_if_due(109));
        assert!(ticks.advance_if_due(110) && !ticks.advance_if_due(111));
        assert!(ticks.advance_if_due(145) && !ticks.advance_if_due(146));
        assert_eq!(ticks.next_ns(), 150);
        assert!(!Ticks::new(0, 0).advance_if_due(u64::MAX - 1));
    }
}
