//! The log of answers: what each row of a load was answered, in a file for each worker.
//!
//! ```text
//! runs/<experiment>/<trial>/answers/worker-0000.log   a head of 16 bytes, then records of 32 bytes
//! ```
//!
//! A record has a checksum, so that the end of a file that was cut off is recognised. The last
//! record of a complete log says so; a log without it is of a run that ended before its load did.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use truetps_record::{AnswerLogState, AnsweredRow, RowAnswer, fnv1a};

use crate::error::FolderError;
use crate::run_file::open_below;

const ANSWERS: &str = "answers";
const HEAD: [u8; 16] = *b"truetps answers1";
const RECORD_BYTES: usize = 32;
const CHECKED_BYTES: usize = 28;
/// Instead of a client's number: no record follows.
const END: u32 = u32::MAX;
/// Workers of a run.
const FILES_MAX: usize = 4096;

/// The logs of one trial.
#[derive(Debug, Clone)]
pub struct AnswerLogFolder {
    path: PathBuf,
}

impl AnswerLogFolder {
    /// In the folder of a trial; it need not exist yet.
    pub fn of_trial(trial: &Path) -> Self {
        Self { path: trial.join(ANSWERS) }
    }

    pub fn writer(&self, worker: usize) -> Result<AnswerLogWriter, FolderError> {
        fs::create_dir_all(&self.path).map_err(FolderError::io(&self.path))?;
        let path = self.path.join(format!("worker-{worker:04}.log"));
        let file = create_log(&path).map_err(FolderError::io(&path))?;
        Ok(AnswerLogWriter { file, buffer: Vec::new(), records: 0 })
    }

    /// Bytes of all logs.
    pub fn bytes(&self) -> Result<u64, FolderError> {
        let mut sum = 0;
        for path in self.files()? {
            sum += open_below(self.run(), &path)?.metadata().map_err(FolderError::io(&path))?.len();
        }
        Ok(sum)
    }

    /// Passes each row to `on_row`; returns the state of the logs. Rows of one client are in their
    /// order.
    pub fn read(
        &self,
        on_row: &mut dyn FnMut(AnsweredRow) -> io::Result<()>,
    ) -> Result<AnswerLogState, FolderError> {
        let files = self.files()?;
        let mut all =
            AnswerLogState { is_complete: !files.is_empty(), ..AnswerLogState::default() };
        for path in &files {
            let state = read_file(path, open_below(self.run(), path)?, on_row)?;
            all.bytes += state.bytes;
            all.is_complete &= state.is_complete;
            all.torn_bytes += state.torn_bytes;
            all.damaged += state.damaged;
        }
        Ok(all)
    }

    /// The folder above the trial's.
    fn run(&self) -> &Path {
        self.path.ancestors().nth(2).expect("a trial has a folder above it")
    }

    fn files(&self) -> Result<Vec<PathBuf>, FolderError> {
        let names: Vec<_> = (0..FILES_MAX)
            .map(|worker| self.path.join(format!("worker-{worker:04}.log")))
            .collect();
        let files: Vec<_> = names.into_iter().take_while(|path| path.is_file()).collect();
        if files.is_empty() {
            return Err(FolderError::content(&self.path, "has no log of answers"));
        }
        Ok(files)
    }
}

/// Appends to the log of one worker.
#[derive(Debug)]
pub struct AnswerLogWriter {
    file: File,
    buffer: Vec<u8>,
    records: u64,
}

impl AnswerLogWriter {
    pub fn add(&mut self, row: &AnsweredRow) {
        self.records += 1;
        self.put(
            row.client,
            row.seq,
            row.digest,
            row.at_ms,
            row.code,
            row.attempts,
            code_of(row.answer),
        );
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a record, in their order")]
    fn put(
        &mut self,
        client: u32,
        seq: u64,
        digest: u64,
        at_ms: u64,
        code: u16,
        attempts: u32,
        answer: u8,
    ) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&client.to_le_bytes());
        self.buffer.extend_from_slice(&seq.to_le_bytes());
        self.buffer.extend_from_slice(&digest.to_le_bytes());
        self.buffer.extend_from_slice(&u32::try_from(at_ms).unwrap_or(u32::MAX).to_le_bytes());
        self.buffer.extend_from_slice(&code.to_le_bytes());
        self.buffer.push(u8::try_from(attempts).unwrap_or(u8::MAX));
        self.buffer.push(answer);
        let check = checksum(&self.buffer[start..]);
        self.buffer.extend_from_slice(&check.to_le_bytes());
    }

    /// Writes what was added, in one call of the system.
    pub fn write(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written
    }

    /// Writes the rest, and that it is the last.
    pub fn finish(&mut self) -> io::Result<()> {
        self.put(END, self.records, 0, 0, 0, 0, u8::MAX);
        self.write()?;
        self.file.sync_data()
    }
}

fn checksum(record: &[u8]) -> u32 {
    let hash = fnv1a(record);
    (hash ^ (hash >> 32)) as u32
}

fn code_of(answer: RowAnswer) -> u8 {
    match answer {
        RowAnswer::Acknowledged => 0,
        RowAnswer::Refused => 1,
        RowAnswer::Unknown => 2,
    }
}

fn create_log(path: &Path) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    file.write_all(&HEAD)?;
    Ok(file)
}

fn answer_of(code: u8) -> Option<RowAnswer> {
    [RowAnswer::Acknowledged, RowAnswer::Refused, RowAnswer::Unknown]
        .get(usize::from(code))
        .copied()
}

enum Record {
    Row(AnsweredRow),
    /// The last one, and the number of those before it.
    End(u64),
}

fn parse(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
    if u32_at(bytes, CHECKED_BYTES) != checksum(&bytes[..CHECKED_BYTES]) {
        return None;
    }
    if u32_at(bytes, 0) == END {
        return Some(Record::End(u64_at(bytes, 4)));
    }
    Some(Record::Row(AnsweredRow {
        client: u32_at(bytes, 0),
        seq: u64_at(bytes, 4),
        digest: u64_at(bytes, 12),
        at_ms: u32_at(bytes, 20).into(),
        code: u16::from_le_bytes([bytes[24], bytes[25]]),
        attempts: bytes[26].into(),
        answer: answer_of(bytes[27])?,
    }))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn read_file(
    path: &Path,
    file: File,
    on_row: &mut dyn FnMut(AnsweredRow) -> io::Result<()>,
) -> Result<AnswerLogState, FolderError> {
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut head = Vec::new();
    (&mut file).take(HEAD.len() as u64).read_to_end(&mut head).map_err(FolderError::io(path))?;
    if !HEAD.starts_with(&head) {
        let problem = "is not a log of answers, or one of another version";
        return Err(FolderError::content(path, problem));
    }
    let mut state = AnswerLogState { bytes: head.len() as u64, ..AnswerLogState::default() };
    let (mut rows, mut bad) = (0, 0);
    let mut record = [0; RECORD_BYTES];
    loop {
        let length = read_full(&mut file, &mut record).map_err(FolderError::io(path))?;
        state.bytes += length as u64;
        if length < RECORD_BYTES {
            // Records that cannot be read, and nothing good behind them: the end was cut off.
            state.torn_bytes = (bad * RECORD_BYTES + length) as u64;
            return Ok(state);
        }
        match parse(&record) {
            None => bad += 1,
            Some(found) => {
                state.damaged += std::mem::take(&mut bad) as u64;
                match found {
                    Record::Row(row) => {
                        rows += 1;
                        on_row(row).map_err(FolderError::io(path))?;
                    }
                    Record::End(of) => state.is_complete = of == rows,
                }
            }
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn read_full(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: u32, seq: u64) -> AnsweredRow {
        let answer =
            [RowAnswer::Acknowledged, RowAnswer::Refused, RowAnswer::Unknown][seq as usize % 3];
        AnsweredRow {
            client,
            seq,
            digest: seq * 7,
            answer,
            code: 503,
            attempts: 2,
            at_ms: 90_000 + seq,
        }
    }

    fn read(log: &AnswerLogFolder) -> (Vec<AnsweredRow>, AnswerLogState) {
        let mut rows = Vec::new();
        let state = log.read(&mut |row| {
            rows.push(row);
            Ok(())
        });
        (rows, state.unwrap())
    }

    #[test]
    fn rows_are_read_back_and_a_complete_log_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let log = AnswerLogFolder::of_trial(dir.path());
        assert!(log.bytes().unwrap_err().to_string().ends_with("has no log of answers"));
        let mut writers: Vec<_> = (0..2).map(|worker| log.writer(worker).unwrap()).collect();
        let expect: Vec<_> =
            (0..2).flat_map(|client| (0..5).map(move |seq| row(client, seq))).collect();
        for row in &expect {
            writers[row.client as usize].add(row);
        }
        writers[0].finish().unwrap();
        writers[1].write().unwrap();
        let (rows, state) = read(&log);
        assert_eq!((rows, state.is_complete, state.torn_bytes), (expect, false, 0));
        writers[1].finish().unwrap();
        let (_, state) = read(&log);
        assert_eq!((state.is_complete, state.bytes), (true, log.bytes().unwrap()));
    }

    #[test]
    fn a_log_that_was_cut_off_anywhere_keeps_its_whole_records() {
        let dir = tempfile::tempdir().unwrap();
        let log = AnswerLogFolder::of_trial(dir.path());
        let mut writer = log.writer(0).unwrap();
        (0..4).for_each(|seq| writer.add(&row(1, seq)));
        writer.finish().unwrap();
        let path = dir.path().join("answers/worker-0000.log");
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let (rows, state) = read(&log);
            let records = length.saturating_sub(HEAD.len()) / RECORD_BYTES;
            assert_eq!(rows.len(), records, "{length}");
            assert_eq!((state.is_complete, state.damaged), (false, 0), "{length}");
            assert_eq!(
                state.torn_bytes as usize,
                length.saturating_sub(HEAD.len()) % RECORD_BYTES,
                "{length}"
            );
        }
        // Bytes that were never written are zeros after a power cut.
        let mut zeros = whole.clone();
        zeros[HEAD.len() + 3 * RECORD_BYTES..].fill(0);
        fs::write(&path, &zeros).unwrap();
        let (rows, state) = read(&log);
        assert_eq!((rows.len(), state.torn_bytes, state.damaged), (3, 64, 0));
    }

    #[test]
    fn a_changed_bit_is_a_damaged_record() {
        let dir = tempfile::tempdir().unwrap();
        let log = AnswerLogFolder::of_trial(dir.path());
        let mut writer = log.writer(0).unwrap();
        (0..4).for_each(|seq| writer.add(&row(1, seq)));
        writer.finish().unwrap();
        let path = dir.path().join("answers/worker-0000.log");
        let whole = fs::read(&path).unwrap();
        for byte in 0..RECORD_BYTES {
            let mut changed = whole.clone();
            changed[HEAD.len() + RECORD_BYTES + byte] ^= 1;
            fs::write(&path, &changed).unwrap();
            let (rows, state) = read(&log);
            assert_eq!((rows.len(), state.damaged, state.is_complete), (3, 1, false), "{byte}");
        }
        fs::write(&path, b"something else").unwrap();
        let error = log.read(&mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("is not a log of answers"), "{error}");
    }
}
