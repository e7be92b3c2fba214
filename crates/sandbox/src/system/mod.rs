//! What servers need of the operating system: users, files, locks, programs and processes.

pub(crate) mod children;
pub(crate) mod copy;
pub(crate) mod datadir_servers;
pub(crate) mod folders;
pub(crate) mod host_limits;
pub(crate) mod json_file;
pub(crate) mod locks;
pub(crate) mod log_tail;
pub(crate) mod processes;
pub(crate) mod run;
pub(crate) mod server_user;
pub(crate) mod space;
pub(crate) mod spawn;
pub(crate) mod tree;
