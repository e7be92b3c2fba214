//! The program of a server: where it is, what it is, and which settings it knows.

pub(crate) mod base_settings;
pub(crate) mod binary;
pub(crate) mod binary_search;
pub(crate) mod catalogue;
pub(crate) mod catalogue_text;
pub(crate) mod postgres;
pub(crate) mod variables;
