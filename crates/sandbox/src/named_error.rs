//! What can be wrong with a server that has a name.

use std::path::PathBuf;

use thiserror::Error;

use crate::BinaryError;

#[derive(Debug, Error)]
pub enum NamedError {
    #[error("`{name}` cannot be a server's name: 1 to 40 of a to z, 0 to 9, `.`, `_` and `-`, a letter or digit first")]
    BadName { name: String },
    #[error("there is a server `{name}` already: {what}")]
    Taken { name: String, what: String },
    #[error("there is no server `{name}`{}", known_names(near, known))]
    Unknown { name: String, near: Vec<String>, known: Vec<String> },
    #[error("server `{name}` runs (pid {pid})")]
    Runs { name: String, pid: u32 },
    #[error("server `{name}` does not run: {how}")]
    NotRunning { name: String, how: &'static str },
    #[error("port {port} cannot be used: {problem}")]
    Port { port: u16, problem: String },
    #[error("`{name}` was added as {was}, and its program is {is} now")]
    Changed { name: String, was: String, is: String },
    #[error("`{name}` has data of {was}, which {is} would be started on")]
    OtherData { name: String, was: String, is: String },
    #[error("the server made {found} of `{name} = {wanted}`")]
    Mismatch { name: String, wanted: String, found: String },
    #[error("the data of `{server}` were made with another `{name}`: it cannot be changed any more")]
    Initial { server: String, name: String },
    #[error("{}: {problem}", path.display())]
    Archive { path: PathBuf, problem: String },
    #[error("the socket's path is longer than 107 bytes: {}", path.display())]
    LongSocket { path: PathBuf },
    #[error("there is no file or folder {}", path.display())]
    NoSource { path: PathBuf },
    #[error("server `{name}` was not added: it was interrupted")]
    NotAdded { name: String },
    /// The program that was named for it.
    #[error(transparent)]
    Program(BinaryError),
    #[error("{}: {problem}", path.display())]
    Damaged { name: String, path: PathBuf, problem: String },
    #[error("a run measures with server `{name}` just now")]
    InUse { name: String },
    #[error("{}: lies in the folder of servers with names, and would go with one of them", path.display())]
    Inside { path: PathBuf },
    #[error("{} is there, and truetps has not made it", path.display())]
    Foreign { path: PathBuf },
    #[error("the start of server `{name}` was interrupted: it does not run")]
    Interrupted { name: String },
    #[error("server `{name}` (pid {pid}) does not end, though it was killed")]
    DoesNotEnd { name: String, pid: u32 },
}

impl NamedError {
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Taken { name, .. } => format!("take another name, or `truetps server add {name} … --replace`"),
            Self::Unknown { known, .. } if known.is_empty() => {
                "`truetps server add NAME PATH` adds one; without PATH, the one that is installed".to_owned()
            }
            Self::Runs { name, .. } => format!("stop it first: `truetps server stop {name}`"),
            Self::NotRunning { name, .. } => format!("start it: `truetps server start {name}`"),
            Self::Port { .. } => "take another port, or leave --port out: the socket is enough on this host".to_owned(),
            Self::Changed { name, .. } => format!("`truetps server add {name} … --replace` takes it as it is now"),
            Self::OtherData { name, .. } => {
                format!("`truetps server remove {name}` removes the data, too; or take another name")
            }
            Self::Mismatch { .. } => "set a value that it takes as it stands".to_owned(),
            Self::Initial { server, .. } => format!("`truetps server remove {server}`, add it again, and start anew"),
            Self::Archive { .. } => {
                "name a whole .tar, .tar.gz, .tgz or .tar.xz of a server, or the folder of an unpacked one".to_owned()
            }
            Self::NoSource { .. } => "name an archive, the folder of an unpacked server, or its program".to_owned(),
            Self::Program(error) => error.hint_by("as PATH of `truetps server add NAME PATH`"),
            Self::Damaged { name, .. } => {
                format!("`truetps server remove {name} --force` removes it all the same")
            }
            Self::InUse { .. } => "wait until that run has ended, or stop it with Ctrl-C".to_owned(),
            Self::Inside { .. } => "name the archive or the folder that it came from".to_owned(),
            Self::Foreign { .. } => "take another name, or move that folder to another place".to_owned(),
            Self::LongSocket { .. } => "name a shorter folder with --sandbox-dir, or the server shorter".to_owned(),
            Self::Unknown { .. }
            | Self::BadName { .. }
            | Self::DoesNotEnd { .. }
            | Self::Interrupted { .. }
            | Self::NotAdded { .. } => return None,
        };
        Some(text)
    }
}

fn known_names(near: &[String], known: &[String]) -> String {
    if !near.is_empty() {
        return format!(" (did you mean `{}`?)", near.join("` or `"));
    }
    if known.is_empty() { String::new() } else { format!(" (there are: `{}`)", known.join("`, `")) }
}
