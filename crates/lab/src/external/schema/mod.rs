//! The schema of an external run: one that it creates and drops, or a user's schema in which it
//! creates tables and drops them.

mod cleaning;
mod creation;
mod dropping;
mod name;
mod server_schema;
mod table_names;

use std::path::{Path, PathBuf};

use truetps_driver::{Client, ConnectionIds, Endpoint, Target};
use truetps_record::SqlDialect;
use truetps_workload::Workload;

use super::access;
use super::closing;
use super::error::ExternalError;
use super::identity::Identity;
use super::journal::{Journal, LeftSchema};
use super::journal_file::journals;
use super::mark::{Mark, TABLE};
use super::owned_sql;
use super::restoring::Restored;
use super::sessions::OwnSessions;
use crate::error::LabError;
use crate::trial::tables::{Ownership, Tables, pristine_name};

use cleaning::SchemaCleaning;
use creation::{ChangeRecorder, create_and_mark, create_and_mark_sql};
use dropping::{drop_relations_sql, drop_schema_sql};
use name::SchemaName;
pub use name::refuse_system_schema;
use server_schema::ServerSchema;
use table_names::{as_tables, lower, plain};

pub(crate) struct Schema {
    pub(super) server: ServerSchema,
    is_theirs: bool,
    /// All tables to be created.
    tables: Vec<String>,
    /// What the creating statements create besides them: views, and tables without rows.
    others: Vec<String>,
}

impl Schema {
    pub(crate) fn new(
        target: &Target,
        name: &str,
        is_theirs: bool,
        workload: &dyn Workload,
    ) -> Self {
        let both = workload
            .tables()
            .into_iter()
            .flat_map(|table| [pristine_name(&table.name), table.name]);
        let tables = both.chain([TABLE.to_owned()]).collect();
        let sent = workload.tables().into_iter();
        let others = sent.flat_map(|table| {
            [table.create_sql(), table.after_load_sql()]
                .concat()
                .iter()
                .flat_map(|sql| [owned_sql::made_by(sql), owned_sql::made_elsewhere(sql)].concat())
                .collect::<Vec<_>>()
        });
        let name = SchemaName::new(target.dialect, name, None);
        Self {
            server: ServerSchema::new(target, name, Mark::new()),
            is_theirs,
            tables,
            others: others.collect(),
        }
    }

    /// A table that is created later.
    pub(crate) fn plan_table(&mut self, name: &str) {
        self.tables.push(name.to_owned());
    }

    /// The leftovers of a killed run.
    pub(crate) fn of_killed_run(target: &Target, left: &LeftSchema) -> Self {
        let name = SchemaName::new(target.dialect, &left.name, left.namespace.clone());
        let server = ServerSchema::new(target, name, Mark::of(&left.mark));
        Self { server, is_theirs: left.is_theirs, tables: Vec::new(), others: Vec::new() }
    }

    pub(crate) fn record(&self) -> LeftSchema {
        LeftSchema {
            name: self.name().to_owned(),
            mark: self.server.mark.id.clone(),
            is_theirs: self.is_theirs,
            namespace: self.server.name.namespace.clone(),
            planned: [&self.tables[..], &self.others].concat(),
            making: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Lists the sessions that connect from now on; returns what identifies them.
    pub(crate) fn own_sessions(&mut self, ids: &ConnectionIds) -> OwnSessions {
        self.server.list_sessions(ids);
        self.sessions_of(ids, None)
    }

    /// What identifies sessions with these numbers; `control` as in [`OwnSessions`].
    pub(crate) fn sessions_of(&self, ids: &ConnectionIds, control: Option<u64>) -> OwnSessions {
        let is_proof = match self.server.outside.endpoints[..] {
            [Endpoint::Unix(_)] => true,
            [_] => !self.is_theirs,
            _ => false,
        };
        let (name, schema) = (self.server.mark.signature(), self.name().to_owned());
        OwnSessions { ids: ids.clone(), name, schema, is_proof, control }
    }

    pub(crate) fn name(&self) -> &str {
        &self.server.name.text
    }

    /// The tables of a workload, as they are created here.
    pub(crate) fn tables_of(&self, workload: &dyn Workload) -> Tables {
        let signature = self.is_theirs.then(|| self.server.mark.signature());
        let tables = Tables::new(workload, true, Ownership::External(self.server.name.dialect));
        tables.in_namespace(&self.server.name.prefix()).signed(signature)
    }

    /// Refuses a schema that exists, or is missing, or has tables of the workload's names in any
    /// letter case. Only reads.
    pub(crate) fn check(
        &mut self,
        client: &mut Client,
        workload: &dyn Workload,
    ) -> Result<(), LabError> {
        let exists = self.server.exists(client)?;
        let schema = self.name().to_owned();
        if !self.is_theirs {
            return if exists { Err(LabError::SchemaExists { schema }) } else { Ok(()) };
        }
        if !exists {
            return Err(ExternalError::NoSchema { schema }.into());
        }
        for table in workload.tables() {
            for statements in [table.create_sql(), table.after_load_sql()] {
                owned_sql::check(statements, &self.tables, self.server.name.dialect)?;
            }
        }
        if self.server.name.dialect == SqlDialect::Postgres {
            let mut inside = self.server.connect_inside().map_err(LabError::ExternalLogin)?;
            self.server.name.namespace = Some(access::namespace_postgres(&mut inside)?);
        }
        let there = lower(self.server.relations(client)?.keys());
        match self.tables.iter().find(|table| there.contains(&plain(table))) {
            Some(table) => Err(ExternalError::TableExists { schema, table: table.clone() }.into()),
            None => Ok(()),
        }
    }

    /// The journal of the run that created the existing schema, if that journal identifies the
    /// server by properties that may change: the mark is unique to a run. `None` if it cannot be
    /// read.
    pub(crate) fn journal_of(&self, client: &mut Client, folder: &Path) -> Option<PathBuf> {
        journals(folder).ok()?.into_iter().find(|path| self.has_journal(path, client) == Some(true))
    }

    fn has_journal(&self, path: &Path, client: &mut Client) -> Option<bool> {
        let journal = Journal::read(path).ok()?;
        if journal.schema.name != self.name() || !journal.server.may_move() {
            return None;
        }
        let left = Self::of_killed_run(&self.server.outside, &journal.schema);
        self.server.read_inside(client, |inside| left.server.is_marked_there(inside)).ok()
    }

    /// Refuses to empty a user's table that replaced a table of the run: a name alone proves
    /// nothing.
    pub(crate) fn check_signatures(&self, client: &mut Client) -> Result<(), LabError> {
        if !self.is_theirs {
            return Ok(());
        }
        let signature = self.server.mark.signature();
        let names = lower(self.tables.iter().filter(|name| *name != TABLE));
        let mut there = self.server.relations(client)?.into_iter();
        match there.find(|(table, relation)| {
            names.contains(&plain(table)) && relation.comment != signature
        }) {
            Some((table, _)) => {
                Err(ExternalError::OtherTable { schema: self.name().to_owned(), table }.into())
            }
            None => Ok(()),
        }
    }

    /// Creates it and writes the run's mark into it, on this server and no other.
    pub(crate) fn make(
        &self,
        client: &mut Client,
        server: &Identity,
        ledger: ChangeRecorder<'_>,
    ) -> Result<(), LabError> {
        create_and_mark(&self.server, self.is_theirs, client, server, ledger)
    }

    /// The statements of [`Self::make`].
    pub(crate) fn make_sql(&self) -> Vec<String> {
        create_and_mark_sql(&self.server, self.is_theirs)
    }

    /// Drops what belongs to the run, according to its mark and its journal. What cannot be proved
    /// is left and reported.
    pub(crate) fn clean(
        &self,
        client: Client,
        made: &LeftSchema,
        restored: &mut Restored,
    ) -> Result<(), LabError> {
        SchemaCleaning { schema: &self.server, made, restored }.clean(client, self.is_theirs)
    }

    /// The statements that drop it at the end.
    pub(crate) fn drop_sql(&self) -> Vec<String> {
        let name = &self.server.name;
        if self.is_theirs {
            return drop_relations_sql(name, &as_tables(&self.tables));
        }
        let is_closed = self.server.name.dialect == SqlDialect::Postgres;
        let close = is_closed.then(|| closing::close_sql(&name.quoted()));
        close.into_iter().flatten().chain([drop_schema_sql(name)]).collect()
    }
}
