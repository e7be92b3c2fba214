//! What an error of the server means for the rows of a statement. Whose fault it is, is tried out
//! by the executor: a trigger may report any error for one row.

use truetps_driver::ServerError;
use truetps_record::{ErrorClass, MAY_BE_COMMITTED};

/// What to do about a refused statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultClass {
    /// A value of one row: that row is found and refused.
    BadRow,
    /// A row has the value of another row in a unique key that is not its idempotency key.
    Conflict,
    /// The statement, or one row, is longer than the server takes.
    TooLong,
    /// The statement may succeed in a moment.
    Transient,
    /// This server takes no writes: it may have a successor behind the same name.
    ReadOnly,
    /// The server cannot store anything at the moment.
    Down,
    /// The table or the account is not what the rows were read for.
    Configuration,
    /// No known error: of a partition, an extension, a newer server.
    Other,
}

/// Numbers of the MySQL family whose SQLSTATE does not give their class.
const MYSQL_CODES: [(FaultClass, &[u16]); 7] = [
    // 1364: a column without default; 1406 too long; 1265, 1366 wrong value; 1300 wrong character;
    // 3819, 4025 CHECK; 1526 no partition for a value; 1644 SIGNAL of a trigger; 1118 row too long
    // for a page; 3140 and following: JSON.
    (
        FaultClass::BadRow,
        &[
            1048, 1118, 1216, 1264, 1265, 1292, 1300, 1364, 1366, 1367, 1406, 1411, 1416, 1452,
            1526, 1644, 1690, 3140, 3141, 3143, 3144, 3146, 3156, 3157, 3819, 4025, 4038,
        ],
    ),
    (FaultClass::Conflict, &[1022, 1062, 1169, 1586]),
    (FaultClass::TooLong, &[1153, 1301]),
    // 1317, 1969, 3024, 3169, 4031: statement or session was killed, or its time was over; 1047: a
    // Galera node that is not ready; 8001 and following: TiDB; 1105: Vitess; 4012: OceanBase's
    // timeout. Conflicts with other transactions are classes of [`ErrorClass`].
    (
        FaultClass::Transient,
        &[
            1040, 1047, 1053, 1105, 1158, 1159, 1160, 1161, 1180, 1203, 1206, 1223, 1317, 1412,
            1615, 1637, 1927, 1969, 3024, 3169, 3572, 4012, 4031, 8001, 9001, 9002, 9003, 9004,
            9005, 9006,
        ],
    ),
    (FaultClass::ReadOnly, &[1290, 1792, 1836, 3100]),
    (FaultClass::Down, &[3, 28, 1021, 1026, 1030, 1114]),
    (
        FaultClass::Configuration,
        &[1044, 1045, 1046, 1049, 1054, 1064, 1072, 1136, 1142, 1143, 1146, 1149, 1227, 1370, 1442],
    ),
];

/// SQLSTATEs, or their first letters; the first that fits.
const SQLSTATES: [(FaultClass, &[&str]); 6] = [
    (FaultClass::Conflict, &["23505", "23P01"]),
    // P0001: RAISE of a trigger; 45: SIGNAL; 54: a row too long for a page or an index.
    (FaultClass::BadRow, &["22", "23", "44", "45", "P0001", "54"]),
    (FaultClass::ReadOnly, &["25006"]),
    // 57014: a cancelled statement, or `statement_timeout`.
    (FaultClass::Transient, &["40", "55P03", "55006", "57014", "57P", "08"]),
    (FaultClass::Down, &["53", "58", "XX"]),
    (FaultClass::Configuration, &["42", "3D", "3F", "28", "0A", "26"]),
];

impl FaultClass {
    /// For clients, which must not learn of other rows, or of accounts.
    pub fn word(self) -> &'static str {
        match self {
            Self::BadRow => "a value is wrong",
            Self::Conflict => "a unique key has the value",
            Self::TooLong => "a row is too long",
            Self::Transient => "the database was interrupted",
            Self::ReadOnly => "the database is read only",
            Self::Down => "the database cannot store rows",
            Self::Other => "the database refuses it",
            Self::Configuration => "the table is not what it was, or the account may not use it",
        }
    }

    /// Whether the same row may be stored a little later.
    pub fn passes(self) -> bool {
        matches!(self, Self::Transient | Self::ReadOnly | Self::Down)
    }

    pub fn of(error: &ServerError) -> Self {
        if let ErrorClass::Deadlock
        | ErrorClass::LockWaitTimeout
        | ErrorClass::SerializationFailure = error.class()
        {
            return Self::Transient;
        }
        let by_code =
            MYSQL_CODES.iter().find(|(_, codes)| error.code > 0 && codes.contains(&error.code));
        if let Some((class, _)) = by_code {
            return *class;
        }
        let by_state = SQLSTATES
            .iter()
            .find(|(_, states)| states.iter().any(|state| error.sqlstate.starts_with(state)));
        by_state.map_or(Self::Other, |(class, _)| *class)
    }
}

/// Whether the statement may have been committed although the server reports this error.
pub(crate) fn may_be_committed(error: &ServerError) -> bool {
    MAY_BE_COMMITTED.contains(&error.code) || error.sqlstate.starts_with("57P")
}

/// Whether the statement has waited for a lock of another session, for as long as it may.
pub(crate) fn has_waited(error: &ServerError) -> bool {
    error.code == 1205 || error.sqlstate == "55P03"
}

/// The row in `... at row 3` at the end of a message, counted from 0.
pub(crate) fn row_in_message(message: &str) -> Option<usize> {
    let (_, number) = message.rsplit_once(" at row ")?;
    number.trim().parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16, sqlstate: &str) -> ServerError {
        ServerError { code, sqlstate: sqlstate.to_owned(), message: String::new(), position: 0 }
    }

    #[test]
    fn every_error_has_a_class() {
        let check = |code, state: &str, expect| {
            assert_eq!(FaultClass::of(&error(code, state)), expect, "{code} {state}");
        };
        check(1406, "22001", FaultClass::BadRow);
        check(1366, "HY000", FaultClass::BadRow);
        check(1062, "23000", FaultClass::Conflict);
        check(1213, "40001", FaultClass::Transient);
        for (code, state) in
            [(1020, "HY000"), (1205, "HY000"), (3101, "40000"), (8022, "HY000"), (8028, "HY000")]
        {
            check(code, state, FaultClass::Transient);
        }
        check(9007, "HY000", FaultClass::Transient);
        check(6002, "25000", FaultClass::Transient);
        check(4012, "25000", FaultClass::Transient);
        check(1114, "HY000", FaultClass::Down);
        check(1054, "42S22", FaultClass::Configuration);
        check(1290, "HY000", FaultClass::ReadOnly);
        check(4711, "HY000", FaultClass::Other);
        check(4711, "22012", FaultClass::BadRow);
        check(0, "23505", FaultClass::Conflict);
        check(0, "23502", FaultClass::BadRow);
        check(0, "42P01", FaultClass::Configuration);
        check(0, "53100", FaultClass::Down);
        check(0, "25006", FaultClass::ReadOnly);
        check(0, "", FaultClass::Other);
    }

    #[test]
    fn a_code_has_one_class() {
        let mut all: Vec<_> = MYSQL_CODES.iter().flat_map(|(_, codes)| *codes).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(
            MAY_BE_COMMITTED
                .iter()
                .all(|code| FaultClass::of(&error(*code, "HY000")) == FaultClass::Transient)
        );
    }

    #[test]
    fn the_row_is_the_number_at_the_end() {
        assert_eq!(row_in_message("Data too long for column 'a' at row 2"), Some(1));
        assert_eq!(
            row_in_message("Incorrect integer value: ' at row 7' for column `a` at row 1"),
            Some(0)
        );
        assert_eq!(row_in_message("Column 'a' cannot be null"), None);
        assert_eq!(row_in_message("Incorrect value: 'x at row 3' for column"), None);
        assert_eq!(row_in_message("nothing at row 0"), None);
    }
}
