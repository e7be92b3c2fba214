//! Reading a file of settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use truetps_files::read_text;
use truetps_record::{did_you_mean_or, near_matches};

use super::table::{SERVERS, SETTINGS, SettingKind, UserSetting};
use crate::failure::CommandFailure;

/// A line of such a file.
#[derive(Debug)]
pub(super) struct SettingLine {
    pub(super) setting: &'static UserSetting,
    pub(super) value: OsString,
    pub(super) line: usize,
}

/// A problem at a line of a file; `hint`: what to do.
pub(super) fn problem(path: &Path, line: usize, problem: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::usage(format!("{}:{line}: {problem}", path.display()))
        .hint("`truetps help reference/config` has the settings and their values")
}

pub(super) fn read(path: &Path) -> Result<Vec<SettingLine>, CommandFailure> {
    const BYTES_MAX: u64 = 1 << 20;
    let text = read_text(path, BYTES_MAX).map_err(|error| {
        CommandFailure::usage(format!("settings of {}: {error}", path.display()))
    })?;
    let table = DeTable::parse(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(&text, span.start));
        problem(path, line, error.message())
    })?;
    let mut lines = Vec::new();
    for (key, value) in table.get_ref() {
        let line = line_of(&text, key.span().start);
        let name = key.get_ref();
        let setting = UserSetting::named(name).ok_or_else(|| problem(path, line, unknown(name)))?;
        let value = value_of(setting, value.get_ref(), path)
            .map_err(|wrong| problem(path, line, format!("`{name}`: {wrong}")))?;
        lines.push(SettingLine { setting, value, line });
    }
    lines.sort_by_key(|line| line.line);
    refuse_two_servers(&lines, path)?;
    Ok(lines)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    // `sandbox-dir`, as the flag is written.
    let near = near_matches(&name.replace('-', "_"), names.iter().copied());
    format!("unknown setting `{name}`{}", did_you_mean_or(&near, "known", &names))
}

/// As the command line would have it.
fn value_of(setting: &UserSetting, value: &DeValue<'_>, path: &Path) -> Result<OsString, String> {
    let text = match (value, setting.kind) {
        (DeValue::String(text), SettingKind::Path | SettingKind::Word | SettingKind::Time) => {
            text.to_string()
        }
        (DeValue::Integer(number), SettingKind::Count | SettingKind::Time)
            if number.radix() == 10 =>
        {
            number.as_str().to_owned()
        }
        (DeValue::Float(number), SettingKind::Time) => number.as_str().to_owned(),
        (_, kind) => {
            return Err(format!("is a {}; {} is expected", value.type_str(), form_of(kind)));
        }
    };
    if text.is_empty() {
        return Err("is empty: leave the line out".to_owned());
    }
    Ok(match setting.kind {
        SettingKind::Path => folder_of(path).join(text).into_os_string(),
        _ => OsString::from(text),
    })
}

fn form_of(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Path => "a path in quotation marks",
        SettingKind::Word => "a text in quotation marks",
        SettingKind::Count => "a whole number",
        SettingKind::Time => "a number of seconds, or a time such as \"500ms\",",
    }
}

/// The folder that paths in a file are relative to.
fn folder_of(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn refuse_two_servers(lines: &[SettingLine], path: &Path) -> Result<(), CommandFailure> {
    let mut named = lines.iter().filter(|line| SERVERS.contains(&line.setting.name));
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => {
            let (one, other) = (first.setting.name, second.setting.name);
            Err(problem(
                path,
                second.line,
                format!("`{other}` and `{one}` each name the server: leave one out"),
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(text: &str) -> Result<Vec<(String, String, usize)>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("truetps.toml");
        std::fs::write(&path, text).unwrap();
        let show = |text: String| text.replace(&dir.path().display().to_string(), "DIR");
        let lines = read(&path).map_err(|failure| show(failure.to_string()))?;
        let line = |line: SettingLine| {
            (line.setting.name.to_owned(), show(line.value.into_string().unwrap()), line.line)
        };
        Ok(lines.into_iter().map(line).collect())
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "# mine\nruns = 'r'\nsandbox_dir = \"/fast disk\"\n\nworkers = 2\nmeasure = \
                    2.5\nwarm_up = '500ms'\n";
        let line = |name: &str, value: &str, line| (name.to_owned(), value.to_owned(), line);
        let expect = [
            line("runs", "DIR/r", 2),
            line("sandbox_dir", "/fast disk", 3),
            line("workers", "2", 5),
            line("measure", "2.5", 6),
            line("warm_up", "500ms", 7),
        ];
        assert_eq!(read_as(text).unwrap(), expect);
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        let check = |text: &str, words: &str| {
            let problem = read_as(text).unwrap_err();
            assert!(
                problem.starts_with(&format!("error: DIR/truetps.toml:{words}")),
                "{text}: {problem}"
            );
            assert!(problem.contains("\nhint: "), "{problem}");
        };
        check(
            "\nsandbox-dir = '/x'",
            "2: unknown setting `sandbox-dir` (did you mean `sandbox_dir`?)",
        );
        check("xyzzy = 1", "1: unknown setting `xyzzy` (known: `runs`, ");
        check("[run]\nmeasure = 1", "1: unknown setting `run` (did you mean `runs`?)");
        check("runs = 'a'\nruns = 'b'", "2: duplicate key");
        check("runs = 'a", "1: ");
        check("runs = 1", "1: `runs`: is a integer; a path in quotation marks is expected");
        check("workers = 'two'", "1: `workers`: is a string; a whole number is expected");
        check("workers = 0x10", "1: `workers`: is a integer; a whole number is expected");
        check("runs = ''", "1: `runs`: is empty");
        check("dsn = 'mysql://h'\n\nserver = 'x'", "3: `server` and `dsn` each name the server");
    }
}
