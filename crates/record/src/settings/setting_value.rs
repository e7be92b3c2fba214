//! One value of a setting, as written in a plan.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::setting_number;

/// Doubles below this hold every whole number.
const EXACT_MAX: f64 = 9e15;

/// One value of a setting, as written in a plan: `1`, `0.9`, `"512M"`, `true`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl SettingValue {
    /// The value as a whole number; `"512M"` and its like are bytes. `None` where it is not a
    /// number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Text(text) => setting_number(text)
                .filter(|n| n.fract() == 0.0 && n.abs() < EXACT_MAX)
                .map(|n| n as i64),
            Self::Bool(_) | Self::Float(_) => None,
        }
    }

    /// A number that was written as one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }

    /// The value as a number of connections.
    pub fn as_connections(&self) -> Option<u32> {
        self.as_int().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
    }

    /// How an option file or a command line writes it.
    pub fn option_text(&self) -> String {
        match self {
            Self::Bool(true) => "ON".to_owned(),
            Self::Bool(false) => "OFF".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes() {
        let check = |text: &str, expect| {
            assert_eq!(SettingValue::Text(text.to_owned()).as_int(), expect, "{text}");
        };
        check("512M", Some(512 << 20));
        check("1g", Some(1 << 30));
        check("17", Some(17));
        check("O_DIRECT", None);
        check("", None);
        check("9999999999T", None);
    }
}
