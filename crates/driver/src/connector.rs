//! Makes sessions: holds what all clients of a load have in common.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use truetps_record::SqlDialect;

use crate::http::{HttpSession, HttpTarget};
use crate::mysql::MysqlSession;
use crate::postgres::PgSession;
use crate::{
    Address, DriverError, Endpoint, Link, Scratch, Session, SessionEvent, Socket, Statement, Target, TlsClient,
};

/// Pause if a server's queue of new connections is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// Opens sessions to one target, all with the same statements.
pub struct Connector {
    addresses: Vec<Address>,
    tls: Option<TlsClient>,
    protocol: ConnectorProtocol,
}

enum ConnectorProtocol {
    Sql { target: Arc<Target>, statements: Arc<[Statement]>, prepared: bool },
    Http(Arc<HttpTarget>),
}

impl Connector {
    /// Looks host names up and reads the authorities of TLS. `prepared`: statements are prepared at login and executed
    /// with values apart from the text.
    pub fn new(target: Target, statements: Arc<[Statement]>, prepared: bool) -> Result<Self, DriverError> {
        let addresses = target.endpoints.iter().map(Address::resolve).collect::<Result<_, _>>()?;
        let tls = TlsClient::new(&target.tls)?;
        Ok(Self { addresses, tls, protocol: ConnectorProtocol::Sql { target: Arc::new(target), statements, prepared } })
    }

    /// For requests to a service.
    pub fn http(target: HttpTarget) -> Result<Self, DriverError> {
        let addresses = vec![Address::resolve(&target.endpoint)?];
        let tls = TlsClient::new(&target.tls)?;
        Ok(Self { addresses, tls, protocol: ConnectorProtocol::Http(Arc::new(target)) })
    }

    /// For sessions without a list of statements: all their statements are ad hoc.
    pub fn ad_hoc(target: Target) -> Result<Self, DriverError> {
        Self::new(target, Arc::new([]), false)
    }

    pub fn endpoint(&self, client: u32) -> &Endpoint {
        self.address(client).endpoint()
    }

    pub fn address(&self, client: u32) -> &Address {
        &self.addresses[client as usize % self.addresses.len()]
    }

    /// Begins to connect client number `client`; see [`Socket::start_connecting`].
    pub fn open_socket(&self, client: u32) -> io::Result<Socket> {
        Socket::start_connecting(self.address(client))
    }

    /// Connects client number `client`, logs in and waits for both, at most until `deadline`.
    pub fn connect(&self, client: u32, scratch: &mut Scratch, deadline: Option<Instant>) -> Result<Link, DriverError> {
        let failed = |source| DriverError::Connect { endpoint: self.endpoint(client).clone(), source };
        let socket = loop {
            match self.open_socket(client) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Err(failed(io::ErrorKind::TimedOut.into()));
                    }
                    thread::sleep(QUEUE_PAUSE);
                }
                begun => break begun.map_err(failed)?,
            }
        };
        let mut link = Link::new(socket, self.session(client));
        let event = link.start_login(scratch).and_then(|()| link.wait(scratch, deadline));
        match event {
            Ok(SessionEvent::Ready) => Ok(link),
            Ok(_) => Err(DriverError::Protocol("a reply instead of a greeting")),
            Err(DriverError::Io(source)) => Err(failed(source)),
            Err(error) => Err(error),
        }
    }

    /// A session for a socket of client number `client`.
    pub fn session(&self, client: u32) -> Box<dyn Session> {
        let tls = self.tls.clone();
        match &self.protocol {
            ConnectorProtocol::Http(target) => Box::new(HttpSession::new(Arc::clone(target), tls)),
            ConnectorProtocol::Sql { target, statements, prepared } => {
                let (target, statements) = (Arc::clone(target), Arc::clone(statements));
                match target.dialect {
                    SqlDialect::Mysql => {
                        Box::new(MysqlSession::new(target, statements, *prepared).for_client(client, tls))
                    }
                    SqlDialect::Postgres => Box::new(PgSession::new(target, statements, *prepared, tls, client)),
                }
            }
        }
    }
}
