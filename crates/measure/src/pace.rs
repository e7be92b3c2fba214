//! How starts are assigned to clients: right after the last end (closed loop), or by a schedule
//! (open loop).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use truetps_random::RandomStream;
use truetps_record::Spacing;

use crate::arrivals::{ArrivalStream, Rate, StartShare};
use crate::timeline::ns;

/// When transactions start.
#[derive(Debug, Clone, PartialEq)]
pub enum Pacing {
    /// A client's next transaction starts when its last one has ended.
    Closed,
    Open(OpenPacing),
}

impl Pacing {
    /// The most starts a second that one of `workers` workers, with this number of clients, makes
    /// by the clock; zero in a closed loop.
    pub fn starts_of(&self, clients: usize, workers: usize) -> f64 {
        match self {
            Self::Closed => 0.0,
            Self::Open(open) => {
                let rate = open.rate.from.max(open.rate.to);
                match open.of {
                    RateOf::All => rate / workers as f64,
                    RateOf::EachClient => rate * clients as f64,
                }
            }
        }
    }
}

/// An open loop: starts follow a schedule, independent of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenPacing {
    pub rate: Rate,
    pub of: RateOf,
    pub spacing: Spacing,
    /// A transaction that would start later than this after its scheduled start is skipped.
    pub latency_limit: Option<Duration>,
    /// Seed of the schedule's random gaps and phases.
    pub seed: u64,
}

/// What the rate applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOf {
    /// All clients together: a free client takes the next start. Each worker has its fair share of
    /// the starts, and enough clients for them.
    All,
    /// Each client has its own schedule.
    EachClient,
}

/// Stream numbers of schedules: far from the clients' numbers, which count from 0.
const POOL_STREAM: u64 = 1 << 62;
const CLIENT_STREAMS: u64 = 1 << 61;
/// Starts that are counted at a time: a schedule may be faster than a worker can count, and other
/// work must be done in between.
pub const ARRIVALS_MAX: u64 = 1 << 14;

/// One schedule. Waiting starts are not stored: the same schedule, read a second time from the last
/// start taken, gives their times. So a backlog of hours takes no memory.
pub struct ScheduleSource {
    coming: ArrivalStream,
    waiting: ArrivalStream,
    queued: u64,
}

impl ScheduleSource {
    fn new(arrivals: ArrivalStream) -> Self {
        Self { coming: arrivals.clone(), waiting: arrivals, queued: 0 }
    }

    /// Queues the starts before `until_ns` that `may_start` permits, at most `most`; returns their
    /// number.
    fn arrive(&mut self, until_ns: u64, most: u64, may_start: &mut impl FnMut() -> bool) -> u64 {
        let before = self.queued;
        while self.queued - before < most && self.coming.next_ns() < until_ns && may_start() {
            self.coming.advance();
            self.queued += 1;
        }
        self.queued - before
    }

    /// Takes the longest-waiting start; returns its scheduled time.
    fn pop_waiting(&mut self) -> Option<u64> {
        self.queued = self.queued.checked_sub(1)?;
        let scheduled_ns = self.waiting.next_ns();
        self.waiting.advance();
        Some(scheduled_ns)
    }
}

/// A worker's share of the pacing.
pub enum WorkerPace {
    Closed,
    Pool {
        source: ScheduleSource,
        /// Clients without a transaction, the longest-free first.
        free: VecDeque<u32>,
        limit_ns: u64,
    },
    EachClient {
        sources: Vec<ScheduleSource>,
        /// Next start of each client.
        due: BinaryHeap<Reverse<(u64, u32)>>,
        /// Clients whose queue has become non-empty.
        ready: VecDeque<u32>,
        limit_ns: u64,
    },
}

/// The answer to a request for a start.
pub struct ClaimedStart {
    pub scheduled_ns: Option<u64>,
    /// Starts that were skipped before it.
    pub skipped: u64,
}

impl WorkerPace {
    /// The pace of worker `worker` of `workers`, which has the clients with these numbers, of `all`
    /// clients.
    pub fn new(pacing: &Pacing, clients: &[u32], all: u32, worker: usize, workers: usize) -> Self {
        let Pacing::Open(open) = pacing else { return Self::Closed };
        let limit_ns = open.latency_limit.map_or(u64::MAX, ns);
        match open.of {
            RateOf::All => {
                let share = StartShare {
                    clients: all.into(),
                    workers: workers as u64,
                    worker: worker as u64,
                };
                let random = RandomStream::new(open.seed, POOL_STREAM);
                let arrivals =
                    ArrivalStream::new(open.rate, open.spacing, random, Some(share), 0.0);
                Self::Pool {
                    source: ScheduleSource::new(arrivals),
                    free: VecDeque::new(),
                    limit_ns,
                }
            }
            RateOf::EachClient => {
                let sources = clients.iter().map(|client| {
                    let random = RandomStream::new(open.seed, CLIENT_STREAMS + u64::from(*client));
                    let phase = f64::from(*client) / f64::from(all);
                    let arrivals = ArrivalStream::new(open.rate, open.spacing, random, None, phase);
                    ScheduleSource::new(arrivals)
                });
                let sources: Vec<_> = sources.collect();
                let due = sources
                    .iter()
                    .enumerate()
                    .map(|(slot, s)| Reverse((s.coming.next_ns(), slot as u32)));
                Self::EachClient { due: due.collect(), sources, ready: VecDeque::new(), limit_ns }
            }
        }
    }

    #[inline]
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Closed)
    }

    /// When the next start is scheduled.
    #[inline]
    pub fn next_due_ns(&self) -> u64 {
        match self {
            Self::Closed => u64::MAX,
            Self::Pool { source, .. } => source.coming.next_ns(),
            Self::EachClient { due, .. } => {
                due.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
            }
        }
    }

    /// Queues the starts that are scheduled before `until_ns`, at most `ARRIVALS_MAX`: then there
    /// may be more. Each needs the permission of `may_start`; if it refuses, the schedule is over.
    /// Returns how many were queued.
    pub fn arrive(&mut self, until_ns: u64, mut may_start: impl FnMut() -> bool) -> u64 {
        match self {
            Self::Closed => 0,
            Self::Pool { source, .. } => source.arrive(until_ns, ARRIVALS_MAX, &mut may_start),
            Self::EachClient { sources, due, ready, .. } => {
                let mut arrived = 0;
                while arrived < ARRIVALS_MAX
                    && let Some(Reverse((_, slot))) =
                        due.peek().copied().filter(|Reverse((at, _))| *at < until_ns)
                {
                    due.pop();
                    let source = &mut sources[slot as usize];
                    arrived += source.arrive(until_ns, ARRIVALS_MAX - arrived, &mut may_start);
                    let next_ns = source.coming.next_ns();
                    due.push(Reverse((next_ns, slot)));
                    ready.push_back(slot);
                    if next_ns < until_ns {
                        break;
                    }
                }
                arrived
            }
        }
    }

    /// A client that may have a start to make: check that it is free, then call
    /// [`Self::claim_start`].
    #[inline]
    pub fn next_candidate(&mut self) -> Option<u32> {
        match self {
            Self::Pool { source, free, .. } if source.queued > 0 => free.pop_front(),
            Self::Closed | Self::Pool { .. } => None,
            Self::EachClient { ready, .. } => ready.pop_front(),
        }
    }

    /// This client was free and has lost its connection: it is no candidate until it is free again.
    pub fn forget(&mut self, slot: usize) {
        if let Self::Pool { free, .. } = self {
            free.retain(|other| *other as usize != slot);
        }
    }

    /// The start that this free client has to make now.
    #[inline]
    pub fn claim_start(&mut self, slot: usize, now_ns: u64) -> ClaimedStart {
        let (source, limit_ns) = match self {
            Self::Closed => return ClaimedStart { scheduled_ns: Some(now_ns), skipped: 0 },
            Self::Pool { source, limit_ns, .. } => (source, *limit_ns),
            Self::EachClient { sources, limit_ns, .. } => (&mut sources[slot], *limit_ns),
        };
        let mut skipped = 0;
        while let Some(scheduled_ns) = source.pop_waiting() {
            if now_ns.saturating_sub(scheduled_ns) <= limit_ns {
                return ClaimedStart { scheduled_ns: Some(scheduled_ns), skipped };
            }
            skipped += 1;
        }
        if let Self::Pool { free, .. } = self {
            free.push_back(slot as u32);
        }
        ClaimedStart { scheduled_ns: None, skipped }
    }
}
