//! What the load generator needs of its host.

use std::net::IpAddr;

use truetps_driver::Endpoint;
use truetps_sandbox::{HostLimits, LimitError, Needs, check_ports, raise_open_files};

/// Raises the limit of open files for this many clients of these endpoints, and checks that there
/// are ports for them.
pub fn make_room_for_clients(
    clients: u32,
    endpoints: &[Endpoint],
    sources: &[IpAddr],
) -> Result<(), LimitError> {
    raise_open_files(&Needs::of_clients(clients))?;
    check_ports(clients, endpoints, sources, &HostLimits::read())
}
