//! Copies rows of a table to another in transactions of bounded size. On an external server,
//! replicas, clusters and the undo log would otherwise have to process one transaction as large as
//! the table.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;
use truetps_workload::Table;

/// Limits of one transaction that fills a table.
pub(crate) const ROWS_MAX: u64 = 10_000;
pub(crate) const BYTES_MAX: u64 = 4 << 20;
/// The limit for a part of a PostgreSQL table, in 8 KiB pages.
pub(crate) const PAGES_MAX: u64 = 128;

/// Older PostgreSQL reads the whole table for `ctid >= …`, and single rows for a list of all row
/// positions of a page.
const TID_RANGES_SINCE: u32 = 140_000;

/// Types whose values sort the same by ORDER BY and by comparison with a user variable.
const ORDERED_TYPES: [&str; 12] = [
    "tinyint",
    "smallint",
    "mediumint",
    "int",
    "bigint",
    "decimal",
    "char",
    "varchar",
    "binary",
    "varbinary",
    "date",
    "datetime",
];

/// How the rows of a table are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableParts {
    /// By ranges of the primary key's columns, quoted, of so many rows.
    Key { columns: Vec<String>, rows: u64 },
    /// By ranges of pages. `has_tid_ranges`: the server finds a range of pages without reading the
    /// whole table.
    Pages { has_tid_ranges: bool },
    /// The table has no primary key that can divide it.
    Whole,
}

impl TableParts {
    /// Asks the server how the rows of `from` can be divided into parts of so many rows.
    pub(crate) fn of(client: &mut Client, from: &str, rows: u64) -> Result<Self, DriverError> {
        if client.dialect() == SqlDialect::Postgres {
            let version = client
                .query_value("SHOW server_version_num")?
                .and_then(|text| text.parse::<u32>().ok());
            return Ok(Self::Pages {
                has_tid_ranges: version.is_none_or(|version| version >= TID_RANGES_SINCE),
            });
        }
        let sql = format!(
            "SELECT s.column_name, c.data_type FROM information_schema.statistics s JOIN \
             information_schema.columns c ON c.table_schema = s.table_schema AND c.table_name = \
             s.table_name AND c.column_name = s.column_name WHERE s.table_schema = DATABASE() AND \
             s.table_name = '{from}' AND s.index_name = 'PRIMARY' ORDER BY s.seq_in_index"
        );
        let columns = client.query(&sql)?.rows.into_iter().map(|row| {
            let mut cells = row.into_iter().flatten();
            let (name, kind) = (cells.next()?, cells.next()?.to_lowercase());
            ORDERED_TYPES.contains(&kind.as_str()).then(|| format!("`{}`", name.replace('`', "``")))
        });
        Ok(match columns.collect::<Option<Vec<_>>>() {
            Some(columns) if !columns.is_empty() => Self::Key { columns, rows },
            _ => Self::Whole,
        })
    }

    /// Copies all rows. `go_on` gets the number of rows of each finished part; false: stopped by
    /// `go_on`.
    pub(crate) fn copy(
        &self,
        client: &mut Client,
        from: &str,
        to: &str,
        go_on: &mut dyn FnMut(&mut Client, u64) -> bool,
    ) -> Result<bool, DriverError> {
        match self {
            Self::Whole => client.execute(&whole_sql(from, to)).map(|rows| go_on(client, rows)),
            Self::Key { columns, rows } => copy_by_key(client, from, to, columns, *rows, go_on),
            Self::Pages { has_tid_ranges } => {
                copy_by_pages(client, from, to, *has_tid_ranges, go_on)
            }
        }
    }
}

/// Rows of one transaction.
pub(crate) fn rows_max(table: &Table) -> u64 {
    if table.rows == 0 {
        return ROWS_MAX;
    }
    let row_bytes = (table.data_bytes() / table.rows).max(1);
    (BYTES_MAX / row_bytes).clamp(1, ROWS_MAX)
}

/// The copy in one statement.
pub(crate) fn whole_sql(from: &str, to: &str) -> String {
    format!("INSERT INTO {to} SELECT * FROM {from}")
}

const LOW: &str = "@truetps_low_";
const HIGH: &str = "@truetps_high_";

fn copy_by_key(
    client: &mut Client,
    from: &str,
    to: &str,
    columns: &[String],
    rows: u64,
    go_on: &mut dyn FnMut(&mut Client, u64) -> bool,
) -> Result<bool, DriverError> {
    let mut is_first = true;
    loop {
        // The key found is the last one of this part. No row: the remaining rows are the last part.
        let has_more = client.execute(&end_of_part_sql(from, columns, rows, is_first))? > 0;
        let rows = client.execute(&part_sql(from, to, columns, is_first, !has_more))?;
        if !go_on(client, rows) {
            return Ok(false);
        }
        if !has_more {
            return Ok(true);
        }
        let next = (0..columns.len()).map(|n| format!("{LOW}{n} = {HIGH}{n}"));
        client.execute(&format!("SET {}", next.collect::<Vec<_>>().join(", ")))?;
        is_first = false;
    }
}

/// Finds the last key of the part that begins after the previous one.
fn end_of_part_sql(from: &str, columns: &[String], rows: u64, is_first: bool) -> String {
    let variables: Vec<_> = (0..columns.len()).map(|n| format!("{HIGH}{n}")).collect();
    let behind = if is_first {
        String::new()
    } else {
        format!(" WHERE {}", compared(columns, ">", ">", LOW))
    };
    let keys = columns.join(", ");
    let (variables, offset) = (variables.join(", "), rows - 1);
    format!(
        "SELECT {keys} INTO {variables} FROM {from}{behind} ORDER BY {keys} LIMIT 1 OFFSET {offset}"
    )
}

fn part_sql(from: &str, to: &str, columns: &[String], is_first: bool, is_last: bool) -> String {
    let low = (!is_first).then(|| compared(columns, ">", ">", LOW));
    let high = (!is_last).then(|| compared(columns, "<", "<=", HIGH));
    let both: Vec<_> = low.into_iter().chain(high).collect();
    let limits =
        if both.is_empty() { String::new() } else { format!(" WHERE {}", both.join(" AND ")) };
    format!("{}{limits}", whole_sql(from, to))
}

/// Compares whole keys in a form that uses an index: MySQL does not use one to compare rows.
fn compared(columns: &[String], operator: &str, at_last: &str, variable: &str) -> String {
    let terms = (0..columns.len()).map(|n| {
        let equal = columns[..n]
            .iter()
            .enumerate()
            .map(|(at, column)| format!("{column} = {variable}{at}"));
        let operator = if n + 1 == columns.len() { at_last } else { operator };
        let last = format!("{} {operator} {variable}{n}", columns[n]);
        equal.chain([last]).collect::<Vec<_>>().join(" AND ")
    });
    let terms: Vec<_> = terms.collect();
    if let [one] = &terms[..] { one.clone() } else { format!("(({}))", terms.join(") OR (")) }
}

/// Rows of the pages from `first` up to but not including `end`; `None`: to the last page.
fn of_pages(first: u64, end: Option<u64>, has_tid_ranges: bool) -> String {
    match end {
        None => format!("ctid >= '({first},0)'::tid"),
        Some(end) if has_tid_ranges => {
            format!("ctid >= '({first},0)'::tid AND ctid < '({end},0)'::tid")
        }
        // A page header takes 24 bytes, and each row at least 28.
        Some(end) => format!(
            "ctid = ANY (ARRAY(SELECT pg_catalog.format('(%s,%s)', page, item)::tid FROM \
             pg_catalog.generate_series({first}, {}) AS page, generate_series(1, \
             (current_setting('block_size')::int - 24) / 28) AS item))",
            end - 1
        ),
    }
}

fn copy_by_pages(
    client: &mut Client,
    from: &str,
    to: &str,
    has_tid_ranges: bool,
    go_on: &mut dyn FnMut(&mut Client, u64) -> bool,
) -> Result<bool, DriverError> {
    let sql = format!(
        "SELECT (pg_catalog.pg_relation_size('{from}') / \
         pg_catalog.current_setting('block_size')::bigint)::text"
    );
    let pages =
        client.query_value(&sql)?.and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let mut first = 0;
    loop {
        // If the size cannot be read, there is one part.
        let end = first + PAGES_MAX;
        let is_last = end >= pages || pages == u64::MAX;
        let pages = of_pages(first, (!is_last).then_some(end), has_tid_ranges);
        let rows = client.execute(&format!("{} WHERE {pages}", whole_sql(from, to)))?;
        if !go_on(client, rows) {
            return Ok(false);
        }
        if is_last {
            return Ok(true);
        }
        first = end;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use truetps_sandbox::{Sandbox, SandboxOptions, Settings, StartOptions};
    use truetps_testkit::mysql_family::{fetched_server, mariadb};
    use truetps_testkit::{PostgresOptions, PostgresServer, TestHome};

    use super::*;
    use crate::trial::tables::{Ownership, Tables};

    #[test]
    fn parts_of_one_column_and_of_several() {
        let columns =
            |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let one = columns(&["id"]);
        assert_eq!(
            end_of_part_sql("p", &one, 10, true),
            "SELECT `id` INTO @truetps_high_0 FROM p ORDER BY `id` LIMIT 1 OFFSET 9"
        );
        assert_eq!(part_sql("p", "t", &one, true, true), "INSERT INTO t SELECT * FROM p");
        assert_eq!(
            part_sql("p", "t", &one, false, false),
            "INSERT INTO t SELECT * FROM p WHERE `id` > @truetps_low_0 AND `id` <= @truetps_high_0"
        );
        let two = columns(&["a", "b"]);
        assert_eq!(
            compared(&two, "<", "<=", HIGH),
            "((`a` < @truetps_high_0) OR (`a` = @truetps_high_0 AND `b` <= @truetps_high_1))"
        );
    }

    /// Bytes of the file of `sbtest1`, before and after enough INSERTs to split a page.
    fn file_sizes(client: &mut Client, sandbox: &Sandbox) -> [u64; 2] {
        let file = sandbox.datadir().join("truetps/sbtest1.ibd");
        let bytes = || std::fs::metadata(&file).unwrap().len();
        let before = bytes();
        let insert =
            "INSERT INTO sbtest1 (k, c, pad) SELECT k, c, pad FROM sbtest1_pristine LIMIT 500";
        client.execute(insert).unwrap();
        [before, bytes()]
    }

    /// MariaDB's bulk load leaves that to the first INSERT, which waits for three flushes a
    /// megabyte.
    #[test]
    fn the_first_insert_into_a_filled_table_does_not_extend_its_file() {
        let Some(binary) = mariadb("the_first_insert_into_a_filled_table") else { return };
        let home = TestHome::new();
        let sandbox = Sandbox::create(
            home.home(),
            &binary,
            &SandboxOptions::new(Settings::empty(binary.family())),
        )
        .unwrap();
        let server = sandbox.start(&StartOptions::new(Settings::empty(binary.family()))).unwrap();
        let mut client = server.connect(Duration::from_secs(20)).unwrap();
        let plan = truetps_plan::Plan::parse(
            "name = \"i\"\nabout = \"a test\"\n[workload]\nname = \"insert\"\ntable_rows = \
             60000\n[factors]\nconnections = [1]\n",
        )
        .unwrap();
        let workload = truetps_workload::build(&plan.workload, client.dialect(), 1).unwrap();
        let tables = Tables::new(&*workload, true, Ownership::Private(client.dialect()));
        assert!(tables.load(&mut client, &mut |_, _| true, &mut |_| Ok(())).unwrap());
        let [before, after] = file_sizes(&mut client, &sandbox);
        assert_eq!(before, after, "after the load");
        tables.refill(&mut client).unwrap();
        let rows = client.query_value("SELECT COUNT(*) FROM sbtest1").unwrap();
        assert_eq!(rows.as_deref(), Some("60000"));
        let [before, after] = file_sizes(&mut client, &sandbox);
        assert_eq!(before, after, "after a refill");
    }

    const PLAN: &str = r#"
name = "p"
about = "a test"
[workload]
name = "custom"
[[workload.table]]
name = "pairs"
create = ["CREATE TABLE pairs (a INT, b VARCHAR(20), c VARCHAR(200), PRIMARY KEY (b, a))"]
rows = 25000
columns.a = { kind = "sequence" }
columns.b = { kind = "int", min = 1, max = 7 }
columns.c = { kind = "text", length = 100 }
[[workload.statements]]
sql = "DELETE FROM pairs WHERE a = 0"
[factors]
connections = [1]
"#;

    fn load_and_refill(client: &mut Client, count: &str) {
        let plan = truetps_plan::Plan::parse(PLAN).unwrap();
        let workload = truetps_workload::build(&plan.workload, client.dialect(), 1).unwrap();
        let tables = Tables::new(&*workload, true, Ownership::External(client.dialect()));
        assert!(tables.load(client, &mut |_, _| true, &mut |_| Ok(())).unwrap());
        let loaded = client.query_value(count).unwrap();
        client.execute("DELETE FROM pairs WHERE a < 20000").unwrap();
        tables.refill(client).unwrap();
        assert_eq!(client.query_value(count).unwrap(), loaded, "every row is there again, once");
        assert!(tables.refilled_whole(client).unwrap().is_empty());
    }

    /// Bytes of the largest transaction that inserts in the binlogs.
    fn largest_transaction(client: &mut Client) -> u64 {
        let mut largest = 0;
        for log in client.query("SHOW BINARY LOGS").unwrap().rows {
            let name = log[0].as_deref().unwrap();
            let events = client.query(&format!("SHOW BINLOG EVENTS IN '{name}'")).unwrap().rows;
            let (mut begin, mut inserts) = (0, false);
            for event in events {
                let number = |at: usize| event[at].as_deref().unwrap().parse::<u64>().unwrap();
                match event[2].as_deref().unwrap() {
                    "Gtid" | "Anonymous_Gtid" => (begin, inserts) = (number(1), false),
                    kind if kind.starts_with("Write_rows") => inserts = true,
                    "Xid" if inserts => largest = largest.max(number(4) - begin),
                    _ => {}
                }
            }
        }
        largest
    }

    #[test]
    fn a_table_goes_to_the_binlog_in_transactions_of_bounded_size() {
        let test = "a_table_goes_to_the_binlog";
        let mysql = fetched_server(test, "mysql-8.0").map(|server| server.binary);
        for binary in mariadb(test).into_iter().chain(mysql) {
            let home = TestHome::new();
            let sandbox = Sandbox::create(
                home.home(),
                &binary,
                &SandboxOptions::new(Settings::empty(binary.family())),
            )
            .unwrap();
            let mut settings = Settings::empty(binary.family());
            for (name, value) in
                [("log_bin", "ON"), ("binlog_format", "ROW"), ("innodb_buffer_pool_size", "64M")]
            {
                settings.set(name, truetps_record::SettingValue::Text(value.to_owned()));
            }
            let server = sandbox.start(&StartOptions::new(settings)).unwrap();
            let mut client = server.connect(Duration::from_secs(20)).unwrap();
            client.execute("CREATE DATABASE truetps").unwrap();
            client.execute("USE truetps").unwrap();
            load_and_refill(
                &mut client,
                "SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT_WS(',', a, b, c)))) FROM pairs",
            );
            let largest = largest_transaction(&mut client);
            // MariaDB logs the statement, too. The table in one transaction is 3 MB, and 5 MB with
            // the statements.
            assert!((200_000..2_500_000).contains(&largest), "{}: {largest}", binary.version_text);
        }
    }

    #[test]
    fn a_table_of_postgresql_is_filled_in_transactions_of_bounded_size() {
        let test = "a_table_of_postgresql_is_filled";
        let Some(server) = PostgresServer::start(test, &PostgresOptions::default()) else { return };
        let mut client = server.connect().unwrap();
        load_and_refill(
            &mut client,
            "SELECT COUNT(*) || md5(string_agg(a || b || c, ',' ORDER BY a)) FROM pairs",
        );
        for table in ["pairs", "pairs_pristine"] {
            let sql = format!(
                "SELECT max(n)::text FROM (SELECT count(*) AS n FROM {table} GROUP BY xmin::text) \
                 AS t"
            );
            let largest: u64 = client.query_value(&sql).unwrap().unwrap().parse().unwrap();
            assert!((100..=ROWS_MAX).contains(&largest), "{table}: {largest}");
        }
        // As on a server without ranges of pages.
        client.execute("CREATE TABLE again (LIKE pairs)").unwrap();
        let sum = "SELECT COUNT(*) || md5(string_agg(a || b || c, ',' ORDER BY a)) FROM ";
        let parts = TableParts::Pages { has_tid_ranges: false };
        assert!(
            parts.copy(&mut client, "pairs", "again", &mut |_, rows| rows <= ROWS_MAX).unwrap()
        );
        let copied =
            ["pairs", "again"].map(|table| client.query_value(&format!("{sum}{table}")).unwrap());
        assert_eq!(copied[0], copied[1], "every row is there, once");
        let explain =
            format!("EXPLAIN SELECT * FROM pairs WHERE {}", of_pages(128, Some(256), false));
        let plan = format!("{:?}", client.query(&explain).unwrap().rows);
        assert!(plan.contains("Tid Scan"), "no part reads the whole table: {plan}");
    }
}
