//! How a client authenticates: trust, a password in clear text, MD5, SCRAM-SHA-256.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use super::wire::{BodyReader, put_counted, put_message};
use crate::error::A_PASSWORD;
use crate::{DriverError, Login, Password};

const OTHER_METHOD_HINT: &str =
    "truetps does not support it; set scram-sha-256 for this user in pg_hba.conf";
const NO_PASSWORD_HINT: &str = "set it in the environment: TRUETPS_PASSWORD";
const CLEARTEXT_HINT: &str = "it is sent only over a unix socket, or to a server whose certificate \
     was checked: use tls=verify-identity and ca=FILE, or set scram-sha-256 for this user in \
     pg_hba.conf";

/// The codes of AuthenticationXXX messages.
mod code {
    pub(super) const OK: u32 = 0;
    pub(super) const CLEARTEXT: u32 = 3;
    pub(super) const MD5: u32 = 5;
    pub(super) const SASL: u32 = 10;
    pub(super) const SASL_CONTINUE: u32 = 11;
    pub(super) const SASL_FINAL: u32 = 12;
}

/// The authentication exchange of one login.
#[derive(Default)]
pub(crate) enum Authentication {
    /// The server has not requested anything yet.
    #[default]
    Open,
    ScramFirst(Box<ScramSha256>),
    ScramFinal(Box<ScramSha256>),
    /// Both sides have proved all that the method requires.
    Answered,
}

impl Authentication {
    /// Takes an authentication message and answers it. `true`: the server is satisfied.
    ///
    /// `is_private`: only the server itself can read what is sent.
    pub(crate) fn message(
        &mut self,
        body: &[u8],
        login: &Login,
        is_private: bool,
        out: &mut Vec<u8>,
    ) -> Result<bool, DriverError> {
        let mut reader = BodyReader::new(body);
        let method = reader.u32()?;
        *self = match (std::mem::take(self), method) {
            (Self::Open | Self::Answered, code::OK) => return Ok(true),
            (Self::Open, code::CLEARTEXT) if !is_private => {
                return Err(unsupported("a password in clear text", CLEARTEXT_HINT));
            }
            (Self::Open, code::CLEARTEXT) => {
                put_password(out, password_of(login)?.reveal().as_bytes())?;
                Self::Answered
            }
            (Self::Open, code::MD5) => {
                let salt = reader.u32()?.to_be_bytes();
                let password = password_of(login)?.reveal();
                put_password(
                    out,
                    md5_hash(login.user.as_bytes(), password.as_bytes(), salt).as_bytes(),
                )?;
                Self::Answered
            }
            (Self::Open, code::SASL) => {
                check_mechanisms(&mut reader)?;
                // Channel binding is not implemented, with TLS or without: `n`, since `y` would
                // mean that only the server lacks it.
                let password = password_of(login)?.reveal();
                let scram =
                    Box::new(ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported()));
                put_scram_first(out, scram.message());
                Self::ScramFirst(scram)
            }
            (Self::ScramFirst(mut scram), code::SASL_CONTINUE) => {
                scram
                    .update(reader.rest())
                    .map_err(|_| DriverError::Protocol("an invalid SCRAM challenge"))?;
                put_message(out, b'p', |out| out.extend_from_slice(scram.message()));
                Self::ScramFinal(scram)
            }
            (Self::ScramFinal(mut scram), code::SASL_FINAL) => {
                scram.finish(reader.rest()).map_err(|_| {
                    DriverError::Protocol("it did not prove that it knows the password (SCRAM)")
                })?;
                Self::Answered
            }
            (Self::Open, other) => return Err(unsupported(method_name(other), OTHER_METHOD_HINT)),
            _ => return Err(DriverError::Protocol("an authentication message out of order")),
        };
        Ok(false)
    }
}

fn unsupported(asks_for: impl Into<String>, hint: &'static str) -> DriverError {
    DriverError::Authentication { asks_for: asks_for.into(), hint }
}

fn method_name(code: u32) -> String {
    let name = match code {
        2 => "Kerberos V5",
        6 => "SCM credentials",
        7 | 8 => "GSSAPI",
        9 => "SSPI",
        _ => return format!("authentication method number {code}"),
    };
    name.to_owned()
}

fn password_of(login: &Login) -> Result<&Password, DriverError> {
    login.password.as_ref().ok_or_else(|| unsupported(A_PASSWORD, NO_PASSWORD_HINT))
}

fn put_password(out: &mut Vec<u8>, password: &[u8]) -> Result<(), DriverError> {
    if password.contains(&0) {
        return Err(unsupported("a password", "a password with a zero byte cannot be sent"));
    }
    put_message(out, b'p', |out| {
        out.extend_from_slice(password);
        out.push(0);
    });
    Ok(())
}

fn put_scram_first(out: &mut Vec<u8>, first: &[u8]) {
    put_message(out, b'p', |out| {
        out.extend_from_slice(SCRAM_SHA_256.as_bytes());
        out.push(0);
        put_counted(out, 0, |out| out.extend_from_slice(first));
    });
}

/// The server lists its mechanisms; one that truetps supports must be among them.
fn check_mechanisms(reader: &mut BodyReader<'_>) -> Result<(), DriverError> {
    let mut names = Vec::new();
    loop {
        match reader.string()? {
            b"" => break,
            name if name == SCRAM_SHA_256.as_bytes() => return Ok(()),
            name => names.push(String::from_utf8_lossy(name)),
        }
    }
    Err(unsupported(format!("SASL {}", names.join(" or ")), OTHER_METHOD_HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(password: Option<&str>) -> Login {
        Login { user: "md5_user".to_owned(), password: password.map(Password::new), database: None }
    }

    fn answer(body: &[u8], login: &Login, is_private: bool) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        Authentication::default()
            .message(body, login, is_private, &mut out)
            .map(|_| out)
            .map_err(|error| format!("{error}: {}", error.hint().unwrap_or_default()))
    }

    #[test]
    fn each_method_has_its_answer() {
        let with = login(Some("password"));
        assert_eq!(answer(b"\0\0\0\0", &with, false).unwrap(), b"");
        assert_eq!(answer(b"\0\0\0\x03", &with, true).unwrap(), b"p\0\0\0\x0dpassword\0");
        let md5 = answer(b"\0\0\0\x05\x2a\x3d\x8f\xe0", &with, false).unwrap();
        assert_eq!(&md5[5..], b"md562af4dd09bbb41884907a838a3233294\0");
        let scram =
            answer(b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0", &with, true).unwrap();
        assert!(scram[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r="), "{scram:?}");
    }

    #[test]
    fn refusals_name_the_method_and_what_to_do() {
        let check = |body: &[u8], password: Option<&str>, expect: &str| {
            let error = answer(body, &login(password), false).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        check(
            b"\0\0\0\x03",
            Some("p"),
            "clear text: it is sent only over a unix socket, or to a server whose",
        );
        check(b"\0\0\0\x05abcd", None, "a password: set it in the environment: TRUETPS_PASSWORD");
        assert!(password_of(&login(None)).unwrap_err().wants_password());
        assert!(
            !unsupported("a password in clear text", CLEARTEXT_HINT).wants_password(),
            "it could not be sent"
        );
        check(b"\0\0\0\x07", Some("p"), "GSSAPI: truetps does not support it");
        check(b"\0\0\0\x63", Some("p"), "method number 99");
        check(
            b"\0\0\0\x0aOAUTHBEARER\0\0",
            Some("p"),
            "SASL OAUTHBEARER: truetps does not support it",
        );
        check(b"\0\0\0\x0aOAUTHBEARER\0", Some("p"), "shorter than it announces");
        check(b"\0\0\0\x05ab", Some("p"), "shorter than it announces");
        check(b"\0\0\0\x0bnonsense", Some("p"), "authentication method number 11");
    }

    #[test]
    fn scram_is_not_ended_before_the_server_has_shown_its_part() {
        let (login, mut out) = (login(Some("p")), Vec::new());
        let mut authentication = Authentication::default();
        authentication.message(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &login, false, &mut out).unwrap();
        assert!(authentication.message(b"\0\0\0\0", &login, false, &mut out).is_err());
        let mut authentication = Authentication::default();
        authentication.message(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &login, false, &mut out).unwrap();
        assert!(
            authentication
                .message(b"\0\0\0\x0br=other,s=c2FsdA==,i=4096", &login, false, &mut out)
                .is_err()
        );
    }
}
