//! `/readyz`: whether the gateway, or one of its tables, takes rows.

use hyper::StatusCode;

use super::response::{GatewayResponse, plain};
use crate::served_table::ServedTable;

/// The queue is nearly full: a load balancer may use another replica.
const READY_SHARE: f64 = 0.8;

/// `path` follows `/readyz`. One table that takes no rows must not take the others out of a load balancer, so that
/// all of them must be unready for 503.
pub(super) fn respond(tables: &[ServedTable], is_stopping: bool, path: &str) -> GatewayResponse {
    let states: Vec<_> = match path {
        "" | "/" => tables.iter().map(|table| (table, state_of(table))).collect(),
        _ => {
            let name = path.strip_prefix('/');
            let Some(table) = tables.iter().find(|table| Some(table.name.as_str()) == name) else {
                return plain(StatusCode::NOT_FOUND, "no such table; a table has /readyz/TABLE\n");
            };
            vec![(table, state_of(table))]
        }
    };
    if is_stopping {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    let is_ready = states.iter().any(|(_, state)| state.is_ok());
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let lines = states.iter().map(|(table, state)| {
        let text = state.err().unwrap_or("ready");
        format!("{}: {text}\n", table.name)
    });
    plain(status, lines.collect::<String>())
}

fn state_of(table: &ServedTable) -> Result<(), &'static str> {
    // A table that gets no rows is looked at for the next answer, at most once a second.
    table.queue.definition_state();
    let state = table.queue.state();
    match state {
        _ if !state.is_fit => Err("the table is gone or cannot keep the promise any more"),
        _ if state.is_down => Err("the database takes no rows"),
        _ if state.rows as f64 > state.limits.rows as f64 * READY_SHARE => {
            Err("the queue is nearly full")
        }
        _ if state.expected_wait > state.limits.wait => Err("rows wait too long"),
        _ => Ok(()),
    }
}
