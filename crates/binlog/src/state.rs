//! The state page: a file of 4096 bytes beside the binlogs, `BASENAME.prealloc`.
//!
//! The preloaded library writes it with `pwrite`, and others read the file; all numbers are u64,
//! little endian. It is written at most every few milliseconds, and only when something changed.
//! Two parts have one writer each: the library writes the status, others write the control words
//! only. While a server runs with the library, it holds an exclusive `flock` on this file.
//!
//! A file mapping would be simpler, and would kill the server (SIGBUS) if something truncates the
//! file.

/// Bytes of the file.
pub const STATE_BYTES: usize = 4096;
/// The file's name is the basename and this.
pub const STATE_ENDING: &str = ".prealloc";
pub const STATE_MAGIC: [u8; 8] = *b"TTPSPREA";
pub const STATE_VERSION: u64 = 1;

/// Where the control words are: what is wanted (`WANTED_OFF`, `WANTED_ON`), and the number of the
/// request, which the writer of `wanted` increases by one.
pub const CONTROL_AT: u64 = 64;
pub const CONTROL_BYTES: usize = 16;
pub const WANTED_OFF: u64 = 0;
pub const WANTED_ON: u64 = 1;

/// Where the status begins.
pub const STATUS_AT: u64 = 128;
/// Where the server's version is, in UTF-8, filled up with zeros.
const VERSION_AT: usize = 512;
const VERSION_BYTES: usize = 64;

macro_rules! status_words {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// The words of the status, in the order of the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(non_camel_case_types, reason = "these are the names in outputs, too")]
        #[repr(usize)]
        pub enum StatusWord {
            $($(#[$doc])* $name,)+
        }

        impl StatusWord {
            pub const ALL: [Self; STATUS_WORDS] = [$(Self::$name,)+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }

        const NAMES: &[&str] = &[$(stringify!($name),)+];
        /// Words of the status.
        pub const STATUS_WORDS: usize = NAMES.len();
    };
}

status_words! {
    /// Equal to `sequence_end` unless the page is being written.
    sequence_begin,
    /// The server.
    pid,
    /// When it started, as in field 22 of `/proc/PID/stat`.
    start_ticks,
    /// 1: ahead, 2: pool.
    mode,
    /// 0: not decided, 1: live, 2: refused, 3: paused, 4: ended cleanly.
    condition,
    /// Why it refused: `RefusalReason`.
    reason,
    /// The first file that may have more than its content: 0 if there is none. It is what a crash
    /// leaves.
    marker,
    /// The newest file that was made.
    active_file,
    /// Its size as the server sees it.
    logical_end,
    /// Up to where it is filled.
    filled_end,
    zero_bytes,
    /// Fillings, each with one sync.
    chunks,
    writes_inside,
    /// Writes for which the file had to grow.
    writes_beyond,
    rotations_ready,
    /// New files for which the pool had none ready, or that were made while paused or refused.
    rotations_not_ready,
    /// Files that were cut to their content, at their end or at a pause.
    truncations,
    /// Files that were cut by the recovery after a crash.
    trims,
    /// Bytes other than zeros that the cuts have left beside the files.
    cut_bytes,
    errors,
    /// What `wanted` was when it was last obeyed.
    acted_wanted,
    /// The number of the request that was last obeyed.
    acted_request,
    /// When: nanoseconds of the wall clock.
    acted_ns,
    /// Fillings that ended at the floor of free space.
    floor_stops,
    /// Files that could not be trimmed, and were left.
    untrimmed,
    /// Prepared files.
    pool_ready,
    sequence_end,
}

/// Why preallocation is off in a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum RefusalReason {
    NoChecksums = 1,
    Encrypted = 2,
    SelfTest = 3,
    UntestedServer = 4,
    StateFile = 5,
    OtherServer = 6,
    Configuration = 7,
    Thread = 8,
    NotABinlog = 9,
    FillFailed = 10,
}

impl RefusalReason {
    pub const ALL: [Self; 10] = [
        Self::NoChecksums,
        Self::Encrypted,
        Self::SelfTest,
        Self::UntestedServer,
        Self::StateFile,
        Self::OtherServer,
        Self::Configuration,
        Self::Thread,
        Self::NotABinlog,
        Self::FillFailed,
    ];

    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| *reason as u64 == code)
    }

    pub const fn text(self) -> &'static str {
        match self {
            Self::NoChecksums => {
                "binlog_checksum is NONE: torn events could not be found after a power cut"
            }
            Self::Encrypted => {
                "binlogs are encrypted: their end could not be found after a power cut"
            }
            Self::SelfTest => "the self-test failed: calls of this server do not reach the library",
            Self::UntestedServer => "this server version was not tested; force=1 uses it anyway",
            Self::StateFile => "the state file beside the binlogs cannot be written",
            Self::OtherServer => "another server uses these binlogs",
            Self::Configuration => "TRUETPS_PREALLOC cannot be read",
            Self::Thread => "the background thread could not be started",
            Self::NotABinlog => "the new file does not begin as binlogs do",
            Self::FillFailed => "zeros could not be written",
        }
    }
}

/// How far the library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum PreallocCondition {
    Undecided = 0,
    Live = 1,
    Refused = 2,
    Paused = 3,
    EndedCleanly = 4,
}

impl PreallocCondition {
    pub fn from_code(code: u64) -> Option<Self> {
        let all = [Self::Undecided, Self::Live, Self::Refused, Self::Paused, Self::EndedCleanly];
        all.into_iter().find(|condition| *condition as u64 == code)
    }
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePage {
    pub wanted: u64,
    pub request: u64,
    status: [u64; STATUS_WORDS],
    pub server_version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePageError {
    /// Too short, or another magic.
    NotAStatePage,
    /// The version of a later library.
    Version(u64),
    /// It was being written: read it again.
    Torn,
}

impl StatePage {
    pub fn parse(page: &[u8]) -> Result<Self, StatePageError> {
        if page.len() < STATE_BYTES || page.first_chunk() != Some(&STATE_MAGIC) {
            return Err(StatePageError::NotAStatePage);
        }
        if u64_at(page, 8) != STATE_VERSION {
            return Err(StatePageError::Version(u64_at(page, 8)));
        }
        let mut at = STATUS_AT as usize;
        let status = [(); STATUS_WORDS].map(|()| {
            let word = u64_at(page, at);
            at = at.saturating_add(8);
            word
        });
        let version =
            page.get(VERSION_AT..VERSION_AT.saturating_add(VERSION_BYTES)).unwrap_or_default();
        let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
        let server_version = String::from_utf8_lossy(version).into_owned();
        let control = CONTROL_AT as usize;
        let (wanted, request) = (u64_at(page, control), u64_at(page, control.saturating_add(8)));
        let found = Self { wanted, request, status, server_version };
        if found.word(StatusWord::sequence_begin) != found.word(StatusWord::sequence_end) {
            return Err(StatePageError::Torn);
        }
        Ok(found)
    }

    pub fn word(&self, word: StatusWord) -> u64 {
        self.status.get(word as usize).copied().unwrap_or(0)
    }

    pub fn condition(&self) -> Option<PreallocCondition> {
        PreallocCondition::from_code(self.word(StatusWord::condition))
    }

    pub fn reason(&self) -> Option<RefusalReason> {
        RefusalReason::from_code(self.word(StatusWord::reason))
    }

    /// The first file that a crash may have left with more than its content. A server that runs has
    /// one as well.
    pub fn marker(&self) -> Option<u64> {
        Some(self.word(StatusWord::marker)).filter(|number| *number > 0)
    }
}

/// 0 behind the end of the page.
fn u64_at(page: &[u8], at: usize) -> u64 {
    page.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_le_bytes)
}

/// The bytes at `CONTROL_AT`.
pub fn control_bytes(wanted: u64, request: u64) -> [u8; CONTROL_BYTES] {
    let mut bytes = [0; CONTROL_BYTES];
    store(&mut bytes, 0, &wanted.to_le_bytes());
    store(&mut bytes, 8, &request.to_le_bytes());
    bytes
}

/// A whole page, for a new file.
pub fn new_page(wanted: u64) -> [u8; STATE_BYTES] {
    let mut page = [0; STATE_BYTES];
    store(&mut page, 0, &STATE_MAGIC);
    store(&mut page, 8, &STATE_VERSION.to_le_bytes());
    store(&mut page, 16, &(STATE_BYTES as u64).to_le_bytes());
    store(&mut page, CONTROL_AT as usize, &control_bytes(wanted, 0));
    page
}

/// The part of the page from `STATUS_AT` on, to be written at once.
pub fn status_bytes(status: &[u64; STATUS_WORDS], server_version: &str) -> [u8; STATUS_BYTES] {
    let mut bytes = [0; STATUS_BYTES];
    let mut at: usize = 0;
    for word in status {
        store(&mut bytes, at, &word.to_le_bytes());
        at = at.saturating_add(8);
    }
    let version = server_version.as_bytes();
    let version = version.get(..VERSION_BYTES.saturating_sub(1)).unwrap_or(version);
    store(&mut bytes, VERSION_AT.saturating_sub(STATUS_AT as usize), version);
    bytes
}

pub const STATUS_BYTES: usize = VERSION_AT + VERSION_BYTES - STATUS_AT as usize;

fn store(page: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(space) = page.get_mut(at..at.saturating_add(bytes.len())) {
        space.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let mut page = new_page(WANTED_ON).to_vec();
        let mut status = [0; STATUS_WORDS];
        for (word, value) in status.iter_mut().zip(100..) {
            *word = value;
        }
        status[StatusWord::sequence_end as usize] = status[0];
        status[StatusWord::condition as usize] = PreallocCondition::Refused as u64;
        status[StatusWord::reason as usize] = RefusalReason::Encrypted as u64;
        let bytes = status_bytes(&status, "11.8.3-MariaDB");
        page[STATUS_AT as usize..][..STATUS_BYTES].copy_from_slice(&bytes);
        page[CONTROL_AT as usize..][..CONTROL_BYTES].copy_from_slice(&control_bytes(0, 7));
        let read = StatePage::parse(&page).unwrap();
        assert_eq!(
            (read.wanted, read.request, read.server_version.as_str()),
            (0, 7, "11.8.3-MariaDB")
        );
        assert_eq!(StatusWord::ALL.map(|word| read.word(word)), status);
        assert_eq!(read.condition(), Some(PreallocCondition::Refused));
        assert_eq!(read.reason(), Some(RefusalReason::Encrypted));
        assert_eq!(StatusWord::ALL.map(StatusWord::name)[1], "pid");
    }

    #[test]
    fn a_page_that_cannot_be_used_says_why() {
        let mut page = new_page(WANTED_ON);
        assert_eq!(StatePage::parse(&page[1..]), Err(StatePageError::NotAStatePage));
        page[STATUS_AT as usize] = 1;
        assert_eq!(StatePage::parse(&page), Err(StatePageError::Torn));
        page[8] = 9;
        assert_eq!(StatePage::parse(&page), Err(StatePageError::Version(9)));
        assert_eq!(StatePage::parse(&[0; STATE_BYTES]), Err(StatePageError::NotAStatePage));
    }

    #[test]
    fn the_status_does_not_reach_the_version() {
        assert!(STATUS_AT as usize + STATUS_WORDS * 8 <= VERSION_AT);
        assert!(CONTROL_AT as usize + CONTROL_BYTES <= STATUS_AT as usize);
    }
}
