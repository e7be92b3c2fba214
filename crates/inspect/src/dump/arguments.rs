//! `--print-defaults` of a server, and `my_print_defaults`.

use truetps_files::OptionStyle;
use truetps_knowledge::{SideValue, is_loose, server_setting};
use truetps_record::{Flavour, is_secret};

use super::row::DumpedSettings;
use crate::options::insert_line;

const INTRODUCTION: &str = "would have been started with the following arguments:";

/// What the arguments set. A value with ` --` in it looks like two arguments.
pub(super) fn settings(text: &str, flavour: Option<Flavour>) -> Option<DumpedSettings> {
    let arguments = match text.split_once(INTRODUCTION) {
        Some((_, arguments)) => arguments,
        None if text.lines().all(|line| line.starts_with("--")) => text,
        None => return None,
    };
    let mut settings = DumpedSettings::new();
    let parts = arguments.trim().strip_prefix("--")?.replace("\n--", " --");
    for argument in parts.split(" --") {
        let (name, value) =
            argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
        let (name, value) = (name.trim(), value.map(str::trim_end));
        let (is_loose, is_bare) = (is_loose(OptionStyle::Groups, name), value.is_none());
        let Some((name, value)) = server_setting(OptionStyle::Groups, flavour, name, value) else {
            continue;
        };
        if !is_secret(&name, &value) {
            insert_line(
                &mut settings,
                name,
                SideValue { value, is_loose, is_bare, ..SideValue::default() },
            );
        }
    }
    (!settings.is_empty()).then_some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_server() {
        let check = |text: &str| {
            let found = settings(text, None).unwrap();
            let value = |name: &str| found[name].value.as_str();
            assert_eq!(
                (value("sync_binlog"), value("innodb_doublewrite"), found.len()),
                ("1", "OFF", 3),
                "{text}"
            );
            assert_eq!(value("sql_mode"), "A B");
        };
        let arguments = "--sync-binlog=1 --skip-innodb-doublewrite --sql_mode=A B --password=x ";
        check(&format!("/usr/sbin/mysqld {INTRODUCTION}\n{arguments}\n"));
        check(&arguments.replace(" --", "\n--"));
        assert!(
            settings("-- a dump\n--x", None).is_some_and(|found| found.contains_key("x"))
                && settings("a --b", None).is_none()
        );
    }
}
