//! The values of `--set`.

use indexmap::IndexMap;
use truetps_plan::level_of;
use truetps_record::SettingValue;

use crate::failure::CommandFailure;

/// `NAME=VALUE`, with `-` in names as on a server's command line.
pub(crate) fn settings(words: &[String]) -> Result<IndexMap<String, SettingValue>, CommandFailure> {
    let mut settings = IndexMap::new();
    for word in words {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(CommandFailure::usage(format!("--set {word}: not of the form NAME=VALUE")));
        };
        let name = name.replace('-', "_");
        if settings.insert(name.clone(), level_of(value)).is_some() {
            return Err(CommandFailure::usage(format!("--set {word}: {name} is set twice")));
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_takes_what_a_server_takes() {
        let words = [
            "innodb-flush-log-at-trx-commit=2",
            "log_bin=ON",
            "innodb_log_file_size=1G",
            "sql_mode=",
        ];
        let settings = settings(&words.map(str::to_owned)).unwrap();
        assert_eq!(settings["innodb_flush_log_at_trx_commit"], SettingValue::Int(2));
        assert_eq!(settings["log_bin"], SettingValue::Bool(true));
        assert_eq!(settings["innodb_log_file_size"], SettingValue::Text("1G".into()));
        assert_eq!(settings["sql_mode"], SettingValue::Text(String::new()));
        for wrong in [&["=1"][..], &["novalue"], &["a=1", "a=2"]] {
            let words: Vec<_> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert!(super::settings(&words).is_err(), "{wrong:?}");
        }
    }
}
