//! Scripted servers, byte for byte.

use proptest::prelude::*;
use truetps_record::SqlDialect;

use super::*;
use crate::{Login, Password, Prepared, Reply, Tls, TlsMode};

#[path = "session_results_tests.rs"]
mod results;

const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

fn target(mode: TlsMode, password: Option<&str>) -> Target {
    Target {
        dialect: SqlDialect::Mysql,
        endpoints: vec![Endpoint::Tcp { host: "db.example".to_owned(), port: 3306 }],
        login: Login {
            user: "me".to_owned(),
            password: password.map(Password::new),
            database: Some("d".to_owned()),
        },
        tls: Tls { mode, ..Tls::default() },
        setup: Vec::new(),
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    }
}

fn session_to(target: Target, sql: &[&str]) -> MysqlSession {
    let tls = TlsClient::new(&target.tls).unwrap();
    let statements = sql.iter().map(|sql| Statement::new(*sql).unwrap()).collect();
    MysqlSession::new(Arc::new(target), statements, true).for_client(0, tls)
}

fn session(sql: &[&str]) -> MysqlSession {
    session_to(target(TlsMode::Off, Some("secret")), sql)
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_packets(&mut out, sequence, |out| out.extend_from_slice(payload));
    out
}

fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    payloads
        .iter()
        .enumerate()
        .flat_map(|(n, payload)| packet(first.wrapping_add(n as u8), payload))
        .collect()
}

/// A greeting with these upper and lower capabilities of the server.
fn greeting(low: u16, plugin: &str) -> Vec<u8> {
    let mut bytes = b"\x0a9.7.4\0\x01\0\0\0abcdefgh\0".to_vec();
    bytes.extend_from_slice(&low.to_le_bytes());
    bytes.extend_from_slice(&[45, 2, 0, 0x08, 0, 21]);
    bytes.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0");
    bytes.extend_from_slice(plugin.as_bytes());
    bytes.push(0);
    packet(0, &bytes)
}

const WITHOUT_TLS: u16 = 0x8200;
const WITH_TLS: u16 = 0x8a00;

/// Feeds bytes and returns what the session sends.
fn feed(session: &mut MysqlSession, bytes: &[u8]) -> Result<(SessionEvent, Vec<u8>), DriverError> {
    let mut out = Vec::new();
    session.on_bytes(bytes, &mut out).map(|event| (event, out))
}

fn ready(sql: &[&str]) -> MysqlSession {
    let mut session = session(sql);
    feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
    let (mut event, _) = feed(&mut session, &packet(2, OK)).unwrap();
    for statement in sql {
        assert_eq!(event, SessionEvent::Pending);
        let params = statement.matches('?').count() as u8;
        let prepared = [0, 9, 0, 0, 0, 0, 0, params, 0, 0, 0, 0];
        event = feed(&mut session, &packet(1, &prepared)).unwrap().0;
        if params > 0 {
            let described: Vec<&[u8]> =
                std::iter::repeat_n(&b"param"[..], params.into()).chain([EOF]).collect();
            event = feed(&mut session, &packets(2, &described)).unwrap().0;
        }
    }
    assert_eq!(event, SessionEvent::Ready);
    session
}

#[test]
fn an_account_with_another_plugin_is_asked_for_again() {
    let mut session = session(&[]);
    let (_, login) = feed(&mut session, &greeting(WITHOUT_TLS, "caching_sha2_password")).unwrap();
    assert!(login.ends_with(b"d\0caching_sha2_password\0"));
    assert_eq!(login[4 + 32..][..4], *b"me\0\x20", "the user, and an answer of 32 bytes");
    let switch = packet(2, b"\xfemysql_native_password\x0001234567890123456789\0");
    let (event, answer) = feed(&mut session, &switch).unwrap();
    assert_eq!((event, answer.len(), answer[3]), (SessionEvent::Pending, 4 + 20, 3));
    assert_eq!(feed(&mut session, &packet(4, OK)).unwrap(), (SessionEvent::Ready, Vec::new()));
}

/// MariaDB 11.6 to 11.8.3 sends PARSEC's salt as it is, 11.8.4 and later behind the byte of a
/// plugin's request (github.com/mysql-net/MySqlConnector/issues/1606).
#[test]
fn both_forms_of_a_parsec_salt_are_answered() {
    let switched = || {
        let mut session = session(&[]);
        feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
        let switch = packet(2, b"\xfeparsec\x0001234567890123456789012345678901");
        assert_eq!(feed(&mut session, &switch).unwrap(), (SessionEvent::Pending, packet(3, b"")));
        session
    };
    for salt in [&b"P\0eighteen bytes salt"[..], b"\x01P\0eighteen bytes salt"] {
        let mut session = switched();
        let (event, answer) = feed(&mut session, &packet(4, salt)).unwrap();
        assert_eq!(
            (event, answer.len(), answer[3]),
            (SessionEvent::Pending, 4 + 32 + 64, 5),
            "{salt:?}"
        );
        assert_eq!(feed(&mut session, &packet(6, OK)).unwrap(), (SessionEvent::Ready, Vec::new()));
    }
    let refusal =
        |payload: &[u8]| feed(&mut switched(), &packet(4, payload)).unwrap_err().to_string();
    let rounds = refusal(b"P\x15eighteen bytes salt");
    assert!(
        rounds.contains("plugin `parsec`") && rounds.contains("more than 1,048,576 rounds"),
        "{rounds}"
    );
    assert!(refusal(b"Q\0salt").contains("unknown answer to the login"));
    assert!(refusal(b"\xff\x15\x04#28000Access denied").contains("Access denied"));
}

#[test]
fn setup_statements_come_between_login_and_preparing() {
    let setup = ["SELECT 1", "SET AUTOCOMMIT=0"];
    let logged_in = || {
        let target = target(TlsMode::Off, Some("secret")).with_setup(setup);
        let mut session = session_to(target, &["SELECT 2"]);
        session.keep_rows();
        feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
        let (event, said) = feed(&mut session, &packet(2, OK)).unwrap();
        assert_eq!((event, said), (SessionEvent::Pending, packet(0, b"\x03SELECT 1")));
        session
    };
    let mut session = logged_in();
    let rows = packets(1, &[b"\x01", b"a column", EOF, b"\x011", EOF]);
    let (event, said) = feed(&mut session, &rows).unwrap();
    assert_eq!((event, said), (SessionEvent::Pending, packet(0, b"\x03SET AUTOCOMMIT=0")));
    let (event, said) = feed(&mut session, &packet(1, OK)).unwrap();
    assert_eq!((event, said), (SessionEvent::Pending, packet(0, b"\x16SELECT 2")));
    let prepared = [0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        feed(&mut session, &packet(1, &prepared)).unwrap(),
        (SessionEvent::Ready, Vec::new())
    );

    let mut session = logged_in();
    let error = feed(&mut session, &packet(1, b"\xff\x28\x04#42000no such thing")).unwrap_err();
    assert_eq!(
        (error.code(), error.class()),
        (1064, truetps_record::ErrorClass::ConnectFailed),
        "{error}"
    );
    assert!(error.to_string().ends_with("; setup statement: SELECT 1"), "{error}");
    // A local file is refused here too.
    let mut session = logged_in();
    assert_eq!(
        feed(&mut session, &packet(1, b"\xfb/etc/passwd")).unwrap(),
        (SessionEvent::Pending, packet(2, b""))
    );
    let error = feed(&mut session, &packet(3, OK)).unwrap_err();
    assert_eq!(error.code(), 2068, "{error}");
    assert!(logged_in().closed().to_string().contains("while setup statements ran"));
}

#[test]
fn plugins_that_are_not_there_are_named() {
    let check = |switch: &[u8], message: &str, hint: &str| {
        let mut session = session(&[]);
        feed(&mut session, &greeting(WITHOUT_TLS, "auth_gssapi_client")).unwrap();
        let error = feed(&mut session, &packet(2, switch)).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            error.hint().unwrap().contains(hint) && error.class().to_string() == "connect_failed"
        );
    };
    check(
        b"\xfedialog\0Password: ",
        "account `me` uses the plugin `dialog`",
        "caching_sha2_password",
    );
    check(b"\xfe", "plugin `mysql_old_password`", "ALTER USER");
    check(b"\xfemysql_clear_password\0", "would send the password itself", "tls=verify-identity");
}

#[test]
fn the_server_s_key_is_used_on_this_machine_or_with_consent() {
    let full_exchange = |host: &str, agrees: bool, switch: &[u8]| {
        let mut target = target(TlsMode::Off, Some("secret"));
        target.endpoints = vec![Endpoint::Tcp { host: host.to_owned(), port: 3306 }];
        target.tls.takes_server_key = agrees;
        let mut session = session_to(target, &[]);
        feed(&mut session, &greeting(WITHOUT_TLS, "caching_sha2_password")).unwrap();
        feed(&mut session, &packet(2, switch))
    };
    let remembers_nothing = b"\x01\x04";
    let another_plugin = b"\xfesha256_password\x0001234567890123456789\0";
    for asks in [&remembers_nothing[..], another_plugin] {
        let error = full_exchange("db.example", false, asks).unwrap_err();
        assert!(error.to_string().contains("may be the key of an attacker"), "{error}");
        assert!(error.hint().unwrap().contains("get_server_public_key=true"));
        for (host, agrees) in
            [("db.example", true), ("127.0.0.1", false), ("::1", false), ("localhost", false)]
        {
            assert!(full_exchange(host, agrees, asks).is_ok(), "{host}");
        }
    }
}

#[test]
fn a_server_that_asks_without_end_is_left() {
    let mut session = session(&[]);
    feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
    let mut sequence = 2_u8;
    let error = loop {
        let switch = packet(sequence, b"\xfemysql_native_password\x0001234567890123456789\0");
        match feed(&mut session, &switch) {
            Ok(_) => sequence = sequence.wrapping_add(2),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("too many plugins in turn") && sequence < 60, "{error}");
}

#[test]
fn tls_is_asked_for_where_it_is_wanted_and_offered() {
    let check = |mode, low, expect: Option<bool>| {
        let mut session = session_to(target(mode, Some("secret")), &[]);
        match (feed(&mut session, &greeting(low, "mysql_native_password")), expect) {
            (Ok((_, out)), Some(true)) => {
                assert_eq!(
                    (out[0], out[3], out[4 + 32], out[4 + 33]),
                    (32, 1, 0x16, 3),
                    "a request, then a hello"
                );
                assert!(!out.windows(3).any(|window| window == b"me\0"), "the login waits");
            }
            (Ok((_, out)), Some(false)) => assert!(out.windows(3).any(|window| window == b"me\0")),
            (Err(error), None) => {
                assert!(error.to_string().contains("does not offer TLS"), "{error}");
            }
            (other, _) => panic!("{mode:?} {other:?}"),
        }
    };
    check(TlsMode::Off, WITH_TLS, Some(false));
    check(TlsMode::Preferred, WITH_TLS, Some(true));
    check(TlsMode::Preferred, WITHOUT_TLS, Some(false));
    check(TlsMode::Required, WITH_TLS, Some(true));
    check(TlsMode::Required, WITHOUT_TLS, None);
}

#[test]
fn what_follows_the_greeting_is_not_read_as_encrypted() {
    let mut session = session_to(target(TlsMode::Required, Some("secret")), &[]);
    let bytes = [greeting(WITH_TLS, "mysql_native_password"), packet(2, OK)].concat();
    let error = feed(&mut session, &bytes).unwrap_err();
    assert!(matches!(error, DriverError::Tls(_)), "{error}");
}

#[test]
fn a_target_with_tls_is_never_plain_by_mistake() {
    let target = target(TlsMode::Required, Some("secret"));
    let mut session = MysqlSession::new(Arc::new(target), Arc::new([]), false);
    assert!(feed(&mut session, &greeting(WITH_TLS, "mysql_native_password")).is_err());
}

#[test]
fn other_servers_are_recognised() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2p1\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x04\0\0\0\x0b1.0",
    ] {
        let error = feed(&mut session(&[]), bytes).unwrap_err().to_string();
        assert!(error.contains("not the greeting of a MySQL-family server"), "{error}");
    }
    let error = feed(&mut session(&[]), &packet(0, b"\x093.20\0\x01\0\0\0abcdefgh\0"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("(3.20)"), "{error}");
    let error =
        feed(&mut session(&[]), &packet(0, b"\xff\x10\x04Too many connections")).unwrap_err();
    assert!(error.code() == 1040 && error.hint().unwrap().contains("max_connections"), "{error}");
}

#[test]
fn a_closed_connection_says_where_it_was() {
    let mut session = session(&["DO ?"]);
    assert!(session.closed().to_string().contains("before it sent anything"));
    feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
    assert!(session.closed().to_string().contains("during the login"));
    feed(&mut session, &packet(2, OK)).unwrap();
    assert!(session.closed().to_string().contains("prepared"));
    assert!(matches!(ready(&[]).closed(), DriverError::Closed));
    let mut session = session_to(target(TlsMode::Required, None), &[]);
    feed(&mut session, &greeting(WITH_TLS, "mysql_native_password")).unwrap();
    assert!(session.closed().to_string().contains("TLS handshake"));
}

#[test]
fn a_file_is_refused_with_an_empty_packet() {
    let mut session = ready(&[]);
    let mut out = Vec::new();
    session.send_sql("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t", &mut out);
    let (event, out) = feed(&mut session, &packet(1, b"\xfb/etc/passwd")).unwrap();
    assert_eq!((event, out), (SessionEvent::Pending, vec![0, 0, 0, 2]));
    let SessionEvent::Reply(reply) = feed(&mut session, &packet(3, OK)).unwrap().0 else {
        panic!("a reply")
    };
    assert!(reply.error.unwrap().message.contains("refused"));
    session.send_sql("DO 1", &mut Vec::new());
    assert!(matches!(
        feed(&mut session, &packet(1, OK)).unwrap().0,
        SessionEvent::Reply(Reply { error: None, .. })
    ));
}

#[test]
fn a_file_that_the_statement_names_is_sent_and_no_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows").display().to_string();
    std::fs::write(&path, "1,a\n").unwrap();
    let load = format!("LOAD DATA LOCAL INFILE '{path}' INTO TABLE t");
    let wanted = |name: &str| packet(1, &[b"\xfb", name.as_bytes()].concat());
    let sending = || {
        let target = Target { sends_local_files: true, ..target(TlsMode::Off, Some("secret")) };
        let mut session = session_to(target, &[]);
        feed(&mut session, &greeting(WITHOUT_TLS, "mysql_native_password")).unwrap();
        feed(&mut session, &packet(2, OK)).unwrap();
        session
    };

    let mut session = sending();
    session.send_sql(&load, &mut Vec::new());
    assert_eq!(feed(&mut session, &wanted(&path)).unwrap(), (SessionEvent::Pending, Vec::new()));
    let mut sent = Vec::new();
    while session.has_more_to_send() {
        session.put_more(&mut sent);
    }
    assert_eq!(sent, packets(2, &[b"1,a\n", b""]));
    let SessionEvent::Reply(reply) = feed(&mut session, &packet(4, OK)).unwrap().0 else {
        panic!("a reply")
    };
    assert_eq!((reply.affected_rows, reply.error), (1, None));

    // The same session; a statement that names no file, another file, and a second time.
    for (sql, name) in
        [("SELECT 1", path.as_str()), (&load, "/etc/passwd"), ("SELECT 1", "/etc/passwd")]
    {
        session.send_sql(sql, &mut Vec::new());
        assert_eq!(
            feed(&mut session, &wanted(name)).unwrap(),
            (SessionEvent::Pending, vec![0, 0, 0, 2])
        );
        let SessionEvent::Reply(reply) = feed(&mut session, &packet(3, OK)).unwrap().0 else {
            panic!("a reply")
        };
        assert!(reply.error.unwrap().message.contains("refused"));
    }

    let mut early = sending();
    early.send_sql(&load, &mut Vec::new());
    feed(&mut early, &wanted(&path)).unwrap();
    assert!(
        matches!(feed(&mut early, &packet(2, OK)), Err(DriverError::Protocol(_))),
        "a reply amid the file"
    );
}

#[test]
fn executions_with_rows_are_counted_and_not_kept() {
    let mut session = ready(&["SELECT ?"]);
    session.keep_rows();
    let mut params = Params::default();
    params.push_int(1);
    session.send(0, &params, &mut Vec::new());
    let binary_row = b"\0\0\x01\0\0\0\0\0\0\0";
    let reply = packets(1, &[&[1], b"column", EOF, binary_row, binary_row, EOF]);
    let SessionEvent::Reply(reply) = feed(&mut session, &reply).unwrap().0 else {
        panic!("a reply")
    };
    assert_eq!((reply.rows, reply.result, reply.error), (2, None, None));
}

#[test]
fn the_reply_to_a_long_statement_counts_on() {
    let mut session = ready(&[]);
    session.send_sql(&"x".repeat(40_000_000), &mut Vec::new());
    assert!(matches!(
        feed(&mut session, &packet(3, OK)).unwrap().0,
        SessionEvent::Reply(Reply { error: None, .. })
    ));
}

#[test]
fn an_unexpected_packet_is_an_error_with_the_server_s_reason() {
    let idle =
        b"\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity.";
    let error = feed(&mut ready(&[]), &packet(0, idle)).unwrap_err();
    assert!(error.code() == 4031 && error.class().to_string() == "connection_lost", "{error}");
    let mut session = ready(&[]);
    let sequence = session.packets.sequence;
    assert!(
        feed(&mut session, &packet(sequence, OK))
            .unwrap_err()
            .to_string()
            .contains("an unexpected reply")
    );
}

#[test]
fn an_error_that_ends_the_session_does_not_change_the_reply_before_it() {
    let closing_error = packet(0, b"\xff\x1d\x04#08S01Server shutdown in progress");
    let mut session = ready(&[]);
    session.send_sql("SHUTDOWN", &mut Vec::new());
    let (event, _) = feed(&mut session, &[packet(1, OK), closing_error.clone()].concat()).unwrap();
    assert!(matches!(event, SessionEvent::Reply(Reply { error: None, .. })), "{event:?}");
    session.send_sql("DO 1", &mut Vec::new());
    let error = feed(&mut session, &[packet(1, OK), packet(2, OK)].concat()).unwrap_err();
    assert!(error.to_string().contains("more packets"), "{error}");
}

#[test]
fn long_rows_use_no_memory_where_they_are_not_kept() {
    let mut session = ready(&[]);
    session.send_sql("SELECT REPEAT('x', 40000000)", &mut Vec::new());
    let row = vec![b'x'; 40_000_000];
    let mut stream = packets(1, &[&[1], b"column", EOF]);
    let next = put_packets(&mut stream, 4, |out| out.extend_from_slice(&row));
    stream.extend(packet(next, EOF));
    let mut event = SessionEvent::Pending;
    for bytes in stream.chunks(65_536) {
        assert_eq!(event, SessionEvent::Pending);
        event = feed(&mut session, bytes).unwrap().0;
        assert!(session.packets.take_stored().capacity() < 100_000);
    }
    assert!(matches!(event, SessionEvent::Reply(Reply { rows: 1, error: None, .. })));
}

/// All events until the session is ready or has failed, for bytes cut at `cuts`; and all that it
/// said. What it was about to say when it failed is not sent, so that a stream in larger pieces may
/// have less.
fn outcome(
    session: &mut MysqlSession,
    bytes: &[u8],
    piece: impl Fn(usize) -> usize,
) -> (String, Vec<u8>) {
    let (mut out, mut at, mut n) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = (at + piece(n).max(1)).min(bytes.len());
        match session.on_bytes(&bytes[at..end], &mut out) {
            Ok(SessionEvent::Pending) => {}
            Ok(event) => return (format!("{event:?}"), out),
            Err(error) => return (error.to_string(), out),
        }
        (at, n) = (end, n + 1);
    }
    ("pending".to_owned(), out)
}

fn is_error(outcome: &str) -> bool {
    !["pending", "Ready", "Reply", "Prepared"].iter().any(|event| outcome.starts_with(event))
}

/// Sessions in each of their phases, and the sequence number that comes next.
fn in_phase(phase: u8) -> (MysqlSession, u8) {
    let mut session = match phase {
        0 => return (session(&["DO ?"]), 0),
        1 | 2 => session(&["DO ?"]),
        _ => ready(&["DO ?"]),
    };
    match phase {
        1 | 2 => {
            feed(&mut session, &greeting(WITHOUT_TLS, "caching_sha2_password")).unwrap();
            if phase == 1 {
                return (session, 2);
            }
            feed(&mut session, &packet(2, OK)).unwrap();
        }
        3 => return (session, 0),
        4 => session.send_sql("SELECT 1", &mut Vec::new()),
        6 => session.prepare(b"SELECT ?", &[], &mut Vec::new()).unwrap(),
        7 => {
            session.collect(Box::default());
            session.send_bytes(b"SELECT 1; SELECT 2", &mut Vec::new());
        }
        8 => {
            let handle = results::prepared(&mut session, 0, 1).handle;
            session.collect(Box::default());
            session.execute(handle, &Params::default(), &mut Vec::new()).unwrap();
        }
        _ => {
            session.keep_rows();
            session.send_sql("SELECT 1", &mut Vec::new());
        }
    }
    (session, 1)
}

/// Payloads that lead somewhere, and some that do not.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 19] = [
        OK,
        EOF,
        &[1],
        b"\0\0\0\0\x01a",
        b"\x011",
        b"\xfe\0\0\x0a\0",
        b"\xff\xbd\x04#40001Deadlock",
        b"\xfb/etc/passwd",
        b"\x01\x04",
        b"\x01\x03",
        b"\xfeclient_ed25519\x0001234567890123456789012345678901",
        b"\xfeparsec\x0001234567890123456789012345678901",
        b"P\x15eighteen bytes salt",
        b"\x01P\xff",
        &[0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        &[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
        results::LONG_COLUMN,
        b"\0\0\x01\0\0\0",
        &[0xfe, 0, 0, 10, 0],
    ];
    prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => prop::collection::vec(any::<u8>(), 65_530..65_540),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn where_the_bytes_are_cut_changes_nothing(
        phase in 0..9_u8,
        payloads in prop::collection::vec(payload(), 0..6),
        noise in prop::collection::vec(any::<u8>(), 0..12),
        pieces in prop::collection::vec(1..50_usize, 1..20),
    ) {
        let (mut whole, sequence) = in_phase(phase);
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let mut bytes = packets(sequence, &payloads);
        bytes.extend(noise);
        let at_once = outcome(&mut whole, &bytes, |_| usize::MAX / 2);
        let singly = outcome(&mut in_phase(phase).0, &bytes, |_| 1);
        let cut = outcome(&mut in_phase(phase).0, &bytes, |n| pieces[n % pieces.len()]);
        // Whether a packet too many is seen together with the reply before it depends on where the
        // bytes are cut.
        let too_many = "the server broke the protocol: more packets than the reply has";
        for other in [&at_once, &cut] {
            if other.0 == too_many {
                prop_assert!(["Re", "Prepared"].iter().any(|event| singly.0.starts_with(event)), "{}", singly.0);
            } else {
                prop_assert_eq!(&singly.0, &other.0);
                prop_assert!(singly.1.starts_with(&other.1));
                prop_assert!(singly.1 == other.1 || is_error(&singly.0), "{singly:?} and {other:?}");
            }
        }
    }

    #[test]
    fn noise_leads_nowhere_and_ends(phase in 0..9_u8, noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let (mut session, _) = in_phase(phase);
        let mut out = Vec::new();
        for bytes in noise.chunks(7) {
            let _ = session.on_bytes(bytes, &mut out);
        }
    }
}
