//! Faults of servers that break a promise of their settings: `docs/method/crash-losses.md`, "Faults
//! of servers".

/// A fault by what the server says of it when it starts after a crash.
struct ServerFault {
    says: &'static str,
    meaning: &'static str,
}

const FAULTS: [ServerFault; 2] = [
    ServerFault {
        says: "Dumping the DBLWR page",
        meaning: "a page and its copy in the doublewrite file are torn; MySQL since 8.0.20 does \
                  not flush that file with innodb_flush_method=O_DIRECT, and =fsync does",
    },
    ServerFault {
        says: "prepared transactions",
        meaning: "MariaDB closed its last binlog before the last commits of InnoDB were durable, \
                  or the binlog is not where it was",
    },
];

/// What is known of the fault that this message of a server is of.
pub fn known_fault(message: &str) -> Option<&'static str> {
    FAULTS.iter().find(|fault| message.contains(fault.says)).map(|fault| fault.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of `MariaDB` 10.11 and `MySQL` 9.7 after a crash.
    #[test]
    fn faults_are_known_by_the_servers_words() {
        let found = known_fault(
            "[ERROR] Found 1 prepared transactions! It means that server was not shut down",
        );
        assert!(found.is_some_and(|meaning| meaning.starts_with("MariaDB closed its last binlog")));
        let torn = known_fault("[ERROR] [InnoDB] Dumping the DBLWR page:");
        assert!(torn.is_some_and(|meaning| meaning.contains("O_DIRECT")));
        assert_eq!(known_fault("Can't open the mysql.plugin table"), None);
    }
}
