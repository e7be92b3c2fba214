//! The names of settings, and words for on and off.

use truetps_record::SettingValue;

/// The value as on or off, if it is one.
pub(crate) fn switch_of(value: &SettingValue) -> Option<bool> {
    match value {
        SettingValue::Bool(on) => Some(*on),
        SettingValue::Int(0) => Some(false),
        SettingValue::Int(1) => Some(true),
        SettingValue::Text(text) => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" => Some(true),
            "off" | "false" | "0" => Some(false),
            _ => None,
        },
        SettingValue::Int(_) | SettingValue::Float(_) => None,
    }
}

/// The canonical spelling for comparing names: servers treat `-` and `_` alike.
pub(crate) fn canonical_name(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}
