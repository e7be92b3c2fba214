//! Error classes: errors grouped by what a user can do about them.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{did_you_mean, near_matches};

macro_rules! error_classes {
    ($($(#[$about:meta])* $class:ident $name:literal,)*) => {
        /// The class of an error. Its text (`deadlock`, `other(1114)`) is the word of plans, flags,
        /// run folders and reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum ErrorClass {
            $($(#[$about])* $class,)*
            /// Any other error of a server.
            Other(ServerErrorCode),
        }

        const NAMES: &[(ErrorClass, &str)] = &[$((ErrorClass::$class, $name)),*];
    };
}

error_classes! {
    Deadlock "deadlock",
    LockWaitTimeout "lock_wait_timeout",
    /// A concurrent transaction won: in PostgreSQL, in MariaDB with `innodb_snapshot_isolation`,
    /// and in distributed servers, also at COMMIT. The server has rolled the transaction back: send
    /// it again.
    SerializationFailure "serialization_failure",
    DuplicateKey "duplicate_key",
    ConnectFailed "connect_failed",
    ConnectionLost "connection_lost",
    ReadOnly "read_only",
    Protocol "protocol",
    /// An HTTP service has too many requests (429), or cannot serve any now (503): the same request
    /// may succeed later.
    Overloaded "overloaded",
    /// Any other status of an HTTP service that is no success.
    HttpStatus "http_status",
}

/// A server's name of an error: a number of up to five digits, or an SQLSTATE. Both have the same
/// form in a plan, so they are compared by their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerErrorCode([u8; 5]);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not an error class{}", known_classes(.text))]
pub struct UnknownErrorClass {
    text: String,
}

impl ErrorClass {
    /// The class of an error of any server: by its number and its SQLSTATE, and by the latter alone
    /// where there is no number.
    pub fn of_server_error(code: u16, sqlstate: &str) -> Self {
        match (code, sqlstate) {
            (0, state) => Self::of_sqlstate(state),
            // OceanBase: changed since it was read; needs a rollback, or was killed; cannot be
            // serialized ("6000 to 6999"). The same numbers of MySQL 9, HY000, are of components
            // for stored programs. 4012, a timeout, is not included: the transaction may be
            // committed.
            (6001 | 6002 | 6235, "25000") => Self::SerializationFailure,
            (code, state) => match Self::of_code(code) {
                // Transaction rollback, without and with its reason: 3101 of Group Replication.
                Self::Other(_) if matches!(state, "40000" | "40001") => Self::SerializationFailure,
                class => class,
            },
        }
    }

    /// The class of an error of the MySQL family.
    pub fn of_code(code: u16) -> Self {
        match code {
            1213 => Self::Deadlock,
            1205 => Self::LockWaitTimeout,
            // 1020 ER_CHECKREAD: the row has changed since the transaction's snapshot. The others
            // are of TiDB, whose conflicts show at COMMIT ("Error Codes and Troubleshooting"):
            // write conflict (9007, and 8005 of old versions), rolled back and not repeated (8002,
            // 8022), a schema that changed meanwhile (8028).
            1020 | 8002 | 8005 | 8022 | 8028 | 9007 => Self::SerializationFailure,
            1022 | 1062 | 1586 => Self::DuplicateKey,
            1040 | 1044 | 1045 | 1049 | 1129 | 1130 | 1203 | 1226 | 1251 | 1524 | 1698 | 1820
            | 1862 | 3118 | 3159 | 4151 => Self::ConnectFailed,
            1053 | 1152 | 1153 | 1927 | 2006 | 2013 | 4031 => Self::ConnectionLost,
            1290 | 1792 | 1836 | 3100 => Self::ReadOnly,
            2068 => Self::Protocol,
            // Errors of servers begin at 1000, so these are statuses of HTTP.
            429 | 503 => Self::Overloaded,
            100..=999 => Self::HttpStatus,
            other => Self::Other(ServerErrorCode::of_number(other)),
        }
    }

    /// The class of an error of PostgreSQL (its manual, appendix A).
    pub fn of_sqlstate(sqlstate: &str) -> Self {
        match sqlstate {
            "40P01" => Self::Deadlock,
            // 57014 is not included: more often than a lock, it is `statement_timeout` or a
            // cancelled statement.
            "55P03" => Self::LockWaitTimeout,
            "23505" => Self::DuplicateKey,
            "40001" => Self::SerializationFailure,
            "25006" => Self::ReadOnly,
            "08P01" => Self::Protocol,
            // 57P03: the server is starting or stopping, and reports it to a client that connects.
            "53300" | "3D000" | "57P03" => Self::ConnectFailed,
            // Shut down, crash of another session, database dropped; timeouts that end the session.
            "57P01" | "57P02" | "57P04" | "57P05" | "25P03" => Self::ConnectionLost,
            state if state.starts_with("28") => Self::ConnectFailed,
            state if state.starts_with("08") => Self::ConnectionLost,
            state if state.len() == 5 => {
                ServerErrorCode::parse(state).map_or(Self::Protocol, Self::Other)
            }
            _ => Self::Protocol,
        }
    }
}

impl ServerErrorCode {
    fn of_number(number: u16) -> Self {
        let mut bytes = [0; 5];
        write!(&mut bytes[..], "{number}").expect("a u16 has at most five digits");
        Self(bytes)
    }

    fn parse(text: &str) -> Option<Self> {
        let is_code =
            (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let mut bytes = [0; 5];
        is_code.then(|| bytes[..text.len()].copy_from_slice(text.as_bytes()))?;
        Some(Self(bytes))
    }
}

impl fmt::Display for ServerErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .take_while(|byte| **byte != 0)
            .try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMES.iter().find(|(class, _)| class == self)) {
            (_, Some((_, name))) => f.write_str(name),
            (Self::Other(code), None) => write!(f, "other({code})"),
            (_, None) => unreachable!("every class but `Other` has a name"),
        }
    }
}

impl FromStr for ErrorClass {
    type Err = UnknownErrorClass;

    fn from_str(text: &str) -> Result<Self, UnknownErrorClass> {
        let named = NAMES.iter().find(|(_, name)| *name == text).map(|(class, _)| *class);
        named
            .or_else(|| {
                let code = text.strip_prefix("other(")?.strip_suffix(')')?;
                ServerErrorCode::parse(code).map(Self::Other)
            })
            .ok_or_else(|| UnknownErrorClass { text: text.to_owned() })
    }
}

impl TryFrom<String> for ErrorClass {
    type Error = UnknownErrorClass;

    fn try_from(text: String) -> Result<Self, UnknownErrorClass> {
        text.parse()
    }
}

impl From<ErrorClass> for String {
    fn from(class: ErrorClass) -> Self {
        class.to_string()
    }
}

fn known_classes(text: &str) -> String {
    let names: Vec<_> = NAMES.iter().map(|(_, name)| *name).collect();
    let near = near_matches(text, names.iter().copied());
    if near.is_empty() {
        format!(": `{}`, or `other(NUMBER)`", names.join("`, `"))
    } else {
        did_you_mean(&near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_read_back_from_its_text() {
        let others = [
            ErrorClass::of_code(1114),
            ErrorClass::of_code(65535),
            ErrorClass::of_sqlstate("57014"),
        ];
        for class in NAMES.iter().map(|(class, _)| *class).chain(others) {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert_eq!("other(1114)".parse(), Ok(ErrorClass::of_code(1114)));
        for text in
            ["other()", "other(toolong)", "other(1 14)", "other(1114", "Deadlock", "1062", ""]
        {
            assert!(text.parse::<ErrorClass>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_documents_have_every_class() {
        let documents = [
            include_str!("../../../../docs/reference/plan.md"),
            include_str!("../../../../docs/glossary.md"),
        ];
        for (_, name) in NAMES {
            assert!(documents.iter().all(|text| text.contains(&format!("`{name}`"))), "{name}");
        }
    }

    #[test]
    fn conflicts_of_distributed_servers() {
        let check = |code, state, name: &str| {
            assert_eq!(
                ErrorClass::of_server_error(code, state).to_string(),
                name,
                "{code} {state}"
            );
        };
        for code in [8002, 8005, 8022, 8028, 9007] {
            check(code, "HY000", "serialization_failure");
        }
        for code in [6001, 6002, 6235] {
            check(code, "25000", "serialization_failure");
            check(code, "HY000", &format!("other({code})"));
        }
        check(3101, "40000", "serialization_failure");
        check(6002, "40000", "serialization_failure");
        check(1213, "40001", "deadlock");
        check(1317, "70100", "other(1317)");
        check(4012, "HY000", "other(4012)");
        check(0, "40001", "serialization_failure");
        check(9999, "40003", "other(9999)");
    }

    #[test]
    fn a_number_and_a_state_with_the_same_text_are_equal() {
        assert_eq!(ErrorClass::of_code(57014), ErrorClass::of_sqlstate("57014"));
        assert_ne!(ErrorClass::of_code(1000), ErrorClass::of_sqlstate("01000"));
    }

    #[test]
    fn hostile_states_have_no_text() {
        assert_eq!(ErrorClass::of_sqlstate("\u{1b}[2J;"), ErrorClass::Protocol);
        assert_eq!(ErrorClass::of_sqlstate(""), ErrorClass::Protocol);
    }
}
