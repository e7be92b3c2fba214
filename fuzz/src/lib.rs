//! What a fuzzer calls with the bytes that it makes up. `src/bin/noise.rs` calls the same with
//! random ones.

mod binlog;
mod postgres;
mod run_folder;
mod tls_sealing;

use std::sync::Arc;

use truetps_driver::{
    Endpoint, Login, MysqlSession, Params, Password, Session, SessionEvent, Statement, Target, Tls,
    TlsClient, TlsMode,
};
use truetps_record::SqlDialect;

pub use binlog::binlog;
pub use postgres::postgres_session;
pub use run_folder::{run_folder, whole_files};
pub use tls_sealing::tls_sealing;

const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const TOO_MANY: &str = "the server broke the protocol: more packets than the reply has";
/// See [`bring_to`].
const PHASES: u8 = 9;
/// Servers of these plugins greet, with TLS and without.
const PLUGINS: [&str; 4] =
    ["mysql_native_password", "caching_sha2_password", "client_ed25519", "sha256_password"];

/// The first byte says how far the session has come, the second which kind it is, the third how the
/// bytes are cut.
///
/// Whatever comes, a session neither panics nor loops, and where the bytes are cut does not matter.
pub fn mysql_session(data: &[u8]) {
    let [phase, kind, cut, rest @ ..] = data else { return };
    let stream = stream(
        rest,
        kind & 0x80 != 0,
        if *phase % PHASES == 1 { 2 } else { u8::from(*phase % PHASES > 1) },
    );
    let singly = outcome(&mut session(*phase, *kind), &stream, 1);
    for piece in [usize::from(*cut) + 1, stream.len().max(1)] {
        let other = outcome(&mut session(*phase, *kind), &stream, piece);
        // Whether a packet too many is seen together with the reply before it depends on where the
        // bytes are cut.
        if other.0 == TOO_MANY {
            assert!(
                ["Re", "Prepared"].iter().any(|event| singly.0.starts_with(event)),
                "{singly:?} and {other:?}"
            );
        } else {
            assert_eq!(singly.0, other.0);
            // What a session was about to say when it failed is not sent: larger pieces may have
            // less.
            assert!(
                is_random(*phase, *kind) || singly.1.starts_with(&other.1),
                "{singly:?} and {other:?}"
            );
        }
    }
}

/// What is read of a text is printed, and read again as the same.
pub fn dsn(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(mut target) = Target::parse(text) {
        target.login.password = None;
        assert_eq!(Target::parse(&target.to_string()), Ok(target));
    }
}

/// TLS and RSA send other bytes each time.
fn is_random(phase: u8, kind: u8) -> bool {
    phase % PHASES <= 1 || kind & 4 != 0
}

/// Packets with lengths and numbers that fit: of each two bytes of length and then so many others.
/// Or the bytes as they are.
fn stream(mut data: &[u8], is_raw: bool, mut sequence: u8) -> Vec<u8> {
    if is_raw {
        return data.to_vec();
    }
    let mut out = Vec::new();
    while let [low, high, rest @ ..] = data {
        let length = (usize::from(*low) | usize::from(*high & 3) << 8).min(rest.len());
        out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        // The upper bits: a client's packet in between, or one that is out of turn.
        sequence = sequence.wrapping_add(high >> 6);
        out.push(sequence);
        out.extend_from_slice(&rest[..length]);
        sequence = sequence.wrapping_add(1);
        data = &rest[length..];
    }
    out
}

fn session(phase: u8, kind: u8) -> MysqlSession {
    let mode = if kind & 4 != 0 { TlsMode::Preferred } else { TlsMode::Off };
    let target = Target {
        dialect: SqlDialect::Mysql,
        endpoints: vec![if kind & 8 != 0 {
            Endpoint::Unix("/s".into())
        } else {
            Endpoint::Tcp { host: "db.example".to_owned(), port: 1 }
        }],
        login: Login {
            user: "me".to_owned(),
            password: (kind & 16 == 0).then(|| Password::new("secret")),
            database: Some("d".to_owned()),
        },
        tls: Tls { mode, ..Tls::default() },
        setup: Vec::new(),
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    };
    let tls = TlsClient::new(&target.tls).expect("no authorities to read");
    let statements = ["DO ?", "SELECT 1"].map(|sql| Statement::new(sql).expect("no open quote"));
    let prepared = kind & 32 != 0;
    let mut session =
        MysqlSession::new(Arc::new(target), Arc::new(statements), prepared).for_client(0, tls);
    if kind & 64 != 0 {
        session.keep_rows();
    }
    bring_to(&mut session, phase % PHASES, kind, prepared);
    session
}

/// 0: before the greeting. 1: logging in. 2: preparing, or idle. 3: idle. 4: a text statement. 5:
/// an execution. 6: preparing one that is in no list. 7: text whose rows are collected. 8: an
/// execution of the same kind.
fn bring_to(session: &mut MysqlSession, phase: u8, kind: u8, prepared: bool) {
    let mut feed = |bytes: &[u8]| {
        session.on_bytes(bytes, &mut Vec::new()).expect("a server that is as it should be")
    };
    if phase == 0 {
        return;
    }
    feed(&packet(0, &greeting(PLUGINS[usize::from(kind & 3)], phase == 1 && kind & 4 != 0)));
    if phase == 1 {
        return;
    }
    let mut event = feed(&packet(2, OK));
    if phase == 2 {
        return;
    }
    if prepared {
        feed(&packet(1, &[0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]));
        feed(&packet(2, b"param"));
        feed(&packet(3, EOF));
        event = feed(&packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    }
    assert_eq!(event, SessionEvent::Ready);
    let mut params = Params::default();
    params.push_int(1);
    match phase {
        4 => session.send_sql("SELECT 1", &mut Vec::new()),
        5 => session.send(0, &params, &mut Vec::new()),
        6 => session.prepare(b"SELECT ?", &[], &mut Vec::new()).expect("idle"),
        7 => {
            session.collect(Box::default());
            session.send_bytes(b"SELECT 1; SELECT 2", &mut Vec::new());
        }
        8 => {
            session.prepare(b"SELECT ?", &[], &mut Vec::new()).expect("idle");
            let described = [
                packet(1, &[0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
                packet(2, b"param"),
                packet(3, EOF),
            ];
            let event = session
                .on_bytes(&described.concat(), &mut Vec::new())
                .expect("a server that is as it should be");
            assert!(matches!(event, SessionEvent::Prepared(_)));
            session.collect(Box::default());
            session.execute(0, &params, &mut Vec::new()).expect("it was prepared");
        }
        _ => {}
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes();
    bytes[3] = sequence;
    [&bytes, payload].concat()
}

fn greeting(plugin: &str, with_tls: bool) -> Vec<u8> {
    let mut bytes = b"\x0a9.7.4\0\x01\0\0\0abcdefgh\0".to_vec();
    bytes.extend_from_slice(&[0, if with_tls { 0x8a } else { 0x82 }, 45, 2, 0, 0x08, 0, 21]);
    bytes.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0");
    bytes.extend_from_slice(plugin.as_bytes());
    bytes.push(0);
    bytes
}

/// What has come of the stream when it comes in pieces, and all that the session has said.
fn outcome(session: &mut MysqlSession, stream: &[u8], piece: usize) -> (String, Vec<u8>) {
    let mut out = Vec::new();
    for bytes in stream.chunks(piece) {
        match session.on_bytes(bytes, &mut out) {
            Ok(SessionEvent::Pending) => {}
            Ok(event) => return (format!("{event:?}"), out),
            Err(error) => {
                // It is over; a caller who goes on must not be harmed.
                let _ = session.on_bytes(bytes, &mut Vec::new());
                return (error.to_string(), out);
            }
        }
    }
    (session.closed().to_string(), out)
}
