//! Every available PostgreSQL, through its life; with `--nocapture` it prints the duration of each
//! step.

use std::time::{Duration, Instant};

use truetps_record::SettingValue;
use truetps_sandbox::{
    Sandbox, SandboxOptions, ServerBinary, ServerLoad, Settings, StartOptions, chosen_settings,
    taken_differently,
};
use truetps_testkit::every_postgres;

use crate::common::home;

const SOON: Duration = Duration::from_mins(1);
const COMMITS: u32 = 200;

/// Settings of each, except memory.
fn settings(binary: &ServerBinary) -> Settings {
    let load = ServerLoad { connections_max: 10, statements_per_connection: 1 };
    let mut settings = Settings::new(
        binary.family(),
        &chosen_settings(1 << 30, load, binary.flavour, binary.version),
    );
    settings.set("shared_buffers", SettingValue::Text("64MB".to_owned()));
    settings
}

fn timed<T>(what: impl FnOnce() -> T) -> (T, u128) {
    let began = Instant::now();
    let result = what();
    (result, began.elapsed().as_millis())
}

#[test]
fn each_version_is_made_set_killed_and_recovered() {
    for binary in every_postgres("each_version_is_made_set_killed_and_recovered") {
        let (_dir, home) = home();
        let settings = settings(&binary);
        let made = || {
            Sandbox::create(&home, &binary, &SandboxOptions::new(Settings::empty(binary.family())))
                .unwrap()
        };
        let (first, with_template) = timed(made);
        drop(first);
        let (sandbox, copy) = timed(made);
        let (server, boot) = timed(|| sandbox.start(&StartOptions::new(settings.clone())).unwrap());
        let mut client = server.connect(SOON).unwrap();
        assert_eq!(taken_differently(&mut client, &settings).unwrap(), [], "{binary}");
        client.execute("CREATE TABLE t (id int PRIMARY KEY, filler text)").unwrap();
        let ((), commits) = timed(|| {
            for id in 0..COMMITS {
                client.execute(&format!("INSERT INTO t VALUES ({id}, repeat('x', 100))")).unwrap();
            }
        });
        let (worn, wear) = timed(|| server.wear_in_wal().unwrap());
        assert_eq!(worn, 512 << 20, "{binary}");
        // Reusable files, besides the one that is being written.
        let kept = "SELECT count(*) >= 31 FROM pg_ls_waldir() WHERE name > \
                    pg_walfile_name(pg_current_wal_lsn())";
        assert_eq!(client.query_value(kept).unwrap().as_deref(), Some("t"), "{binary}");
        drop(client);
        let (stopped, stop) = timed(|| server.stop(SOON).unwrap());
        assert!(stopped.clean, "{binary}");
        let server = sandbox.start(&StartOptions::new(settings.clone())).unwrap();
        server.connect(SOON).unwrap().execute("INSERT INTO t VALUES (-1, '')").unwrap();
        server.kill().unwrap();
        let (server, restart) =
            timed(|| sandbox.start(&StartOptions::new(settings.clone())).unwrap());
        let rows = server.connect(SOON).unwrap().query_value("SELECT count(*) FROM t").unwrap();
        assert_eq!(rows, Some((COMMITS + 1).to_string()), "{binary}: after kill -9");
        println!(
            "{} {}: template and copy {}, copy {copy}, boot {boot}, {COMMITS} commits {commits}, \
             wear in {wear}, stop {stop}, restart {restart} ms",
            binary.flavour, binary.version, with_template
        );
    }
}
