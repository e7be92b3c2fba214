//! How many threads there are, and how they wait.

use truetps_measure::{Pacing, RateOf};
use truetps_record::DriveMode;

/// Up to this many clients of a closed loop get a thread each. Measured beside sysbench,
/// `docs/decisions/0006-drive-mode.md`.
const BLOCKING_CLIENTS_MAX: u32 = 2;

/// If all clients share one schedule, each worker has its share of the starts, and a start waits
/// for a client of its own worker. With few clients a worker, it would wait although a client of
/// another worker is free.
const POOL_CLIENTS_A_WORKER_MIN: u32 = 64;

/// Threads of a run. A worker of a blocking run has one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threads {
    pub(crate) workers: u32,
    pub(crate) is_blocking: bool,
}

impl Threads {
    /// `workers` is the maximum for a multiplexed run; it never has more workers than clients.
    pub(crate) fn choose(mode: DriveMode, pacing: &Pacing, clients: u32, workers: u32) -> Self {
        let is_pool = matches!(pacing, Pacing::Open(open) if open.of == RateOf::All);
        let is_blocking = match mode {
            DriveMode::Blocking => !is_pool,
            DriveMode::Multiplexed => false,
            DriveMode::Auto => *pacing == Pacing::Closed && clients <= BLOCKING_CLIENTS_MAX,
        };
        let clients = clients.max(1);
        let most = if is_pool { (clients / POOL_CLIENTS_A_WORKER_MIN).max(1) } else { clients };
        Self { workers: if is_blocking { clients } else { workers.clamp(1, most) }, is_blocking }
    }

    pub(crate) fn mode(self) -> DriveMode {
        if self.is_blocking { DriveMode::Blocking } else { DriveMode::Multiplexed }
    }
}

#[cfg(test)]
mod tests {
    use truetps_measure::{OpenPacing, Rate};
    use truetps_record::Spacing;

    use super::*;

    #[test]
    fn few_clients_of_a_closed_loop_block() {
        let choose = |mode, clients| Threads::choose(mode, &Pacing::Closed, clients, 4);
        assert_eq!(choose(DriveMode::Auto, 2), Threads { workers: 2, is_blocking: true });
        assert_eq!(choose(DriveMode::Auto, 100), Threads { workers: 4, is_blocking: false });
        assert_eq!(choose(DriveMode::Multiplexed, 2), Threads { workers: 2, is_blocking: false });
        assert_eq!(choose(DriveMode::Blocking, 100), Threads { workers: 100, is_blocking: true });
        let open = Pacing::Open(OpenPacing {
            rate: Rate::constant(10.0),
            of: RateOf::All,
            spacing: Spacing::Constant,
            latency_limit: None,
            seed: 1,
        });
        let pool = |mode, clients| Threads::choose(mode, &open, clients, 4);
        assert_eq!(pool(DriveMode::Auto, 1), Threads { workers: 1, is_blocking: false });
        assert_eq!(pool(DriveMode::Blocking, 100), Threads { workers: 1, is_blocking: false });
        assert_eq!(pool(DriveMode::Auto, 200), Threads { workers: 3, is_blocking: false });
    }
}
