//! The messages of a client before it is logged in.

use super::wire::put_counted;
use crate::Target;

const PROTOCOL_3_0: u32 = 3 << 16;

/// Sent instead of a version: requests TLS.
const SSL_REQUEST: u32 = 80_877_103;

/// Settings that the driver relies on. They override the server's, the database's and the role's.
const SETTINGS: [(&str, &str); 3] = [
    ("client_encoding", "UTF8"),
    // Backslashes in a literal are ordinary characters: `value.rs` writes them so.
    ("standard_conforming_strings", "on"),
    (NAME, "truetps"),
];
const NAME: &str = "application_name";

/// Requests TLS, as the first message. The answer is one byte: `S` or `N`.
pub(crate) fn put_ssl_request(out: &mut Vec<u8>) {
    put_counted(out, 4, |out| out.extend_from_slice(&SSL_REQUEST.to_be_bytes()));
}

/// The first message, which has no name.
pub(crate) fn put_startup(out: &mut Vec<u8>, target: &Target) {
    let Target { login, startup_settings, .. } = target;
    put_counted(out, 4, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        let database = login.database.as_deref().map(|database| ("database", database));
        let own = SETTINGS.into_iter().filter(|(name, _)| !is_given(startup_settings, name));
        let given = startup_settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in
            [("user", login.user.as_str())].into_iter().chain(database).chain(given).chain(own)
        {
            put_string(out, name);
            put_string(out, value);
        }
        out.push(0);
    });
}

/// A name for the sessions may also be among the `options`, which the server reads first.
fn is_given(startup_settings: &[(String, String)], name: &str) -> bool {
    startup_settings.iter().any(|(given, value)| {
        given == name || given == "options" && name == NAME && value.contains(NAME)
    })
}

/// Names in PostgreSQL have no zero byte; an embedded one would end the string for the server.
fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn startup_has_user_database_and_settings() {
        let mut out = Vec::new();
        let mut target = Target::postgres_unix("/s", "u\0x", "d");
        put_startup(&mut out, &target);
        assert_eq!(out[..4], (out.len() as u32).to_be_bytes());
        assert!(out[4..].starts_with(b"\0\x03\0\0user\0ux\0database\0d\0client_encoding\0UTF8\0"));
        let mut request = Vec::new();
        put_ssl_request(&mut request);
        assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47]);
        assert!(out.ends_with(b"application_name\0truetps\0\0"));
        target.startup_settings = [("options", "-c a=b"), ("application_name", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        out.clear();
        put_startup(&mut out, &target);
        assert!(out.ends_with(
            b"options\0-c \
              a=b\0application_name\0x\0client_encoding\0UTF8\0standard_conforming_strings\0on\0\0"
        ));
        target.startup_settings = vec![("options".to_owned(), "-c application_name=x".to_owned())];
        out.clear();
        put_startup(&mut out, &target);
        assert!(out.ends_with(b"client_encoding\0UTF8\0standard_conforming_strings\0on\0\0"));
    }
}
