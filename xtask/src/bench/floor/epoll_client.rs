//! One thread that waits for all sockets with epoll, and receives and sends with a system call each, as the engine does.

use anyhow::bail;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use truetps_driver::Link;

use crate::bench::floor::traffic::{FloorTraffic, NextStep};

/// As many as in the engine.
const EVENTS_MAX: usize = 256;
const BUFFER_BYTES: usize = 64 << 10;

/// When the next statement of a session follows its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendTime {
    AtOnce,
    /// When the answers of all readable sessions are received.
    AfterTurn,
}

/// `trigger`: how sockets are watched, beside being readable.
pub(super) fn drive(
    links: &[Link],
    statements: &[Vec<u8>],
    traffic: &mut FloorTraffic,
    trigger: epoll::EventFlags,
    time: SendTime,
) -> anyhow::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (session, link) in links.iter().enumerate() {
        let data = epoll::EventData::new_u64(session as u64);
        epoll::add(&epoll, link, data, epoll::EventFlags::IN | trigger)?;
    }
    let send_from = |session: usize| send_statement(&links[session], &statements[session % statements.len()]);
    for session in 0..links.len() {
        if traffic.claim(session) {
            send_from(session)?;
        }
    }
    let (mut events, mut buffer) = (Vec::with_capacity(EVENTS_MAX), vec![0; BUFFER_BYTES]);
    let mut answered = Vec::with_capacity(EVENTS_MAX);
    while !traffic.is_over() {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let session = event.data.u64() as usize;
            let received = match recv(&links[session], &mut buffer[..], RecvFlags::empty()) {
                Ok((received, _)) => received,
                Err(Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            };
            if traffic.take(session, &buffer[..received])? == NextStep::Send {
                match time {
                    SendTime::AtOnce => send_from(session)?,
                    SendTime::AfterTurn => answered.push(session),
                }
            }
        }
        answered.drain(..).try_for_each(send_from)?;
    }
    Ok(())
}

/// The socket has room: no other statement is in flight.
fn send_statement(link: &Link, statement: &[u8]) -> anyhow::Result<()> {
    let sent = send(link, statement, SendFlags::NOSIGNAL)?;
    if sent < statement.len() {
        bail!("a socket took {sent} of {} bytes", statement.len());
    }
    Ok(())
}
