//! A private server: its folder, its start, and its end.

pub(crate) mod family;
pub(crate) mod folder;
pub(crate) mod postgres_options;
pub(crate) mod readiness;
pub(crate) mod running;
pub(crate) mod sandbox;
