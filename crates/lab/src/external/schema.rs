//! The schema that a guest works in: one that it makes and drops, or one of the user's in which it makes tables and drops
//! those.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use truetps_driver::{Client, ConnectionIds, Dialect, DriverError, Endpoint, Target};
use truetps_workload::Workload;

use super::access;
use super::closing;
use super::error::ForeignError;
use super::identity::Identity;
use super::journal::{Journal, LeftSchema};
use super::journal_file::journals;
use super::mark::{Mark, TABLE};
use super::owned_sql;
use super::relations::{self, Relation, RelationKind};
use super::restoring::Restored;
use super::sessions::OwnSessions;
use super::settings_lease::CLIENT_TIMEOUT;
use crate::error::LabError;
use crate::setting::quoted;
use crate::tables::{Ownership, Tables, pristine_name};

/// Errors "database exists" of MySQL and of PostgreSQL.
const DATABASE_EXISTS: u16 = 1007;
const DUPLICATE_DATABASE: &str = "42P04";
/// MySQL, and MariaDB before 10.5, have no comments of schemas.
const NO_SUCH_COLUMN: u16 = 1054;

/// What has happened in the schema, to be written down.
#[derive(Debug)]
pub(crate) enum MadeSchema<'n> {
    /// These tables are about to be made.
    Begins(&'n [String]),
    /// They are there.
    Ends(&'n [String]),
}

pub(crate) struct Schema {
    /// As the user named it; the schema is made and dropped from there.
    outside: Target,
    /// Inside the schema.
    inside: Target,
    name: String,
    mark: Mark,
    is_theirs: bool,
    /// Where PostgreSQL makes tables in the user's database.
    namespace: Option<String>,
    /// All that are to be made.
    tables: Vec<String>,
    /// What the statements that make them make beside them: views, and tables without rows.
    others: Vec<String>,
}

impl Schema {
    pub(crate) fn new(target: &Target, name: &str, is_theirs: bool, workload: &dyn Workload) -> Self {
        let both = workload.tables().into_iter().flat_map(|table| [pristine_name(&table.name), table.name]);
        let tables = both.chain([TABLE.to_owned()]).collect();
        let sent = workload.tables().into_iter();
        let others = sent.flat_map(|table| {
            [table.create_sql(), table.after_load_sql()]
                .concat()
                .iter()
                .flat_map(|sql| [owned_sql::made_by(sql), owned_sql::made_elsewhere(sql)].concat())
                .collect::<Vec<_>>()
        });
        Self { tables, others: others.collect(), ..Self::named(target, name, Mark::new(), is_theirs) }
    }

    /// What a killed run has left.
    pub(crate) fn left(target: &Target, left: &LeftSchema) -> Self {
        let namespace = left.namespace.clone();
        Self { namespace, ..Self::named(target, &left.name, Mark::of(&left.mark), left.is_theirs) }
    }

    fn named(target: &Target, name: &str, mark: Mark, is_theirs: bool) -> Self {
        let (mut inside, tables, others) = (target.clone(), Vec::new(), Vec::new());
        inside.login.database = Some(name.to_owned());
        let (mut target, name_of_sessions) = (target.clone(), mark.signature());
        for target in [&mut target, &mut inside] {
            target.setup.extend(OwnSessions::setup_sql(target.dialect, &name_of_sessions));
        }
        Self { outside: target, inside, name: name.to_owned(), mark, is_theirs, namespace: None, tables, others }
    }

    pub(crate) fn record(&self) -> LeftSchema {
        LeftSchema {
            name: self.name.clone(),
            mark: self.mark.id().to_owned(),
            is_theirs: self.is_theirs,
            namespace: self.namespace.clone(),
            planned: [&self.tables[..], &self.others].concat(),
            making: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Lists the sessions that connect from now on; returns what they are known by.
    pub(crate) fn own_sessions(&mut self, ids: &ConnectionIds) -> OwnSessions {
        for target in [&mut self.outside, &mut self.inside] {
            target.connections = Some(ids.clone());
        }
        self.sessions_of(ids, None)
    }

    /// What sessions with these numbers are known by; `control` as in [`OwnSessions`].
    pub(crate) fn sessions_of(&self, ids: &ConnectionIds, control: Option<u64>) -> OwnSessions {
        let is_proof = match self.outside.endpoints[..] {
            [Endpoint::Unix(_)] => true,
            [_] => !self.is_theirs,
            _ => false,
        };
        OwnSessions { ids: ids.clone(), name: self.sessions_name(), schema: self.name.clone(), is_proof, control }
    }

    /// What PostgreSQL knows sessions of the run by.
    pub(crate) fn sessions_name(&self) -> String {
        self.mark.signature()
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

    /// The tables of a workload, as they are made here.
    pub(crate) fn tables_of(&self, workload: &dyn Workload) -> Tables {
        let signature = self.is_theirs.then(|| self.mark.signature());
        let tables = Tables::new(workload, true, Ownership::Guest(self.outside.dialect));
        tables.in_namespace(&self.prefix()).signed(signature)
    }

    /// `"public".`, where tables of the user's database are emptied by their whole names.
    fn prefix(&self) -> String {
        self.namespace.as_ref().map_or_else(String::new, |name| format!("\"{}\".", name.replace('"', "\"\"")))
    }

    /// Refuses a schema that is there, or is not there, or has tables of our names, however they are written. Nothing is
    /// made.
    pub(crate) fn check(&mut self, client: &mut Client, workload: &dyn Workload) -> Result<(), LabError> {
        let exists = self.exists(client)?;
        let schema = self.name.clone();
        if !self.is_theirs {
            return if exists { Err(LabError::SchemaExists { schema }) } else { Ok(()) };
        }
        if !exists {
            return Err(ForeignError::NoSchema { schema }.into());
        }
        for table in workload.tables() {
            for statements in [table.create_sql(), table.after_load_sql()] {
                owned_sql::check(statements, &self.tables, self.outside.dialect)?;
            }
        }
        if self.outside.dialect == Dialect::Postgres {
            let mut inside = Client::connect(&self.inside, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
            self.namespace = Some(access::namespace_postgres(&mut inside)?);
        }
        let there = lower(&self.tables_there(client)?);
        match self.tables.iter().find(|table| there.contains(&plain(table))) {
            Some(table) => Err(ForeignError::TableExists { schema, table: table.clone() }.into()),
            None => Ok(()),
        }
    }

    /// The journal of the run that has made the schema that is there, where that knows the server by what may change: the
    /// mark is one that no other run has. What cannot be asked is not known.
    pub(crate) fn journal_of(&self, client: &mut Client, folder: &Path) -> Option<PathBuf> {
        let is_its = |path: &PathBuf, client: &mut Client| {
            let journal = Journal::read(path).ok()?;
            if journal.schema.name != self.name || !journal.server.may_move() {
                return None;
            }
            let left = Self::left(&self.outside, &journal.schema);
            match self.outside.dialect {
                Dialect::Mysql => left.mark.is_in(client, &left.whole(TABLE)).ok(),
                Dialect::Postgres => {
                    let mut inside = Client::connect(&self.inside, CLIENT_TIMEOUT).ok()?;
                    left.mark.is_in(&mut inside, &left.whole(TABLE)).ok()
                }
            }
        };
        journals(folder).ok()?.into_iter().find(|path| is_its(path, client) == Some(true))
    }

    fn exists(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = self.literal();
        let sql = match self.outside.dialect {
            Dialect::Mysql => format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {name}"),
            Dialect::Postgres => format!("SELECT 1 FROM pg_database WHERE datname = {name}"),
        };
        Ok(client.query_value(&sql)?.is_some())
    }

    /// Names of tables and views in it, as the server writes them.
    fn tables_there(&self, client: &mut Client) -> Result<BTreeSet<String>, DriverError> {
        Ok(self.relations_there(client)?.into_keys().collect())
    }

    /// The same with what they are.
    fn relations_there(&self, client: &mut Client) -> Result<BTreeMap<String, Relation>, DriverError> {
        match self.outside.dialect {
            Dialect::Mysql => self.relations_in(client),
            Dialect::Postgres => self.relations_in(&mut Client::connect(&self.inside, CLIENT_TIMEOUT)?),
        }
    }

    /// The same, asked by a session that sees them: one of PostgreSQL in the database.
    fn relations_in(&self, inside: &mut Client) -> Result<BTreeMap<String, Relation>, DriverError> {
        let sql = match self.outside.dialect {
            Dialect::Mysql => {
                let columns = "table_name, table_comment, table_type";
                format!("SELECT {columns} FROM information_schema.tables WHERE table_schema = {}", self.literal())
            }
            Dialect::Postgres => self.relations_sql(),
        };
        Ok(relations::of_rows(inside.query(&sql)?.rows))
    }

    /// Refuses to empty a table of the user's that has taken the place of one of ours: a name alone proves nothing.
    pub(crate) fn check_signatures(&self, client: &mut Client) -> Result<(), LabError> {
        if !self.is_theirs {
            return Ok(());
        }
        let signature = self.mark.signature();
        let names = lower(self.tables.iter().filter(|name| *name != TABLE));
        let mut there = self.relations_there(client)?.into_iter();
        match there.find(|(table, relation)| names.contains(&plain(table)) && relation.comment != signature) {
            Some((table, _)) => Err(ForeignError::OtherTable { schema: self.name.clone(), table }.into()),
            None => Ok(()),
        }
    }

    /// `information_schema.tables` of PostgreSQL shows only what the account may see, and a database goes with all of it.
    fn relations_sql(&self) -> String {
        let (name, of) = match &self.namespace {
            Some(namespace) => ("relname::text", format!("= '{}'", namespace.replace('\'', "''"))),
            // A table of the name of ours in another schema is not ours.
            None => (
                "CASE WHEN nspname = current_schema() THEN relname::text ELSE relname || ' in ' || nspname END",
                "NOT IN ('pg_catalog', 'information_schema')".to_owned(),
            ),
        };
        format!(
            "SELECT {name}, obj_description(pg_class.oid, 'pg_class'), relkind::text FROM pg_class \
             JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND relpersistence <> 't' AND nspname {of}"
        )
    }

    /// Makes it, and leaves our mark in it, on this server and no other.
    pub(crate) fn make(
        &self,
        client: &mut Client,
        server: &Identity,
        ledger: &mut dyn FnMut(&MadeSchema<'_>) -> Result<(), ForeignError>,
    ) -> Result<(), LabError> {
        if !self.is_theirs {
            // Without a mark of its own an empty schema is known by this alone.
            ledger(&MadeSchema::Begins(&[TABLE.to_owned()]))?;
            self.create(client)?;
        }
        self.mark_all(server, ledger)
    }

    /// What [`Self::make`] sends.
    pub(crate) fn make_sql(&self) -> Vec<String> {
        let create = (!self.is_theirs).then(|| self.create_sql());
        let seen = (self.inside.endpoints.len() > 1).then(|| Mark::question(TABLE));
        self.outside.setup.iter().cloned().chain(create).chain(self.mark.leave_sql()).chain(seen).collect()
    }

    /// With a mark that it has from its first moment on, where the server knows one: MariaDB from 10.5 on, PostgreSQL.
    fn create_sql(&self) -> String {
        let mark = match self.outside.dialect {
            Dialect::Mysql => format!("/*M!100500 COMMENT '{}' */", self.mark.signature()),
            Dialect::Postgres => format!("CONNECTION LIMIT {}", self.mark.connection_limit()),
        };
        format!("CREATE DATABASE {} {mark}", self.quoted())
    }

    /// Whether the schema itself has the mark of [`Self::create_sql`].
    fn is_created_by_us(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = self.literal();
        let (sql, mark) = match self.outside.dialect {
            Dialect::Mysql => (
                format!("SELECT schema_comment FROM information_schema.schemata WHERE schema_name = {name}"),
                self.mark.signature(),
            ),
            Dialect::Postgres => (
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

    /// Whether the run ended between its CREATE DATABASE and its mark, and no procedure or event is in the schema.
    fn was_being_created(&self, client: &mut Client, made: &LeftSchema) -> Result<bool, DriverError> {
        if self.outside.dialect != Dialect::Mysql || made.making != [TABLE] {
            return Ok(false);
        }
        let name = self.literal();
        let sql = format!(
            "SELECT 1 FROM information_schema.routines WHERE routine_schema = {name} \
             UNION ALL SELECT 1 FROM information_schema.events WHERE event_schema = {name} LIMIT 1"
        );
        Ok(client.query(&sql)?.rows.is_empty())
    }

    fn create(&self, client: &mut Client) -> Result<(), LabError> {
        let schema = self.name.clone();
        match client.execute(&self.create_sql()) {
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
    fn mark_all(
        &self,
        server: &Identity,
        ledger: &mut dyn FnMut(&MadeSchema<'_>) -> Result<(), ForeignError>,
    ) -> Result<(), LabError> {
        let names = [TABLE.to_owned()];
        for (n, endpoint) in self.inside.endpoints.iter().enumerate() {
            let one = Target { endpoints: vec![endpoint.clone()], ..self.inside.clone() };
            let mut client = Client::connect(&one, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
            if n == 0 {
                server.ask_again(&mut client)?;
                ledger(&MadeSchema::Begins(&names))?;
                self.mark.leave(&mut client)?;
                ledger(&MadeSchema::Ends(&names))?;
            } else if !self.mark.is_in(&mut client, TABLE)? {
                return Err(LabError::OtherSchema { at: endpoint.clone() });
            }
        }
        Ok(())
    }

    /// Whether the mark is in the schema that this session is in.
    pub(crate) fn is_marked_here(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, TABLE)
    }

    /// The same for a session that is in another schema, or in none. One of PostgreSQL must be in the database.
    pub(crate) fn is_marked_there(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, &self.whole(TABLE))
    }

    /// Drops what is ours, by our mark and by what was written down. What cannot be told is left, and told.
    pub(crate) fn clean(&self, mut client: Client, made: &LeftSchema, restored: &mut Restored) -> Result<(), LabError> {
        // An account without rights to a schema is not shown that it exists: then the mark's question fails, or is answered by
        // rights that the session still has.
        let is_there = self.exists(&mut client)?
            || (self.outside.dialect == Dialect::Mysql && self.is_marked_there(&mut client)?);
        if !is_there {
            return Ok(());
        }
        let mut own = self.session_inside(&mut client)?;
        let inside = own.as_mut().unwrap_or(&mut client);
        let is_marked = self.is_marked_there(inside)?;
        // After all other questions: what another user makes before it is seen.
        let relations = self.relations_in(inside)?;
        if is_marked && !relations.contains_key(TABLE) {
            return Err(ForeignError::Hidden { schema: self.name.clone() }.into());
        }
        if self.is_theirs {
            return self.clean_theirs(inside, made, &relations, is_marked, restored);
        }
        if !is_marked {
            // A run that was killed between the schema and its mark.
            let is_bare = relations.is_empty() || (relations.keys().eq([TABLE]) && self.is_empty(inside, TABLE)?);
            let is_ours = is_bare && (self.is_created_by_us(inside)? || self.was_being_created(inside, made)?);
            if !is_ours {
                restored.left.push(self.unmarked_text(relations.keys(), is_bare));
                return Ok(());
            }
        }
        let planned = lower(&made.planned);
        let (ours, others) = parted(relations, &planned);
        if !others.is_empty() {
            return self.drop_beside(inside, &ours, &others, restored);
        }
        if let Some(inside) = own {
            return self.drop_database(&mut client, inside, &planned, restored);
        }
        self.drop_schema(&mut client, restored)
    }

    /// A session in a database of PostgreSQL: its servers show nothing of other databases.
    fn session_inside(&self, outside: &mut Client) -> Result<Option<Client>, LabError> {
        if self.outside.dialect == Dialect::Mysql {
            return Ok(None);
        }
        // A run that was killed before it had dropped what it had closed.
        let sql = format!("SELECT datallowconn::text FROM pg_database WHERE datname = {}", self.literal());
        let is_closed = outside.query_value(&sql)?.as_deref() == Some("false");
        if is_closed && !self.is_theirs && self.is_created_by_us(outside)? {
            closing::open(outside, &self.quoted())?;
        }
        Ok(Some(Client::connect(&self.inside, CLIENT_TIMEOUT)?))
    }

    /// Of PostgreSQL: closed, looked at once more, and dropped. Where the account may not close it, it is dropped as it is.
    fn drop_database(
        &self,
        outside: &mut Client,
        mut inside: Client,
        planned: &BTreeSet<String>,
        restored: &mut Restored,
    ) -> Result<(), LabError> {
        if !closing::close(outside, &mut inside, &self.quoted())? {
            drop(inside);
            return self.drop_schema(outside, restored);
        }
        let dropped = match self.relations_in(&mut inside).map(|relations| parted(relations, planned)) {
            Ok((_, others)) if others.is_empty() => {
                drop(inside);
                self.drop_schema(outside, restored)
            }
            Ok((ours, others)) => {
                closing::open(outside, &self.quoted())?;
                return self.drop_beside(&mut inside, &ours, &others, restored);
            }
            Err(error) => Err(error.into()),
        };
        if dropped.is_err() {
            closing::open(outside, &self.quoted())?;
        }
        dropped
    }

    /// A schema of the name that we would have made, without our mark.
    fn unmarked_text<'n>(&self, there: impl Iterator<Item = &'n String>, is_bare: bool) -> String {
        let name = &self.name;
        if is_bare {
            format!(
                "the schema `{name}` is empty and may have been made by the run: if it is not yours, DROP DATABASE {name}"
            )
        } else {
            format!("the schema `{name}` has not the mark of the run, and is left with its tables: {}", listed(there))
        }
    }

    /// In a schema of ours that somebody else works in, too.
    fn drop_beside(
        &self,
        inside: &mut Client,
        ours: &[(RelationKind, String)],
        others: &[String],
        restored: &mut Restored,
    ) -> Result<(), LabError> {
        let name = &self.name;
        // As the server writes them, and so as they are between quotes.
        let mine =
            ours.iter().map(|(kind, table)| (*kind, if table == TABLE { table.clone() } else { self.quote(table) }));
        self.drop_relations(inside, &mine.collect::<Vec<_>>())?;
        restored.done.push(format!("the tables of truetps in `{name}` were dropped"));
        restored.left.push(format!("the schema `{name}` has tables that somebody else made: {}", listed(others)));
        Ok(())
    }

    /// In a schema of the user's: tables that were made, and those that were being made and are empty.
    fn clean_theirs(
        &self,
        inside: &mut Client,
        made: &LeftSchema,
        there: &BTreeMap<String, Relation>,
        is_marked: bool,
        restored: &mut Restored,
    ) -> Result<(), LabError> {
        let there: BTreeMap<_, _> = there.iter().map(|(table, relation)| (plain(table), &relation.comment)).collect();
        let is_there = |table: &&String| there.contains_key(&plain(table));
        // A name proves nothing: somebody may have renamed ours, and made one of his own.
        let signature = self.mark.signature();
        let is_signed =
            |table: &String| table == TABLE || there.get(&plain(table)).is_some_and(|has| **has == signature);
        let (mut mine, others): (Vec<_>, Vec<_>) = made.made.iter().filter(is_there).cloned().partition(is_signed);
        if is_marked && !others.is_empty() {
            let text = "tables of names that the run has made, which are not those of the run, and are left";
            restored.left.push(format!("the schema `{}` has {text}: {}", self.name, listed(&others)));
        }
        if !is_marked {
            mine.extend(others);
        }
        if !is_marked && !mine.is_empty() {
            // Somebody has made them anew, or has taken the mark away.
            let text = "tables of the names that the run has made, and not its mark, which are left";
            restored.left.push(format!("the schema `{}` has {text}: {}", self.name, listed(&mine)));
            mine.clear();
        }
        for table in made.making.iter().filter(is_there) {
            // The mark's own table has the row that says so, or nothing yet.
            let is_mark = table == TABLE;
            if (is_mark && is_marked) || ((is_mark || is_marked) && self.is_empty(inside, table)?) {
                mine.push(table.clone());
            } else {
                restored
                    .left
                    .push(format!("the table `{}`.`{table}` may have been made by the run, and has rows", self.name));
            }
        }
        if mine.is_empty() {
            return Ok(());
        }
        self.drop_relations(inside, &tables(&mine))?;
        restored.done.push(format!("the tables of truetps in `{}` were dropped", self.name));
        Ok(())
    }

    fn is_empty(&self, inside: &mut Client, table: &str) -> Result<bool, DriverError> {
        Ok(inside.query(&format!("SELECT 1 FROM {} LIMIT 1", self.whole(table)))?.rows.is_empty())
    }

    /// What drops it in the end.
    pub(crate) fn drop_sql(&self) -> Vec<String> {
        if self.is_theirs {
            return self.drop_relations_sql(&tables(&self.tables));
        }
        let is_closed = self.outside.dialect == Dialect::Postgres;
        let close = is_closed.then(|| closing::close_sql(&self.quoted()));
        close.into_iter().flatten().chain([self.drop_schema_sql()]).collect()
    }

    fn drop_schema_sql(&self) -> String {
        // Sessions of the load may still be on their way out.
        let force = if self.outside.dialect == Dialect::Postgres { " WITH (FORCE)" } else { "" };
        format!("DROP DATABASE {}{force}", self.quoted())
    }

    fn drop_schema(&self, client: &mut Client, restored: &mut Restored) -> Result<(), LabError> {
        match client.execute(&self.drop_schema_sql()) {
            // Servers of PostgreSQL before 13 do not know the word.
            Err(DriverError::Server(_)) if self.outside.dialect == Dialect::Postgres => {
                client.execute(&format!("DROP DATABASE {}", self.quoted()))?;
            }
            other => drop(other?),
        }
        restored.done.push(format!("the schema `{}` was dropped", self.name));
        Ok(())
    }

    /// The mark goes last: without it nobody would know that the rest is ours.
    fn drop_relations_sql(&self, relations: &[(RelationKind, String)]) -> Vec<String> {
        let others = relations.iter().filter(|(_, name)| *name != TABLE).map(|(kind, name)| (*kind, self.whole(name)));
        let others = relations::drop_sql(&others.collect::<Vec<_>>());
        let checks = (self.outside.dialect == Dialect::Mysql).then(|| "SET SESSION foreign_key_checks = 0".to_owned());
        let mark = relations.iter().any(|(_, name)| name == TABLE).then(|| format!("DROP TABLE {}", self.whole(TABLE)));
        checks.into_iter().chain(others).chain(mark).collect()
    }

    fn drop_relations(&self, inside: &mut Client, relations: &[(RelationKind, String)]) -> Result<(), DriverError> {
        self.drop_relations_sql(relations).iter().try_for_each(|sql| inside.execute(sql).map(drop))
    }

    /// A table by a name that means no other one, whatever the session's database or search path is.
    fn whole(&self, table: &str) -> String {
        match self.outside.dialect {
            Dialect::Mysql => format!("{}.{table}", self.quoted()),
            Dialect::Postgres => format!("{}{table}", self.prefix()),
        }
    }

    /// The name as an identifier.
    pub(crate) fn quoted(&self) -> String {
        self.quote(&self.name)
    }

    fn quote(&self, name: &str) -> String {
        match self.outside.dialect {
            Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
            Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// The name as a text.
    fn literal(&self) -> String {
        match self.outside.dialect {
            Dialect::Mysql => quoted(&self.name),
            Dialect::Postgres => format!("'{}'", self.name.replace('\'', "''")),
        }
    }
}

/// Refuses the schemas that a server has for itself. What is made in a template is in each database that is made of it.
pub fn refuse_system_schema(name: &str, dialect: Dialect) -> Result<(), ForeignError> {
    const MYSQL: [&str; 5] = ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
    const POSTGRES: [&str; 3] = ["information_schema", "template0", "template1"];
    let plain = name.to_lowercase();
    let is_system = match dialect {
        Dialect::Mysql => MYSQL.contains(&plain.as_str()),
        Dialect::Postgres => POSTGRES.contains(&plain.as_str()) || plain.starts_with("pg_"),
    };
    if is_system { Err(ForeignError::SystemSchema { schema: name.to_owned() }) } else { Ok(()) }
}

/// What a run planned to make, and what other users have made. Of names that differ in nothing but case one is not the run's,
/// and none of them is dropped.
fn parted(
    relations: BTreeMap<String, Relation>,
    planned: &BTreeSet<String>,
) -> (Vec<(RelationKind, String)>, Vec<String>) {
    let mut alike: BTreeMap<String, u32> = BTreeMap::new();
    for name in relations.keys() {
        *alike.entry(plain(name)).or_default() += 1;
    }
    let is_ours = |name: &str| planned.contains(&plain(name)) && alike[&plain(name)] == 1;
    let (ours, others): (Vec<_>, Vec<_>) = relations.into_iter().partition(|(name, _)| is_ours(name));
    (
        ours.into_iter().map(|(name, relation)| (relation.kind, name)).collect(),
        others.into_iter().map(|(name, _)| name).collect(),
    )
}

/// In a schema of the user's a run makes nothing but tables.
fn tables(names: &[String]) -> Vec<(RelationKind, String)> {
    names.iter().map(|name| (RelationKind::Table, name.clone())).collect()
}

fn listed<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A table's name without quotes and in small letters: servers that fold names take `Orders` and `orders` for one.
fn plain(table: &str) -> String {
    table.trim_matches(['`', '"']).to_lowercase()
}

fn lower<'n>(names: impl IntoIterator<Item = &'n String>) -> BTreeSet<String> {
    names.into_iter().map(|name| plain(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_alone_are_not_all_of_the_run() {
        let found = |names: &[&str]| {
            let relation = || Relation { kind: RelationKind::Table, comment: String::new() };
            let relations = names.iter().map(|name| ((*name).to_owned(), relation())).collect();
            let (ours, others) = parted(relations, &lower(&["Orders".to_owned(), "lines".to_owned()]));
            (ours.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(","), others.join(","))
        };
        assert_eq!(found(&["orders", "lines", "theirs"]), ("lines,orders".to_owned(), "theirs".to_owned()));
        assert_eq!(found(&["orders", "ORDERS", "lines"]), ("lines".to_owned(), "ORDERS,orders".to_owned()));
    }
}
