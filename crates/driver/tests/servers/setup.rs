//! Statements that set sessions up, on real servers: there before anything else, and after each new
//! login.

use std::sync::Arc;
use std::time::Instant;

use truetps_driver::{Connector, DriverError, Scratch, SessionEvent, Statement, Target};
use truetps_record::ErrorClass;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::support::{SOON, Server, connect, refusal};

/// Logs in as a measured session does, and prepares this statement.
fn log_in(target: Target, sql: &str) -> Result<(), DriverError> {
    let statements = Arc::new([Statement::new(sql).unwrap()]);
    let mut scratch = Scratch::default();
    let mut link = Connector::new(target, statements, true)?.connect(
        0,
        &mut scratch,
        Some(Instant::now() + SOON),
    )?;
    link.send(0, &mut scratch)?;
    let event = link.wait(&mut scratch, Some(Instant::now() + SOON))?;
    assert!(matches!(&event, SessionEvent::Reply(reply) if reply.error.is_none()), "{event:?}");
    Ok(())
}

fn check_refusal(error: &DriverError, statement: &str, names: &str) {
    assert_eq!(error.class(), ErrorClass::ConnectFailed, "{error}");
    assert!(
        matches!(error, DriverError::Setup { statement: found, .. } if **found == *statement),
        "{error:?}"
    );
    assert!(error.to_string().contains(names) && error.to_string().ends_with(statement), "{error}");
}

#[test]
fn mariadb_sessions_are_set_up() {
    let Some(binary) = mariadb("mariadb_sessions_are_set_up") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&["CREATE DATABASE d", "CREATE TABLE d.t (a INT)"]);
    let plain = server.socket("root", "");
    let setup = ["SELECT 1 UNION SELECT 2", "SET AUTOCOMMIT=0; SELECT 3", "USE d", "SET @here = 7"];
    let target = plain.clone().with_setup(setup);
    let mut client = connect(&target).unwrap();
    let row = client.query("SELECT @@autocommit, DATABASE(), @here").unwrap().rows.remove(0);
    assert_eq!(row, [Some("0".to_owned()), Some("d".to_owned()), Some("7".to_owned())]);
    // It is prepared in the schema that the setup has chosen; over TLS as well.
    log_in(target.clone(), "SELECT * FROM t").unwrap();
    server.run(&["CREATE USER me@'%' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO me@'%'"]);
    log_in(server.tcp("me:x", "?tls=required").with_setup(setup), "SELECT * FROM t").unwrap();

    let wrong = "SET no_such_variable = 1";
    for target in [
        plain.clone().with_setup(["SELECT 1", wrong, "SELECT 2"]),
        plain.clone().with_setup([wrong]),
    ] {
        let error = refusal(&target);
        check_refusal(&error, wrong, "no_such_variable");
        assert_eq!(error.code(), 1193);
        check_refusal(&log_in(target, "SELECT 1").unwrap_err(), wrong, "no_such_variable");
    }
    let error = refusal(&plain.with_setup(["KILL CONNECTION_ID()"]));
    assert!(
        matches!(error, DriverError::Setup { .. } | DriverError::ClosedEarly { .. }),
        "{error:?}"
    );
}

#[test]
fn postgres_sessions_are_set_up() {
    let Some(server) =
        PostgresServer::start("postgres_sessions_are_set_up", &PostgresOptions::default())
    else {
        return;
    };
    server.connect().unwrap().execute("CREATE SCHEMA s; CREATE TABLE s.t (a int)").unwrap();
    let setup =
        ["SELECT generate_series(1, 3)", "SET search_path = s", "SET work_mem = '1234kB'", "BEGIN"];
    let target = server.target().with_setup(setup);
    let mut client = connect(&target).unwrap();
    assert_eq!(client.query_value("SHOW work_mem").unwrap().unwrap(), "1234kB");
    log_in(target, "SELECT * FROM t").unwrap();

    for (wrong, names) in [
        ("SET no_such_variable = 1", "no_such_variable"),
        ("COPY s.t FROM STDIN", "truetps sends no COPY data"),
        ("SELECT pg_terminate_backend(pg_backend_pid())", "57P01"),
    ] {
        let target = server.target().with_setup(["SELECT 1", wrong, "SELECT 2"]);
        check_refusal(&refusal(&target), wrong, names);
        check_refusal(&log_in(target, "SELECT 1").unwrap_err(), wrong, names);
    }
}
