//! Servers with which preallocation was tested: those with `preallocation = true` in the list of
//! test servers.

const LIST: &str = include_str!("../../../scripts/servers.toml");

/// A server branch of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedServer {
    /// `MariaDB` or `MySQL`.
    pub flavour: &'static str,
    pub major: u32,
    pub minor: u32,
}

pub fn tested_servers() -> impl Iterator<Item = TestedServer> {
    let entries =
        LIST.split("[[server]]").filter(|entry| entry.contains("\npreallocation = true\n"));
    entries.filter_map(|entry| {
        let name = entry.lines().find_map(|line| line.strip_prefix("name = \""))?;
        let (flavour, version) = name.strip_suffix('"')?.split_once('-')?;
        let (major, minor) = branch(version)?;
        let flavour = if flavour == "mariadb" { "MariaDB" } else { "MySQL" };
        Some(TestedServer { flavour, major, minor })
    })
}

/// Whether the server that writes this version into its binlogs is in the list.
pub fn is_tested(server_version: &str) -> bool {
    let flavour = if server_version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    let Some((major, minor)) = branch(server_version) else { return false };
    tested_servers().any(|server| server == TestedServer { flavour, major, minor })
}

fn branch(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_servers_write_them() {
        for version in
            ["10.11.14-MariaDB-0+deb12u2-log", "11.8.3-MariaDB", "5.7.44-log", "8.0.43", "9.7.0"]
        {
            assert!(is_tested(version), "{version}");
        }
        for version in
            ["5.5.62-log", "5.6.51", "12.3.1-MariaDB", "10.11.14", "9.7", "", "x.y", "11.8"]
        {
            assert_eq!(is_tested(version), version == "9.7", "{version}");
        }
        assert!(tested_servers().count() >= 5);
        let entries = LIST.matches("\npreallocation = true\n").count();
        assert_eq!(tested_servers().count(), entries);
    }
}
