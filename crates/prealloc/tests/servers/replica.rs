//! A live replica over rotations and kills of its primary.

use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use truetps_binlog::state::StatusWord;
use truetps_driver::Client;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{Load, make_table};

const KILLS: u64 = 3;

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn settings(bench: &mut Bench, id: &str, port: &str) {
    for (name, value) in [("skip_networking", "OFF"), ("bind_address", "127.0.0.1"), ("port", port), ("server_id", id)]
    {
        bench.set(name, value);
    }
    bench.set("relay_log", "relay-bin");
    if !bench.is_mariadb {
        bench.set("gtid_mode", "ON");
        bench.set("enforce_gtid_consistency", "ON");
        for name in ["caching_sha2_password_auto_generate_rsa_keys", "sha256_password_auto_generate_rsa_keys"] {
            bench.set(&format!("loose_{name}"), "ON");
        }
    }
}

fn replicate(client: &mut Client, server: &FetchedServer, port: &str) {
    let words = match server.name {
        "mysql-9.7" => [
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_USER='repl', SOURCE_PASSWORD='secret', \
             SOURCE_SSL=0, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=1000, SOURCE_AUTO_POSITION=1, \
             GET_SOURCE_PUBLIC_KEY=1, SOURCE_PORT=",
            "START REPLICA",
        ],
        "mysql-8.0" => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', MASTER_PASSWORD='secret', \
             MASTER_CONNECT_RETRY=1, MASTER_AUTO_POSITION=1, GET_MASTER_PUBLIC_KEY=1, MASTER_PORT=",
            "START SLAVE",
        ],
        "mysql-5.7" => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', MASTER_PASSWORD='secret', \
             MASTER_CONNECT_RETRY=1, MASTER_AUTO_POSITION=1, MASTER_PORT=",
            "START SLAVE",
        ],
        _ => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', MASTER_PASSWORD='secret', \
             MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0, MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos, \
             MASTER_PORT=",
            "START SLAVE",
        ],
    };
    client.execute(&format!("{}{port}", words[0])).unwrap();
    client.execute(words[1]).unwrap();
}

pub(crate) fn a_replica_follows_over_rotations_and_kills(server: &FetchedServer) {
    let (mut primary, mut replica) = (Bench::new(server), Bench::new(server));
    let port = free_port();
    settings(&mut primary, "1", &port);
    settings(&mut replica, "2", &free_port());
    if primary.is_mariadb {
        primary.set("rpl_semi_sync_master_enabled", "ON");
        replica.set("rpl_semi_sync_slave_enabled", "ON");
    }
    let mut running = primary.start(true);
    let mut client = running.connect(SOON).unwrap();
    client.execute("CREATE USER 'repl'@'127.0.0.1' IDENTIFIED BY 'secret'").unwrap();
    client.execute("GRANT REPLICATION SLAVE ON *.* TO 'repl'@'127.0.0.1'").unwrap();
    make_table(&mut client);
    // Its relay logs are not the binlogs, and have no library's care; its own binlogs have.
    let copy = replica.start(true);
    let mut reader = copy.connect(SOON).unwrap();
    replicate(&mut reader, server, &port);
    let mut rotations = 0;
    for round in 0..=KILLS {
        let load = Load::start(&running, 1 + round * 1_000_000);
        // In the last life, more than there are places for files.
        for _ in 0..if round == KILLS { 100 } else { 40 } {
            sleep(Duration::from_millis(15));
            client.execute("FLUSH BINARY LOGS").unwrap();
            rotations += 1;
        }
        if round == KILLS {
            load.end();
            break;
        }
        running.kill().unwrap();
        load.end();
        running = primary.start(true);
        client = running.connect(SOON).unwrap();
    }
    assert!(rotations >= 200);
    let checksum = |client: &mut Client| client.query("CHECKSUM TABLE t.k").unwrap().rows[0][1].clone();
    let wanted = checksum(&mut client);
    let end = Instant::now() + SOON;
    while checksum(&mut reader) != wanted {
        let state = if server.name == "mysql-9.7" { "SHOW REPLICA STATUS" } else { "SHOW SLAVE STATUS" };
        assert!(Instant::now() < end, "{:?}\n{}", reader.query(state).unwrap().rows, replica.log());
        sleep(Duration::from_millis(100));
    }
    if primary.is_mariadb {
        let semi = client.query("SHOW STATUS LIKE 'Rpl_semi_sync_master_yes_tx'").unwrap().rows;
        assert_ne!(semi[0][1].as_deref(), Some("0"), "semi-synchronous commits");
    }
    for entry in std::fs::read_dir(replica.folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.starts_with("relay-bin") || !name.contains("prealloc"), "{name}");
    }
    for bench in [&primary, &replica] {
        bench.wait_until_ahead();
        assert_eq!(bench.word(StatusWord::errors), 0, "{:?}", bench.page());
    }
    drop((client, reader));
    assert!(copy.stop(SOON).unwrap().clean);
    assert!(running.stop(SOON).unwrap().clean);
    primary.assert_all_sound();
    replica.assert_all_sound();
}
