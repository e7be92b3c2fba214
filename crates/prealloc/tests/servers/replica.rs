//! A live replica over rotations and kills of its primary.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use truetps_binlog::state::StatusWord;
use truetps_binlog::{Crc32, TailDecision, file_number};
use truetps_driver::Client;
use truetps_sandbox::RunningServer;
use truetps_testkit::free_port;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON, decision_on};
use crate::load::{Load, keys_in_table, make_table};

const KILLS: u64 = 3;

fn settings(bench: &mut Bench, id: &str, port: &str) {
    for (name, value) in [
        ("skip_networking", "OFF"),
        ("bind_address", "127.0.0.1"),
        ("port", port),
        ("server_id", id),
    ] {
        bench.set(name, value);
    }
    bench.set("relay_log", "relay-bin");
    if !bench.is_mariadb {
        bench.set("gtid_mode", "ON");
        bench.set("enforce_gtid_consistency", "ON");
        for name in [
            "caching_sha2_password_auto_generate_rsa_keys",
            "sha256_password_auto_generate_rsa_keys",
        ] {
            bench.set(&format!("loose_{name}"), "ON");
        }
    }
}

fn replicate(client: &mut Client, server: &FetchedServer, port: &str) {
    let words = match server.name {
        "mysql-9.7" => [
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_USER='repl', \
             SOURCE_PASSWORD='secret', SOURCE_SSL=0, SOURCE_CONNECT_RETRY=1, \
             SOURCE_RETRY_COUNT=1000, SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_PORT=",
            "START REPLICA",
        ],
        "mysql-8.0" => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', \
             MASTER_PASSWORD='secret', MASTER_CONNECT_RETRY=1, MASTER_AUTO_POSITION=1, \
             GET_MASTER_PUBLIC_KEY=1, MASTER_PORT=",
            "START SLAVE",
        ],
        "mysql-5.7" => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', \
             MASTER_PASSWORD='secret', MASTER_CONNECT_RETRY=1, MASTER_AUTO_POSITION=1, MASTER_PORT=",
            "START SLAVE",
        ],
        _ => [
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='repl', \
             MASTER_PASSWORD='secret', MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0, \
             MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos, MASTER_PORT=",
            "START SLAVE",
        ],
    };
    client.execute(&format!("{}{port}", words[0])).unwrap();
    client.execute(words[1]).unwrap();
}

/// Starts the primary, with an account for replicas and the table.
fn start_primary(primary: &Bench) -> (RunningServer, Client) {
    let running = primary.start(true);
    let mut client = running.connect(SOON).unwrap();
    client.execute("CREATE USER 'repl'@'127.0.0.1' IDENTIFIED BY 'secret'").unwrap();
    client.execute("GRANT REPLICATION SLAVE ON *.* TO 'repl'@'127.0.0.1'").unwrap();
    make_table(&mut client);
    (running, client)
}

/// Waits until the replica has what it is to have.
fn wait_for_replica(
    reader: &mut Client,
    server: &FetchedServer,
    log: &dyn Fn() -> String,
    has: &dyn Fn(&mut Client) -> bool,
) {
    let end = Instant::now() + SOON;
    while !has(reader) {
        let state =
            if server.name == "mysql-9.7" { "SHOW REPLICA STATUS" } else { "SHOW SLAVE STATUS" };
        assert!(Instant::now() < end, "{:?}\n{}", reader.query(state).unwrap().rows, log());
        sleep(Duration::from_millis(100));
    }
}

pub(crate) fn a_replica_follows_over_rotations_and_kills(server: &FetchedServer) {
    let (mut primary, mut replica) = (Bench::new(server), Bench::new(server));
    let port = free_port().to_string();
    settings(&mut primary, "1", &port);
    settings(&mut replica, "2", &free_port().to_string());
    let (mut running, mut client) = start_primary(&primary);
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
        if primary.is_mariadb {
            open_a_group(primary.files().last().unwrap());
        }
        running = primary.start(true);
        client = running.connect(SOON).unwrap();
    }
    assert!(rotations >= 200);
    let checksum =
        |client: &mut Client| client.query("CHECKSUM TABLE t.k").unwrap().rows[0][1].clone();
    let wanted = checksum(&mut client);
    wait_for_replica(&mut reader, server, &|| replica.log(), &|reader| checksum(reader) == wanted);
    assert_relay_logs_are_real(&mut reader, server, &replica);
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

/// Leaves what a server leaves that is killed between two writes of a group: the event at its head,
/// with the number that the next group will have, and a part of another event.
fn open_a_group(newest: &Path) {
    const GTID: u8 = 162;
    let mut bytes = std::fs::read(newest).unwrap();
    let at = match decision_on(newest) {
        TailDecision::CutZeros { at } | TailDecision::CutAndKeep { at, .. } => at,
        TailDecision::Sound => bytes.len() as u64,
        TailDecision::LeaveAlone(why) => panic!("{}: {why:?}", newest.display()),
    };
    let events = std::iter::successors(Some(4), |start: &usize| {
        let length = bytes.get(start + 9..start + 13)?;
        Some(start + u32::from_le_bytes(length.try_into().unwrap()) as usize)
    });
    let Some(start) = events
        .take_while(|start| start + 19 < at as usize)
        .filter(|start| bytes[start + 4] == GTID)
        .last()
    else {
        return;
    };
    let length = bytes[start + 9] as usize;
    let mut head = bytes[start..start + length - 4].to_vec();
    let number = u64::from_le_bytes(head[19..27].try_into().unwrap()) + 1;
    head[19..27].copy_from_slice(&number.to_le_bytes());
    head[13..17].copy_from_slice(&(at as u32 + length as u32).to_le_bytes());
    let mut sum = Crc32::new();
    sum.update(&head);
    head.extend(sum.value().to_le_bytes());
    head.extend([7; 11]);
    let end = bytes.len().max(at as usize + head.len());
    bytes.resize(end, 0);
    bytes[at as usize..][..head.len()].copy_from_slice(&head);
    std::fs::write(newest, bytes).unwrap();
}

/// Relay logs are files of the same kind, and end where the server says: none of them has zeros
/// ahead.
fn assert_relay_logs_are_real(reader: &mut Client, server: &FetchedServer, replica: &Bench) {
    let words = if server.name == "mysql-9.7" {
        ["STOP REPLICA", "SHOW REPLICA"]
    } else {
        ["STOP SLAVE", "SHOW SLAVE"]
    };
    reader.execute(words[0]).unwrap();
    let status = reader.query(&format!("{} STATUS", words[1])).unwrap();
    let space = status.columns.iter().position(|name| name == "Relay_Log_Space").unwrap();
    let shown: u64 = status.rows[0][space].as_ref().unwrap().parse().unwrap();
    let logs = std::fs::read_dir(replica.folder()).unwrap().map(|entry| entry.unwrap());
    let logs = logs
        .filter(|entry| file_number(b"relay-bin", entry.file_name().as_encoded_bytes()).is_some());
    let logs: Vec<_> = logs.map(|entry| std::fs::read(entry.path()).unwrap()).collect();
    let real: u64 = logs.iter().map(|bytes| bytes.len() as u64).sum();
    // The server's sum is without some first events.
    assert!(real.abs_diff(shown) < 4096, "{real} bytes, shown {shown}");
    assert!(logs.iter().all(|bytes| !bytes.ends_with(&[0; 64])), "no zeros are ahead");
}

/// A semi-synchronous replica has every row that its primary has acknowledged, when the primary is
/// dead.
pub(crate) fn a_semi_synchronous_replica_has_all_acknowledged_rows(server: &FetchedServer) {
    let (mut primary, mut replica) = (Bench::new(server), Bench::new(server));
    let port = free_port().to_string();
    settings(&mut primary, "1", &port);
    settings(&mut replica, "2", &free_port().to_string());
    let [source, copy] =
        if primary.is_mariadb { ["master", "slave"] } else { ["source", "replica"] };
    if !primary.is_mariadb {
        if !server.basedir.join("lib/mysql/plugin/semisync_source.so").exists() {
            eprintln!(
                "SKIPPED semi-synchronous replication with {}: it has no plugin for it",
                server.name
            );
            return;
        }
        primary.set("plugin_load_add", "semisync_source.so");
        replica.set("plugin_load_add", "semisync_replica.so");
    }
    replica.set(&format!("rpl_semi_sync_{copy}_enabled"), "ON");
    let (mut running, mut client) = start_primary(&primary);
    let second = replica.start(true);
    let mut reader = second.connect(SOON).unwrap();
    replicate(&mut reader, server, &port);
    let (mut rows, mut first) = (0, 1);
    for _ in 0..KILLS {
        // A commit waits for the replica before it is visible, and never stops to wait.
        for setting in ["wait_point = AFTER_SYNC", "timeout = 3600000", "enabled = ON"] {
            client.execute(&format!("SET GLOBAL rpl_semi_sync_{source}_{setting}")).unwrap();
        }
        let status = |client: &mut Client, name: &str| {
            let found = client
                .query(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_{source}_{name}'"))
                .unwrap()
                .rows;
            found[0][1].clone().unwrap()
        };
        let end = Instant::now() + SOON;
        while status(&mut client, "clients") != "1" {
            assert!(Instant::now() < end, "{}", primary.log());
            sleep(Duration::from_millis(50));
        }
        primary.wait_until_ahead();
        let load = Load::start(&running, first);
        for _ in 0..10 {
            sleep(Duration::from_millis(50));
            client.execute("FLUSH BINARY LOGS").unwrap();
        }
        assert_eq!(status(&mut client, "no_tx"), "0", "each commit waited");
        running.kill().unwrap();
        let acknowledged = load.end();
        first += 1_000_000;
        rows += acknowledged.len();
        let has_all = |reader: &mut Client| acknowledged.is_subset(&keys_in_table(reader));
        wait_for_replica(&mut reader, server, &|| replica.log(), &has_all);
        running = primary.start(true);
        client = running.connect(SOON).unwrap();
        assert!(acknowledged.is_subset(&keys_in_table(&mut client)));
    }
    assert!(rows as u64 > KILLS * 10, "{rows}");
    eprintln!("{}: {rows} rows of {KILLS} kills were on the semi-synchronous replica", server.name);
    let wanted = keys_in_table(&mut client);
    wait_for_replica(&mut reader, server, &|| replica.log(), &|reader| {
        keys_in_table(reader) == wanted
    });
    drop((client, reader));
    assert!(second.stop(SOON).unwrap().clean);
    assert!(running.stop(SOON).unwrap().clean);
    primary.assert_all_sound();
}
