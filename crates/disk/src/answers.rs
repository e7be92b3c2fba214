//! Answers to requests that are done later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::device::DoneAt;

type DelayedAnswer = Box<dyn FnOnce() + Send>;

/// One answer, ordered by its time.
struct WaitingAnswer {
    at: Instant,
    /// Answers of the same time keep their order.
    number: u64,
    answer: DelayedAnswer,
}

impl Ord for WaitingAnswer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for WaitingAnswer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WaitingAnswer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for WaitingAnswer {}

#[derive(Default)]
struct Queue {
    waiting: BinaryHeap<Reverse<WaitingAnswer>>,
    next_number: u64,
    has_ended: bool,
}

/// The answers that wait. An answer may add others: they are given, too.
#[derive(Clone, Default)]
pub(crate) struct AnswerQueue(Arc<(Mutex<Queue>, Condvar)>);

/// A thread that gives answers at their time. Dropping it gives those that are left at once.
pub(crate) struct DelayedAnswers {
    queue: AnswerQueue,
    thread: Option<JoinHandle<()>>,
}

impl DelayedAnswers {
    pub(crate) fn start() -> std::io::Result<Self> {
        let queue = AnswerQueue::default();
        let shared = queue.clone();
        let thread = thread::Builder::new()
            .name("answers".to_owned())
            .spawn(move || give_answers(&shared.0))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    pub(crate) fn queue(&self) -> &AnswerQueue {
        &self.queue
    }

    /// Gives an answer at its time: at once, where that is now.
    pub(crate) fn give(&self, at: DoneAt, answer: impl FnOnce() + Send + 'static) {
        self.queue.give(at, answer);
    }
}

impl AnswerQueue {
    /// Gives an answer at its time: at once, where that is now.
    pub(crate) fn give(&self, at: DoneAt, answer: impl FnOnce() + Send + 'static) {
        let DoneAt::At(at) = at else { return answer() };
        let (queue, changed) = &*self.0;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = queue.waiting.peek().is_none_or(|Reverse(first)| at < first.at);
        let number = queue.next_number;
        queue.next_number += 1;
        queue.waiting.push(Reverse(WaitingAnswer { at, number, answer: Box::new(answer) }));
        if is_first {
            changed.notify_one();
        }
    }
}

impl Drop for DelayedAnswers {
    fn drop(&mut self) {
        let (queue, changed) = &*self.queue.0;
        queue.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has no panic of its own.
            let _ = thread.join();
        }
    }
}

fn give_answers((queue, changed): &(Mutex<Queue>, Condvar)) {
    // The kernel wakes a thread up to 50 µs late by default: as long as some disks take for a
    // request.
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    let mut held = queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let first = held
            .waiting
            .peek()
            .map(|Reverse(first)| first.at.saturating_duration_since(Instant::now()));
        held = match first {
            None if held.has_ended => return,
            None => changed.wait(held).unwrap_or_else(PoisonError::into_inner),
            Some(left) if !left.is_zero() && !held.has_ended => {
                changed.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0
            }
            Some(_) => {
                let due = held.waiting.pop();
                drop(held);
                if let Some(Reverse(due)) = due {
                    (due.answer)();
                }
                queue.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
    }
}
