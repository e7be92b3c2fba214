//! Makes sessions: holds what all clients of a load have in common.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use truetps_record::SqlDialect;

use crate::http::{HttpSession, HttpTarget};
use crate::mysql::MysqlSession;
use crate::postgres::PgSession;
use crate::{
    Address, DriverError, Endpoint, Link, Scratch, Session, SessionEvent, Socket, Statement,
    Target, TlsClient,
};

/// Pause if a server's queue of new connections is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// Opens sessions to one target, all with the same statements.
pub struct Connector {
    /// Every endpoint from the first source, then every endpoint from the next one.
    addresses: Vec<Address>,
    endpoints: usize,
    /// Connections begun so far. Sources take turns by this number and not by the client's: the
    /// clients of one part of a load may all be even.
    begun: AtomicUsize,
    tls: Option<TlsClient>,
    protocol: ConnectorProtocol,
}

enum ConnectorProtocol {
    Sql { target: Arc<Target>, statements: Arc<[Statement]>, prepared: bool },
    Http(Arc<HttpTarget>),
}

impl Connector {
    /// Looks host names up and reads the authorities of TLS. `prepared`: statements are prepared at
    /// login and executed with values apart from the text.
    pub fn new(
        target: Target,
        statements: Arc<[Statement]>,
        prepared: bool,
    ) -> Result<Self, DriverError> {
        let addresses = target.endpoints.iter().map(Address::resolve).collect::<Result<_, _>>()?;
        let (addresses, endpoints) =
            (from_sources(addresses, &target.sources)?, target.endpoints.len());
        let tls = TlsClient::new(&target.tls)?;
        let protocol = ConnectorProtocol::Sql { target: Arc::new(target), statements, prepared };
        Ok(Self { addresses, endpoints, begun: AtomicUsize::new(0), tls, protocol })
    }

    /// For requests to a service.
    pub fn http(target: HttpTarget) -> Result<Self, DriverError> {
        let addresses = vec![Address::resolve(&target.endpoint)?];
        let tls = TlsClient::new(&target.tls)?;
        let protocol = ConnectorProtocol::Http(Arc::new(target));
        Ok(Self { addresses, endpoints: 1, begun: AtomicUsize::new(0), tls, protocol })
    }

    /// For sessions without a list of statements: all their statements are ad hoc.
    pub fn ad_hoc(target: Target) -> Result<Self, DriverError> {
        Self::new(target, Arc::new([]), false)
    }

    pub fn endpoint(&self, client: u32) -> &Endpoint {
        self.address(client).endpoint()
    }

    pub fn address(&self, client: u32) -> &Address {
        &self.addresses[client as usize % self.endpoints]
    }

    /// Begins to connect client number `client`; see [`Socket::start_connecting`].
    pub fn open_socket(&self, client: u32) -> io::Result<Socket> {
        // All endpoints in turn, before the next source.
        let turn = self.begun.fetch_add(1, Ordering::Relaxed) / self.endpoints;
        let source = turn % (self.addresses.len() / self.endpoints);
        Socket::start_connecting(
            &self.addresses[source * self.endpoints + client as usize % self.endpoints],
        )
    }

    /// Connects client number `client`, logs in and waits for both, at most until `deadline`.
    pub fn connect(
        &self,
        client: u32,
        scratch: &mut Scratch,
        deadline: Option<Instant>,
    ) -> Result<Link, DriverError> {
        let socket = loop {
            match self.open_socket(client) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Err(self.not_connected(client, io::ErrorKind::TimedOut.into()));
                    }
                    thread::sleep(QUEUE_PAUSE);
                }
                begun => break begun.map_err(|source| self.not_connected(client, source))?,
            }
        };
        let mut link = Link::new(socket, self.session(client));
        let event = link.start_login(scratch).and_then(|()| link.wait(scratch, deadline));
        match event {
            Ok(SessionEvent::Ready) => Ok(link),
            Ok(_) => Err(DriverError::Protocol("a reply instead of a greeting")),
            Err(DriverError::Io(source)) => Err(self.not_connected(client, source)),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn not_connected(&self, client: u32, source: io::Error) -> DriverError {
        DriverError::Connect { endpoint: self.endpoint(client).clone(), source }
    }

    /// A session for a socket of client number `client`.
    pub fn session(&self, client: u32) -> Box<dyn Session> {
        let tls = self.tls.clone();
        match &self.protocol {
            ConnectorProtocol::Http(target) => Box::new(HttpSession::new(Arc::clone(target), tls)),
            ConnectorProtocol::Sql { target, statements, prepared } => {
                let (target, statements) = (Arc::clone(target), Arc::clone(statements));
                match target.dialect {
                    SqlDialect::Mysql => Box::new(
                        MysqlSession::new(target, statements, *prepared).for_client(client, tls),
                    ),
                    SqlDialect::Postgres => {
                        Box::new(PgSession::new(target, statements, *prepared, tls, client))
                    }
                }
            }
        }
    }
}

fn from_sources(addresses: Vec<Address>, sources: &[IpAddr]) -> Result<Vec<Address>, DriverError> {
    if sources.is_empty() {
        return Ok(addresses);
    }
    let pairs = sources
        .iter()
        .flat_map(|source| addresses.iter().map(move |address| address.with_source(*source)));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn connections_come_from_all_sources_to_all_endpoints() {
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
        let dsn = format!(
            "mysql://127.0.0.1:{},127.0.0.1:{}?source=127.0.0.2,127.0.0.3",
            ports[0], ports[1]
        );
        let connector = Connector::ad_hoc(Target::parse(&dsn).unwrap()).unwrap();
        // Only even clients, as in one of two parts.
        let _sockets: Vec<_> = (0..8).map(|n| connector.open_socket(n * 2).unwrap()).collect();
        let mut from = BTreeMap::new();
        for _ in 0..8 {
            *from.entry(listeners[0].accept().unwrap().1.ip().to_string()).or_insert(0) += 1;
        }
        assert_eq!(
            from,
            BTreeMap::from([("127.0.0.2".to_owned(), 4), ("127.0.0.3".to_owned(), 4)])
        );
    }

    #[test]
    fn a_source_must_be_an_address_of_this_host() {
        let error = |dsn: &str| Connector::ad_hoc(Target::parse(dsn).unwrap()).err().unwrap();
        let foreign = error("mysql://127.0.0.1?source=192.0.2.1");
        assert!(foreign.to_string().starts_with("cannot connect from 192.0.2.1: "), "{foreign}");
        assert!(foreign.hint().unwrap().contains("`ip address`"));
        let other = error("mysql://[::1]?source=127.0.0.1");
        assert!(other.to_string().ends_with("[::1]:3306 has no address of its family"), "{other}");
    }
}
