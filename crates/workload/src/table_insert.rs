//! `table`: a generated table, by its number of columns of each type, and INSERTs into it.
//!
//! Names, types and order of the columns, and their values, are the same as in mtls-perf-bench;
//! additional columns follow. It is expanded into an equivalent `custom` plan, so that values have
//! one implementation.

use std::sync::Arc;

use truetps_plan::{
    Alphabet, CustomStatement, CustomTable, GeneratedTable, Generator, GeneratorKind,
    KeyDistribution, TimeRange, VALUE_LENGTH,
};
use truetps_record::SqlDialect;

use crate::custom::Custom;
use crate::write::{Write, WriteKind};
use crate::{Commit, Workload, WorkloadError};

/// Largest value of an `int` column, and of a `bigint` one.
const INT_MAX: i64 = 200_000_000;
const BIGINT_MAX: i64 = 1_000_000_000_000_000_000;
/// Values of `float` and `double` columns: below 10^10, with two digits behind the point.
const FLOAT: GeneratorKind = GeneratorKind::Decimal { precision: 12, scale: 2 };
/// More digits than this are not drawn, however many a column takes.
const DIGITS_MAX: u32 = 18;

/// A column that is filled.
#[derive(Debug, Clone, PartialEq)]
struct TableColumn {
    name: String,
    /// As in CREATE TABLE: `varchar(128) not null`.
    sql_type: String,
    value: Generator,
    /// Bytes of a value in a row of InnoDB, with its length if that varies.
    bytes: u64,
}

/// A generated table and the INSERT into it, in a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct TableInsert {
    pub name: String,
    /// `create table t (…)`: one statement, without `;`.
    pub create_sql: String,
    /// All columns except `id`, in the table's order.
    columns: Vec<TableColumn>,
    /// `insert into t (…) values (?, …), …`, with a `?` for each value.
    pub insert_sql: String,
    rows: u64,
    rows_per_insert: u32,
    /// Bytes of a key: InnoDB adds one if the table has none.
    key_bytes: u64,
    after_load: Vec<String>,
    dialect: SqlDialect,
}

impl TableInsert {
    /// `table` must pass its [check](GeneratedTable::check).
    pub fn new(table: &GeneratedTable, rows_per_insert: u32, dialect: SqlDialect) -> Self {
        let columns = columns(table, dialect);
        let (mut defined, mut after_load) = (Vec::new(), Vec::new());
        if table.auto_primary_key {
            defined.push(format!("id {}", key_type(dialect)));
            if dialect == SqlDialect::Postgres {
                // Copied rows have explicit keys, which do not advance the counter.
                let (name, next) = (&table.name, table.rows + 1);
                after_load.push(format!(
                    "SELECT setval(pg_get_serial_sequence('{name}', 'id'), {next}, false)"
                ));
            }
        }
        defined.extend(columns.iter().map(|column| format!("{} {}", column.name, column.sql_type)));
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        let rows = vec![row; rows_per_insert as usize].join(", ");
        Self {
            name: table.name.clone(),
            create_sql: format!("create table {} ({})", table.name, defined.join(", ")),
            insert_sql: format!("insert into {} ({}) values {rows}", table.name, names.join(", ")),
            columns,
            rows: table.rows,
            rows_per_insert,
            key_bytes: if table.auto_primary_key { 4 } else { 6 },
            after_load,
            dialect,
        }
    }

    /// The equivalent statement of a `custom` plan.
    fn statement(&self) -> CustomStatement {
        let row = self.columns.iter().map(|column| column.value.clone());
        let params = (0..self.rows_per_insert).flat_map(|_| row.clone()).collect();
        CustomStatement { sql: self.insert_sql.clone(), params }
    }

    /// The equivalent table of a `custom` plan. Without rows its `columns` are empty, as in a plan.
    fn table(&self) -> CustomTable {
        let filled = if self.rows > 0 { &self.columns[..] } else { &[] };
        CustomTable {
            name: self.name.clone(),
            create: vec![self.create_sql.clone()],
            rows: self.rows,
            columns: filled
                .iter()
                .map(|column| (column.name.clone(), column.value.clone()))
                .collect(),
            after_load: self.after_load.clone(),
        }
    }

    /// Clients that insert. A transaction has one INSERT, regardless of the number in `commit`.
    pub fn workload(&self, commit: Commit, seed: u64) -> Result<Arc<dyn Workload>, WorkloadError> {
        let (statement, table) = (self.statement(), self.table());
        let mut workload =
            Custom::of_parts("table", &[statement], &[table], commit, self.dialect, seed)?;
        let write = Write { table: 0, kind: WriteKind::InsertAuto { rows: self.rows_per_insert } };
        let column_bytes =
            self.key_bytes + self.columns.iter().map(|column| column.bytes).sum::<u64>();
        let writes = workload
            .statements
            .iter()
            .map(|statement| (!statement.is_text_only()).then_some(write));
        workload.writes = Some(writes.collect());
        workload.tables = workload
            .tables
            .into_iter()
            .map(|table| table.with_column_bytes(column_bytes))
            .collect();
        Ok(Arc::new(workload))
    }
}

fn key_type(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Mysql => "int not null auto_increment primary key",
        SqlDialect::Postgres => "int generated by default as identity primary key",
    }
}

/// The columns of all types, in the order of mtls-perf-bench.
fn columns(table: &GeneratedTable, dialect: SqlDialect) -> Vec<TableColumn> {
    let [float, double, datetime, blob] = match dialect {
        SqlDialect::Mysql => ["float", "double", "datetime", "blob"],
        SqlDialect::Postgres => ["real", "double precision", "timestamp", "bytea"],
    };
    let length = table.value_length.unwrap_or(VALUE_LENGTH);
    // A text of default length is cut to its column's length.
    let varchar = length.min(table.varchar_length);
    let (precision, scale) = (table.decimal_precision, table.decimal_scale);
    let kinds = [
        (table.ints, "i", "int".to_owned(), int(INT_MAX), 4),
        (
            table.varchars,
            "c",
            format!("varchar({})", table.varchar_length),
            text(varchar),
            with_length(varchar),
        ),
        (table.floats, "f", float.to_owned(), FLOAT, 4),
        (table.doubles, "d", double.to_owned(), FLOAT, 8),
        (
            table.decimals,
            "dm",
            format!("decimal({precision},{scale})"),
            decimal(precision, scale),
            digits_bytes(precision.saturating_sub(scale)) + digits_bytes(scale),
        ),
        (table.texts, "t", "text".to_owned(), text(length), with_length(length)),
        (table.bigints, "b", "bigint".to_owned(), int(BIGINT_MAX), 8),
        (
            table.datetimes,
            "dt",
            datetime.to_owned(),
            GeneratorKind::Datetime(TimeRange::datetimes()),
            5,
        ),
        (
            table.blobs,
            "bl",
            blob.to_owned(),
            GeneratorKind::Bytes { min_length: length, max_length: length },
            with_length(length),
        ),
    ];
    let mut columns = Vec::new();
    for (count, prefix, sql_type, kind, bytes) in kinds {
        for number in 0..count {
            columns.push(TableColumn {
                name: format!("{prefix}{number}"),
                sql_type: format!("{sql_type} not null"),
                value: Generator::unwritten(kind.clone()),
                bytes,
            });
        }
    }
    columns
}

/// A text or blob with its length, which takes a second byte beyond 127.
fn with_length(bytes: u32) -> u64 {
    u64::from(bytes) + if bytes > 127 { 2 } else { 1 }
}

/// One side of a decimal's point: 4 bytes for each nine digits, and half a byte, rounded up, for
/// each of the rest.
fn digits_bytes(digits: u32) -> u64 {
    u64::from(digits / 9 * 4 + (digits % 9).div_ceil(2))
}

fn int(max: i64) -> GeneratorKind {
    GeneratorKind::Int { min: 1, max, distribution: KeyDistribution::default() }
}

fn text(length: u32) -> GeneratorKind {
    GeneratorKind::Text { min_length: length, max_length: length, alphabet: Alphabet::Alphanumeric }
}

/// As many digits as fit: first before the point.
fn decimal(precision: u32, scale: u32) -> GeneratorKind {
    let whole = precision.saturating_sub(scale).min(DIGITS_MAX);
    let scale = scale.min(DIGITS_MAX - whole);
    GeneratorKind::Decimal { precision: (whole + scale).max(1), scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> GeneratedTable {
        let one = 1;
        GeneratedTable {
            ints: 2,
            varchars: one,
            floats: one,
            doubles: one,
            decimals: one,
            texts: one,
            bigints: one,
            datetimes: one,
            blobs: one,
            ..GeneratedTable::default()
        }
    }

    #[test]
    fn columns_stand_in_the_order_of_mtls_perf_bench() {
        let table = TableInsert::new(&all(), 2, SqlDialect::Mysql);
        assert_eq!(
            table.create_sql,
            "create table t (id int not null auto_increment primary key, i0 int not null, i1 int \
             not null, c0 varchar(128) not null, f0 float not null, d0 double not null, dm0 \
             decimal(12,2) not null, t0 text not null, b0 bigint not null, dt0 datetime not null, \
             bl0 blob not null)"
        );
        let row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let names = "i0, i1, c0, f0, d0, dm0, t0, b0, dt0, bl0";
        assert_eq!(table.insert_sql, format!("insert into t ({names}) values {row}, {row}"));
        assert_eq!(table.statement().params.len(), 20);
        let postgres = TableInsert::new(&all(), 1, SqlDialect::Postgres).create_sql;
        for expect in [
            "id int generated by default as identity primary key",
            "f0 real not null",
            "bl0 bytea not null",
        ] {
            assert!(postgres.contains(expect), "{postgres}");
        }
        let bare = GeneratedTable { ints: 1, auto_primary_key: false, ..GeneratedTable::default() };
        assert_eq!(
            TableInsert::new(&bare, 1, SqlDialect::Mysql).create_sql,
            "create table t (i0 int not null)"
        );
    }

    #[test]
    fn values_fit_their_columns() {
        let kind = |table: &GeneratedTable, name: &str| {
            let columns = columns(table, SqlDialect::Mysql);
            columns.into_iter().find(|column| column.name == name).unwrap().value.kind
        };
        assert_eq!((kind(&all(), "c0"), kind(&all(), "t0")), (text(64), text(64)));
        let short = GeneratedTable { varchar_length: 20, ..all() };
        assert_eq!((kind(&short, "c0"), kind(&short, "t0")), (text(20), text(64)));
        let given = GeneratedTable { value_length: Some(100), ..all() };
        assert_eq!((kind(&given, "c0"), kind(&given, "t0")), (text(100), text(100)));
        let check = |precision, scale, expect| {
            let GeneratorKind::Decimal { precision, scale } = decimal(precision, scale) else {
                panic!("a decimal")
            };
            assert_eq!((precision, scale), expect);
        };
        check(12, 2, (12, 2));
        check(2, 2, (2, 2));
        check(65, 30, (18, 0));
        check(20, 10, (18, 8));
        check(30, 30, (18, 18));
        check(1, 0, (1, 0));
        // Such a column is invalid, but computing its size must not panic.
        check(1, 2, (2, 2));
    }
}
