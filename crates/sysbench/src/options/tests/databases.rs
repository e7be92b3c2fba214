use std::path::PathBuf;

use truetps_driver::{Login, Password, TlsMode};

use super::*;

fn mysql(words: &[&str]) -> Result<MysqlSettings, OptionRefusal> {
    options(words, &[])?.mysql()
}

fn pgsql(words: &[&str]) -> Result<PgsqlSettings, OptionRefusal> {
    options(words, &[])?.pgsql()
}

#[test]
fn defaults_match_sysbench() {
    let sbtest = Login { user: "sbtest".into(), password: None, database: Some("sbtest".into()) };
    let server = mysql(&[]).unwrap();
    assert_eq!(
        (server.hosts, server.ports, server.sockets),
        (vec!["localhost".to_owned()], vec![3306], vec![])
    );
    assert_eq!(server.login, sbtest);
    assert_eq!((server.ssl, server.ssl_files), (TlsMode::Off, SslFiles::default()));
    assert_eq!((server.compression, server.dry_run), (false, false));
    assert_eq!(server.ignore_errors, IgnoredErrors::Numbers(vec![1213, 1020, 1205]));
    let server = pgsql(&[]).unwrap();
    let texts =
        [server.host, server.port, server.user, server.password, server.database, server.sslmode];
    assert_eq!(texts, ["localhost", "5432", "sbtest", "", "sbtest", ""]);
    assert_eq!(
        server.ignore_errors,
        IgnoredErrors::States(vec!["40P01".into(), "23505".into(), "40001".into()])
    );
    let emulates = |words: &[&str]| options(words, &[]).unwrap().emulates_prepared().unwrap();
    assert!(!emulates(&[]) && emulates(&["--db-ps-mode=disable"]));
}

#[test]
fn servers_are_what_was_typed() {
    let server = mysql(&[
        "--mysql-host=a,b",
        "--mysql_port=1,2",
        "--mysql-socket=/s",
        "--mysql-password=p,=",
        "--mysql-ignore-errors=1062,x,all",
        "--mysql-dry-run",
    ])
    .unwrap();
    assert_eq!((server.hosts, server.ports), (vec!["a".to_owned(), "b".to_owned()], vec![1, 2]));
    assert_eq!(
        (server.sockets, server.login.password),
        (vec![PathBuf::from("/s")], Some(Password::new("p,=")))
    );
    assert_eq!((server.ignore_errors, server.dry_run), (IgnoredErrors::All, true));
    assert_eq!(mysql(&["--mysql-db="]).unwrap().login.database, None);
    assert_eq!(
        mysql(&["--mysql-socket=/s", "--mysql-socket="]).unwrap().sockets,
        Vec::<PathBuf>::new()
    );
    assert_eq!(
        mysql(&["--mysql-ignore-errors=none"]).unwrap().ignore_errors,
        IgnoredErrors::Numbers(vec![])
    );
    let server =
        pgsql(&["--pgsql-ignore-errors=40p01", "--pgsql-sslmode=verify-full", "--pgsql-port=1"])
            .unwrap();
    assert_eq!(server.ignore_errors, IgnoredErrors::States(vec!["40P01".into()]));
    assert_eq!((server.sslmode.as_str(), server.port.as_str()), ("verify-full", "1"));
}

#[test]
fn tls_is_a_switch_or_a_mode() {
    for (words, mode) in [
        (&["--mysql-ssl"][..], TlsMode::Required),
        (&["--mysql-ssl=on"], TlsMode::Required),
        (&["--mysql-ssl=off"], TlsMode::Off),
        (&["--mysql-ssl=REQUIRED"], TlsMode::Required),
        (&["--mysql-ssl=preferred"], TlsMode::Preferred),
        (&["--mysql-ssl=VERIFY_CA"], TlsMode::VerifyCa),
        (&["--mysql-ssl=verify-identity"], TlsMode::VerifyIdentity),
        (&["--compat=1.1", "--mysql-ssl"], TlsMode::Required),
        (&["--compat=1.1", "--mysql-ssl=off"], TlsMode::Off),
        (&["--compat=1.1", "--mysql-ssl=VERIFY_IDENTITY"], TlsMode::VerifyIdentity),
    ] {
        assert_eq!(mysql(words).unwrap().ssl, mode, "{words:?}");
    }
    let files = |words: &[&str]| mysql(words).unwrap().ssl_files;
    let assumed = files(&["--mysql-ssl=on"]);
    assert!(assumed.are_assumed && assumed.ca == Some(PathBuf::from("cacert.pem")));
    assert_eq!(files(&["--mysql-ssl=on", "--compat=1.1"]), SslFiles::default());
    let named = files(&["--mysql-ssl=on", "--mysql-ssl-ca=x"]);
    assert_eq!(named, SslFiles { ca: Some(PathBuf::from("x")), ..SslFiles::default() });
    let export = |words: &[&str]| options(words, &[]).unwrap().value("mysql_ssl").cloned();
    assert_eq!(export(&["--mysql-ssl"]), Some(OptionValue::Bool(true)));
    assert_eq!(export(&["--mysql-ssl=REQUIRED"]), Some(OptionValue::Text(b"REQUIRED".to_vec())));
    assert_eq!(export(&["--compat=1.1"]), Some(OptionValue::Text(b"disabled".to_vec())));
}

#[test]
fn wrong_servers_are_refused_when_they_are_asked_for() {
    let told = |refused: Option<OptionRefusal>| refused.unwrap().to_string();
    assert_eq!(told(mysql(&["--mysql-host="]).err()), "FATAL: No MySQL hosts specified, aborting");
    assert_eq!(
        told(mysql(&["--mysql-port=1,x"]).err()),
        "Invalid value for the 'mysql_port' option: 'x'"
    );
    assert_eq!(
        told(mysql(&["--mysql-port=65536"]).err()),
        "Invalid value for the 'mysql_port' option: '65536'"
    );
    assert_eq!(mysql(&["--mysql-port="]).unwrap().ports, [3306]);
    assert!(
        told(mysql(&["--compat=1.1", "--mysql-ssl=x"]).err())
            .starts_with("Invalid value for the 'mysql_ssl' option")
    );
    assert_eq!(
        told(pgsql(&["--pgsql-port=-1"]).err()),
        "Invalid value for the 'pgsql_port' option: '-1'"
    );
    assert!(
        told(pgsql(&["--pgsql-sslmode=x"]).err())
            .contains("'pgsql_sslmode' option: 'x' (disable, allow")
    );
    let refused = options(&["--db-ps-mode=x"], &[]).unwrap().emulates_prepared().unwrap_err();
    assert_eq!(refused.to_string(), "FATAL: Invalid value for db-ps-mode: x");
}
