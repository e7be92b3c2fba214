//! Private servers: see the crate's page.

pub(crate) mod coupling;
pub(crate) mod preallocation;
pub(crate) mod private_mixtures;
pub(crate) mod private_servers;
mod private_setting;
pub(crate) mod sized_tables;
