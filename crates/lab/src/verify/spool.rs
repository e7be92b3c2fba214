//! Rows on disk, spread over buckets by their keys: each bucket fits into memory, however many rows
//! there are.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::marker::PhantomData;
use std::path::Path;

use truetps_record::{AnsweredRow, RowAnswer};
use truetps_workload::RandomStream;

/// Rows of one bucket, on average.
const BUCKET_ROWS: u64 = 1 << 18;
const BUCKETS_MAX: u64 = 512;
/// Buffer of each bucket, while rows are added.
const BUFFER_BYTES: usize = 16 << 10;

/// A row that a bucket can hold.
pub(crate) trait SpooledRow: Sized {
    const BYTES: usize;

    fn key(&self) -> (u32, u64);
    fn put(&self, out: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

/// A row of the table with the key of a client's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundRow {
    pub(crate) client: u32,
    pub(crate) seq: u64,
    pub(crate) digest: u64,
}

pub(crate) struct RowSpool<R> {
    buckets: Vec<BufWriter<File>>,
    bytes: Vec<u8>,
    rows: PhantomData<R>,
}

/// Number of buckets for so many rows.
pub(crate) fn buckets_for(rows: u64) -> usize {
    rows.div_ceil(BUCKET_ROWS).clamp(1, BUCKETS_MAX) as usize
}

impl<R: SpooledRow> RowSpool<R> {
    /// Files without a name, in this folder: nothing is left of them however the process ends.
    pub(crate) fn create(folder: &Path, buckets: usize) -> io::Result<Self> {
        let buckets = (0..buckets).map(|_| {
            tempfile::tempfile_in(folder).map(|file| BufWriter::with_capacity(BUFFER_BYTES, file))
        });
        let buckets = buckets.collect::<Result<_, _>>()?;
        Ok(Self { buckets, bytes: Vec::new(), rows: PhantomData })
    }

    pub(crate) fn add(&mut self, row: &R) -> io::Result<()> {
        let (client, seq) = row.key();
        let bucket =
            RandomStream::new(seq, client.into()).below(self.buckets.len() as u64) as usize;
        self.bytes.clear();
        row.put(&mut self.bytes);
        self.buckets[bucket].write_all(&self.bytes)
    }

    /// The rows of a bucket, by their keys. `rows` is overwritten.
    pub(crate) fn read_sorted(&mut self, bucket: usize, rows: &mut Vec<R>) -> io::Result<()> {
        let writer = &mut self.buckets[bucket];
        writer.flush()?;
        let mut file = writer.get_ref();
        file.rewind()?;
        let mut reader = BufReader::with_capacity(R::BYTES << 12, file);
        self.bytes.resize(R::BYTES, 0);
        rows.clear();
        loop {
            match reader.read_exact(&mut self.bytes) {
                Ok(()) => rows.push(R::take(&self.bytes)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        rows.sort_unstable_by_key(R::key);
        Ok(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl SpooledRow for FoundRow {
    const BYTES: usize = 20;

    fn key(&self) -> (u32, u64) {
        (self.client, self.seq)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.client.to_le_bytes());
        out.extend_from_slice(&self.seq.to_le_bytes());
        out.extend_from_slice(&self.digest.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self { client: u32_at(bytes, 0), seq: u64_at(bytes, 4), digest: u64_at(bytes, 12) }
    }
}

impl SpooledRow for AnsweredRow {
    const BYTES: usize = 35;

    fn key(&self) -> (u32, u64) {
        (self.client, self.seq)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.client.to_le_bytes());
        out.extend_from_slice(&self.seq.to_le_bytes());
        out.extend_from_slice(&self.digest.to_le_bytes());
        out.extend_from_slice(&self.at_ms.to_le_bytes());
        out.extend_from_slice(&self.attempts.to_le_bytes());
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(match self.answer {
            RowAnswer::Acknowledged => 0,
            RowAnswer::Refused => 1,
            RowAnswer::Unknown => 2,
        });
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            client: u32_at(bytes, 0),
            seq: u64_at(bytes, 4),
            digest: u64_at(bytes, 12),
            at_ms: u64_at(bytes, 20),
            attempts: u32_at(bytes, 28),
            code: u16::from_le_bytes([bytes[32], bytes[33]]),
            answer: match bytes[34] {
                0 => RowAnswer::Acknowledged,
                1 => RowAnswer::Refused,
                _ => RowAnswer::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_buckets_are_those_that_were_added() {
        let dir = tempfile::tempdir().unwrap();
        let row = |client, seq| AnsweredRow {
            client,
            seq,
            digest: seq ^ 0x63,
            answer: [RowAnswer::Acknowledged, RowAnswer::Refused, RowAnswer::Unknown]
                [(seq % 3) as usize],
            code: 503,
            attempts: 3,
            at_ms: u64::from(client) + seq,
        };
        let mut spool = RowSpool::create(dir.path(), 7).unwrap();
        let mut expect: Vec<_> =
            (0..40).flat_map(|client| (0..40).map(move |seq| row(client, seq))).collect();
        for row in expect.iter().rev() {
            spool.add(row).unwrap();
        }
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        for bucket in 0..7 {
            spool.read_sorted(bucket, &mut rows).unwrap();
            assert!(
                rows.len() > 100 && rows.is_sorted_by_key(SpooledRow::key),
                "{bucket}: {}",
                rows.len()
            );
            all.append(&mut rows);
        }
        all.sort_by_key(SpooledRow::key);
        expect.sort_by_key(SpooledRow::key);
        assert_eq!(all, expect);
        let found = FoundRow { client: 1, seq: 1 << 40, digest: u64::MAX };
        let mut bytes = Vec::new();
        found.put(&mut bytes);
        assert_eq!((bytes.len(), FoundRow::take(&bytes)), (FoundRow::BYTES, found));
    }

    #[test]
    fn an_hour_of_a_thousand_rows_a_second_takes_a_few_buckets() {
        assert_eq!((buckets_for(0), buckets_for(3_600_000), buckets_for(u64::MAX)), (1, 14, 512));
    }
}
