//! A relay in front of a server, which can swallow replies, or everything.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use truetps_batch::CommitSettings;
use truetps_driver::Endpoint;

use crate::tables::TestServer;

/// A reply of this length or shorter is an OK packet: the answer to an INSERT.
const OK_BYTES_MAX: usize = 80;

#[derive(Clone)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    /// So many OK packets are dropped, each with its connection.
    to_drop: Arc<AtomicU32>,
    dropped: Arc<AtomicU32>,
    /// Bytes of both sides vanish, and no connection ends: a cable that is cut, or a firewall that
    /// forgets.
    is_cut: Arc<AtomicBool>,
}

impl Relay {
    /// Threads end with the test's process.
    pub(crate) fn start(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay =
            Self { port, to_drop: Arc::default(), dropped: Arc::default(), is_cut: Arc::default() };
        let (shared, socket) = (relay.clone(), PathBuf::from(socket));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                serve(client, server, &shared);
            }
        });
        relay
    }

    /// A relay in front of this server, and the way through it.
    pub(crate) fn before(server: &TestServer) -> (Self, CommitSettings) {
        server.run("CREATE USER relayed@'%' IDENTIFIED BY ''");
        server.run("GRANT ALL ON gateway.* TO relayed@'%'");
        let relay = Self::start(server.sandbox.socket());
        let mut settings = server.settings();
        settings.target.endpoints =
            vec![Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: relay.port }];
        "relayed".clone_into(&mut settings.target.login.user);
        (relay, settings)
    }

    pub(crate) fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }

    pub(crate) fn drop_replies(&self, count: u32) {
        self.to_drop.store(count, Ordering::SeqCst);
    }

    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::SeqCst)
    }
}

fn serve(mut client: TcpStream, mut server: UnixStream, relay: &Relay) {
    let Relay { to_drop, dropped, is_cut, .. } = relay.clone();
    let is_cut_off = Arc::clone(&is_cut);
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let inserts = Arc::new(AtomicU32::new(0));
    let is_insert = Arc::clone(&inserts);
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_client.read(&mut bytes) {
            let head = &bytes[..length.min(16)];
            is_insert
                .store(u32::from(head.windows(6).any(|word| word == b"INSERT")), Ordering::SeqCst);
            if is_cut_off.load(Ordering::SeqCst) {
                continue;
            }
            if to_server.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(std::net::Shutdown::Both);
    });
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = server.read(&mut bytes) {
            if is_cut.load(Ordering::SeqCst) {
                continue;
            }
            let is_ok = length <= OK_BYTES_MAX
                && bytes.get(4) == Some(&0)
                && inserts.load(Ordering::SeqCst) == 1;
            let drops = || {
                to_drop
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                    .is_ok()
            };
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
