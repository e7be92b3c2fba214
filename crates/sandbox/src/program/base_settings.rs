//! Settings of a user's own option file, as the base configuration of private servers.

use std::collections::BTreeMap;

use truetps_record::{Family, SettingValue, setting_number};

use crate::FileSetting;
use crate::error::CatalogueError;
use crate::program::binary::ServerBinary;
use crate::program::catalogue::{Catalogue, LineEffect};
use crate::settings::names::canonical_name;
use crate::system::server_user::ServerUser;

/// What a private server takes of an option file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseSettings {
    pub kept: Vec<(String, String)>,
    /// Names, and why a private server does not take them.
    pub ignored: Vec<(String, String)>,
    /// What the server makes of a line that says something else.
    pub notes: Vec<String>,
}

const PLUGIN_LINES: [&str; 3] = ["early_plugin_load", "plugin_load", "plugin_load_add"];

/// Sorts the settings of an option file: a private server has its own folder, socket and account.
///
/// # Errors
///
/// The server does not know a setting, or refuses its value: it would not start with this file.
pub fn base_settings(
    binary: &ServerBinary,
    user: &ServerUser,
    of_file: &[FileSetting],
) -> Result<BaseSettings, CatalogueError> {
    base_settings_of(&Catalogue::ask(binary, user)?, of_file)
}

/// Like [`base_settings`], for a program whose settings are known.
pub fn base_settings_of(
    catalogue: &Catalogue,
    of_file: &[FileSetting],
) -> Result<BaseSettings, CatalogueError> {
    let mut base = BaseSettings::default();
    let mut known: Vec<Line<'_>> = Vec::new();
    // Which settings a plugin has, only a server with it says.
    let loads_plugins =
        of_file.iter().any(|line| PLUGIN_LINES.contains(&canonical_name(&line.name).as_str()));
    for setting @ FileSetting { name, value, .. } in of_file {
        let value = SettingValue::Text(value.clone());
        match catalogue.check_written_name(name) {
            Ok(()) => match catalogue.value_of_bare(setting)? {
                Some(taken) => {
                    base.notes.push(format!("{name} without a value: the server takes {taken}"));
                    known.push((name, SettingValue::Text(taken)));
                }
                None => known.push((name, value)),
            },
            Err(CatalogueError::Reserved { reason, .. }) => {
                base.ignored.push((name.clone(), reason.to_owned()));
            }
            Err(CatalogueError::NoVariable { .. }) => {
                base.ignored.push((
                    name.clone(),
                    "it has no variable, and so cannot be verified".to_owned(),
                ));
            }
            Err(error) => match take_effect(catalogue, setting, &value, error, &mut base) {
                Err(CatalogueError::Unknown { name, .. }) if loads_plugins => {
                    let reason = "this server does not know it; the file loads plugins, and a \
                                  private server does not";
                    base.ignored.push((name, reason.to_owned()));
                }
                taken => taken?,
            },
        }
    }
    if catalogue.family() == Family::Postgresql {
        take_of_postgres(catalogue, &known, &mut base)?;
        return Ok(base);
    }
    let values = match catalogue.together(pairs(&known))? {
        Ok(values) => values,
        Err(problem) => explained(catalogue, &mut known, &problem)?,
    };
    for (name, value) in &known {
        let taken = catalogue.taken_instead(name, value, &values)?;
        if let Some(taken) = &taken {
            base.notes.push(format!("{name} = {value}: the server takes {taken} on this host"));
        }
        base.kept.push(((*name).to_owned(), taken.unwrap_or_else(|| value.option_text())));
    }
    if catalogue.is_of_mysql() {
        round_pool(catalogue, &mut base);
    }
    Ok(base)
}

fn take_of_postgres(
    catalogue: &Catalogue,
    lines: &[Line<'_>],
    base: &mut BaseSettings,
) -> Result<(), CatalogueError> {
    for (name, value) in lines {
        match catalogue.check(name, value) {
            Ok(()) => base.kept.push(((*name).to_owned(), value.option_text())),
            Err(CatalogueError::Value { .. }) if is_of_host(name) => {
                let reason =
                    format!("this host has no {value}, and the server does not start with it here");
                base.ignored.push(((*name).to_owned(), reason));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Locales and time zones, which initdb writes as its host has them.
fn is_of_host(name: &str) -> bool {
    let name = canonical_name(name);
    name.starts_with("lc_") || ["timezone", "log_timezone"].contains(&name.as_str())
}

type Line<'a> = (&'a str, SettingValue);

fn pairs<'a>(lines: &'a [Line<'_>]) -> impl Iterator<Item = (&'a str, &'a SettingValue)> {
    lines.iter().map(|(name, value)| (*name, value))
}

/// Explains why the server does not take lines together: by the one that is to blame, if there is
/// one; else by the values that it has without a limit of this host.
fn explained(
    catalogue: &Catalogue,
    known: &mut Vec<Line<'_>>,
    problem: &str,
) -> Result<BTreeMap<String, String>, CatalogueError> {
    let (mut fine, mut other) = (Vec::new(), Vec::new());
    for line in known.drain(..) {
        match catalogue.check(line.0, &line.1) {
            Ok(()) => fine.push(line),
            Err(error @ CatalogueError::Value { .. }) => other.push((line, error)),
            Err(error) => return Err(error),
        }
    }
    for ((name, value), error) in other {
        // A collation is valid beside its character set only.
        if catalogue.together(pairs(&fine).chain([(name, &value)]))?.is_err() {
            return Err(error);
        }
        fine.push((name, value));
    }
    *known = fine;
    catalogue.together(pairs(known))?.map_err(|left| {
        let said: Vec<_> =
            known.iter().filter(|line| is_named_in(problem, line)).map(|(name, _)| *name).collect();
        let names =
            if said.is_empty() { known.iter().map(|(name, _)| *name).collect() } else { said };
        CatalogueError::NotTogether {
            names: names.into_iter().map(str::to_owned).collect(),
            problem: left,
        }
    })
}

fn is_named_in(problem: &str, (name, value): &Line<'_>) -> bool {
    let words = [(*name).to_owned(), name.replace('_', "-"), value.option_text()];
    words.iter().any(|word| word.len() > 2 && problem.contains(word))
}

/// What a line does whose name is not a variable's.
fn take_effect(
    catalogue: &Catalogue,
    line: &FileSetting,
    value: &SettingValue,
    error: CatalogueError,
    base: &mut BaseSettings,
) -> Result<(), CatalogueError> {
    let name = line.name.clone();
    match catalogue.effect_of(&name, value)? {
        LineEffect::Sets(variable, value) => {
            base.notes.push(format!("{name} is read as {variable}, as the server does"));
            base.kept.push((variable, value));
        }
        LineEffect::Nothing => {
            base.ignored.push((name, "this server takes it without an effect".to_owned()));
        }
        LineEffect::Unknown if line.is_loose => {
            base.ignored.push((name, "this server does not know it (loose)".to_owned()));
        }
        LineEffect::Unknown => return Err(error),
    }
    Ok(())
}

const POOL: &str = "innodb_buffer_pool_size";
const POOL_INSTANCES: &str = "innodb_buffer_pool_instances";
/// A smaller pool has one instance.
const POOL_DIVIDED_FROM: f64 = (1_u64 << 30) as f64;

/// MySQL makes the pool a whole number of chunks of all instances when it starts, which it does not
/// say before: "Configuring InnoDB Buffer Pool Size" in its manual.
fn round_pool(catalogue: &Catalogue, base: &mut BaseSettings) {
    let Some(pool) = number_of(catalogue, base, POOL) else { return };
    let is_small = pool < POOL_DIVIDED_FROM;
    let chunk = number_of(catalogue, base, "innodb_buffer_pool_chunk_size");
    let instances = match number_of(catalogue, base, POOL_INSTANCES) {
        _ if is_small => Some(1.0),
        Some(0.0) => chunk.map(|chunk| catalogue.pool_instances(pool, chunk)),
        named => named,
    };
    let unit = chunk
        .zip(instances)
        .map(|(chunk, instances)| chunk * instances)
        .filter(|unit| (1.0..=pool).contains(unit));
    let rounded = unit.map_or(pool, |unit| (pool / unit).ceil() * unit);
    take_number(base, POOL, rounded);
    if is_small {
        take_number(base, POOL_INSTANCES, 1.0);
    }
}

/// The number that the server has, by the file or by default.
fn number_of(catalogue: &Catalogue, base: &BaseSettings, name: &str) -> Option<f64> {
    let kept = base.kept.iter().find(|(known, _)| canonical_name(known) == name);
    let kept = kept.map(|(_, value)| value.as_str());
    setting_number(kept.or_else(|| catalogue.default_value(name))?)
}

/// Replaces a kept value by what the server takes, if that is another number.
fn take_number(base: &mut BaseSettings, wanted_name: &str, taken: f64) {
    let line = base.kept.iter_mut().find(|(name, _)| canonical_name(name) == wanted_name);
    if let Some((name, value)) = line
        && setting_number(value).is_some_and(|wanted| wanted as u64 != taken as u64)
    {
        base.notes.push(format!("{name} = {value}: the server takes {taken:.0}"));
        *value = format!("{taken:.0}");
    }
}
