//! The library in its process: from its loading to its first binlog.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use truetps_binlog::state::{PreallocCondition, RefusalReason, StatusWord, WANTED_OFF, WANTED_ON};

use crate::config::{FillMode, PreallocConfig};
use crate::{files, next, notes, recovery, self_test, status};

const VARIABLE: &CStr = c"TRUETPS_PREALLOC";
const PRELOAD: &CStr = c"LD_PRELOAD";
/// Programs that this library works in. Their children are shells, scripts and other programs.
const SERVERS: [&[u8]; 4] = [b"mysqld", b"mariadbd", b"mysqld-debug", b"mariadbd-debug"];
const LOADER_ARGUMENTS_MAX: usize = 8;
const ARGUMENT_BYTES_MAX: usize = 16 << 10;

static LIBRARY: OnceLock<PreallocLibrary> = OnceLock::new();

pub(crate) struct PreallocLibrary {
    pub(crate) config: PreallocConfig,
    process: AtomicU32,
    /// The state file is ours, and files of a crash are trimmed. `false`: binlogs are other files,
    /// too.
    started: OnceLock<bool>,
    is_tested: OnceLock<()>,
    is_on: AtomicBool,
    /// The background thread runs.
    pub(crate) has_thread: AtomicBool,
}

/// The library, unless it is off for good: not configured, or in a child of the server.
#[inline]
pub(crate) fn library() -> Option<&'static PreallocLibrary> {
    LIBRARY.get().filter(|_| !files::is_child())
}

/// When the program is loaded.
pub(crate) fn load(own: extern "C" fn()) {
    let Some(text) = next::environment(VARIABLE).filter(|_| is_server()) else { return };
    next::set_environment(VARIABLE, None);
    leave_preload(own);
    let config =
        text.to_str().map_err(|_| "it is not UTF-8".to_owned()).and_then(PreallocConfig::parse);
    match config {
        Ok(config) => {
            let library = PreallocLibrary {
                is_on: AtomicBool::new(config.starts_on),
                config,
                process: AtomicU32::new(next::process_id()),
                started: OnceLock::new(),
                is_tested: OnceLock::new(),
                has_thread: AtomicBool::new(false),
            };
            if LIBRARY.set(library).is_ok() {
                next::in_each_child(after_fork);
            }
        }
        Err(problem) => notes::write_note("Warning", &format!("off: TRUETPS_PREALLOC: {problem}")),
    }
}

/// Whether this process is a server, and not a shell or another program that it started or was
/// started by.
fn is_server() -> bool {
    let program = next::read_link(c"/proc/self/exe");
    let program = file_name(program.strip_suffix(b" (deleted)").unwrap_or(&program));
    if !program.starts_with(b"ld-") {
        return SERVERS.contains(&program);
    }
    // Started through a loader of its own, which has the program among its first arguments.
    let arguments = next::read_file(c"/proc/self/cmdline", ARGUMENT_BYTES_MAX);
    arguments
        .split(|byte| *byte == 0)
        .take(LOADER_ARGUMENTS_MAX)
        .any(|argument| SERVERS.contains(&file_name(argument)))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Children must not load it. Other libraries of the list stay.
fn leave_preload(own: extern "C" fn()) {
    let (Some(list), Some(own)) = (next::environment(PRELOAD), next::library_of(own)) else {
        return;
    };
    let own_name = file_name(own.as_bytes());
    let paths = list.as_bytes().split(|byte| b" :".contains(byte));
    let others: Vec<_> =
        paths.filter(|path| !path.is_empty() && file_name(path) != own_name).collect();
    let others = CString::new(others.join(&b':')).unwrap_or_default();
    next::set_environment(PRELOAD, (!others.is_empty()).then_some(&others));
}

/// In a child that the server forked. A server that becomes a daemon continues in its child, before
/// it has binlogs.
extern "C" fn after_fork() {
    let Some(library) = LIBRARY.get() else { return };
    if library.has_thread.load(Ordering::Acquire) || files::in_use().next().is_some() {
        files::stop_in_child();
    } else {
        library.process.store(next::process_id(), Ordering::Relaxed);
        status::set(StatusWord::pid, next::process_id().into());
    }
}

impl PreallocLibrary {
    /// `false` in a child that shares the memory of the server (`vfork`).
    pub(crate) fn is_our_process(&self) -> bool {
        self.process.load(Ordering::Relaxed) == next::process_id()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    pub(crate) fn set_on(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Release);
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started.get().is_some()
    }

    /// Before the server touches its first binlog: takes the state file and trims what a crash has
    /// left. `false`: all binlogs are other files.
    pub(crate) fn start(&self) -> bool {
        *self.started.get_or_init(|| match self.take_state() {
            Ok(()) => true,
            Err(reason) => {
                status::refuse(reason);
                notes::write_note("Warning", &format!("off: {}", reason.text()));
                false
            }
        })
    }

    fn take_state(&self) -> Result<(), RefusalReason> {
        let path = self.config.beside(truetps_binlog::state::STATE_ENDING);
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW;
        let fd = next::open(&path, flags, 0o640).ok_or(RefusalReason::StateFile)?;
        if !next::lock_alone(fd) {
            next::close(fd);
            return Err(RefusalReason::OtherServer);
        }
        if next::is_root() {
            let owner = next::facts_at(libc::AT_FDCWD, &self.config.folder);
            if let Some(owner) = owner {
                next::change_owner(fd, owner.uid, owner.gid);
            }
        }
        let before = status::take_page(fd);
        recovery::trim_all(&self.config, before.and_then(|page| page.marker()));
        status::set(StatusWord::pid, next::process_id().into());
        status::set(StatusWord::start_ticks, start_ticks());
        status::set(StatusWord::mode, if self.config.mode == FillMode::Ahead { 1 } else { 2 });
        status::set(StatusWord::acted_wanted, self.is_on().into());
        status::set_condition(if self.is_on() {
            PreallocCondition::Undecided
        } else {
            PreallocCondition::Paused
        });
        let wanted = if self.is_on() { WANTED_ON } else { WANTED_OFF };
        if status::begin_page(wanted) { Ok(()) } else { Err(RefusalReason::StateFile) }
    }

    /// Before the first file is made: whether calls of this process arrive here.
    pub(crate) fn test(&self) {
        self.is_tested.get_or_init(|| {
            if let Err(problem) = self_test::run(&self.config) {
                status::refuse(RefusalReason::SelfTest);
                let text = RefusalReason::SelfTest.text();
                notes::write_note("Warning", &format!("off: {text}: {problem}"));
                status::write_page();
            }
        });
    }
}

/// Field 22 of this process's line: with the process id, it names a process for ever.
fn start_ticks() -> u64 {
    let line = next::read_file(c"/proc/self/stat", 1024);
    let line = String::from_utf8_lossy(&line).into_owned();
    let behind_name = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    behind_name.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}
