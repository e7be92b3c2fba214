//! Requests with rows: read within limits, queued, answered.

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use hyper::{Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{timeout, timeout_at};
use truetps_batch::{CommitAnswer, TableColumns};

use super::answers::{RowStatus, with_headers};
use super::{GatewayApp, GatewayResponse, with_type};
use crate::row_counts::RowResult;
use crate::served_table::ServedTable;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_BYTES_MAX: usize = 255;
const ROW_TYPES: [&str; 1] = ["application/json"];
const BATCH_TYPES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/// One row, as a JSON object.
pub(super) async fn post_row(app: &GatewayApp, table: &ServedTable, request: Request<Incoming>) -> GatewayResponse {
    let status = match read_row(app, table, request).await {
        Ok((receiver, began)) => {
            let status = wait_for_answer(app, table, receiver, began).await;
            table.note_answer(began.elapsed());
            status
        }
        Err(status) => status,
    };
    status.respond(table)
}

type AwaitedAnswer = (oneshot::Receiver<CommitAnswer>, Instant);

async fn read_row(
    app: &GatewayApp,
    table: &ServedTable,
    request: Request<Incoming>,
) -> Result<AwaitedAnswer, RowStatus> {
    check_type(&request, &ROW_TYPES)?;
    let key = request.headers().get(IDEMPOTENCY_KEY).cloned();
    // Also if it will be refused: after an answer to half a request the connection would have to be closed.
    let (body, _room) = read_body(app, request, app.limits.row_kb << 10).await?;
    table.queue.check(0).map_err(RowStatus::of_refusal)?;
    let columns = table.queue.columns();
    let key = match &key {
        None => None,
        Some(value) => Some(key_column(table, &columns, value.to_str().ok())?),
    };
    queue_row(table, &columns, &body, key)
}

/// The column of the header Idempotency-Key, and its text.
fn key_column<'a>(
    table: &ServedTable,
    columns: &TableColumns,
    value: Option<&'a str>,
) -> Result<(usize, &'a str), RowStatus> {
    let wrong = |text| RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text);
    let name = table.idempotency_column.as_ref();
    let column = name.and_then(|name| columns.columns().iter().position(|column| column.name == *name));
    let column = column.ok_or_else(|| wrong("this table takes no Idempotency-Key: its key is in the row"))?;
    let value = value.map(|value| value.trim_matches('"')).filter(|value| (1..=KEY_BYTES_MAX).contains(&value.len()));
    Ok((column, value.ok_or_else(|| wrong("Idempotency-Key: 1 to 255 characters of ASCII"))?))
}

fn queue_row(
    table: &ServedTable,
    columns: &TableColumns,
    json: &[u8],
    key: Option<(usize, &str)>,
) -> Result<AwaitedAnswer, RowStatus> {
    let row = columns.read_row(json, key).map_err(|error| RowStatus::of_row_error(&error))?;
    let began = Instant::now();
    let (reply, receiver) = table.reply();
    table.queue.push(row, reply, table.answer_time).map_err(RowStatus::of_refusal)?;
    Ok((receiver, began))
}

async fn wait_for_answer(
    app: &GatewayApp,
    table: &ServedTable,
    receiver: oneshot::Receiver<CommitAnswer>,
    began: Instant,
) -> RowStatus {
    let mut gives_up = app.gives_up.subscribe();
    let answer = async {
        tokio::select! {
            biased;
            answer = receiver => answer.ok(),
            _ = gives_up.wait_for(|gives_up| *gives_up) => None,
        }
    };
    match timeout_at((began + table.answer_time).into(), answer).await {
        Ok(Some(answer)) => RowStatus::of_answer(answer),
        // The time is over while the row is on its way, or the gateway stops.
        _ => RowStatus::unknown(),
    }
}

/// Rows as lines; each has a line with its answer.
pub(super) async fn post_batch(app: &GatewayApp, table: &ServedTable, request: Request<Incoming>) -> GatewayResponse {
    let body = async {
        check_type(&request, &BATCH_TYPES)?;
        if request.headers().contains_key(IDEMPOTENCY_KEY) {
            let text = "Idempotency-Key is for one row; rows of a batch have their keys in their columns";
            return Err(RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text));
        }
        // Many rows that will be refused need not be received.
        let is_long = content_length(&request).is_none_or(|length| length > app.limits.row_kb << 10);
        let check = || table.queue.check(0).map_err(RowStatus::of_refusal);
        if is_long {
            check()?;
        }
        let read = read_body(app, request, app.limits.batch_kb << 10).await?;
        check().map(|()| read)
    };
    let (body, room) = match body.await {
        Ok(read) => read,
        Err(status) => return status.respond(table),
    };
    let columns = table.queue.columns();
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let queued: Vec<_> = lines.map(|line| queue_row(table, &columns, line, None)).collect();
    drop((body, room));
    let mut statuses = Vec::with_capacity(queued.len());
    for row in queued {
        statuses.push(match row {
            Ok((receiver, began)) => {
                let status = wait_for_answer(app, table, receiver, began).await;
                table.note_answer(began.elapsed());
                status
            }
            Err(status) => status,
        });
    }
    respond_batch(table, &statuses)
}

/// 200 if all rows are stored; their common status if they have one; else 207.
fn respond_batch(table: &ServedTable, rows: &[RowStatus]) -> GatewayResponse {
    let Some(first) = rows.first() else {
        let text = "the body has no row";
        return RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text).respond(table);
    };
    let is_common = rows.iter().all(|row| row.status == first.status);
    let status = if is_common { first.status } else { StatusCode::MULTI_STATUS };
    let mut lines = Vec::with_capacity(rows.len() * 64);
    for (n, row) in rows.iter().enumerate() {
        table.rows.add(row.result);
        let (number, code) = (n + 1, row.status.as_u16());
        lines.extend_from_slice(format!("{{\"row\":{number},\"code\":{code},").as_bytes());
        lines.extend_from_slice(&row.body[1..]);
    }
    let retry_after = rows.iter().filter_map(|row| row.retry_after).max();
    with_headers(with_type(status, "application/x-ndjson", lines), table, retry_after)
}

/// Browsers send other types without asking, on behalf of any page.
fn check_type(request: &Request<Incoming>, types: &[&str]) -> Result<(), RowStatus> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if types.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    let text = format!("the header Content-Type must be {}", types[0]);
    Err(RowStatus::final_error(StatusCode::UNSUPPORTED_MEDIA_TYPE, RowResult::Refused, &text))
}

fn content_length(request: &Request<Incoming>) -> Option<usize> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Receives a body within its limits of length and time, and of all bodies together.
async fn read_body(
    app: &GatewayApp,
    request: Request<Incoming>,
    bytes_max: usize,
) -> Result<(Bytes, OwnedSemaphorePermit), RowStatus> {
    let too_long = || RowStatus::too_long(&format!("the body is longer than {} KB", bytes_max >> 10));
    let length = content_length(&request);
    if length.is_some_and(|length| length > bytes_max) {
        return Err(too_long());
    }
    let kilobytes = (length.unwrap_or(bytes_max) >> 10) as u32 + 1;
    let busy = |_| RowStatus::of_refusal(truetps_batch::QueueRefusal::Busy { retry_after: app.body_time() });
    let room = app.body_room.clone().try_acquire_many_owned(kilobytes).map_err(busy)?;
    let wrong = |status, text: &str| Err(RowStatus::final_error(status, RowResult::Refused, text));
    match timeout(app.body_time(), Limited::new(request.into_body(), bytes_max).collect()).await {
        Err(_) => wrong(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => wrong(StatusCode::BAD_REQUEST, &format!("the body is incomplete: {error}")),
        Ok(Ok(body)) => Ok((body.to_bytes(), room)),
    }
}
