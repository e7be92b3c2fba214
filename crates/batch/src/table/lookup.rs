//! Sent rows, found again in the table by their keys, and compared with what is stored.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};
use truetps_driver::ResultSets;
use truetps_record::SqlDialect;

use super::json_row::put_key_value;
use super::literal::{hex_bytes, literal_text};
use super::{ColumnType, TableColumns};
use crate::InsertRow;

/// A stored row that has the key of a sent row, byte by byte in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRow {
    /// Its number in the batch.
    pub(crate) row: usize,
    /// The first column that was sent and has another value.
    pub(crate) differs: Option<usize>,
    /// The columns that were sent, as they are stored, as a JSON object; only of a row that
    /// differs.
    pub(crate) shown: String,
}

/// Finds rows of one table.
pub(crate) struct RowLookup<'a>(pub(crate) &'a TableColumns);

impl RowLookup<'_> {
    /// Appends the statement that selects what is stored under the keys of these rows.
    pub(crate) fn put_sql<'r>(
        &self,
        rows: impl Iterator<Item = (usize, &'r InsertRow)>,
        out: &mut Vec<u8>,
    ) {
        match self.0.dialect {
            SqlDialect::Mysql => self.put_mysql(rows, out),
            SqlDialect::Postgres => self.put_postgres(rows, out),
        }
    }

    /// `SELECT a,b FROM t WHERE (a=1 AND b=2) OR (…)`: each key is one look into the index, in the
    /// column's own collation.
    fn put_mysql<'r>(&self, rows: impl Iterator<Item = (usize, &'r InsertRow)>, out: &mut Vec<u8>) {
        let columns = 0..self.0.columns().len();
        let list: Vec<_> =
            columns.map(|n| stored_text(&self.0.columns()[n].kind, self.0.quoted(n))).collect();
        out.extend_from_slice(
            format!("SELECT {} FROM {} WHERE ", list.join(","), self.0.table).as_bytes(),
        );
        let names: Vec<_> = self.0.key().iter().map(|n| self.0.quoted(*n)).collect();
        for (at, (_, row)) in rows.enumerate() {
            out.extend_from_slice(if at > 0 { b" OR (" } else { b"(" });
            let literals: Vec<_> = row.column_literals().collect();
            for (part, (name, column)) in names.iter().zip(self.0.key()).enumerate() {
                out.extend_from_slice(if part > 0 { b" AND " } else { b"" });
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                out.extend_from_slice(literals[*column]);
            }
            out.push(b')');
        }
    }

    /// Joins the keys, as values of the columns' types, with the table.
    fn put_postgres<'r>(
        &self,
        rows: impl Iterator<Item = (usize, &'r InsertRow)>,
        out: &mut Vec<u8>,
    ) {
        let columns = self.0.columns();
        let stored = (0..columns.len()).map(|n| format!("t.{}::text", self.0.quoted(n)));
        let of_server = self.compared_by_server();
        let sent = (0..of_server.len()).map(|n| format!("v.s{n}"));
        let list: Vec<_> =
            std::iter::once("v.n::text".to_owned()).chain(stored).chain(sent).collect();
        out.extend_from_slice(format!("SELECT {} FROM (VALUES ", list.join(",")).as_bytes());
        for (at, (number, row)) in rows.enumerate() {
            let literals: Vec<_> = row.column_literals().collect();
            out.extend_from_slice(if at > 0 { b",(" } else { b"(" });
            out.extend_from_slice(number.to_string().as_bytes());
            for column in self.0.key() {
                out.push(b',');
                put_cast(literals[*column], &columns[*column].server_type, out);
            }
            for column in &of_server {
                out.push(b',');
                let literal =
                    if literals[*column].is_empty() { b"NULL" } else { literals[*column] };
                put_cast(literal, &columns[*column].server_type, out);
                out.extend_from_slice(b"::text");
            }
            out.push(b')');
        }
        let keys = (0..self.0.key().len()).map(|n| format!(",k{n}"));
        let names: String = keys.chain((0..of_server.len()).map(|n| format!(",s{n}"))).collect();
        let on = self
            .0
            .key()
            .iter()
            .enumerate()
            .map(|(n, column)| format!("t.{}=v.k{n}", self.0.quoted(*column)));
        let on = on.collect::<Vec<_>>().join(" AND ");
        let only = if self.0.is_partitioned { "" } else { "ONLY " };
        out.extend_from_slice(
            format!(") AS v(n{names}) JOIN {only}{} AS t ON {on}", self.0.table).as_bytes(),
        );
    }

    /// Columns whose sent values the server brings into its own form.
    fn compared_by_server(&self) -> Vec<usize> {
        let columns = self.0.columns().iter().enumerate();
        let of_server = columns.filter(|(_, column)| column.kind.compares_by_server());
        if self.0.dialect == SqlDialect::Postgres {
            of_server.map(|(n, _)| n).collect()
        } else {
            Vec::new()
        }
    }

    /// The sent rows that were found, from the result of the statement.
    pub(crate) fn found<'r>(
        &self,
        rows: impl Iterator<Item = (usize, &'r InsertRow)>,
        results: &ResultSets,
    ) -> Vec<StoredRow> {
        let Some(result) = results.get(0).filter(|result| result.columns > 0) else {
            return Vec::new();
        };
        let values: Vec<Option<&[u8]>> = result.values().collect();
        let mut by_mark = HashMap::<Cow<'_, [u8]>, Vec<(usize, &InsertRow)>>::new();
        for (number, row) in rows {
            let mark = match self.0.dialect {
                SqlDialect::Mysql => Cow::Borrowed(&row.key[..]),
                SqlDialect::Postgres => Cow::Owned(number.to_string().into_bytes()),
            };
            by_mark.entry(mark).or_default().push((number, row));
        }
        let mut found = Vec::new();
        for cells in values.chunks_exact(result.columns as usize) {
            let (mark, cells) = match self.0.dialect {
                SqlDialect::Mysql => (self.key_of(cells), cells),
                SqlDialect::Postgres => (cells[0].unwrap_or_default().to_vec(), &cells[1..]),
            };
            for (number, row) in by_mark.get(&mark[..]).into_iter().flatten() {
                found.extend(self.compare(*number, row, cells));
            }
        }
        found
    }

    /// The key of a stored row, in the bytes of [`InsertRow::key`].
    fn key_of(&self, cells: &[Option<&[u8]>]) -> Vec<u8> {
        let mut key = Vec::new();
        for column in self.0.key() {
            put_key_value(
                &self.0.columns()[*column].kind,
                cells[*column].unwrap_or_default(),
                &mut key,
            );
        }
        key
    }

    /// `None`: the stored row has another key, which the server's collation takes for the same one.
    fn compare(
        &self,
        number: usize,
        row: &InsertRow,
        cells: &[Option<&[u8]>],
    ) -> Option<StoredRow> {
        let (stored, sent_forms) = cells.split_at(self.0.columns().len());
        let of_server = self.compared_by_server();
        let mut differs = None;
        for (n, literal) in
            row.column_literals().enumerate().filter(|(_, literal)| !literal.is_empty())
        {
            let kind = &self.0.columns()[n].kind;
            let sent = match of_server.iter().position(|column| *column == n) {
                Some(at) => sent_forms[at].map(Cow::Borrowed),
                None => literal_text(kind, literal),
            };
            let stored = stored[n].map(|text| stored_value(self.0.dialect, kind, text));
            let sent = sent.as_deref().map(|text| kind.normal_form(text));
            let stored = stored.as_deref().map(|text| kind.normal_form(text));
            if sent != stored {
                if self.0.key().contains(&n) {
                    return None;
                }
                differs = differs.or(Some(n));
            }
        }
        let shown = differs.map_or_else(String::new, |_| self.show(row, stored));
        Some(StoredRow { row: number, differs, shown })
    }

    fn show(&self, row: &InsertRow, stored: &[Option<&[u8]>]) -> String {
        let mut object = Map::new();
        for (n, _) in row.column_literals().enumerate().filter(|(_, literal)| !literal.is_empty()) {
            let text = stored[n].map(|text| String::from_utf8_lossy(text).into_owned());
            object
                .insert(self.0.columns()[n].name.clone(), text.map_or(Value::Null, Value::String));
        }
        Value::Object(object).to_string()
    }
}

/// The expression whose text is what MySQL's column has, with all digits.
fn stored_text(kind: &ColumnType, name: String) -> String {
    match kind {
        // The text of a FLOAT has six digits only.
        ColumnType::Float { is_single: true } => format!("{name}*1e0"),
        ColumnType::Bits => format!("{name}+0"),
        _ => name,
    }
}

/// PostgreSQL writes bytes as digits.
fn stored_value<'a>(dialect: SqlDialect, kind: &ColumnType, text: &'a [u8]) -> Cow<'a, [u8]> {
    match (dialect, kind, text) {
        (SqlDialect::Postgres, ColumnType::Binary { .. }, [b'\\', b'x', digits @ ..]) => {
            Cow::Owned(hex_bytes(digits))
        }
        _ => Cow::Borrowed(text),
    }
}

fn put_cast(literal: &[u8], server_type: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"CAST(");
    out.extend_from_slice(literal);
    out.extend_from_slice(b" AS ");
    out.extend_from_slice(server_type.as_bytes());
    out.push(b')');
}

#[cfg(test)]
mod tests {
    use super::super::ColumnFacts;
    use super::*;

    const TEXT: ColumnType =
        ColumnType::Text { chars_max: None, bytes_max: None, keeps_blanks: true };

    fn table(dialect: SqlDialect) -> TableColumns {
        let column = |name: &str, kind: ColumnType, server_type: &str| ColumnFacts {
            name: name.to_owned(),
            kind,
            server_type: server_type.to_owned(),
            reads_back: false,
            is_nullable: true,
            has_default: true,
        };
        let zoned = ColumnType::DateTime { fraction_digits: 6, has_zone: true };
        let columns = vec![
            column("id", TEXT, "text"),
            column("n", ColumnType::Decimal { scale: Some(2) }, "numeric"),
            column("at", zoned, "timestamp with time zone"),
        ];
        TableColumns::new(dialect, "t".to_owned(), 1, columns, &["id".to_owned()]).unwrap()
    }

    fn sql(dialect: SqlDialect, json: &[&str]) -> String {
        let table = table(dialect);
        let rows: Vec<_> =
            json.iter().map(|json| table.read_row(json.as_bytes(), None).unwrap()).collect();
        let mut out = Vec::new();
        RowLookup(&table).put_sql(rows.iter().enumerate().map(|(n, row)| (n + 4, row)), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_key_is_looked_up_in_the_columns_own_type() {
        let rows = [r#"{"id":"a"}"#, r#"{"id":"b","at":"2026-11-28T10:00:00Z"}"#];
        assert_eq!(
            sql(SqlDialect::Mysql, &rows[..1]),
            "SELECT `id`,`n`,`at` FROM t WHERE (`id`='a')"
        );
        assert_eq!(
            sql(SqlDialect::Postgres, &rows),
            "SELECT v.n::text,t.\"id\"::text,t.\"n\"::text,t.\"at\"::text,v.s0 FROM (VALUES \
             (4,CAST('a' AS text),CAST(NULL AS timestamp with time zone)::text),\
             (5,CAST('b' AS text),CAST('2026-11-28T10:00:00Z' AS timestamp with time zone)::text)) \
             AS v(n,k0,s0) JOIN ONLY t AS t ON t.\"id\"=v.k0"
        );
    }

    #[test]
    fn only_a_row_that_was_seen_is_found() {
        let table = table(SqlDialect::Mysql);
        let lookup = RowLookup(&table);
        let row = |json: &str| table.read_row(json.as_bytes(), None).unwrap();
        let cells = |n: &'static str| [Some(&b"jose"[..]), Some(n.as_bytes()), None];
        let sent = row(r#"{"id":"jose","n":1.5}"#);
        assert_eq!(lookup.key_of(&cells("1.50")), &sent.key[..]);
        let differs =
            |sent: &InsertRow, n| lookup.compare(0, sent, &cells(n)).map(|found| found.differs);
        assert_eq!(differs(&sent, "1.50"), Some(None));
        assert_eq!(differs(&sent, "1.51"), Some(Some(1)));
        // A column that was left out may have any value, and another spelling of the key is another
        // key.
        assert_eq!(differs(&row(r#"{"id":"jose"}"#), "7"), Some(None));
        assert_eq!(differs(&row(r#"{"id":"JOS\u00c9","n":1.5}"#), "1.50"), None);
        assert_eq!(differs(&row(r#"{"id":"jose ","n":1.5}"#), "1.50"), None);
    }
}
