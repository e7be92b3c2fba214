//! Connections: accepted up to a limit, encrypted if there are certificates, and ended when the gateway stops.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::GatewayApp;
use crate::{HttpLimits, TlsFilesConfig};

const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// If no connection can be accepted: descriptors are freed when others end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const HEADERS_MAX: usize = 64;
/// Requests at the same time on one connection of HTTP/2.
const STREAMS_MAX: u32 = 250;

/// A certificate or key that cannot be used.
#[derive(Debug)]
pub(crate) struct TlsSetupError {
    pub(crate) path: PathBuf,
    pub(crate) problem: String,
}

/// Reads certificate and key.
pub(crate) fn tls_acceptor(files: &TlsFilesConfig) -> Result<TlsAcceptor, TlsSetupError> {
    let wrong = |path: &Path, problem: &dyn std::fmt::Display| TlsSetupError {
        path: path.to_owned(),
        problem: problem.to_string(),
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&files.cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(&files.cert, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| wrong(&files.key, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

pub(crate) struct HttpServer {
    pub(crate) app: Arc<GatewayApp>,
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) limits: HttpLimits,
}

/// Counts an open connection for as long as it lives.
struct CountedConnection(Arc<GatewayApp>);

impl CountedConnection {
    /// `None`: there are as many as there may be.
    fn open(app: &Arc<GatewayApp>, most: usize) -> Option<Self> {
        let open = Self(Arc::clone(app));
        (app.open_connections.fetch_add(1, Ordering::Relaxed) < most).then_some(open)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HttpServer {
    /// Accepts connections until `stopped`, then lets requests end.
    pub(crate) async fn run(self, mut stopped: watch::Receiver<bool>) {
        let graceful = GracefulShutdown::new();
        let builder = Arc::new(self.builder());
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            match CountedConnection::open(&self.app, self.limits.connections) {
                Some(open) => self.serve(stream, open, &builder, graceful.watcher()),
                None => {
                    self.app.refused_connections.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        drop(self.listener);
        graceful.shutdown().await;
    }

    fn builder(&self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        let header_time = Duration::from_secs_f64(self.limits.header_s);
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(header_time)
            .max_headers(HEADERS_MAX)
            // Head and body of an answer are small: one buffer is cheaper than two.
            .writev(false)
            .max_buf_size(self.limits.header_kb << 10);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size((self.limits.header_kb << 10) as u32)
            .keep_alive_interval(header_time)
            .keep_alive_timeout(header_time);
        builder
    }

    fn serve(
        &self,
        stream: TcpStream,
        open: CountedConnection,
        builder: &Arc<Builder<TokioExecutor>>,
        watcher: Watcher,
    ) {
        let builder = Arc::clone(builder);
        let tls = self.tls.clone();
        tokio::spawn(async move {
            // Answers are small: each is sent at once. A failure shows when the connection is used.
            let _ = stream.set_nodelay(true);
            match tls {
                None => serve_stream(stream, open, &builder, watcher).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                        serve_stream(stream, open, &builder, watcher).await;
                    }
                }
            }
        });
    }
}

async fn serve_stream<S>(stream: S, open: CountedConnection, builder: &Builder<TokioExecutor>, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let app = Arc::clone(&open.0);
    let service = service_fn(move |request: hyper::Request<Incoming>| Arc::clone(&app).respond(request));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // How a connection ends is the client's business.
    let _ = watcher.watch(connection).await;
}
