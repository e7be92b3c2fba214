//! The version of the JSON files in a run folder.

/// Version of every JSON file in a run folder. It grows when a reader of the old version would
/// misread the new one.
///
/// - 1: reasons of `validity` and `generator_limited` are texts.
/// - 2: they are codes with numbers ([`Reason`](crate::Reason)).
pub const SCHEMA_VERSION: u32 = 2;
