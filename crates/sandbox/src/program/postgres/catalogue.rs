//! The settings that a PostgreSQL knows and the values that it accepts, read from the program
//! without starting a server.

use std::collections::BTreeMap;
use std::ffi::OsString;

use truetps_record::SettingValue;

use crate::error::CatalogueError;
use crate::program::binary::ServerBinary;
use crate::settings::names::{canonical_name, switch_of};
use crate::settings::options::CommandOption;
use crate::settings::postgres::INITIAL;
use crate::system::server_user::ServerUser;

/// Columns of `--describe-config`: name, context, group, type, default, minimum, maximum,
/// description, details.
const COLUMNS_MIN: usize = 8;

/// Defaults and descriptions, by name. For some settings the program prints its value before
/// initialisation, which is not the default: those are empty.
type Described = (BTreeMap<String, String>, BTreeMap<String, String>);

/// The program's list of settings. Settings that are not meant for configuration files are missing;
/// see [`is_known`].
pub(crate) fn describe(
    binary: &ServerBinary,
    user: &ServerUser,
) -> Result<Described, CatalogueError> {
    let output = binary.run(user, &["--describe-config".into()])?;
    let described = parse(&output.stdout);
    if !output.status.success() || described.0.is_empty() {
        let problem = format!("--describe-config: {}: {}", output.status, output.last_words());
        return Err(CatalogueError::Ask { binary: binary.path.clone(), problem });
    }
    Ok(described)
}

fn parse(stdout: &str) -> Described {
    let (mut defaults, mut descriptions) = Described::default();
    for line in stdout.lines() {
        let columns: Vec<_> = line.split('\t').collect();
        if columns.len() < COLUMNS_MIN {
            continue;
        }
        let name = canonical_name(columns[0]);
        let text = columns[COLUMNS_MIN - 1..].join(" ");
        let range = match (columns[5], columns[6]) {
            ("", "") => String::new(),
            (least, most) => format!(" From {least} to {most}."),
        };
        descriptions.insert(name.clone(), format!("{}{range}", text.trim()));
        defaults.insert(name, String::new());
    }
    (defaults, descriptions)
}

/// Whether the program knows a setting that it does not describe.
pub(crate) fn is_known(binary: &ServerBinary, user: &ServerUser, name: &str) -> bool {
    INITIAL.contains(&canonical_name(name).as_str())
        || binary.run(user, &with_setting(name, None)).is_ok_and(|output| output.status.success())
}

/// The program's message against a value.
pub(crate) fn refusal(
    binary: &ServerBinary,
    user: &ServerUser,
    name: &str,
    value: &SettingValue,
) -> Result<Option<String>, CatalogueError> {
    if INITIAL.contains(&canonical_name(name).as_str()) {
        let is_fine = if canonical_name(name) == "data_checksums" {
            switch_of(value).is_some()
        } else {
            value.option_text().trim_end_matches("MB").trim().parse::<u32>().is_ok()
        };
        return Ok((!is_fine).then(|| "is not accepted by initdb".to_owned()));
    }
    let output = binary.run(user, &with_setting(name, Some(value)))?;
    if output.status.success() {
        return Ok(None);
    }
    let said: Vec<_> = output.stderr.lines().filter_map(message_of_line).collect();
    let said = if said.is_empty() { output.last_words() } else { said.join("; ") };
    Ok(Some(format!("the server says: {said}")))
}

/// `2026-11-22 10:00:00.000 GMT [7] FATAL:  invalid value …` → what follows the level.
fn message_of_line(line: &str) -> Option<&str> {
    ["FATAL:", "ERROR:", "HINT:", "DETAIL:"]
        .iter()
        .find_map(|level| Some(line.split_once(level)?.1.trim()))
}

/// Prints one setting after setting it. No datadir is read: any folder and an empty file suffice.
fn with_setting(name: &str, value: Option<&SettingValue>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-D/".into(), "--config-file=/dev/null".into()];
    arguments.extend(value.map(|value| CommandOption::new(name, value.option_text()).argument()));
    arguments.extend(["-C".into(), canonical_name(name).into()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_describes() {
        let text = "fsync\tsighup\tWrite-Ahead Log / Settings\tBOOLEAN\tTRUE\t\t\tForces \
                    synchronization.\tMore.\t\n\
                    DateStyle\tuser\tx\tSTRING\tISO, MDY\t\t\tSets the display.\t\t\n\
                    shared_buffers\tpostmaster\tx\tINTEGER\t16384\t16\t1073741823\tSets the \
                    number.\t\t\n";
        let (defaults, descriptions) = parse(text);
        assert_eq!(defaults.keys().collect::<Vec<_>>(), ["datestyle", "fsync", "shared_buffers"]);
        assert_eq!(descriptions["fsync"], "Forces synchronization. More.");
        assert_eq!(descriptions["shared_buffers"], "Sets the number. From 16 to 1073741823.");
        assert_eq!(message_of_line("2026 GMT [7] FATAL:  invalid value"), Some("invalid value"));
    }
}
