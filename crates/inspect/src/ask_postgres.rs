//! Queries to a PostgreSQL server. Only tables of the session's database are read.

use std::collections::BTreeMap;

use truetps_driver::{AURORA_POSTGRES, Client, DriverError};
use truetps_record::{CapturedPlugin, CapturedVariable, SchemaShape, is_secret};

use crate::ask_mysql::{TABLES_LIMIT_MS, empty, number, rows};

pub(crate) fn variables(
    client: &mut Client,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, CapturedVariable>, DriverError> {
    let [aurora, condition] = AURORA_POSTGRES;
    let sql = format!(
        "SELECT name, setting, source, sourcefile, boot_val, unit FROM pg_settings {aurora}, NULL, \
         NULL, NULL, NULL {condition}"
    );
    let found_rows = rows(client, &sql)?;
    let mut found = BTreeMap::new();
    for [name, value, origin, path, default, unit] in found_rows {
        let value = value.unwrap_or_default();
        let Some(name) = name.filter(|name| !is_secret(name, &value)) else { continue };
        found.insert(name, CapturedVariable { value, origin, path, default, unit });
    }
    if found.values().any(|variable| {
        variable.origin.as_deref() == Some("configuration file") && variable.path.is_none()
    }) {
        notes.push(
            "only members of pg_read_all_settings can read the names of configuration files"
                .to_owned(),
        );
    }
    Ok(found)
}

pub(crate) fn plugins(client: &mut Client) -> Result<Vec<CapturedPlugin>, DriverError> {
    let found_rows =
        rows(client, "SELECT extname::text, extversion FROM pg_extension ORDER BY 1")?.into_iter();
    let plugins = found_rows.filter_map(|[name, version]| {
        Some(CapturedPlugin { name: name?, kind: "extension".to_owned(), version })
    });
    Ok(plugins.collect())
}

/// Each partition counts as a table; the partitioned table has no own rows, though it counts
/// theirs.
pub(crate) fn schemas(client: &mut Client) -> Result<Vec<SchemaShape>, DriverError> {
    let sql = "SELECT n.nspname::text, pg_catalog.COUNT(DISTINCT c.oid), \
               COALESCE(SUM(GREATEST(c.reltuples, 0)), 0), \
               COALESCE(SUM(pg_catalog.pg_table_size(c.oid)), 0), \
               COALESCE(SUM(pg_catalog.pg_indexes_size(c.oid)), 0), COALESCE(SUM((SELECT COUNT(*) \
               FROM pg_index i WHERE i.indrelid = c.oid)), 0) FROM pg_class c JOIN pg_namespace n \
               ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname <> \
               'information_schema' AND n.nspname !~ '^pg_'::text GROUP BY 1";
    // The server ends it, too. For the transaction only: behind a proxy another client gets the
    // session afterwards.
    client.execute("BEGIN READ ONLY")?;
    client.execute(&format!("SET LOCAL statement_timeout = {TABLES_LIMIT_MS}"))?;
    let found_rows = rows(client, sql)?.into_iter();
    client.execute("COMMIT")?;
    let shapes = found_rows.filter_map(|[name, tables, row_count, data, index, indexes]| {
        let mut shape = empty(name?);
        shape.tables = number(tables);
        shape.rows = number(row_count);
        shape.data_bytes = number(data);
        shape.index_bytes = number(index);
        shape.indexes = number(indexes);
        shape.engines.insert("heap".to_owned(), shape.tables);
        Some(shape)
    });
    Ok(shapes.collect())
}
