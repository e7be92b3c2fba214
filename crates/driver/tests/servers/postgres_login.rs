//! Logins to a real PostgreSQL: every method, and the error when one fails.

use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::postgres_common::{Driven, client, refusal};

const METHODS: [(&str, &str); 5] = [
    ("truetps", "trust"),
    ("trusted", "trust"),
    ("clear", "password"),
    ("md5_user", "md5"),
    ("scram_user", "scram-sha-256"),
];
/// A letter beyond ASCII, a blank, and a quote. The letter has two forms in Unicode, and SCRAM
/// makes them one.
const PASSWORD: &str = "pä'ss wörd Ⅸ";

fn server(test: &str, settings: &[(&str, &str)]) -> Option<PostgresServer> {
    let lines = METHODS.iter().flat_map(|(user, method)| {
        [format!("local all {user} {method}"), format!("host all {user} 127.0.0.1/32 {method}")]
    });
    let options = PostgresOptions {
        hba: lines.collect(),
        tcp: true,
        settings: settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..PostgresOptions::default()
    };
    let server = PostgresServer::start(test, &options)?;
    let mut root = server.connect().unwrap();
    for (user, method) in &METHODS[1..] {
        let kind = if *method == "md5" { "md5" } else { "scram-sha-256" };
        let quoted = PASSWORD.replace('\'', "''");
        root.execute(&format!("SET password_encryption = '{kind}'")).unwrap();
        root.execute(&format!("CREATE ROLE {user} LOGIN PASSWORD '{quoted}'")).unwrap();
    }
    Some(server)
}

#[test]
fn every_method_over_unix_and_tcp() {
    let Some(server) = server("every_method_over_unix_and_tcp", &[]) else { return };
    for (user, method) in METHODS {
        for target in [
            server.target_for(user, Some(PASSWORD)),
            server.tcp_target_for("127.0.0.1", user, Some(PASSWORD)),
        ] {
            if method == "password" && target != server.target_for(user, Some(PASSWORD)) {
                let error = client(&target).map(drop).unwrap_err();
                assert_eq!(error.to_string(), "the server asks for a password in clear text");
                assert!(error.hint().unwrap().contains("scram-sha-256"));
                continue;
            }
            let mut client = client(&target).unwrap();
            assert_eq!(client.query_value("SELECT current_user").unwrap().as_deref(), Some(user));
        }
    }
}

#[test]
fn failed_logins_say_why() {
    let Some(server) = server("failed_logins_say_why", &[]) else { return };
    for user in ["md5_user", "scram_user"] {
        let (text, class) = refusal(&server.target_for(user, Some("wrong")));
        assert_eq!(
            text,
            format!("password authentication failed for user \"{user}\" (SQLSTATE 28P01)")
        );
        assert_eq!(class, "connect_failed");
        let (text, class) = refusal(&server.target_for(user, None));
        assert_eq!(
            (text.as_str(), class.as_str()),
            ("the server asks for a password", "connect_failed")
        );
    }
    let (text, class) = refusal(&server.target_for("nobody_at_all", None));
    assert!(
        text.contains("no pg_hba.conf entry")
            && text.contains("28000")
            && class == "connect_failed",
        "{text}"
    );
    let mut other = server.target();
    other.login.database = Some("no_such_database".to_owned());
    let (text, class) = refusal(&other);
    assert_eq!(text, "database \"no_such_database\" does not exist (SQLSTATE 3D000)");
    assert_eq!(class, "connect_failed");
}

#[test]
fn too_many_connections() {
    let settings = [
        ("max_connections", "5"),
        ("superuser_reserved_connections", "1"),
        ("max_wal_senders", "0"),
    ];
    let Some(server) = server("too_many_connections", &settings) else { return };
    let target = server.target_for("trusted", None);
    // The superuser's own connection ends on the server's side a moment after it was dropped.
    let mut open = Vec::new();
    let refused = loop {
        match client(&target) {
            Ok(client) => open.push(client),
            Err(error) => break error,
        }
        assert!(open.len() < 5);
    };
    assert!(refused.to_string().contains("(SQLSTATE 53300)"), "{refused}");
    assert_eq!(refused.class().to_string(), "connect_failed");
    drop(open);
}

#[test]
fn a_statement_that_cannot_be_prepared_is_named() {
    let Some(server) = server("a_statement_that_cannot_be_prepared", &[]) else { return };
    let statements = ["SELECT 1", "SELECT * FROM nowhere WHERE id = ?"];
    let error =
        Driven::log_in(&server.target(), &statements, true).map(drop).unwrap_err().to_string();
    let expect = "relation \"nowhere\" does not exist; statement: SELECT * FROM nowhere WHERE id = \
                  ? (SQLSTATE 42P01)";
    assert_eq!(error, expect);
    let many = format!("SELECT {}", vec!["?"; 65_536].join(","));
    let error = Driven::log_in(&server.target(), &[&many], true).map(drop).unwrap_err().to_string();
    assert!(error.contains("65536 parameters") && error.contains("54023"), "{error}");
}
