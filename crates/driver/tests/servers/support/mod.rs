#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]
//! What the tests with a server share: a private one that listens on TCP as well, accounts,
//! certificates.

pub(crate) mod ad_hoc;
mod certificates;
mod prepared;

use std::time::{Duration, Instant};

pub(crate) use certificates::Certificates;
pub(crate) use prepared::Prepared;
use truetps_driver::{Client, DriverError, Target};
use truetps_record::SettingValue;
use truetps_sandbox::{
    RunningServer, Sandbox, SandboxError, SandboxOptions, ServerBinary, Settings, StartOptions,
};
use truetps_testkit::{TestHome, free_port};

pub(crate) const SOON: Duration = Duration::from_mins(1);

/// A private server on a socket and on 127.0.0.1.
pub(crate) struct Server {
    running: RunningServer,
    pub(crate) port: u16,
    pub(crate) certificates: Certificates,
    _sandbox: Sandbox,
    _home: TestHome,
}

impl Server {
    /// `settings` come over those that let it listen, encrypt and be small.
    pub(crate) fn start(binary: &ServerBinary, settings: &[(&str, &str)]) -> Self {
        let home = TestHome::new();
        let certificates = Certificates::make(home.folder());
        let sandbox = Sandbox::create(
            home.home(),
            binary,
            &SandboxOptions::new(Settings::empty(binary.family())),
        )
        .unwrap();
        // Between the look for a free port and the server's, another one may have taken it.
        for attempt in 0.. {
            let port = free_port();
            let makes_its_own = settings.iter().any(|(name, _)| *name == "auto_generate_certs");
            let mut all = base_settings(binary, port, (!makes_its_own).then_some(&certificates));
            for (name, value) in settings {
                all.set(name, SettingValue::Text((*value).to_owned()));
            }
            match sandbox.start(&StartOptions::new(all)) {
                Ok(running) => {
                    return Self { running, port, certificates, _sandbox: sandbox, _home: home };
                }
                Err(SandboxError::Start { log, .. })
                    if attempt < 3 && log.contains("already in use") => {}
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!()
    }

    /// The server's owner, over the socket.
    pub(crate) fn admin(&self) -> Client {
        self.running.connect(SOON).unwrap()
    }

    pub(crate) fn run(&self, statements: &[&str]) {
        let mut admin = self.admin();
        for sql in statements {
            admin.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    /// Waits until the server has ended an idle connection, which takes as long as the server is
    /// busy with others.
    pub(crate) fn wait_for_end_of(&self, client: &mut Client) {
        let id = client.query_value("SELECT CONNECTION_ID()").unwrap().unwrap();
        let is_there =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        let began = Instant::now();
        while self.admin().query_value(&is_there).unwrap().as_deref() != Some("0") {
            assert!(
                began.elapsed() < Duration::from_mins(1),
                "the server keeps an idle connection"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn tcp(&self, account: &str, options: &str) -> Target {
        self.host("127.0.0.1", account, options)
    }

    pub(crate) fn host(&self, host: &str, account: &str, options: &str) -> Target {
        Target::parse(&format!("mysql://{account}@{host}:{}/{options}", self.port)).unwrap()
    }

    pub(crate) fn socket(&self, account: &str, options: &str) -> Target {
        let socket = self.running.socket().display();
        Target::parse(&format!("mysql://{account}@/?socket={socket}{options}")).unwrap()
    }
}

pub(crate) fn connect(target: &Target) -> Result<Client, DriverError> {
    Client::connect(target, SOON)
}

/// The error that connecting ends with.
pub(crate) fn refusal(target: &Target) -> DriverError {
    match connect(target) {
        Ok(_) => panic!("{target} is open"),
        Err(error) => error,
    }
}

/// Connects, and says which TLS the server sees; nothing where there is none.
pub(crate) fn tls_version(target: &Target) -> String {
    let mut client = connect(target).unwrap_or_else(|error| panic!("{target}: {error}"));
    let result = client.query("SHOW STATUS LIKE 'Ssl_version'").unwrap();
    result.rows[0][1].clone().unwrap()
}

fn base_settings(
    binary: &ServerBinary,
    port: u16,
    certificates: Option<&Certificates>,
) -> Settings {
    let mut settings = Settings::empty(binary.family());
    let port = port.to_string();
    let mut set =
        |name: &str, value: &str| settings.set(name, SettingValue::Text(value.to_owned()));
    set("skip_networking", "OFF");
    set("bind_address", "127.0.0.1");
    set("port", &port);
    if let Some(certificates) = certificates {
        for (name, file) in
            [("ssl_ca", "ca.pem"), ("ssl_cert", "server.pem"), ("ssl_key", "server.key")]
        {
            set(name, certificates.path(file).to_str().unwrap());
        }
    }
    set("innodb_buffer_pool_size", "64M");
    if binary.is_mariadb() {
        set("ssl", "ON");
        set("innodb_log_file_size", "16M");
    } else {
        set("loose_innodb_redo_log_capacity", "32M");
        set("loose_caching_sha2_password_auto_generate_rsa_keys", "ON");
    }
    settings
}
