//! Before a run: all clients connect and log in, a few at a time.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use truetps_driver::{DriverError, Endpoint, Link, SessionEvent};
use truetps_record::{ErrorClass, ErrorTally};

use crate::client::{ClientState, EngineClient};
use crate::worker::{LOOK, Worker};

/// Logins under way at once in one worker: enough to keep the server busy, few enough not to be a
/// storm. A blocking run has one in each of its threads.
const LOGINS_MAX: usize = 32;
/// Pause before another attempt if a server's queue of new connections is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// The result of connecting.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    pub(crate) ok: u32,
    pub(crate) failed: u32,
    /// A session limit kept a client out.
    pub(crate) at_session_limit: bool,
    pub(crate) errors: ErrorTally,
}

impl Connected {
    fn count_failure(&mut self, error: &DriverError) {
        self.failed += 1;
        self.at_session_limit |= error.is_session_limit();
        self.errors.add(error.class(), error.code(), &error.to_string());
    }
}

impl Worker<'_> {
    /// Connects and logs in the clients with these numbers. Those that fail are counted and named.
    pub(crate) fn connect(&mut self, numbers: &[u32]) -> io::Result<Connected> {
        // `None`: longer than any wait.
        let deadline = Instant::now().checked_add(self.shared.load.connect_timeout);
        let mut connected = Connected::default();
        let mut logging_in = 0;
        while self.clients.len() < numbers.len() || logging_in > 0 {
            let mut is_queue_full = false;
            while self.clients.len() < numbers.len() && logging_in < LOGINS_MAX && !is_queue_full {
                let number = numbers[self.clients.len()];
                match self.open(number) {
                    Ok(()) => logging_in += 1,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_queue_full = true,
                    Err(source) => {
                        let endpoint = self.shared.connector.endpoint(number).clone();
                        connected.count_failure(&DriverError::Connect { endpoint, source });
                        self.clients.push(EngineClient::new(
                            number,
                            None,
                            self.shared.workload.client(number),
                        ));
                    }
                }
            }
            self.wait(if is_queue_full { QUEUE_PAUSE } else { LOOK }, 0, u64::MAX)?;
            logging_in -= self.take_logins(&mut connected);
            if self.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.give_up_on_logins(numbers, &mut connected);
                break;
            }
        }
        Ok(connected)
    }

    fn open(&mut self, number: u32) -> io::Result<()> {
        let slot = self.clients.len();
        let link = self.open_link(number)?;
        self.clients.push(EngineClient::new(
            number,
            Some(link),
            self.shared.workload.client(number),
        ));
        self.watch(slot).inspect_err(|_| drop(self.clients.pop()))
    }

    /// A new connection for client `number`, with the client's first message sent, if it has one.
    pub(crate) fn open_link(&mut self, number: u32) -> io::Result<Link> {
        let connector = self.shared.connector;
        let mut link = Link::new(connector.open_socket(number)?, connector.session(number));
        // An error now is reported again, with its cause, when the socket is read.
        let _ = link.start_login(&mut self.scratch);
        Ok(link)
    }

    /// Handles the events of logins; returns how many logins have ended.
    fn take_logins(&mut self, connected: &mut Connected) -> usize {
        let mut ended = 0;
        let events = std::mem::take(&mut self.events);
        for event in &events {
            let client = &mut self.clients[event.data.u64() as usize];
            let Some(link) = &mut client.link else { continue };
            match link.receive(&mut self.scratch) {
                Ok(Some(SessionEvent::Ready)) => {
                    client.state = ClientState::Idle;
                    connected.ok += 1;
                    ended += 1;
                }
                Ok(_) => {}
                Err(error) => {
                    // A client that had already logged in was counted then.
                    let had_logged_in = client.state != ClientState::Connecting;
                    connected.ok -= u32::from(had_logged_in);
                    ended += usize::from(!had_logged_in);
                    connected.count_failure(&while_connecting(
                        error,
                        self.shared.connector.endpoint(client.number),
                    ));
                    client.give_up();
                }
            }
        }
        self.events = events;
        ended
    }

    fn give_up_on_logins(&mut self, numbers: &[u32], connected: &mut Connected) {
        let mut late = (numbers.len() - self.clients.len()) as u32;
        for client in
            self.clients.iter_mut().filter(|client| client.state == ClientState::Connecting)
        {
            client.give_up();
            late += 1;
        }
        for number in &numbers[self.clients.len()..] {
            self.clients.push(EngineClient::new(
                *number,
                None,
                self.shared.workload.client(*number),
            ));
        }
        let message = format!(
            "no answer to the login within {} s",
            self.shared.load.connect_timeout.as_secs()
        );
        for _ in 0..late {
            connected.failed += 1;
            connected.errors.add(ErrorClass::ConnectFailed, 0, &message);
        }
    }
}

/// A refused connection is reported when its socket is first read.
pub(crate) fn while_connecting(error: DriverError, endpoint: &Endpoint) -> DriverError {
    match error {
        DriverError::Io(source) => DriverError::Connect { endpoint: endpoint.clone(), source },
        other => other,
    }
}
