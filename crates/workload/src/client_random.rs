//! The random values of one client.

use truetps_random::RandomStream;

/// The random values of one client. Each transaction has its own stream, so that transaction number
/// `n` does not depend on the ones before it, and can be repeated.
#[derive(Debug, Clone)]
pub(crate) struct ClientRandom {
    /// The client's number.
    pub(crate) client: u32,
    starts: RandomStream,
    /// The stream as it was when the transaction began.
    start: RandomStream,
    pub(crate) stream: RandomStream,
    begun: u64,
}

impl ClientRandom {
    pub(crate) fn new(seed: u64, client: u32) -> Self {
        let mut starts = RandomStream::new(seed, u64::from(client));
        let start = starts.split();
        Self { client, starts, stream: start.clone(), start, begun: 0 }
    }

    pub(crate) fn next_transaction(&mut self) {
        self.start = self.starts.split();
        self.stream = self.start.clone();
        self.begun += 1;
    }

    pub(crate) fn rewind(&mut self) {
        self.stream = self.start.clone();
    }

    /// Transactions that this client began before this one.
    pub(crate) fn number(&self) -> u64 {
        self.begun.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_does_not_depend_on_how_much_of_the_one_before_was_used() {
        let (mut all, mut little) = (ClientRandom::new(5, 1), ClientRandom::new(5, 1));
        for n in 0..100 {
            all.next_transaction();
            little.next_transaction();
            assert_eq!((all.number(), little.number()), (n, n));
            let first = all.stream.next_u64();
            assert_eq!(first, little.stream.next_u64());
            (0..n).for_each(|_| assert_ne!(all.stream.next_u64(), first));
            all.rewind();
            assert_eq!(all.stream.next_u64(), first);
        }
    }
}
