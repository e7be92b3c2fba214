//! What is measured, and in which order: `experiment.json` (`experiment`), the factors and levels
//! of a trial (`configuration`), the parts of a load on several machines (`part`), what a user
//! demands (`slo`).

pub(crate) mod configuration;
pub(crate) mod experiment;
pub(crate) mod part;
pub(crate) mod personality;
pub(crate) mod prealloc;
pub(crate) mod scheduler;
pub(crate) mod slo;
