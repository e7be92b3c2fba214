//! The model of the database: one table, statements that are atomic, and faults.

use std::collections::{BTreeMap, BTreeSet};

use truetps_batch::InsertRow;
use truetps_driver::ServerError;
use truetps_random::RandomStream;

/// A row of the model: what a client wants to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelRow {
    pub(crate) key: u64,
    pub(crate) value: u32,
    /// The error with which the server refuses the row; 0: it is good.
    pub(crate) bad: u16,
    /// A value of a second unique key; 0: the row has none.
    pub(crate) unique: u16,
    /// A trigger changes the row on its way.
    pub(crate) is_changed: bool,
}

impl ModelRow {
    pub(crate) fn encode(self, columns_version: u64) -> InsertRow {
        let parts: [&[u8]; 4] = [
            &self.value.to_le_bytes(),
            &self.bad.to_le_bytes(),
            &self.unique.to_le_bytes(),
            &[u8::from(self.is_changed)],
        ];
        let (literals, key) = (parts.concat(), self.key.to_be_bytes());
        let (ends, client) = ([literals.len() as u32].into(), self.key >> 32);
        InsertRow { key: key.into(), client, ends, literals: literals.into(), columns_version }
    }

    pub(crate) fn decode(row: &InsertRow) -> Self {
        let (value, rest) = row.literals.split_first_chunk::<4>().expect("a value");
        let (bad, rest) = rest.split_first_chunk::<2>().expect("a code");
        let (unique, changed) = rest.split_first_chunk::<2>().expect("a unique value");
        Self {
            key: u64::from_be_bytes(row.key[..].try_into().expect("a key")),
            value: u32::from_le_bytes(*value),
            bad: u16::from_le_bytes(*bad),
            unique: u16::from_le_bytes(*unique),
            is_changed: changed == [1],
        }
    }
}

/// What the server is able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerMode {
    Up,
    /// No login succeeds, and all connections are lost.
    Dead,
    ReadOnly,
    DiskFull,
    /// ALTER TABLE has removed a column.
    ColumnRemoved,
    /// ALTER TABLE has added a column without default.
    ColumnAdded,
}

#[derive(Debug)]
pub(crate) struct ModelTable {
    pub(crate) rows: BTreeMap<u64, u32>,
    /// Values of the second unique key.
    unique: BTreeSet<u16>,
    /// Rows are read again before their commit.
    pub(crate) reads_back: bool,
    pub(crate) mode: ServerMode,
    /// Each ALTER TABLE counts.
    pub(crate) version: u64,
}

fn server_error(code: u16, message: &str) -> ServerError {
    ServerError { code, sqlstate: "HY000".to_owned(), message: message.to_owned(), position: 0 }
}

impl ModelTable {
    pub(crate) fn new(reads_back: bool) -> Self {
        Self {
            rows: BTreeMap::new(),
            unique: BTreeSet::new(),
            reads_back,
            mode: ServerMode::Up,
            version: 0,
        }
    }

    pub(crate) fn set_mode(&mut self, mode: ServerMode) {
        let is_altered = |mode| matches!(mode, ServerMode::ColumnAdded | ServerMode::ColumnRemoved);
        if mode != self.mode && (is_altered(mode) || is_altered(self.mode)) {
            self.version += 1;
        }
        self.mode = mode;
    }

    /// `INSERT` of all rows, or of none.
    pub(crate) fn insert(
        &mut self,
        rows: &[ModelRow],
        columns_version: u64,
        random: &mut RandomStream,
    ) -> Result<(), InsertFailure> {
        self.check(rows, columns_version, random)?;
        if self.reads_back {
            let changed: Vec<_> = (0..rows.len()).filter(|at| rows[*at].is_changed).collect();
            if !changed.is_empty() {
                return Err(InsertFailure::Changed(changed));
            }
        }
        for row in rows {
            self.rows.insert(row.key, row.value);
            self.unique.extend(Some(row.unique).filter(|unique| *unique > 0));
        }
        Ok(())
    }

    fn check(
        &self,
        rows: &[ModelRow],
        columns_version: u64,
        random: &mut RandomStream,
    ) -> Result<(), ServerError> {
        let fits = columns_version == self.version;
        match self.mode {
            ServerMode::Up | ServerMode::ColumnRemoved | ServerMode::ColumnAdded if fits => {}
            ServerMode::Up => {}
            ServerMode::Dead => return Err(server_error(1053, "Server shutdown in progress")),
            ServerMode::ReadOnly => {
                return Err(server_error(1290, "running with the --read-only option"));
            }
            ServerMode::DiskFull => return Err(server_error(1114, "The table is full")),
            ServerMode::ColumnRemoved => return Err(server_error(1054, "Unknown column")),
            ServerMode::ColumnAdded => {
                return Err(server_error(1364, "Field 'c' doesn't have a default value"));
            }
        }
        if random.below(25) == 0 {
            let passing = [1213, 1205, 1317, 3024];
            return Err(server_error(passing[random.below(4) as usize], "try again"));
        }
        if let Some((at, row)) = rows.iter().enumerate().find(|(_, row)| row.bad > 0) {
            let message = match random.below(4) {
                0 => "no row is named".to_owned(),
                1 => format!("a wrong row is named at row {}", random.below(rows.len() as u64 + 2)),
                _ => format!("wrong value at row {}", at + 1),
            };
            return Err(server_error(row.bad, &message));
        }
        let (mut keys, mut unique) = (BTreeSet::new(), self.unique.clone());
        let is_repeated = |row: &ModelRow| {
            self.rows.contains_key(&row.key)
                || !keys.insert(row.key)
                || row.unique > 0 && !unique.insert(row.unique)
        };
        if rows.iter().any(is_repeated) {
            return Err(server_error(1062, "Duplicate entry '1' for key 'PRIMARY'"));
        }
        Ok(())
    }

    /// Which of the rows are stored: numbers in `rows`, with whether their values are the sent
    /// ones.
    pub(crate) fn find(&self, rows: &[ModelRow]) -> Vec<(usize, bool)> {
        let found =
            |(at, row): (usize, &ModelRow)| Some((at, *self.rows.get(&row.key)? == row.value));
        rows.iter().enumerate().filter_map(found).collect()
    }
}

/// Why nothing was inserted.
pub(crate) enum InsertFailure {
    Refused(ServerError),
    /// Numbers in the rows.
    Changed(Vec<usize>),
}

impl From<ServerError> for InsertFailure {
    fn from(error: ServerError) -> Self {
        Self::Refused(error)
    }
}
