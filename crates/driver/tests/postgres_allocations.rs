//! A measured statement costs a PostgreSQL session no allocation: what the driver's decision record claims.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use truetps_driver::{Dialect, Endpoint, Event, Login, Params, PgSession, Session, Statement, Target, Tls};

const ROWS: usize = 100;

fn ready(prepared: bool, out: &mut Vec<u8>) -> PgSession {
    let target = Target {
        dialect: Dialect::Postgres,
        endpoints: vec![Endpoint::Unix("/s".into())],
        login: Login { user: "u".to_owned(), password: None, database: None },
        tls: Tls::default(),
    };
    let statements: Arc<[Statement]> = Arc::new([Statement::new("INSERT INTO t VALUES (?, ?, ?, ?, ?)").unwrap()]);
    let mut session = PgSession::new(Arc::new(target), statements, prepared, None, 0);
    session.begin(out);
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
                    Event::Reply(reply) => assert_eq!((reply.affected_rows, reply.rows), (1, ROWS as u64)),
                    event => panic!("{event:?}"),
                }
            }
        });
        assert_eq!(counted.count_total, 0, "prepared: {prepared}");
    }
}
