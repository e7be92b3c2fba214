//! ErrorResponse: the server's error messages.

use super::wire::BodyReader;
use crate::{DriverError, ServerError};

/// Limit of each text that is kept: errors are kept by kind, and a detail may quote a value of any
/// size.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// An error, and whether it ends the session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ErrorReport {
    pub(crate) error: ServerError,
    pub(crate) is_fatal: bool,
}

pub(crate) fn parse_report(body: &[u8]) -> Result<ErrorReport, DriverError> {
    let mut reader = BodyReader::new(body);
    let (mut severity, mut sqlstate) = (&b""[..], &b"XX000"[..]);
    let (mut message, mut detail, mut hint, mut position) = (&b""[..], None, None, 0);
    loop {
        let field = reader.u8()?;
        if field == 0 {
            break;
        }
        let value = reader.string()?;
        match field {
            // `S` is in the server's language; `V` is not, and follows it since PostgreSQL 9.6.
            b'S' | b'V' => severity = value,
            b'C' => sqlstate = value,
            b'M' => message = value,
            b'D' => detail = Some(value),
            b'H' => hint = Some(value),
            b'P' => position = text(value).parse().unwrap_or(0),
            _ => {}
        }
    }
    let is_fatal = matches!(severity, b"FATAL" | b"PANIC");
    let sqlstate = sqlstate_of(sqlstate)?;
    let mut message = text(message);
    for (label, value) in [("detail", detail), ("hint", hint)] {
        if let Some(value) = value {
            message.extend(["; ", label, ": ", &text(value)]);
        }
    }
    Ok(ErrorReport { error: ServerError { code: 0, sqlstate, message, position }, is_fatal })
}

fn sqlstate_of(value: &[u8]) -> Result<String, DriverError> {
    if value.len() != 5 || !value.iter().all(u8::is_ascii_alphanumeric) {
        return Err(DriverError::Protocol("an SQLSTATE that is not five letters and digits"));
    }
    Ok(text(value))
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(TEXT_BYTES_MAX)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use truetps_record::ErrorClass;

    #[test]
    fn fields_make_one_message() {
        let body = b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (id)=(1) already \
                     exists.\0Htry\0P12\0Rline\0\0";
        let report = parse_report(body).unwrap();
        assert!(!report.is_fatal);
        assert_eq!(report.error.class(), ErrorClass::DuplicateKey);
        assert_eq!(report.error.position, 12);
        let expect =
            "duplicate key; detail: Key (id)=(1) already exists.; hint: try (SQLSTATE 23505)";
        assert_eq!(report.error.to_string(), expect);
        assert!(parse_report(b"SFATAL\0VFATAL\0C57P01\0Mbye\0\0").unwrap().is_fatal);
        let long = [&b"M"[..], &[b'x'; 9000], b"\0\0"].concat();
        assert_eq!(parse_report(&long).unwrap().error.message.len(), TEXT_BYTES_MAX);
    }

    #[test]
    fn hostile_reports_are_errors() {
        for body in [&b""[..], b"M", b"Mtext", b"Mtext\0", b"C123\0\0", b"C12\xff45\0\0"] {
            assert!(parse_report(body).is_err(), "{body:?}");
        }
    }
}
