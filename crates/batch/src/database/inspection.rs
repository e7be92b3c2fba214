//! Whether a table can keep the promise of the gateway: each row once, as it was sent, and only if
//! it is acknowledged.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;

use super::catalogue::UniqueKey;
use super::definition::{TableDefinition, definition_sql};
use super::inspection_error::InspectionError;
use super::{mysql_catalogue, postgres_catalogue};
use crate::TableColumns;

/// What was found out about a table.
#[derive(Debug)]
pub struct TableInspection {
    pub columns: TableColumns,
    /// Why each row is read again before its commit; `None`: what is sent is what is stored.
    pub reads_back: Option<String>,
    pub warnings: Vec<String>,
    /// Why the server stores no row at the moment, such as that it is read only.
    pub refusal: Option<String>,
}

/// Reads the table of this name in the connection's schema, and tries the account's rights. `key`:
/// the columns of the idempotency key, if the user has named them.
pub(super) fn inspect_table(
    client: &mut Client,
    table: &str,
    key: &[String],
) -> Result<TableInspection, InspectionError> {
    let dialect = client.dialect();
    let definition = read_definition(client, dialect, table)?;
    let version = definition.version();
    let found = match dialect {
        SqlDialect::Mysql => mysql_catalogue::read_table(client, table, &definition)?,
        SqlDialect::Postgres => postgres_catalogue::read_table(client, table)?,
    };
    let key = choose_key(table, key, found.keys, found.other_keys.clone())?;
    let columns = TableColumns::new(dialect, found.name, version, found.columns, &key);
    let others = found.other_keys;
    let mut columns =
        columns.ok_or_else(|| InspectionError::NoKey { table: table.to_owned(), others })?;
    let read_column = columns.columns().iter().find(|column| column.reads_back);
    let reads_back = found.may_change_rows.or_else(|| {
        Some(format!("the type of its column `{}` may change values", read_column?.name))
    });
    columns.reads_back = reads_back.is_some();
    columns.is_partitioned = found.is_partitioned;
    let refusal = try_privileges(client, table, &columns)?;
    Ok(TableInspection { columns, reads_back, warnings: found.warnings, refusal })
}

fn read_definition(
    client: &mut Client,
    dialect: SqlDialect,
    table: &str,
) -> Result<TableDefinition, InspectionError> {
    let mut answers = Vec::new();
    for sql in definition_sql(dialect, table) {
        let rows = client.query(&sql).map_err(|error| match error {
            DriverError::Server(error) if error.code == 1146 || error.sqlstate == "42P01" => {
                InspectionError::NoTable(table.to_owned())
            }
            error => error.into(),
        })?;
        answers.push(rows.rows);
    }
    Ok(TableDefinition { answers })
}

/// Runs the statements of a batch for no row, in a transaction that is rolled back. Returns an
/// error that may pass.
fn try_privileges(
    client: &mut Client,
    table: &str,
    columns: &TableColumns,
) -> Result<Option<String>, InspectionError> {
    client.execute("START TRANSACTION")?;
    let tried = client.execute(&columns.insert_nothing());
    client.execute("ROLLBACK")?;
    match tried {
        Err(DriverError::Server(error)) if is_denied(&error) => Err(InspectionError::Privilege {
            table: table.to_owned(),
            problem: error.to_string(),
            grant: format!("GRANT SELECT, INSERT ON {} TO the account", columns.table),
        }),
        Ok(_) => Ok(None),
        Err(DriverError::Server(error)) => Ok(Some(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Whether a right is missing.
pub(super) fn is_denied(error: &truetps_driver::ServerError) -> bool {
    matches!(error.code, 1044 | 1142 | 1143) || error.sqlstate == "42501"
}

fn choose_key(
    table: &str,
    wanted: &[String],
    keys: Vec<UniqueKey>,
    others: Vec<String>,
) -> Result<Vec<String>, InspectionError> {
    let table = table.to_owned();
    let all =
        keys.iter().map(|(name, columns)| format!("{name}: {}", columns.join(", "))).collect();
    if keys.len() > 1 && wanted.is_empty() {
        return Err(InspectionError::SeveralKeys { keys: all, table });
    }
    let found = keys.into_iter().find(|(_, columns)| {
        wanted.is_empty()
            || wanted.len() == columns.len() && wanted.iter().all(|name| columns.contains(name))
    });
    match found {
        Some((_, columns)) => Ok(columns),
        None if wanted.is_empty() => Err(InspectionError::NoKey { table, others }),
        None => Err(InspectionError::OtherKey { table, key: wanted.to_vec(), keys: all, others }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_that_clients_can_set() {
        let key = |name: &str, columns: &[&str]| {
            (name.to_owned(), columns.iter().map(|c| (*c).to_owned()).collect())
        };
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let choose = |wanted: &[&str], keys: &[UniqueKey]| {
            choose_key("t", &names(wanted), keys.to_vec(), Vec::new())
        };
        let keys: [UniqueKey; 2] = [key("k", &["client", "seq"]), key("l", &["x"])];
        assert_eq!(choose(&[], &keys[..1]).unwrap(), ["client", "seq"]);
        assert_eq!(choose(&["seq", "client"], &keys).unwrap(), ["client", "seq"]);
        assert_eq!(choose(&["x"], &keys).unwrap(), ["x"]);
        assert!(matches!(choose(&[], &keys[..0]), Err(InspectionError::NoKey { .. })));
        assert!(matches!(choose(&[], &keys), Err(InspectionError::SeveralKeys { .. })));
        assert!(matches!(choose(&["x"], &keys[..1]), Err(InspectionError::OtherKey { .. })));
    }
}
