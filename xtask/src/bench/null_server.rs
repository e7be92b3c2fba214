//! A server that answers OK to everything, as cheaply as one thread can, so that only the client's
//! own cost remains. It is a separate process (`bench-null-server SOCKET`), bound to a core that
//! the client does not use.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with,
    bind, listen, recv, send, socket_with,
};
use truetps_driver::{Client, Endpoint};

use crate::bench::null_protocol::{NullCounters, NullSession, greeting};
use crate::bench::pin::pinned;
use crate::bench::programs::new_command;
use crate::bench::sample::Server;

/// Many at once: a wait costs about as much as an answer.
const EVENTS_MAX: usize = 1024;
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel makes it as small as it allows (net.core.somaxconn).
const BACKLOG: i32 = 65_535;
/// Events of the listeners and of the parent; sessions have the number of their socket.
const UNIX_LISTENER: u64 = u64::MAX;
const TCP_LISTENER: u64 = u64::MAX - 1;
const PARENT: u64 = u64::MAX - 2;

/// The process's whole life. It ends with its parent, which holds the other end of its standard
/// input.
pub(crate) fn run(path: &Path) -> anyhow::Result<()> {
    Serving::listen(path).context("listening")?.serve_all(&io::stdin()).map(drop)
}

pub(crate) struct Serving {
    epoll: OwnedFd,
    unix_listener: OwnedFd,
    tcp_listener: OwnedFd,
    /// By number of the socket: those are small and are used again.
    sessions: Vec<Option<(OwnedFd, NullSession)>>,
    counters: NullCounters,
    greeting: Vec<u8>,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl Serving {
    /// On a unix socket, and on a TCP port of the loopback that the kernel chooses.
    pub(crate) fn listen(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let unix_listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&unix_listener, &SocketAddrUnix::new(path)?)?;
        let tcp_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        tcp_listener.set_nonblocking(true)?;
        let tcp_port = tcp_listener.local_addr()?.port();
        let (tcp_listener, epoll) =
            (OwnedFd::from(tcp_listener), epoll::create(epoll::CreateFlags::CLOEXEC)?);
        for (listener, number) in [(&unix_listener, UNIX_LISTENER), (&tcp_listener, TCP_LISTENER)] {
            listen(listener, BACKLOG)?;
            epoll::add(&epoll, listener, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        }
        Ok(Self {
            epoll,
            unix_listener,
            tcp_listener,
            sessions: Vec::new(),
            counters: NullCounters { tcp_port, ..NullCounters::default() },
            greeting: greeting(),
            buffer: vec![0; BUFFER_BYTES],
            out: Vec::new(),
        })
    }

    /// Serves until the parent sends anything, or closes its end.
    pub(crate) fn serve_all(mut self, parent: &impl AsFd) -> anyhow::Result<NullCounters> {
        let data = epoll::EventData::new_u64(PARENT);
        epoll::add(&self.epoll, parent, data, epoll::EventFlags::IN)
            .context("standard input is to be a pipe")?;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    PARENT => return Ok(self.counters),
                    UNIX_LISTENER => self.accept_all(false)?,
                    TCP_LISTENER => self.accept_all(true)?,
                    number => self.serve(number as usize),
                }
            }
        }
    }

    fn accept_all(&mut self, is_tcp: bool) -> io::Result<()> {
        let listener = if is_tcp { &self.tcp_listener } else { &self.unix_listener };
        loop {
            let socket = match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            if is_tcp {
                set_tcp_nodelay(&socket, true)?;
            }
            if send(&socket, &self.greeting, SendFlags::NOSIGNAL).is_err() {
                continue;
            }
            let number = socket.as_raw_fd() as usize;
            // Edge-triggered: no session is looked at again without news.
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(number as u64), flags)?;
            if self.sessions.len() <= number {
                self.sessions.resize_with(number + 1, || None);
            }
            self.sessions[number] = Some((socket, NullSession::default()));
            self.counters.sessions += 1;
        }
    }

    fn serve(&mut self, number: usize) {
        if !self.answer(number) && self.sessions[number].take().is_some() {
            self.counters.sessions -= 1;
        }
    }

    /// `false`: the session is over.
    fn answer(&mut self, number: usize) -> bool {
        let Some((socket, session)) = &mut self.sessions[number] else { return true };
        loop {
            let received = match recv(&*socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((received, _)) if received > 0 => received,
                Err(Errno::AGAIN | Errno::INTR) => return true,
                Ok(_) | Err(_) => return false,
            };
            self.out.clear();
            if !session.on_bytes(&self.buffer[..received], &mut self.counters, &mut self.out) {
                return false;
            }
            // An answer is far smaller than a socket's buffer: a client that does not read it is
            // faulty.
            if !self.out.is_empty()
                && send(&*socket, &self.out, SendFlags::NOSIGNAL) != Ok(self.out.len())
            {
                return false;
            }
            if received < self.buffer.len() {
                return true;
            }
        }
    }
}

/// The process, seen from the benchmark.
pub(crate) struct NullServer {
    process: Child,
    client: Client,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

const START_TIMEOUT: Duration = Duration::from_secs(10);

impl NullServer {
    pub(crate) fn start(core: u32) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("null.sock");
        let mut command = new_command(std::env::current_exe()?);
        command.arg("bench-null-server").arg(&socket);
        let mut process =
            pinned(command, Some(core))?.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        match connect(&socket, &mut process) {
            Ok(client) => Ok(Self { process, client, socket, _folder: folder }),
            Err(error) => {
                end(&mut process);
                Err(error)
            }
        }
    }

    /// Where it listens besides its unix socket.
    pub(crate) fn tcp_endpoint(&mut self) -> anyhow::Result<Endpoint> {
        Ok(tcp_endpoint(u16::try_from(self.counter("tcp_port")?)?))
    }

    fn counter(&mut self, name: &str) -> anyhow::Result<u64> {
        let text = self
            .client
            .query_value(&format!("SELECT {name}"))?
            .context("the null server gave no number")?;
        text.parse().with_context(|| name.to_owned())
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn tcp_endpoint(port: u16) -> Endpoint {
    Endpoint::Tcp { host: Ipv4Addr::LOCALHOST.to_string(), port }
}

fn end(process: &mut Child) {
    // It may have ended by itself.
    let _ = process.kill();
    let _ = process.wait();
}

fn connect(socket: &Path, process: &mut Child) -> anyhow::Result<Client> {
    let began = Instant::now();
    loop {
        match Client::connect_unix(socket, "root", None, START_TIMEOUT) {
            Ok(client) => return Ok(client),
            Err(error) if began.elapsed() > START_TIMEOUT => {
                return Err(error).context("the null server");
            }
            Err(_) => sleep(Duration::from_millis(5)),
        }
        if let Some(status) = process.try_wait()? {
            bail!("the null server has ended: {status}");
        }
    }
}

impl Server for NullServer {
    fn socket(&self) -> &Path {
        &self.socket
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn empty(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn sessions(&mut self) -> anyhow::Result<u64> {
        Ok(self.counter("sessions")?.saturating_sub(1))
    }

    fn statements(&mut self) -> anyhow::Result<u64> {
        self.counter("statements")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    use truetps_driver::Target;

    use super::*;

    /// A null server in a thread.
    pub(crate) struct ServerThread {
        /// A unix socket and a TCP port.
        pub(crate) endpoints: [Endpoint; 2],
        parent: UnixStream,
        thread: JoinHandle<NullCounters>,
        _folder: tempfile::TempDir,
    }

    impl ServerThread {
        pub(crate) fn start() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("null.sock");
            let serving = Serving::listen(&path).unwrap();
            let (parent, theirs) = UnixStream::pair().unwrap();
            Self {
                endpoints: [Endpoint::Unix(path), tcp_endpoint(serving.counters.tcp_port)],
                parent,
                thread: std::thread::spawn(move || serving.serve_all(&theirs).unwrap()),
                _folder: folder,
            }
        }

        pub(crate) fn end(self) -> NullCounters {
            drop(self.parent);
            self.thread.join().unwrap()
        }
    }

    #[test]
    fn our_own_driver_reads_its_counters() {
        let server = ServerThread::start();
        let target = |endpoint: &Endpoint| Target {
            endpoints: vec![endpoint.clone()],
            ..Target::mysql_unix("", "root", Some("any"))
        };
        let mut clients = server
            .endpoints
            .each_ref()
            .map(|endpoint| Client::connect(&target(endpoint), START_TIMEOUT).unwrap());
        for client in &mut clients {
            client.execute("INSERT INTO t VALUES (1)").unwrap();
        }
        let mut ask =
            |name: &str| clients[1].query_value(&format!("SELECT {name}")).unwrap().unwrap();
        assert_eq!((ask("statements"), ask("sessions")), ("2".to_owned(), "2".to_owned()));
        let tcp_port = ask("tcp_port").parse().unwrap();
        assert_eq!(server.endpoints[1], tcp_endpoint(tcp_port));
        assert_eq!(server.end(), NullCounters { statements: 2, sessions: 2, tcp_port });
    }
}
