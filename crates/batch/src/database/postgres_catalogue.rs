//! A table of PostgreSQL, from its catalogue.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;

use super::catalogue::{CatalogueTable, catalogue_rows, keys_of};
use super::definition::{partition_tree_sql, text_literal};
use super::inspection_error::InspectionError;
use crate::table::quoted_name;
use crate::{ColumnFacts, ColumnType};

pub(super) fn read_table(
    client: &mut Client,
    table: &str,
) -> Result<CatalogueTable, InspectionError> {
    let oid = format!("{}::regclass::oid", text_literal(&quoted_name(SqlDialect::Postgres, table)));
    let tree = partition_tree_sql(&oid);
    let rows = catalogue_rows(
        client,
        &format!(
            "SELECT nspname, relname, relkind, relpersistence, \
             pg_catalog.row_security_active(pg_class.oid), (SELECT COUNT(*) FROM pg_rewrite WHERE \
             ev_class = pg_class.oid AND ev_type = '3'), (SELECT COUNT(*) FROM pg_class AS part \
             WHERE part.oid IN ({tree}) AND (part.relkind NOT IN ('r', 'p') OR part.relpersistence \
             <> 'p')), (SELECT COUNT(*) FROM pg_attribute AS part JOIN pg_attribute AS root ON \
             root.attname = part.attname WHERE root.attrelid = {oid} AND part.attrelid IN ({tree}) \
             AND part.attgenerated <> root.attgenerated) FROM pg_class JOIN pg_namespace ON \
             pg_namespace.oid = relnamespace WHERE pg_class.oid = {oid}"
        ),
    )?;
    let row = rows.first().ok_or_else(|| InspectionError::NoTable(table.to_owned()))?;
    if let Some(kind) = unfit_kind(row) {
        return Err(InspectionError::Kind { table: table.to_owned(), kind });
    }
    let (columns, warning) = read_columns(client, &oid)?;
    let mut found = CatalogueTable {
        name: [&row[0], &row[1]].map(|name| quoted_name(SqlDialect::Postgres, name)).join("."),
        columns,
        is_partitioned: row[2] == "p",
        may_change_rows: read_triggers(client, &oid)?,
        warnings: warning.into_iter().collect(),
        ..CatalogueTable::default()
    };
    if row[4] == "t" {
        let text = "row security is active: a row that this account cannot read again is answered \
                    with 409 when it is sent again";
        found.warnings.push(text.to_owned());
    }
    read_keys(client, &oid, &mut found)?;
    check_sequences(client, table, &oid)?;
    Ok(found)
}

/// Why rows of this relation are not stored, or not durable.
fn unfit_kind(row: &[String]) -> Option<String> {
    let kind = match (row[2].as_str(), row[3].as_str()) {
        ("r" | "p", "p") if row[5] != "0" => "has rules, which may store a row elsewhere",
        ("r" | "p", "p") if row[6] != "0" => "has partitions that are foreign or unlogged",
        ("r" | "p", "p") if row[7] != "0" => "has partitions with generated columns of their own",
        ("r" | "p", "p") => return None,
        ("r" | "p", "u") => "is unlogged: a crash empties it",
        ("r" | "p", _) => "is temporary",
        _ => "is not a table, but a view or a foreign table",
    };
    Some(kind.to_owned())
}

/// Types without a rule in [`column_type`] that keep each value as it is, up to its spelling; so do
/// all enumerations.
const EXACT_TYPES: [&str; 12] = [
    "bit", "varbit", "inet", "macaddr", "macaddr8", "xml", "_int2", "_int4", "_int8", "_text",
    "_varchar", "_uuid",
];

/// The columns that clients can set. Domains are taken for the types below them; their checks stay
/// the server's.
fn read_columns(
    client: &mut Client,
    oid: &str,
) -> Result<(Vec<ColumnFacts>, Option<String>), DriverError> {
    let rows = catalogue_rows(
        client,
        &format!(
            "WITH RECURSIVE base AS (SELECT attnum, atttypid AS type, atttypmod AS modifier, \
             attnotnull AS strict, false AS has_default FROM pg_attribute WHERE attrelid = {oid} \
             AND attnum > 0 AND NOT attisdropped UNION ALL SELECT attnum, typbasetype, CASE WHEN \
             typtypmod >= 0 THEN typtypmod ELSE modifier END, strict OR typnotnull, has_default OR \
             typdefault IS NOT NULL FROM base JOIN pg_type ON pg_type.oid = type WHERE typtype = \
             'd') SELECT attname, typname, modifier, pg_catalog.format_type(type, -1), strict, \
             base.has_default OR adbin IS NOT NULL, attidentity <> '' OR attgenerated <> '' OR \
             COALESCE(pg_catalog.pg_get_expr(adbin, adrelid), '') LIKE 'nextval(%', typtype = 'e' \
             FROM base JOIN pg_type ON pg_type.oid = type JOIN pg_attribute ON attrelid = {oid} \
             AND pg_attribute.attnum = base.attnum LEFT JOIN pg_attrdef ON adrelid = attrelid AND \
             adnum = pg_attribute.attnum WHERE typtype <> 'd' ORDER BY base.attnum"
        ),
    )?;
    let clocks = columns_that_read_the_clock(client, oid)?;
    let mut loose = Vec::new();
    let columns = rows.iter().filter(|row| row[6] != "t").map(|row| {
        let (mut kind, reads_back) = column_type(&row[1], row[2].parse().unwrap_or(-1));
        if let ColumnType::Other { reads_clock } = &mut kind {
            *reads_clock = clocks.contains(&row[0]);
            if row[7] != "t" && !EXACT_TYPES.contains(&row[1].as_str()) {
                loose.push(format!("`{}` ({})", row[0], row[3]));
            }
        }
        let is_nullable = row[4] != "t";
        let (name, server_type, has_default) =
            (row[0].clone(), row[3].clone(), is_nullable || row[5] == "t");
        ColumnFacts { name, kind, server_type, reads_back, is_nullable, has_default }
    });
    let columns = columns.collect();
    let warning = (!loose.is_empty()).then(|| {
        format!(
            "columns whose types may round what is sent: {}; it is stored, and compared, as the \
             type reads it",
            loose.join(", ")
        )
    });
    Ok((columns, warning))
}

/// Columns whose types are for dates or times, or have such a part: lists, ranges and rows.
fn columns_that_read_the_clock(client: &mut Client, oid: &str) -> Result<Vec<String>, DriverError> {
    let rows = catalogue_rows(
        client,
        &format!(
            "WITH RECURSIVE part AS (SELECT attname, atttypid AS type FROM pg_attribute WHERE \
             attrelid = {oid} AND attnum > 0 AND NOT attisdropped UNION SELECT part.attname, \
             inside.type FROM part CROSS JOIN LATERAL (SELECT typelem AS type FROM pg_type WHERE \
             pg_type.oid = part.type AND typcategory = 'A' UNION ALL SELECT typbasetype FROM \
             pg_type WHERE pg_type.oid = part.type AND typtype = 'd' UNION ALL SELECT \
             field.atttypid FROM pg_type JOIN pg_attribute AS field ON field.attrelid = typrelid \
             WHERE pg_type.oid = part.type AND typtype = 'c' AND field.attnum > 0 AND NOT \
             field.attisdropped) AS inside) SELECT DISTINCT attname FROM part JOIN pg_type ON \
             pg_type.oid = part.type WHERE typcategory IN ('D', 'T', 'R')"
        ),
    )?;
    Ok(rows.into_iter().flatten().collect())
}

/// The type of a column, and whether only reading it again shows what is stored. `modifier`: -1
/// without limits.
fn column_type(name: &str, modifier: i64) -> (ColumnType, bool) {
    // The modifiers of text and NUMERIC begin at 4.
    let length = (modifier >= 4).then(|| (modifier - 4) as u64);
    let fraction_digits = if (0..=6).contains(&modifier) { modifier as u32 } else { 6 };
    let kind = match name {
        "int2" | "int4" | "int8" => ColumnType::Integer,
        "numeric" => {
            // 11 bits with a sign.
            let scale = length.map(|length| ((length & 0x7ff) as i64 ^ 1024) - 1024);
            let is_coarse = scale.is_some_and(|scale| scale < 0);
            return (
                ColumnType::Decimal { scale: scale.map(|scale| scale.max(0) as u32) },
                is_coarse,
            );
        }
        "float4" | "float8" => ColumnType::Float { is_single: name == "float4" },
        "bool" => ColumnType::Boolean,
        "bpchar" => ColumnType::text(length, None, false),
        "varchar" => ColumnType::text(length, None, true),
        "text" | "citext" | "json" => ColumnType::text(None, None, true),
        // Longer names are cut.
        "name" => ColumnType::text(None, Some(63), true),
        "char" => ColumnType::text(None, Some(1), true),
        "bytea" => ColumnType::Binary { fixed: None },
        "uuid" => ColumnType::Uuid { is_binary: false },
        "jsonb" => ColumnType::Json { has_doubles: false },
        "date" => ColumnType::Date,
        "time" => ColumnType::Time { fraction_digits },
        "timestamp" => ColumnType::DateTime { fraction_digits, has_zone: false },
        "timestamptz" => ColumnType::DateTime { fraction_digits, has_zone: true },
        _ => return (ColumnType::Other { reads_clock: false }, modifier >= 0),
    };
    (kind, false)
}

/// Unique indexes over whole columns and all rows, which each statement obeys.
fn read_keys(
    client: &mut Client,
    oid: &str,
    found: &mut CatalogueTable,
) -> Result<(), DriverError> {
    let rows = catalogue_rows(
        client,
        &format!(
            "SELECT indexrelid::regclass, COALESCE(attname, ''), indimmediate, indpred IS NULL AND \
             indexprs IS NULL FROM pg_index CROSS JOIN LATERAL \
             pg_catalog.unnest(indkey[0:indnkeyatts - 1]) WITH ORDINALITY AS part(number, place) \
             LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number AND \
             part.number <> 0 WHERE indrelid = {oid} AND indisunique AND indisvalid ORDER BY \
             indexrelid, place"
        ),
    )?;
    for (name, parts) in keys_of(&rows) {
        let [is_immediate, is_whole] =
            [2, 3].map(|column| rows.iter().any(|row| row[0] == name && row[column] == "t"));
        let can_be_set =
            parts.iter().all(|part| found.columns.iter().any(|column| column.name == *part));
        if !is_immediate {
            found.other_keys.push(format!("{name}: it is deferrable"));
        } else if !is_whole {
            found
                .other_keys
                .push(format!("{name}: it is over expressions, or over some rows only"));
        } else if !can_be_set {
            found.other_keys.push(format!("{name}: the server makes its values"));
        } else {
            found.keys.push((name, parts));
        }
    }
    Ok(())
}

/// Why rows may be stored differently from what was sent, besides their types.
fn read_triggers(client: &mut Client, oid: &str) -> Result<Option<String>, DriverError> {
    // tgtype: 4 is INSERT. A trigger AFTER it may change the row, too.
    let count = client.query_value(&format!(
        "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & \
         4::smallint = 4::smallint AND tgrelid IN ({})",
        partition_tree_sql(oid)
    ))?;
    if count.is_some_and(|count| count != "0") {
        return Ok(Some("it has triggers".to_owned()));
    }
    read_functions(client, oid)
}

/// Functions of users that defaults and checks call: as a trigger does, one may change the session
/// for the rows after it.
fn read_functions(client: &mut Client, oid: &str) -> Result<Option<String>, DriverError> {
    let tree = partition_tree_sql(oid);
    let function = client.query_value(&format!(
        "SELECT proname::text FROM pg_depend JOIN pg_proc ON pg_proc.oid = refobjid JOIN \
         pg_language ON pg_language.oid = prolang WHERE refclassid = 'pg_proc'::regclass::oid AND \
         lanname NOT IN ('internal', 'c') AND (classid = 'pg_attrdef'::regclass::oid AND objid IN \
         (SELECT oid FROM pg_attrdef WHERE adrelid IN ({tree})) OR classid = \
         'pg_constraint'::regclass::oid AND objid IN (SELECT oid FROM pg_constraint WHERE conrelid \
         IN ({tree}))) LIMIT 1"
    ))?;
    Ok(function.map(|name| format!("it calls the function `{name}`")))
}

/// A column that counts by itself needs a right of its own.
fn check_sequences(client: &mut Client, table: &str, oid: &str) -> Result<(), InspectionError> {
    let denied = catalogue_rows(
        client,
        &format!(
            "SELECT pg_class.oid::regclass FROM pg_attrdef JOIN pg_depend ON classid = \
             'pg_attrdef'::regclass::oid AND objid = pg_attrdef.oid JOIN pg_class ON pg_class.oid \
             = refobjid WHERE adrelid = {oid} AND CASE WHEN relkind = 'S' THEN NOT \
             pg_catalog.has_sequence_privilege(pg_class.oid, 'USAGE') ELSE false END"
        ),
    )?;
    match denied.first() {
        None => Ok(()),
        Some(row) => Err(InspectionError::Privilege {
            table: table.to_owned(),
            problem: format!("no right to take numbers of the sequence {}", row[0]),
            grant: format!("GRANT USAGE ON SEQUENCE {} TO the account", row[0]),
        }),
    }
}
