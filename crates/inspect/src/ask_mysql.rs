//! Queries to a server of the MySQL family.

use std::collections::BTreeMap;

use truetps_driver::{Client, DURABILITY_STATUS, DriverError};
use truetps_record::{CapturedPlugin, CapturedVariable, Flavour, SchemaShape, is_secret};

/// Time limit of queries about tables in the server: less than the client's.
pub(crate) const TABLES_LIMIT_MS: u32 = 1200;

/// Rows with a fixed number of cells; shorter rows are ignored.
pub(crate) fn rows<const N: usize>(
    client: &mut Client,
    sql: &str,
) -> Result<Vec<[Option<String>; N]>, DriverError> {
    let rows = client.query(sql)?.rows;
    Ok(rows.into_iter().filter_map(|row| row.try_into().ok()).collect())
}

pub(crate) fn variables(
    client: &mut Client,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, CapturedVariable>, DriverError> {
    let mut found = BTreeMap::new();
    for [name, value] in rows(client, "SHOW GLOBAL VARIABLES")? {
        let name = name.unwrap_or_default().to_lowercase();
        let value = value.unwrap_or_default();
        if !is_secret(&name, &value) {
            found.insert(name, CapturedVariable { value, ..CapturedVariable::default() });
        }
    }
    if let Err(problem) = origins(client, &mut found) {
        notes.push(format!("the origin of variables is unknown: {problem}"));
    }
    Ok(found)
}

fn is_mariadb(variables: &BTreeMap<String, CapturedVariable>) -> bool {
    let version = variables.get("version");
    version.is_some_and(|version| Flavour::from_version_text(&version.value) == Flavour::Mariadb)
}

/// MariaDB and MySQL keep it in different tables.
fn origins(
    client: &mut Client,
    found: &mut BTreeMap<String, CapturedVariable>,
) -> Result<(), String> {
    const MARIADB: &str = "SELECT LOWER(variable_name), global_value_origin, global_value_path, \
                           default_value FROM information_schema.system_variables";
    const MYSQL: &str = "SELECT LOWER(variable_name), variable_source, variable_path, NULL \
                         FROM performance_schema.variables_info";
    let found_rows = rows(client, if is_mariadb(found) { MARIADB } else { MYSQL }).map_err(
        |error| match error {
            // Servers before 8.0 do not have the table.
            DriverError::Server(error) if error.code == 1146 => {
                "this version does not keep it".to_owned()
            }
            error => error.to_string(),
        },
    )?;
    if found_rows.is_empty() {
        return Err("the account may not read performance_schema.variables_info".to_owned());
    }
    for [name, origin, path, default] in found_rows {
        if let Some(variable) = found.get_mut(&name.unwrap_or_default()) {
            variable.origin = origin;
            variable.path = path.filter(|path| !path.is_empty());
            variable.default = default;
        }
    }
    Ok(())
}

/// Facts that decide about durability and are no variables.
pub(crate) fn status(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    let found_rows = rows(client, DURABILITY_STATUS)?;
    Ok(found_rows
        .into_iter()
        .filter_map(|[name, value]| Some((name?.to_lowercase(), value?)))
        .collect())
}

pub(crate) fn plugins(client: &mut Client) -> Result<Vec<CapturedPlugin>, DriverError> {
    let sql = "SELECT plugin_name, plugin_type, plugin_version FROM information_schema.plugins \
               WHERE plugin_status = 'ACTIVE' ORDER BY 1";
    let found_rows = rows(client, sql)?.into_iter();
    Ok(found_rows
        .filter_map(|[name, kind, version]| {
            Some(CapturedPlugin { name: name?, kind: kind?, version })
        })
        .collect())
}

/// Tables, read without side effects: `variables` has the server's settings for their statistics.
pub(crate) fn schemas(
    client: &mut Client,
    variables: &BTreeMap<String, CapturedVariable>,
) -> Result<Vec<SchemaShape>, String> {
    // The statistics of each table would be computed again, and the plans of all sessions could
    // change.
    if variables.get("innodb_stats_on_metadata").is_some_and(|variable| variable.value == "ON") {
        return Err("reading them would change their statistics (innodb_stats_on_metadata is ON)"
            .to_owned());
    }
    let counts_expire = variables.contains_key("information_schema_stats_expiry");
    shapes(client, is_mariadb(variables), counts_expire).map_err(|error| error.to_string())
}

fn shapes(
    client: &mut Client,
    is_mariadb: bool,
    counts_expire: bool,
) -> Result<Vec<SchemaShape>, DriverError> {
    const SYSTEM: &str = "('mysql', 'sys', 'information_schema', 'performance_schema')";
    // A client timeout alone would leave the statement running in the server. Older servers take
    // the hint for a comment.
    let select = if is_mariadb {
        let seconds = f64::from(TABLES_LIMIT_MS) / 1e3;
        format!("SET STATEMENT max_statement_time = {seconds} FOR SELECT")
    } else {
        format!("SELECT /*+ MAX_EXECUTION_TIME({TABLES_LIMIT_MS}) */")
    };
    if counts_expire {
        // Expired counts would be computed again and written to the dictionary.
        client.execute("SET SESSION information_schema_stats_expiry = 0")?;
    }
    let sql = format!(
        "{select} table_schema, engine, COUNT(*), SUM(table_rows), SUM(data_length), \
         SUM(index_length) FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND \
         table_schema NOT IN {SYSTEM} GROUP BY 1, 2"
    );
    let mut shapes: BTreeMap<String, SchemaShape> = BTreeMap::new();
    for [schema, engine, tables, row_count, data, index] in rows(client, &sql)? {
        let name = schema.unwrap_or_default();
        let shape = shapes.entry(name.clone()).or_insert_with(|| empty(name));
        let tables = number(tables);
        shape.tables += tables;
        shape.rows += number(row_count);
        shape.data_bytes += number(data);
        shape.index_bytes += number(index);
        *shape.engines.entry(engine.unwrap_or_else(|| "unknown".to_owned())).or_default() += tables;
    }
    let sql = format!(
        "{select} table_schema, COUNT(DISTINCT table_name, index_name) FROM \
         information_schema.statistics WHERE table_schema NOT IN {SYSTEM} GROUP BY 1"
    );
    for [schema, indexes] in rows(client, &sql)? {
        if let Some(shape) = schema.and_then(|schema| shapes.get_mut(&schema)) {
            shape.indexes = number(indexes);
        }
    }
    Ok(shapes.into_values().collect())
}

pub(crate) fn empty(name: String) -> SchemaShape {
    SchemaShape {
        name,
        tables: 0,
        rows: 0,
        data_bytes: 0,
        index_bytes: 0,
        indexes: 0,
        engines: BTreeMap::new(),
    }
}

/// Sums are decimal numbers, and NULL for no rows.
pub(crate) fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse::<f64>().ok()).map_or(0, |number| number.max(0.0) as u64)
}
