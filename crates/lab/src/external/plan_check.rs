//! `truetps plan check --dsn`: whether a plan can run on an external server. Changes nothing in the
//! server: levels of session settings are tried in a session of its own, levels of global variables
//! are compared with what the server says about them.

use truetps_driver::{Client, DriverError};
use truetps_plan::Plan;
use truetps_record::{
    Flavour, ServerFacts, SettingValue, SqlDialect, same_setting, setting_number,
};

use super::control::{CLIENT_TIMEOUT, control};
use super::error::ExternalError;
use super::globals::{self, Scope};
use super::session_settings::try_levels;
use super::survey::survey;
use crate::error::LabError;
use crate::event::Listener;
use crate::trial::server_provider::ExternalServer;

/// What was found about a plan that can run.
#[derive(Debug)]
pub struct PlanOnServer {
    pub server: ServerFacts,
    /// Settings that a run changes for all sessions, and restores.
    pub global: Vec<String>,
    /// Levels of these that only a SET can check: a run tries them before it fills any table.
    pub unchecked: Vec<String>,
}

/// Checks the plan's settings, levels and privileges.
pub fn check_plan_on(
    plan: &Plan,
    external: &ExternalServer,
    listener: &mut dyn Listener,
) -> Result<PlanOnServer, LabError> {
    let target = &external.target;
    let workload =
        truetps_workload::build(&plan.largest_workload(), target.dialect, plan.design.seed)?;
    let mut client =
        Client::connect(&control(target), CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
    let found = survey(&mut client, plan, external, &*workload, "", listener)?;
    try_levels(target, &found.scopes, plan)?;
    let mut unchecked = Vec::new();
    for (name, level) in globals::levels(plan) {
        if !found.scopes.has(&name, Scope::Global) {
            continue;
        }
        match Allowed::ask(&mut client, &name, &found.facts)?.check(&level) {
            Ok(true) => {}
            Ok(false) => unchecked.push(format!("{name} = {}", level.option_text())),
            Err(problem) => {
                return Err(
                    ExternalError::Level { name, value: level.option_text(), problem }.into()
                );
            }
        }
    }
    let global = found.scopes.global_names().map(str::to_owned).collect();
    Ok(PlanOnServer { server: found.facts, global, unchecked })
}

/// What a server says about the values of a variable; empty where it says nothing.
#[derive(Debug, Default)]
struct Allowed {
    range: Option<(f64, f64)>,
    words: Vec<String>,
}

impl Allowed {
    fn ask(client: &mut Client, name: &str, server: &ServerFacts) -> Result<Self, DriverError> {
        // The name has letters, digits, `_` and `.` only.
        let sql = match (client.dialect(), server.flavour) {
            (SqlDialect::Postgres, _) => return Ok(Self::default()),
            (_, Flavour::Mariadb) => format!(
                "SELECT numeric_min_value, numeric_max_value, enum_value_list FROM \
                 information_schema.system_variables WHERE variable_name = '{name}' AND \
                 variable_type NOT IN ('SET', 'FLAGSET')"
            ),
            _ => format!(
                "SELECT NULLIF(min_value, 0), NULLIF(max_value, 0), NULL FROM \
                 performance_schema.variables_info WHERE variable_name = '{name}'"
            ),
        };
        let rows = match client.query(&sql) {
            // An old version, or no privilege: only the SET will show.
            Err(DriverError::Server(_)) => return Ok(Self::default()),
            other => other?.rows,
        };
        let Some(row) = rows.into_iter().next() else { return Ok(Self::default()) };
        let mut cells = row.into_iter();
        let [least, most, words] = std::array::from_fn(|_| cells.next().flatten());
        let [least, most] = [least, most].map(|cell| cell?.parse::<f64>().ok());
        let words =
            words.map(|words| words.split(',').map(str::to_owned).collect()).unwrap_or_default();
        Ok(Self { range: most.map(|most| (least.unwrap_or(0.0), most)), words })
    }

    /// `false`: unknown.
    fn check(&self, level: &SettingValue) -> Result<bool, String> {
        let text = level.option_text();
        let number = setting_number(&text);
        if let Some((least, most)) = self.range {
            return match number {
                Some(number) if (least..=most).contains(&number) => Ok(true),
                Some(_) => Err(format!("the server accepts {least} to {most}")),
                None => Err("is not a number".to_owned()),
            };
        }
        if self.words.is_empty() {
            return Ok(false);
        }
        let is_word = self.words.iter().any(|word| same_setting(word, &text));
        let is_place =
            number.is_some_and(|number| number >= 0.0 && number < self.words.len() as f64);
        if is_word || is_place {
            Ok(true)
        } else {
            Err(format!("the server accepts {}", self.words.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_compared_with_what_the_server_says() {
        let check =
            |allowed: &Allowed, level: &str| allowed.check(&SettingValue::Text(level.to_owned()));
        let flush = Allowed { range: Some((0.0, 3.0)), words: Vec::new() };
        assert_eq!(
            (check(&flush, "2"), check(&flush, "7")),
            (Ok(true), Err("the server accepts 0 to 3".to_owned()))
        );
        assert_eq!(check(&flush, "x"), Err("is not a number".to_owned()));
        let words = Allowed {
            range: None,
            words: vec!["OFF".to_owned(), "ON".to_owned(), "DEMAND".to_owned()],
        };
        assert_eq!(
            (check(&words, "demand"), check(&words, "2"), check(&words, "0")),
            (Ok(true), Ok(true), Ok(true))
        );
        assert_eq!(words.check(&SettingValue::Bool(true)), Ok(true));
        assert!(check(&words, "3").is_err() && check(&words, "perhaps").is_err());
        assert_eq!(check(&Allowed::default(), "x"), Ok(false));
    }
}
