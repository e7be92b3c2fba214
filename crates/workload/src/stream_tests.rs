//! Properties of the streams of every workload.

use std::collections::BTreeSet;

use truetps_driver::{Params, Value};
use truetps_plan::{
    BulkInsertSpec, DeleteInsertSpec, HotRowSpec, KeyMode, Plan, WorkloadKind, WorkloadSpec,
};
use truetps_record::SqlDialect;

use crate::{ClientStream, NAMES, NextStatement, Workload, build};

/// Everything that a `custom` workload can have, in a transaction.
pub(crate) const CUSTOM: &str = r#"
[workload]
name = "custom"
[[workload.statements]]
sql = "INSERT INTO t (id, a, b, c) VALUES (?, ?, ?, '?')"
params = [
    { kind = "sequence", name = "id" },
    { kind = "text", max_length = 20, null_share = 0.3, name = "text" },
    { kind = "choice", values = ["x", 1, 2.5] },
]
[[workload.statements]]
sql = "UPDATE t SET a = ? WHERE id = ?"
params = [{ kind = "same", as = "text" }, { kind = "same", as = "id" }]
[[workload.table]]
name = "t"
create = ["CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT, b TEXT, c TEXT)"]
rows = 3
[workload.table.columns]
id = { kind = "sequence" }
a = { kind = "constant", value = "it's" }
"#;

const SQL: &str = r#"
[workload]
sql = ["INSERT INTO t VALUES ('a;b?')", "DELETE FROM t; -- ; all of them"]
create = "CREATE TABLE t (a TEXT)"
"#;

pub(crate) const SQL_BATCHES: &str = r#"
[workload]
sql = "UPDATE t SET a = 1; UPDATE t SET a = 2; UPDATE t SET a = 3"
create = ["CREATE TABLE t (a INT); INSERT INTO t VALUES (0)", "CREATE TABLE u LIKE t"]
commit_every = 2
"#;

const TABLE: &str = r"
[workload]
rows_per_insert = 2
[workload.table]
rows = 3
ints = 1
varchars = 1
floats = 1
doubles = 1
decimals = 1
texts = 1
bigints = 1
datetimes = 1
blobs = 1
value_length = 7
";

const TABLE_COMMIT: &str = "[workload]\ntable = { ints = 1, rows = 2 }\nexplicit_commit = true";

pub(crate) fn custom(text: &str) -> WorkloadSpec {
    let text = format!("name = 'p'\nabout = '?'\n[factors]\nconnections = [1]\n{text}");
    Plan::parse(&text).unwrap().workload
}

/// A workload with all keys at their defaults.
pub(crate) fn named(name: &str) -> WorkloadSpec {
    WorkloadSpec::new(WorkloadKind::named(name).unwrap())
}

pub(crate) fn bulk_insert(rows: u32) -> WorkloadSpec {
    WorkloadSpec::new(WorkloadKind::BulkInsert(BulkInsertSpec { rows_per_insert: Some(rows) }))
}

pub(crate) fn delete_insert(key: KeyMode) -> WorkloadSpec {
    WorkloadSpec::new(WorkloadKind::DeleteInsert(DeleteInsertSpec {
        key: Some(key),
        distribution: None,
    }))
}

/// Each workload with few rows in several tables, and in all its variants.
pub(crate) fn specs() -> Vec<WorkloadSpec> {
    let small = |spec| WorkloadSpec { tables: 3, table_rows: 50, ..spec };
    let of_its_own = ["custom", "sql", "table"];
    let mut specs: Vec<_> = NAMES
        .iter()
        .filter(|name| !of_its_own.contains(name))
        .map(|name| small(named(name)))
        .collect();
    specs.push(small(bulk_insert(3)));
    specs.extend([KeyMode::Random, KeyMode::Auto].map(|key| small(delete_insert(key))));
    let latest = "latest".parse().ok();
    let latest = WorkloadKind::DeleteInsert(DeleteInsertSpec {
        key: Some(KeyMode::Auto),
        distribution: latest,
    });
    let hot = WorkloadKind::HotRow(HotRowSpec {
        hot_rows: Some(9),
        distribution: "zipfian".parse().ok(),
    });
    specs.extend([latest, hot].map(|kind| small(WorkloadSpec::new(kind))));
    specs.extend([CUSTOM, SQL, SQL_BATCHES, TABLE, TABLE_COMMIT].map(custom));
    specs
}

/// A statement's number, with its values and their bytes.
type Sent = (usize, Vec<Value>, Vec<u8>);

fn next(stream: &mut dyn ClientStream) -> (Sent, bool) {
    let mut params = Params::default();
    let NextStatement { statement, is_last } = stream.next_statement(&mut params);
    let bytes = |value: &Value| match *value {
        Value::Text { start, end } | Value::Bytes { start, end } => {
            params.text(start, end).to_vec()
        }
        _ => Vec::new(),
    };
    let text = params.values().iter().flat_map(bytes).collect();
    ((statement, params.values().to_vec(), text), is_last)
}

fn transaction(stream: &mut dyn ClientStream) -> Vec<Sent> {
    let mut all = Vec::new();
    loop {
        let (sent, is_last) = next(stream);
        all.push(sent);
        if is_last {
            return all;
        }
        assert!(all.len() < 2_000, "a transaction ends");
    }
}

fn transactions(workload: &dyn Workload, client: u32, count: usize) -> Vec<Vec<Sent>> {
    let mut stream = workload.client(client);
    (0..count)
        .map(|_| {
            stream.next_transaction();
            transaction(&mut *stream)
        })
        .collect()
}

#[test]
fn one_seed_gives_one_stream_a_client_whatever_the_others_do() {
    for spec in specs() {
        let workload = build(&spec, SqlDialect::Mysql, 9).unwrap();
        let alone = transactions(&*workload, 5, 60);
        // Many clients of another object, in turns.
        let again = build(&spec, SqlDialect::Mysql, 9).unwrap();
        let mut streams: Vec<_> = (0..8).map(|client| again.client(client)).collect();
        for expected in &alone {
            for (client, stream) in streams.iter_mut().enumerate() {
                stream.next_transaction();
                let sent = transaction(&mut **stream);
                assert!(client != 5 || sent == *expected, "{}", spec.kind.name());
            }
        }
        let draws_nothing = matches!(
            &spec.kind,
            WorkloadKind::Sql(_) | WorkloadKind::HotRow(HotRowSpec { hot_rows: None, .. })
        );
        if !draws_nothing {
            assert_ne!(
                alone,
                transactions(&*workload, 6, 60),
                "{}: another client",
                spec.kind.name()
            );
            let other = build(&spec, SqlDialect::Mysql, 10).unwrap();
            assert_ne!(alone, transactions(&*other, 5, 60), "{}: another seed", spec.kind.name());
        }
    }
}

#[test]
fn a_transaction_can_be_sent_again_from_any_point_and_left_at_any_point() {
    for spec in specs() {
        let workload = build(&spec, SqlDialect::Mysql, 9).unwrap();
        let all = transactions(&*workload, 2, 40);
        let mut stream = workload.client(2);
        for (n, expected) in all.iter().enumerate() {
            stream.next_transaction();
            // Every third is abandoned after a part of its statements; the next ones do not change
            // by that.
            let part = n % expected.len();
            (0..part).for_each(|at| {
                assert_eq!(next(&mut *stream).0, expected[at], "{}", spec.kind.name());
            });
            if n % 3 != 0 {
                stream.rewind();
                assert_eq!(transaction(&mut *stream), *expected, "{}", spec.kind.name());
                stream.rewind();
                assert_eq!(transaction(&mut *stream), *expected, "{}", spec.kind.name());
            }
        }
    }
}

#[test]
fn statements_get_as_many_values_as_they_have_parameters() {
    for spec in specs() {
        for dialect in [SqlDialect::Mysql, SqlDialect::Postgres] {
            let workload = build(&spec, dialect, 9).unwrap();
            assert_eq!(workload.name(), spec.kind.name());
            let statements = workload.statements();
            let mut used = BTreeSet::new();
            for transaction in transactions(&*workload, 0, 200) {
                let is_whole = transaction.len() > 1;
                let (first, last) =
                    (&statements[transaction[0].0], &statements[transaction.last().unwrap().0]);
                assert_eq!(
                    is_whole,
                    first.sql() == "BEGIN" && first.is_text_only(),
                    "{}",
                    spec.kind.name()
                );
                assert_eq!(
                    is_whole,
                    last.sql() == "COMMIT" && last.is_text_only(),
                    "{}",
                    spec.kind.name()
                );
                for (statement, values, _) in transaction {
                    assert_eq!(
                        values.len(),
                        statements[statement].param_count(),
                        "{}",
                        spec.kind.name()
                    );
                    used.insert(statement);
                }
            }
            assert_eq!(
                used.len(),
                statements.len(),
                "{}: every statement is used",
                spec.kind.name()
            );
            assert!(statements.iter().all(|statement| !statement.sql().contains('`')));
        }
    }
}

#[test]
fn delete_insert_keys_match_their_mode() {
    const ROWS: u64 = 1_000;
    let spacing = 1 << 20;
    let spec = |key| WorkloadSpec { table_rows: ROWS, ..delete_insert(key) };
    for mode in [KeyMode::Deleted, KeyMode::Random, KeyMode::Auto] {
        let workload = build(&spec(mode), SqlDialect::Mysql, 9).unwrap();
        let mut taken = 0;
        for transaction in transactions(&*workload, 0, 5_000) {
            let Value::Int(deleted) = transaction[1].1[0] else { panic!("a key") };
            assert!(deleted % spacing == 0 && (1..=ROWS as i64).contains(&(deleted / spacing)));
            let inserted = transaction[2].1.first();
            match (mode, inserted) {
                (KeyMode::Deleted, Some(Value::Int(key))) => assert_eq!(*key, deleted),
                (KeyMode::Random, Some(Value::Int(key))) => {
                    assert!((1..=ROWS as i64 * spacing).contains(key));
                    taken += i32::from(key % spacing == 0);
                }
                (KeyMode::Auto, _) => assert_eq!(transaction[2].1.len(), 3, "k, c, pad"),
                other => panic!("{other:?}"),
            }
        }
        assert!(taken < 3, "5,000 random keys meet a loaded one in one of 200 runs: {taken}");
    }
}

#[test]
fn wrong_sql_of_a_custom_workload_is_named() {
    let check = |from: &str, to: &str, expect: &str| {
        let spec = custom(&CUSTOM.replace(from, to));
        let error = build(&spec, SqlDialect::Mysql, 1).err().expect("wrong SQL").to_string();
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    check("'?')", "?)", "`workload.statements[0]`: 4 `?` and 3 `params` in: INSERT");
    check("WHERE id = ?", "WHERE id = 1", "`workload.statements[1]`: 1 `?` and 2 `params`");
    check("'?')", "'?)", "a quote is not closed");
    check("UPDATE t SET a = ? WHERE id = ?", "BEGIN -- ? ?", "`BEGIN` is not for a statement");
    let error = build(&named("sysbench"), SqlDialect::Mysql, 1).err().unwrap().to_string();
    assert!(error.contains("`sysbench` only records scripts"), "{error}");
}

#[test]
fn the_largest_bulk_insert_is_within_the_limits_of_servers() {
    let spec = bulk_insert(10_000);
    let workload = build(&spec, SqlDialect::Mysql, 1).unwrap();
    let sent = transactions(&*workload, 0, 1).remove(0).remove(0);
    let sql_bytes = workload.statements()[0].sql().len();
    // As text each number has at most 9 digits and each text two quotes.
    let text_bytes = sql_bytes + sent.2.len() + sent.1.len() * 9;
    assert!(
        sent.1.len() <= 65_535 && text_bytes < 16 << 20,
        "{} values, {text_bytes} bytes",
        sent.1.len()
    );
}

#[test]
fn tables_say_how_they_are_made_and_filled() {
    for spec in specs() {
        for dialect in [SqlDialect::Mysql, SqlDialect::Postgres] {
            for table in build(&spec, dialect, 9).unwrap().tables() {
                assert!(table.data_bytes() > table.rows);
                let loads: Vec<_> = table.load_sql().collect();
                assert_eq!(
                    loads.len(),
                    usize::from(table.rows > 0),
                    "all rows fit into one statement"
                );
                // Statements of the plan's own make all of its tables with the first.
                let Some(create) = table.create_sql().first() else { continue };
                assert!(create.to_uppercase().starts_with("CREATE TABLE"));
                let is_mysql = create.contains("ENGINE=InnoDB");
                let is_ours = !["custom", "sql", "table"].contains(&spec.kind.name());
                assert!(!is_ours || is_mysql == (dialect == SqlDialect::Mysql));
            }
        }
    }
    let table = build(&custom(CUSTOM), SqlDialect::Mysql, 9).unwrap().tables().remove(0);
    let load: Vec<_> = table.load_sql().collect();
    assert_eq!(load, ["INSERT INTO t (id, a) VALUES (1,'it''s'),(2,'it''s'),(3,'it''s')"]);
}
