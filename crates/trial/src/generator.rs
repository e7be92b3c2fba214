//! What the load generator needs of its host.

use std::net::IpAddr;

use truetps_driver::Endpoint;
use truetps_sandbox::{HostLimits, LimitError, Needs, check_ports, raise_open_files};

/// Threads that drive the clients, unless the user names a number: half of the cores are left to the server.
pub fn worker_count(named: Option<u32>, cores: u32) -> u32 {
    named.unwrap_or((cores / 2).max(1))
}

/// Raises the limit of open files for this many clients of these endpoints, and checks that there are ports for them.
pub fn make_room_for_clients(
    clients: u32,
    endpoints: &[Endpoint],
    sources: &[IpAddr],
) -> Result<(), LimitError> {
    raise_open_files(&Needs::of_clients(clients))?;
    check_ports(clients, endpoints, sources, &HostLimits::read())
}
