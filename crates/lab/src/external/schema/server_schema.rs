//! The schema as its server shows it: whether it exists, what is in it, and whether it has the
//! run's mark. Only reads.

use std::collections::BTreeMap;

use truetps_driver::{Client, ConnectionIds, DriverError, Target};
use truetps_record::SqlDialect;

use super::super::committing;
use super::super::control::CLIENT_TIMEOUT;
use super::super::journal::LeftSchema;
use super::super::mark::{Mark, TABLE};
use super::super::relations::{self, Relation};
use super::super::sessions::OwnSessions;
use super::name::SchemaName;

/// MySQL, and MariaDB before 10.5, have no schema comments.
const NO_SUCH_COLUMN: u16 = 1054;

pub(crate) struct ServerSchema {
    /// As named by the user; sessions outside create and drop the schema.
    pub(crate) outside: Target,
    /// Inside the schema.
    pub(crate) inside: Target,
    pub(crate) name: SchemaName,
    pub(crate) mark: Mark,
}

impl ServerSchema {
    pub(super) fn new(target: &Target, name: SchemaName, mark: Mark) -> Self {
        let (mut outside, mut inside) = (target.clone(), target.clone());
        inside.login.database = Some(name.text.clone());
        for target in [&mut outside, &mut inside] {
            committing::set_up(target);
            target.setup.extend(OwnSessions::setup_sql(target.dialect, &mark.signature()));
        }
        Self { outside, inside, name, mark }
    }

    /// Lists the sessions that connect from now on.
    pub(super) fn list_sessions(&mut self, ids: &ConnectionIds) {
        for target in [&mut self.outside, &mut self.inside] {
            target.connections = Some(ids.clone());
        }
    }

    pub(super) fn connect_inside(&self) -> Result<Client, DriverError> {
        Client::connect(&self.inside, CLIENT_TIMEOUT)
    }

    /// Reads with a session that sees the schema's tables: on PostgreSQL one in the database.
    pub(super) fn read_inside<R>(
        &self,
        client: &mut Client,
        read: impl FnOnce(&mut Client) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        match self.name.dialect {
            SqlDialect::Mysql => read(client),
            SqlDialect::Postgres => read(&mut self.connect_inside()?),
        }
    }

    pub(super) fn exists(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = self.name.literal();
        let sql = match self.name.dialect {
            SqlDialect::Mysql => {
                format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {name}")
            }
            SqlDialect::Postgres => format!("SELECT 1 FROM pg_database WHERE datname = {name}"),
        };
        Ok(client.query_value(&sql)?.is_some())
    }

    /// Tables and views in it, by names in the server's spelling.
    pub(super) fn relations(
        &self,
        client: &mut Client,
    ) -> Result<BTreeMap<String, Relation>, DriverError> {
        self.read_inside(client, |inside| self.relations_in(inside))
    }

    /// The relations, read by a session that sees them.
    pub(super) fn relations_in(
        &self,
        inside: &mut Client,
    ) -> Result<BTreeMap<String, Relation>, DriverError> {
        let sql = match self.name.dialect {
            SqlDialect::Mysql => {
                let columns = "table_name, table_comment, table_type";
                format!(
                    "SELECT {columns} FROM information_schema.tables WHERE table_schema = {}",
                    self.name.literal()
                )
            }
            SqlDialect::Postgres => self.relations_sql(),
        };
        Ok(relations::of_rows(inside.query(&sql)?.rows))
    }

    /// PostgreSQL's `information_schema.tables` shows only what the account may see, and dropping a
    /// database drops everything.
    fn relations_sql(&self) -> String {
        let (name, of) = match &self.name.namespace {
            Some(namespace) => ("relname::text", format!("= '{}'", namespace.replace('\'', "''"))),
            // A table of the same name in another schema is not the run's.
            None => (
                "CASE WHEN nspname = current_schema() THEN relname::text ELSE relname::text || ' \
                 in ' || nspname::text END",
                "NOT IN ('pg_catalog', 'information_schema')".to_owned(),
            ),
        };
        format!(
            "SELECT {name}, pg_catalog.obj_description(pg_class.oid, 'pg_class'), relkind::text \
             FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind IN \
             ('r', 'p', 'v', 'm', 'f') AND relpersistence <> 't' AND nspname {of}"
        )
    }

    pub(super) fn is_empty(&self, inside: &mut Client, table: &str) -> Result<bool, DriverError> {
        Ok(inside
            .query(&format!("SELECT 1 FROM {} LIMIT 1", self.name.whole(table)))?
            .rows
            .is_empty())
    }

    /// Whether the mark is in the session's current schema.
    pub(crate) fn is_marked_here(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, TABLE)
    }

    /// Whether the mark is in the schema, for a session in another one, or in none. On PostgreSQL
    /// it must be in the database.
    pub(crate) fn is_marked_there(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, &self.name.whole(TABLE))
    }

    /// Whether the schema itself has the mark that it gets when a run creates it.
    pub(super) fn is_created_by_us(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = self.name.literal();
        let (sql, mark) = match self.name.dialect {
            SqlDialect::Mysql => (
                format!(
                    "SELECT schema_comment FROM information_schema.schemata WHERE schema_name = \
                     {name}"
                ),
                self.mark.signature(),
            ),
            SqlDialect::Postgres => (
                format!("SELECT datconnlimit::text FROM pg_database WHERE datname = {name}"),
                self.mark.connection_limit().to_string(),
            ),
        };
        match client.query_value(&sql) {
            Ok(found) => Ok(found.as_ref() == Some(&mark)),
            Err(DriverError::Server(error)) if error.code == NO_SUCH_COLUMN => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the run ended between CREATE DATABASE and its mark, and the schema has no procedures
    /// or events.
    pub(super) fn was_being_created(
        &self,
        client: &mut Client,
        made: &LeftSchema,
    ) -> Result<bool, DriverError> {
        if self.name.dialect != SqlDialect::Mysql || made.making != [TABLE] {
            return Ok(false);
        }
        let name = self.name.literal();
        let sql = format!(
            "SELECT 1 FROM information_schema.routines WHERE routine_schema = {name} \
             UNION ALL SELECT 1 FROM information_schema.events WHERE event_schema = {name} LIMIT 1"
        );
        Ok(client.query(&sql)?.rows.is_empty())
    }
}
