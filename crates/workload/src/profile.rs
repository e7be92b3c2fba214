//! What a workload does to keys and pages, measured by drawing some of its transactions.
//! docs/reference/workloads.md has the formulas.

use std::collections::{HashMap, HashSet};

use truetps_driver::{Params, Value};
use truetps_record::WorkloadProfile;

use crate::write::{Write, WriteKind};
use crate::{ClientStream, Table, Workload};

/// Clients that take turns.
const CLIENTS: usize = 4;
/// Transactions of each; values that they draw together, and the bytes of these: with these limits
/// no built-in workload takes longer than about 50 ms.
const TRANSACTIONS_MAX: usize = 5_000;
const VALUES_MAX: usize = 400_000;
const BYTES_MAX: usize = 10_000_000;
/// Number of transactions within which writes to one key, or to one page, are combined.
const WINDOW: usize = 1_000;

/// A row, by its table and its key.
type RowId = (usize, u64);

/// Draws transactions from separate streams of the workload. The same workload with the same seed
/// has the same profile. Nothing is sent; but if clients share a number of statements, the drawn
/// ones are used up.
pub fn profile(workload: &dyn Workload) -> WorkloadProfile {
    let mut sample = Sample::new(workload);
    let mut clients: Vec<_> = (0..CLIENTS as u32).map(|client| workload.client(client)).collect();
    let mut params = Params::default();
    while !sample.is_enough() {
        for (number, client) in clients.iter_mut().enumerate() {
            sample.draw(number, &mut **client, &mut params);
        }
        sample.rounds += 1;
    }
    sample.profile()
}

/// What was drawn.
#[derive(Default)]
struct Sample {
    /// Whether each statement is counted: neither BEGIN nor COMMIT.
    counted: Vec<bool>,
    /// What each statement writes. `None`: unknown.
    writes: Option<Vec<Option<Write>>>,
    tables: Vec<TableKeys>,
    histories: [History; CLIENTS],
    pages: Pages,
    /// Transactions of each client.
    rounds: usize,
    values: usize,
    bytes: usize,
    statements_sent: u64,
    writes_sent: u64,
    inserted: Inserted,
    /// Rows of one statement, reused.
    rows: Vec<RowId>,
}

/// Inserted rows: all, those whose key the client gave, and those whose key it had just deleted.
#[derive(Debug, Default)]
struct Inserted {
    all: u64,
    explicit: u64,
    deleted: u64,
}

impl Sample {
    fn new(workload: &dyn Workload) -> Self {
        Self {
            counted: workload
                .statements()
                .iter()
                .map(|statement| !statement.is_text_only())
                .collect(),
            writes: workload.writes(),
            tables: workload.tables().iter().map(TableKeys::new).collect(),
            ..Self::default()
        }
    }

    fn is_enough(&self) -> bool {
        self.rounds >= TRANSACTIONS_MAX || self.values >= VALUES_MAX || self.bytes >= BYTES_MAX
    }

    /// The next transaction of this client.
    fn draw(&mut self, client: usize, stream: &mut dyn ClientStream, params: &mut Params) {
        stream.next_transaction();
        loop {
            params.clear();
            let step = stream.next_statement(params);
            self.values += params.values().len();
            self.bytes += params.values().iter().map(bytes_of).sum::<usize>();
            self.statements_sent += u64::from(self.counted[step.statement]);
            if let Some(write) = self.writes.as_ref().and_then(|writes| writes[step.statement]) {
                self.write(client, write, params);
            }
            if step.is_last {
                break;
            }
        }
        self.histories[client].end_transaction();
        self.pages.end_transaction();
    }

    fn write(&mut self, client: usize, write: Write, params: &Params) {
        self.writes_sent += 1;
        let table = &mut self.tables[write.table];
        self.rows.clear();
        match write.kind {
            WriteKind::Insert { key } | WriteKind::Update { key } | WriteKind::Delete { key } => {
                self.rows.push((write.table, key_of(&params.values()[key])));
            }
            WriteKind::InsertAuto { rows } => {
                self.rows.extend((0..rows).map(|_| (write.table, table.next_key())));
            }
        }
        for row in &self.rows {
            self.histories[client].write(*row);
            self.pages.write(*row, table);
        }
        let history = &mut self.histories[client];
        match write.kind {
            WriteKind::Delete { .. } => history.deleted.extend(&self.rows),
            WriteKind::Update { .. } => {}
            WriteKind::Insert { .. } => {
                self.inserted.all += 1;
                self.inserted.explicit += 1;
                self.inserted.deleted += u64::from(history.brings_back(self.rows[0]));
            }
            WriteKind::InsertAuto { rows } => self.inserted.all += u64::from(rows),
        }
    }

    fn profile(&self) -> WorkloadProfile {
        let transactions = (self.rounds * CLIENTS) as u64;
        let per_tx = |count: u64| count as f64 / transactions as f64;
        let mut profile = WorkloadProfile {
            transactions,
            statements_per_tx: per_tx(self.statements_sent),
            key_reuse_tx_max: self.reuse_max() as u64,
            ..WorkloadProfile::default()
        };
        if self.writes.is_none() {
            return profile;
        }
        profile.writes_per_tx = Some(per_tx(self.writes_sent));
        profile.inserted_rows_per_tx = Some(per_tx(self.inserted.all));
        profile.explicit_key_share = share(self.inserted.explicit, self.inserted.all);
        profile.deleted_key_share = share(self.inserted.deleted, self.inserted.all);
        profile.key_reuse_tx_p50 = self.reuse_p50().map(|distance| distance as f64);
        profile.recent_key_share = self.recent_share();
        profile.rows_per_page = self.pages.rows_per_page();
        let appended: Option<f64> = self.tables.iter().map(TableKeys::appended_pages).sum();
        profile.new_pages_per_1000_tx = appended.map(|pages| pages * 1_000.0 / transactions as f64);
        profile
    }

    /// Every write in the first half of a client's transactions is followed for the length of the
    /// second half.
    fn reuse_max(&self) -> usize {
        self.rounds / 2
    }

    fn reuse_p50(&self) -> Option<usize> {
        let most = self.reuse_max();
        let followed = self.all_writes().filter(|write| write.at + most < self.rounds);
        let mut distances: Vec<_> =
            followed.map(|write| write.to_next.filter(|distance| *distance <= most)).collect();
        let half = distances.len().checked_sub(1)? / 2;
        // Rows that are not written again sort after all others.
        let (_, median, _) =
            distances.select_nth_unstable_by_key(half, |distance| distance.unwrap_or(usize::MAX));
        *median
    }

    fn recent_share(&self) -> Option<f64> {
        let window = WINDOW.min(self.reuse_max());
        // Earlier writes have a shorter history.
        let (mut all, mut recent) = (0, 0);
        for write in self.all_writes().filter(|write| write.at >= window) {
            all += 1;
            recent += u64::from(write.since_last.is_some_and(|distance| distance <= window));
        }
        share(recent, all)
    }

    fn all_writes(&self) -> impl Iterator<Item = &KeyWrite> {
        self.histories.iter().flat_map(|history| &history.writes)
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn key_of(value: &Value) -> u64 {
    match value {
        Value::Int(key) => *key as u64,
        other => unreachable!("keys of built-in workloads are whole numbers, this is {other:?}"),
    }
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Text { start, end } | Value::Bytes { start, end } => (end - start) as usize,
        Value::Null | Value::Int(_) | Value::Double(_) => 0,
    }
}

/// One write of one row by one client. Distances are transactions of that client.
#[derive(Debug)]
struct KeyWrite {
    at: usize,
    since_last: Option<usize>,
    to_next: Option<usize>,
}

/// What one client has written.
#[derive(Debug, Default)]
struct History {
    transaction: usize,
    writes: Vec<KeyWrite>,
    /// The last write of each row.
    last: HashMap<RowId, usize>,
    /// Rows that this transaction has deleted and not inserted again.
    deleted: Vec<RowId>,
}

impl History {
    fn write(&mut self, row: RowId) {
        let at = self.transaction;
        let last = self.last.insert(row, self.writes.len()).map(|index| &mut self.writes[index]);
        let since_last = last.map(|last| {
            last.to_next = Some(at - last.at);
            at - last.at
        });
        self.writes.push(KeyWrite { at, since_last, to_next: None });
    }

    /// Whether this inserted row is one that the transaction has just deleted.
    fn brings_back(&mut self, row: RowId) -> bool {
        let place = self.deleted.iter().position(|deleted| *deleted == row);
        place.map(|place| self.deleted.swap_remove(place)).is_some()
    }

    fn end_transaction(&mut self) {
        self.transaction += 1;
        self.deleted.clear();
    }
}

/// Where the keys of a table are.
#[derive(Debug)]
struct TableKeys {
    /// Rows that are loaded: the last of them has the key `rows × spacing`.
    rows: u64,
    spacing: u64,
    rows_per_page: Option<u64>,
    /// Keys that the server has made.
    made: u64,
}

impl TableKeys {
    fn new(table: &Table) -> Self {
        let (rows, spacing, rows_per_page) =
            (table.rows, table.key_spacing(), table.rows_per_page());
        Self { rows, spacing, rows_per_page, made: 0 }
    }

    /// The key that the server would make: the largest one and 1.
    fn next_key(&mut self) -> u64 {
        self.made += 1;
        self.rows * self.spacing + self.made
    }

    /// The page that a key belongs on; beyond the table's end, as if the table continued in the
    /// same way.
    fn page_of(&self, key: u64) -> Option<u64> {
        let loaded = self.rows * self.spacing;
        let place = if key <= loaded {
            key.saturating_sub(1) / self.spacing
        } else {
            self.rows + (key - loaded - 1)
        };
        Some(place / self.rows_per_page?)
    }

    fn appended_pages(&self) -> Option<f64> {
        Some(self.made as f64 / self.rows_per_page? as f64)
    }
}

/// Pages written in consecutive windows.
#[derive(Debug, Default)]
struct Pages {
    /// The pages of the current window.
    transactions: usize,
    touched: HashSet<(usize, u64)>,
    rows: u64,
    /// Rows and pages of all complete windows.
    full: (u64, u64),
    /// Whether a table's pages are unknown.
    is_unknown: bool,
}

impl Pages {
    fn write(&mut self, (table, key): RowId, keys: &TableKeys) {
        self.rows += 1;
        match keys.page_of(key) {
            Some(page) => drop(self.touched.insert((table, page))),
            None => self.is_unknown = true,
        }
    }

    fn end_transaction(&mut self) {
        self.transactions += 1;
        if self.transactions == WINDOW {
            let (rows, pages) = self.full;
            self.full = (rows + self.rows, pages + self.touched.len() as u64);
            self.touched.clear();
            (self.transactions, self.rows) = (0, 0);
        }
    }

    /// Rows on a written page, in all full windows; before the first of them has ended, in the
    /// current one.
    fn rows_per_page(&self) -> Option<f64> {
        let (rows, pages) =
            if self.full.1 > 0 { self.full } else { (self.rows, self.touched.len() as u64) };
        (!self.is_unknown && pages > 0).then(|| rows as f64 / pages as f64)
    }
}
