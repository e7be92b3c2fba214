//! What the settings of a configuration promise, and the configurations that every crash experiment
//! needs to be believed: one that loses nothing, and one that must lose something.

use indexmap::IndexMap;
use truetps_knowledge::{Durability, Loss, find_setting};
use truetps_record::{
    CONNECTIONS, Configuration, CrashKind, CrashRole, Family, SettingValue, is_off, same_setting,
};
use truetps_sandbox::Settings;

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

/// Values without a setting.
const DEFAULTS: [(&str, &str); 3] =
    [("innodb_flush_log_at_trx_commit", "1"), ("synchronous_commit", "on"), ("fsync", "on")];

/// The first configuration of the plan that has these settings, and beside them only levels that
/// mean nothing with those. A control with its settings is then one more series of this
/// configuration: the two must agree in what they cost. `fixed`: the settings of all servers.
fn planned_with<'a>(
    wanted: &[(&str, &str)],
    planned: &'a [Configuration],
    fixed: &Settings,
) -> Option<&'a Configuration> {
    planned.iter().find(|configuration| {
        let has_all = wanted.iter().all(|(name, value)| {
            let found = configuration.levels.get(*name).or_else(|| fixed.get(name));
            let found = found.map(ToString::to_string).or_else(|| default_of(name));
            found.is_some_and(|found| same_setting(value, &found))
        });
        let mut others = configuration
            .conditions()
            .filter(|(name, _)| wanted.iter().all(|(wanted, _)| name != wanted));
        has_all && others.all(|(name, _)| means_nothing(name, wanted))
    })
}

fn default_of(name: &str) -> Option<String> {
    DEFAULTS.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

/// Whether a setting needs a switch that these settings turn off.
fn means_nothing(name: &str, settings: &[(&str, &str)]) -> bool {
    let needed = find_setting(name).and_then(|setting| setting.needs.as_deref());
    settings.iter().any(|(switch, value)| needed == Some(*switch) && is_off(value))
}

fn control(
    settings: &[(&str, &str)],
    clients: u32,
    planned: &[Configuration],
    fixed: &Settings,
) -> Configuration {
    let same = planned_with(settings, planned, fixed).cloned();
    same.unwrap_or_else(|| configuration(settings, clients))
}

/// The controls of an experiment that crashes these configurations in these ways.
pub(crate) fn controls(
    family: Family,
    kinds: &[CrashKind],
    clients: u32,
    planned: &[Configuration],
    fixed: &Settings,
) -> Vec<CrashCell> {
    let mut cells = vec![CrashCell {
        role: CrashRole::KeepsAll,
        kinds: kinds.to_vec(),
        configuration: control(keeps_all(family), clients, planned, fixed),
    }];
    for kind in kinds {
        let role = CrashRole::LosesSome;
        let configuration = control(loses_some(family, *kind), clients, planned, fixed);
        let same =
            cells.iter_mut().find(|cell| cell.role == role && cell.configuration == configuration);
        match same {
            Some(cell) => cell.kinds.push(*kind),
            None => cells.push(CrashCell { role, kinds: vec![*kind], configuration }),
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
            let cells = controls(family, &CrashKind::ALL, 8, &[], &Settings::empty(family));
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
    fn planned(levels: &[(&str, SettingValue)]) -> Configuration {
        let levels = levels.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Configuration { levels: levels.collect() }
    }

    const FLUSH: &str = "innodb_flush_log_at_trx_commit";

    /// The configurations of the plan `crash` on a MySQL or a MariaDB.
    #[test]
    fn the_control_is_a_series_of_the_configuration_with_its_settings() {
        let (int, bool) = (SettingValue::Int, SettingValue::Bool);
        let of = |flush, log_bin, sync| {
            planned(&[
                (FLUSH, int(flush)),
                ("log_bin", bool(log_bin)),
                ("sync_binlog", int(sync)),
                (CONNECTIONS, int(8)),
            ])
        };
        let fixed = Settings::empty(Family::Mysql);
        let keeps = |planned: &[Configuration], fixed: &Settings| {
            controls(Family::Mysql, &CrashKind::ALL, 8, planned, fixed)[0].configuration.clone()
        };
        let own = keeps(&[], &fixed);
        let all = [of(2, false, 1), of(1, true, 1), of(1, false, 1), of(1, false, 0)];
        assert_eq!(keeps(&all, &fixed), all[2]);
        assert_eq!(keeps(&all[..2], &fixed), own);
        // A level that may cost or lose something with any binlog.
        let doublewrite = planned(&[
            (FLUSH, int(1)),
            ("log_bin", bool(false)),
            ("innodb_doublewrite", bool(false)),
            (CONNECTIONS, int(8)),
        ]);
        assert_eq!(keeps(&[doublewrite], &fixed), own);
        // The binlog of all servers is what the plan says of all servers.
        let short = [planned(&[(FLUSH, int(1)), (CONNECTIONS, int(8))])];
        assert_eq!(keeps(&short, &fixed), own);
        let off = fixed.clone().with([("log_bin", &bool(false))]);
        assert_eq!(keeps(&short, &off), short[0]);
        // The one that must lose something when the server is killed, and no other.
        let planned = [of(0, true, 1), of(0, false, 1), of(1, false, 1)];
        let cells = controls(Family::Mysql, &CrashKind::ALL, 8, &planned, &fixed);
        let of_plan = cells.iter().filter(|cell| planned.contains(&cell.configuration));
        let of_plan: Vec<_> =
            of_plan.map(|cell| (cell.role, &cell.configuration, cell.kinds.len())).collect();
        assert_eq!(
            of_plan,
            [(CrashRole::KeepsAll, &planned[2], 3), (CrashRole::LosesSome, &planned[1], 1)]
        );
    }

    #[test]
    fn postgresql_flushes_unless_a_setting_says_otherwise() {
        let text = |text: &str| SettingValue::Text(text.to_owned());
        let cells = ["off", "on"].map(|commit| {
            planned(&[("synchronous_commit", text(commit)), (CONNECTIONS, SettingValue::Int(8))])
        });
        let keeps = |fixed: &Settings| {
            controls(Family::Postgresql, &CrashKind::ALL, 8, &cells, fixed)[0].configuration.clone()
        };
        let fixed = Settings::empty(Family::Postgresql);
        assert_eq!(keeps(&fixed), cells[1]);
        assert_ne!(keeps(&fixed.clone().with([("fsync", &text("off"))])), cells[1]);
    }
}
