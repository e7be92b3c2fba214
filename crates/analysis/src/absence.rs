//! Why a figure is not known. Reports have the words.

use serde::Serialize;

/// Why a figure is absent, or why stalls are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Absent {
    /// A file of the trial is damaged or lost, so the real reason is unknown.
    Damaged { file: &'static str },
    /// The probe was off.
    NotWatched,
    /// The server has no such counter, or not with these settings.
    NotCounted,
    /// No statement changed a row, or changed rows were not counted: the records of both are the
    /// same.
    NoRowsChanged,
    /// The error of the server or the system when the counter was read.
    Refused { answer: String },
    /// With this setting each write is synchronous, and no sync call is counted.
    SyncWithoutCall { setting: &'static str, value: String },
    /// It was read, but not near both ends of the measure phase, or the counter fell.
    NotReadThroughout,
    /// No transaction ended.
    NoTransaction,
    /// Too few events: the figure would be chance, or the resolution of its counter.
    TooFew { of: TooFewOf },
    /// A record of an older version: without the steps of 100 ms that stalls are made from.
    SecondsOnly,
    /// The measure phase has fewer than ten of them.
    TooShort,
    /// A counter of the whole server, over the transactions of one part of the load.
    PartOfLoad,
    /// The load generator was suspended: an apparent stall is its own.
    Suspended,
}

/// Events that were too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TooFewOf {
    /// Ticks of 10 ms in which a server's CPU time is counted.
    CpuTicks,
    /// Steps in which `PostgreSQL` up to 15 reports pages that its sessions wrote.
    PageSteps,
    /// Sessions that were seen waiting for a row lock, where the server cuts each wait to whole
    /// milliseconds.
    WaitingSessions,
    /// Fewer than 20 a second: a second without transactions may be chance, and no gap was long
    /// enough to exclude that.
    Transactions,
}
