//! Statements that a workload may send to create and fill its tables in a user's schema: only
//! statements that affect those tables and nothing else. The statements of the load are not
//! checked: the user wants them measured.

use truetps_files::split_sql;
use truetps_record::SqlDialect;

use super::error::ExternalError;

/// Clauses that attach a table to another one, move it elsewhere, or change another one.
const BEYOND: [&str; 9] = [
    " ATTACH PARTITION ",
    " DATA DIRECTORY",
    " EXCHANGE PARTITION ",
    " INDEX DIRECTORY",
    " INHERIT ",
    " INHERITS ",
    " PARTITION OF ",
    " RENAME ",
    " SET SCHEMA ",
];

/// Refuses all but CREATE TABLE, CREATE INDEX, ALTER TABLE and INSERT for tables of these names.
pub(crate) fn check(
    statements: &[String],
    tables: &[String],
    dialect: SqlDialect,
) -> Result<(), ExternalError> {
    match statements.iter().find(|sql| !is_one(sql, dialect) || !is_allowed(sql, tables)) {
        Some(sql) => Err(ExternalError::NotOnlyTables {
            sql: sql.split_whitespace().collect::<Vec<_>>().join(" "),
        }),
        None => Ok(()),
    }
}

/// Servers accept several statements in one text, and only the first would be checked.
fn is_one(sql: &str, dialect: SqlDialect) -> bool {
    split_sql(sql, ";", dialect).is_ok_and(|split| split.len() == 1)
}

fn is_allowed(sql: &str, tables: &[String]) -> bool {
    // Some servers execute comments as SQL; none is needed here.
    if sql.contains("/*") || sql.trim_start().starts_with("--") {
        return false;
    }
    let spaced = sql.replace('(', " ( ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let upper: Vec<_> = words.iter().map(|word| word.to_uppercase()).collect();
    let upper: Vec<_> = upper.iter().map(String::as_str).collect();
    match upper[..] {
        ["CREATE" | "ALTER", "TABLE", _, ..] => {
            // `CREATE TABLE IF NOT EXISTS` has `IF` where the name should be.
            let line = upper.join(" ");
            is_own(words[2], tables) && !BEYOND.iter().any(|words| line.contains(words))
        }
        ["INSERT", "INTO", _, ..] => is_own(words[2], tables),
        ["CREATE", "INDEX", _, ..] | ["CREATE", "UNIQUE", "INDEX", _, ..] => {
            let on = upper.iter().position(|word| *word == "ON");
            let name = on.and_then(|on| words.get(on + 1));
            name.is_some_and(|name| is_own(name, tables))
        }
        // The sequence of a table's own key, in PostgreSQL.
        ["SELECT", "SETVAL", "(", "PG_GET_SERIAL_SEQUENCE", "(", _, ..] => {
            is_own(words[5].trim_end_matches(',').trim_matches('\''), tables)
        }
        _ => false,
    }
}

/// Names of the tables and views that a text creates. An extra name only reserves that name in the
/// run's schema.
pub(crate) fn made_by(sql: &str) -> Vec<String> {
    let names = whole_names(sql).into_iter().map(|name| {
        let table = name.rsplit('.').next().unwrap_or(&name);
        table.trim_matches(QUOTES).to_owned()
    });
    names.collect()
}

/// Tables that a text creates in a named PostgreSQL schema: `table in schema`.
pub(crate) fn made_elsewhere(sql: &str) -> Vec<String> {
    let names = whole_names(sql).into_iter().filter_map(|name| {
        let (schema, table) = name.rsplit_once('.')?;
        Some(format!("{} in {}", table.trim_matches(QUOTES), schema.trim_matches(QUOTES)))
    });
    names.collect()
}

const QUOTES: [char; 2] = ['`', '"'];

fn whole_names(sql: &str) -> Vec<String> {
    /// `OR REPLACE ALGORITHM = MERGE DEFINER = a SQL SECURITY INVOKER` and similar clauses precede
    /// the word.
    const BEFORE_MAX: usize = 16;
    let spaced = sql.replace('(', " ( ").replace(';', " ; ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let is =
        |n: usize, wanted: &str| words.get(n).is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    let created = (0..words.len()).filter(|n| is(*n, "CREATE"));
    let named = created.filter_map(|create| {
        let kind = (create + 1..create + BEFORE_MAX).find(|n| is(*n, "TABLE") || is(*n, "VIEW"))?;
        let name = words.get(if is(kind + 1, "IF") { kind + 4 } else { kind + 1 })?;
        Some((*name).to_owned())
    });
    named.collect()
}

/// The name of one of the workload's tables, without a schema prefix.
fn is_own(word: &str, tables: &[String]) -> bool {
    let word = unquoted(word);
    tables.iter().any(|table| unquoted(table) == word)
}

fn unquoted(name: &str) -> String {
    name.trim_matches(QUOTES).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_makes_is_known_by_name() {
        for (sql, names) in [
            ("CREATE TABLE t (v INT); create table if not exists `u`(v INT)", &["t", "u"][..]),
            (
                "CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW truetps.v AS SELECT \
                 1",
                &["v"],
            ),
            ("DO $$ BEGIN CREATE MATERIALIZED VIEW m AS SELECT 1; END $$", &["m"]),
            ("INSERT INTO t VALUES (1)", &[]),
        ] {
            assert_eq!(made_by(sql), names, "{sql}");
        }
    }

    #[test]
    fn what_a_text_makes_in_another_schema_is_known_with_it() {
        let sql = "CREATE TABLE t (v INT); CREATE TABLE IF NOT EXISTS \"s\".\"u\"(v INT)";
        assert_eq!(
            (made_by(sql), made_elsewhere(sql)),
            (vec!["t".to_owned(), "u".to_owned()], vec!["u in s".to_owned()])
        );
    }

    #[test]
    fn only_own_tables_are_made() {
        let tables = ["orders".to_owned(), "lines".to_owned()];
        let verdict = |sql: &str| {
            [SqlDialect::Mysql, SqlDialect::Postgres]
                .map(|of| check(&[sql.to_owned()], &tables, of).is_ok())
        };
        for sql in [
            "CREATE TABLE orders (id INT)",
            "create table \"lines\"(id int)",
            "CREATE TABLE `Orders` (id INT) ENGINE=InnoDB",
            "CREATE TABLE orders (schema INT, of INT, connection INT)",
            "CREATE UNIQUE INDEX i ON orders (id)",
            "CREATE INDEX i ON lines(id)",
            "INSERT INTO orders VALUES (1)",
            "INSERT INTO orders VALUES ('a; b');",
            "ALTER TABLE orders ALTER COLUMN id RESTART WITH 11",
            "SELECT setval(pg_get_serial_sequence('orders', 'id'), 11, false)",
        ] {
            assert_eq!(verdict(sql), [true; 2], "{sql}");
        }
        for sql in [
            "CREATE TABLE IF NOT EXISTS orders (id INT)",
            "CREATE OR REPLACE TABLE orders (id INT)",
            "CREATE TABLE other.orders (id INT)",
            "CREATE TABLE customers (id INT)",
            "CREATE VIEW v AS SELECT 1",
            "CREATE PROCEDURE p() SELECT 1",
            "CREATE SEQUENCE s",
            "INSERT INTO customers VALUES (1)",
            "DROP TABLE customers",
            "/*! DROP TABLE customers */",
            "CREATE INDEX i ON customers (id)",
            "CREATE TABLE orders (id INT) DATA DIRECTORY = '/x'",
            "CREATE TABLE orders (id INT); DROP TABLE customers",
            "CREATE TABLE orders (id INT) -- it's;\n; DROP TABLE customers",
            "CREATE TABLE orders PARTITION OF customers DEFAULT",
            "CREATE TABLE orders () INHERITS (customers)",
            "ALTER TABLE customers ADD x INT",
            "ALTER TABLE orders RENAME TO old_orders",
            "ALTER TABLE orders EXCHANGE PARTITION p WITH TABLE customers",
            "SELECT setval('customers_id_seq', 1)",
            "SELECT setval(pg_get_serial_sequence('customers', 'id'), 1)",
            "UPDATE orders, customers SET customers.x = 1",
            "",
        ] {
            assert_eq!(verdict(sql), [false; 2], "{sql}");
        }
    }
}
