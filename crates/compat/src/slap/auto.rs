//! `--auto-generate-sql`: a table, its rows and queries on it.

use truetps_workload::RandomStream;

/// Length of each text: with its quotes it is as long as the column.
const TEXT_LENGTH: usize = 126;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Maximum number of columns of a table.
const COLUMNS_MAX: u64 = 1_000;
/// All different statements are kept in memory.
const UNIQUE_MAX: u64 = 100_000;
const UNIQUE_BYTES_MAX: u64 = 256 << 20;
/// Maximum bytes of a column in a statement: its name, a text in quotes, a comma.
const COLUMN_BYTES: u64 = 160;
const ROWS_MAX: u64 = 1_000_000_000;
/// Maximum bytes of a result that the driver keeps, and the bytes of a key in it besides its own.
const KEYS_BYTES_MAX: u64 = 1 << 30;
const KEY_PLACE_BYTES: u64 = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadType {
    /// Inserts and selects alternately.
    Mixed,
    Update,
    Write,
    /// Selects of one row by its key.
    Key,
    /// Selects of all rows.
    Read,
}

impl LoadType {
    const ALL: [Self; 5] = [Self::Mixed, Self::Update, Self::Write, Self::Key, Self::Read];
    /// In the same order.
    const NAMES: [&'static str; 5] = ["mixed", "update", "write", "key", "read"];

    /// Chosen by the first letter, as in the original.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| text.starts_with(&one.name()[..1]));
        found.ok_or_else(|| {
            format!("--auto-generate-sql-load-type={text} is none of {}", Self::NAMES.join(", "))
        })
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoKey {
    None,
    Counted,
    Guid,
}

impl AutoKey {
    /// Its column, its value in an INSERT, and the bytes of a key in a result.
    fn parts(self) -> Option<(&'static str, &'static str, u64)> {
        match self {
            Self::None => None,
            Self::Counted => Some(("id serial", "NULL", 10)),
            Self::Guid => Some(("id varchar(36) primary key", "uuid()", 36)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeneratedColumns {
    pub(super) count: u64,
    pub(super) indexed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct AutoSql {
    pub(super) load_type: LoadType,
    pub(super) key: AutoKey,
    pub(super) secondary_indexes: u64,
    pub(super) ints: GeneratedColumns,
    pub(super) chars: GeneratedColumns,
    /// The original counts CREATE TABLE among them: the table gets one row less.
    pub(super) rows: u64,
    pub(super) unique_rows: u64,
    pub(super) unique_queries: u64,
}

/// A query, and whether a key is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) takes_key: bool,
}

impl AutoSql {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.load_type == LoadType::Key && self.key == AutoKey::None {
            return Err("Can't perform key test without a primary key!".to_owned());
        }
        let columns =
            self.ints.count.saturating_add(self.chars.count).saturating_add(self.secondary_indexes);
        if self.ints.count.saturating_add(self.chars.count) == 0 || columns > COLUMNS_MAX {
            return Err(format!(
                "a table of {columns} columns: there are 1 to {COLUMNS_MAX}, beside a key"
            ));
        }
        if self.unique_rows > UNIQUE_MAX || self.unique_queries > UNIQUE_MAX || self.rows > ROWS_MAX
        {
            return Err(format!(
                "at most {UNIQUE_MAX} different statements are made, and {ROWS_MAX} rows"
            ));
        }
        let unique = self.unique_rows.saturating_add(self.unique_queries).saturating_add(1);
        if unique.saturating_mul(columns * COLUMN_BYTES) > UNIQUE_BYTES_MAX {
            let megabytes = UNIQUE_BYTES_MAX >> 20;
            return Err(format!(
                "{unique} different statements on {columns} columns are more than {megabytes} MiB"
            ));
        }
        self.check_keys()
    }

    /// Keys are read once the table is full: too many of them are refused before.
    fn check_keys(&self) -> Result<(), String> {
        let Some((.., bytes)) = self.key.parts() else { return Ok(()) };
        let takes_keys =
            matches!(self.load_type, LoadType::Key | LoadType::Update | LoadType::Mixed);
        let keys_max = KEYS_BYTES_MAX / (KEY_PLACE_BYTES + bytes);
        if takes_keys && self.rows > keys_max {
            let rows = self.rows;
            return Err(format!(
                "--auto-generate-sql-write-number={rows}: at most {keys_max} such keys are kept in \
                 memory"
            ));
        }
        Ok(())
    }

    pub(super) fn create(&self) -> String {
        let mut columns = Vec::from_iter(self.key.parts().map(|(column, ..)| column.to_owned()));
        columns
            .extend((0..self.secondary_indexes).map(|n| format!("id{n} varchar(36) unique key")));
        // The blanks are the original's: they are printed in its messages.
        for n in 1..=self.ints.count {
            let index =
                if self.ints.indexed { format!(", INDEX(intcol{n})") } else { " ".to_owned() };
            columns.push(format!("intcol{n} INT(32){index}"));
        }
        for n in 1..=self.chars.count {
            let index =
                if self.chars.indexed { format!(", INDEX(charcol{n}) ") } else { String::new() };
            columns.push(format!("charcol{n} VARCHAR(128){index}"));
        }
        format!("CREATE TABLE `t1` ({})", columns.join(","))
    }

    /// Statements that fill the table: the different ones, repeatedly.
    pub(super) fn fill(&self, seed: u64) -> impl Iterator<Item = String> {
        let mut random = RandomStream::new(seed, 0);
        let unique: Vec<String> =
            (0..self.unique_rows.max(1)).map(|_| self.insert(&mut random)).collect();
        (0..self.rows.saturating_sub(1)).map(move |row| unique[row as usize % unique.len()].clone())
    }

    /// The queries, which each client sends in this order, repeatedly.
    pub(super) fn queries(&self, seed: u64) -> Vec<Query> {
        let mut random = RandomStream::new(seed, 1);
        let has_key = self.key != AutoKey::None;
        (0..=self.unique_queries)
            .map(|n| match self.load_type {
                LoadType::Read => Query { sql: self.select(), takes_key: false },
                LoadType::Key => Query { sql: self.select(), takes_key: true },
                LoadType::Write => Query { sql: self.insert(&mut random), takes_key: false },
                LoadType::Update => Query { sql: self.update(&mut random), takes_key: has_key },
                LoadType::Mixed if n % 2 == 0 => {
                    Query { sql: self.insert(&mut random), takes_key: false }
                }
                LoadType::Mixed => Query { sql: self.select(), takes_key: has_key },
            })
            .collect()
    }

    fn insert(&self, random: &mut RandomStream) -> String {
        let mut values = Vec::from_iter(self.key.parts().map(|(_, value, _)| value.to_owned()));
        values.extend((0..self.secondary_indexes).map(|_| "uuid()".to_owned()));
        values.extend((0..self.ints.count).map(|_| number(random)));
        values.extend((0..self.chars.count).map(|_| text(random)));
        format!("INSERT INTO t1 VALUES ({})", values.join(","))
    }

    fn select(&self) -> String {
        format!("SELECT {} FROM t1", self.names().collect::<Vec<_>>().join(","))
    }

    fn update(&self, random: &mut RandomStream) -> String {
        let ints = self.ints.count;
        let sets = self.names().zip(1..).map(|(name, n)| {
            let value = if n <= ints { number(random) } else { text(random) };
            format!("{name} = {value}")
        });
        format!("UPDATE t1 SET {}", sets.collect::<Vec<_>>().join(","))
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let ints = (1..=self.ints.count).map(|n| format!("intcol{n}"));
        ints.chain((1..=self.chars.count).map(|n| format!("charcol{n}")))
    }
}

fn number(random: &mut RandomStream) -> String {
    random.below(1 << 31).to_string()
}

fn text(random: &mut RandomStream) -> String {
    let letters =
        (0..TEXT_LENGTH).map(|_| char::from(LETTERS[random.below(LETTERS.len() as u64) as usize]));
    format!("'{}'", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(load_type: LoadType, key: AutoKey) -> AutoSql {
        let columns = GeneratedColumns { count: 1, indexed: false };
        AutoSql {
            load_type,
            key,
            secondary_indexes: 0,
            ints: columns,
            chars: columns,
            rows: 100,
            unique_rows: 10,
            unique_queries: 10,
        }
    }

    /// As in the original, but for what it takes for `mixed` in silence.
    #[test]
    fn load_types_by_their_first_letter() {
        let of = |text: &str| LoadType::of(text).map(LoadType::name);
        assert_eq!(
            ["reads", "keys", "w", "mix"].map(of),
            [Ok("read"), Ok("key"), Ok("write"), Ok("mixed")]
        );
        for other in ["insert", "delete", "READ", ""] {
            assert!(
                of(other).unwrap_err().contains("is none of mixed, update, write, key, read"),
                "{other}"
            );
        }
    }

    #[test]
    fn tables() {
        let plain = auto(LoadType::Mixed, AutoKey::None);
        assert_eq!(plain.create(), "CREATE TABLE `t1` (intcol1 INT(32) ,charcol1 VARCHAR(128))");
        let rich = AutoSql {
            secondary_indexes: 2,
            ints: GeneratedColumns { count: 2, indexed: true },
            ..auto(LoadType::Mixed, AutoKey::Guid)
        };
        assert_eq!(
            rich.create(),
            "CREATE TABLE `t1` (id varchar(36) primary key,id0 varchar(36) unique key,id1 \
             varchar(36) unique key,intcol1 INT(32), INDEX(intcol1),intcol2 INT(32), \
             INDEX(intcol2),charcol1 VARCHAR(128))"
        );
    }

    #[test]
    fn the_table_gets_one_row_less_and_few_different_ones() {
        let rows: Vec<_> = auto(LoadType::Write, AutoKey::Counted).fill(7).collect();
        let different: std::collections::BTreeSet<_> = rows.iter().collect();
        assert_eq!((rows.len(), different.len()), (99, 10));
        assert!(rows[0].starts_with("INSERT INTO t1 VALUES (NULL,"));
        assert_eq!(rows[0].split('\'').nth(1).unwrap().len(), 126, "{}", rows[0]);
        assert_eq!(
            auto(LoadType::Write, AutoKey::None).fill(7).next(),
            auto(LoadType::Write, AutoKey::None).fill(7).next()
        );
        assert_eq!(AutoSql { rows: 0, ..auto(LoadType::Write, AutoKey::None) }.fill(7).count(), 0);
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused_beforehand() {
        let many = AutoSql { unique_rows: 100_000, ..auto(LoadType::Write, AutoKey::None) };
        assert_eq!(many.check(), Ok(()));
        let wide = GeneratedColumns { count: 500, indexed: false };
        let error = AutoSql { chars: wide, ..many }.check().unwrap_err();
        assert!(error.contains("100011 different statements on 501 columns"), "{error}");
        let long = |load_type, key| AutoSql { rows: 20_000_000, ..auto(load_type, key) }.check();
        assert_eq!(
            (long(LoadType::Key, AutoKey::Counted), long(LoadType::Write, AutoKey::Guid)),
            (Ok(()), Ok(()))
        );
        assert!(
            long(LoadType::Update, AutoKey::Guid)
                .unwrap_err()
                .contains("at most 17602324 such keys")
        );
    }

    #[test]
    fn queries_of_each_kind() {
        let all = |kind, key| auto(kind, key).queries(1);
        let mixed = all(LoadType::Mixed, AutoKey::Counted);
        assert_eq!(mixed.len(), 11);
        assert!(mixed[0].sql.starts_with("INSERT") && !mixed[0].takes_key);
        assert_eq!(
            mixed[1],
            Query { sql: "SELECT intcol1,charcol1 FROM t1".to_owned(), takes_key: true }
        );
        assert!(
            !all(LoadType::Mixed, AutoKey::None)[1].takes_key
                && !all(LoadType::Read, AutoKey::Guid)[0].takes_key
        );
        assert!(all(LoadType::Update, AutoKey::Guid)[3].takes_key);
        assert!(
            all(LoadType::Update, AutoKey::None)[3].sql.starts_with("UPDATE t1 SET intcol1 = ")
        );
        assert!(auto(LoadType::Key, AutoKey::None).check().is_err());
    }
}
