//! Connections: accepted, encrypted if there are certificates, ended if they wait for too long, and
//! when the gateway stops.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::app::GatewayApp;
use super::batch_lines::PIECE_BYTES;
use super::peers::{CountedConnection, PeerConnection};
use super::progress::{ProgressStream, StreamExecutor};
use super::rarely::Rarely;

const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// If no connection can be accepted: descriptors are freed when others end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const LEAVING_PAUSE: Duration = Duration::from_millis(1);
/// For the last frames of a connection that is ended.
const END_TIME: Duration = Duration::from_secs(1);
const HEADERS_MAX: usize = 64;
/// Requests at the same time on one connection of HTTP/2: the least that its standard recommends.
const STREAMS_MAX: u32 = 100;

/// What a listener is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door {
    /// Only this host reaches it: browsers must name it as this host.
    pub(crate) is_local: bool,
    pub(crate) has_rows: bool,
    /// Figures need no token.
    pub(crate) is_open_for_metrics: bool,
}

pub(crate) struct HttpServer {
    pub(crate) app: Arc<GatewayApp>,
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) door: Door,
}

impl HttpServer {
    /// Accepts connections until `stopped`, then lets requests end.
    pub(crate) async fn run(self, mut stopped: watch::Receiver<bool>) {
        let builder = Arc::new(self.builder());
        // Each connection has a sender until it ends.
        let (open, mut all_ended) = mpsc::channel::<()>(1);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let peers = &self.app.peers;
            let Ok((stream, address)) = accepted else {
                peers.make_place();
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            while peers.is_crowded() {
                sleep(LEAVING_PAUSE).await;
            }
            self.serve(stream, address.ip(), &builder, stopped.clone(), open.clone());
        }
        drop((self.listener, open));
        all_ended.recv().await;
    }

    fn builder(&self) -> Builder<StreamExecutor> {
        let limits = &self.app.limits;
        let mut builder = Builder::new(StreamExecutor { request_time: self.app.request_time });
        let header_time = Duration::from_secs_f64(limits.header_s);
        let header_bytes = limits.header_kb << 10;
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(header_time)
            .max_headers(HEADERS_MAX)
            // Head and body of an answer are small: one buffer is cheaper than two.
            .writev(false)
            .max_buf_size(header_bytes);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(header_bytes as u32)
            .max_send_buf_size(PIECE_BYTES)
            .keep_alive_interval(header_time)
            .keep_alive_timeout(header_time);
        builder
    }

    fn serve(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        builder: &Arc<Builder<StreamExecutor>>,
        stopped: watch::Receiver<bool>,
        open: mpsc::Sender<()>,
    ) {
        let Some(counted) = self.app.peers.open(peer) else { return };
        let limits = &self.app.limits;
        let (write_time, idle_time) =
            (Duration::from_secs_f64(limits.write_s), Duration::from_secs_f64(limits.header_s));
        let builder = Arc::clone(builder);
        let (app, tls, door) = (Arc::clone(&self.app), self.tls.clone(), self.door);
        tokio::spawn(async move {
            let _open = open;
            let CountedConnection { connection, .. } = &counted;
            // Answers are small: each is sent at once. A failure shows when the connection is used.
            let _ = stream.set_nodelay(true);
            let stream = ProgressStream::new(stream, write_time);
            let served = ServedConnection {
                app,
                door,
                connection: Arc::clone(connection),
                idle_time,
                stopped,
            };
            let Some(tls) = tls else { return served.serve(stream, &builder).await };
            let accepted = tokio::select! {
                accepted = timeout(HANDSHAKE_TIME, tls.accept(stream)) => accepted,
                () = connection.replaced() => return,
            };
            if let Ok(Ok(stream)) = accepted {
                served.serve(stream, &builder).await;
            }
        });
    }
}

struct ServedConnection {
    app: Arc<GatewayApp>,
    door: Door,
    connection: Arc<PeerConnection>,
    /// Longest time without a request.
    idle_time: Duration,
    stopped: watch::Receiver<bool>,
}

impl ServedConnection {
    async fn serve<S>(mut self, stream: S, builder: &Builder<StreamExecutor>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (app, door, connection) =
            (Arc::clone(&self.app), self.door, Arc::clone(&self.connection));
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            Arc::clone(&app).respond(door, Arc::clone(&connection), request)
        });
        let mut http = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let end = Rarely::new(until_end(&mut self.stopped, &self.connection, self.idle_time));
        // How a connection ends is the client's business.
        let end = tokio::select! {
            biased;
            end = end => end,
            _ = http.as_mut() => return,
        };
        http.as_mut().graceful_shutdown();
        match end {
            ConnectionEnd::Replaced => {}
            ConnectionEnd::Idle => drop(timeout(END_TIME, http).await),
            ConnectionEnd::Stopped => tokio::select! {
                _ = http => {}
                () = self.connection.replaced() => {}
            },
        }
    }
}

/// Why a connection is ended that the client has left open.
enum ConnectionEnd {
    /// Its requests are answered first.
    Stopped,
    Idle,
    /// Its place is needed for another one.
    Replaced,
}

async fn until_end(
    stopped: &mut watch::Receiver<bool>,
    connection: &PeerConnection,
    idle_time: Duration,
) -> ConnectionEnd {
    tokio::select! {
        () = until_stopped(stopped) => ConnectionEnd::Stopped,
        () = until_idle(connection, idle_time) => ConnectionEnd::Idle,
        () = connection.replaced() => ConnectionEnd::Replaced,
    }
}

async fn until_stopped(stopped: &mut watch::Receiver<bool>) {
    // An error: the gateway was dropped.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Until it has had no request for so long. This includes connections that are silent from the
/// start, whatever they have sent of a request.
async fn until_idle(connection: &PeerConnection, idle_time: Duration) {
    loop {
        let since = connection.waits_since().map_or_else(Instant::now, Instant::from_std);
        if since.elapsed() >= idle_time {
            return;
        }
        sleep_until(since + idle_time).await;
    }
}
