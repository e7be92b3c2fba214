//! The server is killed under load, again and again.

use std::thread::sleep;
use std::time::Duration;

use truetps_binlog::state::StatusWord;
use truetps_binlog::{BinlogAge, TailDecision, decide};
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON, decision_on};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};

fn kills() -> u64 {
    std::env::var("TRUETPS_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4)
}

pub(crate) fn no_acknowledged_row_is_lost_by_kills(server: &FetchedServer) {
    let bench = Bench::new(server);
    let mut acknowledged = std::collections::BTreeSet::new();
    let (mut first, mut rows, mut trims, mut tails) = (1, 0, 0, 0);
    let mut running = bench.start(true);
    make_table(&mut running.connect(SOON).unwrap());
    for round in 0..kills() {
        bench.wait_until_ahead();
        let load = Load::start(&running, first);
        // From the first group on to some rotations: the numbers only have to differ.
        sleep(Duration::from_millis(30 + first.wrapping_mul(0x9E37_79B9) % 700));
        running.kill().unwrap();
        acknowledged.extend(load.end());
        first += 1_000_000;
        tails += u64::from(
            bench.files().iter().any(|file| std::fs::metadata(file).unwrap().len() % 4096 == 0),
        );
        // With the library, and without it after the trim of the command line.
        let has_library = round % 3 != 2;
        if !has_library {
            bench.trim_offline();
        }
        running = bench.start(has_library);
        let mut client = running.connect(SOON).unwrap();
        let (table, binlog) = (keys_in_table(&mut client), keys_in_binlogs(&bench));
        let lost: Vec<_> = acknowledged.difference(&table).take(5).collect();
        assert!(lost.is_empty(), "kill {round}: lost {lost:?}\n{}", bench.log());
        let differ: Vec<_> = table.symmetric_difference(&binlog).take(5).collect();
        assert!(
            differ.is_empty(),
            "kill {round}: table and binlog differ: {differ:?}\n{}",
            bench.log()
        );
        for file in bench.files() {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            client.query(&format!("SHOW BINLOG EVENTS IN '{name}' LIMIT 100000")).unwrap();
        }
        bench.assert_sizes_are_real(&mut client);
        if has_library {
            trims += bench.word(StatusWord::trims);
            assert_eq!(
                (bench.word(StatusWord::untrimmed), bench.word(StatusWord::errors)),
                (0, 0),
                "{}",
                bench.log()
            );
        } else {
            drop(client);
            assert!(running.stop(SOON).unwrap().clean);
            bench.assert_all_sound();
            running = bench.start(true);
            client = running.connect(SOON).unwrap();
        }
        // What is verified need not be read again.
        rows += acknowledged.len();
        acknowledged.clear();
        client.execute("TRUNCATE TABLE t.k").unwrap();
        let active =
            bench.files().last().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        client.execute(&format!("PURGE BINARY LOGS TO '{active}'")).unwrap();
    }
    assert!(
        rows as u64 > kills() && tails > 0 && trims > 0,
        "{rows} rows, {tails} tails, {trims} trims"
    );
    eprintln!("{}: {} kills, {rows} rows, {tails} tails, {trims} trims", server.name, kills());
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    assert_eq!(bench.page().marker(), None);
}

/// As after a power cut: a sector of the last group has its old content, which is zeros.
pub(crate) fn torn_tails_are_cut_and_kept(server: &FetchedServer) {
    let bench = Bench::new(server);
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    client.execute("INSERT INTO t.k VALUES (1, 'whole')").unwrap();
    bench.wait_until_ahead();
    let active = bench.file(bench.word(StatusWord::active_file));
    client.execute(&format!("INSERT INTO t.k VALUES (2, '{}')", "torn".repeat(1000))).unwrap();
    drop(client);
    running.kill().unwrap();
    let mut bytes = std::fs::read(&active).unwrap();
    let at = bytes.windows(8).position(|window| window == b"torntorn").unwrap() / 512 + 1;
    bytes[at * 512..][..1024].fill(0);
    std::fs::write(&active, &bytes).unwrap();
    let TailDecision::CutAndKeep { at, keep_to } = decision_on(&active) else {
        panic!("{:?}", decision_on(&active))
    };
    let running = bench.start(true);
    let name = active.file_name().unwrap().to_str().unwrap();
    let mut client = running.connect(SOON).unwrap();
    let events = client.query(&format!("SHOW BINLOG EVENTS IN '{name}'")).unwrap().rows;
    // The server's own words: the last event ends a transaction; none of the torn one is left.
    let last = events.last().unwrap()[5].clone().unwrap();
    assert!(last.starts_with("COMMIT"), "{last}");
    bench.assert_sizes_are_real(&mut client);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    // A server that lost a transaction of its binlog may cut what precedes the torn event of it.
    let cut = std::fs::read(&active).unwrap().len() as u64;
    assert!(cut <= at, "{cut} {at}");
    let beside = std::fs::read_dir(bench.folder()).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> =
        beside.filter(|path| path.to_str().unwrap().contains(&format!("{name}.cut-"))).collect();
    assert_eq!(std::fs::read(&kept[0]).unwrap(), bytes[at as usize..keep_to as usize]);
    assert_eq!(bench.word(StatusWord::cut_bytes), keep_to - at);
}

/// Statements of each kind of group that MariaDB writes.
const STATEMENTS_OF_GROUPS: &str = "CREATE TABLE t.a (id INT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT);
    CREATE TABLE t.m (v LONGTEXT) ENGINE=MyISAM; SET binlog_format = STATEMENT; SET @x = 'u';
    INSERT INTO t.a (v) VALUES (@x); INSERT INTO t.m VALUES (RAND()); SET binlog_format = ROW;
    BEGIN; INSERT INTO t.a (v) VALUES ('r'); UPDATE t.a SET v = 's'; COMMIT; INSERT INTO t.m VALUES ('r');
    CREATE TABLE t.c SELECT * FROM t.a; XA START 'x'; INSERT INTO t.a (v) VALUES ('xa'); XA END 'x'; XA PREPARE 'x';
    XA COMMIT 'x'; XA START 'y'; INSERT INTO t.a (v) VALUES ('xa'); XA END 'y'; XA COMMIT 'y' ONE PHASE;
    SET binlog_format = STATEMENT; BEGIN; INSERT INTO t.m VALUES ('m'); INSERT INTO t.a (v) VALUES ('a'); ROLLBACK;
    BEGIN; SAVEPOINT s; INSERT INTO t.m VALUES ('m'); INSERT INTO t.a (v) VALUES ('a'); ROLLBACK TO s; COMMIT;
    CREATE TEMPORARY TABLE t.tt (id INT); INSERT INTO t.tt VALUES (1); DROP TEMPORARY TABLE t.tt; CREATE SEQUENCE t.q;
    SET binlog_format = ROW; DO NEXTVAL(t.q); SET binlog_alter_two_phase = ON; ALTER TABLE t.a ADD c INT;
    CREATE USER u@localhost; ANALYZE TABLE t.a; TRUNCATE t.a; SET GLOBAL log_bin_compress = ON;
    INSERT INTO t.a (v) VALUES (REPEAT('x', 1000)); DROP TABLE t.m; FLUSH BINARY LOGS";

/// The server's own list says where a group ends: behind it another one begins, or the file ends.
pub(crate) fn groups_end_where_the_server_begins_the_next(server: &FetchedServer) {
    let bench = Bench::new(server);
    if !bench.is_mariadb {
        return;
    }
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    let file = bench.files().pop().unwrap();
    for statement in STATEMENTS_OF_GROUPS.split(';') {
        client.execute(statement.trim()).unwrap();
    }
    let name = file.file_name().unwrap().to_str().unwrap();
    let events = client.query(&format!("SHOW BINLOG EVENTS IN '{name}'")).unwrap().rows;
    let bytes = std::fs::read(&file).unwrap();
    let mut groups = 0;
    for (event, next) in events.iter().zip(&events[1..]) {
        let is_end = matches!(
            next[2].as_deref(),
            Some("Gtid" | "Rotate" | "Gtid_list" | "Binlog_checkpoint")
        );
        // Newer servers do not know where an event will end when they write it, and show 0.
        let end: usize = next[1].as_ref().unwrap().parse().unwrap();
        let Ok(decision) = decide(&mut &bytes[..end], end as u64, BinlogAge::Newest);
        assert_eq!(decision == TailDecision::Sound, is_end, "{event:?} {next:?} {decision:?}");
        groups += usize::from(next[2].as_deref() == Some("Gtid"));
    }
    assert!(groups > 25, "{groups}");
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
}

pub(crate) fn prepared_transactions_survive_rotations_and_kills(server: &FetchedServer) {
    let bench = Bench::new(server);
    let mut running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    for statement in
        ["XA START 'a'", "INSERT INTO t.k VALUES (1, 'x')", "XA END 'a'", "XA PREPARE 'a'"]
    {
        client.execute(statement).unwrap();
    }
    // Another session: this one's transaction is not ended.
    running.connect(SOON).unwrap().execute("FLUSH BINARY LOGS").unwrap();
    bench.wait_until_ahead();
    running.kill().unwrap();
    running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    assert_eq!(client.query("XA RECOVER").unwrap().rows.len(), 1, "{}", bench.log());
    client.execute("XA COMMIT 'a'").unwrap();
    assert_eq!(client.query_value("SELECT COUNT(*) FROM t.k").unwrap().as_deref(), Some("1"));
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}

/// A stock server repairs or ignores what the library left; its replicas would not.
pub(crate) fn a_stock_server_starts_on_an_untrimmed_tail(server: &FetchedServer) {
    let bench = Bench::new(server);
    let running = bench.start(true);
    make_table(&mut running.connect(SOON).unwrap());
    bench.wait_until_ahead();
    let load = Load::start(&running, 1);
    sleep(Duration::from_millis(300));
    running.kill().unwrap();
    let acknowledged = load.end();
    let running = bench.start(false);
    let table = keys_in_table(&mut running.connect(SOON).unwrap());
    assert_eq!(acknowledged.difference(&table).count(), 0);
    assert!(running.stop(SOON).unwrap().clean);
    // The library repairs it at its next start, by the marker that is still there.
    assert!(bench.page().marker().is_some());
    let running = bench.start(true);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    assert_eq!(table, keys_in_binlogs(&bench));
}
