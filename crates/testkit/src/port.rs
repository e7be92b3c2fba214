//! Ports for the servers of tests.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that Linux gives to outgoing connections: one of those can take a port while its
/// server restarts.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A port of the loopback interface that no process listens on. Processes of tests begin at
/// different ports and go on from there, so that two of them seldom try the same one; between this
/// look and the server's bind another can still take it.
///
/// # Panics
/// If each port is taken.
pub fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let ports = u32::from(PORTS.end - PORTS.start);
    // A prime that is not a divisor of the number of ports: neighbouring processes begin far apart.
    let first = process::id().wrapping_mul(7919) % ports;
    (0..ports)
        .map(|_| PORTS.start + ((first + TRIED.fetch_add(1, Ordering::Relaxed)) % ports) as u16)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("no port is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once_and_no_outgoing_connection_takes_it() {
        let ports = [(); 3].map(|()| free_port());
        assert!(ports.iter().all(|port| PORTS.contains(port)), "{ports:?}");
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2], "{ports:?}");
    }
}
