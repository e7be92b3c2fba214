//! Pure functions on records: what an experiment's trials say, and how sure that is.
//!
//! Nothing here reads a clock, a file or the network: the same records always give the same analysis. The formulas are
//! explained in `docs/method.md`.

mod types;

pub use types::{AaPair, Analysis, Cell, Contrast, Curve, InvalidTrial, Knee, Noise, Verdict};
