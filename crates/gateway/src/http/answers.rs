//! Answers to rows: status, body, and what is counted.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::json;
use truetps_batch::{CommitAnswer, FaultClass, NotStored, QueueRefusal, RowError};
use truetps_driver::ServerError;

use crate::row_counts::RowResult;

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

const ERROR_BYTES_MAX: usize = 250;

const STORED: &[u8] = b"{\"status\":\"stored\",\"duplicate\":false}\n";
const DUPLICATE: &[u8] = b"{\"status\":\"stored\",\"duplicate\":true}\n";
/// It is not known whether the row was there before.
const STORED_OR_DUPLICATE: &[u8] = b"{\"status\":\"stored\",\"duplicate\":null}\n";

impl RowStatus {
    pub(super) fn of_answer(answer: CommitAnswer) -> Self {
        match answer {
            CommitAnswer::Stored { is_duplicate: Some(false) } => {
                Self::stored(RowResult::Stored, STORED)
            }
            CommitAnswer::Stored { is_duplicate: Some(true) } => {
                Self::stored(RowResult::Duplicate, DUPLICATE)
            }
            CommitAnswer::Stored { is_duplicate: None } => {
                Self::stored(RowResult::Stored, STORED_OR_DUPLICATE)
            }
            CommitAnswer::StoredAs { is_duplicate, row } => Self::stored_as(is_duplicate, &row),
            CommitAnswer::Refused(error) => Self::refused(&error),
            CommitAnswer::Changed { column } => {
                let text = match column {
                    Some(column) => format!(
                        "column `{column}`: the table would keep another value than was sent"
                    ),
                    None => "the table would keep another key, or not keep the row".to_owned(),
                };
                Self::final_error(StatusCode::UNPROCESSABLE_ENTITY, RowResult::Refused, &text)
            }
            CommitAnswer::KeyConflict => {
                let text = "a row with this key is stored, with other values";
                Self::final_error(StatusCode::CONFLICT, RowResult::Conflict, text)
            }
            CommitAnswer::TooLong => Self::too_long("the row is longer than the server takes"),
            CommitAnswer::NotStored(reason) => Self::not_stored(&match reason {
                NotStored::Expired => "the database did not take the row in time".to_owned(),
                NotStored::ServerFault(error) => FaultClass::of(&error).word().to_owned(),
                NotStored::OtherColumns => "the table has just been changed".to_owned(),
                NotStored::Unseen => "the table's definition cannot be read now".to_owned(),
                NotStored::Stopping => "the gateway is stopping".to_owned(),
            }),
            CommitAnswer::Unknown => Self::unknown(),
        }
    }

    /// The text of the server is for the client of the row only where it is about its values:
    /// others name accounts and objects that are not the client's business.
    fn refused(error: &ServerError) -> Self {
        let class = FaultClass::of(error);
        let text = match class {
            FaultClass::BadRow | FaultClass::Conflict => error.to_string(),
            class => format!("{} (error {})", class.word(), error_number(error)),
        };
        match class {
            FaultClass::Conflict => {
                Self::final_error(StatusCode::CONFLICT, RowResult::Conflict, &text)
            }
            _ => Self::final_error(StatusCode::UNPROCESSABLE_ENTITY, RowResult::Refused, &text),
        }
    }

    /// `row`: a JSON object.
    fn stored_as(is_duplicate: Option<bool>, row: &str) -> Self {
        let duplicate =
            is_duplicate.map_or("null", |is_duplicate| if is_duplicate { "true" } else { "false" });
        let body = format!(
            "{{\"status\":\"stored\",\"duplicate\":{duplicate},\"changed\":true,\"row\":{row}}}\n"
        );
        let result =
            if is_duplicate == Some(true) { RowResult::Duplicate } else { RowResult::Stored };
        Self { status: StatusCode::OK, result, body: body.into(), retry_after: None }
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
            body: error_body(
                "unknown",
                "unknown",
                "the row may be stored: send it again with the same key",
            ),
            retry_after: Some(RETRY),
        }
    }

    /// A mistake of the request, which is not sent again as it is.
    pub(super) fn final_error(status: StatusCode, result: RowResult, text: &str) -> Self {
        Self { status, result, body: error_body("refused", "not_stored", text), retry_after: None }
    }

    pub(super) fn not_stored(text: &str) -> Self {
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
}

/// MySQL's number, PostgreSQL's SQLSTATE.
fn error_number(error: &ServerError) -> String {
    if error.code > 0 { error.code.to_string() } else { error.sqlstate.clone() }
}

/// A long message of the server is cut: a batch has as many of them as rows.
fn error_body(status: &str, outcome: &str, text: &str) -> Bytes {
    let text = text.get(..text.floor_char_boundary(ERROR_BYTES_MAX)).unwrap_or(text);
    let mut body = json!({ "status": status, "outcome": outcome, "error": text }).to_string();
    body.push('\n');
    body.into()
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
            assert_eq!(
                (row.status.as_u16(), row.retry_after.is_some()),
                (status, retries),
                "{row:?}"
            );
            assert!(serde_json::from_slice::<serde_json::Value>(&row.body).is_ok(), "{row:?}");
        };
        check(CommitAnswer::Stored { is_duplicate: None }, 200, false);
        check(CommitAnswer::Stored { is_duplicate: Some(true) }, 200, false);
        check(CommitAnswer::Refused(error(1406, "22001")), 422, false);
        check(CommitAnswer::Refused(error(0, "23505")), 409, false);
        check(CommitAnswer::Refused(error(1526, "HY000")), 422, false);
        check(CommitAnswer::Changed { column: Some("a\"b".to_owned()) }, 422, false);
        check(
            CommitAnswer::StoredAs { is_duplicate: Some(true), row: "{\"a\":null}".to_owned() },
            200,
            false,
        );
        check(CommitAnswer::KeyConflict, 409, false);
        check(CommitAnswer::TooLong, 413, false);
        check(CommitAnswer::NotStored(NotStored::ServerFault(error(1146, "42S02"))), 503, true);
        check(CommitAnswer::NotStored(NotStored::Stopping), 503, true);
        check(CommitAnswer::Unknown, 503, true);
    }

    #[test]
    fn clients_read_nothing_of_others() {
        let error = |code, state: &str| ServerError {
            code,
            sqlstate: state.to_owned(),
            message: "INSERT command denied to user 'ingest'@'10.0.0.7' for column 'secret'"
                .to_owned(),
            position: 0,
        };
        let answers = [
            CommitAnswer::NotStored(NotStored::ServerFault(error(1142, "42000"))),
            CommitAnswer::NotStored(NotStored::ServerFault(error(1366, "HY000"))),
            CommitAnswer::Refused(error(1142, "42000")),
            CommitAnswer::Refused(error(0, "42501")),
        ];
        for answer in answers {
            let body = String::from_utf8(RowStatus::of_answer(answer).body.to_vec()).unwrap();
            assert!(!body.contains("ingest") && !body.contains("secret"), "{body}");
        }
    }
}
