//! Whether a table can keep the promise of the gateway: each row once, and only if it is acknowledged.

use std::collections::BTreeMap;

use thiserror::Error;
use truetps_driver::{Client, DriverError};
use truetps_record::{SqlDialect, fnv1a};

use crate::table::quoted_name;
use crate::{ColumnClass, ColumnFacts, TableColumns};

/// Engines whose statements are atomic and durable.
const ENGINES: [&str; 2] = ["InnoDB", "ROCKSDB"];

#[derive(Debug, Error)]
pub enum InspectionError {
    #[error("there is no table `{0}` that this account can see")]
    NoTable(String),
    #[error("table `{table}` has the engine {engine}, whose statements are not atomic")]
    Engine { table: String, engine: String },
    #[error("table `{0}` has no unique key that clients can set: a retry would store a row twice")]
    NoKey(String),
    #[error("table `{table}` has several unique keys ({}): a row that is stored under another key would be taken for a duplicate", keys.join("; "))]
    SeveralKeys { table: String, keys: Vec<String> },
    #[error("table `{table}` has no unique key of the columns {}; its unique keys: {}", key.join(", "), keys.join("; "))]
    OtherKey { table: String, key: Vec<String>, keys: Vec<String> },
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl InspectionError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoTable(_) => {
                "check the table's name, the schema in the address, and GRANT SELECT, INSERT".to_owned()
            }
            Self::Engine { table, .. } => format!("ALTER TABLE {table} ENGINE=InnoDB"),
            Self::NoKey(_) => "make the clients number their rows: PRIMARY KEY (client_id, seq)".to_owned(),
            Self::SeveralKeys { .. } => "keep one unique key, besides an AUTO_INCREMENT primary key".to_owned(),
            Self::OtherKey { .. } => "name the columns of a unique key, or leave `key` out".to_owned(),
            Self::Driver(error) => return error.hint(),
        })
    }
}

/// What was found out about a table.
#[derive(Debug)]
pub struct TableInspection {
    pub columns: TableColumns,
    /// The table has triggers that may change values on their way: duplicates cannot be compared.
    pub has_triggers: bool,
}

/// A unique key: its name and columns.
type UniqueKey = (String, Vec<String>);

/// Reads the table of this name in the connection's schema. `key`: the columns of the idempotency key, if the user has
/// named them.
pub(super) fn inspect_table(
    client: &mut Client,
    table: &str,
    key: &[String],
) -> Result<TableInspection, InspectionError> {
    let dialect = client.dialect();
    let version = read_version(client, dialect, table)?;
    let (columns, automatic) = match dialect {
        SqlDialect::Mysql => mysql_columns(client, table)?,
        SqlDialect::Postgres => postgres_columns(client, table)?,
    };
    let keys = match dialect {
        SqlDialect::Mysql => mysql_keys(client, table)?,
        SqlDialect::Postgres => postgres_keys(client, table)?,
    };
    let key = choose_key(dialect, table, key, keys, &automatic)?;
    let columns = TableColumns::new(dialect, table, version, columns, &key);
    let columns = columns.ok_or_else(|| InspectionError::NoKey(table.to_owned()))?;
    let triggers = match dialect {
        SqlDialect::Mysql => format!(
            "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() \
             AND EVENT_OBJECT_TABLE = {} AND EVENT_MANIPULATION = 'INSERT' AND ACTION_TIMING = 'BEFORE'",
            text(table)
        ),
        // tgtype: 2 is BEFORE, 4 is INSERT.
        SqlDialect::Postgres => format!(
            "SELECT COUNT(*) FROM pg_trigger WHERE tgrelid = {}::regclass AND NOT tgisinternal AND tgtype & 6 = 6",
            text(&quoted_name(dialect, table))
        ),
    };
    let has_triggers = client.query_value(&triggers)?.is_some_and(|count| count != "0");
    Ok(TableInspection { columns, has_triggers })
}

fn read_version(client: &mut Client, dialect: SqlDialect, table: &str) -> Result<u64, InspectionError> {
    let rows = client.query(&definition_sql(dialect, table)).map_err(|error| match error {
        DriverError::Server(error) if error.code == 1146 || error.sqlstate == "42P01" => {
            InspectionError::NoTable(table.to_owned())
        }
        error => error.into(),
    })?;
    let definition = rows.rows.into_iter().next().and_then(|row| row.into_iter().next_back().flatten());
    Ok(definition_version(&definition.unwrap_or_default()))
}

/// The statement whose last column is the table's definition.
pub(super) fn definition_sql(dialect: SqlDialect, table: &str) -> String {
    let name = quoted_name(dialect, table);
    match dialect {
        SqlDialect::Mysql => format!("SHOW CREATE TABLE {name}"),
        SqlDialect::Postgres => {
            let oid = format!("{}::regclass", text(&name));
            format!(
                "SELECT (SELECT string_agg(concat_ws(' ', attnum, attname, atttypid, atttypmod, attnotnull, \
                 attgenerated, attidentity, pg_get_expr(adbin, adrelid)), ',' ORDER BY attnum) FROM pg_attribute \
                 LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = {oid} AND attnum > 0 \
                 AND NOT attisdropped) \
                 || coalesce((SELECT string_agg(pg_get_constraintdef(oid), ',' ORDER BY oid) FROM pg_constraint \
                 WHERE conrelid = {oid}), '') \
                 || coalesce((SELECT string_agg(pg_get_indexdef(indexrelid), ',' ORDER BY indexrelid) FROM pg_index \
                 WHERE indrelid = {oid}), '')"
            )
        }
    }
}

/// A number for the definition. The next value of AUTO_INCREMENT, which each row changes, is not a part of it.
pub(super) fn definition_version(definition: &str) -> u64 {
    const COUNTER: &str = " AUTO_INCREMENT=";
    let Some((before, after)) = definition.rsplit_once(COUNTER) else { return fnv1a(definition.as_bytes()) };
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    fnv1a(format!("{before}{after}").as_bytes())
}

/// A literal for the catalogue's queries. Names come from the user's own configuration.
fn text(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
}

/// The columns that clients can set, and the names of those that the server counts.
fn mysql_columns(client: &mut Client, table: &str) -> Result<(Vec<ColumnFacts>, Vec<String>), InspectionError> {
    let table_text = text(table);
    let engine = client.query_value(&format!(
        "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table_text}"
    ))?;
    let engine = engine.unwrap_or_else(|| "none (a view)".to_owned());
    if !ENGINES.iter().any(|known| known.eq_ignore_ascii_case(&engine)) {
        return Err(InspectionError::Engine { table: table.to_owned(), engine });
    }
    let found = client.query(&format!(
        "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, CHARACTER_SET_NAME \
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table_text} \
         ORDER BY ORDINAL_POSITION"
    ))?;
    let (mut columns, mut automatic) = (Vec::new(), Vec::new());
    for row in found.rows {
        let cell = |n: usize| row.get(n).cloned().flatten().unwrap_or_default();
        let (name, data_type, column_type, extra) = (cell(0), cell(1), cell(2), cell(5).to_uppercase());
        if extra.contains("AUTO_INCREMENT") {
            automatic.push(name);
            continue;
        }
        if extra.contains("GENERATED") && !extra.contains("DEFAULT_GENERATED") {
            continue;
        }
        let kind = match data_type.to_lowercase().as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => ColumnClass::Integer,
            "binary" if column_type.eq_ignore_ascii_case("binary(16)") => ColumnClass::Uuid,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => ColumnClass::Binary,
            _ => ColumnClass::Text,
        };
        let is_nullable = cell(3) == "YES";
        let has_default = is_nullable || row[4].is_some() || extra.contains("DEFAULT_GENERATED");
        columns.push(ColumnFacts { name, kind, is_text: row[6].is_some(), is_nullable, has_default });
    }
    Ok((columns, automatic))
}

fn mysql_keys(client: &mut Client, table: &str) -> Result<Vec<UniqueKey>, InspectionError> {
    let found = client.query(&format!(
        "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_NAME = {} AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        text(table)
    ))?;
    Ok(grouped(found.rows))
}

fn postgres_columns(client: &mut Client, table: &str) -> Result<(Vec<ColumnFacts>, Vec<String>), InspectionError> {
    let found = client.query(&format!(
        "SELECT attname, typname, NOT attnotnull, pg_get_expr(adbin, adrelid), attidentity, attgenerated \
         FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid \
         LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
         WHERE attrelid = {}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        text(&quoted_name(SqlDialect::Postgres, table))
    ))?;
    let (mut columns, mut automatic) = (Vec::new(), Vec::new());
    for row in found.rows {
        let cell = |n: usize| row.get(n).cloned().flatten().unwrap_or_default();
        let (name, default) = (cell(0), cell(3));
        if !cell(4).is_empty() || default.starts_with("nextval(") {
            automatic.push(name);
            continue;
        }
        if !cell(5).is_empty() {
            continue;
        }
        let kind = match cell(1).as_str() {
            "int2" | "int4" | "int8" => ColumnClass::Integer,
            "bytea" => ColumnClass::Binary,
            _ => ColumnClass::Text,
        };
        let is_nullable = cell(2) == "t";
        columns.push(ColumnFacts {
            name,
            kind,
            is_text: true,
            is_nullable,
            has_default: is_nullable || !default.is_empty(),
        });
    }
    Ok((columns, automatic))
}

/// Unique indexes over columns and all rows.
fn postgres_keys(client: &mut Client, table: &str) -> Result<Vec<UniqueKey>, InspectionError> {
    let found = client.query(&format!(
        "SELECT indexrelid::regclass, attname FROM pg_index \
         CROSS JOIN LATERAL unnest(indkey[0:indnkeyatts - 1]) WITH ORDINALITY AS part(number, place) \
         JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number \
         WHERE indrelid = {}::regclass AND indisunique AND indisvalid AND indpred IS NULL AND indexprs IS NULL \
         ORDER BY indexrelid, place",
        text(&quoted_name(SqlDialect::Postgres, table))
    ))?;
    Ok(grouped(found.rows))
}

fn grouped(rows: Vec<Vec<Option<String>>>) -> Vec<UniqueKey> {
    let mut keys = BTreeMap::<String, Vec<String>>::new();
    for row in rows {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        let name = cells.next().unwrap_or_default();
        keys.entry(name).or_default().push(cells.next().unwrap_or_default());
    }
    keys.into_iter().collect()
}

fn choose_key(
    dialect: SqlDialect,
    table: &str,
    wanted: &[String],
    mut keys: Vec<UniqueKey>,
    automatic: &[String],
) -> Result<Vec<String>, InspectionError> {
    let table = table.to_owned();
    keys.retain(|(_, columns)| !columns.iter().any(|column| automatic.contains(column)));
    let shown =
        |keys: &[UniqueKey]| keys.iter().map(|(name, columns)| format!("{name}: {}", columns.join(", "))).collect();
    // On the MySQL family a duplicate of any unique key leaves the stored row unchanged, and is not an error.
    if keys.len() > 1 && (dialect == SqlDialect::Mysql || wanted.is_empty()) {
        return Err(InspectionError::SeveralKeys { keys: shown(&keys), table });
    }
    let is_wanted = |columns: &[String]| {
        wanted.is_empty() || wanted.len() == columns.len() && wanted.iter().all(|name| columns.contains(name))
    };
    let all = shown(&keys);
    match keys.into_iter().find(|(_, columns)| is_wanted(columns)) {
        Some((_, columns)) => Ok(columns),
        None if wanted.is_empty() => Err(InspectionError::NoKey(table)),
        None => Err(InspectionError::OtherKey { table, key: wanted.to_vec(), keys: all }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_no_part_of_a_definition() {
        let version =
            |counter: &str| definition_version(&format!("CREATE TABLE t (\n  a int\n) ENGINE=InnoDB{counter} X"));
        assert_eq!(version(" AUTO_INCREMENT=7"), version(" AUTO_INCREMENT=123"));
        assert_eq!(version(" AUTO_INCREMENT=7"), version(""));
        assert_ne!(version(" X"), version(""));
    }

    #[test]
    fn a_key_is_one_that_clients_can_set() {
        let key = |name: &str, columns: &[&str]| (name.to_owned(), columns.iter().map(|c| (*c).to_owned()).collect());
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let choose = |dialect, wanted: &[&str], keys: &[UniqueKey]| {
            choose_key(dialect, "t", &names(wanted), keys.to_vec(), &names(&["id"]))
        };
        let keys: [UniqueKey; 3] = [key("PRIMARY", &["id"]), key("k", &["client", "seq"]), key("l", &["x"])];
        assert_eq!(choose(SqlDialect::Mysql, &[], &keys[..2]).unwrap(), ["client", "seq"]);
        assert_eq!(choose(SqlDialect::Mysql, &["seq", "client"], &keys[..2]).unwrap(), ["client", "seq"]);
        assert!(matches!(choose(SqlDialect::Mysql, &[], &keys[..1]), Err(InspectionError::NoKey(_))));
        assert!(matches!(choose(SqlDialect::Mysql, &["x"], &keys), Err(InspectionError::SeveralKeys { .. })));
        assert!(matches!(choose(SqlDialect::Mysql, &["x"], &keys[..2]), Err(InspectionError::OtherKey { .. })));
        assert_eq!(choose(SqlDialect::Postgres, &["x"], &keys).unwrap(), ["x"]);
    }
}
