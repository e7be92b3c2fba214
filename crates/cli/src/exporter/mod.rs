//! `truetps probe --listen`: the last readings of a probe over HTTP, for Prometheus.
//!
//! A request never queries the watched server: it is answered from the readings that the probe
//! makes anyway. The probe's own loop accepts connections; each has a thread for its few
//! milliseconds, and there are never more than a few.

mod exchange;
mod request;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use truetps_record::{ProbeSample, Suspension};
use truetps_report::ProbeMetrics;

use crate::args::ListenArgs;
use crate::exporter::exchange::Exchange;
use crate::failure::CommandFailure;

/// With more connections at a time the oldest one is closed: a scrape that comes after any number
/// of silent ones is answered. Prometheus needs one.
const CONNECTIONS_MAX: usize = 8;
/// As many are accepted at a time.
const ACCEPTED_MAX: usize = 1024;

/// An address that is listened on, before there are readings: connections wait.
#[derive(Debug)]
pub(crate) struct BoundExporter {
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundExporter {
    /// `None` where nothing is asked for.
    pub(crate) fn bind(args: &ListenArgs) -> Result<Option<Self>, CommandFailure> {
        let Some(address) = args.listen else { return Ok(None) };
        if !address.ip().is_loopback() && !args.listen_remote {
            let message = format!(
                "`--listen {address}`: other hosts can reach this address, and the exporter has \
                 neither login nor encryption"
            );
            let hint = format!(
                "listen on 127.0.0.1:{}, or allow other hosts with --listen-remote",
                address.port()
            );
            return Err(CommandFailure::usage(message).hint(hint));
        }
        let bound = Self::listen(address).map_err(|error| {
            CommandFailure::usage(format!("`--listen {address}`: {error}"))
                .hint("name an address of this host and a free port")
        })?;
        Ok(Some(bound))
    }

    fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from here on. All times of the samples count from `zero`.
    pub(crate) fn with(self, metrics: ProbeMetrics, zero: Instant) -> Exporter {
        let is_local = self.address.ip().is_loopback();
        let shown = Arc::new(ShownReadings { metrics: Mutex::new(metrics), zero });
        Exporter { listener: self.listener, is_local, shown, open: Arc::default() }
    }
}

/// Accepts connections whenever [`Exporter::accept`] is called.
#[derive(Debug)]
pub(crate) struct Exporter {
    listener: TcpListener,
    /// Only this host reaches it.
    is_local: bool,
    shown: Arc<ShownReadings>,
    open: Arc<OpenConnections>,
}

#[derive(Debug)]
struct ShownReadings {
    metrics: Mutex<ProbeMetrics>,
    zero: Instant,
}

impl ShownReadings {
    fn text(&self) -> String {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone();
        metrics.text(self.zero.elapsed().as_secs_f64() * 1e3)
    }
}

impl Exporter {
    pub(crate) fn sample(&self, sample: &ProbeSample) {
        self.change(|metrics| metrics.sample(sample));
    }

    pub(crate) fn suspended(&self, suspension: Suspension) {
        self.change(|metrics| metrics.suspended(suspension));
    }

    fn change(&self, change: impl FnOnce(&mut ProbeMetrics)) {
        change(&mut self.shown.metrics.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the connections that have come since the last call.
    pub(crate) fn accept(&self) {
        for _ in 0..ACCEPTED_MAX {
            match self.listener.accept() {
                Ok((stream, _)) => self.answer(stream),
                // One that was given up while it waited.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                // None waits, or there is no room for one: it is tried again at the next call.
                Err(_) => return,
            }
        }
    }

    fn answer(&self, stream: TcpStream) {
        let Ok(slot) = OpenConnection::new(&self.open, &stream) else { return };
        let (shown, is_local) = (Arc::clone(&self.shown), self.is_local);
        // Without a thread the connection is closed unanswered.
        let _ = thread::Builder::new().name("exporter".to_owned()).spawn(move || {
            let _slot = slot;
            Exchange::begin(&stream).run(is_local, || shown.text());
        });
    }
}

/// Connections that are being answered, with a number each, the oldest first.
#[derive(Debug, Default)]
struct OpenConnections {
    streams: Mutex<VecDeque<(u64, TcpStream)>>,
    accepted: AtomicU64,
}

impl OpenConnections {
    fn streams(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the connections that are open at a time, until it is dropped.
struct OpenConnection {
    all: Arc<OpenConnections>,
    number: u64,
}

impl OpenConnection {
    /// Makes room for it if there is none.
    fn new(all: &Arc<OpenConnections>, stream: &TcpStream) -> io::Result<Self> {
        let number = all.accepted.fetch_add(1, Ordering::Relaxed);
        let mut streams = all.streams();
        while streams.len() >= CONNECTIONS_MAX {
            // Its thread finds the end, and ends.
            let oldest = streams.pop_front();
            oldest.inspect(|(_, stream)| drop(stream.shutdown(Shutdown::Both)));
        }
        streams.push_back((number, stream.try_clone()?));
        Ok(Self { all: Arc::clone(all), number })
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.all.streams().retain(|(number, _)| *number != self.number);
    }
}
