//! The data of a workload: loaded once, and reset to the same state before each trial.

use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;
use truetps_workload::{Table, Workload};

use crate::error::LabError;
use crate::trial::portions::{self, TableParts};
use crate::trial::server_status::status_value;
use crate::trial::setting::literal_of_text;

/// Schema of all tables of truetps, except on a private PostgreSQL, which has one database.
pub(crate) const SCHEMA: &str = "truetps";

/// Time limit of a statement that loads or refills, with an addition for each million rows: enough
/// for a slow disk, and an end for a server that hangs.
const PATIENCE: Duration = Duration::from_mins(2);
const PATIENCE_PER_MILLION_ROWS: Duration = Duration::from_mins(2);
/// Limits the wait for changed pages to be written where the server cannot be ordered to write
/// them.
const FLUSH_WAIT: Duration = Duration::from_secs(30);
/// The last rows of a table of a private server, more than a page and more than the loading
/// statements hold: see [`Tables::part_rows`].
const ORDINARY_ROWS: u64 = 2_000;
/// Sessions of the previous trial must have ended within this time.
const SESSIONS_WAIT: Duration = Duration::from_secs(10);

/// Whether the server is private or external: what truetps may do besides using the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Private: pages are written and binlogs restarted before each trial.
    Private(SqlDialect),
    /// External: truetps touches only the schema that it created for the load.
    External(SqlDialect),
}

/// Progress of filling the tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filled {
    /// Rows of the tables.
    pub(crate) rows: u64,
    /// Rows of the pristine copies.
    pub(crate) copied: u64,
    /// All rows of the tables.
    pub(crate) of: u64,
}

/// A change to the schema of the tables, for the journal of an external server.
#[derive(Debug)]
pub(crate) enum MadeSchema<'n> {
    /// These tables are about to be created.
    Begins(&'n [String]),
    /// They exist.
    Ends(&'n [String]),
}

/// Tables under load, and their pristine copies.
pub(crate) struct Tables {
    list: Vec<Table>,
    keep_pristine: bool,
    ownership: Ownership,
    /// Prefix of the names of tables that are emptied.
    prefix: String,
    /// The comment on tables in a user's schema.
    signature: Option<String>,
}

impl Tables {
    /// `keep_pristine`: keep a second copy of each table to refill it from.
    pub(crate) fn new(workload: &dyn Workload, keep_pristine: bool, ownership: Ownership) -> Self {
        Self {
            list: workload.tables(),
            keep_pristine,
            ownership,
            prefix: String::new(),
            signature: None,
        }
    }

    /// In a user's PostgreSQL database: unqualified names may be other tables, depending on the
    /// search path.
    #[must_use]
    pub(crate) fn in_namespace(self, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..self }
    }

    /// Where others create tables, too: a name alone does not show which table it is.
    #[must_use]
    pub(crate) fn signed(self, signature: Option<String>) -> Self {
        Self { signature, ..self }
    }

    /// Creates and fills the tables. `progress` gets the number of inserted rows, may query the
    /// server, and returns whether to continue; false: stopped by `progress`. `ledger` gets each
    /// table before and after it is created.
    pub(crate) fn load(
        &self,
        client: &mut Client,
        progress: &mut dyn FnMut(&mut Client, Filled) -> bool,
        ledger: &mut dyn FnMut(&MadeSchema<'_>) -> Result<(), LabError>,
    ) -> Result<bool, LabError> {
        client.set_timeout(self.patience())?;
        if self.ownership == Ownership::Private(SqlDialect::Mysql) {
            client.execute(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"))?;
        }
        self.enter(client)?;
        let mut filled =
            Filled { of: self.list.iter().map(|table| table.rows).sum(), ..Filled::default() };
        for (n, table) in self.list.iter().enumerate() {
            let names = self.made_with(n);
            ledger(&MadeSchema::Begins(&names))?;
            execute_all(client, table.create_sql())?;
            execute_all(client, &self.sign_sql(&names))?;
            ledger(&MadeSchema::Ends(&names))?;
            if !self.fill(client, table, &mut |client, rows| {
                filled.rows += rows;
                progress(client, filled)
            })? {
                return Ok(false);
            }
            // Before the statements that follow a filling: they run again after each refill from
            // this copy.
            if self.keep_pristine {
                let copy = [pristine(table)];
                ledger(&MadeSchema::Begins(&copy))?;
                client.execute(&self.copy_sql(table))?;
                execute_all(client, &self.sign_sql(&copy))?;
                ledger(&MadeSchema::Ends(&copy))?;
                let parts = self.parts(client, table, &table.name)?;
                if !parts.copy(client, &table.name, &pristine(table), &mut |client, rows| {
                    filled.copied += rows;
                    progress(client, filled)
                })? {
                    return Ok(false);
                }
            }
            execute_all(client, table.after_load_sql())?;
            client.execute(&self.analyze_sql(table))?;
        }
        self.flush(client)?;
        Ok(true)
    }

    /// Inserts the rows, on an external server in transactions of bounded size; `go_on` gets the
    /// number of rows of each statement.
    fn fill(
        &self,
        client: &mut Client,
        table: &Table,
        go_on: &mut dyn FnMut(&mut Client, u64) -> bool,
    ) -> Result<bool, DriverError> {
        let rows_max = self.part_rows(table);
        let mut open = (0, 0);
        for insert in table.load_sql() {
            if open == (0, 0) {
                client.execute("BEGIN")?;
            }
            let rows = client.execute(&insert)?;
            open = (open.0 + rows, open.1 + insert.len() as u64);
            if open.0 >= rows_max || self.is_bounded() && open.1 >= portions::BYTES_MAX {
                client.execute("COMMIT")?;
                open = (0, 0);
            }
            if !go_on(client, rows) {
                return Ok(false);
            }
        }
        if open != (0, 0) {
            client.execute("COMMIT")?;
        }
        Ok(true)
    }

    /// Whether replicas, or the undo log of other sessions, may have to process what fills the
    /// tables.
    fn is_bounded(&self) -> bool {
        matches!(self.ownership, Ownership::External(_))
    }

    /// Rows of one transaction that fills a table. On a private server all but the last rows are
    /// one: MariaDB loads an empty table in bulk, which does not reserve the free pages that the
    /// first ordinary INSERT needs. Without these last rows that INSERT would extend the file half
    /// a dozen times, and flush it three times each, in some measure phase.
    fn part_rows(&self, table: &Table) -> u64 {
        if self.is_bounded() {
            portions::rows_max(table)
        } else {
            table.rows.saturating_sub(ORDINARY_ROWS).max(1)
        }
    }

    fn parts(
        &self,
        client: &mut Client,
        table: &Table,
        from: &str,
    ) -> Result<TableParts, DriverError> {
        if self.is_bounded() || self.dialect() == SqlDialect::Mysql && table.rows > ORDINARY_ROWS {
            return TableParts::of(client, from, self.part_rows(table));
        }
        Ok(TableParts::Whole)
    }

    /// Loaded tables of an external server that are refilled in one transaction although they are
    /// large.
    pub(crate) fn refilled_whole(&self, client: &mut Client) -> Result<Vec<String>, DriverError> {
        let mut whole = Vec::new();
        for table in self
            .list
            .iter()
            .filter(|table| self.is_bounded() && table.rows > portions::rows_max(table))
        {
            if self.parts(client, table, &table.name)? == TableParts::Whole {
                whole.push(table.name.clone());
            }
        }
        Ok(whole)
    }

    /// Tables that exist after the statements of table `n` have run. If one text creates several
    /// tables, all of them belong to the first.
    fn made_with(&self, n: usize) -> Vec<String> {
        if self.list[n].create_sql().is_empty() {
            return Vec::new();
        }
        let others = self.list[n + 1..].iter().take_while(|table| table.create_sql().is_empty());
        std::iter::once(&self.list[n]).chain(others).map(|table| table.name.clone()).collect()
    }

    /// Resets the tables to their state after [`Self::load`]: truncated, refilled, flushed. What
    /// took too long is returned as a note.
    pub(crate) fn refill(&self, client: &mut Client) -> Result<Option<String>, DriverError> {
        client.set_timeout(self.patience())?;
        self.enter(client)?;
        execute_all(client, &self.truncate_sql())?;
        for table in &self.list {
            let copy = pristine(table);
            self.parts(client, table, &copy)?.copy(client, &copy, &table.name, &mut |_, _| true)?;
            execute_all(client, table.after_load_sql())?;
            // With statistics of the emptied table, the optimiser would read the whole refilled
            // one.
            client.execute(&self.analyze_sql(table))?;
        }
        if self.ownership == Ownership::Private(SqlDialect::Mysql) {
            restart_binlog(client)?;
        }
        self.flush(client)
    }

    /// The statements of [`Self::load`] on an external server; of the inserts only the first.
    pub(crate) fn load_outline(&self) -> Vec<String> {
        let mut sent: Vec<_> = self.enter_sql().into_iter().map(str::to_owned).collect();
        for (n, table) in self.list.iter().enumerate() {
            sent.extend_from_slice(table.create_sql());
            sent.extend(self.sign_sql(&self.made_with(n)));
            sent.push("BEGIN".to_owned());
            sent.extend(table.load_sql().next());
            let rows = portions::rows_max(table);
            sent.push(format!(
                "-- … until {} has {} rows, with COMMIT and BEGIN after at most {rows} rows",
                table.name, table.rows
            ));
            sent.extend(["COMMIT".to_owned(), self.copy_sql(table)]);
            sent.extend(self.sign_sql(&[pristine(table)]));
            sent.push(self.copy_outline(table, &table.name, &pristine(table)));
            sent.extend_from_slice(table.after_load_sql());
            sent.push(self.analyze_sql(table));
        }
        sent
    }

    /// The statements of [`Self::refill`].
    pub(crate) fn refill_outline(&self) -> Vec<String> {
        let mut sent = self.truncate_sql();
        for table in &self.list {
            sent.push(self.copy_outline(table, &pristine(table), &table.name));
            sent.extend_from_slice(table.after_load_sql());
            sent.push(self.analyze_sql(table));
        }
        sent
    }

    fn copy_outline(&self, table: &Table, from: &str, to: &str) -> String {
        let parts = match self.dialect() {
            SqlDialect::Mysql => {
                format!("the primary key, of at most {} rows", portions::rows_max(table))
            }
            SqlDialect::Postgres => format!("ctid, of at most {} pages", portions::PAGES_MAX),
        };
        format!("{} -- in transactions by ranges of {parts}", portions::whole_sql(from, to))
    }

    /// Writes all changed pages, so that no trial pays for the pages of the refill before it.
    /// Returns a note about pages that remain. An external server writes them when it decides to.
    pub(crate) fn flush(&self, client: &mut Client) -> Result<Option<String>, DriverError> {
        let Ownership::Private(dialect) = self.ownership else { return Ok(None) };
        client.set_timeout(self.patience())?;
        if dialect == SqlDialect::Postgres {
            return client.execute("CHECKPOINT").map(|_| None);
        }
        // MariaDB writes all pages and a checkpoint on request.
        match client.execute("SET GLOBAL innodb_log_checkpoint_now = 1") {
            Err(DriverError::Server(_)) => {
                flush_by_waiting(client, FLUSH_WAIT + self.patience_for_rows())
            }
            other => other.map(|_| None),
        }
    }

    /// Approximate disk space of the tables: loaded, as pristine copies, and as much again for rows
    /// added by trials.
    pub(crate) fn data_bytes(&self) -> u64 {
        const COPIES: u64 = 3;
        self.list.iter().map(Table::data_bytes).sum::<u64>().saturating_mul(COPIES)
    }

    fn dialect(&self) -> SqlDialect {
        match self.ownership {
            Ownership::Private(dialect) | Ownership::External(dialect) => dialect,
        }
    }

    fn patience(&self) -> Duration {
        PATIENCE + self.patience_for_rows()
    }

    fn patience_for_rows(&self) -> Duration {
        let rows: u64 = self.list.iter().map(|table| table.rows).sum();
        PATIENCE_PER_MILLION_ROWS.mul_f64(rows as f64 / 1e6)
    }

    /// On a private server checks are off, so that an empty table is filled by sorted bulk load
    /// where the server supports it, and nothing is written to the binlog. On an external server
    /// the session is in its schema already; tables may refer to each other there, too, and the
    /// MySQL family truncates such tables only without that check.
    fn enter(&self, client: &mut Client) -> Result<(), DriverError> {
        if self.ownership == Ownership::Private(SqlDialect::Mysql) {
            client.execute(&format!("USE {SCHEMA}"))?;
        }
        self.enter_sql().into_iter().try_for_each(|sql| client.execute(sql).map(drop))
    }

    fn enter_sql(&self) -> Option<&'static str> {
        match self.ownership {
            Ownership::Private(SqlDialect::Mysql) => {
                Some("SET SESSION unique_checks = 0, foreign_key_checks = 0, sql_log_bin = 0")
            }
            Ownership::External(SqlDialect::Mysql) => Some("SET SESSION foreign_key_checks = 0"),
            Ownership::Private(SqlDialect::Postgres)
            | Ownership::External(SqlDialect::Postgres) => None,
        }
    }

    /// PostgreSQL truncates tables that refer to each other in one statement only; the MySQL family
    /// truncates one table per statement.
    fn truncate_sql(&self) -> Vec<String> {
        let names: Vec<_> =
            self.list.iter().map(|table| format!("{}{}", self.prefix, table.name)).collect();
        match self.dialect() {
            SqlDialect::Postgres => vec![format!("TRUNCATE TABLE {}", names.join(", "))],
            SqlDialect::Mysql => {
                names.iter().map(|name| format!("TRUNCATE TABLE {name}")).collect()
            }
        }
    }

    /// A comment survives TRUNCATE and ALTER, and moves with a renamed table.
    fn sign_sql(&self, names: &[String]) -> Vec<String> {
        let Some(signature) = &self.signature else { return Vec::new() };
        let sql = names.iter().map(|name| match self.dialect() {
            SqlDialect::Mysql => format!("ALTER TABLE {name} COMMENT = '{signature}'"),
            SqlDialect::Postgres => {
                format!("COMMENT ON TABLE {}{name} IS '{signature}'", self.prefix)
            }
        });
        sql.collect()
    }

    fn analyze_sql(&self, table: &Table) -> String {
        match self.ownership {
            Ownership::Private(SqlDialect::Mysql) | Ownership::External(SqlDialect::Mysql) => {
                format!("ANALYZE LOCAL TABLE {}", table.name)
            }
            // Without it, autovacuum would process the refilled table in the middle of some trial.
            Ownership::Private(SqlDialect::Postgres) => format!("VACUUM (ANALYZE) {}", table.name),
            Ownership::External(SqlDialect::Postgres) => format!("ANALYZE {}", table.name),
        }
    }

    fn copy_sql(&self, table: &Table) -> String {
        let (copy, of) = (pristine(table), &table.name);
        match self.dialect() {
            SqlDialect::Mysql => format!("CREATE TABLE {copy} LIKE {of}"),
            SqlDialect::Postgres => format!("CREATE TABLE {copy} (LIKE {of} INCLUDING DEFAULTS)"),
        }
    }
}

fn execute_all(client: &mut Client, statements: &[String]) -> Result<(), DriverError> {
    statements.iter().try_for_each(|sql| client.execute(sql).map(drop))
}

fn pristine(table: &Table) -> String {
    pristine_name(&table.name)
}

/// The name of a table's pristine copy.
pub(crate) fn pristine_name(table: &str) -> String {
    format!("{table}_pristine")
}

/// Waits, for a limited time, until only `client` is connected. Returns a note about sessions that
/// remain.
pub(crate) fn wait_for_quiet(client: &mut Client) -> Result<Option<String>, DriverError> {
    let left = wait_until_at_most(client, sessions, 1, SESSIONS_WAIT)?;
    Ok(left.map(|n| {
        format!("{} sessions of the previous trial were still connected at the start", n - 1)
    }))
}

/// Number of sessions, this one included.
fn sessions(client: &mut Client) -> Result<Option<u64>, DriverError> {
    if client.dialect() == SqlDialect::Mysql {
        return status_value(client, "Threads_connected");
    }
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    Ok(client.query_value(sql)?.and_then(|text| text.parse().ok()))
}

/// Waits, for a limited time, until a number has fallen to `most`; returns the number if it has
/// not.
fn wait_until_at_most(
    client: &mut Client,
    ask: impl Fn(&mut Client) -> Result<Option<u64>, DriverError>,
    most: u64,
    longest: Duration,
) -> Result<Option<u64>, DriverError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let began = Instant::now();
    loop {
        let above = ask(client)?.filter(|value| *value > most);
        if above.is_none() || began.elapsed() >= longest {
            return Ok(above);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Restarts the binlog, so that each trial is equally far from its next rotation.
fn restart_binlog(client: &mut Client) -> Result<(), DriverError> {
    if client.query_value("SELECT @@GLOBAL.log_bin")?.as_deref() != Some("1") {
        return Ok(());
    }
    // MySQL 8.4 removed the first form; older servers do not know the second.
    match client.execute("RESET MASTER") {
        Err(DriverError::Server(_)) => client.execute("RESET BINARY LOGS AND GTIDS").map(drop),
        other => other.map(drop),
    }
}

/// Makes the page cleaner eager until little is left to write, then restores its settings.
fn flush_by_waiting(client: &mut Client, longest: Duration) -> Result<Option<String>, DriverError> {
    const NAMES: [&str; 4] = [
        "innodb_io_capacity_max",
        "innodb_io_capacity",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_max_dirty_pages_pct",
    ];
    const EAGER: [&str; 4] = ["100000", "100000", "0", "0"];
    const PAGES_LEFT: u64 = 50;
    let mut before = Vec::new();
    for (name, eager) in NAMES.iter().zip(EAGER) {
        match client.query_value(&format!("SELECT @@GLOBAL.{name}")) {
            Ok(value) => before.push((name, value.unwrap_or_default())),
            // MySQL 5.5 has two of them.
            Err(DriverError::Server(_)) => continue,
            Err(error) => return Err(error),
        }
        client.execute(&format!("SET GLOBAL {name} = {eager}"))?;
    }
    let left = wait_until_at_most(client, dirty_pages, PAGES_LEFT, longest)?;
    for (name, value) in before.into_iter().rev() {
        client.execute(&format!("SET GLOBAL {name} = {}", literal_of_text(&value)))?;
    }
    Ok(left.map(|n| format!("{n} changed pages were not yet written at the start")))
}

fn dirty_pages(client: &mut Client) -> Result<Option<u64>, DriverError> {
    status_value(client, "Innodb_buffer_pool_pages_dirty")
}
