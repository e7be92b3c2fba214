//! Settings of servers: what truetps chooses, what a plan may set, and how a server gets them.

pub(crate) mod chosen;
pub(crate) mod limits;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod postgres;
pub(crate) mod reserved;
pub(crate) mod server_settings;
pub(crate) mod version;
