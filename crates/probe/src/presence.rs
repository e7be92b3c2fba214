//! Other runs of truetps that put load on this host at the same time, of whatever user.
//!
//! Each run binds a datagram socket whose name is in Linux's abstract namespace: it is no file, so that no folder that others
//! may write to is opened, nothing is left by a killed run, and every user sees it in /proc/net/unix. A run that comes sends
//! its name to those that are there: they learn of it although it may end before they look. Anybody can make such a name,
//! so what is read is a process number and a word of a few plain letters, and leads to a warning and nothing else.

use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};

use truetps_record::OtherRun;

use crate::clock;

/// Runs of different values do not see each other: tests that run side by side.
const SPACE_VARIABLE: &str = "TRUETPS_PRESENCE";
const WORD_BYTES_MAX: usize = 24;
/// Of what came since the last look, and of what is there: more are no more than "many".
const RUNS_MAX: usize = 64;

/// This run, as others see it.
#[derive(Debug)]
pub struct RunPresence {
    /// `None`: the system has no such socket, and others are not told.
    socket: Option<UnixDatagram>,
    /// What names of runs begin with.
    prefix: String,
    own: String,
    /// Runs that the user has been warned of.
    told: Mutex<BTreeSet<OtherRun>>,
}

impl RunPresence {
    /// `command`: of truetps, as others are to read it.
    pub fn announce(command: &str) -> Self {
        let space = std::env::var(SPACE_VARIABLE).unwrap_or_default();
        Self::announce_in(&space, command)
    }

    fn announce_in(space: &str, command: &str) -> Self {
        let space: String = space.chars().filter(char::is_ascii_alphanumeric).take(WORD_BYTES_MAX).collect();
        let command: String = command.chars().filter(|c| is_plain(*c)).take(WORD_BYTES_MAX).collect();
        let prefix = format!("truetps-load/{space}/");
        // What cannot be foreseen cannot be taken by somebody else.
        let own = format!("{}/{command}/{}", std::process::id(), clock::epoch_s().to_bits());
        let socket = bind(&format!("{prefix}{own}"));
        let presence = Self { socket, prefix, own, told: Mutex::default() };
        presence.greet();
        presence
    }

    fn greet(&self) {
        let Some(socket) = &self.socket else { return };
        for name in self.names() {
            let address = SocketAddr::from_abstract_name(format!("{}{name}", self.prefix));
            // One that has just ended, or does not listen, is not told.
            let _ = address.and_then(|address| socket.send_to_addr(self.own.as_bytes(), &address));
        }
    }

    /// Runs that are there now.
    pub fn others(&self) -> Vec<OtherRun> {
        self.names().iter().filter_map(|name| parse(name)).collect()
    }

    /// Runs that have begun since the last look; does not wait.
    pub fn arrivals(&self) -> Vec<OtherRun> {
        let Some(socket) = &self.socket else { return Vec::new() };
        let mut buffer = [0; 128];
        let next =
            || socket.recv(&mut buffer).ok().map(|length| String::from_utf8_lossy(&buffer[..length]).into_owned());
        std::iter::from_fn(next).take(RUNS_MAX).filter_map(|name| parse(&name)).collect()
    }

    /// Adds `runs` to those that were met; returns those that nobody has been warned of.
    pub fn meet(&self, runs: Vec<OtherRun>, met: &mut Vec<OtherRun>) -> Vec<OtherRun> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = runs.iter().filter(|run| told.insert((*run).clone())).cloned().collect();
        let unmet: Vec<_> = runs.into_iter().filter(|run| !met.contains(run)).collect();
        met.extend(unmet);
        news
    }

    /// Names of the others, without the prefix.
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

/// In /proc/net/unix the name is the last word, and `@` stands for the byte 0 before it.
fn names_in(text: &str, prefix: &str, own: &str) -> Vec<String> {
    let marked = format!("@{prefix}");
    let names = text.lines().filter_map(|line| line.rsplit(' ').next()?.strip_prefix(&marked));
    names.filter(|name| *name != own).map(str::to_owned).take(RUNS_MAX).collect()
}

fn parse(name: &str) -> Option<OtherRun> {
    let mut parts = name.split('/');
    let (pid, command, _) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let is_word = !command.is_empty() && command.len() <= WORD_BYTES_MAX && command.chars().all(is_plain);
    is_word.then(|| OtherRun { pid, command: command.to_owned() })
}

fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_learns_of_the_second_and_the_second_of_the_first() {
        let space = format!("test{}", std::process::id());
        let first = RunPresence::announce_in(&space, "sweep");
        assert!(first.others().is_empty() && first.arrivals().is_empty());
        let second = RunPresence::announce_in(&space, "run");
        let commands = |runs: Vec<OtherRun>| runs.into_iter().map(|run| run.command).collect::<Vec<_>>();
        assert_eq!(commands(second.others()), ["sweep"]);
        assert_eq!(commands(first.others()), ["run"]);
        // It has ended before the first one looks.
        drop(second);
        assert!(first.others().is_empty());
        let (arrivals, mut met) = (first.arrivals(), Vec::new());
        assert_eq!(commands(first.meet(arrivals.clone(), &mut met)), ["run"]);
        assert!(first.meet(arrivals, &mut met).is_empty(), "each is told once");
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
        for bad in ["", "x/run/1", "1/\u{1b}[2J/1", "1//1", "1/run", "1/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
