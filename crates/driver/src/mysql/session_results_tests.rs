//! Prepared statements and results, as text and as binary values, whatever the pieces.

use super::*;

/// The description of a column of the type INT.
pub(super) const LONG_COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";

/// Prepares a statement of so many parameters and columns, which the server calls 9.
pub(super) fn prepared(session: &mut MysqlSession, params: u8, columns: u8) -> Prepared {
    let mut out = Vec::new();
    session.prepare(b"any \xff", &[ParamType::INT8], &mut out).unwrap();
    assert_eq!(out, b"\x06\0\0\0\x16any \xff");
    let mut payloads: Vec<&[u8]> = Vec::new();
    let answer = [0, 9, 0, 0, 0, columns, 0, params, 0, 0, 0, 0];
    payloads.push(&answer);
    for n in [params, columns].into_iter().filter(|n| *n > 0) {
        payloads.extend(std::iter::repeat_n(LONG_COLUMN, n.into()).chain([EOF]));
    }
    match feed(session, &packets(1, &payloads)).unwrap().0 {
        SessionEvent::Prepared(prepared) => prepared,
        other => panic!("{other:?}"),
    }
}

/// Affected rows, columns and values of each result.
fn seen(reply: &Reply) -> Vec<(u64, u32, Vec<Option<String>>)> {
    let text =
        |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
    let sets = reply.sets.as_ref().unwrap();
    sets.iter()
        .map(|set| (set.affected_rows, set.columns, set.values().map(text).collect()))
        .collect()
}

#[test]
fn versions_are_those_that_the_servers_have() {
    let check = |greeting: &str, expect: &str| assert_eq!(&*version(greeting), expect);
    check("8.0.44-35", "8.0.44-35");
    check("5.5.5-10.11.14-MariaDB", "10.11.14-MariaDB");
    check("5.5.5-log", "5.5.5-log");
    check(&"9".repeat(5000), &"9".repeat(VERSION_CHARS_MAX));
}

#[test]
fn a_statement_is_prepared_executed_and_closed() {
    let mut session = ready(&["DO ?"]);
    assert_eq!(session.server_version(), "9.7.4");
    let first = prepared(&mut session, 1, 2);
    assert_eq!(first, Prepared { handle: 0, params: 1, columns: 2 });
    let second = prepared(&mut session, 0, 0);
    assert_eq!(second.handle, 1);
    let (mut params, mut out) = (Params::default(), Vec::new());
    for (handle, expect) in
        [(0, "number of parameters"), (2, "no statement"), (u32::MAX, "no statement")]
    {
        let error = session.execute(handle, &params, &mut out).unwrap_err();
        assert!(error.to_string().contains(expect) && out.is_empty(), "{error}");
    }
    params.push_int(-2);
    session.execute(0, &params, &mut out).unwrap();
    assert_eq!(
        out,
        b"\x16\0\0\0\x17\x09\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfe\xff\xff\xff\xff\xff\xff\xff"
    );
    out.clear();
    assert!(
        matches!(session.prepare(b"DO 1", &[], &mut out), Err(DriverError::Misuse(_))),
        "one is in flight"
    );
    assert!(session.close_statement(0, &mut out).is_err() && out.is_empty());
    assert!(matches!(
        feed(&mut session, &packet(1, OK)).unwrap().0,
        SessionEvent::Reply(Reply { sets: None, .. })
    ));
    session.close_statement(0, &mut out).unwrap();
    assert_eq!(out, b"\x05\0\0\0\x19\x09\0\0\0");
    assert!(session.close_statement(0, &mut Vec::new()).is_err());
    assert!(session.execute(0, &params, &mut Vec::new()).is_err());
    assert_eq!(prepared(&mut session, 0, 0).handle, 0, "the number is used again");
}

#[test]
fn a_statement_that_is_refused_leaves_the_session_as_it_was() {
    let mut session = ready(&[]);
    session.collect(Box::default());
    session.prepare(b"nonsense", &[], &mut Vec::new()).unwrap();
    let refusal = packet(1, b"\xff\x28\x04#42000syntax");
    let SessionEvent::Reply(reply) = feed(&mut session, &refusal).unwrap().0 else {
        panic!("a reply")
    };
    assert_eq!((reply.error.as_ref().unwrap().code, seen(&reply)), (1064, vec![]));
    assert_eq!(prepared(&mut session, 3, 0).handle, 0);
}

#[test]
fn results_are_collected_as_text() {
    let mut session = ready(&[]);
    session.collect(Box::default());
    session.send_bytes(b"several", &mut Vec::new());
    let more_ok = &[0, 5, 0, 10, 0, 0, 0];
    let more = &[0xfe, 0, 0, 10, 0];
    let bytes = packets(
        1,
        &[more_ok, &[2], b"skimmed", b"skimmed", EOF, b"\xfb\0", b"\x02ab\x01c", more, OK],
    );
    let SessionEvent::Reply(reply) = feed(&mut session, &bytes).unwrap().0 else {
        panic!("a reply")
    };
    let values = vec![None, Some(String::new()), Some("ab".to_owned()), Some("c".to_owned())];
    assert_eq!(seen(&reply), [(5, 0, vec![]), (0, 2, values), (1, 0, vec![])]);
    assert_eq!((reply.affected_rows, reply.rows), (6, 2));

    // The buffer comes again, and the one before it is forgotten. A later statement fails among its
    // rows.
    session.collect(reply.sets.unwrap());
    session.send_bytes(b"several", &mut Vec::new());
    let bytes =
        packets(1, &[more_ok, &[1], b"skimmed", EOF, b"\x01a", b"\xff\x25\x05#70100killed"]);
    let SessionEvent::Reply(reply) = feed(&mut session, &bytes).unwrap().0 else {
        panic!("a reply")
    };
    assert_eq!((seen(&reply), reply.error.unwrap().code), (vec![(5, 0, vec![])], 1317));
    // Nothing was lent this time.
    session.send_bytes(b"DO 1", &mut Vec::new());
    assert!(matches!(
        feed(&mut session, &packet(1, OK)).unwrap().0,
        SessionEvent::Reply(Reply { sets: None, .. })
    ));
}

#[test]
fn binary_results_are_collected_whatever_the_pieces() {
    let reply = packets(
        1,
        &[
            &[2],
            LONG_COLUMN,
            LONG_COLUMN,
            EOF,
            b"\0\x08\x2a\0\0\0",
            b"\0\0\xff\xff\xff\xff\x01\0\0\0",
            EOF,
        ],
    );
    for size in 1..=reply.len() {
        let mut session = ready(&[]);
        let handle = prepared(&mut session, 0, 2).handle;
        session.collect(Box::default());
        session.execute(handle, &Params::default(), &mut Vec::new()).unwrap();
        let mut event = SessionEvent::Pending;
        for bytes in reply.chunks(size) {
            assert_eq!(event, SessionEvent::Pending, "every prefix is one");
            event = feed(&mut session, bytes).unwrap().0;
        }
        let SessionEvent::Reply(reply) = event else { panic!("a reply") };
        assert_eq!(
            seen(&reply),
            [(
                0,
                2,
                vec![Some("42".to_owned()), None, Some("-1".to_owned()), Some("1".to_owned())]
            )]
        );
    }
}

#[test]
fn hostile_results_are_errors() {
    let text = |rows: &[u8]| {
        let mut session = ready(&[]);
        session.collect(Box::default());
        session.send_bytes(b"SELECT", &mut Vec::new());
        feed(&mut session, &packets(1, &[&[2], b"skimmed", b"skimmed", EOF, rows]))
    };
    for row in [
        &b"\x01a"[..],
        b"",
        b"\x01a\x01b\x01c",
        b"\x05abc\0",
        b"\xfd\xff\xff\xffabc",
        b"\x01a\xfe\0",
    ] {
        assert!(text(row).is_err(), "{row:?}");
    }
    let binary = |column: &[u8], row: &[u8]| {
        let mut session = ready(&[]);
        let handle = prepared(&mut session, 0, 1).handle;
        session.collect(Box::default());
        session.execute(handle, &Params::default(), &mut Vec::new()).unwrap();
        feed(&mut session, &packets(1, &[&[1], column, EOF, row]))
    };
    let row = b"\0\0\x2a\0\0\0";
    assert_eq!(binary(LONG_COLUMN, row).unwrap().0, SessionEvent::Pending);
    for length in 0..row.len() {
        assert!(binary(LONG_COLUMN, &row[..length]).is_err(), "{length}");
    }
    for row in [&b"\x01\0\x2a\0\0\0"[..], b"\0\0\x2a\0\0\0\0", b"\0\x04\x2a\0\0\0"] {
        assert!(binary(LONG_COLUMN, row).is_err(), "{row:?}");
    }
    for length in 0..LONG_COLUMN.len() - 2 {
        assert!(binary(&LONG_COLUMN[..length], row).is_err(), "{length}");
    }
}

#[test]
fn nothing_of_a_large_row_stays_with_an_idle_session() {
    let mut session = ready(&[]);
    let row = [&[0xfd, 0x50, 0xc3, 0][..], &vec![b'x'; 50_000]].concat();
    let reply = packets(1, &[&[1], b"column", EOF, &row, EOF]);
    session.collect(Box::default());
    session.send_bytes(b"SELECT", &mut Vec::new());
    let mut event = SessionEvent::Pending;
    for bytes in reply.chunks(30_000) {
        event = feed(&mut session, bytes).unwrap().0;
    }
    let SessionEvent::Reply(reply) = event else { panic!("a reply") };
    assert_eq!(seen(&reply)[0].2[0].as_ref().unwrap().len(), 50_000);
    assert!(session.packets.take_stored().capacity() < 1000);
    assert!(size_of::<MysqlSession>() <= 512, "{}", size_of::<MysqlSession>());
}
