//! The life of a gateway: inspected, started, drained.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use truetps_batch::InspectionError;
use truetps_driver::Target;

use crate::GatewayConfig;
use crate::http::{AccessTokens, Door, GatewayApp, HttpServer, TlsSetup, TlsSetupError};
use crate::served_table::ServedTable;

/// What a commit survives is read again after this time.
const DURABILITY_EVERY: Duration = Duration::from_secs(30);
/// Thousands of clients may connect at the same moment: one that is not queued tries again after a
/// second. The kernel has a limit of its own, net.core.somaxconn.
const BACKLOG: u32 = 4096;
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Descriptors of the process besides its connections: listeners, the runtime, standard streams.
const FILES_RESERVED: usize = 32;
/// Descriptors of a table, besides its commit connections: one that ends a session, and one that
/// reads settings.
const FILES_OF_TABLE: usize = 2;
/// Time for answers on their way, after the last one is known.
const GOODBYE: Duration = Duration::from_secs(2);

#[derive(Debug, Error)]
pub enum GatewayError {
    #[error("table `{table}`: {source}")]
    Inspection { table: String, source: Box<InspectionError> },
    #[error(
        "table `{table}` has no column `{column}` for the header Idempotency-Key in its unique key \
         ({key})"
    )]
    IdempotencyColumn { table: String, column: String, key: String },
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("{path}: {problem}")]
    Tls { path: PathBuf, problem: String },
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl GatewayError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Inspection { source, .. } => source.hint(),
            Self::IdempotencyColumn { .. } => {
                Some("name a column of the unique key in idempotency_column".to_owned())
            }
            Self::Listen { .. } => {
                Some("another program may use the port; port 0 takes a free one".to_owned())
            }
            Self::Tls { .. } | Self::Thread(_) => None,
        }
    }

    /// Whether the configuration is wrong, and not the server.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Inspection { source, .. } => !matches!(**source, InspectionError::Driver(_)),
            Self::IdempotencyColumn { .. } | Self::Listen { .. } | Self::Tls { .. } => true,
            Self::Thread(_) => false,
        }
    }
}

impl From<TlsSetupError> for GatewayError {
    fn from(TlsSetupError { path, problem }: TlsSetupError) -> Self {
        Self::Tls { path, problem }
    }
}

/// What the start has found out about a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNote {
    pub table: String,
    pub key: Vec<String>,
    /// The word of the header X-Durability, and the reason.
    pub durability: (&'static str, String),
    pub warnings: Vec<String>,
}

/// How a gateway ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayStop {
    /// All rows that were taken had their answers from the database.
    pub is_drained: bool,
    pub stored: u64,
}

/// A gateway that takes rows. Dropping it ends it without draining.
pub struct RunningGateway {
    app: Arc<GatewayApp>,
    runtime: Runtime,
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    stop_accepting: watch::Sender<bool>,
    servers: Vec<tokio::task::JoinHandle<()>>,
    notes: Vec<TableNote>,
    warnings: Vec<String>,
}

impl RunningGateway {
    /// Inspects the tables, listens, and starts. The configuration has been checked.
    pub fn start(
        config: &GatewayConfig,
        target: &Target,
        tokens: AccessTokens,
    ) -> Result<Self, GatewayError> {
        let tls = config.tls.as_ref().map(TlsSetup::read).transpose()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(config.threads())
            .thread_name("http")
            .enable_all()
            .build()?;
        let in_runtime = runtime.enter();
        let listener = listen(config.listen)?;
        let metrics_listener = config.metrics.listen.map(listen).transpose()?;
        drop(in_runtime);
        let (mut tables, mut notes) = (Vec::new(), Vec::new());
        for table in &config.tables {
            let (served, note) = start_table(config, table, target, runtime.handle())?;
            tables.push(served);
            notes.push(note);
        }
        let (connections, fewer) = connections_most(config);
        let warnings =
            fewer.into_iter().chain(tls.as_ref().and_then(|tls| tls.warning.clone())).collect();
        let app = Arc::new(GatewayApp::new(config, tables, tokens, connections));
        let (stop_accepting, stopped) = watch::channel(false);
        let (address, metrics_address) = (
            listener.local_addr()?,
            metrics_listener.as_ref().map(TcpListener::local_addr).transpose()?,
        );
        let serve = |listener, tls, door| {
            let server = HttpServer { app: Arc::clone(&app), listener, tls, door };
            runtime.spawn(server.run(stopped.clone()))
        };
        let is_local = address.ip().is_loopback();
        let rows = Door { is_local, has_rows: true, is_open_for_metrics: false };
        let mut servers = vec![serve(listener, tls.map(|tls| tls.acceptor), rows)];
        if let (Some(listener), Some(address)) = (metrics_listener, metrics_address) {
            let is_local = address.ip().is_loopback();
            servers.push(serve(
                listener,
                None,
                Door { is_local, has_rows: false, is_open_for_metrics: config.metrics.anonymous },
            ));
        }
        watch_durability(&app)?;
        Ok(Self {
            app,
            runtime,
            address,
            metrics_address,
            stop_accepting,
            servers,
            notes,
            warnings,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of figures, if they have their own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    pub fn notes(&self) -> &[TableNote] {
        &self.notes
    }

    /// What the user should know of the configuration on this host.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Takes no more rows, waits until those that were taken are committed, at most for `time`, and
    /// answers the others: rows that were not sent are not stored; those that were sent may be.
    pub fn stop(self, time: Duration) -> GatewayStop {
        let end = Instant::now() + time;
        let tables = self.app.tables();
        self.app.begin_stop();
        for table in tables {
            table.queue.close();
        }
        while !tables.iter().all(ServedTable::has_ended) && Instant::now() < end {
            thread::sleep(LOOK_EVERY);
        }
        // Without rows, the threads of the connections may take a moment more.
        let is_drained = tables.iter().all(ServedTable::has_ended)
            || !tables.iter().any(ServedTable::has_open_rows);
        for table in tables {
            table.queue.drop_waiting_rows();
        }
        self.app.give_up();
        let _ = self.stop_accepting.send(true);
        let ends = async {
            for server in self.servers {
                // Its end is all that matters.
                let _ = server.await;
            }
        };
        let _ = self.runtime.block_on(async { tokio::time::timeout(GOODBYE, ends).await });
        let rows = tables.iter().flat_map(|table| table.rows.each());
        let stored = rows.filter(|(name, _)| matches!(*name, "stored" | "duplicate"));
        let stop = GatewayStop { is_drained, stored: stored.map(|(_, count)| count).sum() };
        self.runtime.shutdown_background();
        stop
    }
}

/// Each connection is a descriptor, and the database needs some, too. `limits.connections`, or as
/// many as the limit of this process leaves, and then the reason.
fn connections_most(config: &GatewayConfig) -> (usize, Option<String>) {
    let wanted = config.limits.connections;
    let Some(files) = getrlimit(Resource::Nofile).current.map(|files| files as usize) else {
        return (wanted, None);
    };
    let of_tables: usize =
        config.tables.iter().map(|table| table.connections + FILES_OF_TABLE).sum();
    let left = files.saturating_sub(FILES_RESERVED + of_tables).max(1);
    if left >= wanted {
        return (wanted, None);
    }
    let text = format!(
        "limits.connections is {wanted}, and the limit of open files ({files}) leaves {left}: \
         LimitNOFILE= of systemd, or ulimit -n, raises it"
    );
    (left, Some(text))
}

fn listen(address: SocketAddr) -> Result<TcpListener, GatewayError> {
    try_listen(address).map_err(|source| GatewayError::Listen { address, source })
}

fn try_listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // After a restart the port is free at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn start_table(
    config: &GatewayConfig,
    table: &crate::TableConfig,
    target: &Target,
    runtime: &Handle,
) -> Result<(ServedTable, TableNote), GatewayError> {
    let mut settings = ServedTable::commit_settings(table, &config.queue, target);
    let inspection = settings.keep_commit_mode().and_then(|()| settings.inspect());
    let inspection = inspection.map_err(|source| GatewayError::Inspection {
        table: table.name.clone(),
        source: Box::new(source),
    })?;
    let key: Vec<_> = inspection.columns.key_names().map(str::to_owned).collect();
    if let Some(column) = table.idempotency_column.as_ref().filter(|column| !key.contains(column)) {
        let (table, column, key) = (table.name.clone(), column.clone(), key.join(", "));
        return Err(GatewayError::IdempotencyColumn { table, column, key });
    }
    let mut warnings = inspection.warnings.clone();
    if let Some(reason) = inspection.reads_back.as_ref().filter(|_| settings.refuses_changes) {
        warnings
            .push(format!("{reason}: each row is read again before its commit, which costs time"));
    }
    if !settings.refuses_changes {
        warnings.push(
            "changed = \"answer\": a row may be stored with other values than were sent".to_owned(),
        );
    }
    let served = ServedTable::start(table, config, &settings, inspection, runtime)?;
    served.read_durability();
    let verdict = served.durability();
    let note = TableNote {
        table: table.name.clone(),
        key,
        durability: (verdict.word, verdict.sentence),
        warnings,
    };
    Ok((served, note))
}

/// A thread of its own, because the client blocks. It ends with the gateway.
fn watch_durability(app: &Arc<GatewayApp>) -> io::Result<()> {
    let app = Arc::downgrade(app);
    let builder = thread::Builder::new().name("durability".to_owned());
    let started = builder.spawn(move || {
        loop {
            thread::sleep(DURABILITY_EVERY);
            let Some(app) = app.upgrade() else { return };
            app.tables().iter().for_each(ServedTable::read_durability);
        }
    });
    started.map(drop)
}
