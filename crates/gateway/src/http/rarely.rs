//! A future beside a busy one. A task polls all that it waits for at each wake-up; this one is
//! polled only after it was woken itself, because time limits and signals of a connection come
//! once, and its requests thousands of times.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

pub(super) struct Rarely<F> {
    future: Pin<Box<F>>,
    wake: Arc<RareWake>,
    waker: Waker,
}

/// Whether the future was woken, and the task that waits for it.
struct RareWake {
    is_woken: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Wake for RareWake {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F: Future> Rarely<F> {
    pub(super) fn new(future: F) -> Self {
        let wake = Arc::new(RareWake { is_woken: AtomicBool::new(true), task: Mutex::new(None) });
        Self { future: Box::pin(future), waker: Waker::from(Arc::clone(&wake)), wake }
    }
}

impl<F: Future> Future for Rarely<F> {
    type Output = F::Output;

    /// The task of a connection stays the same, so that its waker is kept at the first poll.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if !self.wake.is_woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        *self.wake.task.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(context.waker().clone());
        self.wake.is_woken.store(false, Ordering::Release);
        let waker = self.waker.clone();
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn it_is_polled_when_it_was_woken_and_not_beside_others() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let polls = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&polls);
            let (sender, mut receiver) = oneshot::channel::<u8>();
            let mut rare = Rarely::new(poll_fn(move |context| {
                *counted.lock().unwrap() += 1;
                Pin::new(&mut receiver).poll(context)
            }));
            for _ in 0..20 {
                tokio::select! {
                    biased;
                    _ = &mut rare => panic!("nothing was sent"),
                    () = tokio::time::sleep(Duration::from_millis(1)) => {}
                }
            }
            assert_eq!(*polls.lock().unwrap(), 1);
            sender.send(7).unwrap();
            assert_eq!(rare.await, Ok(7));
        });
    }
}
