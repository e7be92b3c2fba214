//! What requests may hold at the same time: all requests, and the requests of one peer. Room is
//! taken as bytes arrive, and given back when the answer has been written.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::HttpLimits;

/// The part of `limits.bodies_mb` that is for rows. They have it to themselves, so that batches do
/// not refuse them.
const ROWS_PART: f64 = 0.25;
/// What a line of a batch costs besides its bytes, until it is answered: its entry in the queue,
/// and its answer.
pub(crate) const LINE_BYTES: usize = 512;

#[derive(Debug, Clone, Copy)]
pub(super) enum RoomKind {
    /// Requests whose answers have not been written.
    Requests,
    RowBytes,
    BatchBytes,
}

const KINDS: usize = 3;

/// The most of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoomSizes {
    all: [usize; KINDS],
    peer: [usize; KINDS],
}

impl RoomSizes {
    pub(crate) fn of(limits: &HttpLimits) -> Self {
        let bytes = limits.bodies_mb << 20;
        let rows = (bytes as f64 * ROWS_PART) as usize;
        let all = [limits.requests, rows, bytes - rows];
        Self { all, peer: all.map(|most| share(most, limits.peer_share)) }
    }

    /// The longest body that one peer can send.
    pub(crate) fn row_bytes_max(&self) -> usize {
        self.peer[RoomKind::RowBytes as usize]
    }

    pub(crate) fn batch_bytes_max(&self) -> usize {
        self.peer[RoomKind::BatchBytes as usize]
    }
}

/// At least one.
pub(super) fn share(most: usize, part: f64) -> usize {
    ((most as f64 * part) as usize).max(1)
}

type Used = [AtomicUsize; KINDS];

pub(super) struct Rooms {
    sizes: RoomSizes,
    used: Used,
    peers: Mutex<HashMap<IpAddr, Arc<PeerRoom>>>,
}

impl Rooms {
    pub(super) fn new(limits: &HttpLimits) -> Arc<Self> {
        Arc::new(Self {
            sizes: RoomSizes::of(limits),
            used: Used::default(),
            peers: Mutex::default(),
        })
    }

    /// The room of a peer, for one of its connections.
    pub(super) fn peer(self: &Arc<Self>, peer: IpAddr) -> Arc<PeerRoom> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let room = peers.entry(peer).or_insert_with(|| {
            Arc::new(PeerRoom { rooms: Arc::clone(self), used: Used::default() })
        });
        Arc::clone(room)
    }

    /// The peer has no connection any more.
    pub(super) fn forget(&self, peer: IpAddr) {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).remove(&peer);
    }
}

/// What the connections of one peer use together.
pub(super) struct PeerRoom {
    rooms: Arc<Rooms>,
    used: Used,
}

/// Room that is given back when this is dropped.
pub(super) struct HeldRoom {
    peer: Arc<PeerRoom>,
    kind: RoomKind,
    amount: usize,
}

impl HeldRoom {
    /// Nothing yet.
    pub(super) fn new(peer: &Arc<PeerRoom>, kind: RoomKind) -> Self {
        Self { peer: Arc::clone(peer), kind, amount: 0 }
    }

    /// Whether there was room for so much more.
    pub(super) fn grow(&mut self, more: usize) -> bool {
        let (kind, PeerRoom { rooms, used }) = (self.kind as usize, &*self.peer);
        if !add_within(&used[kind], more, rooms.sizes.peer[kind]) {
            return false;
        }
        if !add_within(&rooms.used[kind], more, rooms.sizes.all[kind]) {
            used[kind].fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.amount += more;
        true
    }

    /// Gives back what is more than this.
    pub(super) fn shrink(&mut self, amount: usize) {
        let less = self.amount.saturating_sub(amount);
        let kind = self.kind as usize;
        self.peer.used[kind].fetch_sub(less, Ordering::Relaxed);
        self.peer.rooms.used[kind].fetch_sub(less, Ordering::Relaxed);
        self.amount -= less;
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

fn add_within(used: &AtomicUsize, more: usize, most: usize) -> bool {
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
        used.checked_add(more).filter(|all| *all <= most)
    })
    .is_ok()
}

/// Addresses that belong together: one host usually has a whole /64 of IPv6.
pub(super) fn peer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_gets_its_share_and_gives_it_back() {
        let limits = HttpLimits { requests: 10, peer_share: 0.5, ..HttpLimits::default() };
        let rooms = Rooms::new(&limits);
        let peer = |n: u8| rooms.peer(IpAddr::from([127, 0, 0, n]));
        let hold = |n| HeldRoom::new(&peer(n), RoomKind::Requests);
        let mut first = hold(1);
        assert!(first.grow(5));
        assert!(!hold(1).grow(1), "a second connection of the peer has the same share");
        let mut second = hold(2);
        assert!(second.grow(5));
        assert!(!hold(3).grow(1), "all is used");
        first.shrink(2);
        assert!(hold(1).grow(3) && !hold(3).grow(4));
        drop(second);
        assert!(hold(2).grow(5));
    }

    #[test]
    fn addresses_of_one_host_are_one_peer() {
        let peer = |text: &str| peer_of(text.parse().unwrap());
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_eq!(peer("2001:db8::1:2"), peer("2001:db8::ffff"));
        assert_ne!(peer("2001:db8:0:1::1"), peer("2001:db8:0:2::1"));
    }
}
