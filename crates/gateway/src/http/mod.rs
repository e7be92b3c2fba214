//! HTTP: `connections` accepts connections and `peers` limits them, `access` says who may come in, `receive` reads bodies
//! within the limits of `room`, `rows` and `batch` wait for the answers, `answers` words them, and `body` hands them over
//! as clients read. This file has the paths.

mod access;
mod answers;
mod batch;
mod body;
mod connections;
mod peers;
mod progress;
mod rarely;
mod readiness;
mod receive;
mod room;
mod rows;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    RETRY_AFTER,
};
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::sync::watch;
use tokio::time::timeout;

pub use access::AccessTokens;
pub(crate) use connections::{Door, HttpServer};
pub(crate) use peers::ConnectionCounts;
pub(crate) use room::{LINE_BYTES, RoomSizes};
pub(crate) use tls::{TlsSetup, TlsSetupError};

use access::TokenScope;
use body::{GatewayBody, SharedTexts};
use peers::{PeerConnection, Peers};

use crate::metrics::metrics_text;
use crate::page::{PAGE, state_json};
use crate::served_table::ServedTable;
use crate::{GatewayConfig, HttpLimits};

pub(crate) type GatewayResponse = Response<GatewayBody>;

/// What the page may do: its own script and style, and requests to this host.
const PAGE_POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

/// What all requests share.
pub(crate) struct GatewayApp {
    tables: Vec<ServedTable>,
    tokens: AccessTokens,
    has_page: bool,
    limits: HttpLimits,
    /// From the head of a request to the last byte of its answer.
    request_time: Duration,
    is_stopping: AtomicBool,
    /// Rows without an answer are not waited for any more.
    gives_up: watch::Sender<bool>,
    peers: Arc<Peers>,
    metrics_texts: SharedTexts,
    state_texts: SharedTexts,
}

impl GatewayApp {
    pub(crate) fn new(
        config: &GatewayConfig,
        tables: Vec<ServedTable>,
        tokens: AccessTokens,
        connections_most: usize,
    ) -> Self {
        let limits = config.limits.clone();
        let answer_time = tables.iter().map(|table| table.answer_time).max().unwrap_or_default();
        Self {
            tables,
            tokens,
            has_page: config.page,
            request_time: Duration::from_secs_f64(limits.body_s + limits.write_s) + answer_time,
            is_stopping: AtomicBool::new(false),
            gives_up: watch::Sender::new(false),
            peers: Arc::new(Peers::new(&limits, connections_most)),
            metrics_texts: SharedTexts::new(),
            state_texts: SharedTexts::new(),
            limits,
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

    /// The answer, which counts as an open request until it is written.
    async fn respond(
        self: Arc<Self>,
        door: Door,
        connection: Arc<PeerConnection>,
        mut request: Request<Incoming>,
    ) -> Result<GatewayResponse, h2::Error> {
        let Some(open) = connection.begin_request() else {
            if request.version() == Version::HTTP_2 {
                // An answer might wait for its client as the others do. Clients may send a refused stream again.
                return Err(h2::Reason::REFUSED_STREAM.into());
            }
            if matches!(request.uri().path(), "/healthz" | "/readyz") {
                // A gateway that is busy is no reason to restart it.
                return Ok(self.answer(door, &connection, &mut request).await);
            }
            let mut response = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests are open\n");
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return Ok(response);
        };
        let mut response = self.answer(door, &connection, &mut request).await;
        response.body_mut().hold(open, self.request_time);
        Ok(response)
    }

    /// Requests are borrowed: they are large, and would be moved through each of the functions that read them.
    async fn answer(
        &self,
        door: Door,
        connection: &PeerConnection,
        request: &mut Request<Incoming>,
    ) -> GatewayResponse {
        if let Err((status, text)) = access::check_host(request, door.is_local) {
            return plain(status, text);
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if is_read && !request.body().is_end_stream() {
            // It has no meaning. A mistake in it is found before the answer, which would end the stream.
            let body = Box::pin(receive::discard(request.body_mut(), self.limits.row_kb << 10));
            let _ = timeout(self.body_time(), body).await;
        }
        let path = request.uri().path();
        match path {
            "/healthz" if is_read => return plain(StatusCode::OK, "alive\n"),
            "/" if is_read && self.has_page && door.has_rows => return page(),
            "/state.json" if is_read && self.has_page && door.has_rows => return self.state(),
            _ => {}
        }
        if is_read && let Some(path) = path.strip_prefix("/readyz") {
            return readiness::respond(
                &self.tables,
                self.is_stopping.load(Ordering::Relaxed),
                path,
            );
        }
        let scope = if path == "/metrics" { TokenScope::Metrics } else { TokenScope::Rows };
        if !(door.is_open_for_metrics && scope == TokenScope::Metrics)
            && let Err(status) = self.tokens.check(request, scope)
        {
            return without_token(status);
        }
        if path == "/metrics" && is_read {
            return self.metrics();
        }
        let (path, is_batch) =
            path.strip_suffix("/batch").map_or((path, false), |path| (path, true));
        let Some(table) = self.tables.iter().find(|table| door.has_rows && table.path == path)
        else {
            return plain(
                StatusCode::NOT_FOUND,
                "no such path; rows go to /v1/TABLE and /v1/TABLE/batch\n",
            );
        };
        if *request.method() != Method::POST {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "rows are sent with POST\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        if is_batch {
            // Its state is large, and is not moved with each row.
            Box::pin(batch::post_batch(self, table, connection, request)).await
        } else {
            rows::post_row(self, table, connection, request).await
        }
    }

    fn metrics(&self) -> GatewayResponse {
        let text = self.metrics_texts.get(|| metrics_text(&self.tables, self.peers.counts()));
        with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn state(&self) -> GatewayResponse {
        let text = self.state_texts.get(|| state_json(&self.tables, self.peers.counts().open));
        with_type(StatusCode::OK, "application/json", text)
    }

    /// The longest time in which a body must have arrived.
    fn body_time(&self) -> Duration {
        Duration::from_secs_f64(self.limits.body_s)
    }
}

fn page() -> GatewayResponse {
    let mut response = with_type(StatusCode::OK, "text/html; charset=utf-8", PAGE.as_bytes());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}

fn without_token(status: StatusCode) -> GatewayResponse {
    if status == StatusCode::FORBIDDEN {
        return plain(status, "the token is valid, but not for this path\n");
    }
    let mut response = plain(status, "a valid token is missing: Authorization: Bearer TOKEN\n");
    response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
    response
}

fn plain(status: StatusCode, text: impl Into<GatewayBody>) -> GatewayResponse {
    with_type(status, "text/plain; charset=utf-8", text)
}

fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<GatewayBody>,
) -> GatewayResponse {
    let mut response = Response::new(body.into());
    set_type(&mut response, status, kind);
    response
}

fn set_type(response: &mut GatewayResponse, status: StatusCode, kind: &'static str) {
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
}
