//! Statements that are in no list, on a real PostgreSQL.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use truetps_driver::{
    Connector, DriverError, ParamType, Scratch, SessionEvent, Statement, Target, Tls, TlsMode,
    TransactionStatus,
};
use truetps_testkit::{PostgresOptions, PostgresServer, TlsFiles};

use crate::support::ad_hoc::{AdHoc, texts};

fn server(test: &str) -> Option<PostgresServer> {
    PostgresServer::start(test, &PostgresOptions::default())
}

fn text(value: &[u8]) -> impl FnOnce(&mut Vec<u8>) {
    move |out| out.extend_from_slice(value)
}

#[test]
fn several_statements_and_one_that_fails() {
    let Some(server) = server("several_statements") else { return };
    let mut link = AdHoc::connect(&server.target());
    link.sets("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2)");
    let sets = link.sets(
        "SELECT 1, NULL; UPDATE t SET b = 0; SELECT a FROM t WHERE a > 5; ; SET lock_timeout = 0",
    );
    let row = vec![Some(b"1".to_vec()), None];
    assert_eq!(sets, [(0, 2, vec![row]), (2, 0, vec![]), (0, 1, vec![]), (0, 0, vec![])]);
    assert_eq!(link.sets("DELETE FROM t WHERE a = 2 RETURNING b"), [(1, 1, vec![texts(&["0"])])]);
    assert_eq!(link.sets(""), [(0, 0, vec![])]);

    let (reply, sets) =
        link.run("SELECT 7; SELECT g, 1 / (3 - g) FROM generate_series(1, 5) g; SELECT 8");
    assert_eq!((reply.error.unwrap().sqlstate.as_str(), sets.len()), ("22012", 1));
    assert_eq!(link.sets("SELECT 9")[0].2, [texts(&["9"])]);
    let (reply, sets) = link.run(b"SELECT '\xff'");
    assert_eq!((reply.error.unwrap().sqlstate.as_str(), sets.len()), ("22021", 0));
    let (reply, _) = link.run(b"SELECT 1\0; SELECT 2");
    assert_eq!(reply.error.unwrap().sqlstate, "08P01");
    assert_eq!(link.sets("SELECT 10")[0].2, [texts(&["10"])]);
}

#[test]
fn statements_are_prepared_executed_and_closed_at_any_time() {
    let Some(server) = server("prepared_at_any_time") else { return };
    let mut link = AdHoc::connect(&server.target());
    link.sets("CREATE TABLE t (i bigint, d float8, s text, b bytea, n int)");
    let insert = link.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)");
    assert_eq!((insert.handle, insert.params, insert.columns), (0, 5, 0));
    let (reply, sets) = link.execute(insert.handle, |params| {
        params.push_int(i64::MIN);
        params.push_double(-1.5e-300);
        params.push_text(text("it's a \\ ?".as_bytes()));
        params.push_bytes(text(&[0, 0xff]));
        params.push_null();
    });
    assert_eq!((reply.error, reply.affected_rows, sets), (None, 1, vec![(1, 0, vec![])]));
    let select = link
        .try_prepare("SELECT i, d, s, b, n, '?' FROM t WHERE i = ?", &[ParamType::INT8])
        .unwrap();
    assert_eq!((select.handle, select.params, select.columns), (1, 1, 6));
    let (_, sets) = link.execute(select.handle, |params| params.push_int(i64::MIN));
    let mut row = texts(&["-9223372036854775808", "-1.5e-300", "it's a \\ ?", "\\x00ff"]);
    row.extend([None, Some(b"?".to_vec())]);
    assert_eq!(sets, [(0, 6, vec![row])]);
    // None are there, and how many columns there would be is known all the same.
    assert_eq!(link.execute(select.handle, |params| params.push_int(5)).1, [(0, 6, vec![])]);
    // Statements of a fixed list are not affected.
    assert!(link.execute(select.handle, |params| params.push_text(text(b"x"))).0.error.is_some());

    for _ in 0..2 {
        let echo = link.prepare("SELECT ?::text");
        assert_eq!(
            link.execute(echo.handle, |params| params.push_text(text(b"x"))).1[0].2,
            [texts(&["x"])]
        );
        link.close(echo.handle);
    }
    let refused = link.try_prepare("SELECT nonsense", &[]).unwrap_err();
    assert_eq!(refused.error.unwrap().sqlstate, "42703");
    assert!(link.misuse(select.handle, |_| {}).contains("number of parameters"));
    assert!(link.misuse(77, |_| {}).contains("no statement is open"));
    let zero = link.link.prepare(b"SELECT 1\0", &[], &mut link.scratch).unwrap_err();
    assert!(matches!(zero, DriverError::Misuse(_)), "{zero}");

    link.close(select.handle);
    assert!(
        link.misuse(select.handle, |params| params.push_int(1)).contains("no statement is open")
    );
    let again = link.prepare("SELECT ?::text");
    assert_eq!(again.handle, select.handle);
    assert_eq!(
        link.execute(again.handle, |params| params.push_text(text(b"x"))).1[0].2,
        [texts(&["x"])]
    );
    link.close(again.handle);
    link.close(insert.handle);
    let open = link.sets("SELECT count(*) FROM pg_prepared_statements");
    assert_eq!(open[0].2, [texts(&["0"])]);
}

#[test]
fn a_failed_transaction_is_reported_and_statements_are_closed_in_it() {
    let Some(server) = server("a_failed_transaction") else { return };
    let mut link = AdHoc::connect(&server.target());
    let status = |link: &AdHoc| link.link.session().transaction_status().unwrap();
    assert_eq!(status(&link), TransactionStatus::Idle);
    let one = link.prepare("SELECT 1");
    link.sets("BEGIN");
    assert_eq!(status(&link), TransactionStatus::InTransaction);
    let refused = link.try_prepare("SELECT nonsense", &[]).unwrap_err();
    assert!(refused.error.is_some());
    assert_eq!(status(&link), TransactionStatus::Failed);
    link.close(one.handle);
    assert_eq!(link.run("SELECT 1").0.error.unwrap().sqlstate, "25P02");
    link.sets("ROLLBACK");
    assert_eq!(status(&link), TransactionStatus::Idle);
    assert_eq!(link.prepared_sets("SELECT 2")[0].2, [texts(&["2"])]);
    let version = link.link.session().server_version().to_owned();
    assert_eq!(link.sets("SHOW server_version")[0].2, [texts(&[&version])]);
}

#[test]
fn statements_of_the_list_are_collected_too_and_stay_apart() {
    let Some(server) = server("statements_of_the_list") else { return };
    let statements = [Statement::new("SELECT ?::int WHERE 1 = ?").unwrap()];
    let connector = Connector::new(server.target(), statements.into(), true).unwrap();
    let mut scratch = Scratch::default();
    let mut link = connector.connect(0, &mut scratch, None).unwrap();
    link.prepare(b"SELECT 'ad hoc'", &[], &mut scratch).unwrap();
    assert!(matches!(link.wait(&mut scratch, None).unwrap(), SessionEvent::Prepared(_)));
    for (found, rows) in [(1, 1), (2, 0)] {
        scratch.params.clear();
        scratch.params.push_int(5);
        scratch.params.push_int(found);
        link.collect(Box::default());
        link.send(0, &mut scratch).unwrap();
        let SessionEvent::Reply(reply) = link.wait(&mut scratch, None).unwrap() else {
            panic!("a reply")
        };
        let set = reply.sets.as_ref().unwrap().get(0).unwrap();
        assert_eq!(
            (set.columns, set.rows, set.values().all(|value| value == Some(b"5"))),
            (1, rows, true)
        );
    }
    link.quit(&mut scratch);
}

#[test]
fn results_that_are_too_large_are_passed_over() {
    let Some(server) = server("results_that_are_too_large") else { return };
    let mut link = AdHoc::connect(&server.target());
    let (reply, sets) =
        link.run("SELECT 1; SELECT repeat('x', 30000000) FROM generate_series(1, 10)");
    assert_eq!((reply.error.unwrap().sqlstate.as_str(), sets.len(), reply.rows), ("53200", 0, 11));
    assert_eq!(link.sets("SELECT 3")[0].2, [texts(&["3"])]);
}

/// Writes a file that the server, which may be another user, can read.
fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    path
}

#[test]
fn a_client_shows_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let ca_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = write(folder.path(), "ca.pem", &params.self_signed(&ca_key).unwrap().pem());
    let issuer = Issuer::new(params, ca_key);
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
    };
    let ((certificate_pem, key_pem), (cert, key)) = (signed("localhost"), signed("truetps"));
    let options = PostgresOptions {
        hba: vec!["local all all trust".to_owned(), "hostssl all all 127.0.0.1/32 cert".to_owned()],
        tcp: true,
        tls: Some(TlsFiles { certificate_pem, key_pem }),
        settings: vec![("ssl_ca_file".to_owned(), ca.display().to_string())],
    };
    let Some(server) = PostgresServer::start("a_client_shows_its_certificate", &options) else {
        return;
    };
    let (cert, key) =
        (write(folder.path(), "client.pem", &cert), write(folder.path(), "client.key", &key));
    let target = |cert: Option<&Path>, key: Option<&Path>| Target {
        tls: Tls {
            mode: TlsMode::Required,
            cert: cert.map(Into::into),
            key: key.map(Into::into),
            ..Tls::default()
        },
        ..server.tcp_target_for("127.0.0.1", "truetps", None)
    };
    let mut link = AdHoc::connect(&target(Some(&cert), Some(&key)));
    let name = link.sets("SELECT client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    assert!(String::from_utf8_lossy(name[0].2[0][0].as_ref().unwrap()).contains("CN=truetps"));
    let refused = |target: &Target| {
        truetps_driver::Client::connect(target, std::time::Duration::from_secs(20)).map(drop)
    };
    let error = refused(&target(None, None)).unwrap_err();
    assert!(error.hint().unwrap().contains("cert=FILE"), "{error}");
    let error = refused(&target(Some(&cert), None)).unwrap_err().to_string();
    assert!(error.contains("client.pem: a certificate needs its key"), "{error}");
}
