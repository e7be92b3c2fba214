//! Creating the schema, and writing the run's mark into it.

use truetps_driver::{Client, DriverError, Target};
use truetps_record::SqlDialect;

use super::super::control::CLIENT_TIMEOUT;
use super::super::error::ExternalError;
use super::super::identity::Identity;
use super::super::mark::{Mark, TABLE};
use super::server_schema::ServerSchema;
use crate::error::LabError;
use crate::trial::tables::MadeSchema;

/// Errors "database exists" of MySQL and of PostgreSQL.
const DATABASE_EXISTS: u16 = 1007;
const DUPLICATE_DATABASE: &str = "42P04";

/// Writes a change to the journal.
pub(super) type ChangeRecorder<'a> =
    &'a mut dyn FnMut(&MadeSchema<'_>) -> Result<(), ExternalError>;

/// On this server and no other. An existing schema only gets the mark.
pub(super) fn create_and_mark(
    schema: &ServerSchema,
    exists: bool,
    client: &mut Client,
    server: &Identity,
    ledger: ChangeRecorder<'_>,
) -> Result<(), LabError> {
    if !exists {
        // Without a mark of its own an empty schema is recognised by this alone.
        ledger(&MadeSchema::Begins(&[TABLE.to_owned()]))?;
        create(schema, client)?;
    }
    leave_mark(schema, server, ledger)
}

/// The statements of [`create_and_mark`].
pub(super) fn create_and_mark_sql(schema: &ServerSchema, exists: bool) -> Vec<String> {
    let create = if exists { Vec::new() } else { create_sql(schema) };
    let seen = (schema.inside.endpoints.len() > 1).then(|| Mark::question(TABLE));
    schema
        .outside
        .setup
        .iter()
        .cloned()
        .chain(create)
        .chain(schema.mark.leave_sql())
        .chain(seen)
        .collect()
}

/// With a mark from its creation on, where the server supports one: MariaDB 10.5 and later,
/// PostgreSQL.
fn create_sql(schema: &ServerSchema) -> Vec<String> {
    let name = schema.name.quoted();
    match schema.name.dialect {
        SqlDialect::Mysql => {
            vec![format!(
                "CREATE DATABASE {name} /*M!100500 COMMENT '{}' */",
                schema.mark.signature()
            )]
        }
        // All accounts may connect to a new database, and up to version 14 create functions in it,
        // which statements of the load may then call with the rights of its account.
        SqlDialect::Postgres => vec![
            format!("CREATE DATABASE {name} CONNECTION LIMIT {}", schema.mark.connection_limit()),
            format!("REVOKE ALL ON DATABASE {name} FROM PUBLIC"),
        ],
    }
}

fn create(schema: &ServerSchema, client: &mut Client) -> Result<(), LabError> {
    let name = schema.name.text.clone();
    match create_sql(schema).iter().try_for_each(|sql| client.execute(sql).map(drop)) {
        Ok(()) => Ok(()),
        Err(DriverError::Server(error))
            if error.code == DATABASE_EXISTS || error.sqlstate == DUPLICATE_DATABASE =>
        {
            Err(LabError::SchemaExists { schema: name })
        }
        Err(source) => Err(LabError::Schema { schema: name, source }),
    }
}

/// Writes the mark into the schema, and checks that it is visible through every endpoint: several
/// addresses must lead to one server, or to its replicas.
fn leave_mark(
    schema: &ServerSchema,
    server: &Identity,
    ledger: ChangeRecorder<'_>,
) -> Result<(), LabError> {
    let names = [TABLE.to_owned()];
    for (n, endpoint) in schema.inside.endpoints.iter().enumerate() {
        let one = Target { endpoints: vec![endpoint.clone()], ..schema.inside.clone() };
        let mut client = Client::connect(&one, CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
        if n == 0 {
            server.ask_again(&mut client)?;
            ledger(&MadeSchema::Begins(&names))?;
            schema.mark.leave(&mut client)?;
            ledger(&MadeSchema::Ends(&names))?;
        } else if !schema.is_marked_here(&mut client)? {
            return Err(LabError::OtherSchema { at: endpoint.clone() });
        }
    }
    Ok(())
}
