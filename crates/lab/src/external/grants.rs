//! Privileges of the account, from `SHOW GRANTS`.

use truetps_driver::{Client, DriverError};
use truetps_record::Flavour;
use truetps_workload::Workload;

use super::error::ExternalError;
use super::privileges::Privileges;

/// Privileges that every run needs in its schema; the rest depends on the statements of its
/// workload.
const NEEDED: [&str; 4] = ["CREATE", "DROP", "SELECT", "INSERT"];
const NEEDED_BY_SOME: [(&str, &str); 5] = [
    ("UPDATE", "UPDATE"),
    ("DELETE", "DELETE"),
    ("REPLACE", "DELETE"),
    ("CREATE INDEX", "INDEX"),
    ("ALTER", "ALTER"),
];

/// One line of SHOW GRANTS.
struct Grant {
    privileges: Vec<String>,
    /// `*.*`, `` `schema`.* ``, or with `"` where the session has ANSI_QUOTES.
    on: String,
    /// It revokes a part of a privilege granted on everything: MySQL's partial revokes.
    takes: bool,
}

fn parse_grant(line: &str) -> Option<Grant> {
    let (rest, takes, to) = match line.strip_prefix("GRANT ") {
        Some(rest) => (rest, false, " TO "),
        None => (line.strip_prefix("REVOKE ")?, true, " FROM "),
    };
    let (privileges, rest) = rest.split_once(" ON ")?;
    let (on, _) = rest.split_once(to)?;
    let privileges = privileges.split(',').map(|one| one.trim().to_uppercase()).collect();
    Some(Grant { privileges, on: on.to_owned(), takes })
}

impl Grant {
    fn has(&self, privilege: &str) -> bool {
        self.privileges
            .iter()
            .any(|one| one == privilege || one == "ALL PRIVILEGES" || one == "ALL")
    }

    fn gives_everywhere(&self, privilege: &str) -> bool {
        self.on == "*.*" && !self.takes && self.has(privilege)
    }

    fn covers(&self, schema: &str) -> bool {
        let Some((pattern, "*")) = self.on.rsplit_once('.') else { return false };
        pattern == "*" || like(pattern.trim_matches(['`', '"']), schema)
    }
}

/// Whether these lines together grant a privilege on the schema.
fn gives(grants: &[Grant], schema: &str, privilege: &str) -> bool {
    let concerned = grants.iter().filter(|grant| grant.covers(schema) && grant.has(privilege));
    let (taken, given): (Vec<_>, Vec<_>) = concerned.partition(|grant| grant.takes);
    // Only a privilege granted on everything can be revoked in part.
    given.iter().any(|grant| taken.is_empty() || grant.on != "*.*")
}

/// Whether these lines grant a privilege on everything.
fn are_everywhere(grants: &[Grant], privilege: &str) -> bool {
    grants.iter().any(|grant| grant.gives_everywhere(privilege))
}

/// The privileges that this workload needs in its schema.
fn needed(workload: &dyn Workload) -> Vec<&'static str> {
    let mut sent: Vec<String> =
        workload.statements().iter().map(|statement| statement.sql().to_uppercase()).collect();
    for table in workload.tables() {
        sent.extend(
            table.create_sql().iter().chain(table.after_load_sql()).map(|sql| sql.to_uppercase()),
        );
    }
    let mut needed = NEEDED.to_vec();
    for (start, privilege) in NEEDED_BY_SOME {
        if !needed.contains(&privilege)
            && sent.iter().any(|sql| sql.trim_start().starts_with(start))
        {
            needed.push(privilege);
        }
    }
    needed
}

/// LIKE with `%`, `_`, and backslash escapes.
fn like(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => {
            (0..=text.len()).any(|n| text.is_char_boundary(n) && like(rest.as_str(), &text[n..]))
        }
        Some(first) => {
            let (any, wanted) = match first {
                '_' => (true, '_'),
                '\\' => (false, rest.next().unwrap_or('\\')),
                other => (false, other),
            };
            let mut behind = text.chars();
            behind
                .next()
                .is_some_and(|c| (any || c == wanted) && like(rest.as_str(), behind.as_str()))
        }
    }
}

/// Grants of the account and of its active roles.
fn shown_grants(client: &mut Client) -> Result<Vec<Grant>, DriverError> {
    let role =
        client.query_value("SELECT CURRENT_ROLE()").ok().flatten().filter(|role| role != "NONE");
    match role {
        // MySQL; MariaDB has no such form, and always includes the roles' grants.
        Some(role) => grants_of(client, &format!("SHOW GRANTS FOR CURRENT_USER() USING {role}")),
        None => grants_of(client, "SHOW GRANTS"),
    }
    .or_else(|_| grants_of(client, "SHOW GRANTS"))
}

fn grants_of(client: &mut Client, sql: &str) -> Result<Vec<Grant>, DriverError> {
    let rows = client.query(sql)?.rows.into_iter();
    Ok(rows.filter_map(|row| parse_grant(row.first()?.as_deref()?)).collect())
}

/// The current account in the notation of GRANT.
pub(crate) fn account(client: &mut Client) -> Result<String, DriverError> {
    let name = client.query_value("SELECT CURRENT_USER()")?.unwrap_or_default();
    Ok(match name.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => name,
    })
}

/// Whether session limits do not apply to this account, or may not: MariaDB exempts administrators.
pub(crate) fn is_without_limit(client: &mut Client) -> Result<bool, DriverError> {
    let version = client.query_value("SELECT @@version")?.unwrap_or_default();
    if Flavour::from_version_text(&version) != Flavour::Mariadb {
        return Ok(false);
    }
    let Ok(shown) = shown_grants(client) else { return Ok(true) };
    let mut everywhere = shown.iter().filter(|grant| grant.on == "*.*");
    Ok(everywhere.any(|grant| grant.has("SUPER") || grant.has("CONNECTION ADMIN")))
}

/// Whether the account sees other users' sessions. If SHOW GRANTS is refused (skip_grant_tables),
/// everything is allowed.
pub(crate) fn may_see_all_sessions(client: &mut Client) -> Result<bool, DriverError> {
    match shown_grants(client) {
        Ok(shown) => Ok(shown.iter().any(|grant| grant.gives_everywhere("PROCESS"))),
        Err(DriverError::Server(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Refuses missing privileges; returns a warning if they cannot be determined.
pub(crate) fn check(
    client: &mut Client,
    schema: &str,
    schema_is_theirs: bool,
    workload: &dyn Workload,
    sets: &[&str],
) -> Result<Vec<String>, ExternalError> {
    let account = account(client)?;
    let grants = match shown_grants(client) {
        Ok(shown) => shown,
        // With skip_grant_tables there are no grants, and everything is allowed.
        Err(DriverError::Server(error)) => {
            return Ok(vec![format!(
                "the privileges of the account are unknown: SHOW GRANTS: {error}"
            )]);
        }
        Err(error) => return Err(error.into()),
    };
    let mut needed = needed(workload);
    // Tables in a user's schema get a comment that marks them as the run's.
    if schema_is_theirs && !needed.contains(&"ALTER") {
        needed.push("ALTER");
    }
    let missing: Vec<_> =
        needed.iter().copied().filter(|privilege| !gives(&grants, schema, privilege)).collect();
    if !missing.is_empty() {
        let what = format!("work in the schema `{schema}`: it lacks {}", missing.join(", "));
        let grant = format!("GRANT {} ON `{schema}`.* TO {account}", needed.join(", "));
        if schema_is_theirs {
            return Err(ExternalError::Privilege { what, grant });
        }
        // An existing schema may be hidden from the account; DROP on another user's schema must not
        // be granted.
        let grant = format!("only if no schema of this name exists:  {grant}");
        return Err(ExternalError::MakesNoSchema { what, grant, in_address: None });
    }
    check_sets(client, &grants, sets, &account)?;
    Ok(Vec::new())
}

/// Refuses global variables that the account may not set; names the narrowest sufficient
/// privileges.
fn check_sets(
    client: &mut Client,
    grants: &[Grant],
    sets: &[&str],
    account: &str,
) -> Result<(), ExternalError> {
    if sets.is_empty() {
        return Ok(());
    }
    let privileges = Privileges::of(client)?;
    let (mut variables, mut missing) = (Vec::new(), Vec::new());
    for name in sets {
        let (privilege, super_is_enough) = privileges.to_set(name);
        if are_everywhere(grants, privilege) || super_is_enough && are_everywhere(grants, "SUPER") {
            continue;
        }
        variables.push(*name);
        if !missing.contains(&privilege) {
            missing.push(privilege);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("set global variables ({})", variables.join(", "));
    Err(ExternalError::Privilege {
        what,
        grant: format!("GRANT {} ON *.* TO {account}", missing.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_cover_schemas() {
        let check = |line: &str, schema: &str, privilege: &str, expected: bool| {
            let grant = parse_grant(line).unwrap();
            assert_eq!(
                grant.covers(schema) && grant.has(privilege),
                expected,
                "{line} {schema} {privilege}"
            );
        };
        check(
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
            "x",
            "INDEX",
            true,
        );
        check("GRANT ALL PRIVILEGES ON `truetps%`.* TO `loader`@`%`", "truetps_2", "DROP", true);
        check(
            "GRANT ALL PRIVILEGES ON `truetps\\_2`.* TO `loader`@`%`",
            "truetpsx2",
            "DROP",
            false,
        );
        check("GRANT SELECT, INSERT ON `app`.* TO `u`@`%`", "app", "DROP", false);
        check("GRANT SELECT, INSERT ON `app`.* TO `u`@`%`", "app", "INSERT", true);
        check("GRANT ALL PRIVILEGES ON `app`.`one` TO `u`@`%`", "app", "DROP", false);
        check("GRANT ALL PRIVILEGES ON \"app\".* TO \"u\"@\"%\"", "app", "DROP", true);
        assert!(parse_grant("GRANT `role`@`%` TO `u`@`%`").is_none());
    }

    #[test]
    fn what_is_revoked_in_part_is_missing() {
        let lines = [
            "GRANT SELECT, INSERT, CREATE ON *.* TO `u`@`%`",
            "REVOKE INSERT ON `app`.* FROM `u`@`%`",
            "REVOKE CREATE ON `other`.* FROM `u`@`%`",
        ];
        let grants: Vec<_> = lines.iter().filter_map(|line| parse_grant(line)).collect();
        let has = |privilege| gives(&grants, "app", privilege);
        assert_eq!(
            [has("SELECT"), has("INSERT"), has("CREATE"), has("DROP")],
            [true, false, true, false]
        );
    }

    #[test]
    fn what_is_needed_is_what_is_sent() {
        let of = |name: &str| {
            let plan = truetps_plan::Plan::parse(&format!(
                "name = 'p'\nabout = 'a'\n[workload]\nname = '{name}'\n[factors]\nconnections = \
                 [1]\n"
            ));
            let spec = plan.unwrap().workload;
            needed(&*truetps_workload::build(&spec, truetps_record::SqlDialect::Mysql, 1).unwrap())
        };
        assert_eq!(of("insert"), NEEDED);
        assert!(of("update-index").contains(&"UPDATE") && of("read-write").contains(&"DELETE"));
    }
}
