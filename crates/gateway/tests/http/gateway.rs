//! A private MariaDB with the table `readings`, and a gateway on it.

use std::net::SocketAddr;

use truetps_driver::Client;
use truetps_gateway::{AccessTokens, GatewayConfig, RunningGateway, TableConfig};
use truetps_sandbox::{RunningServer, Sandbox, SandboxOptions, Settings, StartOptions};
use truetps_testkit::TestHome;
use truetps_testkit::mysql_family::mariadb;

use crate::SOON;
use crate::client::HttpClient;

pub(crate) struct TestDatabase {
    pub(crate) running: RunningServer,
    _sandbox: Sandbox,
    _home: TestHome,
}

impl TestDatabase {
    pub(crate) fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let home = TestHome::new();
        let sandbox = Sandbox::create(
            home.home(),
            &binary,
            &SandboxOptions::new(Settings::empty(binary.family())),
        )
        .unwrap();
        let running = sandbox.start(&StartOptions::new(Settings::empty(binary.family()))).unwrap();
        running.connect(SOON).unwrap().execute("CREATE DATABASE gateway").unwrap();
        let database = Self { running, _sandbox: sandbox, _home: home };
        database.run(
            "CREATE TABLE readings (client INT NOT NULL, seq BIGINT NOT NULL, text VARCHAR(20) \
             NULL, PRIMARY KEY (client, seq)) CHARACTER SET utf8mb4",
        );
        database.run(
            "CREATE TABLE events (id VARCHAR(64) NOT NULL PRIMARY KEY, text VARCHAR(20) NOT NULL)",
        );
        Some(database)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.running.target("gateway"), SOON).unwrap()
    }

    pub(crate) fn run(&self, sql: &str) {
        self.client().execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub(crate) fn count(&self) -> u64 {
        self.client()
            .query_value("SELECT COUNT(*) FROM readings")
            .unwrap()
            .unwrap()
            .parse()
            .unwrap()
    }

    /// A gateway on a free port; `change` edits its configuration.
    pub(crate) fn gateway(&self, change: impl FnOnce(&mut GatewayConfig)) -> RunningGateway {
        self.gateway_with(change, AccessTokens::default())
    }

    pub(crate) fn gateway_with(
        &self,
        change: impl FnOnce(&mut GatewayConfig),
        tokens: AccessTokens,
    ) -> RunningGateway {
        let events = TableConfig {
            idempotency_column: Some("id".to_owned()),
            ..TableConfig::named("events")
        };
        let mut config = GatewayConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tables: vec![TableConfig::named("readings"), events],
            ..GatewayConfig::default()
        };
        change(&mut config);
        config.check(&tokens).unwrap();
        RunningGateway::start(&config, &self.running.target("gateway"), tokens).unwrap()
    }
}

pub(crate) fn client(gateway: &RunningGateway) -> HttpClient {
    HttpClient::connect(gateway.address())
}

pub(crate) fn row(client: usize, seq: usize) -> String {
    format!(r#"{{"client":{client},"seq":{seq},"text":"{client}-{seq}"}}"#)
}
