//! Named servers: the program of each name, and the place of its data.
//!
//! A name is a folder of truetps with a `server.json` in it. The program is the user's own tree, or
//! was unpacked from an archive into that folder. Running servers are in `instance`.

mod disk;
mod folder;
mod locks;
mod name;
mod registry;
mod server;

pub(crate) use disk::InstanceDisk;
pub(crate) use folder::{COPY, ServerFolder, TREE, datadir_of, host_datadir};
pub use locks::Use;
pub(crate) use locks::{NameLocks, is_at};
pub use name::check_server_name;
pub(crate) use name::{UNFINISHED, name_of_entry};
pub(crate) use registry::is_known;
pub use registry::{Listed, NamedServers, server_names_in};
#[cfg(test)]
pub(crate) use server::tests::named_server;
pub use server::{NamedServer, ServerOptionFile};
