//! Notes on a side that only the other side shows.

use truetps_record::{Flavour, near_matches};

use super::document::{Difference, Placed};
use crate::side::SettingsSide;

/// The server's family, where it is not the one of the other side.
pub(super) fn other_family(b: &SettingsSide, a: &SettingsSide) -> Option<String> {
    let (of_b, of_a) = b.family().zip(a.family()).filter(|_| b.is_of_other_family(a))?;
    Some(format!("B is of {of_b}, and A of {of_a}: the same name need not mean the same setting"))
}

/// Unknown names of an option file that the other side, a server, does not have: perhaps typos.
pub(super) fn unknown_names<'a>(
    side: &SettingsSide,
    other: &SettingsSide,
    differences: impl Iterator<Item = (&'a Difference, &'a Placed, &'a Placed)>,
) -> Vec<String> {
    if side.is_complete || !other.is_complete || side.is_of_other_family(other) {
        return Vec::new();
    }
    let unknown = differences.filter(|(one, here, there)| {
        one.group.is_none()
            && one.folded.is_none()
            && here.value.is_some()
            && there.value.is_none()
            && !side.settings.get(&one.name).is_some_and(|found| found.is_loose)
    });
    unknown.filter_map(|(one, ..)| unknown_name(&one.name, other)).collect()
}

fn unknown_name(name: &str, server: &SettingsSide) -> Option<String> {
    if let Some(whole) = abbreviated(name, server) {
        return Some(format!(
            "{name} is short for {whole}: this server takes a beginning that only one name has"
        ));
    }
    let near = near_matches(name, server.settings.keys().map(String::as_str));
    let near = near.first()?;
    Some(format!(
        "the other server has no setting {name}; did you mean {near}? A server does not start with \
         an unknown name in its file"
    ))
}

/// The only name that begins so. MariaDB takes such an abbreviation, and MySQL before 8.0.
fn abbreviated<'a>(name: &str, server: &'a SettingsSide) -> Option<&'a str> {
    let takes = match server.flavour? {
        Flavour::Mariadb => true,
        Flavour::Mysql | Flavour::Percona => server.parsed_version()?.series() < (8, 0),
        Flavour::Postgresql => false,
    };
    let mut longer = server.settings.keys().filter(|other| takes && other.starts_with(name));
    longer.next().filter(|_| longer.next().is_none()).map(String::as_str)
}
