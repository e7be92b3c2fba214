//! A row on its way to the table.

use crate::CommitAnswer;

/// A row as SQL, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsertRow {
    /// Equal for equal keys. Batches are sorted by these bytes, so that all connections lock keys
    /// in the same order.
    pub key: Box<[u8]>,
    /// A number for the first column of a key of several: most often, it names the client. 0: the
    /// key has one column.
    pub client: u64,
    /// The literals of all columns, one after the other; nothing for a column that the client left
    /// out.
    pub literals: Box<[u8]>,
    /// Where the literal of each column ends.
    pub ends: Box<[u32]>,
    /// The columns that this row was read for; see `TableColumns::version`.
    pub columns_version: u64,
}

impl InsertRow {
    /// Its share of memory and of a statement.
    pub fn bytes(&self) -> usize {
        self.key.len()
            + self.literals.len()
            + self.ends.len() * (size_of::<u32>() + b"DEFAULT".len())
    }

    /// The literal of each column; empty if the client left it out.
    pub fn column_literals(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let literal = &self.literals[start..*end as usize];
            start = *end as usize;
            literal
        })
    }

    /// Appends `1,'a',DEFAULT`: `missing` stands for the columns that the client left out.
    pub fn put_values(&self, missing: &str, out: &mut Vec<u8>) {
        for (n, literal) in self.column_literals().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            out.extend_from_slice(if literal.is_empty() { missing.as_bytes() } else { literal });
        }
    }
}

/// The way back to the client of a row.
pub trait RowReply {
    /// Whether the client has gone: its row is not sent any more if it has not been sent yet.
    fn is_abandoned(&self) -> bool;

    fn answer(self, answer: CommitAnswer);

    /// Answers many rows at the same time.
    fn answer_all(answers: Vec<(Self, CommitAnswer)>)
    where
        Self: Sized,
    {
        for (reply, answer) in answers {
            reply.answer(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_were_left_out_have_the_given_word() {
        let row = InsertRow {
            key: [].into(),
            client: 0,
            literals: (*b"1'a,b'NULL").into(),
            ends: [1, 1, 6, 10].into(),
            columns_version: 0,
        };
        let mut out = Vec::new();
        row.put_values("DEFAULT", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "1,DEFAULT,'a,b',NULL");
    }
}
