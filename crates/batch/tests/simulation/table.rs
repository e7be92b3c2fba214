//! The model of the database: one table, statements that are atomic, and faults.

use std::collections::BTreeMap;

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
}

impl ModelRow {
    pub(crate) fn encode(self, columns_version: u64) -> InsertRow {
        let literals: Vec<u8> = [self.value.to_le_bytes().as_slice(), &self.bad.to_le_bytes()].concat();
        let key = self.key.to_be_bytes();
        InsertRow { key: key.into(), ends: [literals.len() as u32].into(), literals: literals.into(), columns_version }
    }

    pub(crate) fn decode(row: &InsertRow) -> Self {
        let (value, bad) = row.literals.split_first_chunk::<4>().expect("a value");
        Self {
            key: u64::from_be_bytes(row.key[..].try_into().expect("a key")),
            value: u32::from_le_bytes(*value),
            bad: u16::from_le_bytes(bad.try_into().expect("a code")),
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
    pub(crate) mode: ServerMode,
    /// Each ALTER TABLE counts.
    pub(crate) version: u64,
}

fn server_error(code: u16, message: &str) -> ServerError {
    ServerError { code, sqlstate: "HY000".to_owned(), message: message.to_owned(), position: 0 }
}

impl ModelTable {
    pub(crate) fn new() -> Self {
        Self { rows: BTreeMap::new(), mode: ServerMode::Up, version: 0 }
    }

    pub(crate) fn set_mode(&mut self, mode: ServerMode) {
        let is_altered = |mode| matches!(mode, ServerMode::ColumnAdded | ServerMode::ColumnRemoved);
        if mode != self.mode && (is_altered(mode) || is_altered(self.mode)) {
            self.version += 1;
        }
        self.mode = mode;
    }

    /// `INSERT ... ON DUPLICATE KEY UPDATE` of all rows, or of none. Returns the number of new rows.
    pub(crate) fn insert(
        &mut self,
        rows: &[ModelRow],
        columns_version: u64,
        random: &mut RandomStream,
    ) -> Result<u64, ServerError> {
        let fits = columns_version == self.version;
        match self.mode {
            ServerMode::Up | ServerMode::ColumnRemoved | ServerMode::ColumnAdded if fits => {}
            ServerMode::Up => {}
            ServerMode::Dead => return Err(server_error(1053, "Server shutdown in progress")),
            ServerMode::ReadOnly => return Err(server_error(1290, "running with the --read-only option")),
            ServerMode::DiskFull => return Err(server_error(1114, "The table is full")),
            ServerMode::ColumnRemoved => return Err(server_error(1054, "Unknown column")),
            ServerMode::ColumnAdded => return Err(server_error(1364, "Field 'c' doesn't have a default value")),
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
        let mut new_rows = 0;
        for row in rows {
            self.rows.entry(row.key).or_insert_with(|| {
                new_rows += 1;
                row.value
            });
        }
        Ok(new_rows)
    }

    /// Which of the rows are stored with another value: numbers in `rows`.
    pub(crate) fn compare(&self, rows: &[ModelRow]) -> Vec<usize> {
        let differs = |row: &ModelRow| self.rows.get(&row.key).is_some_and(|value| *value != row.value);
        rows.iter().enumerate().filter(|(_, row)| differs(row)).map(|(at, _)| at).collect()
    }
}
