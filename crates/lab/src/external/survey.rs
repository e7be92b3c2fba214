//! All checks before the first change, in one order: for a run, and for its rehearsal.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError, Endpoint};
use truetps_knowledge::{Loss, Setting, Version, find_setting, judge, platform_of};
use truetps_plan::Plan;
use truetps_record::{ExternalFacts, ServerFacts, SqlDialect, same_setting, setting_number};
use truetps_workload::Workload;

use super::error::ExternalError;
use super::globals::{self, Scope, Scopes};
use super::identity::Identity;
use super::journal::Journal;
use super::journal_file::refuse_unfinished;
use super::schema::Schema;
use super::{access, committing, replication, room, session_settings};
use crate::error::LabError;
use crate::event::Listener;
use crate::external::parts::PARTS_TABLE;
use crate::trial::server_provider::ExternalServer;
use crate::trial::server_status::{is_on, shown};

/// Findings about the server.
pub(crate) struct Survey {
    pub(crate) facts: ServerFacts,
    pub(crate) scopes: Scopes,
    pub(crate) schema: Schema,
    /// Warnings given to the user, and who receives what is written.
    pub(crate) external: ExternalFacts,
    /// The journal to create if the run starts.
    pub(crate) journal: Journal,
}

impl Survey {
    /// Whether other sessions see any of the settings.
    pub(crate) fn sets(&self) -> bool {
        self.scopes.has_global()
    }
}

/// Refuses a run that cannot work, and warns. Only reads.
pub(crate) fn survey(
    client: &mut Client,
    plan: &Plan,
    external: &ExternalServer,
    workload: &dyn Workload,
    tool_version: &str,
    listener: &mut dyn Listener,
) -> Result<Survey, LabError> {
    let ExternalServer { target, schema, schema_is_theirs, journals, part, .. } = external;
    let facts = facts(client)?;
    if plan.server.flavour.is_some_and(|wanted| wanted != facts.flavour) {
        return Err(LabError::OtherFlavour { wanted: plan.server.flavour, found: facts.flavour });
    }
    committing::check(client)?;
    let scopes = scopes(client, plan, &facts)?;
    let sets = scopes.has_global();
    let mut named = Schema::new(target, schema, *schema_is_theirs, workload);
    if !part.is_whole() {
        named.plan_table(PARTS_TABLE);
    }
    let identity = Identity::ask(client)?;
    let mut journal = Journal::new(tool_version, identity, target.to_string(), named.record());
    // Leftovers of a killed run are reported before anything that they may have caused.
    refuse_unfinished(journals, &journal, sets)?;
    // Before privileges on it are requested: no privilege should be granted on a schema that is
    // refused anyway.
    if !schema_is_theirs {
        check_schema(client, &mut named, external, workload)?;
    }
    let global: Vec<_> = scopes.global_names().collect();
    let mut warnings =
        access::look_around(client, target, schema, *schema_is_theirs, workload, &global)?;
    let replication = replication::ask(client)?;
    warnings.extend(replication::warnings(&replication, client.dialect()));
    room::check(client, target, plan)?;
    if *schema_is_theirs {
        check_schema(client, &mut named, external, workload)?;
    }
    warnings.extend(access::own_settings(client)?);
    warnings.extend(durability(client, plan, &facts, &scopes)?);
    warnings.extend(without_binlog(client, plan)?);
    warnings.extend(on_platform(client, plan, &facts)?);
    for text in &warnings {
        listener.warn(text.clone());
    }
    let is_on_this_host =
        target.endpoints.iter().all(|endpoint| matches!(endpoint, Endpoint::Unix(_)));
    let external = ExternalFacts { is_on_this_host, replication, warnings };
    journal.schema = named.record();
    Ok(Survey { facts, scopes, schema: named, external, journal })
}

/// Reports a schema left by a killed run as such.
fn check_schema(
    client: &mut Client,
    named: &mut Schema,
    external: &ExternalServer,
    workload: &dyn Workload,
) -> Result<(), LabError> {
    let Err(error) = named.check(client, workload) else { return Ok(()) };
    let is_there = matches!(
        error,
        LabError::SchemaExists { .. } | LabError::External(ExternalError::TableExists { .. })
    );
    let path = if is_there { named.journal_of(client, &external.journals) } else { None };
    let schema = named.name().to_owned();
    Err(path.map_or(error, |path| ExternalError::LeftByMoved { schema, path }.into()))
}

fn facts(client: &mut Client) -> Result<ServerFacts, DriverError> {
    let sql = match client.dialect() {
        SqlDialect::Mysql => "SELECT CONCAT(@@version, ' ', @@version_comment)",
        SqlDialect::Postgres => "SELECT version()",
    };
    let version_text = client.query_value(sql)?.unwrap_or_default();
    Ok(ServerFacts::from_version_text(&version_text))
}

/// The scopes that a part which has prepared nothing sees, as part 0 does.
pub(crate) fn setting_scopes(client: &mut Client, plan: &Plan) -> Result<Scopes, LabError> {
    let facts = facts(client)?;
    scopes(client, plan, &facts)
}

/// The scope of each setting; refuses those that cannot be set.
fn scopes(client: &mut Client, plan: &Plan, facts: &ServerFacts) -> Result<Scopes, LabError> {
    let mut scopes = Scopes::default();
    for name in globals::names(plan) {
        let scope = match scope(client, &name, facts) {
            Err(LabError::External(ExternalError::NotDynamic { .. }))
                if has_already(client, plan, &name)? =>
            {
                continue;
            }
            Err(LabError::External(error)) => return Err(error.with_near(client).into()),
            other => other?,
        };
        scopes.insert(name, scope);
    }
    Ok(scopes)
}

/// Whether the server already has the one value that the plan gives a setting: it need not be set.
fn has_already(client: &mut Client, plan: &Plan, name: &str) -> Result<bool, LabError> {
    let Some(wanted) = plan.server.settings.get(name) else { return Ok(false) };
    let found = shown(client, "VARIABLES", name)?;
    Ok(found.is_some_and(|found| same_setting(&wanted.option_text(), &found)))
}

fn scope(client: &mut Client, name: &str, facts: &ServerFacts) -> Result<Scope, LabError> {
    if client.dialect() == SqlDialect::Postgres {
        session_settings::check_postgres(client, name)?;
        return Ok(Scope::Session);
    }
    globals::check_name(name)?;
    let scope = globals::scope(client, name)?;
    if scope == Scope::Global {
        globals::value(client, name)?;
        globals::check_known(name, facts)?;
    }
    Ok(scope)
}

/// Factors that a server without a binlog accepts and ignores.
fn without_binlog(client: &mut Client, plan: &Plan) -> Result<Option<String>, DriverError> {
    let mut names: Vec<_> = plan.setting_factors().into_keys().collect();
    names.retain(|name| *name == "sync_binlog" || name.starts_with("binlog_"));
    if names.is_empty() || client.dialect() == SqlDialect::Postgres || is_on(client, "log_bin")? {
        return Ok(None);
    }
    Ok(Some(format!(
        "log_bin is OFF on this server, and {} has no effect without it",
        names.join(", ")
    )))
}

/// Factors and settings that a managed or distributed server shows, and that do nothing there.
fn on_platform(
    client: &mut Client,
    plan: &Plan,
    facts: &ServerFacts,
) -> Result<Vec<String>, DriverError> {
    let names = globals::names(plan);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let variables = truetps_driver::server_settings(client)?;
    let shown = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let Some(platform) = platform_of(facts.flavour, shown) else { return Ok(Vec::new()) };
    let idle = names
        .into_iter()
        .filter_map(|name| Some(format!("{name}: {}", platform.without_meaning(&name)?)));
    Ok(idle.collect())
}

/// What the levels mean for the commits of all sessions during the run, if it is less durable than
/// the current setting.
fn durability(
    client: &mut Client,
    plan: &Plan,
    facts: &ServerFacts,
    scopes: &Scopes,
) -> Result<Vec<String>, DriverError> {
    let mut said: Vec<String> = Vec::new();
    let Some(version) = Version::parse(&facts.version).filter(|_| scopes.has_global()) else {
        return Ok(said);
    };
    let variables = truetps_driver::server_settings(client)?;
    let now = judge(facts.flavour, &version, &variables);
    for configuration in plan.configurations() {
        let mut with: BTreeMap<String, String> = variables.clone();
        let mut words = Vec::new();
        for (name, level) in scopes.levels_of(plan, &configuration, Scope::Global) {
            let value = level.option_text();
            // An unknown word: the server decides whether it is a level.
            if !is_plausible(name, &value) {
                continue;
            }
            if with.insert(name.to_lowercase(), value.clone()).is_none_or(|was| was != value) {
                words.push(format!("{name} = {value}"));
            }
        }
        let then = judge(facts.flavour, &version, &with);
        let is_same = (then.process_crash, then.power_cut) == (now.process_crash, now.power_cut);
        if is_same || then.power_cut == Loss::Nothing {
            continue;
        }
        let text = format!(
            "with {}, commits of all sessions on this server: {}",
            words.join(", "),
            then.sentence
        );
        if !said.contains(&text) {
            said.push(text);
        }
    }
    Ok(said)
}

/// Numbers and switches always have a meaning for the server; of words only the known ones have.
fn is_plausible(name: &str, value: &str) -> bool {
    let is_word = setting_number(value).is_none() && !is_switch(value);
    let values = find_setting(&name.to_lowercase()).map(Setting::known_values).unwrap_or_default();
    !is_word || values.is_empty() || values.iter().any(|one| same_setting(one, value))
}

fn is_switch(value: &str) -> bool {
    ["on", "off", "true", "false", "yes", "no"].contains(&value.to_lowercase().as_str())
}
