//! A table of the MySQL family, from `information_schema`.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;

use super::catalogue::{CatalogueTable, UniqueKey, catalogue_rows, keys_of};
use super::definition::{TableDefinition, text_literal};
use super::inspection_error::InspectionError;
use crate::table::quoted_name;
use crate::{ColumnFacts, ColumnType};

/// Engines whose statements are atomic and durable.
const ENGINES: [&str; 2] = ["InnoDB", "ROCKSDB"];
/// Character sets that give each character back that they take. The others have characters that
/// come back as others.
const FAITHFUL_CHARSETS: [&str; 9] =
    ["utf8mb4", "utf8mb3", "utf8", "ascii", "latin1", "ucs2", "utf16", "utf16le", "utf32"];

pub(super) fn read_table(
    client: &mut Client,
    table: &str,
    definition: &TableDefinition,
) -> Result<CatalogueTable, InspectionError> {
    let literal = text_literal(table);
    let engine = client.query_value(&format!(
        "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND \
         TABLE_NAME = {literal}"
    ))?;
    let engine = engine.unwrap_or_else(|| "none (a view)".to_owned());
    if !ENGINES.iter().any(|known| known.eq_ignore_ascii_case(&engine)) {
        return Err(InspectionError::Engine { table: table.to_owned(), engine });
    }
    // It would take the rows, and end with its session.
    if definition.is_temporary() {
        let kind = "is hidden by a temporary table of the session (init_connect)".to_owned();
        return Err(InspectionError::Kind { table: table.to_owned(), kind });
    }
    let columns = read_columns(client, &literal)?;
    let (keys, other_keys) = read_keys(client, &literal, &columns)?;
    Ok(CatalogueTable {
        name: quoted_name(SqlDialect::Mysql, table),
        columns,
        keys,
        other_keys,
        may_change_rows: hidden_changes(client, &literal, definition)?,
        ..CatalogueTable::default()
    })
}

fn read_columns(client: &mut Client, literal: &str) -> Result<Vec<ColumnFacts>, DriverError> {
    let rows = catalogue_rows(
        client,
        &format!(
            "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT IS NOT NULL, \
             EXTRA, CHARACTER_SET_NAME, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, \
             NUMERIC_SCALE, DATETIME_PRECISION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA \
             = DATABASE() AND TABLE_NAME = {literal} ORDER BY ORDINAL_POSITION"
        ),
    )?;
    let columns = rows.iter().filter_map(|row| {
        let extra = row[5].to_uppercase();
        let is_made = extra.contains("AUTO_INCREMENT")
            || extra.contains("GENERATED") && !extra.contains("DEFAULT_GENERATED")
            // A column of system versioning.
            || extra.contains("ROW START")
            || extra.contains("ROW END");
        if is_made {
            return None;
        }
        let (kind, reads_back) = column_type(row);
        let is_nullable = row[3] == "YES";
        let has_default = is_nullable || row[4] == "1" || extra.contains("DEFAULT_GENERATED");
        let (name, server_type) = (row[0].clone(), String::new());
        Some(ColumnFacts { name, kind, server_type, reads_back, is_nullable, has_default })
    });
    Ok(columns.collect())
}

/// The type of a column, and whether only reading it again shows what is stored.
fn column_type(row: &[String]) -> (ColumnType, bool) {
    let (data_type, declared, charset) = (row[1].to_lowercase(), &row[2], row[6].to_lowercase());
    let [chars, bytes, scale, fraction_digits] =
        [7, 8, 9, 10].map(|column| row[column].parse::<u64>().ok());
    let fraction_digits = fraction_digits.unwrap_or(0) as u32;
    let is_faithful = FAITHFUL_CHARSETS.contains(&charset.as_str());
    match data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => (ColumnType::Integer, false),
        "decimal" => (ColumnType::Decimal { scale: scale.map(|scale| scale as u32) }, false),
        // With digits after the point (an old form), it rounds to these, too.
        "float" | "double" => {
            (ColumnType::Float { is_single: data_type == "float" }, scale.is_some())
        }
        "bit" => (ColumnType::Bits, false),
        "char" => (ColumnType::text(chars, None, false), !is_faithful),
        "varchar" => (ColumnType::text(chars, None, true), !is_faithful),
        // Their limit is one of bytes, in their own character set.
        "tinytext" | "text" | "mediumtext" | "longtext" => (
            ColumnType::text(None, bytes, true),
            !matches!(charset.as_str(), "utf8mb4" | "utf8mb3" | "utf8" | "ascii"),
        ),
        "enum" => (ColumnType::Enum { labels: labels(declared) }, !is_faithful),
        "set" => (ColumnType::Set { labels: labels(declared) }, !is_faithful),
        "binary" if bytes == Some(16) => (ColumnType::Uuid { is_binary: true }, false),
        "binary" => (ColumnType::Binary { fixed: bytes }, false),
        "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            (ColumnType::Binary { fixed: None }, false)
        }
        "date" => (ColumnType::Date, false),
        "time" => (ColumnType::Time { fraction_digits }, false),
        "datetime" | "timestamp" => {
            (ColumnType::DateTime { fraction_digits, has_zone: false }, false)
        }
        "year" => (ColumnType::Year, declared.contains("(2)")),
        "json" => (ColumnType::Json { has_doubles: true }, false),
        "uuid" => (ColumnType::Uuid { is_binary: false }, false),
        _ => (ColumnType::Other { reads_clock: false }, true),
    }
}

/// The values of `enum('a','it''s')`.
fn labels(declared: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut rest = declared.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\'' {
            continue;
        }
        let mut label = String::new();
        while let Some(c) = rest.next() {
            match c {
                '\'' if rest.next_if_eq(&'\'').is_some() => label.push('\''),
                '\'' => break,
                '\\' => label.extend(rest.next().map(|escaped| match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                })),
                c => label.push(c),
            }
        }
        labels.push(label);
    }
    labels
}

fn read_keys(
    client: &mut Client,
    literal: &str,
    columns: &[ColumnFacts],
) -> Result<(Vec<UniqueKey>, Vec<String>), DriverError> {
    let rows = catalogue_rows(
        client,
        &format!(
            "SELECT INDEX_NAME, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, '') FROM \
             information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \
             {literal} AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX"
        ),
    )?;
    let prefixes: Vec<_> =
        rows.iter().filter(|row| !row[2].is_empty()).map(|row| row[0].clone()).collect();
    let (mut keys, mut others) = (Vec::new(), Vec::new());
    for (name, parts) in keys_of(&rows) {
        let facts = parts.iter().map(|part| columns.iter().find(|column| column.name == *part));
        let Some(facts) = facts.collect::<Option<Vec<_>>>() else {
            others.push(format!("{name}: the server makes its values"));
            continue;
        };
        if prefixes.contains(&name) {
            others.push(format!("{name}: it has only the beginnings of values"));
        } else if let Some(column) = facts.iter().find(|column| is_no_key(&column.kind)) {
            others.push(format!(
                "{name}: values of `{}` are not found by what was sent",
                column.name
            ));
        } else {
            keys.push((name, parts));
        }
    }
    Ok((keys, others))
}

/// FLOAT: the number that was sent is not equal to the stored one.
fn is_no_key(kind: &ColumnType) -> bool {
    matches!(
        kind,
        ColumnType::Float { is_single: true } | ColumnType::Json { .. } | ColumnType::Other { .. }
    )
}

/// Why rows may be stored differently from what was sent, besides their types.
fn hidden_changes(
    client: &mut Client,
    literal: &str,
    definition: &TableDefinition,
) -> Result<Option<String>, DriverError> {
    let triggers = client.query_value(&format!(
        "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
         AND EVENT_OBJECT_TABLE = {literal} AND EVENT_MANIPULATION = 'INSERT' AND ACTION_TIMING = \
         'BEFORE'"
    ))?;
    if triggers.is_some_and(|count| count != "0") {
        return Ok(Some("it has triggers".to_owned()));
    }
    if sees_triggers(client, definition)? {
        return Ok(None);
    }
    Ok(Some("this account cannot see whether it has triggers (GRANT TRIGGER)".to_owned()))
}

/// Without the privilege TRIGGER, the list of triggers is empty.
fn sees_triggers(client: &mut Client, definition: &TableDefinition) -> Result<bool, DriverError> {
    let revokes = catalogue_rows(client, "SHOW GLOBAL VARIABLES LIKE 'partial_revokes'")?;
    let is_partial = revokes.iter().any(|row| row.last().is_some_and(|value| value == "ON"));
    Ok(!is_partial && definition.has_trigger_grant())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_from_the_declaration() {
        assert_eq!(labels("enum('a','it''s','b\\\\c','')"), ["a", "it's", "b\\c", ""]);
        assert_eq!(labels("set('x')"), ["x"]);
    }
}
