//! Texts for people. `printable` makes text from outside safe to print, and
//! `exposition` makes it metrics for Prometheus.

pub(crate) mod calendar;
pub(crate) mod exposition;
pub(crate) mod near_match;
pub(crate) mod printable;
