//! Bodies of answers. They are handed over in pieces, so that a client that does not read holds
//! little memory, and hold what their request was given (room, its count) until the last piece is
//! taken.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::batch_lines::{BatchLines, PIECE_BYTES};
use super::peers::UnansweredRequest;
use super::progress::AnswerEnd;

enum Content {
    Whole(Bytes),
    Lines(Box<BatchLines>),
}

pub(crate) struct GatewayBody {
    content: Content,
    /// Until the answer is written.
    open: Option<UnansweredRequest>,
    /// The end of an answer that is taken in several pieces.
    end: Option<AnswerEnd>,
}

impl GatewayBody {
    pub(super) fn lines(lines: BatchLines) -> Self {
        Self { content: Content::Lines(Box::new(lines)), open: None, end: None }
    }

    /// Keeps the request open until the answer is written, and ends an answer that takes longer
    /// than `time`.
    pub(super) fn hold(&mut self, request: UnansweredRequest, time: Duration) {
        self.open = Some(request);
        self.end = (self.left() > PIECE_BYTES).then(|| AnswerEnd::after(time));
    }

    fn left(&self) -> usize {
        match &self.content {
            Content::Whole(bytes) => bytes.len(),
            Content::Lines(lines) => lines.left(),
        }
    }
}

impl<B: Into<Bytes>> From<B> for GatewayBody {
    fn from(bytes: B) -> Self {
        Self { content: Content::Whole(bytes.into()), open: None, end: None }
    }
}

impl Body for GatewayBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.end.is_some_and(AnswerEnd::is_over) {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }
        let piece = match &mut self.content {
            Content::Whole(bytes) => bytes.split_to(PIECE_BYTES.min(bytes.len())),
            Content::Lines(lines) => lines.next_piece(),
        };
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left() as u64)
    }
}

/// Texts that are made again for each request, such as figures. Answers that wait for their clients
/// share them: only so many are kept, and then the newest of them is given again.
pub(super) struct SharedTexts(Mutex<Vec<Weak<String>>>);

const TEXTS_MAX: usize = 16;

impl SharedTexts {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(super) fn get(&self, make: impl FnOnce() -> String) -> Bytes {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.retain(|text| text.strong_count() > 0);
        let newest = texts.last().filter(|_| texts.len() >= TEXTS_MAX).and_then(Weak::upgrade);
        let text = newest.unwrap_or_else(|| {
            let text = Arc::new(make());
            texts.push(Arc::downgrade(&text));
            text
        });
        Bytes::from_owner(SharedText(text))
    }
}

struct SharedText(Arc<String>);

impl AsRef<[u8]> for SharedText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_wait_are_bounded() {
        let texts = SharedTexts::new();
        let mut made = 0;
        let mut waiting: Vec<_> = (0..100)
            .map(|_| {
                texts.get(|| {
                    made += 1;
                    made.to_string()
                })
            })
            .collect();
        assert_eq!((made, &waiting[99][..]), (16, &b"16"[..]));
        waiting.clear();
        assert_eq!(&texts.get(|| "new".to_owned())[..], b"new");
    }
}
