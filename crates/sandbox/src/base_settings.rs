//! Settings of a user's own option file, as the base configuration of private servers.

use truetps_record::{SettingValue, setting_number};

use crate::binary::ServerBinary;
use crate::catalogue::{Catalogue, CatalogueError, LineEffect};
use crate::options::canonical_name;
use crate::server_user::ServerUser;

/// A line of an option file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSetting {
    pub name: String,
    pub value: String,
    /// A server that does not know it ignores it: the prefix `loose-`.
    pub is_loose: bool,
}

/// What a private server takes of an option file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseSettings {
    pub kept: Vec<(String, String)>,
    /// Names, and why a private server does not take them.
    pub ignored: Vec<(String, String)>,
    /// What the server makes of a line that says something else.
    pub notes: Vec<String>,
}

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
    let catalogue = Catalogue::ask(binary, user)?;
    let mut base = BaseSettings::default();
    let mut known: Vec<(&str, SettingValue)> = Vec::new();
    for FileSetting { name, value, is_loose } in of_file {
        match catalogue.check_name(name) {
            Ok(()) => known.push((name, SettingValue::Text(value.clone()))),
            Err(CatalogueError::Reserved { reason, .. }) => base.ignored.push((name.clone(), reason.to_owned())),
            Err(CatalogueError::NoVariable { .. }) => {
                base.ignored.push((name.clone(), "it has no variable, and so cannot be verified".to_owned()));
            }
            Err(error) => match catalogue.effect_of(name, &SettingValue::Text(value.clone()))? {
                LineEffect::Sets(variable, value) => {
                    base.notes.push(format!("{name} is read as {variable}, as the server does"));
                    base.kept.push((variable, value));
                }
                LineEffect::Nothing => {
                    base.ignored.push((name.clone(), "this server takes it without an effect".to_owned()));
                }
                LineEffect::Unknown if *is_loose => {
                    base.ignored.push((name.clone(), "this server does not know it (loose)".to_owned()));
                }
                LineEffect::Unknown => return Err(error),
            },
        }
    }
    for (name, value) in &known {
        let others = known.iter().filter(|(other, _)| other != name).map(|(name, value)| (*name, value));
        let taken = match catalogue.check_beside(name, value, others) {
            Ok(()) => value.option_text(),
            Err(error @ CatalogueError::Value { .. }) => {
                let Some(taken) = catalogue.number_instead(name, value)? else { return Err(error) };
                base.notes.push(format!("{name} = {value}: the server takes {taken} on this host"));
                taken
            }
            Err(error) => return Err(error),
        };
        base.kept.push(((*name).to_owned(), taken));
    }
    if binary.is_of_mysql() {
        round_pool(&catalogue, &mut base);
    }
    Ok(base)
}

const POOL: &str = "innodb_buffer_pool_size";
const POOL_INSTANCES: &str = "innodb_buffer_pool_instances";
/// A smaller pool has one instance.
const POOL_DIVIDED_FROM: f64 = (1_u64 << 30) as f64;

/// MySQL makes the pool a whole number of chunks of all instances when it starts, which it does not say before:
/// "Configuring InnoDB Buffer Pool Size" in its manual.
fn round_pool(catalogue: &Catalogue, base: &mut BaseSettings) {
    let number = |base: &BaseSettings, name: &str| {
        let kept = base.kept.iter().find(|(known, _)| canonical_name(known) == name).map(|(_, value)| value.as_str());
        setting_number(kept.or_else(|| catalogue.default_value(name))?)
    };
    let Some(pool) = number(base, POOL) else { return };
    let is_small = pool < POOL_DIVIDED_FROM;
    let instances = if is_small { Some(1.0) } else { number(base, POOL_INSTANCES) };
    let chunk = number(base, "innodb_buffer_pool_chunk_size");
    let unit =
        chunk.zip(instances).map(|(chunk, instances)| chunk * instances).filter(|unit| (1.0..=pool).contains(unit));
    let rounded = unit.map_or(pool, |unit| (pool / unit).ceil() * unit);
    let mut take = |wanted_name: &str, taken: f64| {
        let line = base.kept.iter_mut().find(|(name, _)| canonical_name(name) == wanted_name);
        if let Some((name, value)) = line
            && setting_number(value).is_some_and(|wanted| wanted as u64 != taken as u64)
        {
            base.notes.push(format!("{name} = {value}: the server takes {taken:.0}"));
            *value = format!("{taken:.0}");
        }
    };
    take(POOL, rounded);
    if is_small {
        take(POOL_INSTANCES, 1.0);
    }
}
