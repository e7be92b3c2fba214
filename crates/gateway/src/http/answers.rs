//! Answers to rows: status, body, and what is counted.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::json;
use truetps_batch::{CommitAnswer, FaultClass, NotStored, QueueRefusal, RowError};

use super::{GatewayResponse, with_type};
use crate::row_counts::RowResult;
use crate::served_table::ServedTable;

/// The answer to one row, in the words of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowStatus {
    pub(super) status: StatusCode,
    pub(super) result: RowResult,
    /// A JSON object.
    pub(super) body: Bytes,
    pub(super) retry_after: Option<Duration>,
}

/// Clients send a row again after this time if nothing better is known.
const RETRY: Duration = Duration::from_secs(1);

const STORED: &[u8] = b"{\"status\":\"stored\",\"duplicate\":false}\n";
const DUPLICATE: &[u8] = b"{\"status\":\"stored\",\"duplicate\":true}\n";
/// It is not known whether the row was there before.
const STORED_OR_DUPLICATE: &[u8] = b"{\"status\":\"stored\",\"duplicate\":null}\n";

impl RowStatus {
    pub(super) fn of_answer(answer: CommitAnswer) -> Self {
        match answer {
            CommitAnswer::Stored { is_duplicate: Some(false) } => Self::stored(RowResult::Stored, STORED),
            CommitAnswer::Stored { is_duplicate: Some(true) } => Self::stored(RowResult::Duplicate, DUPLICATE),
            CommitAnswer::Stored { is_duplicate: None } => Self::stored(RowResult::Stored, STORED_OR_DUPLICATE),
            CommitAnswer::Refused(error) if FaultClass::of(&error) == FaultClass::Conflict => {
                Self::final_error(StatusCode::CONFLICT, RowResult::Conflict, &error.to_string())
            }
            CommitAnswer::Refused(error) => {
                Self::final_error(StatusCode::UNPROCESSABLE_ENTITY, RowResult::Refused, &error.to_string())
            }
            CommitAnswer::KeyConflict => {
                let text = "a row with this key is stored, with other values";
                Self::final_error(StatusCode::CONFLICT, RowResult::Conflict, text)
            }
            CommitAnswer::TooLong => Self::too_long("the row is longer than the server takes"),
            CommitAnswer::NotStored(reason) => Self::not_stored(&match reason {
                NotStored::Expired => "the database did not take the row in time".to_owned(),
                NotStored::ServerFault(error) => format!("the database takes no rows: {error}"),
                NotStored::OtherColumns => "the table has just been changed".to_owned(),
                NotStored::Stopping => "the gateway is stopping".to_owned(),
            }),
            CommitAnswer::Unknown => Self::unknown(),
        }
    }

    pub(super) fn of_refusal(refusal: QueueRefusal) -> Self {
        match refusal {
            QueueRefusal::Busy { retry_after } => Self {
                status: StatusCode::TOO_MANY_REQUESTS,
                result: RowResult::Busy,
                body: error_body("busy", "not_stored", "too many rows are waiting"),
                retry_after: Some(retry_after),
            },
            QueueRefusal::Down { retry_after } => {
                let status = Self::not_stored("the database takes no rows at the moment");
                Self { retry_after: Some(retry_after), ..status }
            }
            QueueRefusal::Closed => Self::not_stored("the gateway is stopping"),
        }
    }

    pub(super) fn of_row_error(error: &RowError) -> Self {
        let status = match error {
            RowError::NotJson(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::final_error(status, RowResult::Refused, &error.to_string())
    }

    pub(super) fn too_long(text: &str) -> Self {
        Self::final_error(StatusCode::PAYLOAD_TOO_LARGE, RowResult::TooLong, text)
    }

    /// The row may be stored: the same row must be sent again, with the same key.
    pub(super) fn unknown() -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            result: RowResult::Unknown,
            body: error_body("unknown", "unknown", "the row may be stored: send it again with the same key"),
            retry_after: Some(RETRY),
        }
    }

    /// A mistake of the request, which is not sent again as it is.
    pub(super) fn final_error(status: StatusCode, result: RowResult, text: &str) -> Self {
        Self { status, result, body: error_body("refused", "not_stored", text), retry_after: None }
    }

    fn not_stored(text: &str) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            result: RowResult::NotStored,
            body: error_body("not_stored", "not_stored", text),
            retry_after: Some(RETRY),
        }
    }

    fn stored(result: RowResult, body: &'static [u8]) -> Self {
        Self { status: StatusCode::OK, result, body: Bytes::from_static(body), retry_after: None }
    }

    pub(super) fn respond(self, table: &ServedTable) -> GatewayResponse {
        table.rows.add(self.result);
        let response = with_type(self.status, "application/json", self.body);
        with_headers(response, table, self.retry_after)
    }
}

fn error_body(status: &str, outcome: &str, text: &str) -> Bytes {
    let mut body = json!({ "status": status, "outcome": outcome, "error": text }).to_string();
    body.push('\n');
    body.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stored_row_is_a_success() {
        let error = |code, state: &str| truetps_driver::ServerError {
            code,
            sqlstate: state.to_owned(),
            message: "a \"quoted\" message".to_owned(),
            position: 0,
        };
        let check = |answer, status, retries| {
            let row = RowStatus::of_answer(answer);
            assert_eq!((row.status.as_u16(), row.retry_after.is_some()), (status, retries), "{row:?}");
            assert!(serde_json::from_slice::<serde_json::Value>(&row.body).is_ok(), "{row:?}");
        };
        check(CommitAnswer::Stored { is_duplicate: None }, 200, false);
        check(CommitAnswer::Stored { is_duplicate: Some(true) }, 200, false);
        check(CommitAnswer::Refused(error(1406, "22001")), 422, false);
        check(CommitAnswer::Refused(error(0, "23505")), 409, false);
        check(CommitAnswer::KeyConflict, 409, false);
        check(CommitAnswer::TooLong, 413, false);
        check(CommitAnswer::NotStored(NotStored::ServerFault(error(1146, "42S02"))), 503, true);
        check(CommitAnswer::NotStored(NotStored::Stopping), 503, true);
        check(CommitAnswer::Unknown, 503, true);
    }
}
