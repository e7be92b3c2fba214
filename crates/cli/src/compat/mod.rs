//! Personalities: other tools' command lines and texts over the same measurement.

pub(crate) mod sysbench;
