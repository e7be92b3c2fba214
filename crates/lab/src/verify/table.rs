//! The table that has the rows: whether it can be verified, and the statements that write and read
//! it.

use truetps_driver::{Client, DriverError, Statement, StatementError};
use truetps_record::{KeyColumn, SqlDialect, VerifiedTable, near_matches};
use truetps_workload::RowField;

use super::error::VerifyError;
use crate::error::LabError;
use crate::trial::sql_names::{identifier, text_literal};

/// Name of the table in a private server.
pub(crate) const OWN_TABLE: &str = "verified_rows";
/// Rows of one page.
pub(crate) const PAGE_ROWS: u32 = 10_000;

/// A column by which pages are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

/// How a value of a column is sent as a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Integer,
    Binary,
    /// Texts, dates and UUIDs, whose text the server takes.
    Text,
}

/// A table as it was found.
#[derive(Debug, Clone)]
pub(crate) struct SurveyedTable {
    dialect: SqlDialect,
    pub(crate) table: VerifiedTable,
    /// The columns of its primary key.
    pub(crate) pages: Vec<PageColumn>,
    /// The payload's column pads its values with spaces.
    pub(crate) is_padded: bool,
    /// Characters that fit into the payload's column; `None`: there is no such limit.
    payload_room: Option<u64>,
}

struct FoundColumn {
    name: String,
    kind: String,
    room: Option<u64>,
}

impl SurveyedTable {
    /// Only queries are sent.
    pub(crate) fn survey(client: &mut Client, mut table: VerifiedTable) -> Result<Self, LabError> {
        let dialect = client.dialect();
        let columns = columns(client, &table)?;
        let payload = find(&columns, &table, &table.payload)?;
        let (is_padded, payload_room) = (payload.kind == "character", payload.room);
        for key in &table.key {
            find(&columns, &table, &key.column)?;
        }
        let unique = unique_keys(client, &table)?;
        let first = unique.first().ok_or_else(|| VerifyError::NoKey { table: table.name() })?;
        let pages = first.iter().map(|name| page_column(find(&columns, &table, name)?, &table));
        let pages = pages.collect::<Result<_, _>>()?;
        let key: Vec<_> = table.key.iter().map(|key| &key.column).collect();
        table.key_is_unique =
            unique.iter().any(|columns| columns.iter().all(|column| key.contains(&column)));
        Ok(Self { dialect, table, pages, is_padded, payload_room })
    }

    /// Whether rows can be sent to it: it is empty, has room for payloads, and may be read, and
    /// written if `is_written`.
    pub(crate) fn check(
        &self,
        client: &mut Client,
        payload_bytes: u32,
        is_written: bool,
    ) -> Result<(), LabError> {
        if let Some(room) = self.payload_room.filter(|room| *room < payload_bytes.into()) {
            return Err(VerifyError::NoRoom {
                column: self.table.payload.clone(),
                room,
                payload_bytes,
            }
            .into());
        }
        let first = client.query_value(&format!("SELECT 1 FROM {} LIMIT 1", self.quoted()));
        if first.map_err(|source| self.denied("read", source))?.is_some() {
            return Err(VerifyError::NotEmpty { table: self.table.name() }.into());
        }
        if is_written {
            // No row is written: the condition is never true.
            let nothing = format!(
                "INSERT INTO {0} ({1}) SELECT {1} FROM {0} WHERE 1 = 0",
                self.quoted(),
                self.row_columns()
            );
            client.execute(&nothing).map_err(|source| self.denied("write to", source))?;
        }
        Ok(())
    }

    fn denied(&self, action: &'static str, source: DriverError) -> VerifyError {
        VerifyError::Denied { action, table: self.table.name(), source }
    }

    fn quoted(&self) -> String {
        let name = identifier(self.dialect, &self.table.table);
        match &self.table.schema {
            Some(schema) => format!("{}.{name}", identifier(self.dialect, schema)),
            None => name,
        }
    }

    fn row_columns(&self) -> String {
        let key = self.table.key.iter().map(|key| &key.column);
        let names: Vec<_> =
            key.chain([&self.table.payload]).map(|name| identifier(self.dialect, name)).collect();
        names.join(", ")
    }

    /// The fields of its rows, in the order of the statement's parameters.
    pub(crate) fn fields(&self) -> Vec<RowField> {
        let key = self.table.key.iter().filter_map(|key| RowField::of_name(&key.field));
        key.chain([RowField::Payload]).collect()
    }

    /// Saves a row. `is_repeated`: the same row may be sent again, and is left as it is then.
    pub(crate) fn insert(&self, is_repeated: bool) -> Result<Statement, StatementError> {
        let values = vec!["?"; self.table.key.len() + 1].join(", ");
        let first = identifier(self.dialect, &self.table.key[0].column);
        let again = match (is_repeated, self.dialect) {
            (false, _) => String::new(),
            (true, SqlDialect::Mysql) => format!(" ON DUPLICATE KEY UPDATE {first} = {first}"),
            (true, SqlDialect::Postgres) => " ON CONFLICT DO NOTHING".to_owned(),
        };
        Statement::new(format!(
            "INSERT INTO {} ({}) VALUES ({values}){again}",
            self.quoted(),
            self.row_columns()
        ))
    }

    /// Reads a page: the columns of the order, of the key, and the payload. The first page has no
    /// parameters; each other one has values of the row before it ([`SurveyedTable::page_params`]).
    pub(crate) fn page(&self, is_first: bool) -> String {
        let names: Vec<_> =
            self.pages.iter().map(|column| identifier(self.dialect, &column.name)).collect();
        let order = names.join(", ");
        let behind = match self.dialect {
            _ if is_first => String::new(),
            // MySQL reads a range of the key for this form only, and PostgreSQL only for the other.
            SqlDialect::Mysql => format!(" WHERE {}", behind(&names)),
            SqlDialect::Postgres => {
                format!(" WHERE ({order}) > ({})", vec!["?"; names.len()].join(", "))
            }
        };
        let columns = self.row_columns();
        format!(
            "SELECT {order}, {columns} FROM {}{behind} ORDER BY {order} LIMIT {PAGE_ROWS}",
            self.quoted()
        )
    }

    /// The columns of a page's parameters, in their order.
    pub(crate) fn page_params(&self) -> Vec<usize> {
        match self.dialect {
            SqlDialect::Postgres => (0..self.pages.len()).collect(),
            SqlDialect::Mysql => (0..self.pages.len()).flat_map(|last| 0..=last).collect(),
        }
    }
}

/// `a > ? OR (a = ? AND b > ?)`.
fn behind(names: &[String]) -> String {
    let terms = names.iter().enumerate().map(|(n, last)| {
        let equal = names[..n].iter().map(|name| format!("{name} = ?"));
        let terms: Vec<_> = equal.chain([format!("{last} > ?")]).collect();
        format!("({})", terms.join(" AND "))
    });
    terms.collect::<Vec<_>>().join(" OR ")
}

fn page_column(found: &FoundColumn, table: &VerifiedTable) -> Result<PageColumn, VerifyError> {
    let FoundColumn { name, kind, .. } = found;
    let refused =
        VerifyError::KeyType { table: table.name(), column: name.clone(), kind: kind.clone() };
    Ok(PageColumn { name: name.clone(), kind: column_kind(kind).ok_or(refused)? })
}

fn find<'a>(
    columns: &'a [FoundColumn],
    table: &VerifiedTable,
    name: &str,
) -> Result<&'a FoundColumn, VerifyError> {
    columns.iter().find(|column| column.name == name).ok_or_else(|| VerifyError::NoColumn {
        table: table.name(),
        column: name.to_owned(),
        near: near_matches(name, columns.iter().map(|column| column.name.as_str())),
    })
}

fn columns(client: &mut Client, table: &VerifiedTable) -> Result<Vec<FoundColumn>, LabError> {
    let sql = format!(
        "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns \
         WHERE table_schema = {} AND table_name = {} ORDER BY ordinal_position",
        schema_value(client.dialect(), table),
        text_literal(client.dialect(), &table.table)
    );
    let rows = client.query(&sql)?.rows.into_iter();
    let columns: Vec<_> = rows
        .filter_map(|row| {
            let mut values = row.into_iter();
            let (name, kind) = (values.next()??, values.next()??);
            let room = values.next().flatten().and_then(|text| text.parse().ok());
            Some(FoundColumn { name, kind: kind.to_ascii_lowercase(), room })
        })
        .collect();
    if columns.is_empty() {
        return Err(VerifyError::NoTable { table: table.name() }.into());
    }
    Ok(columns)
}

/// As a value: the table's schema, or the session's.
fn schema_value(dialect: SqlDialect, table: &VerifiedTable) -> String {
    match (&table.schema, dialect) {
        (Some(schema), _) => text_literal(dialect, schema),
        (None, SqlDialect::Mysql) => "DATABASE()".to_owned(),
        (None, SqlDialect::Postgres) => "current_schema()".to_owned(),
    }
}

/// The columns of each key that is unique and has no NULL, the primary key first.
fn unique_keys(client: &mut Client, table: &VerifiedTable) -> Result<Vec<Vec<String>>, LabError> {
    let dialect = client.dialect();
    let (schema, name) = (schema_value(dialect, table), text_literal(dialect, &table.table));
    let sql = match dialect {
        SqlDialect::Mysql => format!(
            "SELECT index_name, column_name, nullable = 'YES' OR sub_part IS NOT NULL OR \
             column_name IS NULL FROM information_schema.statistics WHERE table_schema = {schema} \
             AND table_name = {name} AND non_unique = 0 ORDER BY index_name <> 'PRIMARY', \
             index_name, seq_in_index"
        ),
        SqlDialect::Postgres => format!(
            "SELECT i.indexrelid::regclass::text, a.attname, NOT coalesce(a.attnotnull, false) \
             FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = \
             c.relnamespace CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY \
             AS k(number, place) LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = \
             k.number WHERE n.nspname = {schema} AND c.relname = {name} AND i.indisunique AND \
             i.indpred IS NULL AND i.indisvalid AND k.place <= i.indnkeyatts ORDER BY NOT \
             i.indisprimary, 1, k.place"
        ),
    };
    let mut keys: Vec<(String, Vec<String>, bool)> = Vec::new();
    for row in client.query(&sql)?.rows {
        let [Some(index), column, is_nullable] =
            <[Option<String>; 3]>::try_from(row).unwrap_or_default()
        else {
            continue;
        };
        let is_usable = column.is_some() && !matches!(is_nullable.as_deref(), Some("1" | "t"));
        if keys.last().is_none_or(|(last, ..)| *last != index) {
            keys.push((index, Vec::new(), true));
        }
        if let Some((_, columns, all_usable)) = keys.last_mut() {
            columns.extend(column);
            *all_usable &= is_usable;
        }
    }
    Ok(keys
        .into_iter()
        .filter(|(_, _, is_usable)| *is_usable)
        .map(|(_, columns, _)| columns)
        .collect())
}

fn column_kind(kind: &str) -> Option<ColumnKind> {
    Some(match kind {
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" => ColumnKind::Integer,
        "binary" | "varbinary" => ColumnKind::Binary,
        "char"
        | "varchar"
        | "character"
        | "character varying"
        | "text"
        | "uuid"
        | "date"
        | "datetime"
        | "timestamp"
        | "timestamp without time zone"
        | "timestamp with time zone" => ColumnKind::Text,
        _ => return None,
    })
}

/// The table of a private server.
pub(crate) fn own_table(server: String, schema: Option<String>) -> VerifiedTable {
    let key = [RowField::Client, RowField::Seq]
        .map(|field| KeyColumn { column: field.name().to_owned(), field: field.name().to_owned() });
    VerifiedTable {
        server,
        schema,
        table: OWN_TABLE.to_owned(),
        key: key.into(),
        payload: RowField::Payload.name().to_owned(),
        key_is_unique: true,
    }
}

pub(crate) fn create_own_table(
    client: &mut Client,
    schema: &str,
    payload_bytes: u32,
) -> Result<(), DriverError> {
    let payload = format!("payload VARCHAR({payload_bytes})");
    let columns = "client INT NOT NULL, seq BIGINT NOT NULL";
    match client.dialect() {
        SqlDialect::Mysql => {
            client.execute(&format!("CREATE DATABASE IF NOT EXISTS {schema}"))?;
            client.execute(&format!(
                "CREATE TABLE {schema}.{OWN_TABLE} ({columns}, {payload} CHARACTER SET ascii NOT \
                 NULL, PRIMARY KEY (client, seq)) ENGINE=InnoDB"
            ))?;
        }
        SqlDialect::Postgres => {
            client.execute(&format!(
                "CREATE TABLE {OWN_TABLE} ({columns}, {payload} NOT NULL, PRIMARY KEY (client, seq))"
            ))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surveyed(dialect: SqlDialect, pages: &[&str]) -> SurveyedTable {
        let column =
            |name: &&str| PageColumn { name: (*name).to_owned(), kind: ColumnKind::Integer };
        SurveyedTable {
            dialect,
            table: own_table(String::new(), Some("s`s".to_owned())),
            pages: pages.iter().map(column).collect(),
            is_padded: false,
            payload_room: None,
        }
    }

    #[test]
    fn pages_follow_the_key_in_each_dialect() {
        let mysql = surveyed(SqlDialect::Mysql, &["a", "b"]);
        assert_eq!(
            mysql.page(false),
            "SELECT `a`, `b`, `client`, `seq`, `payload` FROM `s``s`.`verified_rows` WHERE (`a` > \
             ?) OR (`a` = ? AND `b` > ?) ORDER BY `a`, `b` LIMIT 10000"
        );
        assert_eq!(mysql.page_params(), [0, 0, 1]);
        let postgres = surveyed(SqlDialect::Postgres, &["a", "b"]);
        assert!(postgres.page(false).contains(r#" WHERE ("a", "b") > (?, ?) ORDER BY "#));
        assert_eq!(postgres.page_params(), [0, 1]);
        assert!(!postgres.page(true).contains("WHERE"));
    }

    #[test]
    fn a_row_that_may_come_again_is_left_as_it_is() {
        let insert = |dialect, is_repeated| {
            surveyed(dialect, &["a"]).insert(is_repeated).unwrap().sql().to_owned()
        };
        assert!(
            insert(SqlDialect::Mysql, false)
                .ends_with("(`client`, `seq`, `payload`) VALUES (?, ?, ?)")
        );
        assert!(
            insert(SqlDialect::Mysql, true)
                .ends_with("ON DUPLICATE KEY UPDATE `client` = `client`")
        );
        assert!(insert(SqlDialect::Postgres, true).ends_with("ON CONFLICT DO NOTHING"));
    }
}
