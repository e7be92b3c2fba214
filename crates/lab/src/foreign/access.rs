//! Before anything is made: whether the account may do what the run needs, whether the server takes writes, and who else
//! is there.

use std::time::Duration;

use truetps_driver::{Client, Dialect, DriverError};

use super::error::ForeignError;

/// Apart from what an account may do in its schema.
const NEEDED: [&str; 7] = ["CREATE", "DROP", "SELECT", "INSERT", "UPDATE", "DELETE", "INDEX"];
/// How long others are watched.
const WATCH: Duration = Duration::from_secs(1);
/// Questions a second by others that are worth a word.
const BUSY_QUESTIONS: f64 = 5.0;

/// Refuses what cannot work; returns what the user should know. Sends questions only.
pub(crate) fn look_around(
    client: &mut Client,
    schema: &str,
    schema_is_theirs: bool,
    sets: bool,
) -> Result<Vec<String>, ForeignError> {
    match client.dialect() {
        Dialect::Mysql => {
            writable_mysql(client)?;
            grants(client, schema, sets)?;
            Ok([replication_mysql(client), others_mysql(client)?].concat())
        }
        Dialect::Postgres => {
            writable_postgres(client)?;
            if !schema_is_theirs {
                create_right_postgres(client)?;
            }
            others_postgres(client)
        }
    }
}

/// The account that the server takes us for, as GRANT wants it.
pub(crate) fn account(client: &mut Client) -> Result<String, DriverError> {
    let name = client.query_value("SELECT CURRENT_USER()")?.unwrap_or_default();
    Ok(match name.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => name,
    })
}

fn variable(client: &mut Client, name: &str) -> Result<Option<String>, DriverError> {
    let rows = client.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?.rows;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten()))
}

fn writable_mysql(client: &mut Client) -> Result<(), ForeignError> {
    for name in ["read_only", "super_read_only", "innodb_read_only", "transaction_read_only", "tx_read_only"] {
        let found = variable(client, name)?;
        if let Some(value) = found.filter(|value| !["OFF", "0"].contains(&value.to_uppercase().as_str())) {
            return Err(ForeignError::ReadOnly { reason: format!("{name} = {value}") });
        }
    }
    Ok(())
}

/// One line of SHOW GRANTS.
struct Grant {
    privileges: Vec<String>,
    /// `*.*`, `` `schema`.* ``; absent for roles.
    on: String,
}

fn parse_grant(line: &str) -> Option<Grant> {
    let rest = line.strip_prefix("GRANT ")?;
    let (privileges, rest) = rest.split_once(" ON ")?;
    let (on, _) = rest.split_once(" TO ")?;
    let privileges = privileges.split(',').map(|one| one.trim().to_uppercase()).collect();
    Some(Grant { privileges, on: on.to_owned() })
}

impl Grant {
    fn has(&self, privilege: &str) -> bool {
        self.privileges.iter().any(|one| one == privilege || one == "ALL PRIVILEGES" || one == "ALL")
    }

    fn covers(&self, schema: &str) -> bool {
        let Some((pattern, "*")) = self.on.rsplit_once('.') else { return false };
        pattern == "*" || like(pattern.trim_matches('`'), schema)
    }
}

/// LIKE: `%`, `_`, and both behind a backslash.
fn like(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => (0..=text.len()).any(|n| text.is_char_boundary(n) && like(rest.as_str(), &text[n..])),
        Some(first) => {
            let (any, wanted) = match first {
                '_' => (true, '_'),
                '\\' => (false, rest.next().unwrap_or('\\')),
                other => (false, other),
            };
            let mut behind = text.chars();
            behind.next().is_some_and(|c| (any || c == wanted) && like(rest.as_str(), behind.as_str()))
        }
    }
}

/// The account's grants, with those of the roles that it has now.
fn shown_grants(client: &mut Client) -> Result<Vec<String>, DriverError> {
    let lines = |client: &mut Client, sql: &str| -> Result<Vec<String>, DriverError> {
        Ok(client.query(sql)?.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    };
    let role = client.query_value("SELECT CURRENT_ROLE()").ok().flatten().filter(|role| role != "NONE");
    match role {
        // MySQL; MariaDB has no such form, and shows those of the role anyway.
        Some(role) => lines(client, &format!("SHOW GRANTS FOR CURRENT_USER() USING {role}")),
        None => lines(client, "SHOW GRANTS"),
    }
    .or_else(|_| lines(client, "SHOW GRANTS"))
}

fn grants(client: &mut Client, schema: &str, sets: bool) -> Result<(), ForeignError> {
    let account = account(client)?;
    let shown = shown_grants(client)?;
    let grants: Vec<Grant> = shown.iter().filter_map(|line| parse_grant(line)).collect();
    let missing: Vec<_> = NEEDED
        .into_iter()
        .filter(|needed| !grants.iter().any(|grant| grant.covers(schema) && grant.has(needed)))
        .collect();
    if !missing.is_empty() {
        let what = format!("work in the schema `{schema}`: it lacks {}", missing.join(", "));
        let grant = format!("GRANT {} ON `{schema}`.* TO {account}", NEEDED.join(", "));
        return Err(ForeignError::Privilege { what, grant });
    }
    // MariaDB has one for each kind of variable; the server says which, when it is asked to set one.
    let sets_some = |name: &String| name == "SYSTEM_VARIABLES_ADMIN" || name.ends_with(" ADMIN");
    let may_set = |grant: &Grant| grant.on == "*.*" && (grant.has("SUPER") || grant.privileges.iter().any(sets_some));
    if sets && !grants.iter().any(may_set) {
        let version = client.query_value("SELECT @@version")?.unwrap_or_default();
        let is_new = !version.contains("MariaDB") && !version.starts_with("5.");
        let name = if is_new { "SYSTEM_VARIABLES_ADMIN" } else { "SUPER" };
        let what = "set global variables".to_owned();
        return Err(ForeignError::Privilege { what, grant: format!("GRANT {name} ON *.* TO {account}") });
    }
    Ok(())
}

/// What is written here goes elsewhere, or may be overwritten from elsewhere.
fn replication_mysql(client: &mut Client) -> Vec<String> {
    let mut said = Vec::new();
    // Newer servers have the first word only, older ones the second; an account may not be allowed to ask.
    let follows = ["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"].into_iter().find_map(|sql| client.query(sql).ok());
    if follows.is_some_and(|result| !result.rows.is_empty()) {
        said.push(
            "this server is a replica: it does its source's work beside the load, and what is written here is \
                   not in its source"
                .to_owned(),
        );
    }
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    let dumps = client.query_value(sql).ok().flatten().and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    if dumps > 0 {
        said.push(format!("{dumps} replicas follow this server: all that is written here goes to them"));
    }
    said
}

fn status(client: &mut Client, name: &str) -> Result<f64, DriverError> {
    Ok(crate::tables::status_value(client, name)?.unwrap_or(0) as f64)
}

fn others_mysql(client: &mut Client) -> Result<Vec<String>, ForeignError> {
    let mut said = Vec::new();
    let sql = "SELECT user, COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() \
               AND user NOT IN ('system user', 'event_scheduler') AND command NOT LIKE 'Binlog Dump%' \
               AND command <> 'Daemon' GROUP BY user ORDER BY user";
    said.extend(sessions_of_others(client.query(sql)?.rows));
    let before = status(client, "Queries")?;
    std::thread::sleep(WATCH);
    let running = status(client, "Threads_running")?;
    let a_second = (status(client, "Queries")? - before - 2.0).max(0.0) / WATCH.as_secs_f64();
    if a_second > BUSY_QUESTIONS || running > 2.0 {
        said.push(format!(
            "others use this server now: {a_second:.0} statements a second, {running} threads running; both they and the \
             figures will feel it"
        ));
    }
    Ok(said)
}

fn sessions_of_others(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    let users: Vec<_> = rows
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some(format!("{} ({})", cells.next()??, cells.next()??))
        })
        .collect();
    (!users.is_empty()).then(|| format!("others are connected: {}", users.join(", ")))
}

fn writable_postgres(client: &mut Client) -> Result<(), ForeignError> {
    if client.query_value("SELECT pg_is_in_recovery()::text")?.as_deref() == Some("true") {
        return Err(ForeignError::ReadOnly { reason: "it is a standby (pg_is_in_recovery)".to_owned() });
    }
    for name in ["default_transaction_read_only", "transaction_read_only"] {
        if client.query_value(&format!("SHOW {name}"))?.as_deref() == Some("on") {
            return Err(ForeignError::ReadOnly { reason: format!("{name} = on") });
        }
    }
    Ok(())
}

fn create_right_postgres(client: &mut Client) -> Result<(), ForeignError> {
    let sql = "SELECT (rolcreatedb OR rolsuper)::text FROM pg_roles WHERE rolname = current_user";
    if client.query_value(sql)?.as_deref() == Some("true") {
        return Ok(());
    }
    let user = client.query_value("SELECT quote_ident(current_user)")?.unwrap_or_default();
    let what = "make a database: it lacks CREATEDB".to_owned();
    Err(ForeignError::Privilege { what, grant: format!("ALTER ROLE {user} CREATEDB") })
}

fn others_postgres(client: &mut Client) -> Result<Vec<String>, ForeignError> {
    let mut said = Vec::new();
    let sql = "SELECT usename::text, COUNT(*)::text FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
               AND backend_type = 'client backend' GROUP BY 1 ORDER BY 1";
    said.extend(sessions_of_others(client.query(sql)?.rows));
    let standbys = client.query_value("SELECT COUNT(*)::text FROM pg_stat_replication")?;
    if let Some(n) = standbys.filter(|n| n != "0") {
        said.push(format!("{n} standbys follow this server: all that is written here goes to them"));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_cover_schemas() {
        let check = |line: &str, schema: &str, privilege: &str, expected: bool| {
            let grant = parse_grant(line).unwrap();
            assert_eq!(grant.covers(schema) && grant.has(privilege), expected, "{line} {schema} {privilege}");
        };
        check("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", "x", "INDEX", true);
        check("GRANT ALL PRIVILEGES ON `truetps%`.* TO `loader`@`%`", "truetps_2", "DROP", true);
        check("GRANT ALL PRIVILEGES ON `truetps\\_2`.* TO `loader`@`%`", "truetpsx2", "DROP", false);
        check("GRANT SELECT, INSERT ON `app`.* TO `u`@`%`", "app", "DROP", false);
        check("GRANT SELECT, INSERT ON `app`.* TO `u`@`%`", "app", "INSERT", true);
        check("GRANT ALL PRIVILEGES ON `app`.`one` TO `u`@`%`", "app", "DROP", false);
        assert!(parse_grant("GRANT `role`@`%` TO `u`@`%`").is_none());
    }
}
