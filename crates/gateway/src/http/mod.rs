//! HTTP: `connections` accepts and limits them, `access` says who may come in, `rows` reads rows and waits for their
//! answers, and `answers` words those. This file has the paths.

mod access;
mod answers;
mod connections;
mod rows;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{Semaphore, watch};

pub use access::AccessTokens;
pub(crate) use connections::{HttpServer, TlsSetupError, tls_acceptor};

use crate::metrics::metrics_text;
use crate::page::{PAGE, state_json};
use crate::served_table::ServedTable;
use crate::{GatewayConfig, HttpLimits};

pub(crate) type GatewayResponse = Response<Full<Bytes>>;

/// The queue is nearly full: a load balancer may use another replica.
const READY_SHARE: f64 = 0.8;
/// What the page may do: its own script and style, and requests to this host.
const PAGE_POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

/// What all requests share.
pub(crate) struct GatewayApp {
    tables: Vec<ServedTable>,
    tokens: AccessTokens,
    /// Only this host reaches the gateway: browsers must name it as this host.
    is_local: bool,
    has_page: bool,
    limits: HttpLimits,
    is_stopping: AtomicBool,
    /// Rows without an answer are not waited for any more.
    gives_up: watch::Sender<bool>,
    /// Kilobytes of bodies that may be received at the same time.
    body_room: Arc<Semaphore>,
    open_connections: AtomicUsize,
    refused_connections: AtomicU64,
}

impl GatewayApp {
    pub(crate) fn new(
        config: &GatewayConfig,
        tables: Vec<ServedTable>,
        tokens: AccessTokens,
        address: SocketAddr,
    ) -> Self {
        Self {
            tables,
            tokens,
            is_local: address.ip().is_loopback(),
            has_page: config.page,
            limits: config.limits.clone(),
            is_stopping: AtomicBool::new(false),
            gives_up: watch::Sender::new(false),
            body_room: Arc::new(Semaphore::new(config.limits.bodies_mb << 10)),
            open_connections: AtomicUsize::new(0),
            refused_connections: AtomicU64::new(0),
        }
    }

    pub(crate) fn tables(&self) -> &[ServedTable] {
        &self.tables
    }

    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Requests that wait for an answer are answered now: their rows may be stored.
    pub(crate) fn give_up(&self) {
        self.gives_up.send_replace(true);
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<GatewayResponse, Infallible> {
        if self.is_local && !access::names_this_host(&request) {
            return Ok(plain(StatusCode::MISDIRECTED_REQUEST, "the host of the request is not this host\n"));
        }
        let path = request.uri().path();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match path {
            "/healthz" if is_read => return Ok(plain(StatusCode::OK, "alive\n")),
            "/readyz" if is_read => return Ok(self.readiness()),
            "/" if is_read && self.has_page => return Ok(page()),
            "/state.json" if is_read && self.has_page => return Ok(self.state()),
            _ => {}
        }
        if !self.tokens.allow(&request) {
            let mut response =
                plain(StatusCode::UNAUTHORIZED, "a valid token is missing: Authorization: Bearer TOKEN\n");
            response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
            return Ok(response);
        }
        if path == "/metrics" && is_read {
            return Ok(self.metrics());
        }
        let (path, is_batch) = path.strip_suffix("/batch").map_or((path, false), |path| (path, true));
        let Some(table) = self.tables.iter().position(|table| table.path == path) else {
            return Ok(plain(StatusCode::NOT_FOUND, "no such path; rows go to /v1/TABLE and /v1/TABLE/batch\n"));
        };
        if *request.method() != Method::POST {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "rows are sent with POST\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        Ok(if is_batch {
            rows::post_batch(&self, &self.tables[table], request).await
        } else {
            rows::post_row(&self, &self.tables[table], request).await
        })
    }

    fn readiness(&self) -> GatewayResponse {
        if self.is_stopping.load(Ordering::Relaxed) {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        for table in &self.tables {
            let state = table.queue.state();
            let problem = match state {
                _ if state.is_down => "the database takes no rows",
                _ if state.rows as f64 > state.limits.rows as f64 * READY_SHARE => "the queue is nearly full",
                _ if state.expected_wait > state.limits.wait => "rows wait too long",
                _ => continue,
            };
            return plain(StatusCode::SERVICE_UNAVAILABLE, format!("{}: {problem}\n", table.name));
        }
        plain(StatusCode::OK, "ready\n")
    }

    fn metrics(&self) -> GatewayResponse {
        let connections = self.open_connections.load(Ordering::Relaxed);
        let text = metrics_text(&self.tables, connections, self.refused_connections.load(Ordering::Relaxed));
        with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn state(&self) -> GatewayResponse {
        let text = state_json(&self.tables, self.open_connections.load(Ordering::Relaxed));
        with_type(StatusCode::OK, "application/json", text)
    }

    /// The longest time in which a body must have arrived.
    fn body_time(&self) -> Duration {
        Duration::from_secs_f64(self.limits.body_s)
    }
}

fn page() -> GatewayResponse {
    let mut response = with_type(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> GatewayResponse {
    with_type(status, "text/plain; charset=utf-8", text)
}

fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> GatewayResponse {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    response
}
