//! The server, its host and its disk, as they were found.

pub(crate) mod capture;
pub(crate) mod disk_facts;
pub(crate) mod external;
pub(crate) mod family;
pub(crate) mod host;
pub(crate) mod server;
pub(crate) mod version;
