//! A private server which remembers what was sent to it.

use std::cell::{Cell, RefCell};

use truetps_driver::Client;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::wait_until;
use crate::support::Owned;
use crate::sysbench::shapes::{Shapes, add};

/// The account and the database of sysbench's defaults.
const NAME: &str = "sbtest";
/// What begins each entry of PostgreSQL's log here, before the user.
const ENTRY: char = '\u{1}';

enum Kind {
    Mariadb(Owned),
    Postgres(PostgresServer),
}

pub(crate) struct Server {
    kind: Kind,
    admin: RefCell<Client>,
    /// How much of PostgreSQL's log has been read.
    read: Cell<usize>,
}

impl Server {
    pub(crate) fn mariadb(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let owned = Owned::start(&binary, &[("general_log", "ON"), ("log_output", "TABLE")]);
        owned.execute(&[
            &format!("CREATE DATABASE {NAME}"),
            &format!("CREATE USER {NAME}@'%'"),
            &format!("CREATE USER {NAME}@localhost"),
            &format!("GRANT ALL ON {NAME}.* TO {NAME}@'%'"),
            &format!("GRANT ALL ON {NAME}.* TO {NAME}@localhost"),
        ]);
        let admin = RefCell::new(owned.admin());
        Some(Self { kind: Kind::Mariadb(owned), admin, read: Cell::new(0) })
    }

    pub(crate) fn postgres(test: &str) -> Option<Self> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![
            setting("log_statement", "all"),
            setting("log_line_prefix", &format!("{ENTRY}%u{ENTRY}")),
        ];
        let server = PostgresServer::start(
            test,
            &PostgresOptions { settings, tcp: true, ..Default::default() },
        )?;
        let mut first = server.connect().unwrap();
        first.execute(&format!("CREATE ROLE {NAME} LOGIN")).unwrap();
        first.execute(&format!("CREATE DATABASE {NAME} OWNER {NAME}")).unwrap();
        let mut target = server.target();
        target.login.database = Some(NAME.to_owned());
        let admin = Client::connect(&target, std::time::Duration::from_secs(20)).unwrap();
        Some(Self { kind: Kind::Postgres(server), admin: RefCell::new(admin), read: Cell::new(0) })
    }

    /// What tells sysbench where it is.
    pub(crate) fn flags(&self) -> Vec<String> {
        let (driver, prefix, port) = match &self.kind {
            Kind::Mariadb(owned) => ("mysql", "mysql", owned.port),
            Kind::Postgres(server) => ("pgsql", "pgsql", server.port().unwrap()),
        };
        vec![
            format!("--db-driver={driver}"),
            format!("--{prefix}-host=127.0.0.1"),
            format!("--{prefix}-port={port}"),
        ]
    }

    /// By socket, and by lists of places.
    pub(crate) fn other_ways(&self) -> Vec<Vec<String>> {
        match &self.kind {
            Kind::Mariadb(owned) => {
                let socket = format!("--mysql-socket={}", owned.server.socket().display());
                let port = format!("--mysql-port={0},{0}", owned.port);
                let driver = "--db-driver=mysql".to_owned();
                vec![
                    vec![socket.clone()],
                    vec![driver.clone(), "--mysql-host=nowhere".to_owned(), socket],
                    vec![
                        driver,
                        "--mysql-host=127.0.0.1,127.0.0.1".to_owned(),
                        port,
                        "--threads=3".to_owned(),
                    ],
                ]
            }
            Kind::Postgres(server) => {
                let socket = server.socket();
                let folder = socket.parent().unwrap().display();
                let port = format!("--pgsql-port={}", server.port().unwrap());
                vec![vec!["--db-driver=pgsql".to_owned(), format!("--pgsql-host={folder}"), port]]
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Mariadb(_) => "MariaDB",
            Kind::Postgres(_) => "PostgreSQL",
        }
    }

    fn rows(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        self.admin.borrow_mut().query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).rows
    }

    fn first_column(&self, sql: &str) -> Vec<String> {
        self.rows(sql).into_iter().filter_map(|row| row.into_iter().next()?).collect()
    }

    /// The database's tables in order, each with its number of rows.
    pub(crate) fn tables(&self) -> Vec<(String, u64)> {
        let schema = match self.kind {
            Kind::Mariadb(_) => NAME,
            Kind::Postgres(_) => "public",
        };
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' \
             ORDER BY table_name"
        );
        let count = |table: String| {
            let sql = format!("SELECT COUNT(*) FROM {}", self.qualified(&table));
            let rows = self.first_column(&sql).concat().parse().unwrap();
            (table, rows)
        };
        self.first_column(&sql).into_iter().map(count).collect()
    }

    fn qualified(&self, table: &str) -> String {
        match self.kind {
            Kind::Mariadb(_) => format!("{NAME}.{table}"),
            Kind::Postgres(_) => format!("public.{table}"),
        }
    }

    /// Empties the database, and forgets what was sent.
    pub(crate) fn reset(&self) {
        for (table, _) in self.tables() {
            let table = self.qualified(&table);
            self.admin.borrow_mut().execute(&format!("DROP TABLE {table}")).unwrap();
        }
        self.statements();
    }

    /// The shapes of what the account has sent since this was last called.
    pub(crate) fn statements(&self) -> Shapes {
        self.wait_for_silence();
        match &self.kind {
            Kind::Mariadb(_) => self.general_log(),
            Kind::Postgres(server) => self.statement_log(&server.log()),
        }
    }

    /// Sessions end a moment after their program.
    fn wait_for_silence(&self) {
        let sql = match self.kind {
            Kind::Mariadb(_) => {
                format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{NAME}'")
            }
            Kind::Postgres(_) => {
                format!("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = '{NAME}'")
            }
        };
        wait_until("the end of all sessions", || self.first_column(&sql) == ["0"]);
    }

    fn general_log(&self) -> Shapes {
        let mut shapes = Shapes::new();
        // Without the sessions that ask for replicas, before, and what the server is set to, when
        // all is over.
        let of_ours =
            "SELECT thread_id FROM mysql.general_log WHERE argument LIKE 'SHOW GLOBAL VARIABLES%'";
        let sql = format!(
            "SELECT command_type, argument FROM mysql.general_log WHERE user_host LIKE '{NAME}%' \
             AND thread_id NOT IN ({of_ours})"
        );
        for row in self.rows(&sql) {
            let [kind, text] =
                [0, 1].map(|column| row.get(column).cloned().flatten().unwrap_or_default());
            match kind.as_str() {
                "Quit" => {}
                "Connect" => add(&mut shapes, "Connect", ""),
                "Close stmt" => add(&mut shapes, "Close", ""),
                _ => add(&mut shapes, &kind, &text),
            }
        }
        self.admin.borrow_mut().execute("TRUNCATE TABLE mysql.general_log").unwrap();
        shapes
    }

    fn statement_log(&self, log: &str) -> Shapes {
        let mut shapes = Shapes::new();
        let begin = self.read.replace(log.len());
        let ours = format!("{ENTRY}{NAME}{ENTRY}");
        for entry in log[begin..].split(&ours).skip(1) {
            // An entry goes on until the next one, be it of another user.
            let entry = entry.split(ENTRY).next().unwrap_or_default();
            let Some(text) = entry.strip_prefix("LOG:  ") else { continue };
            if let Some(sql) = text.strip_prefix("statement: ") {
                // Who else gets what is written, what the probe reads, and what the server is set
                // to, when all is over.
                let ours = ["pg_", "SHOW archive_mode", "current_setting(", "SELECT version()"];
                if ours.iter().any(|words| sql.contains(words)) {
                    continue;
                }
                add(&mut shapes, "Query", sql);
            } else if let Some((_, sql)) =
                text.strip_prefix("execute ").and_then(|text| text.split_once(": "))
            {
                add(&mut shapes, "Execute", sql);
            }
        }
        shapes
    }
}
