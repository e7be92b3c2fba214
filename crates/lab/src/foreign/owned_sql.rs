//! What a workload may send to make its tables in a schema of the user's: nothing that could touch, or leave, anything
//! but those tables.

use super::error::ForeignError;

/// Refuses all but CREATE TABLE, CREATE INDEX and INSERT, for tables of these names.
pub(crate) fn check(statements: &[String], tables: &[String]) -> Result<(), ForeignError> {
    match statements.iter().find(|sql| !is_allowed(sql, tables)) {
        Some(sql) => Err(ForeignError::NotOnlyTables { sql: sql.split_whitespace().collect::<Vec<_>>().join(" ") }),
        None => Ok(()),
    }
}

fn is_allowed(sql: &str, tables: &[String]) -> bool {
    // A comment can be read as SQL by some servers; none is needed here.
    if sql.contains("/*") || sql.trim_start().starts_with("--") {
        return false;
    }
    let spaced = sql.replace('(', " ( ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let upper: Vec<_> = words.iter().map(|word| word.to_uppercase()).collect();
    let has =
        |start: &[&str]| upper.len() > start.len() && upper.iter().zip(start).all(|(word, wanted)| word == wanted);
    let name_at = |n: usize| words.get(n).copied().is_some_and(|word| is_own(word, tables));
    if has(&["CREATE", "TABLE"]) || has(&["INSERT", "INTO"]) {
        // `CREATE TABLE IF NOT EXISTS` has `IF` where the name should be.
        return name_at(2) && (has(&["INSERT", "INTO"]) || !upper.iter().any(|word| word == "DIRECTORY"));
    }
    if has(&["CREATE", "INDEX"]) || has(&["CREATE", "UNIQUE", "INDEX"]) {
        let on = upper.iter().position(|word| word == "ON");
        return on.is_some_and(|on| name_at(on + 1));
    }
    false
}

/// The name of one of our tables, and not one with a schema before it.
fn is_own(word: &str, tables: &[String]) -> bool {
    let plain = |text: &str| text.trim_matches(['`', '"']).to_lowercase();
    tables.iter().any(|table| plain(table) == plain(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_tables_are_made() {
        let tables = ["orders".to_owned(), "lines".to_owned()];
        for sql in [
            "CREATE TABLE orders (id INT)",
            "create table \"lines\"(id int)",
            "CREATE TABLE `Orders` (id INT) ENGINE=InnoDB",
            "CREATE UNIQUE INDEX i ON orders (id)",
            "CREATE INDEX i ON lines(id)",
            "INSERT INTO orders VALUES (1)",
        ] {
            assert!(check(&[sql.to_owned()], &tables).is_ok(), "{sql}");
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
        ] {
            assert!(check(&[sql.to_owned()], &tables).is_err(), "{sql}");
        }
    }
}
