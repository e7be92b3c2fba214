//! Named servers: the program of each name, and the place of its data.
//!
//! A name is a folder of truetps with a `server.json` in it. The program is the user's own tree, or was unpacked from
//! an archive into that folder. Running servers are in `instance`.

mod adding;
mod folder;
mod locks;
mod registry;
mod removal;
mod server;
#[cfg(test)]
pub(crate) mod tests;

pub use adding::{Add, NamedOptionFileReader};
pub(crate) use folder::ServerFolder;
pub use locks::Use;
pub(crate) use locks::{NameLocks, is_at};
pub use registry::{Listed, NamedServers, check_server_name, server_names_in};
pub(crate) use registry::{UNFINISHED, is_known, name_of_entry};
pub use server::{NamedServer, ServerOptionFile};
