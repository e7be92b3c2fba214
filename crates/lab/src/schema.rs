//! The schema that a guest works in: one that it makes and drops, or one of the user's in which it makes tables and drops
//! those.

use std::collections::BTreeSet;
use std::time::Duration;

use truetps_driver::{Client, Dialect, DriverError, Target};
use truetps_workload::Workload;

use crate::error::LabError;
use crate::foreign::{ForeignError, LeftSchema};
use crate::mark::{Mark, TABLE};
use crate::tables::pristine_name;

const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Errors "database exists" and "unknown database" of MySQL, and the first of PostgreSQL.
const DATABASE_EXISTS: u16 = 1007;
const DUPLICATE_DATABASE: &str = "42P04";

pub(crate) struct Schema {
    /// As the user named it; the schema is made and dropped from there.
    outside: Target,
    /// Inside the schema.
    inside: Target,
    name: String,
    mark: Mark,
    /// All that are to be made in a schema of the user's; `None` where the schema is ours.
    tables: Option<Vec<String>>,
}

impl Schema {
    pub(crate) fn new(target: &Target, name: &str, is_theirs: bool, workload: &dyn Workload) -> Self {
        let ours = || {
            let both = workload.tables().into_iter().flat_map(|table| [pristine_name(&table.name), table.name]);
            both.chain([TABLE.to_owned()]).collect()
        };
        Self::named(target, name, Mark::new(), is_theirs.then(ours))
    }

    /// What a killed run has left.
    pub(crate) fn left(target: &Target, left: &LeftSchema) -> Self {
        Self::named(target, &left.name, Mark::of(&left.mark), left.tables.clone())
    }

    fn named(target: &Target, name: &str, mark: Mark, tables: Option<Vec<String>>) -> Self {
        let mut inside = target.clone();
        inside.login.database = Some(name.to_owned());
        Self { outside: target.clone(), inside, name: name.to_owned(), mark, tables }
    }

    pub(crate) fn record(&self) -> LeftSchema {
        LeftSchema { name: self.name.clone(), mark: self.mark.id().to_owned(), tables: self.tables.clone() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn outside(&self) -> &Target {
        &self.outside
    }

    pub(crate) fn inside(&self) -> &Target {
        &self.inside
    }

    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Refuses a schema that is there, or is not there, or has tables of our names. Nothing is made.
    pub(crate) fn check(&self, client: &mut Client) -> Result<(), LabError> {
        let exists = self.exists(client)?;
        let schema = self.name.clone();
        let Some(tables) = &self.tables else {
            return if exists { Err(LabError::SchemaExists { schema }) } else { Ok(()) };
        };
        if !exists {
            return Err(ForeignError::NoSchema { schema }.into());
        }
        let there = self.tables_there(client)?;
        match tables.iter().find(|table| there.contains(*table)) {
            Some(table) => Err(ForeignError::TableExists { schema, table: table.clone() }.into()),
            None => Ok(()),
        }
    }

    fn exists(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = &self.name;
        let sql = match self.outside.dialect {
            Dialect::Mysql => format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{name}'"),
            Dialect::Postgres => format!("SELECT 1 FROM pg_database WHERE datname = '{name}'"),
        };
        Ok(client.query_value(&sql)?.is_some())
    }

    /// Names of tables and views in it.
    fn tables_there(&self, client: &mut Client) -> Result<BTreeSet<String>, DriverError> {
        let sql = format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{}'", self.name);
        let rows = match self.outside.dialect {
            Dialect::Mysql => client.query(&sql)?.rows,
            Dialect::Postgres => {
                let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()";
                Client::connect(&self.inside, CLIENT_TIMEOUT)?.query(sql)?.rows
            }
        };
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    /// Makes it, and leaves our mark in it.
    pub(crate) fn make(&self, client: &mut Client) -> Result<(), LabError> {
        if self.tables.is_none() {
            self.create(client)?;
        }
        self.mark_all()
    }

    /// What [`Self::make`] sends.
    pub(crate) fn make_sql(&self) -> Vec<String> {
        let create = self.tables.is_none().then(|| format!("CREATE DATABASE {}", self.quoted()));
        create.into_iter().chain(self.mark.leave_sql()).collect()
    }

    /// What drops it in the end.
    pub(crate) fn drop_sql(&self) -> Vec<String> {
        match &self.tables {
            None => vec![format!("DROP DATABASE {}", self.quoted())],
            Some(tables) => vec![format!("DROP TABLE IF EXISTS {}", tables.join(", "))],
        }
    }

    fn create(&self, client: &mut Client) -> Result<(), LabError> {
        let schema = self.name.clone();
        match client.execute(&format!("CREATE DATABASE {}", self.quoted())) {
            Ok(_) => Ok(()),
            Err(DriverError::Server(error))
                if error.code == DATABASE_EXISTS || error.sqlstate == DUPLICATE_DATABASE =>
            {
                Err(LabError::SchemaExists { schema })
            }
            Err(source) => Err(LabError::Schema { schema, source }),
        }
    }

    /// Leaves the mark in the schema, and makes sure that it is seen through every endpoint: several addresses must lead
    /// to one server, or to servers that follow each other.
    fn mark_all(&self) -> Result<(), LabError> {
        for (n, endpoint) in self.inside.endpoints.iter().enumerate() {
            let one = Target { endpoints: vec![endpoint.clone()], ..self.inside.clone() };
            let mut client = Client::connect(&one, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
            if n == 0 {
                self.mark.leave(&mut client)?;
            } else if !self.mark.is_in(&mut client)? {
                return Err(LabError::OtherSchema { at: endpoint.clone() });
            }
        }
        Ok(())
    }

    /// Drops what is ours, by our mark; says what it did. What looks like ours and cannot be told is left, and told.
    pub(crate) fn clean(&self, client: &mut Client, left: &mut Vec<String>) -> Result<Vec<String>, LabError> {
        if !self.exists(client)? {
            return Ok(Vec::new());
        }
        if !self.is_marked(client)? {
            let tables = self.tables_there(client)?;
            if self.tables.is_none() && (tables.is_empty() || tables.iter().eq([TABLE])) {
                left.push(format!(
                    "the schema `{0}` is empty and may have been made by the killed run: if it is not yours, DROP DATABASE {0}",
                    self.name
                ));
            }
            return Ok(Vec::new());
        }
        self.drop_marked(client)?;
        Ok(vec![match &self.tables {
            None => format!("the schema `{}` was dropped", self.name),
            Some(_) => format!("the tables of truetps in `{}` were dropped", self.name),
        }])
    }

    /// Drops the schema that has our mark, or our tables in it, and nothing else of that name.
    pub(crate) fn drop_ours(&self, client: &mut Client) -> Result<(), LabError> {
        if !self.is_marked(client)? {
            return Err(LabError::OtherSchema { at: self.outside.endpoint(0).clone() });
        }
        self.drop_marked(client)
    }

    fn is_marked(&self, client: &mut Client) -> Result<bool, LabError> {
        Ok(match self.outside.dialect {
            Dialect::Mysql => self.mark.is_in_schema(client, &self.quoted())?,
            Dialect::Postgres => self.mark.is_in(&mut Client::connect(&self.inside, CLIENT_TIMEOUT)?)?,
        })
    }

    fn drop_marked(&self, client: &mut Client) -> Result<(), LabError> {
        if let Some(tables) = &self.tables {
            return self.drop_tables(tables);
        }
        let name = self.quoted();
        let dropped = match self.outside.dialect {
            Dialect::Mysql => client.execute(&format!("DROP DATABASE {name}")).map(drop),
            // Sessions of the load may still be on their way out. Servers before 13 do not know the word.
            Dialect::Postgres => match client.execute(&format!("DROP DATABASE {name} WITH (FORCE)")) {
                Err(DriverError::Server(_)) => client.execute(&format!("DROP DATABASE {name}")).map(drop),
                other => other.map(drop),
            },
        };
        Ok(dropped?)
    }

    /// The mark goes last: without it nobody would know that the rest is ours.
    fn drop_tables(&self, tables: &[String]) -> Result<(), LabError> {
        let mut client = Client::connect(&self.inside, CLIENT_TIMEOUT)?;
        let names: Vec<_> = tables.iter().filter(|name| *name != TABLE).map(String::as_str).collect();
        if client.dialect() == Dialect::Mysql {
            client.execute("SET SESSION foreign_key_checks = 0")?;
        }
        if !names.is_empty() {
            client.execute(&format!("DROP TABLE IF EXISTS {}", names.join(", ")))?;
        }
        Ok(client.execute(&format!("DROP TABLE {TABLE}")).map(drop)?)
    }

    /// The name as an identifier.
    fn quoted(&self) -> String {
        match self.outside.dialect {
            Dialect::Mysql => format!("`{}`", self.name.replace('`', "``")),
            Dialect::Postgres => format!("\"{}\"", self.name.replace('"', "\"\"")),
        }
    }
}
