//! Every screen fits.
