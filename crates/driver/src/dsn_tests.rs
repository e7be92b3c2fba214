//! What is accepted, what is refused, and that no message contains a password.

use proptest::prelude::*;

use super::*;

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp { host: host.to_owned(), port }
}

fn socket(path: &str) -> Endpoint {
    Endpoint::Unix(PathBuf::from(path))
}

fn parse(dsn: &str) -> Target {
    Target::parse(dsn).unwrap_or_else(|error| panic!("{dsn}: {error}"))
}

#[test]
fn endpoints_of_all_kinds() {
    let check = |dsn: &str, expect: &[Endpoint]| assert_eq!(parse(dsn).endpoints, expect, "{dsn}");
    check("mysql://me@db/s", &[tcp("db", 3306)]);
    check("mariadb://db:3307", &[tcp("db", 3307)]);
    check("mysql://me@a:1,b,[::1]:3/s", &[tcp("a", 1), tcp("b", 3306), tcp("::1", 3)]);
    check("mysql://me@[fe80::1%25eth0]/s", &[tcp("fe80::1%eth0", 3306)]);
    check("postgresql://me@db/s", &[tcp("db", 5432)]);
    check("POSTGRES://me@127.0.0.1:6000", &[tcp("127.0.0.1", 6000)]);
    check("mysql://me@/s?socket=/run/my%20sql.sock", &[socket("/run/my sql.sock")]);
    check("mysql://me@localhost/s?socket=/run/m.sock", &[socket("/run/m.sock")]);
    check("mysql://me@%2Frun%2Fm.sock/s", &[socket("/run/m.sock")]);
    check("postgres://me@/s?socket=/run/pg", &[socket("/run/pg/.s.PGSQL.5432")]);
    check("postgres://me@%2Frun%2Fpg:6000/s", &[socket("/run/pg/.s.PGSQL.6000")]);
    check("postgres://me@/s?socket=/run/.s.PGSQL.7", &[socket("/run/.s.PGSQL.7")]);
}

#[test]
fn who_logs_in() {
    let check = |dsn: &str, user: &str, password: Option<&str>, database: Option<&str>| {
        let login = parse(dsn).login;
        assert_eq!((login.user.as_str(), login.database.as_deref()), (user, database), "{dsn}");
        assert_eq!(login.password, password.map(Password::new), "{dsn}");
    };
    check("mysql://db", "root", None, None);
    check("postgres://db/", "postgres", None, None);
    check("mysql://me:p%40ss%2F%3A%25@db/sch%C3%A9ma", "me", Some("p@ss/:%"), Some("schéma"));
    check("mysql://me:p@ss@db", "me", Some("p@ss"), None);
    check("mysql://me:@db", "me", Some(""), None);
    assert_eq!(
        parse("mysql://me:old@db").with_password("new").login.password,
        Some(Password::new("new"))
    );
}

#[test]
fn tls_by_name_and_by_habit() {
    let check = |dsn: &str, mode: TlsMode, ca: Option<&str>| {
        assert_eq!(
            parse(dsn).tls,
            Tls { mode, ca: ca.map(PathBuf::from), ..Tls::default() },
            "{dsn}"
        );
    };
    check("mysql://db", TlsMode::Preferred, None);
    check("mysql:///s?socket=/s", TlsMode::Off, None);
    check("mysql:///s?socket=/s&tls=required", TlsMode::Required, None);
    check("mysql://db?tls=off", TlsMode::Off, None);
    check("mysql://db?ca=/ca.pem", TlsMode::VerifyCa, Some("/ca.pem"));
    check("mysql://db/s?tls=verify-identity&ca=/ca.pem", TlsMode::VerifyIdentity, Some("/ca.pem"));
    let text = "mysql://root@db:3306/?tls=verify-ca&ca=/a&cert=/c%20c&key=/k";
    let target = parse(text);
    assert_eq!(
        (target.tls.cert.as_deref(), target.tls.key.as_deref()),
        (Some(Path::new("/c c")), Some(Path::new("/k")))
    );
    assert_eq!(target.to_string(), text);
    let text = "mysql://root@db:3306/?get_server_public_key=true&connect_timeout=7";
    let target = parse(text);
    assert!(
        target.tls.takes_server_key
            && target.connect_timeout == Some(std::time::Duration::from_secs(7))
    );
    assert_eq!(target.to_string(), text);
    assert!(!parse("mysql://db?get_server_public_key=false").tls.takes_server_key);
}

#[test]
fn clients_connect_from_addresses_of_this_host() {
    let sources =
        |dsn: &str| parse(dsn).sources.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(sources("mysql://db"), [""; 0]);
    assert_eq!(sources("mysql://db?source=10.0.0.2,[::1],fe80::2"), ["10.0.0.2", "::1", "fe80::2"]);
    let text = "mysql://root@db:3306/?connect_timeout=7&source=127.0.0.2,127.0.0.3";
    assert_eq!(parse(text).to_string(), text);
}

#[test]
fn what_is_wrong_is_named() {
    let check = |dsn: &str, expect: &str| {
        let error = Target::parse(dsn).map(|target| target.to_string()).unwrap_err().to_string();
        assert!(error.contains(expect), "{dsn}: {error}\nshould contain\n{expect}");
    };
    check("db:3306", "must look like mysql://");
    check("me:secret@db://x", "must look like mysql://");
    check("mysq://db", "unknown scheme `mysq` (did you mean `mysql`?)");
    check("oracle://db", "(known: `mysql`, `mariadb`, `postgresql`, `postgres`)");
    check("mysql://db?sockt=/x", "unknown option `sockt` (did you mean `socket` or `source`?)");
    check("mysql://db?tls=verifyca", "unknown tls mode `verifyca` (did you mean `verify-ca`");
    check("postgres://db?sslmode=allow", "unknown tls mode `allow` (");
    check("mysql://db?source=eth0", "`eth0` is none");
    check("mysql://db?source=10.0.0.1,", "`` is none");
    check("mysql://db?source=10.0.0.1,10.0.0.1", "the address `10.0.0.1` twice");
    let many: Vec<_> = (0..65).map(|n| format!("10.0.0.{n}")).collect();
    check(&format!("mysql://db?source={}", many.join(",")), "more than 64 addresses in source");
    check("mysql:///s?socket=/s&source=10.0.0.1", "this server is reached by its socket");
    check("mysql://db?tls=off&tls=off", "`tls` is given twice");
    check("mysql://db?ca", "`ca` has no value");
    check("mysql://db?tls=required&ca=/x", "ca=/x needs tls=verify-ca or");
    check("mysql://db?cert=/x", "`cert` and `key` go together: `key` is missing");
    check("mysql://db?tls=required&key=/x", "`cert` and `key` go together: `cert` is missing");
    check("mysql://db?tls=off&cert=/x&key=/y", "cert=/x needs TLS");
    check("mysql:///s?socket=/s&cert=/x&key=/y", "cert=/x needs TLS");
    check("mysql://db?connect_timeout=0", "connect_timeout is a number of seconds from 1 to 60");
    check("mysql://db?connect_timeout=1s", "connect_timeout is a number");
    check("mysql://db?get_server_public_key=yes", "get_server_public_key is `true` or `false`");
    check("postgres://db?get_server_public_key=true", "for servers of the MySQL family");
    check("mysql://db:0", "the port is not a number");
    check("mysql://db:70000", "the port is not a number");
    check("mysql://::1", "the port is not a number");
    check("mysql://me:a/b@db", "an `@` after the host");
    check("mysql:///s", "no server is given");
    check("mysql://me@", "no server is given");
    check("mysql://a%2Cb", "`a,b` is not the name");
    check("mysql://a,,b", "one of the hosts is empty");
    check("mysql://db/s?socket=/x", "both a socket and the host `db`");
    check("mysql://db/a/b", "the schema has a `/`");
    // It would be left out in silence.
    check("postgres://me@db/post%00gres", "the schema has a NUL byte (%00)");
    check("mysql://me:a%00b@db", "the password has a NUL byte (%00)");
    check("mysql://me:100%@db", "the password has an invalid percent escape");
    check("mysql://me:%ff@db", "the password has an invalid percent escape");
}

#[test]
fn addresses_of_other_programs_are_read_or_named() {
    let same = |theirs: &str, ours: &str| {
        assert_eq!(Target::parse(theirs), Target::parse(ours), "{theirs}");
    };
    same("postgres://me@db/s?sslmode=require", "postgres://me@db/s?tls=required");
    same(
        "postgres://me@db/s?sslmode=verify-full&sslrootcert=/c",
        "postgres://me@db/s?tls=verify-identity&ca=/c",
    );
    same(
        "postgres://db?sslmode=verify-ca&sslcert=/c&sslkey=/k",
        "postgres://db?tls=verify-ca&cert=/c&key=/k",
    );
    same("postgres:///s?host=/run/postgresql", "postgres:///s?socket=/run/postgresql");
    same("mysql://db?ssl-mode=VERIFY_IDENTITY&ssl-ca=/c", "mysql://db?tls=verify-identity&ca=/c");
    same("mysql://db?ssl_mode=DISABLED", "mysql://db?tls=off");
    same("mysql://localhost/s?unix_socket=/run/m.sock", "mysql://localhost/s?socket=/run/m.sock");
    same("mysql://db?allowPublicKeyRetrieval=true", "mysql://db?get_server_public_key=true");
    same("mysql+pymysql://me@db", "mysql://me@db");
    same("postgresql+psycopg2://me@db", "postgresql://me@db");
    let refused = |theirs: &str, expect: &str| {
        let error = Target::parse(theirs).unwrap_err().to_string();
        assert!(error.contains(expect) && !error.contains("tops3cret"), "{theirs}: {error}");
    };
    refused("jdbc:mysql://db:3306/s?user=me&password=tops3cret", "it is a URL of JDBC");
    refused("me:tops3cret@tcp(db:3306)/s?parseTime=true", "an address of Go's MySQL driver");
    refused("Server=db;Uid=me;Pwd=tops3cret", "a list of names and values");
    refused("host=db user=me password=tops3cret", "a list of names and values");
    refused("/run/mysqld/mysqld.sock", "mysql://user@?socket=/path");
    refused("\"mysql://me:tops3cret@db\"", "in quotes");
    refused("postgres://db?host=other", "unknown option `host`");
    refused("postgres://db?sslmode=require&tls=off", "`tls` is given twice");
}

#[test]
fn printing_a_target_does_not_show_the_password() {
    assert_eq!(parse("mysql://me@[fe80::1%25lo]").to_string(), "mysql://me@[fe80::1%25lo]:3306/");
    assert_eq!(parse("mysql://me@%2Fa,%2Fb,c").to_string(), "mysql://me@%2Fa,%2Fb,c:3306/");
    let target = parse("mysql://me:tops3cret@a,[::1]:7/s?tls=required");
    assert_eq!(target.to_string(), "mysql://me@a:3306,[::1]:7/s?tls=required");
    assert!(!format!("{target:?}").contains("tops3cret"));
    for wrong in [
        "mysql://me:tops3cret@db:x",
        "mysql//me:tops3cret@db",
        "mysql://me:tops3cret%@db",
        "x://me:tops3cret@",
        "mysql://me:tops3cret",
        "mysql://me:tops3cret/more@db",
        "mysql://me:more?tops3cret@db",
        "mysql://me@home:more?tops3cret=tops3cret@db",
        "mysql://me:more/tops3cret?x@db/s",
    ] {
        let error = Target::parse(wrong).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("tops3cret"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_target_is_read_as_the_same(user in "\\PC{1,8}", schema in "\\PC{1,8}", path in "/[a-z %&=?]{1,8}") {
        for place in [format!("db:7/{}", encoded(&schema)), format!("/?socket={}", encoded(&path))] {
            let target = parse(&format!("mysql://{}@{place}", encoded(&user)));
            prop_assert_eq!(&target.login.user, &user);
            let again = Target::parse(&target.to_string());
            prop_assert_eq!(again, Ok(target));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(mysql://)?\\PC{0,40}") {
        let _ = Target::parse(&text);
    }
}
