//! The row of a part in the table in which the parts meet.

/// The name of the table.
pub(crate) const PARTS_TABLE: &str = "truetps_parts";

/// How far a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartPhase {
    /// Part 0: the experiment is decided, and others may come. Others: they have come.
    Joined,
    /// Part 0: the server is ready for the round.
    Prepared,
    /// Others: all clients have connected.
    Ready,
    /// Part 0: the start of the round is named.
    Started,
    /// Part 0: the round will not start.
    Cancelled,
    /// The load has ended. Part 0: in all parts, or it has not started; the verdict says which.
    Done,
    /// Others: the load has failed.
    Failed,
    /// Part 0: no round follows.
    Over,
}

impl PartPhase {
    pub(super) const ALL: [Self; 8] = [
        Self::Joined,
        Self::Prepared,
        Self::Ready,
        Self::Started,
        Self::Cancelled,
        Self::Done,
        Self::Failed,
        Self::Over,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Joined => "joined",
            Self::Prepared => "prepared",
            Self::Ready => "ready",
            Self::Started => "started",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Over => "over",
        }
    }
}

/// The row of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartRow {
    pub(crate) part: u32,
    /// Trials are counted from 1; 0: none yet.
    pub(crate) round: u32,
    pub(crate) phase: PartPhase,
    /// The start of the round by the server's clock, in microseconds since 1970; 0: not named.
    pub(crate) start_us: i64,
    pub(crate) note: String,
    /// Part 0: the last round that is over for all, and why it is no evidence. They stay while the
    /// next one begins: a part may read them late.
    pub(crate) judged: u32,
    pub(crate) verdict: String,
    /// Grows with each writing: an earlier content is no later one.
    pub(crate) serial: u64,
    /// The run's number in part 0; in others the number that part 0 answers, which proves that it
    /// is of this run.
    pub(crate) number: String,
}

impl PartRow {
    /// Before the first round.
    pub(crate) fn joined(part: u32, number: String) -> Self {
        Self {
            part,
            round: 0,
            phase: PartPhase::Joined,
            start_us: 0,
            note: String::new(),
            judged: 0,
            verdict: String::new(),
            serial: 0,
            number,
        }
    }
}
