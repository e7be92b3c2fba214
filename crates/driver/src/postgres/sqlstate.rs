//! Advice for PostgreSQL's SQLSTATEs.

/// How to fix it, if that is known.
pub(crate) fn hint(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "28P01" => {
            "check user and password; a password can be given in the environment: TRUETPS_PASSWORD"
        }
        "28000" => {
            "let pg_hba.conf allow this user, database and address (hostssl lines require TLS; a \
             certificate: cert=FILE and key=FILE), or create the role"
        }
        "3D000" => "create the database first: CREATE DATABASE",
        "53300" => "raise max_connections in the server, or use fewer clients",
        "57P03" => "the server is starting or stopping; its log says how far it is",
        "42501" => "give the role privileges: GRANT ALL ON ... TO the role",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::ServerError;

    #[test]
    fn classes_come_from_the_number_or_else_from_the_sqlstate() {
        let check = |code, sqlstate: &str, expect: &str| {
            let error = ServerError {
                code,
                sqlstate: sqlstate.to_owned(),
                message: "m".to_owned(),
                position: 0,
            };
            assert_eq!(error.class().to_string(), expect, "{code} {sqlstate}");
        };
        check(1213, "40001", "deadlock");
        check(1020, "HY000", "serialization_failure");
        check(1114, "HY000", "other(1114)");
        check(0, "40P01", "deadlock");
        check(0, "40001", "serialization_failure");
        check(0, "55P03", "lock_wait_timeout");
        check(0, "57014", "other(57014)");
        check(0, "23505", "duplicate_key");
        check(0, "25006", "read_only");
        check(0, "28P01", "connect_failed");
        check(0, "57P03", "connect_failed");
        check(0, "57P01", "connection_lost");
        check(0, "08006", "connection_lost");
        check(0, "23503", "other(23503)");
        check(0, "short", "other(short)");
        check(0, "", "protocol");
    }

    #[test]
    fn hints_are_the_family_s_own() {
        let hint = |code, sqlstate: &str| {
            ServerError { code, sqlstate: sqlstate.to_owned(), message: String::new(), position: 0 }
                .hint()
        };
        assert!(hint(0, "28000").unwrap().contains("pg_hba.conf"));
        assert!(!hint(1045, "28000").unwrap().contains("pg_hba.conf"));
        assert_eq!(hint(0, "22012"), None);
    }
}
