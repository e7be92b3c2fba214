//! What a server calls the things that its sessions wait for, and the few classes that they belong
//! to.

use serde::Serialize;
use truetps_record::Family;

/// Kinds of waiting. `Ord` is the order in which charts stack them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitClass {
    /// The redo log (WAL) is written and flushed.
    RedoFlush,
    /// The binlog is written and flushed, or a session waits for its turn in it.
    BinlogSync,
    /// The end of a commit, where the server does not tell the redo log from the binlog.
    Commit,
    RowLock,
    /// Data pages are written.
    PageFlush,
    Checkpoint,
    /// Data pages are read, or a free page is looked for.
    BufferPool,
    /// Mutexes, latches, lightweight locks.
    Latch,
    /// Client or replica.
    Network,
    Other,
}

impl WaitClass {
    /// Each with its name, as the glossary writes it.
    pub const NAMES: [(Self, &str); Self::Other as usize + 1] = [
        (Self::RedoFlush, "redo flush"),
        (Self::BinlogSync, "binlog sync"),
        (Self::Commit, "commit"),
        (Self::RowLock, "row lock"),
        (Self::PageFlush, "page flush"),
        (Self::Checkpoint, "checkpoint"),
        (Self::BufferPool, "buffer pool"),
        (Self::Latch, "latch"),
        (Self::Network, "network"),
        (Self::Other, "other"),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// A part of a name, in lower case, and its class. The first one that fits decides.
type NameParts = [(&'static str, WaitClass)];

/// Wait events of `performance_schema`. `None`: not a wait of a session (a molecule that contains
/// other waits, an idle background thread, a client that has nothing to ask).
pub(crate) fn of_event(event: &str) -> Option<WaitClass> {
    const NOT_WAITS: [&str; 5] =
        ["idle", "wait/io/table/", "wait/io/socket/", "wait/lock/table/", "wait/synch/cond/"];
    // Sessions of a group commit wait for their leader by a condition; the first is MySQL's, the
    // others are MariaDB's.
    const CONDITIONS: [&str; 4] = [
        "mysql_bin_log::cond_done",
        "thd::cond_wakeup_ready",
        "wait_for_commit::cond_wait_commit",
        "cond_prepare_ordered",
    ];
    const PARTS: &NameParts = &[
        ("mysql_bin_log", WaitClass::BinlogSync),
        ("/sql/binlog", WaitClass::BinlogSync),
        ("lock_after_binlog_sync", WaitClass::BinlogSync),
        ("lock_commit_ordered", WaitClass::BinlogSync),
        ("lock_prepare_ordered", WaitClass::BinlogSync),
        ("wait_for_commit::", WaitClass::BinlogSync),
        ("cond_", WaitClass::BinlogSync),
        ("checkpoint", WaitClass::Checkpoint),
        ("innodb_log_file", WaitClass::RedoFlush),
        ("innodb/log_", WaitClass::RedoFlush),
        ("innodb/redo_", WaitClass::RedoFlush),
        ("dblwr", WaitClass::PageFlush),
        ("page_cleaner", WaitClass::PageFlush),
        ("flush_list", WaitClass::PageFlush),
        ("innodb_data_file", WaitClass::PageFlush),
        ("innodb_temp_file", WaitClass::PageFlush),
        ("buf_pool", WaitClass::BufferPool),
        ("wait/synch/", WaitClass::Latch),
        ("wait/io/redo_log", WaitClass::RedoFlush),
    ];
    let event = event.to_ascii_lowercase();
    let is_condition = CONDITIONS.iter().any(|part| event.contains(part));
    if !is_condition && NOT_WAITS.iter().any(|part| event.starts_with(part)) {
        return None;
    }
    Some(first_that_fits(PARTS, &event).unwrap_or(WaitClass::Other))
}

/// States of sessions. `None`: at work.
pub(crate) fn of_state(family: Option<Family>, state: &str) -> Option<WaitClass> {
    match family {
        Some(Family::Postgresql) => of_postgres_event(state),
        _ => of_mysql_state(state),
    }
}

/// States of sessions of the MySQL family. `None`: at work.
fn of_mysql_state(state: &str) -> Option<WaitClass> {
    const PARTS: &NameParts = &[
        ("semi-sync", WaitClass::Network),
        ("prior transaction", WaitClass::BinlogSync),
        ("binlog", WaitClass::BinlogSync),
        ("handler commit", WaitClass::Commit),
        ("commit", WaitClass::Commit),
        // Up to MySQL 5.7.
        ("query end", WaitClass::Commit),
        ("metadata lock", WaitClass::Other),
        ("row lock", WaitClass::RowLock),
        ("writing to net", WaitClass::Network),
        ("sending to client", WaitClass::Network),
        ("reading from net", WaitClass::Network),
        ("receiving from client", WaitClass::Network),
        ("table flush", WaitClass::PageFlush),
        ("waiting", WaitClass::Other),
    ];
    first_that_fits(PARTS, &state.to_ascii_lowercase())
}

/// `type:event` of `pg_stat_activity`. `None`: at work, or waiting for its client.
fn of_postgres_event(event: &str) -> Option<WaitClass> {
    const PARTS: &NameParts = &[
        ("client:", WaitClass::Network),
        ("io:wal", WaitClass::RedoFlush),
        ("lwlock:wal", WaitClass::RedoFlush),
        ("ipc:syncrep", WaitClass::Network),
        ("checkpoint", WaitClass::Checkpoint),
        ("io:datafileread", WaitClass::BufferPool),
        ("io:datafile", WaitClass::PageFlush),
        ("bufferpin:", WaitClass::BufferPool),
        ("lwlock:buffer", WaitClass::BufferPool),
        ("lwlock:", WaitClass::Latch),
        ("lock:tuple", WaitClass::RowLock),
        ("lock:transactionid", WaitClass::RowLock),
        ("lock:spectoken", WaitClass::RowLock),
        // A table that grows.
        ("lock:extend", WaitClass::PageFlush),
        ("timeout:spindelay", WaitClass::Latch),
    ];
    let event = event.to_ascii_lowercase();
    let not_a_wait =
        ["(running)", "activity:", "client:clientread"].iter().any(|part| event.starts_with(part));
    (!not_a_wait).then(|| first_that_fits(PARTS, &event).unwrap_or(WaitClass::Other))
}

fn first_that_fits(parts: &NameParts, name: &str) -> Option<WaitClass> {
    parts.iter().find(|(part, _)| name.contains(part)).map(|(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_classes() {
        assert!(WaitClass::NAMES.iter().enumerate().all(|(n, (class, _))| *class as usize == n));
    }

    #[test]
    fn events_of_performance_schema() {
        let check = |event: &str, expect| assert_eq!(of_event(event), expect, "{event}");
        check("wait/io/file/innodb/innodb_log_file", Some(WaitClass::RedoFlush));
        check("wait/io/file/sql/binlog", Some(WaitClass::BinlogSync));
        check("wait/io/file/innodb/innodb_data_file", Some(WaitClass::PageFlush));
        check("wait/io/file/innodb/innodb_dblwr_file", Some(WaitClass::PageFlush));
        check("wait/synch/mutex/sql/MYSQL_BIN_LOG::LOCK_commit", Some(WaitClass::BinlogSync));
        check("wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done", Some(WaitClass::BinlogSync));
        check("wait/synch/mutex/innodb/log_writer_mutex", Some(WaitClass::RedoFlush));
        check("wait/synch/mutex/innodb/log_checkpointer_mutex", Some(WaitClass::Checkpoint));
        check("wait/synch/sxlock/innodb/index_tree_rw_lock", Some(WaitClass::Latch));
        check("wait/io/table/sql/handler", None);
        check("wait/synch/cond/innodb/srv_monitor", None);
        check("idle", None);
        check("wait/synch/cond/sql/THD::COND_wakeup_ready", Some(WaitClass::BinlogSync));
        check("wait/synch/cond/sql/wait_for_commit::COND_wait_commit", Some(WaitClass::BinlogSync));
        check(
            "wait/synch/mutex/sql/wait_for_commit::LOCK_wait_commit",
            Some(WaitClass::BinlogSync),
        );
        check("wait/synch/cond/mysys/COND_timer", None);
        // InnoDB times row locks itself: this is the latch of their list.
        check("wait/synch/mutex/innodb/lock_wait_mutex", Some(WaitClass::Latch));
        check("wait/io/file/sql/slow_log", Some(WaitClass::Other));
    }

    #[test]
    fn states_of_sessions() {
        let check = |state: &str, expect| assert_eq!(of_mysql_state(state), expect, "{state}");
        check("Commit", Some(WaitClass::Commit));
        check("waiting for handler commit", Some(WaitClass::Commit));
        check("Waiting for prior transaction to commit", Some(WaitClass::BinlogSync));
        check("Waiting for semi-sync ACK from slave", Some(WaitClass::Network));
        check("query end", Some(WaitClass::Commit));
        check("Update", None);
        check("(none)", None);
        let check = |event: &str, expect| assert_eq!(of_postgres_event(event), expect, "{event}");
        check("IO:WALSync", Some(WaitClass::RedoFlush));
        check("LWLock:WALWrite", Some(WaitClass::RedoFlush));
        check("Lock:transactionid", Some(WaitClass::RowLock));
        check("LWLock:LockManager", Some(WaitClass::Latch));
        check("Lock:relation", Some(WaitClass::Other));
        check("IO:DataFileExtend", Some(WaitClass::PageFlush));
        check("(running)", None);
        check("Client:ClientRead", None);
    }
}
