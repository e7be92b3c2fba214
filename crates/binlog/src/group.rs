//! Event groups of MariaDB: a GTID event and the events of its transaction or statement.
//!
//! A server that is killed between two writes leaves the first events of a group. MariaDB commits
//! nothing of it, begins another file, and gives the number of the group to the next one: replicas
//! that have received both fail, or skip events of the second. MySQL cuts such a group itself when
//! it starts.

use crate::event::{CHECKSUM_BYTES, HEADER_BYTES};
use crate::window::{FileWindow, ReadAt};

const QUERY: u8 = 2;
/// Values for the statement that follows.
const INTVAR: u8 = 5;
const RAND: u8 = 13;
const USER_VAR: u8 = 14;
const XID: u8 = 16;
const TABLE_MAP: u8 = 19;
const XA_PREPARE: u8 = 38;
const ANNOTATE_ROWS: u8 = 160;
const GTID: u8 = 162;

/// Where a GTID event has its flags: behind a sequence number and a domain.
const GTID_FLAGS_AT: u64 = HEADER_BYTES + 8 + 4;
/// Flag of a group that is one statement, and has no event for its end.
const STANDALONE: u8 = 1;
/// Flag of the statement that ends a prepared transaction.
const COMPLETES_XA: u8 = 128;

/// The group that is not at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenGroup {
    pub(crate) start: u64,
    is_one_statement: bool,
}

impl OpenGroup {
    /// What is open behind the event from `at` to `end`, if `group` was before it.
    pub(crate) fn behind<R: ReadAt>(
        group: Option<Self>,
        window: &mut FileWindow<'_, R>,
        (kind, at, end): (u8, u64, u64),
        has_sums: bool,
    ) -> Result<Option<Self>, R::Error> {
        if kind == GTID {
            let flags =
                window.some(at.saturating_add(GTID_FLAGS_AT), 1)?.first().copied().unwrap_or(0);
            return Ok(Some(Self {
                start: at,
                is_one_statement: flags & (STANDALONE | COMPLETES_XA) != 0,
            }));
        }
        let Some(group) = group else { return Ok(None) };
        let is_end = if group.is_one_statement {
            !matches!(kind, INTVAR | RAND | USER_VAR | TABLE_MAP | ANNOTATE_ROWS)
        } else {
            matches!(kind, XID | XA_PREPARE)
                || kind == QUERY && ends_transaction(window, at, end, has_sums)?
        };
        Ok(Some(group).filter(|_| !is_end))
    }
}

/// Whether the text of a query is COMMIT or ROLLBACK; a zero byte is before it.
fn ends_transaction<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    at: u64,
    end: u64,
    has_sums: bool,
) -> Result<bool, R::Error> {
    let text_end = end.saturating_sub(if has_sums { CHECKSUM_BYTES } else { 0 });
    for text in [&b"\0COMMIT"[..], b"\0ROLLBACK"] {
        let start = text_end.saturating_sub(text.len() as u64);
        if start >= at.saturating_add(HEADER_BYTES)
            && window.some(start, text.len() as u64)? == text
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
