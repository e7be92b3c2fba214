//! A way to a server that can lead to another one, as a virtual address does, or greet as a proxy does.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Default)]
struct Way {
    to: AtomicU16,
    /// Connections get another number than the server has given them.
    renumbers: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
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

    pub(crate) fn renumber(&self, on: bool) {
        self.way.renumbers.store(on, Ordering::Relaxed);
    }

    /// From now on another server answers, and who is connected is thrown out.
    pub(crate) fn lead_to(&self, port: u16) {
        self.way.to.store(port, Ordering::Relaxed);
        for stream in self.way.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass_on(client: TcpStream, way: &Way) -> Option<()> {
    let server = TcpStream::connect(("127.0.0.1", way.to.load(Ordering::Relaxed))).ok()?;
    way.open.lock().unwrap().extend([client.try_clone().ok()?, server.try_clone().ok()?]);
    let (mut up_from, mut up_to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    thread::spawn(move || {
        let _ = io::copy(&mut up_from, &mut up_to);
        let _ = up_to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to) = (server, client);
    if way.renumbers.load(Ordering::Relaxed) {
        to.write_all(&renumbered(&mut from)?).ok()?;
    }
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    Some(())
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
