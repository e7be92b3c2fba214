//! Every workload's statements on a real server: whole transactions, one client after another, and
//! what they leave in the tables. No test asserts a figure.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use truetps_driver::{Client, Connector, Params, Reply, Session, SessionEvent, Statement, Target};
use truetps_plan::{
    BulkInsertSpec, DeleteInsertSpec, HotRowSpec, KeyMode, Plan, ReadWriteMix, ReadWriteSpec,
    UpdateSpec, WorkloadKind, WorkloadSpec,
};
use truetps_record::{SettingValue, SqlDialect};
use truetps_sandbox::{
    HostLimits, RunningServer, Sandbox, SandboxOptions, ServerLoad, ServerUser, Settings,
    StartOptions, chosen_settings, find,
};
use truetps_testkit::TestHome;
use truetps_workload::{NAMES, Workload, build};

const SEED: u64 = 7;
const CLIENTS: u32 = 3;
const TRANSACTIONS: u32 = 20;
/// Transactions of all clients.
const ALL: i64 = (CLIENTS * TRANSACTIONS) as i64;
const ROWS: i64 = 400;

/// A private server and a client of it. The home goes last.
struct Server {
    client: Client,
    running: RunningServer,
    _sandbox: Sandbox,
    _home: TestHome,
}

/// `None` where there is no server: the test is skipped, and says so.
fn server() -> Option<Server> {
    let basedir = std::env::var_os("TRUETPS_TEST_BASEDIR").map(PathBuf::from);
    let binary = match find(basedir.as_deref(), None, &ServerUser::choose()) {
        Ok(binary) => binary,
        Err(error) => {
            assert!(
                std::env::var_os("TRUETPS_REQUIRE_SERVER").is_none_or(|value| value != "1"),
                "{error}"
            );
            let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
            return None;
        }
    };
    let home = TestHome::new();
    let load = ServerLoad { connections_max: 10, statements_per_connection: 50 };
    let memory = HostLimits::read().memory_bytes;
    let mut settings = Settings::new(
        binary.family(),
        &chosen_settings(memory, load, binary.flavour, binary.version),
    );
    settings.set("innodb_buffer_pool_size", SettingValue::Text("64M".to_owned()));
    let sandbox = Sandbox::create(
        home.home(),
        &binary,
        &SandboxOptions::new(Settings::empty(binary.family())),
    )
    .unwrap();
    let server = sandbox.start(&StartOptions::new(settings)).unwrap();
    let mut client =
        Client::connect_unix(server.socket(), "root", None, Duration::from_mins(1)).unwrap();
    client.execute("CREATE DATABASE truetps").unwrap();
    client.execute("USE truetps").unwrap();
    Some(Server { client, running: server, _sandbox: sandbox, _home: home })
}

impl Server {
    /// Makes and fills the tables, empties them and fills them again from a copy, as an experiment
    /// does.
    fn load(&mut self, workload: &dyn Workload) {
        for table in workload.tables() {
            self.execute(&format!("DROP TABLE IF EXISTS {}, pristine", table.name));
            table.create_sql().iter().for_each(|sql| self.execute(sql));
            let loaded: u64 = table.load_sql().map(|sql| self.client.execute(&sql).unwrap()).sum();
            assert_eq!(loaded, table.rows);
            self.execute(&format!("CREATE TABLE pristine LIKE {}", table.name));
            self.execute(&format!("INSERT INTO pristine SELECT * FROM {}", table.name));
            self.execute(&format!("TRUNCATE TABLE {}", table.name));
            self.execute(&format!("INSERT INTO {} SELECT * FROM pristine", table.name));
            table.after_load_sql().iter().for_each(|sql| self.execute(sql));
        }
    }

    fn execute(&mut self, sql: &str) {
        self.client.execute(sql).unwrap();
    }

    fn number(&mut self, sql: &str) -> i64 {
        self.client
            .query_value(sql)
            .unwrap()
            .unwrap_or_else(|| panic!("{sql}: NULL"))
            .parse()
            .unwrap()
    }

    /// A session whose last statement is a ROLLBACK, after the workload's statements.
    fn connect(&self, workload: &dyn Workload, prepared: bool) -> Connection {
        let mut statements = workload.statements().to_vec();
        statements.push(Statement::text_only("ROLLBACK"));
        let socket = UnixStream::connect(self.running.socket()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let target = Target::mysql_unix(self.running.socket(), "root", Some("truetps"));
        let session = Connector::new(target, statements.into(), prepared).unwrap().session(0);
        let mut connection = Connection { socket, session };
        assert_eq!(connection.event(), SessionEvent::Ready);
        connection
    }
}

/// One measured session, driven by blocking calls.
struct Connection {
    socket: UnixStream,
    session: Box<dyn Session>,
}

impl Connection {
    fn event(&mut self) -> SessionEvent {
        let mut input = vec![0; 65_536];
        loop {
            let length = self.socket.read(&mut input).unwrap();
            assert!(length > 0, "the server hung up");
            let mut output = Vec::new();
            let event = self.session.on_bytes(&input[..length], &mut output).unwrap();
            self.socket.write_all(&output).unwrap();
            if event != SessionEvent::Pending {
                return event;
            }
        }
    }

    fn send(&mut self, statement: usize, params: &Params) -> Reply {
        let mut output = Vec::new();
        self.session.send(statement, params, &mut output);
        self.socket.write_all(&output).unwrap();
        let SessionEvent::Reply(reply) = self.event() else { panic!("not a reply") };
        reply
    }
}

/// What was sent and committed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    affected_rows: u64,
    rows_read: u64,
}

/// Sends [`TRANSACTIONS`] of each client. Every second one is sent up to its last statement, rolled
/// back as after an error, and sent again from the start.
fn drive(server: &Server, workload: &dyn Workload, prepared: bool) -> Done {
    let statements = workload.statements();
    let mut params = Params::default();
    let mut done = Done::default();
    let mut clients: Vec<_> =
        (0..CLIENTS).map(|n| (server.connect(workload, prepared), workload.client(n))).collect();
    for n in 0..TRANSACTIONS {
        for (connection, stream) in &mut clients {
            stream.next_transaction();
            let mut fails = n % 2 == 1;
            let mut now = Done::default();
            loop {
                params.clear();
                let step = stream.next_statement(&mut params);
                if fails && step.is_last {
                    params.clear();
                    assert_eq!(connection.send(statements.len(), &params).error, None);
                    stream.rewind();
                    (fails, now) = (false, Done::default());
                    continue;
                }
                let reply = connection.send(step.statement, &params);
                assert_eq!(
                    reply.error,
                    None,
                    "{}: {:.200}",
                    workload.name(),
                    statements[step.statement].sql()
                );
                now.affected_rows += reply.affected_rows;
                now.rows_read += reply.rows;
                if step.is_last {
                    break;
                }
            }
            done.affected_rows += now.affected_rows;
            done.rows_read += now.rows_read;
        }
    }
    done
}

fn small(name: &str) -> WorkloadSpec {
    of_kind(WorkloadKind::named(name).unwrap())
}

fn of_kind(kind: WorkloadKind) -> WorkloadSpec {
    WorkloadSpec { table_rows: ROWS as u64, ..WorkloadSpec::new(kind) }
}

fn hot_row(rows: u32) -> WorkloadSpec {
    of_kind(WorkloadKind::HotRow(HotRowSpec { hot_rows: Some(rows), distribution: None }))
}

/// Loads, drives and checks, with values in binary and as text: both leave the same tables.
fn run(server: &mut Server, spec: &WorkloadSpec, check: impl Fn(&mut Server, Done)) {
    let workload = build(spec, SqlDialect::Mysql, SEED).unwrap();
    let mut sums = Vec::new();
    for prepared in [true, false] {
        server.load(&*workload);
        let done = drive(server, &*workload, prepared);
        check(server, done);
        let names: Vec<_> = workload.tables().iter().map(|table| table.name.clone()).collect();
        let sum = server.client.query(&format!("CHECKSUM TABLE {}", names.join(", "))).unwrap();
        sums.push(sum);
    }
    assert_eq!(sums[0], sums[1], "{}", spec.kind.name());
}

/// One test, since making a server takes longer than all the rest.
#[test]
fn every_workload_on_a_real_server() {
    let Some(mut server) = server() else { return };
    every_workload_leaves_what_it_says(&mut server);
    delete_insert_leaves_the_rows_where_its_key_says(&mut server);
    read_write_reads_and_writes_as_often_as_its_mix_says(&mut server);
    a_custom_workload_fills_columns_of_all_types(&mut server);
    a_list_of_statements_goes_round(&mut server);
    a_generated_table_takes_its_values(&mut server);
    pages_have_as_many_rows_as_tables_say(&mut server);
}

fn of_plan(workload: &str) -> WorkloadSpec {
    let text =
        format!("name = 'p'\nabout = '?'\n[factors]\nconnections = [1]\n[workload]\n{workload}");
    Plan::parse(&text).unwrap().workload
}

fn a_list_of_statements_goes_round(server: &mut Server) {
    let list = "create = \"create table `goods` (id int primary key, cnt int, note text); insert \
                into goods values (1, 1000, ';'), (2, 0, '')\"\n\
                sql = [\"update goods set cnt = cnt - 1 where id = 1; update goods set note = '?;' \
                where id = 2\", 'select * from goods /* ? ; */']\n";
    // Each client sends the first of three statements in a third of its transactions, which are all
    // of one statement.
    let firsts = |transactions: u32| i64::from(CLIENTS * transactions.div_ceil(3));
    let cnt = "SELECT cnt FROM goods WHERE id = 1 AND note = ';'";
    run(server, &of_plan(list), |server, done| {
        assert_eq!(server.number(cnt), 1_000 - firsts(TRANSACTIONS));
        assert_eq!(server.number("SELECT COUNT(*) FROM goods WHERE id = 2 AND note = '?;'"), 1);
        assert_eq!(done.rows_read as i64, 2 * i64::from(CLIENTS * (TRANSACTIONS / 3)));
    });
    run(server, &of_plan(&format!("{list}commit_every = 2")), |server, _| {
        assert_eq!(server.number(cnt), 1_000 - firsts(2 * TRANSACTIONS));
    });
}

fn a_generated_table_takes_its_values(server: &mut Server) {
    let all = "ints = 2, varchars = 2, floats = 1, doubles = 1, decimals = 1, texts = 1, bigints = \
               1, datetimes = 1, blobs = 1";
    for rest in [
        "",
        ", varchar_length = 20, decimal_precision = 65, decimal_scale = 30, auto_primary_key = \
         false",
    ] {
        for (section, rows) in [("", 1), ("rows_per_insert = 5", 5), ("explicit_commit = true", 1)]
        {
            let spec = of_plan(&format!("table = {{ rows = {ROWS}, {all}{rest} }}\n{section}"));
            run(server, &spec, |server, done| {
                assert_eq!(
                    (server.number("SELECT COUNT(*) FROM t"), done.affected_rows as i64),
                    (ROWS + rows * ALL, rows * ALL)
                );
                let length = if rest.is_empty() { 64 } else { 20 };
                let fine = format!(
                    "i0 BETWEEN 1 AND 200000000 AND LENGTH(c1) = {length} AND f0 < 1e10 AND d0 = \
                     ROUND(d0, 2) AND dm0 >= 0 AND LENGTH(t0) = 64 AND b0 > 0 AND YEAR(dt0) \
                     BETWEEN 2000 AND 2029 AND LENGTH(bl0) = 64"
                );
                assert_eq!(
                    server.number(&format!("SELECT COUNT(*) FROM t WHERE {fine}")),
                    ROWS + rows * ALL
                );
            });
        }
    }
}

/// Rows that came in the order of their keys, against the pages that the server counts.
fn pages_have_as_many_rows_as_tables_say(server: &mut Server) {
    const MANY: u64 = 20_000;
    let many = |name: &str| WorkloadSpec { table_rows: MANY, ..small(name) };
    let columns = "ints = 4, floats = 2, varchars = 2, decimals = 1, datetimes = 1, doubles = 1, \
                   bigints = 1, texts = 1";
    let generated = [
        format!("table = {{ rows = {MANY}, {columns} }}"),
        format!(
            "table = {{ rows = {MANY}, ints = 1, auto_primary_key = false, texts = 1, value_length \
             = 300 }}"
        ),
    ];
    let hot = hot_row(100_000);
    let own = [many("insert"), many("delete-insert"), hot];
    for spec in own.into_iter().chain(generated.iter().map(|text| of_plan(text))) {
        let table = build(&spec, SqlDialect::Mysql, SEED).unwrap().tables().remove(0);
        server.execute(&format!("DROP TABLE IF EXISTS {}", table.name));
        table
            .create_sql()
            .iter()
            .chain(table.load_sql().collect::<Vec<_>>().iter())
            .for_each(|sql| server.execute(sql));
        server.execute(&format!("ANALYZE TABLE {}", table.name));
        let pages = server.number(&format!(
            "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = 'truetps' AND \
             table_name = '{}' AND index_name IN ('PRIMARY', 'GEN_CLUST_INDEX') AND stat_name = \
             'n_leaf_pages'",
            table.name
        ));
        let (found, said) =
            (table.rows as f64 / pages as f64, table.rows_per_page().unwrap() as f64);
        assert!(
            (found / said - 1.0).abs() < 0.03,
            "{}: {found} rows on a page, not {said}",
            table.name
        );
    }
}

const COUNT: &str = "SELECT COUNT(*) FROM sbtest1";

fn every_workload_leaves_what_it_says(server: &mut Server) {
    for name in NAMES.iter().filter(|name| !["custom", "hot-row", "sql", "table"].contains(name)) {
        run(server, &WorkloadSpec { tables: 3, ..small(name) }, |_, _| {});
    }
    run(server, &small("insert"), |server, done| {
        assert_eq!((server.number(COUNT), done.affected_rows as i64), (ROWS + ALL, ALL));
        assert_eq!(
            server.number("SELECT MAX(id) FROM sbtest1"),
            ROWS + ALL,
            "keys go on after the loaded ones"
        );
    });
    let bulk = of_kind(WorkloadKind::BulkInsert(BulkInsertSpec { rows_per_insert: Some(7) }));
    run(server, &bulk, |server, _| {
        assert_eq!(server.number(COUNT), ROWS + 7 * ALL);
        assert_eq!(
            server
                .number("SELECT COUNT(*) FROM sbtest1 WHERE LENGTH(c) = 119 AND LENGTH(pad) = 59"),
            ROWS + 7 * ALL
        );
    });
    run(server, &small("update-index"), |server, done| {
        let k = "SELECT SUM(k) FROM sbtest1";
        assert_eq!(server.number(k) - server.number(&k.replace("sbtest1", "pristine")), ALL);
        assert_eq!(done.affected_rows as i64, ALL);
    });
    let skewed =
        of_kind(WorkloadKind::UpdateNonIndex(UpdateSpec { distribution: "zipfian".parse().ok() }));
    run(server, &skewed, |server, done| {
        let changed =
            "SELECT COUNT(*) FROM sbtest1 JOIN pristine USING (id) WHERE sbtest1.c <> pristine.c";
        assert!((1..=ALL).contains(&server.number(changed)));
        assert_eq!((server.number(COUNT), done.affected_rows as i64), (ROWS, ALL));
    });
    run(server, &hot_row(4), |server, _| {
        assert_eq!(server.number("SELECT SUM(cnt) FROM hot_counter"), ALL);
        assert_eq!(server.number("SELECT COUNT(*) FROM hot_counter WHERE cnt > 0"), 4);
    });
}

fn delete_insert_leaves_the_rows_where_its_key_says(server: &mut Server) {
    let with = |key| {
        of_kind(WorkloadKind::DeleteInsert(DeleteInsertSpec { key: Some(key), distribution: None }))
    };
    let old_keys = "SELECT COUNT(*) FROM sbtest1 JOIN pristine USING (id)";
    let last = "SELECT MAX(id) FROM pristine";
    run(server, &with(KeyMode::Deleted), |server, done| {
        assert_eq!((server.number(COUNT), server.number(old_keys)), (ROWS, ROWS));
        assert_eq!(done.affected_rows as i64, 2 * ALL);
    });
    run(server, &with(KeyMode::Random), |server, done| {
        let deleted = ROWS - server.number(old_keys);
        assert!((ALL / 2..=ALL).contains(&deleted), "few rows were drawn twice: {deleted}");
        assert_eq!(
            (server.number(COUNT), done.affected_rows as i64),
            (ROWS - deleted + ALL, deleted + ALL)
        );
        let last = server.number(last);
        assert!(
            server.number("SELECT MAX(id) FROM sbtest1") <= last,
            "new rows lie between the loaded ones"
        );
    });
    run(server, &with(KeyMode::Auto), |server, _| {
        let last = server.number(last);
        // A transaction that was rolled back has used up its number.
        let new = server.number(&format!("SELECT COUNT(*) FROM sbtest1 WHERE id > {last}"));
        assert_eq!(new, ALL);
        assert!(server.number("SELECT MAX(id) FROM sbtest1") <= last + 2 * ALL);
    });
}

fn read_write_reads_and_writes_as_often_as_its_mix_says(server: &mut Server) {
    run(server, &small("read-write"), |server, done| {
        assert_eq!(server.number(COUNT), ROWS);
        assert_eq!(done.affected_rows as i64, 4 * ALL);
        // Ten rows by key, a sum, and three ranges of at most a hundred rows; a range may begin
        // near the end.
        assert!((14 * ALL..=311 * ALL).contains(&(done.rows_read as i64)), "{done:?}");
    });
    let mut only = ReadWriteMix::default();
    for (name, _) in ReadWriteMix::default().counts() {
        only.set(name, u32::from(name == "point_selects") * 2).unwrap();
    }
    let read_write =
        of_kind(WorkloadKind::ReadWrite(ReadWriteSpec { mix: Some(only), distribution: None }));
    run(server, &read_write, |_, done| {
        assert_eq!(done, Done { affected_rows: 0, rows_read: 2 * ALL as u64 });
    });
}

/// An order, its line, and the account that pays: all kinds of values in columns of their types.
const CUSTOM: &str = r#"
name = "custom"
about = "a test"
[factors]
connections = [1]
[workload]
name = "custom"

[[workload.statements]]
sql = "INSERT INTO orders (id, tag, raw, price, day, at, seen, kind, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
params = [
    { kind = "sequence", name = "order" },
    { kind = "uuid" },
    { kind = "uuid", version = 7, form = "bytes", name = "raw" },
    { kind = "double", min = 1, max = 100 },
    { kind = "date" },
    { kind = "datetime", min = "2024-01-01", max = "2024-12-31" },
    { kind = "timestamp" },
    { kind = "choice", values = ["it's", "\\", "ü"], weights = [1, 1, 1] },
    { kind = "text", min_length = 1, max_length = 40, alphabet = "alphanumeric", null_share = 0.5 },
]
[[workload.statements]]
sql = "INSERT INTO line (order_id, raw) VALUES (?, ?)"
params = [{ kind = "same", as = "order" }, { kind = "same", as = "raw" }]
[[workload.statements]]
sql = "UPDATE account SET total = total + 1 WHERE id = ?"
params = [{ kind = "int", min = 1, max = 300, distribution = "zipfian" }]

[[workload.table]]
name = "account"
create = ["CREATE TABLE account (id BIGINT PRIMARY KEY, owner VARCHAR(40), photo VARBINARY(100), total BIGINT NOT NULL)"]
rows = 300
columns.id = { kind = "sequence" }
columns.owner = { kind = "choice", values = ["it's", "\\", "ü"], null_share = 0.1 }
columns.photo = { kind = "bytes", max_length = 100 }
columns.total = { kind = "constant", value = 0 }

[[workload.table]]
name = "orders"
create = [
    """CREATE TABLE orders (id BIGINT PRIMARY KEY, tag CHAR(36) NOT NULL, raw BINARY(16) NOT NULL, price DOUBLE,
       day DATE, at DATETIME, seen TIMESTAMP NULL, kind VARCHAR(10), note VARCHAR(40))""",
    "CREATE UNIQUE INDEX raw ON orders (raw)",
]

[[workload.table]]
name = "line"
create = ["CREATE TABLE line (id BIGINT AUTO_INCREMENT PRIMARY KEY, order_id BIGINT NOT NULL, raw BINARY(16) NOT NULL)"]
after_load = ["ANALYZE TABLE line"]
"#;

fn a_custom_workload_fills_columns_of_all_types(server: &mut Server) {
    let spec = Plan::parse(CUSTOM).unwrap().workload;
    server.execute("SET NAMES utf8mb4");
    run(server, &spec, |server, _| {
        assert_eq!(
            server.number(
                "SELECT COUNT(*) FROM orders JOIN line ON orders.id = order_id AND \
                           orders.raw = line.raw"
            ),
            ALL
        );
        assert_eq!(server.number("SELECT SUM(total) FROM account"), ALL);
        assert_eq!(server.number("SELECT COUNT(*) FROM account WHERE id BETWEEN 1 AND 300"), 300);
        let fine = "price >= 1 AND price < 100 AND YEAR(at) = 2024 AND YEAR(day) BETWEEN 2000 AND \
                    2029 AND YEAR(seen) BETWEEN 1999 AND 2030 AND kind IN ('it''s', '\\\\', 'ü')";
        assert_eq!(server.number(&format!("SELECT COUNT(*) FROM orders WHERE {fine}")), ALL);
        let nulls = server.number("SELECT COUNT(*) FROM orders WHERE note IS NULL");
        assert!((10..=50).contains(&nulls), "half of {ALL}: {nulls}");
        for value in ["it''s", "\\\\", "ü"] {
            assert!(
                server.number(&format!("SELECT COUNT(*) FROM account WHERE owner = '{value}'"))
                    > 50,
                "{value}"
            );
        }
    });
}
