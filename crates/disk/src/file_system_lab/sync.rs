//! A sync of a file, from its writes to its answer. After a crash none is answered with success.

use std::sync::{Arc, MutexGuard};

use super::journal::{CommitBatch, SyncAnswer, SyncedFile};
use super::placement::NodeId;
use super::state::{FileSystemState, SharedState, locked};
use crate::answers::AnswerQueue;
use crate::model::DiskRequest;
use crate::undo::FlushNumber;

/// Writes and flushes a file, and answers when that is done.
pub(super) fn sync_file(
    state: &SharedState,
    queue: &AnswerQueue,
    id: NodeId,
    is_data_only: bool,
    answer: impl FnOnce(bool) + Send + 'static,
) {
    let mut held = locked(state);
    if held.device.is_cut() {
        drop(held);
        return answer(false);
    }
    match held.begin_sync(id, is_data_only) {
        Err(_) => {
            drop(held);
            answer(false);
        }
        Ok(file) if file.needs_commit => {
            if held.journal.wait(file, Box::new(answer)) {
                write_record(state, queue, held);
            }
        }
        Ok(file) => flush(state, queue, held, file, Box::new(answer)),
    }
}

fn flush(
    state: &SharedState,
    queue: &AnswerQueue,
    mut held: MutexGuard<'_, FileSystemState>,
    file: SyncedFile,
    answer: SyncAnswer,
) {
    let (flush, at) = held.device.flush();
    drop(held);
    let state = Arc::clone(state);
    queue.give(at, move || {
        let mut held = locked(&state);
        let is_done = flush_is_done(&mut held, flush);
        if is_done {
            held.end_sync(&[file]);
        }
        drop(held);
        answer(is_done);
    });
}

fn flush_is_done(held: &mut FileSystemState, flush: Option<FlushNumber>) -> bool {
    if held.device.is_cut() {
        return false;
    }
    if let Some(flush) = flush {
        held.device.flush_done(flush);
    }
    true
}

/// A commit begins: the data and the record of what has changed must be durable before its commit
/// block is.
fn write_record(
    state: &SharedState,
    queue: &AnswerQueue,
    mut held: MutexGuard<'_, FileSystemState>,
) {
    let (batch, commit, range) = held.journal.begin();
    let _ = held.device.inner_done_at(DiskRequest::Write(range));
    let (flush, at) = held.device.inner_flush();
    drop(held);
    let (state, next_queue) = (Arc::clone(state), queue.clone());
    queue.give(at, move || write_commit_block(&state, &next_queue, batch, commit, flush));
}

fn write_commit_block(
    state: &SharedState,
    queue: &AnswerQueue,
    batch: CommitBatch,
    commit: u64,
    record_flush: Option<FlushNumber>,
) {
    let mut held = locked(state);
    if !flush_is_done(&mut held, record_flush) {
        return fail(held, batch);
    }
    let range = held.journal.commit_block();
    let _ = held.device.inner_done_at(DiskRequest::Write(range));
    let (flush, at) = held.device.flush();
    drop(held);
    let (state, next_queue) = (Arc::clone(state), queue.clone());
    queue.give(at, move || end_commit(&state, &next_queue, batch, commit, flush));
}

fn end_commit(
    state: &SharedState,
    queue: &AnswerQueue,
    batch: CommitBatch,
    commit: u64,
    commit_flush: Option<FlushNumber>,
) {
    let mut held = locked(state);
    if !flush_is_done(&mut held, commit_flush) {
        return fail(held, batch);
    }
    held.end_sync(&batch.files);
    if held.journal.end(commit) {
        write_record(state, queue, held);
    } else {
        drop(held);
    }
    batch.answer(true);
}

fn fail(mut held: MutexGuard<'_, FileSystemState>, batch: CommitBatch) {
    let waiting = held.journal.abandon();
    drop(held);
    batch.answer(false);
    waiting.answer(false);
}
