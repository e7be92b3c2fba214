//! Bodies of requests: received within their limits of length and time, with room that is taken as
//! they arrive.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, StatusCode};
use tokio::time::timeout;
use truetps_batch::QueueRefusal;

use super::answers::RowStatus;
use super::room::{HeldRoom, LINE_BYTES, PeerRoom, RoomKind};
use crate::row_counts::RowResult;

/// What a body may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) kind: RoomKind,
    pub(super) bytes: usize,
    /// `None`: it is one row, and its lines do not count.
    pub(super) lines: Option<usize>,
    pub(super) time: Duration,
}

/// A body, and the room that it takes.
pub(super) struct ReceivedBody {
    pub(super) bytes: Bytes,
    pub(super) room: HeldRoom,
}

/// Leaves nothing of the request: the next one of its connection is read into the same buffer, if
/// no part of it is used.
pub(super) async fn read_body(
    limits: BodyLimits,
    room: &Arc<PeerRoom>,
    request: &mut Request<Incoming>,
) -> Result<ReceivedBody, RowStatus> {
    if content_length(request).is_some_and(|length| length > limits.bytes) {
        return Err(too_long(limits));
    }
    let mut arriving = ArrivingBody {
        limits,
        room: HeldRoom::new(room, limits.kind),
        length: 0,
        lines: 0,
        first: Bytes::new(),
        bytes: Vec::new(),
    };
    let body = request.body_mut();
    let whole = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                refused(StatusCode::BAD_REQUEST, &format!("the body is incomplete: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if let Err(status) = arriving.add(data) {
                discard(body, limits.bytes.saturating_sub(arriving.length)).await;
                return Err(status);
            }
        }
        arriving.end()
    };
    let received = timeout(limits.time, whole)
        .await
        .map_err(|_| refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))?;
    std::mem::take(request.headers_mut());
    std::mem::take(request.uri_mut());
    received
}

/// Reads what is left of a body that is not used: a client that is sending does not see an answer
/// before.
pub(super) async fn discard(body: &mut Incoming, mut most: usize) {
    while let Some(Ok(frame)) = body.frame().await {
        let Some(left) = most.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { return };
        most = left;
    }
}

struct ArrivingBody {
    limits: BodyLimits,
    room: HeldRoom,
    length: usize,
    lines: usize,
    /// A body that arrives in one piece is not copied.
    first: Bytes,
    bytes: Vec<u8>,
}

impl ArrivingBody {
    fn add(&mut self, piece: Bytes) -> Result<(), RowStatus> {
        self.length += piece.len();
        if self.length > self.limits.bytes {
            return Err(too_long(self.limits));
        }
        let lines = self.limits.lines.map_or(0, |_| piece.split(|byte| *byte == b'\n').count() - 1);
        self.check_lines(lines)?;
        if !self.room.grow(piece.len() + lines * LINE_BYTES) {
            return Err(RowStatus::of_refusal(QueueRefusal::Busy {
                retry_after: self.limits.time,
            }));
        }
        if self.length == piece.len() {
            self.first = piece;
        } else {
            // Many small pieces are copied: each of them would keep the buffer that it arrived in.
            self.bytes.extend_from_slice(&std::mem::take(&mut self.first));
            self.bytes.extend_from_slice(&piece);
        }
        Ok(())
    }

    fn check_lines(&mut self, more: usize) -> Result<(), RowStatus> {
        self.lines += more;
        match self.limits.lines {
            Some(most) if self.lines > most => {
                Err(RowStatus::too_long(&format!("the batch has more than {most} lines")))
            }
            _ => Ok(()),
        }
    }

    fn end(mut self) -> Result<ReceivedBody, RowStatus> {
        let bytes: Bytes =
            if self.bytes.is_empty() { self.first.clone() } else { self.bytes.split_off(0).into() };
        // The last line may have no end.
        self.check_lines(usize::from(!bytes.ends_with(b"\n")))?;
        Ok(ReceivedBody { bytes, room: self.room })
    }
}

fn too_long(limits: BodyLimits) -> RowStatus {
    RowStatus::too_long(&format!("the body is longer than {} KB", limits.bytes >> 10))
}

fn refused(status: StatusCode, text: &str) -> RowStatus {
    RowStatus::final_error(status, RowResult::Refused, text)
}

pub(super) fn content_length(request: &Request<Incoming>) -> Option<usize> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The value of a header that may be there once: what reads the first of two may differ from what
/// reads the last.
pub(super) fn one_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, RowStatus> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => {
            Err(refused(StatusCode::BAD_REQUEST, &format!("the header {name} is there twice")))
        }
    }
}

/// Browsers send other types without asking, on behalf of any page.
pub(super) fn check_type(headers: &HeaderMap, types: &[&str]) -> Result<(), RowStatus> {
    if headers.get_all(CONTENT_ENCODING).iter().any(|encoding| encoding != "identity") {
        return Err(refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "bodies with a Content-Encoding are not read",
        ));
    }
    let kind =
        one_header(headers, &CONTENT_TYPE)?.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if types.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(refused(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        &format!("the header Content-Type must be {}", types[0]),
    ))
}
