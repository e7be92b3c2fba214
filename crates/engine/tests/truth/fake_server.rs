//! A server that does what a test tells it to: for truths that a real server cannot give.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use truetps_testkit::{MachineGuard, share_machine};

/// How a connection is received.
#[derive(Debug, Clone)]
pub(crate) enum Welcome {
    Greet,
    Refuse {
        code: u16,
        message: &'static str,
    },
    /// Says nothing at all.
    Silence,
    /// Lets the client log in and prepare, then closes.
    CloseAfterLogin,
}

/// What happens to a statement.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Ok,
    /// Answers one byte at a time.
    OkInPieces,
    OkAfter(Duration),
    Error {
        code: u16,
        message: &'static str,
    },
    /// Answers, and closes the connection.
    OkAndClose,
    /// Closes the connection.
    Close,
    /// Never answers.
    Hang,
    /// Sends these bytes in place of a reply.
    Garbage(&'static [u8]),
}

type OnConnect = dyn Fn(usize) -> Welcome + Send + Sync;
/// Gets the number of the connection, the number of its statement, and the command's bytes.
type OnStatement = dyn Fn(usize, usize, &[u8]) -> Act + Send + Sync;

pub(crate) struct FakeServer {
    dir: tempfile::TempDir,
    _machine: MachineGuard,
}

impl FakeServer {
    pub(crate) fn start(
        on_connect: impl Fn(usize) -> Welcome + Send + Sync + 'static,
        on_statement: impl Fn(usize, usize, &[u8]) -> Act + Send + Sync + 'static,
    ) -> Self {
        let machine = share_machine();
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("sock")).unwrap();
        let (on_connect, on_statement): (Arc<OnConnect>, Arc<OnStatement>) =
            (Arc::new(on_connect), Arc::new(on_statement));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                let (on_connect, on_statement) =
                    (Arc::clone(&on_connect), Arc::clone(&on_statement));
                // A client that leaves ends its thread with an error, as it should.
                thread::spawn(move || drop(serve(number, stream, &*on_connect, &*on_statement)));
            }
        });
        Self { dir, _machine: machine }
    }

    /// A server that answers everything with OK.
    pub(crate) fn friendly() -> Self {
        Self::start(|_| Welcome::Greet, |_, _, _| Act::Ok)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        Path::join(self.dir.path(), "sock")
    }
}

const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const PREPARE: u8 = 0x16;
const QUIT: u8 = 0x01;

fn serve(
    number: usize,
    mut stream: UnixStream,
    on_connect: &OnConnect,
    on_statement: &OnStatement,
) -> io::Result<()> {
    let welcome = on_connect(number);
    match welcome {
        Welcome::Greet | Welcome::CloseAfterLogin => send(&mut stream, 0, &greeting())?,
        Welcome::Refuse { code, message } => return send(&mut stream, 0, &error(code, message)),
        Welcome::Silence => return wait_for_end(&mut stream),
    }
    receive(&mut stream)?;
    send(&mut stream, 2, OK)?;
    let mut statements = 0;
    loop {
        let command = receive(&mut stream)?;
        match command.first() {
            Some(&QUIT) | None => return Ok(()),
            Some(&PREPARE) => {
                prepared(&mut stream, &command)?;
                if matches!(welcome, Welcome::CloseAfterLogin) {
                    return Ok(());
                }
            }
            Some(_) => {
                act(&mut stream, &on_statement(number, statements, &command))?;
                statements += 1;
            }
        }
    }
}

fn act(stream: &mut UnixStream, act: &Act) -> io::Result<()> {
    match *act {
        Act::Ok => send(stream, 1, OK),
        Act::OkAfter(pause) => {
            thread::sleep(pause);
            send(stream, 1, OK)
        }
        Act::OkInPieces => {
            for byte in packet(1, OK) {
                stream.write_all(&[byte])?;
                thread::sleep(Duration::from_micros(200));
            }
            Ok(())
        }
        Act::Error { code, message } => send(stream, 1, &error(code, message)),
        Act::OkAndClose => {
            send(stream, 1, OK)?;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Act::Close => Err(io::ErrorKind::ConnectionAborted.into()),
        Act::Hang => wait_for_end(stream),
        Act::Garbage(bytes) => stream.write_all(bytes),
    }
}

/// Statement 1, with as many parameters as the text has question marks.
fn prepared(stream: &mut UnixStream, command: &[u8]) -> io::Result<()> {
    let params = String::from_utf8_lossy(command).matches('?').count() as u8;
    send(stream, 1, &[0, 1, 0, 0, 0, 0, 0, params, 0, 0, 0, 0])?;
    for n in 0..params {
        send(stream, 2 + n, b"a parameter")?;
    }
    if params > 0 { send(stream, 2 + params, EOF) } else { Ok(()) }
}

fn greeting() -> Vec<u8> {
    let mut bytes = vec![10];
    bytes.extend_from_slice(b"10.11.0-fake\0");
    bytes.extend_from_slice(&[1, 0, 0, 0]);
    bytes.extend_from_slice(b"12345678\0");
    bytes.extend_from_slice(&[0xff, 0xf7, 45, 2, 0, 0xff, 0x81, 21]);
    bytes.extend_from_slice(&[0; 10]);
    bytes.extend_from_slice(b"123456789012\0mysql_native_password\0");
    bytes
}

fn error(code: u16, message: &str) -> Vec<u8> {
    let mut bytes = vec![0xff];
    bytes.extend_from_slice(&code.to_le_bytes());
    bytes.extend_from_slice(b"#HY000");
    bytes.extend_from_slice(message.as_bytes());
    bytes
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

fn send(stream: &mut UnixStream, sequence: u8, payload: &[u8]) -> io::Result<()> {
    stream.write_all(&packet(sequence, payload))
}

fn receive(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length =
        usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

fn wait_for_end(stream: &mut UnixStream) -> io::Result<()> {
    let mut rest = [0; 1024];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}
