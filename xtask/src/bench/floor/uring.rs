//! An io_uring with the sessions of a floor client: receives and sends are requests, and all requests of a turn are
//! submitted in one system call, which also waits.
//!
//! This is the one place that lends memory to the kernel. The memory is never freed: closing a ring does not wait for
//! its requests, and the process ends with its client.
#![allow(unsafe_code, reason = "the kernel reads and writes memory by address; each block says why that is valid")]

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, bail};
use io_uring::cqueue::{self, buffer_select, more};
use io_uring::squeue::{self, Flags, SubmissionQueue};
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, opcode};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags};
use truetps_driver::Link;

use crate::bench::floor::refusal::UringRefusal;
use crate::bench::floor::traffic::{FloorTraffic, NextStep};

/// Longer than the answer to an INSERT. A longer one arrives in parts.
const BUFFER_BYTES: usize = 128;
/// A power of two. The kernel uses them in turn: few stay in a cache. Where they do not suffice for the answers that
/// arrive at once, the receive of a session ends, and is queued again.
const PROVIDED_BUFFERS: usize = if cfg!(test) { 4 } else { 1024 };
/// The group of provided buffers.
const GROUP: u16 = 0;
/// The kernel wants the ring of provided buffers at the start of a page.
const PAGE_BYTES: usize = 4096;
/// Of io_uring_enter(2): wait for the socket before the first attempt to receive, which would find nothing.
const POLL_FIRST: u16 = 1;
/// How long a kernel thread looks for requests before it sleeps.
const KERNEL_THREAD_IDLE_MS: u32 = 1000;
/// In the number of a request: it sends. Only failed ones are reported.
const IS_SEND: u64 = 1 << 32;

/// How sessions receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UringReceive {
    /// One request for each answer.
    Single,
    /// The same, linked behind the request that sends the statement.
    Linked,
    /// One request for all answers, into buffers that the kernel takes from a ring.
    Multishot,
}

/// When the kernel works on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UringWork {
    /// As soon as a socket has news (the default).
    AtOnce,
    /// When the client waits: `SINGLE_ISSUER`, `COOP_TASKRUN` and `DEFER_TASKRUN`.
    Deferred,
    /// In a thread of the kernel that polls for requests: `SQPOLL`. It belongs to the process, as does its CPU time.
    KernelThread,
}

pub(super) struct UringClient {
    ring: IoUring,
    requests: UringRequests,
}

impl UringClient {
    /// Blocking sockets are what io_uring expects: it waits for them by itself.
    pub(super) fn new(
        receive: UringReceive,
        work: UringWork,
        links: &[Link],
        statements: &[Vec<u8>],
    ) -> anyhow::Result<Self> {
        // A session has at most two requests in the queue, which therefore never is full.
        let entries = u32::try_from((links.len() * 2).next_power_of_two())?;
        let ring = build(work, entries)?;
        for link in links {
            ioctl_fionbio(link, false)?;
        }
        let sockets: Vec<RawFd> = links.iter().map(|link| link.as_fd().as_raw_fd()).collect();
        ring.submitter().register_files(&sockets).map_err(UringRefusal::from)?;
        let requests = UringRequests::new(receive, &ring, links.len(), statements)?;
        Ok(Self { ring, requests })
    }

    pub(super) fn drive(mut self, traffic: &mut FloorTraffic) -> anyhow::Result<()> {
        self.start(traffic)?;
        while !traffic.is_over() {
            self.turn(traffic)?;
        }
        Ok(())
    }

    fn start(&mut self, traffic: &mut FloorTraffic) -> anyhow::Result<()> {
        let mut queue = self.ring.submission();
        for session in 0..self.requests.sessions {
            if self.requests.receive == UringReceive::Multishot {
                self.requests.put_receive(&mut queue, session)?;
            }
            if traffic.claim(session) {
                self.requests.put_statement(&mut queue, session)?;
            }
        }
        Ok(())
    }

    /// Submits what is queued, waits for at least one completion, and queues what follows from all of them.
    fn turn(&mut self, traffic: &mut FloorTraffic) -> anyhow::Result<()> {
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("io_uring_enter"),
        }
        let (_, mut queue, completions) = self.ring.split();
        for completion in completions {
            self.requests.on_completion(&completion, &mut queue, traffic)?;
        }
        Ok(())
    }
}

fn build(work: UringWork, entries: u32) -> Result<IoUring, UringRefusal> {
    let mut builder = IoUring::builder();
    match work {
        UringWork::AtOnce => {}
        UringWork::Deferred => {
            builder.setup_single_issuer().setup_coop_taskrun().setup_defer_taskrun();
        }
        UringWork::KernelThread => {
            builder.setup_sqpoll(KERNEL_THREAD_IDLE_MS);
        }
    }
    builder.build(entries).map_err(UringRefusal::from)
}

/// The memory of requests.
struct UringRequests {
    receive: UringReceive,
    sessions: usize,
    statements: &'static [Vec<u8>],
    /// Room of `BUFFER_BYTES` for each session, or for each provided buffer.
    room: *mut u8,
    buffers: usize,
    provided: Option<ProvidedBuffers>,
}

impl UringRequests {
    fn new(receive: UringReceive, ring: &IoUring, sessions: usize, statements: &[Vec<u8>]) -> anyhow::Result<Self> {
        let buffers = match receive {
            UringReceive::Single | UringReceive::Linked => sessions,
            UringReceive::Multishot => PROVIDED_BUFFERS,
        };
        let room = Vec::leak(vec![0_u8; buffers * BUFFER_BYTES]).as_mut_ptr();
        let provided = match receive {
            UringReceive::Single | UringReceive::Linked => None,
            UringReceive::Multishot => Some(ProvidedBuffers::register(ring, room, u16::try_from(buffers)?)?),
        };
        let statements = Vec::leak(statements.to_vec());
        Ok(Self { receive, sessions, statements, room, buffers, provided })
    }

    /// Queues the session's statement and, unless receiving goes on by itself, the receive of its answer.
    fn put_statement(&mut self, queue: &mut SubmissionQueue<'_>, session: usize) -> anyhow::Result<()> {
        let statement = &self.statements[session % self.statements.len()];
        // All of it, or an error.
        let flags = SendFlags::NOSIGNAL.bits() | RecvFlags::WAITALL.bits();
        let send = opcode::Send::new(Fixed(session as u32), statement.as_ptr(), statement.len() as u32);
        let send = send.flags(flags as i32).build().user_data(session as u64 | IS_SEND);
        let link = if self.receive == UringReceive::Linked { Flags::IO_LINK } else { Flags::empty() };
        put(queue, &send.flags(Flags::SKIP_SUCCESS | link))?;
        if self.receive == UringReceive::Multishot { Ok(()) } else { self.put_receive(queue, session) }
    }

    fn put_receive(&mut self, queue: &mut SubmissionQueue<'_>, session: usize) -> anyhow::Result<()> {
        let socket = Fixed(session as u32);
        let receive = match self.receive {
            UringReceive::Multishot => opcode::RecvMulti::new(socket, GROUP).build(),
            UringReceive::Single | UringReceive::Linked => {
                // SAFETY: there are as many buffers as sessions, or more.
                let buffer = unsafe { self.room.add(session * BUFFER_BYTES) };
                opcode::Recv::new(socket, buffer, BUFFER_BYTES as u32).ioprio(POLL_FIRST).build()
            }
        };
        put(queue, &receive.user_data(session as u64))
    }

    fn on_completion(
        &mut self,
        completion: &cqueue::Entry,
        queue: &mut SubmissionQueue<'_>,
        traffic: &mut FloorTraffic,
    ) -> anyhow::Result<()> {
        let (number, flags) = (completion.user_data(), completion.flags());
        let session = (number & !IS_SEND) as usize;
        let what = if number & IS_SEND == 0 { "receive" } else { "send" };
        let Ok(received) = usize::try_from(completion.result()) else {
            let error = Errno::from_raw_os_error(-completion.result());
            if error == Errno::NOBUFS {
                return self.put_receive(queue, session);
            }
            return Err(error).with_context(|| format!("session {session}: {what}"));
        };
        if number & IS_SEND != 0 {
            bail!("session {session}: a socket took {received} bytes of a statement");
        }
        let step = match buffer_select(flags) {
            Some(buffer) => {
                let step = traffic.take(session, self.received(buffer.into(), received))?;
                self.provided.as_mut().context("a provided buffer, and there are none")?.give(buffer);
                step
            }
            None if self.receive == UringReceive::Multishot => traffic.take(session, &[])?,
            None => traffic.take(session, self.received(session, received))?,
        };
        match step {
            NextStep::Send => self.put_statement(queue, session)?,
            NextStep::Receive if self.receive != UringReceive::Multishot => self.put_receive(queue, session)?,
            NextStep::Receive | NextStep::Rest => {}
        }
        if self.receive == UringReceive::Multishot && !more(flags) {
            self.put_receive(queue, session)?;
        }
        Ok(())
    }

    /// What the kernel has written into a buffer, which is the client's again since the completion.
    fn received(&self, buffer: usize, bytes: usize) -> &[u8] {
        assert!(buffer < self.buffers && bytes <= BUFFER_BYTES, "{bytes} bytes in buffer {buffer}");
        // SAFETY: the buffer is inside of the room, whose bytes were initialised. The kernel writes into it only after
        // it was lent again, which needs `&mut self`.
        unsafe { slice::from_raw_parts(self.room.add(buffer * BUFFER_BYTES), bytes) }
    }
}

fn put(queue: &mut SubmissionQueue<'_>, request: &squeue::Entry) -> anyhow::Result<()> {
    // SAFETY: the socket is registered, and statements and buffers are never freed.
    unsafe { queue.push(request) }.context("io_uring")
}

#[derive(Clone)]
#[repr(align(4096))]
struct BufferRingPage(#[expect(dead_code, reason = "its entries are accessed by their own type")] [u8; PAGE_BYTES]);

/// The ring from which the kernel takes buffers.
struct ProvidedBuffers {
    entries: *mut BufRingEntry,
    count: u16,
    /// Buffers given so far; the kernel takes those before it.
    tail: u16,
    room: *mut u8,
}

impl ProvidedBuffers {
    fn register(ring: &IoUring, room: *mut u8, count: u16) -> anyhow::Result<Self> {
        let pages = (usize::from(count) * size_of::<BufRingEntry>()).div_ceil(PAGE_BYTES);
        let entries = Vec::leak(vec![BufferRingPage([0; PAGE_BYTES]); pages]).as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: the entries are `count` long, at the start of a page, and never freed.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, count, GROUP, 0) }
            .map_err(UringRefusal::from)?;
        let mut provided = Self { entries, count, tail: 0, room };
        (0..count).for_each(|buffer| provided.give(buffer));
        Ok(provided)
    }

    /// Lends a buffer to the kernel.
    fn give(&mut self, buffer: u16) {
        let place = usize::from(self.tail % self.count);
        // SAFETY: the place is below the number of entries, which is a power of two. The kernel reads an entry only
        // after the tail has passed it.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(self.room as u64 + u64::from(buffer) * BUFFER_BYTES as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is part of the first entry, and the kernel reads it atomically.
        unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries).cast_mut()) }.store(self.tail, Ordering::Release);
    }
}
