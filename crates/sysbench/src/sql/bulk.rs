//! Rows that are gathered into one INSERT.

/// Longest statement, in bytes, as in sysbench.
const BYTES_MAX: usize = 512 << 10;

/// A growing INSERT: its head, and rows after it, separated by commas.
pub(crate) struct Bulk {
    pub(crate) text: Vec<u8>,
    head_bytes: usize,
}

impl Bulk {
    pub(crate) fn new(head: &[u8]) -> Self {
        Self { head_bytes: head.len(), text: head.to_vec() }
    }

    /// `false`: there is no room, and the statement must be sent first; `None`: the row does not
    /// fit even alone.
    pub(crate) fn add(&mut self, row: &[u8]) -> Option<bool> {
        if self.head_bytes + row.len() > BYTES_MAX {
            return None;
        }
        let comma_bytes = usize::from(!self.is_empty());
        if self.text.len() + comma_bytes + row.len() > BYTES_MAX {
            return Some(false);
        }
        if !self.is_empty() {
            self.text.push(b',');
        }
        self.text.extend_from_slice(row);
        Some(true)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.len() == self.head_bytes
    }

    /// The rows have been sent.
    pub(crate) fn clear(&mut self) {
        self.text.truncate(self.head_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_commas_between_them_until_there_is_no_room() {
        let mut bulk = Bulk::new(b"INSERT INTO t VALUES");
        assert!(bulk.is_empty());
        assert_eq!(bulk.add(b"(1)"), Some(true));
        assert_eq!(bulk.add(b"(2)"), Some(true));
        assert_eq!(bulk.text, b"INSERT INTO t VALUES(1),(2)");
        let long = vec![b'x'; BYTES_MAX - bulk.text.len()];
        assert_eq!(bulk.add(&long), Some(false));
        bulk.clear();
        assert_eq!(bulk.add(&long), Some(true));
        assert_eq!(bulk.add(&vec![b'x'; BYTES_MAX]), None);
    }
}
