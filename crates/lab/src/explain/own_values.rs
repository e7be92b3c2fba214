//! What truetps chooses for a server of `explain`: only what neither side sets.
//!
//! A user who compares a file that sets the buffer pool with one that does not asks about the
//! server's default, and not about the pool that truetps would choose.

use truetps_knowledge::find_setting;
use truetps_record::{ServerFacts, Version, same_setting};
use truetps_sandbox::{Catalogue, Settings, decides};

use crate::explain::ExplainSide;

/// Without these the load or the server fails where the default is too small: a side that does not
/// set them has the value of truetps.
const FOR_THE_LOAD: [&str; 3] = ["max_connections", "max_prepared_stmt_count", "server_id"];

/// Takes what one of the sides sets out of what truetps has chosen for a program: where the other
/// side does not set it, the server uses its own default.
pub(crate) fn leave_to_server(
    sides: &[ExplainSide; 2],
    facts: &mut ServerFacts,
    fixed: &mut Settings,
) {
    facts.chosen_settings.retain(|(name, _)| !is_left(sides, name));
    fixed.retain(|name| !is_left(sides, name));
}

fn is_left(sides: &[ExplainSide; 2], name: &str) -> bool {
    let mut set = sides.iter().flat_map(|side| side.settings.keys());
    !FOR_THE_LOAD.contains(&name) && set.any(|set| decides(set, name))
}

/// What a side has in place of its server's default although the other side sets it.
pub(crate) fn notes(
    side: &ExplainSide,
    other: &ExplainSide,
    facts: &ServerFacts,
    catalogue: &Catalogue,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, value) in &facts.chosen_settings {
        let is_asked = !side.settings.contains_key(name) && other.settings.contains_key(name);
        let default = default_value(name, facts, catalogue).filter(|default| !default.is_empty());
        let Some(default) = default.filter(|_| is_asked) else { continue };
        if !same_setting(&default, value) {
            notes.push(format!(
                "{name} is {value} in place of the server's default of {default}: the load needs it"
            ));
        }
    }
    notes
}

/// The default that is known of this version, or else the program's.
fn default_value(name: &str, facts: &ServerFacts, catalogue: &Catalogue) -> Option<String> {
    let version = Version::parse(&facts.version);
    let known = find_setting(name).zip(version.as_ref());
    let span = known.and_then(|(setting, version)| setting.span(facts.flavour, version));
    span.and_then(|span| span.default.clone())
        .or_else(|| catalogue.default_value(name).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use truetps_plan::level_of;
    use truetps_record::{Family, Flavour};

    use super::*;

    fn side(settings: &[(&str, &str)]) -> ExplainSide {
        let settings: IndexMap<_, _> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), level_of(value))).collect();
        ExplainSide {
            name: "x".to_owned(),
            program: 0,
            settings,
            levels: IndexMap::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Names that truetps chooses with these sides.
    fn chosen(a: &[(&str, &str)], b: &[(&str, &str)]) -> Vec<String> {
        let names = [
            "max_connections",
            "performance_schema",
            "innodb_buffer_pool_size",
            "innodb_redo_log_capacity",
        ];
        let chosen_settings: Vec<_> =
            names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
        let mut fixed = Settings::new(Family::Mysql, &chosen_settings);
        let (flavour, version) = (Flavour::Mysql, "9.7.0".to_owned());
        let mut facts = ServerFacts {
            name: None,
            flavour,
            version,
            version_text: String::new(),
            chosen_settings,
            of_option_file: Vec::new(),
        };
        leave_to_server(&[side(a), side(b)], &mut facts, &mut fixed);
        let kept: Vec<_> = facts.chosen_settings.into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, fixed.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
        kept
    }

    #[test]
    fn what_a_side_sets_is_left_to_the_server() {
        let [connections, schema, pool, redo] = [
            "max_connections",
            "performance_schema",
            "innodb_buffer_pool_size",
            "innodb_redo_log_capacity",
        ];
        assert_eq!(chosen(&[("sync_binlog", "0")], &[]), [connections, schema, pool, redo]);
        assert_eq!(
            chosen(&[], &[("innodb-buffer-pool-size", "2G"), (schema, "OFF")]),
            [connections, redo]
        );
        assert_eq!(
            chosen(&[("innodb_log_file_size", "1G")], &[]),
            [connections, schema, pool],
            "under its old name"
        );
        assert_eq!(chosen(&[("innodb_dedicated_server", "ON")], &[]), [connections, schema]);
        assert_eq!(chosen(&[(connections, "500")], &[]).len(), 4, "the load needs its connections");
    }
}
