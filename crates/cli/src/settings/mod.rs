//! Defaults that a user keeps: variables of the environment, a project's `truetps.toml`, a file of
//! the user's own.
//!
//! One table has the settings (`table`), one value each is found (`layers`) and checked (`check`),
//! and the arguments of all commands get them as their defaults (`fill`): what is typed always
//! wins, and no command knows where a default comes from.

mod check;
mod file;
mod fill;
mod layers;
mod places;
mod table;

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::CommandFactory;

use crate::args::Cli;
use crate::failure::CommandFailure;

pub(crate) use self::fill::{filled, unfilled};
pub(crate) use self::layers::{Given, UserSettings, ValueOrigin};
pub(crate) use self::places::ConfigPlaces;
pub(crate) use self::table::{BASEDIR, COLOR, DSN, SERVER, SETTINGS, UserSetting};

/// The settings of this process, once they are read. As the environment, of which they are a part,
/// they do not change.
static OWN: OnceLock<UserSettings> = OnceLock::new();

/// Reads the settings of this process.
pub(crate) fn read_own() -> Result<UserSettings, CommandFailure> {
    let here = std::env::current_dir().ok();
    let places = ConfigPlaces::of(here.as_deref(), &|name| std::env::var_os(name));
    UserSettings::read(&Cli::command(), &places, &|name| std::env::var_os(name))
}

pub(crate) fn keep(settings: UserSettings) {
    // A second set is of the same files.
    let _ = OWN.set(settings);
}

/// What a setting has, if it is not left to its default.
pub(crate) fn given(name: &str) -> Option<&'static Given> {
    OWN.get()?.given(name)
}

/// Whether to use colours: by the setting, else on a terminal. NO_COLOR is of the environment, and
/// so above files.
pub(crate) fn has_color(is_terminal: bool) -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let given = given(COLOR)
        .filter(|given| !is_unwanted || matches!(given.origin, ValueOrigin::Variable(_)));
    match given.map(Given::text).as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => is_terminal && !is_unwanted,
    }
}

/// A variable of the environment; where it is not set, what the files have for it.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).or_else(|| {
        let setting = SETTINGS.iter().find(|setting| setting.variable() == name)?;
        given(setting.name).map(|given| given.value.clone())
    })
}
