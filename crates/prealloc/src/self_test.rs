//! Whether calls of this process arrive in this library, before anything depends on it: a file is
//! made, written, filled and read through the functions that the process finds by their names.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::PreallocConfig;
use crate::{files, next, process_calls as calls};

pub(crate) const TEST_ENDING: &str = ".prealloc-test";
/// What the server has "written", and zeros behind it.
const CONTENT: [u8; 100] = [7; 100];
const FILLED: i64 = 8192;

/// Set while the test runs: its file is looked after as a binlog is.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_running() -> bool {
    IS_RUNNING.load(Ordering::Acquire)
}

pub(crate) fn run(config: &PreallocConfig) -> Result<(), String> {
    let path = config.beside(TEST_ENDING);
    next::unlink(&path);
    IS_RUNNING.store(true, Ordering::Release);
    let fd = calls::open(&path, libc::O_RDWR | libc::O_CREAT, 0o600);
    let result = match fd {
        Some(fd) => test_open(fd, &path),
        None => Err(format!("a file beside the binlogs cannot be made: error {}", next::errno())),
    };
    IS_RUNNING.store(false, Ordering::Release);
    next::unlink(&path);
    result
}

fn test_open(fd: c_int, path: &CStr) -> Result<(), String> {
    let result = test_file(fd, path);
    calls::close(fd);
    result?;
    let size = next::facts_at(libc::AT_FDCWD, path).map(|facts| facts.bytes);
    expect(
        "the size after `close`",
        size.and_then(|size| i64::try_from(size).ok()),
        CONTENT.len() as i64,
    )
}

fn test_file(fd: c_int, path: &CStr) -> Result<(), String> {
    let content = CONTENT.len() as i64;
    let (file, _) = files::binlog_of(fd).ok_or("`open` does not arrive")?;
    expect("`write`", calls::write(fd, &CONTENT), content)?;
    expect("the end behind `write`", i64::try_from(file.logical_end()).ok(), content)?;
    if next::ftruncate(fd, FILLED) != 0 {
        return Err(format!("zeros cannot be added: error {}", next::errno()));
    }
    file.set_filled(&mut file.lock(), FILLED as u64);
    expect("`fstat`", calls::size_of(fd), content)?;
    expect("`stat`", calls::size_at(path), content)?;
    expect("`lseek`", calls::seek_end(fd), content)?;
    let mut buffer = [1; 200];
    expect("`read` at the end", calls::read(fd, &mut buffer), 0)?;
    expect("`pread`", calls::pread(fd, &mut buffer, 40), content.saturating_sub(40))?;
    expect("`pread` behind the end", calls::pread(fd, &mut buffer, content), 0)
}

fn expect(what: &str, found: Option<i64>, wanted: i64) -> Result<(), String> {
    match found {
        Some(found) if found == wanted => Ok(()),
        found => Err(format!("{what} gave {} instead of {wanted}", found.unwrap_or(-1))),
    }
}
