//! Clients that do not read: a time limit for the progress of writes, and one for each request of
//! HTTP/2.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// A stream whose writes fail when none of their bytes was taken for `write_time`.
pub(super) struct ProgressStream<S> {
    stream: S,
    write_time: Duration,
    /// While a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> ProgressStream<S> {
    pub(super) fn new(stream: S, write_time: Duration) -> Self {
        Self { stream, write_time, stalled: None }
    }

    /// The outcome of a write, or an error if it has been waiting for too long.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let write_time = self.write_time;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_time)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ProgressStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ProgressStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, outcome)
    }
}

/// Runs the requests of HTTP/2. A client whose window is closed takes no answer, and its connection
/// stays alive: the stream is reset when the longest time of a request is over.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    pub(super) request_time: Duration,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        tokio::spawn(timeout(self.request_time, stream));
    }
}

/// An answer over HTTP/1.1 that is read slowly, but steadily, ends then.
#[derive(Clone, Copy)]
pub(super) struct AnswerEnd(Instant);

impl AnswerEnd {
    pub(super) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    pub(super) fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }
}
