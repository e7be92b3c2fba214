//! Statements that are prepared individually, at any time.

use super::error_packet::parse_error;
use super::wire::PayloadReader;
use crate::handles::Handles;
use crate::{DriverError, Params, Prepared, ServerError};

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerStatement {
    pub(super) id: u32,
    pub(super) params: u16,
    columns: u16,
}

/// The statements of one session that are open.
#[derive(Debug, Default)]
pub(super) struct MysqlStatements {
    open: Handles<ServerStatement>,
}

impl MysqlStatements {
    pub(super) fn insert(&mut self, statement: ServerStatement) -> Prepared {
        let ServerStatement { params, columns, .. } = statement;
        Prepared { handle: self.open.insert(statement), params, columns }
    }

    /// The server's number of a statement that is about to be executed with these values.
    pub(super) fn id(&self, handle: u32, params: &Params) -> Result<u32, DriverError> {
        let statement = self.open.get(handle).ok_or(DriverError::NO_HANDLE)?;
        if params.values().len() == usize::from(statement.params) {
            Ok(statement.id)
        } else {
            Err(DriverError::OTHER_PARAMS)
        }
    }

    /// The server's number of a statement that is to be closed.
    pub(super) fn close(&mut self, handle: u32) -> Result<u32, DriverError> {
        self.open.remove(handle).map(|statement| statement.id).ok_or(DriverError::NO_HANDLE)
    }
}

/// A prepare in flight.
#[derive(Debug)]
pub(super) enum MysqlPreparing {
    Asked,
    /// So many packets that describe its parameters and columns are still to come.
    Described {
        left: u32,
        statement: ServerStatement,
    },
}

/// The statement, or why the server refuses it.
pub(super) type MysqlPrepareEnd = Result<ServerStatement, ServerError>;

impl MysqlPreparing {
    /// Takes the next packet; `Some` where it was the last one.
    pub(super) fn packet(
        &mut self,
        payload: &[u8],
    ) -> Result<Option<MysqlPrepareEnd>, DriverError> {
        if payload.first() == Some(&0xff) {
            return Ok(Some(Err(parse_error(payload)?)));
        }
        if matches!(self, Self::Described { .. }) {
            return Ok(self.described());
        }
        let (statement, packets) = parse_prepared(payload)?;
        if packets == 0 {
            return Ok(Some(Ok(statement)));
        }
        *self = Self::Described { left: packets, statement };
        Ok(None)
    }

    /// Takes a packet that describes a parameter or a column, or ends one of the two lists.
    pub(super) fn described(&mut self) -> Option<MysqlPrepareEnd> {
        let Self::Described { left, statement } = self else { return None };
        *left = left.saturating_sub(1);
        (*left == 0).then_some(Ok(*statement))
    }
}

/// The server's answer to a prepare, and the number of packets that follow.
pub(super) fn parse_prepared(payload: &[u8]) -> Result<(ServerStatement, u32), DriverError> {
    let mut reader = PayloadReader::new(payload);
    if reader.u8()? != 0 {
        return Err(DriverError::Protocol("an unknown answer to a prepare"));
    }
    let id = reader.uint(4)? as u32;
    let columns = reader.uint(2)? as u16;
    let params = reader.uint(2)? as u16;
    let packets = packets_of_list(columns) + packets_of_list(params);
    Ok((ServerStatement { id, params, columns }, packets))
}

/// A list that is not empty is followed by an end-of-data packet.
fn packets_of_list(length: u16) -> u32 {
    if length > 0 { u32::from(length) + 1 } else { 0 }
}
