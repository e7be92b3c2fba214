//! A stream socket to a server: TCP or unix, blocking or not.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_timeout, set_tcp_nodelay, socket_error, socket_peercred,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    getpeername, recv, send, socket_with,
};

use crate::{DriverError, Endpoint};

/// An endpoint whose host name has been resolved, for repeated connects.
#[derive(Debug, Clone)]
pub struct Address {
    endpoint: Endpoint,
    /// Empty for a unix socket.
    ips: Vec<SocketAddr>,
    /// Where connections come from; `None`: the system chooses.
    source: Option<IpAddr>,
}

impl Address {
    /// Resolves the host's name.
    pub fn resolve(endpoint: &Endpoint) -> Result<Self, DriverError> {
        let mut ips: Vec<SocketAddr> = match endpoint {
            Endpoint::Unix(_) => Vec::new(),
            Endpoint::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs();
                found.map_err(|source| unresolved(endpoint, source))?.collect()
            }
        };
        // On many systems `localhost` resolves to ::1 first, but servers that listen only locally
        // listen to 127.0.0.1. The order matters because only the first address is tried.
        if ips.iter().all(|ip| ip.ip().is_loopback()) {
            ips.sort_by_key(SocketAddr::is_ipv6);
        }
        if ips.is_empty() && matches!(endpoint, Endpoint::Tcp { .. }) {
            let source = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
            return Err(unresolved(endpoint, source));
        }
        Ok(Self { endpoint: endpoint.clone(), ips, source: None })
    }

    /// The endpoint, connected to from an address of this host. Only the endpoint's addresses of
    /// that family remain.
    pub(crate) fn with_source(&self, source: IpAddr) -> Result<Self, DriverError> {
        // It can be bound if it is one of this host's.
        let _ = UdpSocket::bind((source, 0))
            .map_err(|problem| DriverError::Source { address: source, problem })?;
        let ips: Vec<_> =
            self.ips.iter().copied().filter(|ip| ip.is_ipv4() == source.is_ipv4()).collect();
        if ips.is_empty() {
            let problem = format!("{} has no address of its family", self.endpoint);
            let problem = io::Error::new(io::ErrorKind::Unsupported, problem);
            return Err(DriverError::Source { address: source, problem });
        }
        Ok(Self { endpoint: self.endpoint.clone(), ips, source: Some(source) })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

fn unresolved(endpoint: &Endpoint, source: io::Error) -> DriverError {
    DriverError::Connect { endpoint: endpoint.clone(), source }
}

#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    is_unix: bool,
}

impl Socket {
    /// Starts to connect without waiting. `WouldBlock`: the server's queue of new connections is
    /// full, try again later.
    ///
    /// Over TCP only the first address of a host is tried: a failed connect shows when the socket
    /// is read.
    pub fn start_connecting(address: &Address) -> io::Result<Self> {
        if let Endpoint::Unix(path) = &address.endpoint {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            connect(&fd, &SocketAddrUnix::new(path.as_path())?)?;
            return Ok(Self { fd, is_unix: true });
        }
        let (fd, _) = begin_tcp(address.ips[0], address.source)?;
        Ok(Self { fd, is_unix: false })
    }

    /// Connects and waits for it, at most `timeout` for each address of the host. The socket is
    /// blocking.
    pub fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        if let Endpoint::Unix(path) = &address.endpoint {
            let fd =
                socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            // It bounds the wait for room in the queue of a server that accepts no connections.
            set_socket_timeout(&fd, Timeout::Send, Some(timeout))?;
            return match connect(&fd, &SocketAddrUnix::new(path.as_path())?) {
                Ok(()) => Ok(Self { fd, is_unix: true }),
                Err(Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
                Err(error) => Err(error.into()),
            };
        }
        let mut last = None;
        for ip in &address.ips {
            match connect_tcp(*ip, address.source, timeout) {
                Ok(fd) => return Ok(Self { fd, is_unix: false }),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Whether a socket that began to connect is connected now; an error: it failed.
    pub(crate) fn is_connected(&self) -> io::Result<bool> {
        socket_error(&self.fd)??;
        match getpeername(&self.fd) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Bounds each read and write of a blocking socket.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        set_socket_timeout(&self.fd, Timeout::Recv, Some(timeout))?;
        Ok(set_socket_timeout(&self.fd, Timeout::Send, Some(timeout))?)
    }

    /// The process at the other end of a unix socket; `None` if it has no number in this pid
    /// namespace. Not for TCP sockets: the kernel would report process 0.
    ///
    /// The kernel also reports 0 for a process of another pid namespace. The type that `rustix`
    /// stores the number in excludes 0, so the compiler must not conclude from the type that the
    /// number is not 0.
    pub(crate) fn peer_pid(&self) -> Option<u32> {
        let credentials = socket_peercred(&self.fd).ok().filter(|_| self.is_unix)?;
        u32::try_from(black_box(credentials.pid.as_raw_nonzero().get())).ok().filter(|pid| *pid > 0)
    }
}

/// A TCP socket that does not block and has begun to connect; whether it is connected already.
fn begin_tcp(ip: SocketAddr, source: Option<IpAddr>) -> io::Result<(OwnedFd, bool)> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?;
    if let Some(source) = source {
        bind(&fd, &SocketAddr::new(source, 0))?;
    }
    let is_connected = match connect(&fd, &ip) {
        Ok(()) => true,
        Err(Errno::INPROGRESS) => false,
        Err(error) => return Err(error.into()),
    };
    set_tcp_nodelay(&fd, true)?;
    Ok((fd, is_connected))
}

/// A socket that is connected within `timeout`, and blocking.
fn connect_tcp(ip: SocketAddr, source: Option<IpAddr>, timeout: Duration) -> io::Result<OwnedFd> {
    let ends = Instant::now() + timeout;
    let (fd, mut is_connected) = begin_tcp(ip, source)?;
    while !is_connected {
        let left = ends.saturating_duration_since(Instant::now());
        match poll(&mut [PollFd::new(&fd, PollFlags::OUT)], left.try_into().ok().as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => is_connected = socket_error(&fd)?.map(|()| true)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::io::ioctl_fionbio(&fd, false)?;
    Ok(fd)
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.fd, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for &Socket {
    /// `send` has a shorter path through the kernel than `write`, which is also for files.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.fd, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use truetps_testkit::{inside_pid_namespace, run_in_pid_namespace};

    use super::*;

    fn tcp(host: &str) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port: 3306 }
    }

    /// For tests of links.
    impl From<UnixStream> for Socket {
        fn from(stream: UnixStream) -> Self {
            Self { fd: stream.into(), is_unix: true }
        }
    }

    #[test]
    fn only_a_unix_socket_has_a_process_behind_it() {
        let (socket, _other) = UnixStream::pair().unwrap();
        assert_eq!(Socket::from(socket).peer_pid(), Some(std::process::id()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(Socket { fd: socket.into(), is_unix: false }.peer_pid(), None);
        // The kernel would report the process behind this one: it is not queried.
        let (socket, _other) = UnixStream::pair().unwrap();
        assert_eq!(Socket { fd: socket.into(), is_unix: false }.peer_pid(), None);
    }

    #[test]
    fn a_process_of_another_pid_namespace_has_no_number() {
        if let Some(path) = inside_pid_namespace() {
            assert_eq!(Socket::from(UnixStream::connect(path).unwrap()).peer_pid(), None);
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let test = "socket::tests::a_process_of_another_pid_namespace_has_no_number";
        run_in_pid_namespace(test, path.to_str().unwrap());
    }

    #[test]
    fn names_and_addresses() {
        let first = |host: &str| Address::resolve(&tcp(host)).unwrap().ips[0].to_string();
        assert_eq!(first("localhost"), "127.0.0.1:3306");
        assert_eq!(first("::1"), "[::1]:3306");
        let error = Address::resolve(&tcp("no such host.invalid")).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot connect to no such host.invalid:3306: "),
            "{error}"
        );
        assert_eq!(error.hint().unwrap(), "check the host's name");
        let missing = Address::resolve(&Endpoint::Unix("/no/such/socket".into())).unwrap();
        let source = Socket::connect(&missing, Duration::from_secs(1)).unwrap_err();
        let error = DriverError::Connect { endpoint: missing.endpoint().clone(), source };
        assert!(error.hint().unwrap().contains("is not running"));
    }
}
