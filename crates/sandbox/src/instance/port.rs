//! Whether a server can listen on a port.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::process::geteuid;

use crate::error::{NamedError, SandboxError};
use crate::system::server_user::ServerUser;

pub(super) fn check_port(port: u16, user: &ServerUser) -> Result<(), SandboxError> {
    // A port that root may use can be forbidden to the server's user.
    let first = first_free_port();
    if port < first && (user.switch || !geteuid().is_root()) {
        let problem = format!(
            "ports below {first} are reserved for root, and the server runs as `{}`",
            user.name
        );
        return Err(NamedError::Port { port, problem }.into());
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let in_use = error.kind() == io::ErrorKind::AddrInUse;
            let problem =
                if in_use { "another process listens on it".to_owned() } else { error.to_string() };
            Err(NamedError::Port { port, problem }.into())
        }
    }
}

/// The first port that every user may listen on.
fn first_free_port() -> u16 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = check_port(port, &ServerUser::choose()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("port {port} cannot be used: another process listens on it")
        );
        if first_free_port() > 80 {
            let nobody = ServerUser { switch: true, ..ServerUser::choose() };
            let error = check_port(80, &nobody).unwrap_err();
            assert!(
                error.to_string().contains("are reserved for root, and the server runs as"),
                "{error}"
            );
        }
    }
}
