//! Open connections, counted by peer. Where there are as many as there may be, a new one takes the
//! place of one that waits: of one that was silent since its start, else of one that is idle
//! between requests.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::room::{HeldRoom, PeerRoom, RoomKind, Rooms, peer_of, share};
use crate::HttpLimits;

/// A client that has just had its answer may be about to send its next row.
const IDLE_MIN: Duration = Duration::from_secs(1);
/// How many idle connections are compared to find one that may be replaced.
const COMPARED_MAX: usize = 64;
/// How many peers with idle connections are tried for it.
const PEERS_TRIED_MAX: usize = 64;
/// Connections that were replaced and have not ended yet: they still have their descriptors.
const LEAVING_MAX: usize = 16;

/// One connection, as its task, its requests and the list of all connections see it.
pub(super) struct PeerConnection {
    number: u64,
    peer: IpAddr,
    pub(super) room: Arc<PeerRoom>,
    start: Instant,
    requests: AtomicUsize,
    /// Milliseconds from the start until the last request had ended.
    waits_since_ms: AtomicU64,
    was_served: AtomicBool,
    is_replaced: Notify,
}

impl PeerConnection {
    /// Since when it has had no request; `None`: it has one.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let since = self.start + Duration::from_millis(self.waits_since_ms.load(Ordering::Relaxed));
        (self.requests.load(Ordering::Relaxed) == 0).then_some(since)
    }

    /// A number for its address.
    pub(super) fn peer_number(&self) -> u64 {
        match self.peer {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
        }
    }

    /// Until its place is needed for another one.
    pub(super) async fn replaced(&self) {
        self.is_replaced.notified().await;
    }

    /// Counts a request until its answer has been written. `None`: there are too many.
    pub(super) fn begin_request(self: &Arc<Self>) -> Option<UnansweredRequest> {
        let mut room = HeldRoom::new(&self.room, RoomKind::Requests);
        let has_room = room.grow(1);
        self.was_served.store(true, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let open = UnansweredRequest { connection: Arc::clone(self), _room: room };
        has_room.then_some(open)
    }
}

/// A request whose answer has not been written.
pub(super) struct UnansweredRequest {
    connection: Arc<PeerConnection>,
    _room: HeldRoom,
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection
            .waits_since_ms
            .store(connection.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        connection.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

type ByNumber = BTreeMap<u64, Arc<PeerConnection>>;

/// Connections of one peer, by their age.
#[derive(Default)]
struct PeerConnections {
    silent: ByNumber,
    served: ByNumber,
    /// Where the comparison of idle ones goes on.
    next: u64,
}

impl PeerConnections {
    fn count(&self) -> usize {
        self.silent.len() + self.served.len()
    }

    fn remove(&mut self, number: u64) -> bool {
        self.silent.remove(&number).or_else(|| self.served.remove(&number)).is_some()
    }

    /// Removes the one that is replaced.
    fn take_waiting(&mut self) -> Option<Arc<PeerConnection>> {
        while let Some((number, oldest)) = self.silent.pop_first() {
            if !oldest.was_served.load(Ordering::Relaxed) {
                return Some(oldest);
            }
            self.served.insert(number, oldest);
        }
        let compared: Vec<_> = self
            .served
            .range(self.next..)
            .chain(self.served.range(..self.next))
            .take(COMPARED_MAX)
            .collect();
        self.next = compared.last().map_or(0, |(number, _)| *number + 1);
        let idle = compared.iter().filter_map(|(number, one)| Some((one.waits_since()?, **number)));
        let (since, number) = idle.min()?;
        (since.elapsed() >= IDLE_MIN).then(|| self.served.remove(&number)).flatten()
    }
}

#[derive(Default)]
struct PeersOfConnections {
    by_peer: HashMap<IpAddr, PeerConnections>,
    count: usize,
    leaving: usize,
    last_number: u64,
}

impl PeersOfConnections {
    /// Makes a place by ending a connection of this peer.
    fn replace_one_of(&mut self, peer: IpAddr) -> bool {
        let Some(replaced) = self.by_peer.get_mut(&peer).and_then(PeerConnections::take_waiting)
        else {
            return false;
        };
        self.count -= 1;
        self.leaving += 1;
        replaced.is_replaced.notify_one();
        true
    }

    /// The one with the most connections first; of the others only some.
    fn peers_to_try(&self) -> Vec<IpAddr> {
        let mut peers: Vec<_> =
            self.by_peer.iter().map(|(peer, connections)| (connections.count(), *peer)).collect();
        if peers.len() > PEERS_TRIED_MAX {
            peers.select_nth_unstable_by(PEERS_TRIED_MAX, |one, other| other.cmp(one));
            peers.truncate(PEERS_TRIED_MAX);
        }
        peers.sort_unstable_by(|one, other| other.cmp(one));
        peers.into_iter().map(|(_, peer)| peer).collect()
    }
}

/// All open connections.
pub(super) struct Peers {
    open: Mutex<PeersOfConnections>,
    rooms: Arc<Rooms>,
    most: usize,
    most_of_peer: usize,
    refused: AtomicU64,
    replaced: AtomicU64,
}

/// Counts for figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionCounts {
    pub(crate) open: usize,
    pub(crate) most: usize,
    pub(crate) refused: u64,
    pub(crate) replaced: u64,
}

impl Peers {
    pub(super) fn new(limits: &HttpLimits, most: usize) -> Self {
        Self {
            open: Mutex::default(),
            rooms: Rooms::new(limits),
            most,
            most_of_peer: share(most, limits.peer_share),
            refused: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        }
    }

    pub(super) fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            open: self.lock().count,
            most: self.most,
            refused: self.refused.load(Ordering::Relaxed),
            replaced: self.replaced.load(Ordering::Relaxed),
        }
    }

    /// `None`: there are as many as there may be, and none of them waits.
    pub(super) fn open(self: &Arc<Self>, address: IpAddr) -> Option<CountedConnection> {
        let peer = peer_of(address);
        let mut open = self.lock();
        let has_place = match open.by_peer.get(&peer).map_or(0, PeerConnections::count) {
            of_peer if of_peer >= self.most_of_peer => self.replace(&mut open, Some(peer)),
            _ if open.count >= self.most => self.replace(&mut open, None),
            _ => true,
        };
        if !has_place {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        open.count += 1;
        open.last_number += 1;
        let connection = Arc::new(PeerConnection {
            number: open.last_number,
            peer,
            room: self.rooms.peer(peer),
            start: Instant::now(),
            requests: AtomicUsize::new(0),
            waits_since_ms: AtomicU64::new(0),
            was_served: AtomicBool::new(false),
            is_replaced: Notify::new(),
        });
        open.by_peer
            .entry(peer)
            .or_default()
            .silent
            .insert(connection.number, Arc::clone(&connection));
        Some(CountedConnection { peers: Arc::clone(self), connection })
    }

    /// There are no descriptors left: a connection that waits is ended.
    pub(super) fn make_place(&self) {
        self.replace(&mut self.lock(), None);
    }

    /// `None`: of the peer with the most connections of which one waits.
    fn replace(&self, open: &mut PeersOfConnections, peer: Option<IpAddr>) -> bool {
        let peers = peer.map_or_else(|| open.peers_to_try(), |peer| vec![peer]);
        let replaced = peers.into_iter().any(|peer| open.replace_one_of(peer));
        self.replaced.fetch_add(u64::from(replaced), Ordering::Relaxed);
        replaced
    }

    /// So many connections are ending that no more should be replaced now.
    pub(super) fn is_crowded(&self) -> bool {
        self.lock().leaving >= LEAVING_MAX
    }

    fn close(&self, connection: &PeerConnection) {
        let mut open = self.lock();
        let of_peer = open.by_peer.get_mut(&connection.peer);
        if of_peer.is_some_and(|of_peer| of_peer.remove(connection.number)) {
            open.count -= 1;
        } else {
            open.leaving -= 1;
        }
        if open.by_peer.get(&connection.peer).is_some_and(|of_peer| of_peer.count() == 0) {
            open.by_peer.remove(&connection.peer);
            self.rooms.forget(connection.peer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PeersOfConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is counted for as long as it lives.
pub(super) struct CountedConnection {
    peers: Arc<Peers>,
    pub(super) connection: Arc<PeerConnection>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.peers.close(&self.connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(connections: usize, peer_share: f64) -> Arc<Peers> {
        Arc::new(Peers::new(&HttpLimits { peer_share, ..HttpLimits::default() }, connections))
    }

    fn open(peers: &Arc<Peers>, n: u8) -> Option<CountedConnection> {
        peers.open(IpAddr::from([127, 0, 0, n]))
    }

    #[test]
    fn a_silent_connection_makes_place_and_a_busy_one_does_not() {
        let peers = peers(4, 0.5);
        let silent = open(&peers, 1).unwrap();
        let busy = open(&peers, 1).unwrap();
        let request = busy.connection.begin_request().unwrap();
        let third = open(&peers, 1).expect("the silent one is replaced");
        let request_of_third = third.connection.begin_request().unwrap();
        assert!(open(&peers, 1).is_none(), "both are busy");
        assert_eq!(
            (peers.counts().open, peers.counts().replaced, peers.counts().refused),
            (2, 1, 1)
        );
        let other = open(&peers, 2).expect("another peer has its own share");
        assert_eq!(peers.counts().open, 3);
        drop((request, request_of_third));
        assert!(open(&peers, 1).is_none(), "they have just been served");
        drop((silent, busy, third, other));
        let open = peers.lock();
        assert_eq!((open.count, open.leaving, open.by_peer.len()), (0, 0, 0));
    }

    #[test]
    fn a_full_gateway_takes_the_place_from_the_peer_with_the_most() {
        let peers = peers(3, 1.0);
        let many = [open(&peers, 1).unwrap(), open(&peers, 1).unwrap()];
        let one = open(&peers, 2).unwrap();
        let new = open(&peers, 3).unwrap();
        let count = |n| peers.lock().by_peer[&IpAddr::from([127, 0, 0, n])].count();
        assert_eq!([count(1), count(2), count(3)], [1, 1, 1]);
        drop((many, one, new));
    }

    #[test]
    fn a_busy_peer_with_the_most_does_not_protect_the_idle_ones() {
        let peers = peers(3, 1.0);
        let many = [open(&peers, 1).unwrap(), open(&peers, 1).unwrap()];
        let _requests = many.each_ref().map(|one| one.connection.begin_request().unwrap());
        let _silent = open(&peers, 2).unwrap();
        assert!(open(&peers, 3).is_some(), "the silent one is replaced");
    }
}
