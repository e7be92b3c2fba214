//! What a PostgreSQL is asked. Tables are those of the database that was logged in to.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_record::{CapturedPlugin, CapturedVariable, SchemaShape, is_secret_name};

use crate::ask_mysql::{empty, number, rows};

pub(crate) fn variables(
    client: &mut Client,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, CapturedVariable>, DriverError> {
    let told = rows(client, "SELECT name, setting, source, sourcefile, boot_val, unit FROM pg_settings")?;
    let mut found = BTreeMap::new();
    for [name, value, origin, path, default, unit] in told {
        let Some(name) = name.filter(|name| !is_secret_name(name)) else { continue };
        found.insert(name, CapturedVariable { value: value.unwrap_or_default(), origin, path, default, unit });
    }
    let from_file = |variable: &CapturedVariable| variable.origin.as_deref() == Some("configuration file");
    if found.values().any(|variable| from_file(variable) && variable.path.is_none()) {
        notes.push("the names of configuration files are for members of pg_read_all_settings alone".to_owned());
    }
    Ok(found)
}

pub(crate) fn plugins(client: &mut Client) -> Result<Vec<CapturedPlugin>, DriverError> {
    let told = rows(client, "SELECT extname::text, extversion FROM pg_extension ORDER BY 1")?.into_iter();
    let plugin = |[name, version]: [Option<String>; 2]| {
        Some(CapturedPlugin { name: name?, kind: "extension".to_owned(), version })
    };
    Ok(told.filter_map(plugin).collect())
}

pub(crate) fn schemas(client: &mut Client) -> Result<Vec<SchemaShape>, DriverError> {
    let sql = "SELECT n.nspname::text, COUNT(DISTINCT c.oid), COALESCE(SUM(GREATEST(c.reltuples, 0)), 0), \
               COALESCE(SUM(pg_table_size(c.oid)), 0), COALESCE(SUM(pg_indexes_size(c.oid)), 0), \
               COALESCE(SUM((SELECT COUNT(*) FROM pg_index i WHERE i.indrelid = c.oid)), 0) \
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') \
               AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_t%' GROUP BY 1";
    let told = rows(client, sql)?.into_iter();
    let shape = |[name, tables, row_count, data, index, indexes]: [Option<String>; 6]| {
        let mut shape = empty(name?);
        shape.tables = number(tables);
        shape.rows = number(row_count);
        shape.data_bytes = number(data);
        shape.index_bytes = number(index);
        shape.indexes = number(indexes);
        shape.engines.insert("heap".to_owned(), shape.tables);
        Some(shape)
    };
    Ok(told.filter_map(shape).collect())
}
