//! The narrowest privilege with which an account can set a global variable.
//!
//! MariaDB 10.5 and later have one for each kind of variable (`knowledge::mariadb_privilege`); a
//! test checks them against a server.

use truetps_driver::{Client, DriverError};
use truetps_knowledge::{Version, mariadb_privilege};
use truetps_record::{Flavour, ServerFacts};

/// What determines a server's privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privileges {
    /// MySQL before 8.0, MariaDB before 10.5.
    Super,
    /// MySQL 8.0 and later; SUPER is enough there, too.
    SystemVariables,
    /// MariaDB 10.5 and later. From 11.0 on SUPER has none of the others in it.
    OfKinds { super_is_enough: bool },
}

const SUPER: &str = "SUPER";

impl Privileges {
    /// A version that cannot be parsed counts as an old one.
    pub(crate) fn of(client: &mut Client) -> Result<Self, DriverError> {
        let text = client
            .query_value("SELECT CONCAT(@@version, ' ', @@version_comment)")?
            .unwrap_or_default();
        let server = ServerFacts::from_version_text(&text);
        let version = Version::parse(&server.version);
        Ok(match server.flavour == Flavour::Mariadb {
            true if is_from(version.as_ref(), "10.5.0") => {
                Self::OfKinds { super_is_enough: !is_from(version.as_ref(), "11.0.0") }
            }
            false if is_from(version.as_ref(), "8.0.0") => Self::SystemVariables,
            _ => Self::Super,
        })
    }

    /// The narrowest privilege to set this variable, and whether SUPER also suffices.
    pub(crate) fn to_set(self, variable: &str) -> (&'static str, bool) {
        let name = variable.to_lowercase();
        match self {
            Self::Super => (SUPER, true),
            Self::SystemVariables => ("SYSTEM_VARIABLES_ADMIN", true),
            Self::OfKinds { super_is_enough } => {
                let kind = mariadb_privilege(&name).unwrap_or(SUPER);
                // SUPER never covered these.
                let apart = ["read_only", "slave_max_statement_time"].contains(&name.as_str());
                // New in 11.4, but covered by SUPER.
                let is_both = name == "binlog_legacy_event_pos";
                (kind, kind == SUPER || is_both || super_is_enough && !apart)
            }
        }
    }
}

/// Whether a server's version is this one or a later one.
fn is_from(version: Option<&Version>, least: &str) -> bool {
    version.zip(Version::parse(least).as_ref()).is_some_and(|(own, least)| own >= least)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use truetps_sandbox::{Sandbox, SandboxOptions, Settings, StartOptions};
    use truetps_testkit::TestHome;
    use truetps_testkit::mysql_family::{fetched_server, mariadb};

    use super::*;

    /// `you need (at least one of) the SUPER, BINLOG ADMIN privilege(s)`.
    fn named(message: &str) -> Option<(&str, bool)> {
        let (_, rest) = message.split_once(") the ")?;
        let (names, _) = rest.split_once(" privilege")?;
        let last = names.rsplit(", ").next()?;
        Some((last, names.split(", ").any(|name| name == SUPER)))
    }

    #[test]
    fn servers_name_the_same_privileges() {
        let test = "servers_name_the_same_privileges";
        let fetched = fetched_server(test, "mariadb-11.8").map(|server| server.binary);
        for binary in mariadb(test).into_iter().chain(fetched) {
            let home = TestHome::new();
            let sandbox = Sandbox::create(
                home.home(),
                &binary,
                &SandboxOptions::new(Settings::empty(binary.family())),
            )
            .unwrap();
            let server =
                sandbox.start(&StartOptions::new(Settings::empty(binary.family()))).unwrap();
            let mut root = server.connect(Duration::from_secs(20)).unwrap();
            root.execute("CREATE USER low@localhost").unwrap();
            let target = truetps_driver::Target::parse(&format!(
                "mysql://low@?socket={}",
                server.socket().display()
            ));
            let mut low = Client::connect(&target.unwrap(), Duration::from_secs(20)).unwrap();
            let privileges = Privileges::of(&mut low).unwrap();
            let sql = "SELECT LOWER(variable_name) FROM information_schema.system_variables WHERE \
                       read_only = 'NO' AND variable_scope = 'GLOBAL' AND variable_name NOT LIKE \
                       '%.%'";
            let mut asked = 0;
            for row in root.query(sql).unwrap().rows {
                let name = row[0].clone().unwrap();
                let Err(error) = low.execute(&format!("SET GLOBAL {name} = @@GLOBAL.{name}"))
                else {
                    continue;
                };
                let text = error.to_string();
                if let Some(named) = named(&text) {
                    assert_eq!(privileges.to_set(&name), named, "{name}: {text}");
                    asked += 1;
                }
            }
            assert!(asked > 100, "{asked}");
        }
    }

    #[test]
    fn other_servers_have_one_for_all() {
        assert_eq!(Privileges::Super.to_set("sync_binlog"), ("SUPER", true));
        assert_eq!(
            Privileges::SystemVariables.to_set("sync_binlog"),
            ("SYSTEM_VARIABLES_ADMIN", true)
        );
        let of_kinds = |super_is_enough| Privileges::OfKinds { super_is_enough };
        assert_eq!(of_kinds(true).to_set("SYNC_BINLOG"), ("BINLOG ADMIN", true));
        assert_eq!(of_kinds(false).to_set("sync_binlog"), ("BINLOG ADMIN", false));
        assert_eq!(of_kinds(false).to_set("innodb_io_capacity"), ("SUPER", true));
    }
}
