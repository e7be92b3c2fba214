//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

pub(crate) fn quantile(probability: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(probability)
}

pub(crate) fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("a positive number of degrees of freedom")
}
