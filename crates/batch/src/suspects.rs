//! Sources whose rows were refused lately: their rows go apart from the others, so that dividing
//! their batches costs only themselves.

use std::collections::HashMap;
use std::time::Duration;

/// A source is apart for so long after its first refused row; each further one doubles it.
const SHORTEST: Duration = Duration::from_secs(1);
const STRIKES_MAX: u32 = 6;
/// A source without a refused row for so long begins anew.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(2);
/// More sources than that are not remembered: the oldest one is forgotten.
const SOURCES_MAX: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Suspect {
    strikes: u32,
    last: Duration,
    until: Duration,
}

/// All times are since any common start.
#[derive(Debug, Default)]
pub(crate) struct SuspectSources(HashMap<u64, Suspect>);

impl SuspectSources {
    /// A row of this source was refused, or cost others time.
    pub(crate) fn blame(&mut self, source: u64, now: Duration) {
        if self.0.len() >= SOURCES_MAX && !self.0.contains_key(&source) {
            self.forget_one(now);
        }
        let suspect = self.0.entry(source).or_insert(Suspect { strikes: 0, last: now, until: now });
        if now.saturating_sub(suspect.last) > FORGOTTEN_AFTER {
            suspect.strikes = 0;
        }
        let until = now + SHORTEST * 2_u32.pow(suspect.strikes);
        *suspect = Suspect { strikes: (suspect.strikes + 1).min(STRIKES_MAX), last: now, until };
    }

    pub(crate) fn is_suspect(&self, source: u64, now: Duration) -> bool {
        self.0.get(&source).is_some_and(|suspect| now < suspect.until)
    }

    fn forget_one(&mut self, now: Duration) {
        self.0.retain(|_, suspect| now.saturating_sub(suspect.last) <= FORGOTTEN_AFTER);
        let oldest =
            self.0.iter().min_by_key(|(_, suspect)| suspect.last).map(|(source, _)| *source);
        if let Some(oldest) = oldest.filter(|_| self.0.len() >= SOURCES_MAX) {
            self.0.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_source_is_apart_for_longer_each_time() {
        let mut sources = SuspectSources::default();
        assert!(!sources.is_suspect(7, SECOND));
        sources.blame(7, SECOND);
        assert!(sources.is_suspect(7, SECOND) && !sources.is_suspect(8, SECOND));
        assert!(!sources.is_suspect(7, 2 * SECOND));
        sources.blame(7, 2 * SECOND);
        assert!(sources.is_suspect(7, 3 * SECOND) && !sources.is_suspect(7, 4 * SECOND));
        for _ in 0..20 {
            sources.blame(7, 4 * SECOND);
        }
        assert!(!sources.is_suspect(7, 69 * SECOND));
        sources.blame(7, 200 * SECOND);
        assert!(!sources.is_suspect(7, 201 * SECOND), "what was long ago does not count");
    }

    #[test]
    fn memory_is_bounded() {
        let mut sources = SuspectSources::default();
        for source in 0..3 * SOURCES_MAX as u64 {
            sources.blame(source, Duration::from_millis(source));
        }
        assert_eq!(sources.0.len(), SOURCES_MAX);
        assert!(sources.0.contains_key(&(3 * SOURCES_MAX as u64 - 1)));
    }
}
