//! The answers of a batch, written as text only while they are sent.

use std::fmt::Write;

use bytes::Bytes;

use super::answers::RowStatus;
use super::room::HeldRoom;

/// Bytes of a piece of an answer.
pub(super) const PIECE_BYTES: usize = 16 << 10;

/// Answers of a batch, as lines that are not written yet.
pub(super) struct BatchLines {
    rows: std::vec::IntoIter<RowStatus>,
    /// Number of the next line, from 1.
    number: usize,
    /// Bytes of all lines that are left.
    left: usize,
    _room: HeldRoom,
}

impl BatchLines {
    pub(super) fn new(rows: Vec<RowStatus>, room: HeldRoom) -> Self {
        let mut head = String::new();
        let left = (1..).zip(&rows).map(|(number, row)| {
            put_head(&mut head, number, row);
            head.len() + row.body.len() - 1
        });
        Self { left: left.sum(), rows: rows.into_iter(), number: 1, _room: room }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn next_piece(&mut self) -> Bytes {
        let (mut piece, mut head) = (Vec::with_capacity(PIECE_BYTES.min(self.left)), String::new());
        while let Some(row) = self.rows.as_slice().first()
            && (piece.is_empty() || piece.len() + row.body.len() < PIECE_BYTES)
            && let Some(row) = self.rows.next()
        {
            put_head(&mut head, self.number, &row);
            self.number += 1;
            piece.extend_from_slice(head.as_bytes());
            piece.extend_from_slice(&row.body[1..]);
        }
        self.left -= piece.len();
        piece.into()
    }
}

/// The begin of a line, instead of the first byte of the row's own answer.
fn put_head(head: &mut String, number: usize, row: &RowStatus) {
    head.clear();
    // Writing to a string does not fail.
    let _ = write!(head, "{{\"row\":{number},\"code\":{},", row.status.as_u16());
}
