//! A relay in front of a server, which can swallow replies.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// A reply of this length or shorter is an OK packet: the answer to an INSERT.
const OK_BYTES_MAX: usize = 80;

pub(crate) struct Relay {
    pub(crate) port: u16,
    /// So many OK packets are dropped, each with its connection.
    to_drop: Arc<AtomicU32>,
    dropped: Arc<AtomicU32>,
}

impl Relay {
    /// Threads end with the test's process.
    pub(crate) fn start(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to_drop, dropped) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let relay = Self { port, to_drop: Arc::clone(&to_drop), dropped: Arc::clone(&dropped) };
        let socket = PathBuf::from(socket);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                serve(client, server, Arc::clone(&to_drop), Arc::clone(&dropped));
            }
        });
        relay
    }

    pub(crate) fn drop_replies(&self, count: u32) {
        self.to_drop.store(count, Ordering::SeqCst);
    }

    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::SeqCst)
    }
}

fn serve(mut client: TcpStream, mut server: UnixStream, to_drop: Arc<AtomicU32>, dropped: Arc<AtomicU32>) {
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let inserts = Arc::new(AtomicU32::new(0));
    let is_insert = Arc::clone(&inserts);
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_client.read(&mut bytes) {
            let head = &bytes[..length.min(16)];
            is_insert.store(u32::from(head.windows(6).any(|word| word == b"INSERT")), Ordering::SeqCst);
            if to_server.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(std::net::Shutdown::Both);
    });
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = server.read(&mut bytes) {
            let is_ok = length <= OK_BYTES_MAX && bytes.get(4) == Some(&0) && inserts.load(Ordering::SeqCst) == 1;
            let drops = || to_drop.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            if is_ok && drops() {
                dropped.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if client.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(std::net::Shutdown::Both);
        let _ = server.shutdown(std::net::Shutdown::Both);
        let _ = client.flush();
    });
}
