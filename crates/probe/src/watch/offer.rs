//! What a server offers of one source, and what its refusals mean.

use truetps_driver::{DriverError, ServerError};
use truetps_record::{AbsentSignal, ErrorClass};

use crate::watch::shape::ProbeQuestion;

/// What a server offers of one source: the first query that it supports, or why there is none.
pub(crate) struct Offer {
    pub(crate) questions: Vec<ProbeQuestion>,
    pub(crate) absent: Option<AbsentSignal>,
}

impl Offer {
    pub(crate) fn ask(questions: impl IntoIterator<Item = ProbeQuestion>) -> Self {
        Self { questions: questions.into_iter().collect(), absent: None }
    }

    pub(crate) fn absent(what: &str, why: &str) -> Self {
        Self {
            questions: Vec::new(),
            absent: Some(AbsentSignal { what: what.to_owned(), why: why.to_owned() }),
        }
    }

    pub(crate) fn nothing() -> Self {
        Self { questions: Vec::new(), absent: None }
    }
}

/// Separates an error of the server, with its reason, from a lost session, even if the server
/// reported the loss.
pub(crate) fn server_said<T>(
    answer: Result<T, DriverError>,
) -> Result<Result<T, ServerError>, DriverError> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(DriverError::Server(error)) if error.class() != ErrorClass::ConnectionLost => {
            Ok(Err(error))
        }
        Err(error) => Err(error),
    }
}

/// The server does not know the statement, the table or the column: another version needs another
/// query.
fn is_other_form(error: &ServerError) -> bool {
    const NUMBERS: [u16; 4] = [1054, 1064, 1109, 1146];
    const STATES: [&str; 3] = ["42601", "42703", "42P01"];
    if error.code == 0 {
        STATES.contains(&error.sqlstate.as_str())
    } else {
        NUMBERS.contains(&error.code)
    }
}

/// Why a server answers none of several forms of a query: the first refusal of a form that it
/// knows, else the first refusal.
pub(crate) fn why_refused(refusals: &[ServerError]) -> Option<String> {
    let understood = refusals.iter().find(|error| !is_other_form(error));
    understood.or(refusals.first()).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_understood_and_refused_is_the_reason() {
        let error = |code: u16, sqlstate: &str, message: &str| ServerError {
            code,
            sqlstate: sqlstate.to_owned(),
            message: message.to_owned(),
            position: 0,
        };
        let check = |refusals: &[ServerError], expect: &str| {
            assert!(why_refused(refusals).is_some_and(|why| why.contains(expect)), "{refusals:?}");
        };
        // A MariaDB without PROCESS; the column is MySQL's.
        let column = error(1054, "42S22", "Unknown column 'STATUS' in 'WHERE'");
        let denied = error(1227, "42000", "Access denied; you need the PROCESS privilege");
        check(&[column.clone(), denied.clone()], "PROCESS");
        check(&[denied, column.clone()], "PROCESS");
        check(&[column.clone(), error(1054, "42S22", "Unknown column 'ENABLED'")], "'STATUS'");
        // Error messages in another language do not matter.
        let syntax = error(1064, "42000", "Fehler in der SQL-Syntax");
        check(&[syntax, error(1227, "42000", "Kein Zugriff")], "Kein Zugriff");
        let relation = error(0, "42P01", "relation \"pg_stat_io\" does not exist");
        check(&[relation, error(0, "42501", "permission denied")], "denied");
        assert_eq!(why_refused(&[]), None);
    }
}
