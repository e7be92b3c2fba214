//! Whether server programs know the settings of a plan.

use truetps_knowledge::find_setting;
use truetps_plan::Plan;
use truetps_record::{Family, SettingValue};
use truetps_sandbox::{Catalogue, CatalogueError as UnknownSetting, ServerBinary, ServerUser};

use crate::error::LabError;
use crate::server_provider::ServerProgram;

/// Asks each server's program whether it knows each setting of the plan and accepts each level. Starts nothing.
pub fn check_settings(
    plan: &Plan,
    programs: &[ServerProgram],
    user: &ServerUser,
) -> Result<Vec<Catalogue>, LabError> {
    let check = |program: &ServerProgram| {
        check_settings_of(plan, &program.binary, user).map_err(|source| match &program.name {
            Some(name) => LabError::UnknownSettingOf { server: name.clone(), source },
            None => source.into(),
        })
    };
    programs.iter().map(check).collect()
}

fn check_settings_of(
    plan: &Plan,
    binary: &ServerBinary,
    user: &ServerUser,
) -> Result<Catalogue, UnknownSetting> {
    let catalogue = Catalogue::ask(binary, user)?;
    let check = |name: &str, value: &SettingValue| {
        let fixed = plan.server.settings.iter().filter(|(other, _)| *other != name);
        let others = fixed.map(|(name, value)| (name.as_str(), value));
        catalogue.check_beside(name, value, others).map_err(|error| of_other_family(error, binary))
    };
    for (name, value) in &plan.server.settings {
        check(name, value)?;
    }
    for (name, levels) in plan.setting_factors() {
        for level in levels {
            check(name, level)?;
        }
    }
    Ok(catalogue)
}

/// A setting known only to the other server family is not misspelt: the plan was written for another server.
fn of_other_family(error: UnknownSetting, binary: &ServerBinary) -> UnknownSetting {
    let UnknownSetting::Unknown { name, server, near } = error else { return error };
    let of =
        |family| find_setting(&name.to_lowercase()).is_some_and(|setting| setting.is_of(family));
    let (own, other) = match binary.family() {
        Family::Mysql => (Family::Mysql, Family::Postgresql),
        Family::Postgresql => (Family::Postgresql, Family::Mysql),
    };
    if of(own) || !of(other) {
        return UnknownSetting::Unknown { name, server, near };
    }
    let (whose, hint) = match own {
        Family::Mysql => (
            "PostgreSQL",
            "for a private PostgreSQL write `flavour = \"postgresql\"` in [server] of the plan; or name one with --basedir or --dsn",
        ),
        Family::Postgresql => (
            "the MySQL family",
            "name a MySQL or MariaDB: [server] of the plan, --basedir or --dsn",
        ),
    };
    UnknownSetting::OtherFamily { name, server, whose, hint }
}
