//! `truetps config`: which settings apply here.

use std::fmt::Write as _;

use truetps_driver::Target;

use crate::exit::Exit;
use crate::settings::{self, ConfigPlaces, DSN, SETTINGS, UserSetting};
use crate::terminal::print_out;

pub(crate) fn show(with_origin: bool) -> Exit {
    if !with_origin {
        return print_out(&SETTINGS.iter().map(toml_line).collect::<String>());
    }
    let rows: Vec<_> = SETTINGS.iter().map(origin_row).collect();
    let (name_width, value_width) = (column_width(&rows, 0), column_width(&rows, 1));
    let mut text = String::new();
    for [name, value, origin] in &rows {
        let _ = writeln!(text, "{name:<name_width$}  {value:<value_width$}  {origin}");
    }
    print_out(&(text + &files()))
}

fn column_width(rows: &[[String; 3]], column: usize) -> usize {
    rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
}

/// A line of a configuration file; a setting that has its default is a comment.
fn toml_line(setting: &UserSetting) -> String {
    match value_of(setting) {
        Some(value) => format!("{} = {}\n", setting.name, setting.toml(&value)),
        None => format!("# {}: {}\n", setting.name, setting.default),
    }
}

fn origin_row(setting: &UserSetting) -> [String; 3] {
    let origin = settings::given(setting.name)
        .map_or_else(|| "default".to_owned(), |given| given.origin.to_string());
    [
        setting.name.to_owned(),
        value_of(setting).unwrap_or_else(|| setting.default.to_owned()),
        origin,
    ]
}

/// The value of a setting, without the password of a DSN.
fn value_of(setting: &UserSetting) -> Option<String> {
    let text = settings::given(setting.name)?.text();
    Some(if setting.name == DSN {
        Target::parse(&text).map_or(text, |target| target.to_string())
    } else {
        text
    })
}

/// The files that settings are read from, and the user's own if it does not exist.
fn files() -> String {
    let here = std::env::current_dir().ok();
    let places = ConfigPlaces::of(here.as_deref(), &|name: &str| std::env::var_os(name));
    let mut text = String::from("\n");
    for path in places.found() {
        let _ = writeln!(text, "read: {}", path.display());
    }
    if let Some(path) = places.of_user.filter(|path| !path.exists()) {
        let _ = writeln!(text, "not there: {}", path.display());
    }
    text
}
