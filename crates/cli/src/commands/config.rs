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
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (name_width, value_width) = (width(0), width(1));
    let mut text = String::new();
    for [name, value, origin] in &rows {
        let _ = writeln!(text, "{name:<name_width$}  {value:<value_width$}  {origin}");
    }
    print_out(&(text + &files()))
}

/// As a file would have it; what is left to its default is a comment.
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

/// Without a password that may be in it.
fn value_of(setting: &UserSetting) -> Option<String> {
    let text = settings::given(setting.name)?.text();
    Some(if setting.name == DSN {
        Target::parse(&text).map_or(text, |target| target.to_string())
    } else {
        text
    })
}

/// Where settings of one's own go.
fn files() -> String {
    let variable = |name: &str| std::env::var_os(name);
    let places = ConfigPlaces::of(std::env::current_dir().ok().as_deref(), &variable);
    let mut text = String::from("\n");
    for path in places.found() {
        let _ = writeln!(text, "read: {}", path.display());
    }
    if let Some(path) = places.of_user.filter(|path| !path.exists()) {
        let _ = writeln!(text, "not there: {}", path.display());
    }
    text
}
