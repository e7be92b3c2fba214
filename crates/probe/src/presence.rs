//! Other runs of truetps, by any user, that put load on this host at the same time.
//!
//! Each run binds a datagram socket with a name in Linux's abstract namespace. This is not a file:
//! no world-writable folder is opened, a killed run leaves nothing behind, and every user sees it
//! in /proc/net/unix. A new run sends its name to the existing ones, which so learn of it even if
//! it ends before they look. Any process can bind such a name, so only a process number and a word
//! of a few plain letters are read from it, and only lead to a warning.

use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};

use truetps_record::OtherRun;

use crate::clock;

/// Runs with different values do not see each other: for tests that run in parallel.
const SPACE_VARIABLE: &str = "TRUETPS_PRESENCE";
const WORD_BYTES_MAX: usize = 24;
/// Limit for new and for existing runs: more than this are just "many".
const RUNS_MAX: usize = 64;

/// This run, as visible to others.
#[derive(Debug)]
pub struct RunPresence {
    /// `None`: the system has no such socket, and other runs are not informed.
    socket: Option<UnixDatagram>,
    /// Prefix of the names of runs.
    prefix: String,
    is_apart: bool,
    own: String,
    /// Runs that the user has been warned of.
    told: Mutex<BTreeSet<OtherRun>>,
}

impl RunPresence {
    /// `command`: the subcommand of truetps, shown to other runs.
    pub fn announce(command: &str) -> Self {
        let space = std::env::var(SPACE_VARIABLE).unwrap_or_default();
        Self::announce_in(&space, command)
    }

    fn announce_in(space: &str, command: &str) -> Self {
        let space: String =
            space.chars().filter(char::is_ascii_alphanumeric).take(WORD_BYTES_MAX).collect();
        let command: String =
            command.chars().filter(|c| is_plain(*c)).take(WORD_BYTES_MAX).collect();
        let prefix = format!("truetps-load/{space}/");
        // A name that cannot be predicted cannot be taken by another process.
        let own = format!("{}/{command}/{}", std::process::id(), clock::epoch_s().to_bits());
        let socket = bind(&format!("{prefix}{own}"));
        let is_apart = !space.is_empty();
        let presence = Self { socket, prefix, is_apart, own, told: Mutex::default() };
        presence.greet();
        presence
    }

    fn greet(&self) {
        let Some(socket) = &self.socket else { return };
        for name in self.names() {
            let address = SocketAddr::from_abstract_name(format!("{}{name}", self.prefix));
            // A run that has just ended, or does not listen, is not informed.
            let _ = address.and_then(|address| socket.send_to_addr(self.own.as_bytes(), &address));
        }
    }

    /// Whether the user lets it run beside others on purpose.
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// Runs that exist now.
    pub fn others(&self) -> Vec<OtherRun> {
        self.names().iter().filter_map(|name| parse(name)).collect()
    }

    /// Runs that have begun since the last call; does not wait.
    pub fn arrivals(&self) -> Vec<OtherRun> {
        let Some(socket) = &self.socket else { return Vec::new() };
        let mut buffer = [0; 128];
        let names = std::iter::from_fn(|| {
            let length = socket.recv(&mut buffer).ok()?;
            Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
        });
        names.take(RUNS_MAX).filter_map(|name| parse(&name)).collect()
    }

    /// Adds `runs` to the met ones; returns the ones that the user has not been warned of.
    pub fn meet(&self, runs: Vec<OtherRun>, met: &mut Vec<OtherRun>) -> Vec<OtherRun> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = runs.iter().filter(|run| told.insert((*run).clone())).cloned().collect();
        let unmet: Vec<_> = runs.into_iter().filter(|run| !met.contains(run)).collect();
        met.extend(unmet);
        news
    }

    /// Names of the other runs, without the prefix.
    fn names(&self) -> Vec<String> {
        let text = std::fs::read("/proc/net/unix").unwrap_or_default();
        names_in(&String::from_utf8_lossy(&text), &self.prefix, &self.own)
    }
}

fn bind(name: &str) -> Option<UnixDatagram> {
    let address = SocketAddr::from_abstract_name(name).ok()?;
    let socket = UnixDatagram::bind_addr(&address).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// In /proc/net/unix the name is the last word, with `@` for the leading byte 0.
fn names_in(text: &str, prefix: &str, own: &str) -> Vec<String> {
    let marked = format!("@{prefix}");
    let names = text.lines().filter_map(|line| line.rsplit(' ').next()?.strip_prefix(&marked));
    names.filter(|name| *name != own).map(str::to_owned).take(RUNS_MAX).collect()
}

fn parse(name: &str) -> Option<OtherRun> {
    let mut parts = name.split('/');
    let (pid, command, _) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let is_word =
        !command.is_empty() && command.len() <= WORD_BYTES_MAX && command.chars().all(is_plain);
    is_word.then(|| OtherRun { pid, command: command.to_owned() })
}

fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_first_learns_of_the_second_and_the_second_of_the_first() {
        let space = format!("test{}", std::process::id());
        let first = RunPresence::announce_in(&space, "sweep");
        assert!(first.others().is_empty() && first.arrivals().is_empty());
        let second = RunPresence::announce_in(&space, "run");
        let commands =
            |runs: Vec<OtherRun>| runs.into_iter().map(|run| run.command).collect::<Vec<_>>();
        assert_eq!(commands(second.others()), ["sweep"]);
        assert_eq!(commands(first.others()), ["run"]);
        // It has ended before the first run looks.
        drop(second);
        // A process that another test starts has the socket, too, until it executes its program.
        let dropped = Instant::now();
        while !first.others().is_empty() {
            assert!(dropped.elapsed() < Duration::from_secs(10), "{first:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (arrivals, mut met) = (first.arrivals(), Vec::new());
        assert_eq!(commands(first.meet(arrivals.clone(), &mut met)), ["run"]);
        assert!(first.meet(arrivals, &mut met).is_empty(), "each is reported once");
        assert_eq!(commands(met), ["run"]);
        assert!(first.arrivals().is_empty());
        let elsewhere = RunPresence::announce_in("another", "run");
        assert!(elsewhere.others().is_empty(), "{elsewhere:?}");
    }

    #[test]
    fn names_of_others_are_plain_words() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000: 00000002 00000000 00000000 0002 01 30 @truetps-load//12/sweep/99\n\
                    0000: 00000002 00000000 00000000 0002 01 30 @truetps-load//13/run/99\n\
                    0000: 00000002 00000000 00000000 0002 01 30 /tmp/truetps-load//14/run/99\n\
                    0000: 00000002 00000000 00000000 0001 01 31\n";
        let names = names_in(text, "truetps-load//", "13/run/99");
        assert_eq!(names, ["12/sweep/99"]);
        assert_eq!(parse(&names[0]), Some(OtherRun { pid: 12, command: "sweep".to_owned() }));
        for bad in [
            "",
            "x/run/1",
            "1/\u{1b}[2J/1",
            "1//1",
            "1/run",
            "1/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/1",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
