//! A small HTTP service that saves rows, well or badly: what `truetps verify` is for.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use truetps_driver::{Client, Target};

/// What the service does with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Saves it, and acknowledges it: the only honest one.
    Save,
    /// Acknowledges it, and saves nothing.
    Forget,
    /// Saves it twice.
    Double,
    /// Saves it with another letter in its payload.
    Alter,
    /// Saves another row with it, which no client has sent.
    Add,
    /// Saves it, rolls back, and acknowledges it.
    RollBack,
    /// Refuses it.
    Refuse,
    /// Refuses it, and saves it.
    RefuseAndSave,
    /// Answers this status and saves nothing; 503 asks to come again after a second.
    Fail(u16),
    /// Saves it, and closes the connection without an answer.
    SaveAndClose,
    /// Closes the connection.
    Close,
    /// Does not answer.
    Hang,
}

/// Chooses by client, row and the number of the attempt, from 0.
type Choice = dyn Fn(u64, u64, u32) -> Deed + Send + Sync;

pub(crate) struct RowService {
    pub(crate) url: String,
    is_over: Arc<AtomicBool>,
}

struct Saver {
    target: Target,
    table: String,
    choice: Box<Choice>,
    attempts: Mutex<HashMap<(u64, u64), u32>>,
}

impl RowService {
    /// Saves rows to a table, whose columns are the keys of a request's JSON.
    pub(crate) fn start(
        target: Target,
        table: &str,
        choice: impl Fn(u64, u64, u32) -> Deed + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/rows", listener.local_addr().unwrap());
        let is_over = Arc::new(AtomicBool::new(false));
        let saver = Saver {
            target,
            table: table.to_owned(),
            choice: Box::new(choice),
            attempts: Mutex::default(),
        };
        let (saver, ends) = (Arc::new(saver), Arc::clone(&is_over));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let saver = Arc::clone(&saver);
                // A client that is gone ends its thread with an error.
                thread::spawn(move || stream.map(|stream| saver.serve(&stream)));
            }
        });
        Self { url, is_over }
    }
}

impl Drop for RowService {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ =
            TcpStream::connect(self.url.trim_start_matches("http://").trim_end_matches("/rows"));
    }
}

impl Saver {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut client = None;
        let mut input = BufReader::new(stream);
        loop {
            let row = read_request(&mut input)?;
            let number = |name: &str| row.get(name).and_then(Value::as_u64).unwrap_or_default();
            let key = (number("client"), number("seq"));
            let attempt = {
                let mut attempts = self.attempts.lock().unwrap();
                let attempt = attempts.entry(key).or_default();
                *attempt += 1;
                *attempt - 1
            };
            let deed = (self.choice)(key.0, key.1, attempt);
            let saved = self.save(deed, &row, &mut client);
            let status = match deed {
                Deed::SaveAndClose | Deed::Close => return None,
                Deed::Hang => {
                    thread::sleep(Duration::from_mins(1));
                    return None;
                }
                Deed::Refuse | Deed::RefuseAndSave => 422,
                Deed::Fail(status) => status,
                _ if saved.is_none() => 500,
                _ => 200,
            };
            answer(stream, status)?;
        }
    }

    /// `None`: the server has refused a statement, or is gone.
    fn save(
        &self,
        deed: Deed,
        row: &Map<String, Value>,
        client: &mut Option<Client>,
    ) -> Option<()> {
        let insert = |row: &Map<String, Value>| {
            let columns: Vec<_> = row.keys().map(|name| format!("`{name}`")).collect();
            let values: Vec<_> =
                row.values().map(|value| value.to_string().replace('"', "'")).collect();
            format!(
                "INSERT INTO {} ({}) VALUES ({})",
                self.table,
                columns.join(", "),
                values.join(", ")
            )
        };
        let statements = match deed {
            Deed::Save | Deed::RefuseAndSave | Deed::SaveAndClose => vec![insert(row)],
            Deed::Double => vec![insert(row), insert(row)],
            Deed::Alter => {
                let mut other = row.clone();
                let mut payload = other["payload"].as_str().unwrap().to_owned();
                let middle = payload.len() / 2;
                let letter = if &payload[middle..=middle] == "x" { "y" } else { "x" };
                payload.replace_range(middle..=middle, letter);
                other.insert("payload".to_owned(), payload.into());
                vec![insert(&other)]
            }
            Deed::Add => {
                let mut other = row.clone();
                other.insert("seq".to_owned(), 1_000_000.into());
                vec![insert(row), insert(&other)]
            }
            Deed::RollBack => vec!["BEGIN".to_owned(), insert(row), "ROLLBACK".to_owned()],
            Deed::Forget | Deed::Refuse | Deed::Fail(_) | Deed::Close | Deed::Hang => Vec::new(),
        };
        for sql in statements {
            let connected = match client {
                Some(client) => client,
                None => client.insert(Client::connect(&self.target, Duration::from_secs(5)).ok()?),
            };
            if connected.execute(&sql).is_err() {
                *client = None;
                return None;
            }
        }
        Some(())
    }
}

fn read_request(input: &mut BufReader<&TcpStream>) -> Option<Map<String, Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some(text) = line.strip_prefix("Content-Length: ") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn answer(mut stream: &TcpStream, status: u16) -> Option<()> {
    let again = if status == 503 { "Retry-After: 1\r\n" } else { "" };
    let text = format!("HTTP/1.1 {status} Answer\r\n{again}Content-Length: 2\r\n\r\nok");
    stream.write_all(text.as_bytes()).ok()
}
