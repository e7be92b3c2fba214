//! Whatever a server sends: no panic, and the same outcome in any pieces.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use truetps_driver::{
    Endpoint, Login, Params, Password, PgSession, Prepared, Reply, Session, SessionEvent,
    Statement, Target, Tls, TlsClient, TlsMode,
};
use truetps_record::SqlDialect;

/// How far a session is before the bytes come.
#[derive(Debug, Clone, Copy)]
enum Start {
    Login,
    TlsAsked,
    SettingUp,
    Preparing,
    Simple,
    Extended,
    /// A statement that is not in the list is being prepared.
    PreparingOne,
    /// It was executed, and its rows are collected.
    Executed,
    Collecting,
}

fn target() -> Target {
    Target {
        dialect: SqlDialect::Postgres,
        endpoints: vec![Endpoint::Tcp { host: "localhost".to_owned(), port: 5432 }],
        login: Login { user: "u".to_owned(), password: Some(Password::new("p")), database: None },
        tls: Tls::default(),
        setup: Vec::new(),
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    }
}

fn session(start: Start, keeps_rows: bool) -> PgSession {
    let tls = matches!(start, Start::TlsAsked)
        .then_some(Tls { mode: TlsMode::Preferred, ..Tls::default() });
    let tls = tls.and_then(|tls| TlsClient::new(&tls).unwrap());
    let prepared = matches!(start, Start::Preparing | Start::Extended);
    let statements: Arc<[Statement]> = Arc::new([Statement::new("SELECT ?").unwrap()]);
    let setup = matches!(start, Start::SettingUp).then_some(["SELECT 1", "SET x = 1"]);
    let target = target().with_setup(setup.into_iter().flatten());
    let mut session = PgSession::new(Arc::new(target), statements, prepared, tls, 0);
    let mut out = Vec::new();
    session.start_login(&mut out);
    if keeps_rows {
        session.keep_rows();
    }
    let mut feed = |bytes: &[u8]| session.on_bytes(bytes, &mut out).unwrap();
    if !matches!(start, Start::Login | Start::TlsAsked) {
        feed(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
    }
    if matches!(start, Start::Extended) {
        assert_eq!(feed(b"1\0\0\0\x04Z\0\0\0\x05I"), SessionEvent::Ready);
    }
    if matches!(start, Start::Simple | Start::Extended) {
        let mut params = Params::default();
        params.push_int(1);
        session.send(0, &params, &mut out);
    }
    if matches!(start, Start::PreparingOne | Start::Executed) {
        session.collect(Box::default());
        session.prepare(b"SELECT 1", &[], &mut out).unwrap();
    }
    if matches!(start, Start::Executed) {
        let described = b"1\0\0\0\x04t\0\0\0\x06\0\0n\0\0\0\x04Z\0\0\0\x05I";
        assert!(matches!(
            session.on_bytes(described, &mut out).unwrap(),
            SessionEvent::Prepared(_)
        ));
        session.execute(0, &Params::default(), &mut out).unwrap();
    }
    if matches!(start, Start::Collecting) {
        session.collect(Box::default());
        session.send_bytes(b"SELECT 1", &mut out);
    }
    session
}

/// What a session makes of a stream: the last event, or the error's text, which ends it.
#[derive(Debug, PartialEq)]
enum Outcome {
    Nothing,
    Ready,
    Reply(Reply),
    Prepared(Prepared),
    Error,
    ServerError(String),
}

fn outcome(mut session: PgSession, pieces: &[&[u8]]) -> Outcome {
    let (mut outcome, mut out) = (Outcome::Nothing, Vec::new());
    // The empty piece last brings out what came right behind an event.
    for piece in pieces.iter().chain([&&b""[..]]) {
        match session.on_bytes(piece, &mut out) {
            Ok(SessionEvent::Pending) => {}
            Ok(SessionEvent::Ready) => outcome = Outcome::Ready,
            Ok(SessionEvent::Prepared(prepared)) => outcome = Outcome::Prepared(prepared),
            Ok(SessionEvent::Reply(reply)) => outcome = Outcome::Reply(reply),
            Err(truetps_driver::DriverError::Server(error)) => {
                return Outcome::ServerError(error.to_string());
            }
            Err(_) => return Outcome::Error,
        }
        // A server cannot make the client say much.
        assert!(out.len() < 10_000);
    }
    outcome
}

/// A message whose body is noise, or what its kind has in truth.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let kinds = b"RKZSNAETDCI123nsvGHWdct\0";
    let noise = (prop::sample::select(&kinds[..]), vec(any::<u8>(), 0..20));
    let real = prop::sample::select(vec![
        (b'Z', b"I".to_vec()),
        (b'Z', b"E".to_vec()),
        (b'2', vec![]),
        (b'1', vec![]),
        (b'3', vec![]),
        (b'n', vec![]),
        (b't', b"\0\x01\0\0\0\x14".to_vec()),
        (b'I', vec![]),
        (b'G', vec![0, 0, 0]),
        (b'H', vec![0, 0, 0]),
        (b'C', b"INSERT 0 3\0".to_vec()),
        (b'C', b"SELECT 1\0".to_vec()),
        (b'D', b"\0\x01\0\0\0\x01a".to_vec()),
        (b'D', b"\0\x02\0\0\0\x01a\xff\xff\xff\xff".to_vec()),
        (b'T', b"\0\x01name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0".to_vec()),
        (b'E', b"VERROR\0C40P01\0Mdeadlock\0\0".to_vec()),
        (b'E', b"VFATAL\0C57P01\0Mbye\0\0".to_vec()),
        (b'S', b"TimeZone\0UTC\0".to_vec()),
        (b'R', vec![0, 0, 0, 0]),
        (b'R', b"\0\0\0\x05salt".to_vec()),
        (b'R', b"\0\0\0\x0bv=rmF9pqV8S7suAoZWja4dJRkFsKQ=".to_vec()),
    ]);
    let lengths = prop_oneof![20 => Just(0_i32), 1 => -5..5_i32, 1 => any::<i32>()];
    (prop_oneof![2 => real, 1 => noise], lengths).prop_map(|((kind, body), wrong_by)| {
        let length = (body.len() as i32 + 4).wrapping_add(wrong_by);
        [&[kind][..], &length.to_be_bytes(), &body].concat()
    })
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(message(), 0..12).prop_map(|messages| messages.concat()),
        1 => vec(any::<u8>(), 0..100),
    ]
}

fn start() -> impl Strategy<Value = Start> {
    prop::sample::select(vec![
        Start::Login,
        Start::TlsAsked,
        Start::SettingUp,
        Start::Preparing,
        Start::Simple,
        Start::Extended,
        Start::PreparingOne,
        Start::Executed,
        Start::Collecting,
    ])
}

/// Cuts a stream at places that are given in thousandths of it.
fn cut<'a>(stream: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place * stream.len() / 1000).collect();
    places.sort_unstable();
    let (mut pieces, mut from) = (Vec::new(), 0);
    for place in places {
        pieces.push(&stream[from..place]);
        from = place;
    }
    pieces.push(&stream[from..]);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_pieces_have_one_outcome(
        start in start(),
        keeps_rows: bool,
        stream in stream(),
        places in vec(0..=1000_usize, 0..5),
    ) {
        // The answer to a request for TLS is one byte and nothing may come with it: there pieces do
        // matter.
        let whole = outcome(session(start, keeps_rows), &[&stream]);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        if matches!(start, Start::TlsAsked) {
            outcome(session(start, keeps_rows), &bytes);
        } else {
            prop_assert_eq!(&outcome(session(start, keeps_rows), &cut(&stream, &places)), &whole);
            prop_assert_eq!(&outcome(session(start, keeps_rows), &bytes), &whole);
        }
    }
}

#[test]
fn a_whole_conversation_reaches_its_replies() {
    let reply = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x01aC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let expect = Reply { rows: 1, ..Reply::default() };
    assert_eq!(outcome(session(Start::Extended, false), &[reply]), Outcome::Reply(expect));
    assert_eq!(
        outcome(session(Start::Preparing, false), &[b"1\0\0\0\x04Z\0\0\0\x05I"]),
        Outcome::Ready
    );
    let selected = b"D\0\0\0\x0b\0\x01\0\0\0\x01aC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let set = b"C\0\0\0\x08SET\0Z\0\0\0\x05I";
    assert_eq!(outcome(session(Start::SettingUp, false), &[selected]), Outcome::Nothing);
    assert_eq!(outcome(session(Start::SettingUp, true), &[selected, set]), Outcome::Ready);
    // An answer without an end is no success.
    assert_eq!(outcome(session(Start::Simple, false), &[b"Z\0\0\0\x05I"]), Outcome::Error);
    // Nor is a second one behind the first.
    let twice = [&reply[..], &reply[..]].concat();
    assert_eq!(outcome(session(Start::Extended, false), &[&twice]), Outcome::Error);
}

#[test]
fn nothing_may_come_with_the_answer_to_the_request_for_tls() {
    for (answer, expect) in
        [(&b"S"[..], Outcome::Nothing), (b"N", Outcome::Nothing), (b"E", Outcome::Error)]
    {
        assert_eq!(outcome(session(Start::TlsAsked, false), &[answer]), expect);
        let injected = [answer, b"R\0\0\0\x08\0\0\0\0"].concat();
        assert_eq!(outcome(session(Start::TlsAsked, false), &[&injected]), Outcome::Error);
    }
}
