//! Errors of named servers.

use std::path::PathBuf;

use thiserror::Error;
use truetps_record::did_you_mean_or;

use super::binary::BinaryError;

#[derive(Debug, Error)]
pub enum NamedError {
    #[error(
        "`{name}` cannot be a server's name: 1 to 40 of a to z, 0 to 9, `.`, `_` and `-`, a letter \
         or digit first"
    )]
    BadName { name: String },
    #[error("a server `{name}` already exists: {what}")]
    Taken { name: String, what: String },
    #[error("there is no server `{name}`{}", did_you_mean_or(near, "existing", known))]
    Unknown { name: String, near: Vec<String>, known: Vec<String> },
    #[error("server `{name}` runs (pid {pid})")]
    Runs { name: String, pid: u32 },
    #[error("server `{name}` does not run: {how}")]
    NotRunning { name: String, how: &'static str },
    #[error("port {port} cannot be used: {problem}")]
    Port { port: u16, problem: String },
    #[error("`{name}` was added as {was}, but its program is now {is}")]
    Changed { name: String, was: String, is: String },
    #[error("`{name}` has data of {was}; {is} cannot be started on them")]
    OtherData { name: String, was: String, is: String },
    #[error("the server adjusted `{name} = {wanted}` to {found}")]
    Mismatch { name: String, wanted: String, found: String },
    #[error(
        "the data of `{server}` were created with another `{name}`, which can no longer be changed"
    )]
    Initial { server: String, name: String },
    #[error("{problem}")]
    OptionFile { problem: String },
    #[error("{}: {problem}", path.display())]
    Archive { path: PathBuf, problem: String },
    #[error("the socket's path is longer than 107 bytes: {}", path.display())]
    LongSocket { path: PathBuf },
    #[error("there is no file or folder {}", path.display())]
    NoSource { path: PathBuf },
    #[error("server `{name}` was not added: it was interrupted")]
    NotAdded { name: String },
    /// The program that was registered for it.
    #[error(transparent)]
    Program(BinaryError),
    #[error("{}: {problem}", path.display())]
    Damaged { name: String, path: PathBuf, problem: String },
    #[error("server `{name}` is in use by a run")]
    InUse { name: String },
    #[error("{}: is inside a named server's folder and would be deleted with it", path.display())]
    Inside { path: PathBuf },
    #[error("{} exists and was not created by truetps", path.display())]
    Foreign { path: PathBuf },
    #[error("the start of server `{name}` was interrupted: it does not run")]
    Interrupted { name: String },
    #[error(
        "the data of `{name}` are on the disk of this host, and cannot be moved to an emulated one"
    )]
    DataOnHost { name: String },
    #[error("the emulated disk could not be unmounted in time: {} is in use, or the disk of this \
             host is overloaded", path.display())]
    DiskInUse { path: PathBuf, pid: u32 },
    #[error("server `{name}` (pid {pid}) was killed but has not ended")]
    DoesNotEnd { name: String, pid: u32 },
}

impl NamedError {
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Taken { name, .. } => format!(
                "choose another name, or run `truetps server add \
                                                 {name} … --replace`"
            ),
            Self::Unknown { near, .. } if near.is_empty() => {
                "`truetps server add NAME PATH` adds one; without PATH, the installed one"
                    .to_owned()
            }
            Self::Runs { name, .. } => format!("stop it first: `truetps server stop {name}`"),
            Self::NotRunning { name, .. } => format!("start it: `truetps server start {name}`"),
            Self::Port { .. } => "choose another port, or omit --port: the socket is enough on \
                                  this host"
                .to_owned(),
            Self::Changed { name, .. } => {
                format!("`truetps server add {name} … --replace` registers the present program")
            }
            Self::OtherData { name, .. } => {
                format!(
                    "`truetps server remove {name}` also removes the data; or choose another \
                         name"
                )
            }
            Self::Mismatch { .. } => "set a value that the server accepts unchanged".to_owned(),
            Self::Initial { server, .. } => {
                format!("run `truetps server remove {server}`, then add and start it again")
            }
            Self::Archive { .. } => {
                "name a complete .tar, .tar.gz, .tgz or .tar.xz of a server, or the folder of an \
                 unpacked one"
                    .to_owned()
            }
            Self::OptionFile { .. } => "correct the file, or a copy of it, and name that with \
                                        --my-cnf"
                .to_owned(),
            Self::NoSource { .. } => "name an archive, the folder of an unpacked server, or its \
                                      program"
                .to_owned(),
            Self::Program(error) => error.hint_by("as PATH of `truetps server add NAME PATH`"),
            Self::Damaged { name, .. } => {
                format!("`truetps server remove {name} --force` removes it nevertheless")
            }
            Self::InUse { .. } => {
                "wait until that run has ended, or stop it with Ctrl-C".to_owned()
            }
            Self::Inside { .. } => "name the archive or the folder that it came from".to_owned(),
            Self::Foreign { .. } => "choose another name, or move that folder elsewhere".to_owned(),
            Self::LongSocket { .. } => "name a shorter folder with --sandbox-dir, or the server \
                                        shorter"
                .to_owned(),
            Self::DataOnHost { name } => format!(
                "without --disk it starts on these data; `truetps server remove {name}` and \
                 `truetps server add {name} …` begin anew"
            ),
            Self::DiskInUse { path, pid } => format!(
                "end the processes that use it (`fuser -vm '{}'`): its process, {pid}, unmounts it \
                 then",
                path.display()
            ),
            Self::Unknown { .. }
            | Self::BadName { .. }
            | Self::DoesNotEnd { .. }
            | Self::Interrupted { .. }
            | Self::NotAdded { .. } => return None,
        };
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether or not there are others.
    #[test]
    fn an_unknown_server_is_added_by_its_path() {
        let hint = |near: &[&str]| {
            let near = near.iter().map(|name| (*name).to_owned()).collect();
            NamedError::Unknown {
                name: "mysql-8.0".to_owned(),
                near,
                known: vec!["other".to_owned()],
            }
            .hint()
        };
        assert!(hint(&[]).unwrap().contains("truetps server add NAME PATH"));
        assert_eq!(hint(&["mysql-8.4"]), None, "the error has the name that is meant");
    }
}
