//! The schema of an external run: one that it creates and drops, or a user's schema in which it creates tables and
//! drops them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use truetps_driver::{Client, ConnectionIds, DriverError, Endpoint, Target};
use truetps_record::SqlDialect;
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
/// MySQL, and MariaDB before 10.5, have no schema comments.
const NO_SUCH_COLUMN: u16 = 1054;

/// A change to the schema, for the journal.
#[derive(Debug)]
pub(crate) enum MadeSchema<'n> {
    /// These tables are about to be created.
    Begins(&'n [String]),
    /// They exist.
    Ends(&'n [String]),
}

pub(crate) struct Schema {
    /// As named by the user; sessions outside create and drop the schema.
    outside: Target,
    /// Inside the schema.
    inside: Target,
    name: String,
    mark: Mark,
    is_theirs: bool,
    /// The PostgreSQL schema for tables in the user's database.
    namespace: Option<String>,
    /// All tables to be created.
    tables: Vec<String>,
    /// What the creating statements create besides them: views, and tables without rows.
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

    /// The leftovers of a killed run.
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

    /// Lists the sessions that connect from now on; returns what identifies them.
    pub(crate) fn own_sessions(&mut self, ids: &ConnectionIds) -> OwnSessions {
        for target in [&mut self.outside, &mut self.inside] {
            target.connections = Some(ids.clone());
        }
        self.sessions_of(ids, None)
    }

    /// What identifies sessions with these numbers; `control` as in [`OwnSessions`].
    pub(crate) fn sessions_of(&self, ids: &ConnectionIds, control: Option<u64>) -> OwnSessions {
        let is_proof = match self.outside.endpoints[..] {
            [Endpoint::Unix(_)] => true,
            [_] => !self.is_theirs,
            _ => false,
        };
        OwnSessions { ids: ids.clone(), name: self.sessions_name(), schema: self.name.clone(), is_proof, control }
    }

    /// What identifies sessions of the run in PostgreSQL.
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

    /// The tables of a workload, as they are created here.
    pub(crate) fn tables_of(&self, workload: &dyn Workload) -> Tables {
        let signature = self.is_theirs.then(|| self.mark.signature());
        let tables = Tables::new(workload, true, Ownership::Guest(self.outside.dialect));
        tables.in_namespace(&self.prefix()).signed(signature)
    }

    /// `"public".`, where tables of the user's database are emptied by their qualified names.
    fn prefix(&self) -> String {
        self.namespace.as_ref().map_or_else(String::new, |name| format!("\"{}\".", name.replace('"', "\"\"")))
    }

    /// Refuses a schema that exists, or is missing, or has tables of the workload's names in any letter case. Only
    /// reads.
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
        if self.outside.dialect == SqlDialect::Postgres {
            let mut inside = Client::connect(&self.inside, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
            self.namespace = Some(access::namespace_postgres(&mut inside)?);
        }
        let there = lower(&self.tables_there(client)?);
        match self.tables.iter().find(|table| there.contains(&plain(table))) {
            Some(table) => Err(ForeignError::TableExists { schema, table: table.clone() }.into()),
            None => Ok(()),
        }
    }

    /// The journal of the run that created the existing schema, if that journal identifies the server by properties
    /// that may change: the mark is unique to a run. `None` if it cannot be read.
    pub(crate) fn journal_of(&self, client: &mut Client, folder: &Path) -> Option<PathBuf> {
        let is_its = |path: &PathBuf, client: &mut Client| {
            let journal = Journal::read(path).ok()?;
            if journal.schema.name != self.name || !journal.server.may_move() {
                return None;
            }
            let left = Self::left(&self.outside, &journal.schema);
            match self.outside.dialect {
                SqlDialect::Mysql => left.mark.is_in(client, &left.whole(TABLE)).ok(),
                SqlDialect::Postgres => {
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
            SqlDialect::Mysql => format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {name}"),
            SqlDialect::Postgres => format!("SELECT 1 FROM pg_database WHERE datname = {name}"),
        };
        Ok(client.query_value(&sql)?.is_some())
    }

    /// Names of tables and views in it, in the server's spelling.
    fn tables_there(&self, client: &mut Client) -> Result<BTreeSet<String>, DriverError> {
        Ok(self.relations_there(client)?.into_keys().collect())
    }

    /// The same with their kinds.
    fn relations_there(&self, client: &mut Client) -> Result<BTreeMap<String, Relation>, DriverError> {
        match self.outside.dialect {
            SqlDialect::Mysql => self.relations_in(client),
            SqlDialect::Postgres => self.relations_in(&mut Client::connect(&self.inside, CLIENT_TIMEOUT)?),
        }
    }

    /// The same, read by a session that sees them: on PostgreSQL one in the database.
    fn relations_in(&self, inside: &mut Client) -> Result<BTreeMap<String, Relation>, DriverError> {
        let sql = match self.outside.dialect {
            SqlDialect::Mysql => {
                let columns = "table_name, table_comment, table_type";
                format!("SELECT {columns} FROM information_schema.tables WHERE table_schema = {}", self.literal())
            }
            SqlDialect::Postgres => self.relations_sql(),
        };
        Ok(relations::of_rows(inside.query(&sql)?.rows))
    }

    /// Refuses to empty a user's table that replaced a table of the run: a name alone proves nothing.
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

    /// PostgreSQL's `information_schema.tables` shows only what the account may see, and dropping a database drops
    /// everything.
    fn relations_sql(&self) -> String {
        let (name, of) = match &self.namespace {
            Some(namespace) => ("relname::text", format!("= '{}'", namespace.replace('\'', "''"))),
            // A table of the same name in another schema is not the run's.
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

    /// Creates it and writes the run's mark into it, on this server and no other.
    pub(crate) fn make(
        &self,
        client: &mut Client,
        server: &Identity,
        ledger: &mut dyn FnMut(&MadeSchema<'_>) -> Result<(), ForeignError>,
    ) -> Result<(), LabError> {
        if !self.is_theirs {
            // Without a mark of its own an empty schema is recognised by this alone.
            ledger(&MadeSchema::Begins(&[TABLE.to_owned()]))?;
            self.create(client)?;
        }
        self.mark_all(server, ledger)
    }

    /// The statements of [`Self::make`].
    pub(crate) fn make_sql(&self) -> Vec<String> {
        let create = (!self.is_theirs).then(|| self.create_sql());
        let seen = (self.inside.endpoints.len() > 1).then(|| Mark::question(TABLE));
        self.outside.setup.iter().cloned().chain(create).chain(self.mark.leave_sql()).chain(seen).collect()
    }

    /// With a mark from its creation on, where the server supports one: MariaDB 10.5 and later, PostgreSQL.
    fn create_sql(&self) -> String {
        let mark = match self.outside.dialect {
            SqlDialect::Mysql => format!("/*M!100500 COMMENT '{}' */", self.mark.signature()),
            SqlDialect::Postgres => format!("CONNECTION LIMIT {}", self.mark.connection_limit()),
        };
        format!("CREATE DATABASE {} {mark}", self.quoted())
    }

    /// Whether the schema itself has the mark of [`Self::create_sql`].
    fn is_created_by_us(&self, client: &mut Client) -> Result<bool, DriverError> {
        let name = self.literal();
        let (sql, mark) = match self.outside.dialect {
            SqlDialect::Mysql => (
                format!("SELECT schema_comment FROM information_schema.schemata WHERE schema_name = {name}"),
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

    /// Whether the run ended between CREATE DATABASE and its mark, and the schema has no procedures or events.
    fn was_being_created(&self, client: &mut Client, made: &LeftSchema) -> Result<bool, DriverError> {
        if self.outside.dialect != SqlDialect::Mysql || made.making != [TABLE] {
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

    /// Writes the mark into the schema, and checks that it is visible through every endpoint: several addresses must
    /// lead to one server, or to its replicas.
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

    /// Whether the mark is in the session's current schema.
    pub(crate) fn is_marked_here(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, TABLE)
    }

    /// The same for a session in another schema, or in none. On PostgreSQL it must be in the database.
    pub(crate) fn is_marked_there(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.mark.is_in(client, &self.whole(TABLE))
    }

    /// Drops what belongs to the run, according to its mark and its journal. What cannot be proved is left and
    /// reported.
    pub(crate) fn clean(&self, mut client: Client, made: &LeftSchema, restored: &mut Restored) -> Result<(), LabError> {
        // A schema is hidden from an account without privileges on it: then the query for the mark fails, or is
        // answered with privileges that the session still has.
        let is_there = self.exists(&mut client)?
            || (self.outside.dialect == SqlDialect::Mysql && self.is_marked_there(&mut client)?);
        if !is_there {
            return Ok(());
        }
        let mut own = self.session_inside(&mut client)?;
        let inside = own.as_mut().unwrap_or(&mut client);
        let is_marked = self.is_marked_there(inside)?;
        // After all other queries: tables that another user created before it are seen.
        let relations = self.relations_in(inside)?;
        if is_marked && !relations.contains_key(TABLE) {
            return Err(ForeignError::Hidden { schema: self.name.clone() }.into());
        }
        if self.is_theirs {
            return self.clean_theirs(inside, made, &relations, is_marked, restored);
        }
        if !is_marked {
            // A run that was killed between creating the schema and its mark.
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

    /// A session in a PostgreSQL database: the server shows no other database's tables.
    fn session_inside(&self, outside: &mut Client) -> Result<Option<Client>, LabError> {
        if self.outside.dialect == SqlDialect::Mysql {
            return Ok(None);
        }
        // A run that was killed between closing and dropping the database.
        let sql = format!("SELECT datallowconn::text FROM pg_database WHERE datname = {}", self.literal());
        let is_closed = outside.query_value(&sql)?.as_deref() == Some("false");
        if is_closed && !self.is_theirs && self.is_created_by_us(outside)? {
            closing::open(outside, &self.quoted())?;
        }
        Ok(Some(Client::connect(&self.inside, CLIENT_TIMEOUT)?))
    }

    /// On PostgreSQL: closes the database, checks it once more, and drops it. If the account may not close it, it is
    /// dropped while open.
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

    /// A schema of the run's name without the run's mark.
    fn unmarked_text<'n>(&self, there: impl Iterator<Item = &'n String>, is_bare: bool) -> String {
        let name = &self.name;
        if is_bare {
            format!(
                "the schema `{name}` is empty and may have been created by the run: if it is not yours, run DROP DATABASE {name}"
            )
        } else {
            format!("the schema `{name}` lacks the mark of the run; left unchanged, with its tables: {}", listed(there))
        }
    }

    /// In a schema of the run that other users use, too.
    fn drop_beside(
        &self,
        inside: &mut Client,
        ours: &[(RelationKind, String)],
        others: &[String],
        restored: &mut Restored,
    ) -> Result<(), LabError> {
        let name = &self.name;
        // In the server's spelling, as they must be quoted.
        let mine =
            ours.iter().map(|(kind, table)| (*kind, if table == TABLE { table.clone() } else { self.quote(table) }));
        self.drop_relations(inside, &mine.collect::<Vec<_>>())?;
        restored.done.push(format!("the tables of truetps in `{name}` were dropped"));
        restored.left.push(format!("the schema `{name}` has tables not created by truetps: {}", listed(others)));
        Ok(())
    }

    /// In a user's schema: tables that were created, and those in creation that are empty.
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
        // A name proves nothing: the user may have renamed the run's table and created another one.
        let signature = self.mark.signature();
        let is_signed =
            |table: &String| table == TABLE || there.get(&plain(table)).is_some_and(|has| **has == signature);
        let (mut mine, others): (Vec<_>, Vec<_>) = made.made.iter().filter(is_there).cloned().partition(is_signed);
        if is_marked && !others.is_empty() {
            let text = "tables with names used by the run, but not created by it; left unchanged";
            restored.left.push(format!("the schema `{}` has {text}: {}", self.name, listed(&others)));
        }
        if !is_marked {
            mine.extend(others);
        }
        if !is_marked && !mine.is_empty() {
            // Another session has created them anew, or removed the mark.
            let text = "tables with names used by the run, without its mark; left unchanged";
            restored.left.push(format!("the schema `{}` has {text}: {}", self.name, listed(&mine)));
            mine.clear();
        }
        for table in made.making.iter().filter(is_there) {
            // The mark's own table has the row that proves it, or is still empty.
            let is_mark = table == TABLE;
            if (is_mark && is_marked) || ((is_mark || is_marked) && self.is_empty(inside, table)?) {
                mine.push(table.clone());
            } else {
                restored.left.push(format!(
                    "the table `{}`.`{table}` may have been created by the run, and has rows",
                    self.name
                ));
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

    /// The statement that drops it at the end.
    pub(crate) fn drop_sql(&self) -> Vec<String> {
        if self.is_theirs {
            return self.drop_relations_sql(&tables(&self.tables));
        }
        let is_closed = self.outside.dialect == SqlDialect::Postgres;
        let close = is_closed.then(|| closing::close_sql(&self.quoted()));
        close.into_iter().flatten().chain([self.drop_schema_sql()]).collect()
    }

    fn drop_schema_sql(&self) -> String {
        // Sessions of the load may still be ending.
        let force = if self.outside.dialect == SqlDialect::Postgres { " WITH (FORCE)" } else { "" };
        format!("DROP DATABASE {}{force}", self.quoted())
    }

    fn drop_schema(&self, client: &mut Client, restored: &mut Restored) -> Result<(), LabError> {
        match client.execute(&self.drop_schema_sql()) {
            // PostgreSQL before 13 does not know the option.
            Err(DriverError::Server(_)) if self.outside.dialect == SqlDialect::Postgres => {
                client.execute(&format!("DROP DATABASE {}", self.quoted()))?;
            }
            other => drop(other?),
        }
        restored.done.push(format!("the schema `{}` was dropped", self.name));
        Ok(())
    }

    /// The mark is dropped last: without it nothing would prove that the rest belongs to the run.
    fn drop_relations_sql(&self, relations: &[(RelationKind, String)]) -> Vec<String> {
        let others = relations.iter().filter(|(_, name)| *name != TABLE).map(|(kind, name)| (*kind, self.whole(name)));
        let others = relations::drop_sql(&others.collect::<Vec<_>>());
        let checks =
            (self.outside.dialect == SqlDialect::Mysql).then(|| "SET SESSION foreign_key_checks = 0".to_owned());
        let mark = relations.iter().any(|(_, name)| name == TABLE).then(|| format!("DROP TABLE {}", self.whole(TABLE)));
        checks.into_iter().chain(others).chain(mark).collect()
    }

    fn drop_relations(&self, inside: &mut Client, relations: &[(RelationKind, String)]) -> Result<(), DriverError> {
        self.drop_relations_sql(relations).iter().try_for_each(|sql| inside.execute(sql).map(drop))
    }

    /// A table by a qualified name, whatever the session's database or search path is.
    fn whole(&self, table: &str) -> String {
        match self.outside.dialect {
            SqlDialect::Mysql => format!("{}.{table}", self.quoted()),
            SqlDialect::Postgres => format!("{}{table}", self.prefix()),
        }
    }

    /// The name as an identifier.
    pub(crate) fn quoted(&self) -> String {
        self.quote(&self.name)
    }

    fn quote(&self, name: &str) -> String {
        match self.outside.dialect {
            SqlDialect::Mysql => format!("`{}`", name.replace('`', "``")),
            SqlDialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// The name as a string literal.
    fn literal(&self) -> String {
        match self.outside.dialect {
            SqlDialect::Mysql => quoted(&self.name),
            SqlDialect::Postgres => format!("'{}'", self.name.replace('\'', "''")),
        }
    }
}

/// Refuses the server's own schemas. Tables created in a template are copied into each database made from it.
pub fn refuse_system_schema(name: &str, dialect: SqlDialect) -> Result<(), ForeignError> {
    const MYSQL: [&str; 5] = ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
    const POSTGRES: [&str; 3] = ["information_schema", "template0", "template1"];
    let plain = name.to_lowercase();
    let is_system = match dialect {
        SqlDialect::Mysql => MYSQL.contains(&plain.as_str()),
        SqlDialect::Postgres => POSTGRES.contains(&plain.as_str()) || plain.starts_with("pg_"),
    };
    if is_system { Err(ForeignError::SystemSchema { schema: name.to_owned() }) } else { Ok(()) }
}

/// Separates relations that the run planned from relations of other users. Of names that differ only in letter case at
/// most one is the run's, and none of them is dropped.
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

/// In a user's schema a run creates only tables.
fn tables(names: &[String]) -> Vec<(RelationKind, String)> {
    names.iter().map(|name| (RelationKind::Table, name.clone())).collect()
}

fn listed<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A table's name without quotes and in lower case: servers that fold names take `Orders` and `orders` for one.
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
