//! A number of transactions that ends the measure phase.

/// Ends the measure phase after a number of transactions, if that is sooner than its length.
///
/// Transactions that end in the measure phase count, successful or not; a retried transaction
/// counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Total of all clients; how it is distributed over them is left to chance.
    ///
    /// In a closed loop, transactions in flight when the last one ends are counted as well, since
    /// clients do not stop before the end: there may be more. In an open loop the schedule ends
    /// after this number of starts (including starts that a warm-up left waiting or in flight), and
    /// the phase ends when all of them have ended: there are never more. Skipped starts, and starts
    /// left waiting when all clients are lost, are included.
    Together(u64),
    /// Total, split between the clients beforehand as evenly as possible: never exceeded. A client
    /// that has finished its share stays connected and starts nothing more; the phase ends when all
    /// clients have finished or are permanently lost. The remaining share of a lost client is
    /// dropped, and counted nowhere.
    ///
    /// For a closed loop: in an open one a free client takes the next start.
    Each(u64),
}

impl Quota {
    /// The share of client number `client` of `clients`; `None`: it has no share of its own.
    pub fn share(self, client: u32, clients: u32) -> Option<u64> {
        let Self::Each(all) = self else { return None };
        let clients = u64::from(clients.max(1));
        Some(all / clients + u64::from(u64::from(client) < all % clients))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_are_all() {
        let shares = |all, clients| -> Vec<_> {
            (0..clients).map(|client| Quota::Each(all).share(client, clients).unwrap()).collect()
        };
        assert_eq!(shares(10, 4), [3, 3, 2, 2]);
        assert_eq!(shares(8, 4), [2, 2, 2, 2]);
        assert_eq!(shares(2, 3), [1, 1, 0]);
        assert_eq!(shares(0, 2), [0, 0]);
        assert_eq!(shares(u64::MAX, 1), [u64::MAX]);
        assert_eq!(shares(1_000_003, 17).iter().sum::<u64>(), 1_000_003);
        assert_eq!(Quota::Together(10).share(0, 4), None);
    }
}
