//! A floor client as a process of its own, so that it is observed as any other program. It logs its sessions in with
//! the driver, and then only sends and receives.

use anyhow::Context;
use clap::Parser;
use rustix::event::epoll::EventFlags;
use truetps_driver::{Endpoint, Link, Scratch};
use truetps_record::Protocol;

use crate::bench::client::connect_to;
use crate::bench::floor::epoll_client::SendTime;
use crate::bench::floor::traffic::{FloorCounts, FloorTraffic, ready_statements};
use crate::bench::floor::uring::{UringClient, UringReceive, UringWork};
use crate::bench::floor::{FloorVariant, epoll_client};
use crate::bench::options::{parse_endpoint, parse_word};

#[derive(Debug, Parser)]
pub(crate) struct FloorClientOptions {
    #[arg(value_parser = parse_word::<FloorVariant>)]
    variant: FloorVariant,
    #[arg(value_parser = parse_endpoint)]
    server: Endpoint,
    sessions: u32,
}

/// Until it is killed.
pub(crate) fn run(options: &FloorClientOptions) -> anyhow::Result<()> {
    FloorClient::connect(&options.server, options.sessions)?.drive(options.variant, u64::MAX).map(drop)
}

pub(super) struct FloorClient {
    links: Vec<Link>,
    statements: Vec<Vec<u8>>,
}

impl FloorClient {
    pub(super) fn connect(server: &Endpoint, sessions: u32) -> anyhow::Result<Self> {
        let (workload, connector) = connect_to(server, Protocol::Text)?;
        let statements = ready_statements(&connector, &*workload);
        let mut scratch = Scratch::default();
        let link = |session| connector.connect(session, &mut scratch, None);
        let links = (0..sessions).map(link).collect::<Result<_, _>>().context("logging in")?;
        Ok(Self { links, statements })
    }

    /// Sends so many statements, each session one after the other, and receives the answers.
    pub(super) fn drive(self, variant: FloorVariant, statements: u64) -> anyhow::Result<FloorCounts> {
        let mut traffic = FloorTraffic::new(self.links.len(), statements);
        match variant {
            FloorVariant::Epoll => self.with_epoll(EventFlags::empty(), SendTime::AtOnce, &mut traffic),
            FloorVariant::EpollEdge => self.with_epoll(EventFlags::ET, SendTime::AtOnce, &mut traffic),
            FloorVariant::EpollTurns => self.with_epoll(EventFlags::empty(), SendTime::AfterTurn, &mut traffic),
            FloorVariant::Uring => self.with_uring(UringReceive::Single, UringWork::AtOnce, &mut traffic),
            FloorVariant::UringLinked => self.with_uring(UringReceive::Linked, UringWork::AtOnce, &mut traffic),
            FloorVariant::UringDeferred => self.with_uring(UringReceive::Single, UringWork::Deferred, &mut traffic),
            FloorVariant::Multishot => self.with_uring(UringReceive::Multishot, UringWork::AtOnce, &mut traffic),
            FloorVariant::MultishotDeferred => {
                self.with_uring(UringReceive::Multishot, UringWork::Deferred, &mut traffic)
            }
            FloorVariant::MultishotSqpoll => {
                self.with_uring(UringReceive::Multishot, UringWork::KernelThread, &mut traffic)
            }
        }?;
        Ok(traffic.counts())
    }

    fn with_epoll(&self, trigger: EventFlags, time: SendTime, traffic: &mut FloorTraffic) -> anyhow::Result<()> {
        epoll_client::drive(&self.links, &self.statements, traffic, trigger, time)
    }

    fn with_uring(&self, receive: UringReceive, work: UringWork, traffic: &mut FloorTraffic) -> anyhow::Result<()> {
        UringClient::new(receive, work, &self.links, &self.statements)?.drive(traffic)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::bench::floor::VARIANTS;
    use crate::bench::floor::refusal::UringRefusal;
    use crate::bench::null_protocol::{NullCounters, NullSession, greeting};
    use crate::bench::null_server::tests::ServerThread;

    /// More than provided buffers, and than the smallest number of statements.
    const SESSIONS: u32 = 20;

    /// `None`: this kernel refuses the variant, for the printed reason. It never refuses epoll.
    fn drive(server: &Endpoint, variant: FloorVariant, statements: u64) -> Option<FloorCounts> {
        match FloorClient::connect(server, SESSIONS).unwrap().drive(variant, statements) {
            Err(error) if error.is::<UringRefusal>() => {
                println!("{variant:?} is not tested: {error}");
                None
            }
            counts => Some(counts.unwrap_or_else(|error| panic!("{variant:?}: {error:#}"))),
        }
    }

    #[test]
    fn each_variant_has_one_answer_for_each_statement() {
        for variant in VARIANTS {
            for (transport, statements) in [(0, 2003), (1, 2003), (0, 3)] {
                let server = ServerThread::start();
                let counts = drive(&server.endpoints[transport], variant, statements);
                let served = server.end().statements;
                if let Some(counts) = counts {
                    assert_eq!(counts, FloorCounts { sent: statements, answered: statements }, "{variant:?}");
                    assert_eq!(served, statements, "{variant:?}");
                }
            }
        }
    }

    #[test]
    fn answers_may_arrive_in_parts() {
        for variant in VARIANTS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("parts.sock");
            let (listener, served) = (UnixListener::bind(&path).unwrap(), Arc::new(AtomicU64::new(0)));
            let counter = Arc::clone(&served);
            thread::spawn(move || {
                for stream in listener.incoming().take(SESSIONS as usize) {
                    let (stream, counter) = (stream.unwrap(), Arc::clone(&counter));
                    thread::spawn(move || answer_in_parts(stream, &counter));
                }
            });
            if let Some(counts) = drive(&Endpoint::Unix(path), variant, 152) {
                assert_eq!(counts, FloorCounts { sent: 152, answered: 152 }, "{variant:?}");
                assert_eq!(served.load(Ordering::Relaxed), 152, "{variant:?}");
            }
        }
    }

    /// Until the client closes the stream.
    fn answer_in_parts(mut stream: UnixStream, served: &AtomicU64) {
        let (mut session, mut buffer) = (NullSession::default(), [0; 4096]);
        stream.write_all(&greeting()).unwrap();
        while let Ok(received @ 1..) = stream.read(&mut buffer) {
            let (mut counters, mut out) = (NullCounters::default(), Vec::new());
            assert!(session.on_bytes(&buffer[..received], &mut counters, &mut out));
            served.fetch_add(counters.statements, Ordering::Relaxed);
            // In the header, and in the payload.
            for part in [&out[..2], &out[2..7], &out[7..]] {
                stream.write_all(part).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_server_that_closes_a_session_ends_the_client() {
        for variant in VARIANTS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("closing.sock");
            let listener = UnixListener::bind(&path).unwrap();
            thread::spawn(move || {
                let (mut stream, mut buffer, mut out) = (listener.accept().unwrap().0, [0; 4096], Vec::new());
                stream.write_all(&greeting()).unwrap();
                let received = stream.read(&mut buffer).unwrap();
                NullSession::default().on_bytes(&buffer[..received], &mut NullCounters::default(), &mut out);
                stream.write_all(&out).unwrap();
                // The statement is read, so that the end is in order.
                let _ = stream.read(&mut buffer);
            });
            let client = FloorClient::connect(&Endpoint::Unix(path), 1).unwrap();
            let error = client.drive(variant, 2).unwrap_err();
            let text = format!("{error:#}");
            assert!(error.is::<UringRefusal>() || text.contains("session 0: closed by the server"), "{text}");
        }
    }
}
