//! One request and its answer, within limits of size and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::request::{self, ExporterRequest, RequestKind};

/// From the accepted connection to the end of the answer.
const TIME_MAX: Duration = Duration::from_secs(5);
/// From the accepted connection to the first byte: clients that have something to ask send it at
/// once.
const FIRST_BYTE_TIME_MAX: Duration = Duration::from_secs(1);
/// Length of a request's head.
const HEAD_MAX: usize = 8 * 1024;
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const FRONT: &str = "<!doctype html>\n<html lang=\"en\"><head><meta \
     charset=\"utf-8\"><title>truetps probe</title></head>\n\
     <body><h1>truetps probe</h1>\n<p>The last readings of server and host, for Prometheus: <a \
     href=\"/metrics\">/metrics</a></p></body></html>\n";

pub(super) struct Exchange<'a> {
    stream: &'a TcpStream,
    began: Instant,
}

impl<'a> Exchange<'a> {
    pub(super) fn begin(stream: &'a TcpStream) -> Self {
        Self { stream, began: Instant::now() }
    }

    /// Reads the request and answers it. A client that is gone, or does not take its answer, is
    /// not a failure.
    pub(super) fn run(&self, is_local: bool, metrics: impl FnOnce() -> String) {
        // Accepted sockets need not be as the one that listens.
        let Ok(request) = self.stream.set_nonblocking(false).and_then(|()| self.read(is_local))
        else {
            return;
        };
        let body = match request.kind {
            RequestKind::Metrics => metrics(),
            RequestKind::Front => FRONT.to_owned(),
            _ => format!("{}\n", status(request.kind)),
        };
        let mut answer = head(request.kind, body.len());
        if !request.is_head {
            answer.push_str(&body);
        }
        if self.write(answer.as_bytes()).is_ok() {
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }

    fn read(&self, is_local: bool) -> io::Result<ExporterRequest> {
        let mut head = [0; HEAD_MAX];
        let mut length = 0;
        while length < HEAD_MAX {
            let time_max = if length == 0 { FIRST_BYTE_TIME_MAX } else { TIME_MAX };
            let Some(left) = self.left(time_max) else { return Ok(RequestKind::TooLate.into()) };
            self.stream.set_read_timeout(Some(left))?;
            let mut stream = self.stream;
            match stream.read(&mut head[length..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => length += read,
                Err(error) if is_retried(&error) => continue,
                Err(error) => return Err(error),
            }
            if let Some(request) = request::parse(&head[..length], is_local) {
                return Ok(request);
            }
        }
        Ok(RequestKind::TooLong.into())
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            // An answer to a request that came too late has a moment.
            let left = self.left(TIME_MAX).unwrap_or(Duration::from_millis(100));
            self.stream.set_write_timeout(Some(left))?;
            let mut stream = self.stream;
            match stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn left(&self, time_max: Duration) -> Option<Duration> {
        Some(time_max.saturating_sub(self.began.elapsed())).filter(|left| !left.is_zero())
    }
}

/// A signal, or the end of the time, which the caller finds out.
fn is_retried(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn status(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Metrics | RequestKind::Front => "200 OK",
        RequestKind::Malformed => "400 Bad Request",
        RequestKind::NotFound => "404 Not Found",
        RequestKind::WrongMethod => "405 Method Not Allowed",
        RequestKind::TooLate => "408 Request Timeout",
        RequestKind::WrongHost => "421 Misdirected Request",
        RequestKind::TooLong => "431 Request Header Fields Too Large",
    }
}

fn head(kind: RequestKind, length: usize) -> String {
    let content = match kind {
        RequestKind::Metrics => METRICS_TYPE,
        RequestKind::Front => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    let allow = if kind == RequestKind::WrongMethod { "Allow: GET, HEAD\r\n" } else { "" };
    format!(
        "HTTP/1.1 {}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n{allow}Connection: \
         close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: \
         default-src 'none'\r\n\r\n",
        status(kind)
    )
}
