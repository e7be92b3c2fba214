//! The results of one statement, as text in one reusable buffer.
//!
//! For callers that need rows at full speed: a caller hands a [`ResultSets`] to
//! [`Session::collect`](crate::Session::collect), and receives it back, filled, with the reply.
//! Idle sessions hold no buffer; once a buffer has its size, neither a statement nor a row costs an
//! allocation.

/// Size limit of the results that are kept of one statement: values, their lengths, and a head for
/// each result. A server must not be able to exhaust the memory of truetps.
pub const COLLECTED_BYTES_MAX: usize = 256 << 20;

/// Stored instead of a value's length: it is NULL.
const NULL: u32 = u32::MAX;
const LENGTH_BYTES: usize = 4;

/// All results of one statement, in order, including those without rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSets {
    heads: Vec<Head>,
    /// The length of each value, then its bytes: row after row, result after result.
    data: Vec<u8>,
    /// How the columns of the current result are encoded, if the server sends binary rows.
    pub(crate) columns: Vec<BinaryColumn>,
    /// The last result has not ended.
    is_open: bool,
    /// More than [`COLLECTED_BYTES_MAX`] has arrived: nothing is kept.
    pub(crate) has_overflown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    affected_rows: u64,
    rows: u64,
    columns: u32,
    /// Where its values begin.
    start: usize,
}

/// Properties of a MySQL column that affect the text of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BinaryColumn {
    pub(crate) kind: u8,
    pub(crate) decimals: u8,
    pub(crate) is_unsigned: bool,
    /// Width to which a number is padded with zeros; 0 if it is not.
    pub(crate) zerofill: u8,
}

/// One result of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultSet<'a> {
    /// Rows that were changed; 0 for a result with rows, except PostgreSQL's `RETURNING`.
    pub affected_rows: u64,
    /// 0: no result set, as of INSERT or SET.
    pub columns: u32,
    pub rows: u64,
    data: &'a [u8],
}

impl ResultSets {
    /// Number of results.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Result number `n` from 0.
    pub fn get(&self, n: usize) -> Option<ResultSet<'_>> {
        let Head { affected_rows, rows, columns, start } = *self.heads.get(n)?;
        let end = self.heads.get(n + 1).map_or(self.data.len(), |next| next.start);
        Some(ResultSet { affected_rows, columns, rows, data: &self.data[start..end] })
    }

    pub fn iter(&self) -> impl Iterator<Item = ResultSet<'_>> {
        (0..self.len()).filter_map(|n| self.get(n))
    }

    /// Drops the results and keeps the memory.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.data.clear();
        self.columns.clear();
        (self.is_open, self.has_overflown) = (false, false);
    }

    /// Its allocated memory, in bytes: a pool drops buffers that have grown too large.
    pub fn capacity(&self) -> usize {
        self.data.capacity()
            + self.heads.capacity() * size_of::<Head>()
            + self.columns.capacity() * size_of::<BinaryColumn>()
    }

    /// A result with rows begins.
    pub(crate) fn open(&mut self, columns: u32) {
        self.push(Head { affected_rows: 0, rows: 0, columns, start: self.data.len() });
        self.is_open = true;
    }

    /// The columns of the current result; `None` if there is none.
    pub(crate) fn open_columns(&self) -> Option<u32> {
        self.heads.last().filter(|_| self.is_open).map(|head| head.columns)
    }

    /// The current result has ended successfully.
    pub(crate) fn close(&mut self, affected_rows: u64) {
        if let Some(head) = self.heads.last_mut().filter(|_| self.is_open) {
            head.affected_rows = affected_rows;
        }
        self.is_open = false;
        self.columns.clear();
    }

    /// A statement without rows has ended successfully. `columns`: of a result set that could have
    /// had some.
    pub(crate) fn push_empty(&mut self, columns: u32, affected_rows: u64) {
        self.push(Head { affected_rows, rows: 0, columns, start: self.data.len() });
    }

    /// The statement of the current result has failed: the result is dropped.
    pub(crate) fn abandon_open(&mut self) {
        if std::mem::take(&mut self.is_open)
            && let Some(head) = self.heads.pop()
        {
            self.data.truncate(head.start);
        }
        self.columns.clear();
    }

    /// A row of at most so many bytes begins.
    pub(crate) fn row(&mut self, bytes: usize) {
        if self.has_overflown {
            return;
        }
        self.check(bytes);
        if let Some(head) = self.heads.last_mut() {
            head.rows += 1;
        }
    }

    /// The next value of the row.
    #[inline]
    pub(crate) fn value(&mut self, value: Option<&[u8]>) {
        match value {
            None => self.data.extend_from_slice(&NULL.to_le_bytes()),
            Some(bytes) => {
                self.data.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                self.data.extend_from_slice(bytes);
            }
        }
    }

    /// The next value of the row, which `fill` appends.
    pub(crate) fn value_with(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.data.len();
        self.data.extend_from_slice(&[0; LENGTH_BYTES]);
        fill(&mut self.data);
        let length = (self.data.len() - start - LENGTH_BYTES) as u32;
        self.data[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    }

    fn push(&mut self, head: Head) {
        self.check(0);
        if !self.has_overflown {
            self.heads.push(head);
        }
    }

    /// Drops everything if `more` bytes would exceed the limit.
    fn check(&mut self, more: usize) {
        let kept = self.data.len() + self.heads.len() * size_of::<Head>();
        if kept.saturating_add(more) > COLLECTED_BYTES_MAX {
            *self = Self { has_overflown: true, ..Self::default() };
        }
    }
}

impl<'a> ResultSet<'a> {
    /// All values, row after row: `columns` times `rows`. `None` is NULL.
    pub fn values(&self) -> RowValues<'a> {
        RowValues { rest: self.data }
    }

    /// The values as they lie in memory: the length of each (4 bytes, little-endian; 0xffffffff is
    /// NULL), then its bytes.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// Values of a result, as text.
#[derive(Debug, Clone)]
pub struct RowValues<'a> {
    rest: &'a [u8],
}

impl<'a> RowValues<'a> {
    /// Continues with a part of [`ResultSet::data`] that begins with a value: for a caller that
    /// returns for each row.
    pub fn of(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// The values that have not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for RowValues<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.rest.split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_le_bytes(*length);
        if length == NULL {
            self.rest = rest;
            return Some(None);
        }
        let (value, rest) = rest.split_at_checked(length as usize)?;
        self.rest = rest;
        Some(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_follow_each_other_in_one_buffer() {
        let mut sets = ResultSets::default();
        sets.push_empty(0, 3);
        sets.open(2);
        for (a, b) in [(Some(&b"a"[..]), None), (Some(b""), Some(&b"bc"[..]))] {
            sets.row(20);
            sets.value(a);
            sets.value(b);
        }
        sets.close(0);
        sets.open(1);
        sets.row(9);
        sets.value_with(|out| out.extend_from_slice(b"12"));
        sets.close(1);
        let seen: Vec<_> =
            sets.iter().map(|set| (set.affected_rows, set.columns, set.rows)).collect();
        assert_eq!(seen, [(3, 0, 0), (0, 2, 2), (1, 1, 1)]);
        let values: Vec<_> = sets.get(1).unwrap().values().collect();
        assert_eq!(values, [Some(&b"a"[..]), None, Some(b""), Some(b"bc")]);
        let last = sets.get(2).unwrap();
        assert_eq!(last.data(), b"\x02\0\0\x0012");
        let mut values = RowValues::of(last.data());
        assert_eq!(
            (values.next(), values.rest(), values.next()),
            (Some(Some(&b"12"[..])), &b""[..], None)
        );
        assert_eq!((sets.get(3), sets.get(0).unwrap().values().count()), (None, 0));
        assert_eq!(RowValues::of(b"\x05\0\0\0abc").next(), None, "one that is cut");
        let capacity = sets.capacity();
        sets.clear();
        assert_eq!((sets.len(), sets.capacity()), (0, capacity));
    }

    #[test]
    fn a_result_that_failed_leaves_nothing() {
        let mut sets = ResultSets::default();
        sets.push_empty(0, 1);
        sets.open(1);
        sets.row(8);
        sets.value(Some(b"gone"));
        sets.abandon_open();
        sets.abandon_open();
        assert_eq!((sets.len(), sets.data.len(), sets.open_columns()), (1, 0, None));
    }

    #[test]
    fn more_than_may_be_kept_is_given_up() {
        let mut sets = ResultSets::default();
        sets.open(1);
        sets.row(COLLECTED_BYTES_MAX - 100);
        assert!(!sets.has_overflown);
        sets.row(COLLECTED_BYTES_MAX);
        assert!(sets.has_overflown && sets.capacity() == 0);
        sets.push_empty(0, 1);
        sets.open(3);
        sets.row(1);
        assert!(sets.is_empty() && sets.open_columns().is_none());
        sets.clear();
        assert!(!sets.has_overflown);
    }
}
