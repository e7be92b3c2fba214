//! Whether server programs know the settings of a plan.

use truetps_knowledge::find_setting;
use truetps_plan::Plan;
use truetps_record::Family;
use truetps_sandbox::{Catalogue, CatalogueError as UnknownSetting, ServerBinary, ServerUser};

use crate::error::LabError;
use crate::trial::server_provider::ServerProgram;

/// Asks each server's program whether it knows each setting of the plan and accepts each level.
/// Starts nothing.
pub fn check_settings(
    plan: &Plan,
    programs: &[ServerProgram],
    user: &ServerUser,
) -> Result<Vec<Catalogue>, LabError> {
    let catalogues = programs.iter().map(|program| {
        check_settings_of(plan, &program.binary, user).map_err(|source| match &program.name {
            Some(name) => LabError::UnknownSettingOf { server: name.clone(), source },
            None => source.into(),
        })
    });
    catalogues.collect()
}

fn check_settings_of(
    plan: &Plan,
    binary: &ServerBinary,
    user: &ServerUser,
) -> Result<Catalogue, UnknownSetting> {
    let catalogue = Catalogue::ask(binary, user)?;
    let settings = &plan.server.settings;
    let fixed = settings.iter().map(|(name, value)| (name.as_str(), value));
    let factors = plan.setting_factors().into_iter();
    let levels = factors.flat_map(|(name, levels)| levels.iter().map(move |level| (name, level)));
    for (name, value) in fixed.chain(levels) {
        let others = settings.iter().map(|(other, value)| (other.as_str(), value));
        catalogue
            .check_beside(name, value, others.filter(|(other, _)| *other != name))
            .map_err(|error| of_other_family(error, binary))?;
    }
    Ok(catalogue)
}

/// A setting known only to the other server family is not misspelt: the plan was written for
/// another server.
fn of_other_family(error: UnknownSetting, binary: &ServerBinary) -> UnknownSetting {
    let UnknownSetting::Unknown { name, server, near } = error else { return error };
    let setting = find_setting(&name.to_lowercase());
    let (own, other) = match binary.family() {
        Family::Mysql => (Family::Mysql, Family::Postgresql),
        Family::Postgresql => (Family::Postgresql, Family::Mysql),
    };
    if setting.is_none_or(|setting| setting.is_of(own) || !setting.is_of(other)) {
        return UnknownSetting::Unknown { name, server, near };
    }
    let (whose, hint) = match own {
        Family::Mysql => (
            "PostgreSQL",
            "for a private PostgreSQL write `flavour = \"postgresql\"` in [server] of the plan; or \
             name one with --basedir or --dsn",
        ),
        Family::Postgresql => (
            "the MySQL family",
            "name a MySQL or MariaDB: [server] of the plan, --basedir or --dsn",
        ),
    };
    UnknownSetting::OtherFamily { name, server, whose, hint }
}
