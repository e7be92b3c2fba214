//! Requests with one row: read within limits, queued, answered.

use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::{Request, StatusCode};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout_at};
use truetps_batch::{CommitAnswer, DefinitionState, InsertRow, RowError, TableColumns};

use super::answers::RowStatus;
use super::app::GatewayApp;
use super::peers::PeerConnection;
use super::receive::{BodyLimits, check_type, one_header, read_body};
use super::response::GatewayResponse;
use super::room::RoomKind;
use crate::row_counts::RowResult;
use crate::served_table::ServedTable;

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_BYTES_MAX: usize = 255;
const TYPES: [&str; 1] = ["application/json"];
const DEFINITION_LOOKS: u32 = 80;
const DEFINITION_PAUSE: Duration = Duration::from_millis(25);

/// One row, as a JSON object.
pub(super) async fn post_row(
    app: &GatewayApp,
    table: &ServedTable,
    connection: &PeerConnection,
    request: &mut Request<Incoming>,
) -> GatewayResponse {
    let status = match read_row(app, table, connection, request).await {
        Ok((receiver, began)) => {
            let status = wait_for_answer(app, table, receiver, began).await;
            table.note_answer(began.elapsed());
            status
        }
        Err(status) => status,
    };
    status.respond(table)
}

pub(super) type AwaitedAnswer = (oneshot::Receiver<CommitAnswer>, Instant);

async fn read_row(
    app: &GatewayApp,
    table: &ServedTable,
    connection: &PeerConnection,
    request: &mut Request<Incoming>,
) -> Result<AwaitedAnswer, RowStatus> {
    check_type(request.headers(), &TYPES)?;
    let key = one_header(request.headers(), &IDEMPOTENCY_KEY)?.cloned();
    let limits = BodyLimits {
        kind: RoomKind::RowBytes,
        bytes: app.limits.row_kb << 10,
        lines: None,
        time: app.body_time(),
    };
    // Also if it will be refused: after an answer to half a request the connection would have to be
    // closed.
    let body = read_body(limits, &connection.room, request).await?;
    table.queue.check(0).map_err(RowStatus::of_refusal)?;
    // Another text than ASCII is as none.
    let key = key.as_ref().map(|key| key.to_str().unwrap_or_default());
    queue_row(table, connection, &body.bytes, key).await
}

/// The column of the header Idempotency-Key, and its text.
fn key_column<'a>(
    table: &ServedTable,
    columns: &TableColumns,
    value: &'a str,
) -> Result<(usize, &'a str), RowStatus> {
    let name = table.idempotency_column.as_ref();
    let column =
        name.and_then(|name| columns.columns().iter().position(|column| column.name == *name));
    let column = column
        .ok_or_else(|| bad_request("this table takes no Idempotency-Key: its key is in the row"))?;
    let value = value.trim_matches('"');
    if (1..=KEY_BYTES_MAX).contains(&value.len()) {
        return Ok((column, value));
    }
    Err(bad_request("Idempotency-Key: 1 to 255 characters of ASCII"))
}

fn bad_request(text: &str) -> RowStatus {
    RowStatus::final_error(StatusCode::BAD_REQUEST, RowResult::Refused, text)
}

/// `key`: the value of the header Idempotency-Key.
pub(super) async fn queue_row(
    table: &ServedTable,
    connection: &PeerConnection,
    json: &[u8],
    key: Option<&str>,
) -> Result<AwaitedAnswer, RowStatus> {
    let read = match read_columns(table, json, key) {
        Err(ReadError::Row(error)) if !matches!(error, RowError::NotJson(_)) => {
            // Its future is large, and seldom needed.
            Box::pin(wait_for_definition(table)).await?;
            read_columns(table, json, key)
        }
        read => read,
    };
    let row = read.map_err(ReadError::status)?;
    let began = Instant::now();
    let (reply, receiver) = table.reply();
    table
        .queue
        .push(row, reply, connection.peer_number(), table.answer_time)
        .map_err(RowStatus::of_refusal)?;
    Ok((receiver, began))
}

/// Why a row is not queued.
enum ReadError {
    Row(RowError),
    Key(RowStatus),
}

impl ReadError {
    fn status(self) -> RowStatus {
        match self {
            Self::Row(error) => RowStatus::of_row_error(&error),
            Self::Key(status) => status,
        }
    }
}

/// For the columns as they are known now.
fn read_columns(
    table: &ServedTable,
    json: &[u8],
    key: Option<&str>,
) -> Result<InsertRow, ReadError> {
    let columns = table.queue.columns();
    let key =
        key.map(|value| key_column(table, &columns, value)).transpose().map_err(ReadError::Key)?;
    columns.read_row(json, key).map_err(ReadError::Row)
}

/// A row that is wrong for what is known of the table may be right after an ALTER TABLE: it is
/// refused for good only if the definition was read within the last second.
async fn wait_for_definition(table: &ServedTable) -> Result<(), RowStatus> {
    for _ in 0..DEFINITION_LOOKS {
        match table.queue.definition_state() {
            DefinitionState::Known => return Ok(()),
            DefinitionState::Unread => break,
            DefinitionState::Awaited => sleep(DEFINITION_PAUSE).await,
        }
    }
    // The other lines of a batch do not wait for it, too.
    table.queue.note_definition(false);
    Err(RowStatus::not_stored("the table's definition cannot be read now"))
}

pub(super) async fn wait_for_answer(
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
