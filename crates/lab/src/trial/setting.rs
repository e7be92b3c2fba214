//! Sets variables of a server and verifies them.

use thiserror::Error;
use truetps_driver::{Client, DriverError, ServerError};
use truetps_knowledge::find_setting;
use truetps_record::{SettingValue, same_setting};

/// "Variable is a read only variable", and also "is a GLOBAL variable".
pub(crate) const READ_ONLY_VARIABLE: u16 = 1238;
/// "The value of GTID_MODE can only be changed one step at a time": a start takes each of its
/// values.
const IN_STEPS: u16 = 1788;
/// "Incorrect argument type to variable".
pub(crate) const WRONG_TYPE: u16 = 1232;
/// "Incorrect arguments to SET": a running server cannot change from its current value to this one.
/// MySQL reports this for `innodb_doublewrite` between ON and OFF.
const WRONG_ARGUMENTS: u16 = 1210;
/// "Variable can't be set to the value": now, or never.
const WRONG_VALUE: u16 = 1231;
/// "Invalid value for parameter", of PostgreSQL.
const INVALID_PARAMETER: &str = "22023";

#[derive(Debug, Error)]
pub enum SettingError {
    #[error("the server refused {name} = {value}: {source}")]
    Refused { name: String, value: String, source: DriverError },
    #[error("the server adjusted {name} = {value} to {found}")]
    Changed { name: String, value: String, found: String },
    #[error("cannot read {name}: {source}")]
    Ask { name: String, source: DriverError },
}

impl SettingError {
    /// It is unknown whether the value was set.
    pub(crate) fn is_of_connection(&self) -> bool {
        match self {
            Self::Refused { source, .. } | Self::Ask { source, .. } => {
                !matches!(source, DriverError::Server(_))
            }
            Self::Changed { .. } => false,
        }
    }

    /// A server may still accept this value at start.
    pub(crate) fn is_of_value(&self) -> bool {
        let code = match self {
            Self::Refused { source: DriverError::Server(error), .. } => error.code,
            _ => return false,
        };
        [WRONG_ARGUMENTS, WRONG_VALUE].contains(&code)
    }

    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Changed { name, found, .. } => Some(format!(
                "write `{name} = {found}`, or another value that it accepts; another setting of \
                 the plan may have caused this"
            )),
            Self::Refused { name, source: DriverError::Server(error), .. }
                if is_of_level(error) =>
            {
                let values: Vec<_> =
                    find_setting(&name.to_lowercase())?.known_values().into_iter().collect();
                (!values.is_empty())
                    .then(|| format!("known values of {name}: {}", values.join(", ")))
            }
            Self::Refused { .. } | Self::Ask { .. } => None,
        }
    }
}

/// Whether the server refuses this value, and not every value.
fn is_of_level(error: &ServerError) -> bool {
    [WRONG_TYPE, WRONG_VALUE].contains(&error.code) || error.sqlstate == INVALID_PARAMETER
}

/// How a setting can be changed on a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changeable {
    Dynamic,
    AtStart,
}

/// Sets a global variable. [`Changeable::AtStart`]: it can only be given at server start.
pub(crate) fn set_global(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<Changeable, SettingError> {
    let as_text = quoted(&value.option_text());
    let set = match client.execute(&set_sql(name, value)) {
        // The few text variables refuse a value that is sent as a number.
        Err(DriverError::Server(error))
            if error.code == WRONG_TYPE && literal(value) != as_text =>
        {
            client.execute(&format!("SET GLOBAL {name} = {as_text}"))
        }
        other => other,
    };
    match set {
        Ok(_) => verify(client, name, value).map(|()| Changeable::Dynamic),
        Err(DriverError::Server(error)) if [READ_ONLY_VARIABLE, IN_STEPS].contains(&error.code) => {
            Ok(Changeable::AtStart)
        }
        Err(source) => {
            Err(SettingError::Refused { name: name.to_owned(), value: value.to_string(), source })
        }
    }
}

/// What [`set_global`] sends.
pub(crate) fn set_sql(name: &str, value: &SettingValue) -> String {
    format!("SET GLOBAL {name} = {}", literal(value))
}

/// The server must have the requested value: a silently adjusted setting would make every label in
/// the report wrong.
pub(crate) fn verify(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<(), SettingError> {
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

/// A level as an SQL literal.
pub(crate) fn literal(value: &SettingValue) -> String {
    match (value, value.as_int()) {
        (_, Some(number)) => number.to_string(),
        (SettingValue::Bool(_), _) => value.option_text(),
        (SettingValue::Text(text), _) => literal_of_text(text),
        (SettingValue::Float(number), _) if number.is_finite() => value.to_string(),
        _ => quoted(&value.to_string()),
    }
}

/// A variable's displayed value as an SQL literal: `1.2.3` is a text, however many digits it has.
pub(crate) fn literal_of_text(text: &str) -> String {
    let is_number = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-')
        && text.parse::<f64>().is_ok();
    if is_number { text.to_owned() } else { quoted(text) }
}

/// For MySQL-family sessions in which a backslash is an escape character, as it is without
/// `NO_BACKSLASH_ESCAPES`.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted() {
        assert_eq!(literal(&SettingValue::Text("1G".into())), "1073741824");
        assert_eq!(literal(&SettingValue::Text("a'b".into())), "'a''b'");
        assert_eq!(literal(&SettingValue::Text("a\\".into())), "'a\\\\'");
        assert_eq!(literal(&SettingValue::Bool(true)), "ON");
        // A number compares equal in either notation; texts do not.
        let of_text = |text: &str| literal(&SettingValue::Text(text.to_owned()));
        assert_eq!(
            (of_text("75.5"), literal(&SettingValue::Float(0.5))),
            ("75.5".to_owned(), "0.5".to_owned())
        );
        assert_eq!(
            ["0.5 OR 1", "1-1", "0.5;", "inf"].map(of_text),
            ["'0.5 OR 1'", "'1-1'", "'0.5;'", "'inf'"]
        );
        assert_eq!(literal(&SettingValue::Float(f64::NAN)), "'NaN'");
        let texts = ["1", "-1.50", "1.2.3", "", "-", "1e5", "it's"].map(literal_of_text);
        assert_eq!(texts, ["1", "-1.50", "'1.2.3'", "''", "'-'", "'1e5'", "'it''s'"]);
    }
}
