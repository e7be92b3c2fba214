//! Responses: their headers, and answers to rows as responses.

use std::time::Duration;

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::answers::RowStatus;
use super::body::GatewayBody;
use crate::served_table::ServedTable;

pub(crate) type GatewayResponse = Response<GatewayBody>;

pub(super) fn plain(status: StatusCode, text: impl Into<GatewayBody>) -> GatewayResponse {
    with_type(status, "text/plain; charset=utf-8", text)
}
pub(super) fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<GatewayBody>,
) -> GatewayResponse {
    let mut response = Response::new(body.into());
    set_type(&mut response, status, kind);
    response
}

pub(super) fn set_type(response: &mut GatewayResponse, status: StatusCode, kind: &'static str) {
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
}

impl RowStatus {
    pub(super) fn respond(self, table: &ServedTable) -> GatewayResponse {
        table.rows.add(self.result);
        let response = with_type(self.status, "application/json", self.body);
        with_headers(response, table, self.retry_after)
    }
}

/// The headers that all answers to rows have.
pub(super) fn with_headers(
    mut response: GatewayResponse,
    table: &ServedTable,
    retry_after: Option<Duration>,
) -> GatewayResponse {
    let headers = response.headers_mut();
    let durability = HeaderValue::from_static(table.durability_word());
    headers.insert(HeaderName::from_static("x-durability"), durability);
    if let Some(wait) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64));
    }
    response
}
