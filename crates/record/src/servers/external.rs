//! A server that truetps did not start: where its writes go.

use serde::{Deserialize, Serialize};

/// What was found before the load, and what the user was warned of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalFacts {
    /// Whether the server is known to run on the host of the load generator.
    pub is_on_this_host: bool,
    pub replication: Replication,
    /// As shown to the user.
    pub warnings: Vec<String>,
}

/// Who else receives the writes. `None`: the account may not see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replication {
    pub is_replica: Option<bool>,
    /// Connected replicas, or standbys.
    pub replicas: Option<u64>,
    /// Members of a Galera cluster or of a replication group, this server included; 0: it is in
    /// none.
    pub cluster_members: Option<u64>,
    /// Whether a server of the MySQL family has a binlog; `false` elsewhere.
    pub log_bin: Option<bool>,
    /// Whether transactions have global identifiers.
    pub gtid: Option<bool>,
    /// The slots of PostgreSQL; none elsewhere.
    pub slots: Option<Vec<ReplicationSlot>>,
    /// Whether PostgreSQL hands its WAL to an archive; `false` elsewhere.
    pub archives: Option<bool>,
}

/// A replication slot: it keeps WAL until its consumer has read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationSlot {
    pub name: String,
    /// A consumer is connected to it now.
    pub is_active: bool,
}

/// What a server wrote to its logs, by its own counters: for the load, the filling of its tables,
/// and all other users. `None`: the account may not see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogVolume {
    /// 0 where there is no binlog.
    pub binlog_bytes: Option<u64>,
    /// The redo log of InnoDB, the WAL of PostgreSQL.
    pub redo_bytes: Option<u64>,
}

impl LogVolume {
    /// The growth since an earlier reading. A counter that has fallen restarted with the server.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, u64::checked_sub)
    }

    /// Both together; unknown where one of them is.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.combined(other, u64::checked_add)
    }

    fn combined(&self, other: &Self, operation: fn(u64, u64) -> Option<u64>) -> Self {
        let pairs =
            [self.binlog_bytes.zip(other.binlog_bytes), self.redo_bytes.zip(other.redo_bytes)];
        let [binlog_bytes, redo_bytes] =
            pairs.map(|pair| pair.and_then(|(one, other)| operation(one, other)));
        Self { binlog_bytes, redo_bytes }
    }

    /// Multiplies both.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let [binlog_bytes, redo_bytes] = [self.binlog_bytes, self.redo_bytes]
            .map(|bytes| bytes.map(|bytes| (bytes as f64 * factor) as u64));
        Self { binlog_bytes, redo_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_differences_of_counters() {
        let volume = |binlog_bytes, redo_bytes| LogVolume { binlog_bytes, redo_bytes };
        let (before, after) = (volume(Some(100), Some(900)), volume(Some(150), Some(10)));
        assert_eq!(
            after.since(&before),
            volume(Some(50), None),
            "the redo log's counter began anew"
        );
        assert_eq!(after.since(&volume(None, Some(10))), volume(None, Some(0)));
        assert_eq!(before.plus(&after), volume(Some(250), Some(910)));
        assert_eq!(before.times(2.5), volume(Some(250), Some(2250)));
    }
}
