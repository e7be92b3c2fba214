//! The engine's log of answers, in the run folder.

use std::io;

use truetps_engine::{AnswerLog, AnswerWriter};
use truetps_folder::{AnswerLogFolder, AnswerLogWriter};
use truetps_record::AnsweredRow;

#[derive(Debug)]
pub(crate) struct FolderLog(pub(crate) AnswerLogFolder);

impl AnswerLog for FolderLog {
    fn writer(&self, worker: usize) -> io::Result<Box<dyn AnswerWriter>> {
        Ok(Box::new(FolderLogWriter(self.0.writer(worker).map_err(io::Error::other)?)))
    }
}

struct FolderLogWriter(AnswerLogWriter);

impl AnswerWriter for FolderLogWriter {
    fn add(&mut self, row: &AnsweredRow) {
        self.0.add(row);
    }

    fn write(&mut self) -> io::Result<()> {
        self.0.write()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
