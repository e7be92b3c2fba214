//! MySQL, which has a redo log, logins and settings of its own: a few workloads on a private one,
//! and an external one.

use truetps_testkit::mysql_family::mysql;

use crate::common::{Place, Ran};
use crate::support::{Owned, assert_secret, run_with_password, short_run, valid_trial};

#[test]
fn a_private_mysql() {
    let Some((_, basedir)) = mysql("a_private_mysql") else { return };
    let place = Place::with_templates();
    let args =
        ["run", "delete-insert", "--key=auto", "--connections=3", "--warm-up=0.1", "--measure=2"];
    let server =
        ["--basedir", basedir.to_str().unwrap(), "--set", "innodb_flush_log_at_trx_commit=2"];
    let ran: Ran = place.run(
        &[
            &args[..],
            &server,
            &["--table-rows=2000", "--rate=200", "--set=innodb_redo_log_capacity=32M"],
        ]
        .concat(),
    );
    let trial = valid_trial(&place, &ran);
    assert_eq!(trial["server"]["flavour"], "mysql", "{trial}");
    assert!(place.servers().is_empty());
}

/// Its accounts log in by `caching_sha2_password`: first with TLS, then without, then from what the
/// server remembers.
#[test]
fn an_external_mysql() {
    let Some((binary, _)) = mysql("an_external_mysql") else { return };
    let keys = ["auto_generate_certs", "caching_sha2_password_auto_generate_rsa_keys"];
    let owned = Owned::start(&binary, &keys.map(|name| (name, "ON")));
    let before = owned.belongings();
    let place = Place::new();
    let small = "--table-rows=2000";
    for (workload, options, flags) in [
        ("insert", "/?tls=required", &[small][..]),
        ("bulk-insert", "/?tls=off", &[small, "--rows-per-insert=10"]),
        ("update-index", "", &[small, "--text-protocol"]),
        ("update-non-index", "", &[small, "--distribution=zipfian"]),
        ("hot-row", "", &["--hot-rows=2"]),
        (
            "read-write",
            "",
            &[small, "--mix=point_selects=2", "--clients=50", "--rate-per-client=2"],
        ),
    ] {
        owned.execute(&["FLUSH PRIVILEGES"]);
        let dsn = format!("{}{options}", owned.tcp_dsn());
        let ran = run_with_password(&place, &short_run(workload, &dsn, flags));
        let trial = valid_trial(&place, &ran);
        assert_eq!(trial["server"]["flavour"], "mysql", "{trial}");
        assert_secret(&place, &ran);
    }
    place.write("orders.toml", include_str!("../plans/orders.toml"));
    let ran = place.run(&["sweep", "./orders.toml", "--dsn", &owned.socket_dsn()]);
    valid_trial(&place, &ran);
    assert_eq!(owned.belongings(), before);
}
