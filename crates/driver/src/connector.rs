//! Makes sessions: everything that all clients of a load have in common.

use std::io;
use std::sync::Arc;

use crate::mysql::MysqlSession;
use crate::postgres::PgSession;
use crate::{Address, Dialect, DriverError, Endpoint, Session, Socket, Statement, Target, TlsClient};

/// Opens sessions to one target, all with the same statements.
pub struct Connector {
    target: Arc<Target>,
    addresses: Vec<Address>,
    statements: Arc<[Statement]>,
    prepared: bool,
    tls: Option<TlsClient>,
}

impl Connector {
    /// Looks host names up and reads the authorities of TLS. `prepared`: statements are prepared at login and executed
    /// with values apart from the text.
    pub fn new(target: Target, statements: Arc<[Statement]>, prepared: bool) -> Result<Self, DriverError> {
        let addresses = target.endpoints.iter().map(Address::resolve).collect::<Result<_, _>>()?;
        let tls = TlsClient::new(&target.tls)?;
        Ok(Self { target: Arc::new(target), addresses, statements, prepared, tls })
    }

    pub fn endpoint(&self, client: u32) -> &Endpoint {
        self.address(client).endpoint()
    }

    pub fn address(&self, client: u32) -> &Address {
        &self.addresses[client as usize % self.addresses.len()]
    }

    /// Begins to connect client number `client`; see [`Socket::begin`].
    pub fn begin(&self, client: u32) -> io::Result<Socket> {
        Socket::begin(self.address(client))
    }

    /// A session for a socket of client number `client`.
    pub fn session(&self, client: u32) -> Box<dyn Session> {
        match self.target.dialect {
            Dialect::Mysql => {
                let (target, statements) = (Arc::clone(&self.target), Arc::clone(&self.statements));
                Box::new(MysqlSession::new(target, statements, self.prepared).for_client(client, self.tls.clone()))
            }
            Dialect::Postgres => {
                let (target, statements) = (Arc::clone(&self.target), Arc::clone(&self.statements));
                Box::new(PgSession::new(target, statements, self.prepared, self.tls.clone(), client))
            }
        }
    }
}
