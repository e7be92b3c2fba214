//! What the settings of a configuration promise, and the configurations that every crash experiment
//! needs to be believed: one that loses nothing, and one that must lose something.

use indexmap::IndexMap;
use truetps_knowledge::{Durability, Loss};
use truetps_record::{CONNECTIONS, Configuration, CrashKind, CrashRole, Family, SettingValue};

/// A configuration to crash.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CrashCell {
    pub(crate) role: CrashRole,
    pub(crate) kinds: Vec<CrashKind>,
    pub(crate) configuration: Configuration,
}

/// What a crash of this kind loses, by the server's documentation.
pub(crate) fn promised_loss(durability: &Durability, kind: CrashKind) -> Loss {
    match kind {
        CrashKind::Kill => durability.process_crash,
        CrashKind::Os | CrashKind::Power => durability.power_cut,
    }
}

/// The settings that lose nothing in any crash.
fn keeps_all(family: Family) -> &'static [(&'static str, &'static str)] {
    match family {
        Family::Mysql => &[("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "OFF")],
        Family::Postgresql => &[("synchronous_commit", "on"), ("fsync", "on")],
    }
}

/// The settings that must lose something in a crash of this kind.
fn loses_some(family: Family, kind: CrashKind) -> &'static [(&'static str, &'static str)] {
    match (family, kind) {
        (Family::Mysql, CrashKind::Kill) => {
            &[("innodb_flush_log_at_trx_commit", "0"), ("log_bin", "OFF")]
        }
        (Family::Mysql, _) => &[
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
            ("innodb_flush_method", "nosync"),
        ],
        (Family::Postgresql, CrashKind::Kill) => {
            &[("synchronous_commit", "off"), ("wal_writer_delay", "2s")]
        }
        (Family::Postgresql, _) => &[("fsync", "off")],
    }
}

fn configuration(settings: &[(&str, &str)], clients: u32) -> Configuration {
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SettingValue::Text((*value).to_owned())));
    let connections = (CONNECTIONS.to_owned(), SettingValue::Int(clients.into()));
    Configuration { levels: settings.chain([connections]).collect::<IndexMap<_, _>>() }
}

/// The controls of an experiment with these kinds of crashes.
pub(crate) fn controls(family: Family, kinds: &[CrashKind], clients: u32) -> Vec<CrashCell> {
    let keeps = CrashCell {
        role: CrashRole::KeepsAll,
        kinds: kinds.to_vec(),
        configuration: configuration(keeps_all(family), clients),
    };
    let mut cells = vec![keeps];
    for kind in kinds {
        let configuration = configuration(loses_some(family, *kind), clients);
        match cells.iter_mut().find(|cell| cell.configuration == configuration) {
            Some(cell) => cell.kinds.push(*kind),
            None => cells.push(CrashCell {
                role: CrashRole::LosesSome,
                kinds: vec![*kind],
                configuration,
            }),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_control_that_keeps_all_and_one_that_loses_some() {
        for family in [Family::Mysql, Family::Postgresql] {
            let cells = controls(family, &CrashKind::ALL, 8);
            for kind in CrashKind::ALL {
                let of = |role| {
                    cells
                        .iter()
                        .filter(|cell| cell.role == role && cell.kinds.contains(&kind))
                        .count()
                };
                assert_eq!(
                    (of(CrashRole::KeepsAll), of(CrashRole::LosesSome)),
                    (1, 1),
                    "{family:?} {kind}"
                );
            }
        }
    }
}
