//! Reads responses of HTTP/1.1 and 1.0, which may arrive cut anywhere. Bodies are skipped: of an
//! error, the beginning is kept for its message.

use std::time::Duration;

use httparse::{EMPTY_HEADER, Header, Status, parse_chunk_size};

use crate::DriverError;

/// Limit of a status line with its headers, and of a trailer.
const HEAD_BYTES_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 100;
/// Limit of a body. An answer to a row is short.
const BODY_BYTES_MAX: u64 = 16 << 20;
/// Bytes of an error's body that are kept for its message.
const SAMPLE_BYTES: usize = 200;
/// The longest `Retry-After` that is believed.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// One response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) reason: String,
    /// The beginning of an error's body.
    pub(super) sample: Vec<u8>,
    pub(super) retry_after: Option<Duration>,
    /// The connection is not used again.
    pub(super) closes: bool,
}

impl Response {
    pub(super) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// The position in the current response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ResponsePart {
    #[default]
    Head,
    /// So many bytes of the body are missing.
    Body(u64),
    ChunkSize,
    /// So many bytes of a chunk are missing, with the line end behind it.
    Chunk(u64),
    Trailer,
    UntilClose,
}

#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    part: ResponsePart,
    /// The beginning of a head, a chunk's size or a trailer that has not arrived completely.
    held: Vec<u8>,
    response: Response,
    body_bytes: u64,
}

impl ResponseReader {
    /// Takes received bytes. `Some`: the response is complete.
    pub(super) fn on_bytes(&mut self, bytes: &[u8]) -> Result<Option<Response>, DriverError> {
        if self.held.is_empty() {
            return self.read(bytes);
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        self.read(&held)
    }

    /// The server has closed the connection. `Some`: this ends the response.
    pub(super) fn on_close(&mut self) -> Option<Response> {
        (self.part == ResponsePart::UntilClose).then(|| self.finish())
    }

    fn read(&mut self, mut bytes: &[u8]) -> Result<Option<Response>, DriverError> {
        loop {
            let step = match self.part {
                ResponsePart::Head => self.read_head(bytes)?,
                ResponsePart::Body(left) => {
                    self.skip(bytes, left, |left| (left > 0).then_some(ResponsePart::Body(left)))?
                }
                ResponsePart::Chunk(left) => self.skip(bytes, left, |left| {
                    Some(if left > 0 { ResponsePart::Chunk(left) } else { ResponsePart::ChunkSize })
                })?,
                ResponsePart::ChunkSize => self.read_chunk_size(bytes)?,
                ResponsePart::Trailer => read_trailer(bytes),
                ResponsePart::UntilClose => {
                    self.skip(bytes, u64::MAX, |_| Some(ResponsePart::UntilClose))?;
                    return Ok(None);
                }
            };
            match step {
                Step::NeedsMore if bytes.len() > HEAD_BYTES_MAX => {
                    return Err(DriverError::Protocol(
                        "the headers of a response are longer than 32 KB",
                    ));
                }
                Step::NeedsMore => {
                    self.held = bytes.to_vec();
                    return Ok(None);
                }
                Step::Taken(count) => {
                    bytes = &bytes[count..];
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                }
                Step::Done(count) => {
                    let mut response = self.finish();
                    // What follows belongs to no request of this client.
                    response.closes |= count < bytes.len();
                    return Ok(Some(response));
                }
            }
        }
    }

    fn finish(&mut self) -> Response {
        (self.part, self.body_bytes) = (ResponsePart::Head, 0);
        std::mem::take(&mut self.response)
    }

    fn read_head(&mut self, bytes: &[u8]) -> Result<Step, DriverError> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut headers);
        let length = match parsed.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(Step::NeedsMore),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(DriverError::Protocol("a response has more than 100 headers"));
            }
            Err(_) => {
                return Err(DriverError::Protocol("the answer is not a response of HTTP/1.1"));
            }
        };
        let status = parsed.code.unwrap_or_default();
        if status == 101 {
            return Err(DriverError::Protocol(
                "the service changes to another protocol (status 101)",
            ));
        }
        if status < 200 {
            // An interim response, such as 100 Continue.
            return Ok(Step::Taken(length));
        }
        let is_old = parsed.version == Some(0);
        let Framing { body, retry_after, closes, keeps } = framing(status, parsed.headers)?;
        self.response = Response {
            status,
            reason: parsed.reason.unwrap_or_default().to_owned(),
            sample: Vec::new(),
            retry_after,
            closes: closes || is_old && !keeps || body == ResponsePart::UntilClose,
        };
        self.part = body;
        Ok(if body == ResponsePart::Body(0) { Step::Done(length) } else { Step::Taken(length) })
    }

    /// Skips bytes of a body of which `left` are missing. `next` is the part that follows; `None`:
    /// the body has ended.
    fn skip(
        &mut self,
        bytes: &[u8],
        left: u64,
        next: impl Fn(u64) -> Option<ResponsePart>,
    ) -> Result<Step, DriverError> {
        let count = left.min(bytes.len() as u64) as usize;
        self.body_bytes += count as u64;
        if self.body_bytes > BODY_BYTES_MAX {
            return Err(DriverError::Protocol("the body of a response is longer than 16 MB"));
        }
        let room = SAMPLE_BYTES.saturating_sub(self.response.sample.len());
        if !self.response.is_good() && room > 0 {
            self.response.sample.extend_from_slice(&bytes[..count.min(room)]);
        }
        Ok(match next(left - count as u64) {
            Some(next) => {
                self.part = next;
                Step::Taken(count)
            }
            None => Step::Done(count),
        })
    }

    fn read_chunk_size(&mut self, bytes: &[u8]) -> Result<Step, DriverError> {
        const LINE_END: u64 = 2;
        match parse_chunk_size(bytes) {
            Ok(Status::Complete((length, 0))) => {
                self.part = ResponsePart::Trailer;
                Ok(Step::Taken(length))
            }
            Ok(Status::Complete((length, size))) => {
                self.part = ResponsePart::Chunk(size.saturating_add(LINE_END));
                Ok(Step::Taken(length))
            }
            Ok(Status::Partial) => Ok(Step::NeedsMore),
            Err(_) => {
                Err(DriverError::Protocol("the chunks of a response are not as HTTP/1.1 has them"))
            }
        }
    }
}

/// Lines up to an empty one.
fn read_trailer(bytes: &[u8]) -> Step {
    if bytes.starts_with(b"\r\n") {
        return Step::Done(2);
    }
    match bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(at) => Step::Done(at + 4),
        None => Step::NeedsMore,
    }
}

enum Step {
    /// So many bytes were taken; the response goes on.
    Taken(usize),
    /// So many bytes were taken; the response has ended.
    Done(usize),
    NeedsMore,
}

/// What the headers say of the rest of a response.
struct Framing {
    body: ResponsePart,
    retry_after: Option<Duration>,
    closes: bool,
    keeps: bool,
}

fn framing(status: u16, headers: &[Header<'_>]) -> Result<Framing, DriverError> {
    let (mut length, mut is_chunked, mut retry_after, mut closes, mut keeps) =
        (None, false, None, false, false);
    for Header { name, value } in headers {
        let text = str::from_utf8(value).unwrap_or_default().trim();
        if name.eq_ignore_ascii_case("content-length") {
            let found: u64 = text
                .parse()
                .map_err(|_| DriverError::Protocol("a Content-Length is not a number"))?;
            if length.is_some_and(|length| length != found) {
                return Err(DriverError::Protocol("a response has two lengths"));
            }
            length = Some(found);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            is_chunked = has_word(text, "chunked");
        } else if name.eq_ignore_ascii_case("connection") {
            closes |= has_word(text, "close");
            keeps |= has_word(text, "keep-alive");
        } else if name.eq_ignore_ascii_case("retry-after") {
            // A date is left out: the clocks of two machines differ.
            retry_after =
                text.parse().ok().map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
        }
    }
    let body = match (status, is_chunked, length) {
        (204 | 304, ..) => ResponsePart::Body(0),
        (_, true, _) => ResponsePart::ChunkSize,
        (_, false, Some(length)) => ResponsePart::Body(length),
        (_, false, None) => ResponsePart::UntilClose,
    };
    Ok(Framing { body, retry_after, closes, keeps })
}

/// Whether a header's list has this word.
fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response, however it is cut.
    fn read_cut(text: &str) -> Result<Option<Response>, String> {
        let whole =
            ResponseReader::default().on_bytes(text.as_bytes()).map_err(|error| error.to_string());
        for cut in 1..text.len() {
            let mut reader = ResponseReader::default();
            let (first, second) = text.as_bytes().split_at(cut);
            let read = reader.on_bytes(first).and_then(|done| match done {
                None => reader.on_bytes(second),
                Some(response) => panic!("complete at {cut} of {text:?}: {response:?}"),
            });
            assert_eq!(read.map_err(|error| error.to_string()), whole, "cut at {cut} of {text:?}");
        }
        let mut reader = ResponseReader::default();
        let bytes = text.as_bytes().chunks(1).find_map(|byte| reader.on_bytes(byte).transpose());
        assert_eq!(
            bytes.transpose().map(|done| done.is_some()).ok(),
            whole.as_ref().ok().map(Option::is_some)
        );
        whole
    }

    fn status(text: &str) -> u16 {
        read_cut(text).unwrap().unwrap().status
    }

    #[test]
    fn responses_end_where_their_headers_say() {
        assert_eq!(status("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), 200);
        assert_eq!(status("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n"), 201);
        assert_eq!(status("HTTP/1.1 204 No Content\r\nX: y\r\n\r\n"), 204);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \
                       chunked\r\n\r\n4;x=1\r\nWiki\r\nA\r\n0123456789\r\n0\r\n";
        assert_eq!(status(&format!("{chunked}\r\n")), 200);
        assert_eq!(status(&format!("{chunked}Sum: 1\r\nMore: 2\r\n\r\n")), 200);
        assert_eq!(
            status(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
            ),
            202
        );
    }

    #[test]
    fn errors_keep_the_beginning_of_their_body_and_when_to_come_again() {
        let text = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\nConnection: \
                    close\r\n\r\nnot today";
        let found = read_cut(text).unwrap().unwrap();
        assert_eq!(
            (found.status, found.reason.as_str(), &found.sample[..]),
            (503, "Busy", &b"not today"[..])
        );
        assert_eq!((found.retry_after, found.closes), (Some(Duration::from_secs(7)), true));
        let long = format!("HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\n{}", "e".repeat(1000));
        let found = ResponseReader::default().on_bytes(long.as_bytes()).unwrap().unwrap();
        assert_eq!((found.sample.len(), found.closes), (SAMPLE_BYTES, false));
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut reader = ResponseReader::default();
        assert_eq!(reader.on_bytes(b"HTTP/1.0 200 OK\r\n\r\nsome").unwrap(), None);
        let found = reader.on_close().unwrap();
        assert_eq!((found.status, found.closes), (200, true));
        let mut cut = ResponseReader::default();
        assert_eq!(
            cut.on_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome").unwrap(),
            None
        );
        assert_eq!(cut.on_close(), None);
        let old = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx";
        assert!(!ResponseReader::default().on_bytes(old.as_bytes()).unwrap().unwrap().closes);
    }

    #[test]
    fn what_is_no_http_is_refused() {
        let check = |text: &str, part: &str| {
            let error =
                ResponseReader::default().on_bytes(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("SSH-2.0-OpenSSH_9.2\r\n", "not a response");
        check("HTTP/1.1 101 Switching\r\n\r\n", "another protocol");
        check("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not a number");
        check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two lengths");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunks");
        check(
            &format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(HEAD_BYTES_MAX)),
            "longer than 32 KB",
        );
        check(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(101)), "more than 100");
        let mut reader = ResponseReader::default();
        reader.on_bytes(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let endless = (0..20).try_for_each(|_| reader.on_bytes(&vec![0; 1 << 20]).map(drop));
        assert!(endless.unwrap_err().to_string().contains("longer than 16 MB"));
    }

    #[test]
    fn a_second_response_to_one_request_ends_the_connection() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n";
        assert!(ResponseReader::default().on_bytes(text.as_bytes()).unwrap().unwrap().closes);
    }
}
