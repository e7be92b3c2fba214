//! Sessions of PostgreSQL in each of their phases.

use std::sync::Arc;

use truetps_driver::{
    Endpoint, Login, Params, Password, PgSession, Session, SessionEvent, Statement, Target, Tls,
};
use truetps_record::SqlDialect;

const PHASES: u8 = 8;

/// The first byte says how far the session has come, the second which kind it is, the third how the
/// bytes are cut. The rest are messages, of a byte of length and then so many others, of which the
/// first is the kind; or bytes as they are.
///
/// Whatever comes, a session neither panics nor loops, and where the bytes are cut does not matter.
pub fn postgres_session(data: &[u8]) {
    let [phase, kind, cut, rest @ ..] = data else { return };
    let stream = if kind & 0x80 != 0 { rest.to_vec() } else { messages(rest) };
    let singly = outcome(session(*phase, *kind), &stream, 1);
    for piece in [usize::from(*cut) + 1, stream.len().max(1)] {
        assert_eq!(singly, outcome(session(*phase, *kind), &stream, piece));
    }
}

fn messages(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [length, rest @ ..] = data {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        out.extend_from_slice(&message(bytes));
        data = rest;
    }
    out
}

/// The kind, the length of the rest, and the rest.
pub(crate) fn message(bytes: &[u8]) -> Vec<u8> {
    let Some((kind, body)) = bytes.split_first() else { return Vec::new() };
    [&[*kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// 0: logging in. 1: set up. 2: preparing its list. 3: a text statement. 4: an execution. 5:
/// preparing one that is in no list. 6: an execution of it. 7: text whose rows are collected.
fn session(phase: u8, kind: u8) -> PgSession {
    let phase = phase % PHASES;
    let target = Target {
        dialect: SqlDialect::Postgres,
        endpoints: vec![Endpoint::Tcp { host: "db.example".to_owned(), port: 1 }],
        login: Login {
            user: "me".to_owned(),
            password: (kind & 16 == 0).then(|| Password::new("secret")),
            database: Some("d".to_owned()),
        },
        tls: Tls::default(),
        setup: if phase == 1 { vec!["SELECT 1".into(), "SET x = 1".into()] } else { Vec::new() },
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    };
    let statements = ["DO ?", "SELECT 1"].map(|sql| Statement::new(sql).expect("no open quote"));
    let prepared = matches!(phase, 2 | 4);
    let mut session = PgSession::new(Arc::new(target), Arc::new(statements), prepared, None, 0);
    let mut out = Vec::new();
    session.start_login(&mut out);
    if kind & 64 != 0 {
        session.keep_rows();
    }
    bring_to(&mut session, phase, &mut out);
    session
}

fn bring_to(session: &mut PgSession, phase: u8, out: &mut Vec<u8>) {
    if phase == 0 {
        return;
    }
    let mut params = Params::default();
    params.push_int(1);
    session
        .on_bytes(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", out)
        .expect("a server that is as it should be");
    match phase {
        3 => session.send(0, &params, out),
        4 => {
            let prepared = session.on_bytes(b"1\0\0\0\x041\0\0\0\x04Z\0\0\0\x05I", out);
            assert!(matches!(prepared, Ok(SessionEvent::Ready)));
            session.send(0, &params, out);
        }
        5 | 6 => {
            session.collect(Box::default());
            session.prepare(b"SELECT 1", &[], out).expect("idle");
            if phase == 6 {
                let described = b"1\0\0\0\x04t\0\0\0\x06\0\0n\0\0\0\x04Z\0\0\0\x05I";
                assert!(matches!(session.on_bytes(described, out), Ok(SessionEvent::Prepared(_))));
                session.execute(0, &Params::default(), out).expect("it was prepared");
            }
        }
        7 => {
            session.collect(Box::default());
            session.send_bytes(b"SELECT 1", out);
        }
        _ => {}
    }
}

/// The last event, or the error that ends it.
fn outcome(mut session: PgSession, stream: &[u8], piece: usize) -> String {
    let (mut outcome, mut out) = ("pending".to_owned(), Vec::new());
    // The empty piece last brings out what came right behind an event.
    for bytes in stream.chunks(piece).chain([&b""[..]]) {
        match session.on_bytes(bytes, &mut out) {
            Ok(SessionEvent::Pending) => {}
            Ok(event) => outcome = format!("{event:?}"),
            Err(truetps_driver::DriverError::Server(error)) => return error.to_string(),
            Err(_) => {
                // It is over; a caller who goes on must not be harmed.
                let _ = session.on_bytes(bytes, &mut Vec::new());
                // Whether a message too many is seen before or behind the end of a reply depends on
                // the cuts.
                return "a broken protocol".to_owned();
            }
        }
        assert!(out.len() < 10_000, "a server cannot make a client say much");
    }
    outcome
}
