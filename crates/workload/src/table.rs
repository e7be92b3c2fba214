//! Tables that a workload needs, and the SQL that makes and fills them.

use truetps_driver::Dialect;

use crate::Stream;

/// A table and how its rows come about. Rows have the ids 1 to `rows`.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    /// Column and index definitions, between the parentheses of CREATE TABLE.
    pub definition: String,
    pub columns: &'static str,
    pub rows: u64,
    dialect: Dialect,
    seed: u64,
}

/// Rows in one INSERT while loading: about 200 KB of text, well under any `max_allowed_packet`.
const ROWS_PER_INSERT: u64 = 1_000;

impl Table {
    /// The shape that sysbench made common: an auto-increment key, an indexed number, two strings of digits.
    pub(crate) fn sysbench_shaped(dialect: Dialect, number: u32, rows: u64, seed: u64) -> Self {
        Self {
            name: format!("sbtest{number}"),
            definition: format!(
                "id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
                 pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_{number} (k)"
            ),
            columns: "id, k, c, pad",
            rows,
            dialect,
            seed: seed ^ u64::from(number) << 32,
        }
    }

    pub fn create_sql(&self) -> String {
        let engine = match self.dialect {
            Dialect::Mysql => " ENGINE=InnoDB",
            Dialect::Postgres => "",
        };
        format!("CREATE TABLE {} ({}){engine}", self.name, self.definition)
    }

    /// INSERT statements that fill the table, in order. The rows depend on the seed and on nothing else.
    pub fn load_sql(&self) -> impl Iterator<Item = String> + '_ {
        let mut text = Vec::new();
        let starts = (0..self.rows).step_by(ROWS_PER_INSERT as usize);
        starts.map(move |start| {
            text.clear();
            text.extend_from_slice(format!("INSERT INTO {} ({}) VALUES ", self.name, self.columns).as_bytes());
            for row in start..(start + ROWS_PER_INSERT).min(self.rows) {
                if row > start {
                    text.push(b',');
                }
                self.put_row(row, &mut text);
            }
            String::from_utf8_lossy(&text).into_owned()
        })
    }

    fn put_row(&self, row: u64, text: &mut Vec<u8>) {
        let mut stream = Stream::new(self.seed, row);
        let k = stream.below(self.rows) + 1;
        text.extend_from_slice(format!("({},{k},'", row + 1).as_bytes());
        stream.put_digit_groups(C_GROUPS, text);
        text.extend_from_slice(b"','");
        stream.put_digit_groups(PAD_GROUPS, text);
        text.extend_from_slice(b"')");
    }
}

/// Groups of 11 digits in column `c` (119 characters) and in column `pad` (59).
pub(crate) const C_GROUPS: usize = 10;
pub(crate) const PAD_GROUPS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_covers_every_row_once() {
        let table = Table::sysbench_shaped(Dialect::Mysql, 1, 2_500, 42);
        let inserts: Vec<_> = table.load_sql().collect();
        assert_eq!(inserts.len(), 3);
        let rows: usize = inserts.iter().map(|sql| sql.matches("')").count()).sum();
        assert_eq!(rows, 2_500);
        assert!(inserts[2].contains("(2500,") && !inserts[2].contains("(2501,"));
        assert_eq!(inserts, table.load_sql().collect::<Vec<_>>());
    }
}
