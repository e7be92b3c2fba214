//! Setting a server's variables, and making sure that they took.

use thiserror::Error;
use truetps_driver::{Client, DriverError};
use truetps_record::{SettingValue, same_setting};

/// "Variable is a read only variable".
const READ_ONLY_VARIABLE: u16 = 1238;

#[derive(Debug, Error)]
pub enum SettingError {
    #[error("the server refused {name} = {value}: {source}")]
    Refused { name: String, value: String, source: DriverError },
    #[error("the server made {found} of {name} = {value}")]
    Changed { name: String, value: String, found: String },
    #[error("asking for {name}: {source}")]
    Ask { name: String, source: DriverError },
}

impl SettingError {
    /// What to change.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Changed { name, found, .. } => Some(format!(
                "write `{name} = {found}`, or a value that it accepts; another setting of the plan may have brought it"
            )),
            Self::Refused { .. } | Self::Ask { .. } => None,
        }
    }
}

/// How a setting can be changed on a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changeable {
    Dynamic,
    AtStart,
}

/// Sets a global variable. [`Changeable::AtStart`]: the server can only be started with it.
pub(crate) fn set_global(client: &mut Client, name: &str, value: &SettingValue) -> Result<Changeable, SettingError> {
    match client.execute(&format!("SET GLOBAL {name} = {}", literal(value))) {
        Ok(_) => verify(client, name, value).map(|()| Changeable::Dynamic),
        Err(DriverError::Server(error)) if error.code == READ_ONLY_VARIABLE => Ok(Changeable::AtStart),
        Err(source) => Err(SettingError::Refused { name: name.to_owned(), value: value.to_string(), source }),
    }
}

/// The value that the server has must be the one that was asked for: a setting that was adjusted in silence would make
/// every label in the report wrong.
pub(crate) fn verify(client: &mut Client, name: &str, value: &SettingValue) -> Result<(), SettingError> {
    let found = client
        .query_value(&format!("SELECT @@GLOBAL.{name}"))
        .map_err(|source| SettingError::Ask { name: name.to_owned(), source })?
        .unwrap_or_default();
    if same_setting(&value.option_text(), &found) {
        return Ok(());
    }
    let found = match (value, found.as_str()) {
        (SettingValue::Bool(_), "1") => "ON".to_owned(),
        (SettingValue::Bool(_), "0") => "OFF".to_owned(),
        _ => found,
    };
    Err(SettingError::Changed { name: name.to_owned(), value: value.option_text(), found })
}

pub(crate) fn literal(value: &SettingValue) -> String {
    match (value, value.as_int()) {
        (_, Some(number)) => number.to_string(),
        (SettingValue::Bool(_), _) => value.option_text(),
        (SettingValue::Text(text), _) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted() {
        assert_eq!(literal(&SettingValue::Text("1G".into())), "1073741824");
        assert_eq!(literal(&SettingValue::Text("a'b".into())), "'a\\'b'");
        assert_eq!(literal(&SettingValue::Bool(true)), "ON");
    }
}
