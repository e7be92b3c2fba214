//! Batches: a row a line. Lines are read in slices between which other requests have their turn,
//! and the answers are written as text only while they are sent.

use std::time::Instant;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use tokio::sync::oneshot;
use truetps_batch::CommitAnswer;

use super::answers::RowStatus;
use super::app::GatewayApp;
use super::batch_lines::BatchLines;
use super::body::GatewayBody;
use super::peers::PeerConnection;
use super::receive::{BodyLimits, ReceivedBody, check_type, content_length, read_body};
use super::response::{GatewayResponse, set_type, with_headers};
use super::room::{HeldRoom, LINE_BYTES, RoomKind};
use super::rows::{IDEMPOTENCY_KEY, queue_row, wait_for_answer};
use crate::row_counts::RowResult;
use crate::served_table::ServedTable;

const TYPES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];
/// Other requests have their turn after so much: a fraction of a millisecond.
const SLICE_BYTES: usize = 32 << 10;

/// Rows as lines; each has a line with its answer.
pub(super) async fn post_batch(
    app: &GatewayApp,
    table: &ServedTable,
    connection: &PeerConnection,
    request: &mut Request<Incoming>,
) -> GatewayResponse {
    let ReceivedBody { bytes, mut room } = match read_batch(app, table, connection, request).await {
        Ok(read) => read,
        Err(status) => return status.respond(table),
    };
    let queued = queue_lines(table, connection, &bytes).await;
    // The rows are in the queue, which has a limit of its own.
    drop(bytes);
    room.shrink(queued.len() * LINE_BYTES);
    let mut rows = Vec::with_capacity(queued.len());
    for row in queued {
        rows.push(match row {
            Ok((receiver, began)) => {
                let status = wait_for_answer(app, table, receiver, began).await;
                table.note_answer(began.elapsed());
                status
            }
            Err(status) => status,
        });
    }
    respond(table, rows, room)
}

async fn read_batch(
    app: &GatewayApp,
    table: &ServedTable,
    connection: &PeerConnection,
    request: &mut Request<Incoming>,
) -> Result<ReceivedBody, RowStatus> {
    check_type(request.headers(), &TYPES)?;
    if request.headers().contains_key(IDEMPOTENCY_KEY) {
        let text =
            "Idempotency-Key is for one row; rows of a batch have their keys in their columns";
        return Err(RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text));
    }
    // Many rows that will be refused need not be received.
    if content_length(request).is_none_or(|length| length > app.limits.row_kb << 10) {
        table.queue.check(0).map_err(RowStatus::of_refusal)?;
    }
    let limits = BodyLimits {
        kind: RoomKind::BatchBytes,
        bytes: app.limits.batch_kb << 10,
        lines: Some(app.limits.batch_lines),
        time: app.body_time(),
    };
    let read = read_body(limits, &connection.room, request).await?;
    table.queue.check(0).map_err(RowStatus::of_refusal)?;
    Ok(read)
}

type QueuedLine = Result<(oneshot::Receiver<CommitAnswer>, Instant), RowStatus>;

async fn queue_lines(
    table: &ServedTable,
    connection: &PeerConnection,
    body: &[u8],
) -> Vec<QueuedLine> {
    let (mut queued, mut slice) = (Vec::new(), 0);
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        queued.push(queue_row(table, connection, line, None).await);
        slice += line.len() + LINE_BYTES;
        if slice > SLICE_BYTES {
            slice = 0;
            tokio::task::yield_now().await;
        }
    }
    queued
}

/// 200 if all rows are stored; their common status if they have one; else 207.
fn respond(table: &ServedTable, rows: Vec<RowStatus>, room: HeldRoom) -> GatewayResponse {
    let Some(first) = rows.first() else {
        let text = "the body has no row";
        return RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text)
            .respond(table);
    };
    let is_common = rows.iter().all(|row| row.status == first.status);
    let status = if is_common { first.status } else { StatusCode::MULTI_STATUS };
    for row in &rows {
        table.rows.add(row.result);
    }
    let retry_after = rows.iter().filter_map(|row| row.retry_after).max();
    let mut response = Response::new(GatewayBody::lines(BatchLines::new(rows, room)));
    set_type(&mut response, status, "application/x-ndjson");
    with_headers(response, table, retry_after)
}
