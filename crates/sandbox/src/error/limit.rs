//! Limits of the host that a load would exceed.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    #[error(
        "{connections} connections need {needed} open files, and the limit (`ulimit -n`) is {limit}"
    )]
    OpenFiles { connections: u64, needed: u64, limit: u64 },
    #[error(
        "{connections} connections need {needed} threads, and the limit of this user (`ulimit -u`) \
         is {limit}"
    )]
    Processes { connections: u64, needed: u64, limit: u64 },
    #[error("{connections} connections need {needed} more threads, and {name} leaves {left}")]
    Threads { connections: u64, needed: u64, name: &'static str, left: u64 },
    #[error(
        "{connections} connections need {needed} mappings of memory, and vm.max_map_count is {limit}"
    )]
    Maps { connections: u64, needed: u64, limit: u64 },
    #[error("{connections} connections need {needed} more threads, and {} leaves {left}", file.display())]
    ControlGroup { connections: u64, needed: u64, file: PathBuf, left: u64 },
    #[error(
        "{connections} TCP connections need a local port each, and net.ipv4.ip_local_port_range \
         has {limit}"
    )]
    Ports { connections: u64, limit: u64 },
    #[error(
        "{connections} connections and a buffer pool of {} need about {} of memory, and {} are \
         available",
        megabytes(*buffer_pool_bytes), megabytes(*needed), megabytes(*available)
    )]
    Memory { connections: u64, buffer_pool_bytes: u64, needed: u64, available: u64 },
}

impl LimitError {
    pub fn hint(&self) -> String {
        match self {
            Self::OpenFiles { needed, .. } => format!(
                "run `ulimit -n {needed}` first; where that is refused, raise the hard limit of \
                 this user: a line `* - nofile {needed}` in /etc/security/limits.conf, or \
                 LimitNOFILE={needed} of the service"
            ),
            Self::Processes { needed, .. } => {
                format!(
                    "run `ulimit -u {needed}` first, or raise `nproc` in \
                         /etc/security/limits.conf"
                )
            }
            Self::Threads { name, needed, .. } => {
                format!(
                    "raise it as root, by {needed} at least: `sysctl {name}=…`; or use fewer \
                         connections"
                )
            }
            Self::Maps { needed, .. } => {
                format!("as root: `sysctl vm.max_map_count={needed}`; or use fewer connections")
            }
            Self::ControlGroup { needed, .. } => {
                format!(
                    "raise it by {needed} (docker: `--pids-limit`, systemd: `TasksMax=`), or \
                         use fewer connections"
                )
            }
            Self::Ports { connections, limit } => format!(
                "connect from {} addresses of this host, source=A,B… in the server's address (to a \
                 server on this host: 127.0.0.1, 127.0.0.2…), or by the server's socket; or raise \
                 it as root",
                connections.div_ceil((*limit).max(1))
            ),
            Self::Memory { .. } => {
                "set a smaller innodb_buffer_pool_size (PostgreSQL: shared_buffers) in \
                 [server.settings], or use fewer connections"
                    .to_owned()
            }
        }
    }
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
