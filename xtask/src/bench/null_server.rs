//! A server that answers OK to everything, as cheaply as one thread can, so that only the client's own cost remains. It
//! is a separate process (`bench-null-server SOCKET`), bound to a core that the client does not use.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, recv,
    send, socket_with,
};
use truetps_driver::Client;

use crate::bench::null_protocol::{NullCounters, NullSession, greeting};
use crate::bench::pin::pinned;
use crate::bench::programs::new_command;
use crate::bench::sample::Server;

/// Many at once: a wait costs about as much as an answer.
const EVENTS_MAX: usize = 1024;
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel makes it as small as it allows (net.core.somaxconn).
const BACKLOG: i32 = 65_535;
/// Events of the listener and of standard input; sessions have the number of their socket.
const LISTENER: u64 = u64::MAX;
const PARENT: u64 = u64::MAX - 1;

/// The process's whole life. It ends with its parent, which holds the other end of its standard input.
pub(crate) fn run(path: &Path) -> anyhow::Result<()> {
    let mut serving = Serving::listen(path).context("listening")?;
    let parent = epoll::EventData::new_u64(PARENT);
    epoll::add(&serving.epoll, io::stdin(), parent, epoll::EventFlags::IN).context("standard input is to be a pipe")?;
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        events.clear();
        match epoll::wait(&serving.epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                PARENT => return Ok(()),
                LISTENER => serving.accept_all()?,
                number => serving.serve(number as usize),
            }
        }
    }
}

struct Serving {
    epoll: OwnedFd,
    listener: OwnedFd,
    /// By number of the socket: those are small and are used again.
    sessions: Vec<Option<(OwnedFd, NullSession)>>,
    counters: NullCounters,
    greeting: Vec<u8>,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl Serving {
    fn listen(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &SocketAddrUnix::new(path)?)?;
        listen(&listener, BACKLOG)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            sessions: Vec::new(),
            counters: NullCounters::default(),
            greeting: greeting(),
            buffer: vec![0; BUFFER_BYTES],
            out: Vec::new(),
        })
    }

    fn accept_all(&mut self) -> io::Result<()> {
        loop {
            let socket = match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
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
            // An answer is far smaller than a socket's buffer: a client that does not read it is faulty.
            if !self.out.is_empty() && send(&*socket, &self.out, SendFlags::NOSIGNAL) != Ok(self.out.len()) {
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
        let mut process = pinned(command, Some(core))?.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        match connect(&socket, &mut process) {
            Ok(client) => Ok(Self { process, client, socket, _folder: folder }),
            Err(error) => {
                end(&mut process);
                Err(error)
            }
        }
    }

    fn counter(&mut self, name: &str) -> anyhow::Result<u64> {
        let text = self.client.query_value(&format!("SELECT {name}"))?.context("the null server gave no number")?;
        text.parse().with_context(|| name.to_owned())
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        end(&mut self.process);
    }
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
            Err(error) if began.elapsed() > START_TIMEOUT => return Err(error).context("the null server"),
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
mod tests {
    use super::*;

    #[test]
    fn our_own_driver_reads_its_counters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("null.sock");
        let mut serving = Serving::listen(&path).unwrap();
        let client = std::thread::spawn(move || {
            let mut client = Client::connect_unix(&path, "root", Some("any"), START_TIMEOUT).unwrap();
            client.execute("INSERT INTO t VALUES (1)").unwrap();
            let mut ask = |name: &str| client.query_value(&format!("SELECT {name}")).unwrap().unwrap();
            (ask("statements"), ask("sessions"))
        });
        while !client.is_finished() {
            serving.accept_all().unwrap();
            for number in 0..serving.sessions.len() {
                serving.serve(number);
            }
            sleep(Duration::from_millis(1));
        }
        assert_eq!(client.join().unwrap(), ("1".to_owned(), "1".to_owned()));
    }
}
