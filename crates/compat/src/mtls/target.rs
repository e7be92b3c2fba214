//! The server and the table that the options name.

use truetps_driver::{Endpoint, Login, Password, Target};
use truetps_plan::{GeneratedTable, PlanError};
use truetps_record::SqlDialect;

use super::exit::{MtlsExit, failed};
use super::options::{MtlsAction, MtlsOptions};
use crate::ssl;

/// The error of the table, named after the responsible option.
pub(super) fn wrong_table(error: PlanError) -> MtlsExit {
    let PlanError::Value { key, problem } = &error else { return failed(error) };
    match key.path().strip_prefix("workload.table.") {
        Some("name") => failed(format!("--table: {problem}")),
        Some(column) => failed(format!("--{}: {problem}", column.replace('_', "-"))),
        None if key.path() == "workload.rows_per_insert" => failed(format!("--batch: {problem}")),
        None => failed(problem),
    }
}

pub(super) fn target(options: &MtlsOptions) -> Result<Target, MtlsExit> {
    let endpoint = match &options.socket {
        Some(path) => Endpoint::Unix(path.clone()),
        None => Endpoint::Tcp { host: options.host.clone(), port: options.port },
    };
    let password =
        Some(options.password.clone()).filter(|text| !text.is_empty()).map(Password::new);
    let login =
        Login { user: options.user.clone(), password, database: Some(options.database.clone()) };
    let files = [&options.ssl_ca, &options.ssl_cert, &options.ssl_key].map(Clone::clone);
    let tls = ssl::tls(options.ssl_mode, files, options.get_server_public_key).map_err(failed)?;
    Ok(ssl::without_needless_tls(Target::new(SqlDialect::Mysql, vec![endpoint], login, tls)))
}

/// The requested table, with this many rows in an INSERT, checked like the table of a plan.
pub(super) fn table(
    options: &MtlsOptions,
    rows_per_insert: u32,
) -> Result<GeneratedTable, MtlsExit> {
    let table = GeneratedTable {
        name: options.table.clone(),
        rows: 0,
        auto_primary_key: options.auto_primary_key,
        ints: options.ints,
        varchars: options.varchars,
        floats: options.floats,
        doubles: options.doubles,
        decimals: options.decimals,
        texts: options.texts,
        bigints: options.bigints,
        datetimes: options.datetimes,
        blobs: options.blobs,
        varchar_length: options.varchar_length,
        value_length: options.value_length,
        decimal_precision: options.decimal_precision,
        decimal_scale: options.decimal_scale,
    };
    if table.value_columns() == 0 {
        return Err(failed(match options.action {
            MtlsAction::Insert => "columns counts equal 0".to_owned(),
            _ => format!("do not have any columns in table {}.{}", options.database, options.table),
        }));
    }
    table.check(rows_per_insert).map_err(wrong_table)?;
    Ok(table)
}

/// Without unnecessary quotes, as the original prints it.
pub(super) fn full_name(options: &MtlsOptions) -> String {
    let database = &options.database;
    let is_plain = database.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let database =
        if is_plain { database.clone() } else { format!("`{}`", database.replace('`', "``")) };
    format!("{database}.{}", options.table)
}
