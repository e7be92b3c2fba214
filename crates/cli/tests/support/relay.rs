//! A way to a server that can lead to another one, as a virtual address does, or greet as a proxy
//! does.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A word of a client's, and what is done before the server hears it.
type Before = (&'static [u8], Box<dyn FnOnce() + Send>);

#[derive(Default)]
struct Way {
    to: AtomicU16,
    /// Connections get another number than the server has given them.
    renumbers: AtomicBool,
    /// Delay of what goes either way.
    delay_us: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
    before: Mutex<Option<Before>>,
}

pub(crate) struct Relay {
    pub(crate) port: u16,
    way: Arc<Way>,
}

impl Relay {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Arc::new(Way { to: port.into(), ..Way::default() });
        let relay = Self { port: listener.local_addr().unwrap().port(), way: Arc::clone(&way) };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let way = Arc::clone(&way);
                thread::spawn(move || pass_on(client, &way));
            }
        });
        relay
    }

    /// Whatever goes through takes this much longer, either way.
    pub(crate) fn delay(&self, by: Duration) {
        self.way.delay_us.store(by.as_micros() as u64, Ordering::Relaxed);
    }

    pub(crate) fn renumber(&self, on: bool) {
        self.way.renumbers.store(on, Ordering::Relaxed);
    }

    /// Does this once, before the server hears the first statement that has the word in it.
    pub(crate) fn before(&self, word: &'static str, act: impl FnOnce() + Send + 'static) {
        *self.way.before.lock().unwrap() = Some((word.as_bytes(), Box::new(act)));
    }

    /// Who comes after this word is led to another server; who is connected stays where it is.
    pub(crate) fn lead_to_after(&self, word: &'static str, port: u16) {
        let way = Arc::clone(&self.way);
        self.before(word, move || way.to.store(port, Ordering::Relaxed));
    }

    /// From now on another server answers, and who is connected is thrown out.
    pub(crate) fn lead_to(&self, port: u16) {
        self.way.to.store(port, Ordering::Relaxed);
        for stream in self.way.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass_on(client: TcpStream, way: &Arc<Way>) -> Option<()> {
    let server = TcpStream::connect(("127.0.0.1", way.to.load(Ordering::Relaxed))).ok()?;
    way.open.lock().unwrap().extend([client.try_clone().ok()?, server.try_clone().ok()?]);
    let (mut up_from, mut up_to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    let heard = Arc::clone(way);
    thread::spawn(move || {
        let _ = pass(&mut up_from, &mut up_to, &heard, |bytes| heard.hear(bytes));
        let _ = up_to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to) = (server, client);
    if way.renumbers.load(Ordering::Relaxed) {
        to.write_all(&renumbered(&mut from)?).ok()?;
    }
    let _ = pass(&mut from, &mut to, way, |_| {});
    let _ = to.shutdown(Shutdown::Both);
    Some(())
}

impl Way {
    /// Does what was asked for before the server hears this word.
    fn hear(&self, bytes: &[u8]) {
        let mut before = self.before.lock().unwrap();
        let is_it =
            |before: &mut Before| bytes.windows(before.0.len()).any(|window| window == before.0);
        if let Some((_, act)) = before.take_if(is_it) {
            act();
        }
    }

    fn wait(&self) {
        thread::sleep(Duration::from_micros(self.delay_us.load(Ordering::Relaxed)));
    }
}

/// Passes on what comes, until one side is gone; `heard` gets it first.
fn pass(
    from: &mut TcpStream,
    to: &mut TcpStream,
    way: &Way,
    heard: impl Fn(&[u8]),
) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        heard(&buffer[..n]);
        way.wait();
        to.write_all(&buffer[..n])?;
    }
}

/// The server's greeting: protocol, version and a NUL, then the number of the connection.
fn renumbered(server: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    server.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    server.read_exact(&mut payload).ok()?;
    let number = payload.iter().skip(1).position(|byte| *byte == 0)? + 2;
    payload[number + 1] ^= 0x55;
    Some([&header[..], &payload].concat())
}
