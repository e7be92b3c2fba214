//! HTTP: `connections` accepts connections and `peers` limits them, `access` says who may come in,
//! `receive` reads bodies within the limits of `room`, `rows` and `batch` wait for the answers,
//! `answers` words them (`response`: as responses), and `body` hands them over as clients read
//! (`batch_lines`: lines of a batch). `app` has what requests share, this file the paths.

mod access;
mod answers;
mod app;
mod batch;
mod batch_lines;
mod body;
mod connections;
mod peers;
mod progress;
mod rarely;
mod readiness;
mod receive;
mod response;
mod room;
mod rows;
mod tls;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, CONTENT_SECURITY_POLICY, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode, Version};
use tokio::time::timeout;

pub use access::AccessTokens;
pub(crate) use app::GatewayApp;
pub(crate) use connections::{Door, HttpServer};
pub(crate) use peers::ConnectionCounts;
pub(crate) use room::{LINE_BYTES, RoomSizes};
pub(crate) use tls::{TlsSetup, TlsSetupError};

use access::TokenScope;
use peers::PeerConnection;
use response::{GatewayResponse, plain, with_type};

use crate::metrics::metrics_text;
use crate::page::{PAGE, state_json};

/// What the page may do: its own script and style, and requests to this host.
const PAGE_POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

impl GatewayApp {
    /// The answer, which counts as an open request until it is written.
    async fn respond(
        self: Arc<Self>,
        door: Door,
        connection: Arc<PeerConnection>,
        mut request: Request<Incoming>,
    ) -> Result<GatewayResponse, h2::Error> {
        let Some(open) = connection.begin_request() else {
            if request.version() == Version::HTTP_2 {
                // An answer might wait for its client as the others do. Clients may send a refused
                // stream again.
                return Err(h2::Reason::REFUSED_STREAM.into());
            }
            if matches!(request.uri().path(), "/healthz" | "/readyz") {
                // A gateway that is busy need not be restarted.
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

    /// Requests are borrowed: they are large, and would be moved through each of the functions that
    /// read them.
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
            // It has no meaning. A mistake in it is found before the answer, which would end the
            // stream.
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
