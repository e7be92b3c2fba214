//! Numbers of a plan that lie between two bounds.

use std::fmt::Display;
use std::ops::RangeInclusive;

use truetps_record::SettingValue;

use crate::PlanError;
use crate::plan_error::wrong_value;

pub(crate) fn check_range<N: PartialOrd + Display + Copy>(
    key: &str,
    number: N,
    range: RangeInclusive<N>,
) -> Result<(), PlanError> {
    if range.contains(&number) {
        return Ok(());
    }
    Err(wrong_value(key, format!("{number} is not between {} and {}", range.start(), range.end())))
}

pub(crate) fn check_whole(key: &str, levels: &[SettingValue], most: i64) -> Result<(), PlanError> {
    for level in levels {
        let SettingValue::Int(number) = level else {
            return Err(wrong_value(key, format!("`{level}` is not a whole number")));
        };
        check_range(key, *number, 1..=most)?;
    }
    Ok(())
}
