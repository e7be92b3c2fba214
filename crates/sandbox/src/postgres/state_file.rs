//! What a server says of itself in its data folder, and what one that was killed leaves.
//!
//! A piece of System V memory is how a PostgreSQL sees that another one uses its data. It is some 50 bytes, and the one
//! thing of a server that lies in no folder: a server that is killed leaves it, and the next one on those data takes it
//! over. Where the data go, it goes with them.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::processes::start_ticks;
use crate::run::run_to_end;
use crate::server_user::ServerUser;
use crate::tree::read_text;

/// In the data folder: the first process, and what it holds.
const STATE_FILE: &str = "postmaster.pid";
const PROGRAM: &str = "/usr/bin/ipcrm";
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The state is in line 8: `starting`, `ready`, `stopping`.
pub(crate) fn says_that_it_is_ready(data: &Path) -> bool {
    let state = read_text(&data.join(STATE_FILE)).unwrap_or_default();
    state.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}

/// Gives back what a killed server on these data has left. Only memory that this server has named, that belongs to its
/// user and that nobody is attached to is removed; what cannot be removed is small, and worth no error.
pub(crate) fn forget_shared_memory(data: &Path, user: &ServerUser) {
    let Some(state) = read_text(&data.join(STATE_FILE)) else { return };
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    if let Some(id) = left_behind(&state, &all, user.uid) {
        let arguments = ["-m".into(), id.into()];
        let _ = run_to_end(Path::new(PROGRAM), &arguments, None, user, TIME_LIMIT);
    }
}

/// Takes away the note of a server that is dead, and its memory. A server would do so itself, but for one whose parent has
/// not asked yet how it ended: to another PostgreSQL it looks alive, for ever where nobody ever asks. Nothing is touched
/// while any of its processes is attached to its memory.
pub(crate) fn forget_dead_server(data: &Path, user: &ServerUser) -> io::Result<()> {
    let path = data.join(STATE_FILE);
    let Some(state) = read_text(&path) else { return Ok(()) };
    let is_alive =
        state.lines().next().and_then(|pid| pid.trim().parse().ok()).is_none_or(|pid| start_ticks(pid).is_some());
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    if is_alive || is_attached(&state, &all) {
        return Ok(());
    }
    forget_shared_memory(data, user);
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
    all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|columns| columns.len() > 7)
}

/// Key and number are in line 7 of the server's own state; the kernel's list has key, number, …, attached (7th), uid (8th).
fn left_behind(state: &str, all: &str, uid: u32) -> Option<String> {
    let (key, id) = named_memory(state)?;
    let uid = uid.to_string();
    columns(all).any(|columns| columns[..2] == [key, id] && columns[6..8] == ["0", &uid]).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_and_the_server_has_named() {
        let state = "42\n/data\n1\n5432\n/run\n\n   2097   7\nready\n";
        let line = |key: u32, attached: u32, uid: u32| {
            format!(
                "key shmid perms size cpid lpid nattch uid\n{key} 7 600 56 42 42 {attached} {uid} 1 1 1 0 0 0 4096 0\n"
            )
        };
        assert_eq!(left_behind(state, &line(2097, 0, 101), 101).as_deref(), Some("7"));
        assert_eq!(left_behind(state, &line(2097, 1, 101), 101), None, "somebody is attached");
        assert_eq!(left_behind(state, &line(2098, 0, 101), 101), None, "another one by now");
        assert_eq!(left_behind(state, &line(2097, 0, 102), 101), None, "of another user");
        assert!(is_attached(state, &line(2097, 1, 101)) && !is_attached(state, &line(2097, 0, 101)));
        assert_eq!(left_behind("42\n", &line(2097, 0, 101), 101), None);
    }
}
