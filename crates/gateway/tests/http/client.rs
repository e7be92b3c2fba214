//! A small client of HTTP/1.1.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::SOON;

/// One connection, kept alive.
pub(crate) struct HttpClient(BufReader<TcpStream>);

#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fits = |line: &&str| {
            line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name))
        };
        self.head.lines().find(fits)?.split_once(':').map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl HttpClient {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(crate) fn post(&mut self, path: &str, json: &str) -> HttpAnswer {
        self.send(path, json, "content-type: application/json\r\n")
    }

    pub(crate) fn post_lines(&mut self, path: &str, lines: &[String]) -> HttpAnswer {
        self.send(path, &lines.join("\n"), "content-type: application/x-ndjson\r\n")
    }

    pub(crate) fn send(&mut self, path: &str, body: &str, headers: &str) -> HttpAnswer {
        self.start(path, body, headers);
        self.answer().unwrap()
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn start(&mut self, path: &str, body: &str, headers: &str) {
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: \
             {length}\r\n\r\n{body}"
        );
        self.write(text.as_bytes()).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> HttpAnswer {
        self.write(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).unwrap();
        self.answer().unwrap()
    }

    pub(crate) fn answer(&mut self) -> io::Result<HttpAnswer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status =
            head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut answer = HttpAnswer { status, head, body: String::new() };
        let length =
            answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).unwrap();
        Ok(answer)
    }

    /// Whether the server closes the connection without another answer.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.0.read(&mut [0; 1]), Ok(0))
            || self.0.get_ref().take_error().is_ok_and(|error| error.is_some())
    }
}
