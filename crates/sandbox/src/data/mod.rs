//! Datadirs: made from templates, and their redo logs.

pub(crate) mod initialiser;
pub(crate) mod lap;
pub(crate) mod old_redo;
pub(crate) mod postgres_state;
pub(crate) mod postgres_template;
pub(crate) mod postgres_wal;
pub(crate) mod template;
pub(crate) mod template_build;
pub(crate) mod wear;
