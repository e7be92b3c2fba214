//! The comparison of a run: the log of answers and the table, each read once and spread over
//! buckets.

use std::path::Path;
use std::time::Instant;

use truetps_driver::Target;
use truetps_folder::AnswerLogFolder;
use truetps_probe::clock;
use truetps_record::{RowComparison, ServerKill};
use truetps_workload::RowIdentity;

use super::comparison::RowComparer;
use super::error::VerifyError;
use super::spool::{FoundRow, RowSpool, buckets_for};
use super::table::SurveyedTable;
use super::table_reader::{TableReader, TableRow};
use crate::error::LabError;

/// Bytes of a row in the log.
const LOGGED_BYTES: u64 = 32;
/// Rows between two reports of progress.
const PROGRESS_ROWS: u64 = 100_000;

/// What is compared.
pub(crate) struct ComparedRows<'a> {
    pub(crate) identity: RowIdentity,
    pub(crate) clients: u32,
    pub(crate) target: &'a Target,
    pub(crate) table: &'a SurveyedTable,
    pub(crate) log: &'a AnswerLogFolder,
    pub(crate) kills: &'a [ServerKill],
    /// For temporary files.
    pub(crate) folder: &'a Path,
}

impl ComparedRows<'_> {
    /// `on_progress` gets the number of rows that were read from the table.
    pub(crate) fn compare(
        &self,
        on_progress: &mut dyn FnMut(u64),
    ) -> Result<RowComparison, LabError> {
        let began = Instant::now();
        let buckets = buckets_for(self.log.bytes()? / LOGGED_BYTES);
        let mut answered = RowSpool::create(self.folder, buckets).map_err(VerifyError::Spool)?;
        let log = self.log.read(&mut |row| answered.add(&row))?;
        let is_complete = log.is_complete && log.damaged == 0;
        let mut comparer = RowComparer::new(self.identity, is_complete, self.kills.to_vec());
        let mut found =
            RowSpool::<FoundRow>::create(self.folder, buckets).map_err(VerifyError::Spool)?;
        let mut rows = 0;
        let mut reader = TableReader::open(self.target, self.table, self.identity, self.clients)?;
        reader.read(&mut |row| {
            rows += 1;
            if rows % PROGRESS_ROWS == 0 {
                on_progress(rows);
            }
            match row {
                TableRow::Of(row) => found.add(&row).map_err(VerifyError::Spool)?,
                TableRow::Foreign(key) => comparer.foreign(key),
            }
            Ok(())
        })?;
        let (mut some_answered, mut some_found) = (Vec::new(), Vec::new());
        for bucket in 0..buckets {
            answered.read_sorted(bucket, &mut some_answered).map_err(VerifyError::Spool)?;
            found.read_sorted(bucket, &mut some_found).map_err(VerifyError::Spool)?;
            comparer.bucket(&some_answered, &some_found);
        }
        Ok(RowComparison {
            compared_at: clock::now_rfc3339(),
            took_s: began.elapsed().as_secs_f64(),
            rows: comparer.counts,
            lost_ms: comparer.lost_ms,
            loss_window_ms: comparer.loss_window_ms,
            examples: comparer.take_examples(),
            log,
        })
    }
}
