//! A measured statement costs a PostgreSQL session no allocation: what the driver's decision record
//! claims. Nor does one whose rows are collected, of either family.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use truetps_driver::{
    Endpoint, Login, MysqlSession, Params, PgSession, ResultSets, Session, SessionEvent, Statement,
    Target, Tls,
};
use truetps_record::SqlDialect;

const ROWS: usize = 100;

fn ready(prepared: bool, out: &mut Vec<u8>) -> PgSession {
    let target = Target {
        dialect: SqlDialect::Postgres,
        endpoints: vec![Endpoint::Unix("/s".into())],
        login: Login { user: "u".to_owned(), password: None, database: None },
        tls: Tls::default(),
        setup: Vec::new(),
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    };
    let statements: Arc<[Statement]> =
        Arc::new([Statement::new("INSERT INTO t VALUES (?, ?, ?, ?, ?)").unwrap()]);
    let mut session = PgSession::new(Arc::new(target), statements, prepared, None, 0);
    session.start_login(out);
    session.on_bytes(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", out).unwrap();
    if prepared {
        session.on_bytes(b"1\0\0\0\x04Z\0\0\0\x05I", out).unwrap();
    }
    session
}

fn fill(params: &mut Params) {
    params.clear();
    params.push_int(-12_345);
    params.push_double(0.25);
    params.push_null();
    params.push_text(|out| out.extend_from_slice(b"it's"));
    params.push_bytes(|out| out.extend_from_slice(&[0, 0xff]));
}

/// Sends a command a hundred times with a lent buffer, after once that gives the buffers their
/// size.
fn allocations_of_collecting(
    session: &mut dyn Session,
    reply: &[u8],
    mut send: impl FnMut(&mut dyn Session, &mut Vec<u8>),
) -> u64 {
    let (mut out, mut sets) = (Vec::with_capacity(64 << 10), Some(Box::<ResultSets>::default()));
    let mut round = || {
        out.clear();
        session.collect(sets.take().unwrap());
        send(session, &mut out);
        let SessionEvent::Reply(reply) = session.on_bytes(reply, &mut out).unwrap() else {
            panic!("a reply")
        };
        assert_eq!(reply.sets.as_ref().unwrap().get(0).unwrap().rows, ROWS as u64);
        sets = reply.sets;
    };
    round();
    allocation_counter::measure(|| (0..100).for_each(|_| round())).count_total
}

#[test]
fn rows_that_are_collected_in_a_lent_buffer_do_not_allocate() {
    let row = b"D\0\0\0\x0b\0\x01\0\0\0\x01a";
    let rows = [&row.repeat(ROWS)[..], b"C\0\0\0\x0fSELECT 100\0Z\0\0\0\x05I"].concat();
    let mut session = ready(false, &mut Vec::new());
    let text =
        [&b"T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"[..], &rows]
            .concat();
    let found = allocations_of_collecting(&mut session, &text, |session, out| {
        session.send_bytes(b"SELECT", out);
    });
    assert_eq!(found, 0);
    session.prepare(b"SELECT", &[], &mut Vec::new()).unwrap();
    let described = b"1\0\0\0\x04t\0\0\0\x06\0\0T\0\0\0\x06\0\x01Z\0\0\0\x05I";
    assert!(matches!(
        session.on_bytes(described, &mut Vec::new()).unwrap(),
        SessionEvent::Prepared(_)
    ));
    let executed = [&b"2\0\0\0\x04"[..], &rows].concat();
    let params = Params::default();
    let found = allocations_of_collecting(&mut session, &executed, |session, out| {
        session.execute(0, &params, out).unwrap();
    });
    assert_eq!(found, 0);
}

/// Packets that are numbered from `first`.
fn mysql_packets<'a>(first: u8, payloads: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, payload) in payloads.into_iter().enumerate() {
        bytes.extend_from_slice(&[payload.len() as u8, 0, 0, first.wrapping_add(n as u8)]);
        bytes.extend_from_slice(payload);
    }
    bytes
}

#[test]
fn rows_of_mysql_do_not_allocate_either() {
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";
    let mut session =
        MysqlSession::new(Arc::new(Target::mysql_unix("/s", "u", None)), Arc::new([]), true);
    let mut greeting = b"\x0a9.7.4\0\x01\0\0\0abcdefgh\0\0\x82\x2d\x02\0\x08\0\x15".to_vec();
    greeting.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0");
    let mut feed = |bytes: &[u8]| session.on_bytes(bytes, &mut Vec::new()).unwrap();
    feed(&mysql_packets(0, [&greeting[..]]));
    assert_eq!(feed(&mysql_packets(2, [OK])), SessionEvent::Ready);
    let reply = |column: &'static [u8], row: &'static [u8]| {
        let rows = std::iter::repeat_n(row, ROWS);
        mysql_packets(1, [&[1], column, EOF].into_iter().chain(rows).chain([EOF]))
    };
    let text = reply(b"skimmed", b"\x0242");
    let found = allocations_of_collecting(&mut session, &text, |session, out| {
        session.send_bytes(b"SELECT", out);
    });
    assert_eq!(found, 0);
    session.prepare(b"SELECT ?", &[], &mut Vec::new()).unwrap();
    let answer =
        mysql_packets(1, [&[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0][..], COLUMN, EOF, COLUMN, EOF]);
    assert!(matches!(
        session.on_bytes(&answer, &mut Vec::new()).unwrap(),
        SessionEvent::Prepared(_)
    ));
    let mut params = Params::default();
    params.push_int(1);
    let binary = reply(COLUMN, b"\0\0\x2a\0\0\0");
    let found = allocations_of_collecting(&mut session, &binary, |session, out| {
        session.execute(0, &params, out).unwrap();
    });
    assert_eq!(found, 0);
}

#[test]
fn statements_and_their_replies_do_not_allocate() {
    let row = b"D\0\0\0\x0b\0\x01\0\0\0\x01a";
    let end = b"C\0\0\0\x0fINSERT 0 1\0Z\0\0\0\x05I";
    let reply = [&b"2\0\0\0\x04"[..], &row.repeat(ROWS), end].concat();
    for prepared in [false, true] {
        let (mut out, mut params) = (Vec::with_capacity(64 << 10), Params::default());
        let mut session = ready(prepared, &mut out);
        fill(&mut params);
        let counted = allocation_counter::measure(|| {
            for _ in 0..100 {
                out.clear();
                fill(&mut params);
                session.send(0, &params, &mut out);
                match session.on_bytes(&reply, &mut out).unwrap() {
                    SessionEvent::Reply(reply) => {
                        assert_eq!((reply.affected_rows, reply.rows), (1, ROWS as u64));
                    }
                    event => panic!("{event:?}"),
                }
            }
        });
        assert_eq!(counted.count_total, 0, "prepared: {prepared}");
    }
}
