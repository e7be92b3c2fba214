//! A private server with one table, and gateways without HTTP on it.

use std::sync::Arc;
use std::time::Duration;

use truetps_batch::{BatchLimits, CommitQueue, CommitSettings, CommitThreads, QueueLimits};
use truetps_driver::{Client, Target};
use truetps_record::{SettingValue, SqlDialect};
use truetps_sandbox::{
    RunningServer, Sandbox, SandboxOptions, ServerBinary, Settings, StartOptions,
};
use truetps_testkit::mysql_family::{fetched_server, mariadb};
use truetps_testkit::{TestHome, private_postgres};

use crate::SOON;
use crate::clients::TestReply;

pub(crate) const MYSQL_TABLE: &str = "CREATE TABLE rows_in (client INT NOT NULL, seq BIGINT NOT \
     NULL, text VARCHAR(20) NOT NULL, n INT NOT NULL DEFAULT 7, PRIMARY KEY (client, seq)) \
     ENGINE=InnoDB CHARACTER SET utf8mb4";
pub(crate) const POSTGRES_TABLE: &str = "CREATE TABLE rows_in (client INT NOT NULL, seq BIGINT NOT \
     NULL, text VARCHAR(20) NOT NULL, n INT NOT NULL DEFAULT 7, PRIMARY KEY (client, seq))";

/// A server that can be killed and started again on its data.
pub(crate) struct TestServer {
    pub(crate) running: Option<RunningServer>,
    pub(crate) sandbox: Sandbox,
    settings: Settings,
    dialect: SqlDialect,
    _home: TestHome,
}

impl TestServer {
    pub(crate) fn mariadb(test: &str) -> Option<Self> {
        mariadb(test).map(|binary| Self::start(&binary, &[]))
    }

    /// MariaDB, two versions of MySQL, and PostgreSQL, as far as they are installed.
    pub(crate) fn of_each_kind(test: &str) -> Vec<Self> {
        let old =
            fetched_server(test, "mysql-8.0").map(|fetched| Self::start(&fetched.binary, &[]));
        Self::of_each_family(test).into_iter().chain(old).collect()
    }

    /// MariaDB, MySQL and PostgreSQL, as far as they are installed.
    pub(crate) fn of_each_family(test: &str) -> Vec<Self> {
        let mysql = fetched_server(test, "mysql-9.7").map(|fetched| fetched.binary);
        let all = [mariadb(test), private_postgres(test), mysql].into_iter().flatten();
        all.map(|binary| Self::start(&binary, &[])).collect()
    }

    pub(crate) fn start(binary: &ServerBinary, settings: &[(&str, &str)]) -> Self {
        let home = TestHome::new();
        let sandbox = Sandbox::create(
            home.home(),
            binary,
            &SandboxOptions::new(Settings::empty(binary.family())),
        )
        .unwrap();
        let mut all = Settings::empty(binary.family());
        for (name, value) in settings {
            all.set(name, SettingValue::Text((*value).to_owned()));
        }
        let dialect = binary.family().dialect();
        let mut server = Self { running: None, sandbox, settings: all, dialect, _home: home };
        server.restart();
        let create = match dialect {
            SqlDialect::Mysql => "CREATE DATABASE gateway",
            SqlDialect::Postgres => "CREATE SCHEMA IF NOT EXISTS public",
        };
        server.owner().execute(create).unwrap();
        server.run(match dialect {
            SqlDialect::Mysql => MYSQL_TABLE,
            SqlDialect::Postgres => POSTGRES_TABLE,
        });
        server
    }

    pub(crate) fn restart(&mut self) {
        self.running = Some(self.sandbox.start(&StartOptions::new(self.settings.clone())).unwrap());
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.running.take().unwrap().kill().unwrap();
    }

    pub(crate) fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    fn owner(&self) -> Client {
        self.running.as_ref().unwrap().connect(SOON).unwrap()
    }

    pub(crate) fn target(&self) -> Target {
        let schema = match self.dialect {
            SqlDialect::Mysql => "gateway",
            SqlDialect::Postgres => "postgres",
        };
        self.running.as_ref().unwrap().target(schema)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.target(), SOON).unwrap()
    }

    pub(crate) fn run(&self, sql: &str) {
        self.client().execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub(crate) fn settings(&self) -> CommitSettings {
        CommitSettings {
            target: self.target(),
            table: "rows_in".to_owned(),
            key: Vec::new(),
            statement_time: Duration::from_secs(5),
            compares: true,
            refuses_changes: true,
            connections: 1,
        }
    }

    pub(crate) fn gateway(&self) -> TestGateway {
        TestGateway::start(&self.settings())
    }

    pub(crate) fn count(&self, condition: &str) -> u64 {
        let sql = format!("SELECT COUNT(*) FROM rows_in WHERE {condition}");
        self.client().query_value(&sql).unwrap().unwrap().parse().unwrap()
    }
}

/// Queue and threads of one gateway.
pub(crate) struct TestGateway {
    pub(crate) queue: Arc<CommitQueue<TestReply>>,
    threads: Option<CommitThreads>,
}

impl TestGateway {
    pub(crate) fn start(settings: &CommitSettings) -> Self {
        let inspection = settings.inspect().unwrap();
        let limits = QueueLimits {
            rows: 10_000,
            peer_rows: 10_000,
            bytes: 10 << 20,
            wait: Duration::from_secs(30),
            batch: BatchLimits { rows: 1000, bytes: 1 << 20 },
        };
        let queue = Arc::new(CommitQueue::new(inspection.columns, limits, settings.connections));
        let threads = Some(CommitThreads::start(settings, &queue).unwrap());
        Self { queue, threads }
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(threads) = self.threads.take() {
            threads.join();
        }
    }
}
