//! The state file in a server's datadir, and the leftovers of a killed server.
//!
//! A PostgreSQL uses a System V shared memory segment to detect another server on its data. It has
//! about 50 bytes, and is the only part of a server outside its folders: a killed server leaves it,
//! and the next one on those data takes it over. It is removed together with the data.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::system::processes::start_ticks;
use crate::system::run::run_to_end;
use crate::system::server_user::ServerUser;
use crate::system::tree::read_text;

/// In the datadir: the first process, and what it holds.
const STATE_FILE: &str = "postmaster.pid";
const PROGRAM: &str = "/usr/bin/ipcrm";
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The state is in line 8: `starting`, `ready`, `stopping`.
pub(crate) fn says_that_it_is_ready(datadir: &Path) -> bool {
    let state = read_text(&datadir.join(STATE_FILE)).unwrap_or_default();
    state.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}

/// Removes the segment that a killed server on these data left. Only a segment named by this
/// server, owned by its user, and with no process attached is removed; a failure leaves a small
/// segment and is ignored.
pub(crate) fn forget_shared_memory(datadir: &Path, user: &ServerUser) {
    let Some(state) = read_text(&datadir.join(STATE_FILE)) else { return };
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    if let Some(id) = left_behind(&state, &all, user.uid) {
        let arguments = ["-m".into(), id.into()];
        let _ = run_to_end(Path::new(PROGRAM), &arguments, None, user, TIME_LIMIT);
    }
}

/// Removes the pid file of a dead server, and its segment. The next server would do so itself,
/// unless the dead one's parent has not waited for it yet: such a process looks alive to a
/// PostgreSQL, possibly for ever. Nothing is removed while a process is attached to the segment.
pub(crate) fn forget_dead_server(datadir: &Path, user: &ServerUser) -> io::Result<()> {
    let path = datadir.join(STATE_FILE);
    let Some(state) = read_text(&path) else { return Ok(()) };
    let is_alive = state
        .lines()
        .next()
        .and_then(|pid| pid.trim().parse().ok())
        .is_none_or(|pid| start_ticks(pid).is_some());
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    if is_alive || is_attached(&state, &all) {
        return Ok(());
    }
    forget_shared_memory(datadir, user);
    fs::remove_file(path)
}

fn is_attached(state: &str, all: &str) -> bool {
    let Some((key, id)) = named_memory(state) else { return false };
    columns(all).any(|columns| columns[..2] == [key, id] && columns[6] != "0")
}

/// Key and number.
fn named_memory(state: &str) -> Option<(&str, &str)> {
    let mut named = state.lines().nth(6)?.split_whitespace();
    Some((named.next()?, named.next()?))
}

fn columns(all: &str) -> impl Iterator<Item = Vec<&str>> {
    all.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns.len() > 7)
}

/// Key and id are in line 7 of the server's own state; the kernel's list has key, id, …, attached
/// (7th), uid (8th).
fn left_behind(state: &str, all: &str, uid: u32) -> Option<String> {
    let (key, id) = named_memory(state)?;
    let uid = uid.to_string();
    columns(all)
        .any(|columns| columns[..2] == [key, id] && columns[6..8] == ["0", &uid])
        .then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_segments_of_the_server_without_holders() {
        let state = "42\n/data\n1\n5432\n/run\n\n   2097   7\nready\n";
        let line = |key: u32, attached: u32, uid: u32| {
            format!(
                "key shmid perms size cpid lpid nattch uid\n{key} 7 600 56 42 42 {attached} {uid} \
                 1 1 1 0 0 0 4096 0\n"
            )
        };
        assert_eq!(left_behind(state, &line(2097, 0, 101), 101).as_deref(), Some("7"));
        assert_eq!(left_behind(state, &line(2097, 1, 101), 101), None, "a process is attached");
        assert_eq!(left_behind(state, &line(2098, 0, 101), 101), None, "another one by now");
        assert_eq!(left_behind(state, &line(2097, 0, 102), 101), None, "of another user");
        assert!(
            is_attached(state, &line(2097, 1, 101)) && !is_attached(state, &line(2097, 0, 101))
        );
        assert_eq!(left_behind("42\n", &line(2097, 0, 101), 101), None);
    }
}
