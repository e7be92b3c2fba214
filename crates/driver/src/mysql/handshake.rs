//! The first packets of a connection: greeting, request for TLS, login.

use super::error_packet::parse_error;
use super::wire::PayloadReader;
use crate::{DriverError, Target};

const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;

const UTF8MB4_GENERAL_CI: u8 = 45;
const PACKET_BYTES_MAX: u32 = 1 << 30;
const NONCE_BYTES: usize = 20;

/// The contents of the server's first packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    capabilities: u32,
    pub(super) version: String,
    /// The connection's ID in the server.
    pub(super) connection: u32,
    pub(super) nonce: [u8; NONCE_BYTES],
    /// Empty if the server is older than plugins.
    pub(super) plugin: String,
}

impl Greeting {
    pub(super) fn offers_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }
}

pub(super) fn parse_greeting(payload: &[u8]) -> Result<Greeting, DriverError> {
    let mut reader = PayloadReader::new(payload);
    let protocol = reader.u8()?;
    if protocol == 0xff {
        return Err(parse_error(payload)?.into());
    }
    let version = String::from_utf8_lossy(reader.text_to_zero()).into_owned();
    if protocol != 10 {
        return Err(if protocol == 9 { DriverError::TooOld { version } } else { NOT_A_GREETING });
    }
    let connection = reader.uint(4)? as u32;
    let mut nonce = [0; NONCE_BYTES];
    let (front, back) = nonce.split_at_mut(8);
    front.copy_from_slice(reader.bytes(8)?);
    reader.bytes(1)?;
    let low = reader.uint(2)? as u32;
    if low & (PROTOCOL_41 | SECURE_CONNECTION) != PROTOCOL_41 | SECURE_CONNECTION {
        return Err(DriverError::TooOld { version });
    }
    let _charset_and_status = reader.bytes(1 + 2)?;
    let capabilities = low | (reader.uint(2)? as u32) << 16;
    let nonce_bytes = usize::from(reader.u8()?);
    reader.bytes(10)?;
    // Twelve bytes and a zero byte, regardless of the announced length.
    back.copy_from_slice(&reader.bytes(nonce_bytes.saturating_sub(8).max(13))?[..12]);
    let plugin = if capabilities & PLUGIN_AUTH != 0 { reader.text_to_zero() } else { &[] };
    Ok(Greeting {
        capabilities,
        version,
        connection,
        nonce,
        plugin: String::from_utf8_lossy(plugin).into_owned(),
    })
}

pub(super) const NOT_A_GREETING: DriverError =
    DriverError::Protocol("its first bytes are not the greeting of a MySQL-family server");

/// The beginning of a login, the only part that is sent before TLS.
pub(super) fn put_tls_request(out: &mut Vec<u8>, target: &Target, greeting: &Greeting) {
    put_login_head(out, target, greeting, SSL);
}

/// The account, the database, and the plugin's first answer, of at most 250 bytes.
pub(super) fn put_login(
    out: &mut Vec<u8>,
    target: &Target,
    greeting: &Greeting,
    is_encrypted: bool,
    plugin: &str,
    answer: &[u8],
) {
    put_login_head(out, target, greeting, if is_encrypted { SSL } else { 0 });
    put_zero_ended(out, &target.login.user);
    debug_assert!(answer.len() <= 250);
    out.push(answer.len() as u8);
    out.extend_from_slice(answer);
    if let Some(database) = &target.login.database {
        put_zero_ended(out, database);
    }
    if greeting.capabilities & PLUGIN_AUTH != 0 {
        put_zero_ended(out, plugin);
    }
}

/// Without CLIENT_FOUND_ROWS: rows that an UPDATE does not change are not counted.
fn put_login_head(out: &mut Vec<u8>, target: &Target, greeting: &Greeting, ssl: u32) {
    let with_db = if target.login.database.is_some() { CONNECT_WITH_DB } else { 0 };
    let local_files = if target.sends_local_files { LOCAL_FILES } else { 0 };
    let capabilities = LONG_PASSWORD
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_RESULTS
        | ((PLUGIN_AUTH | MULTI_STATEMENTS | local_files) & greeting.capabilities)
        | with_db
        | ssl;
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    out.push(UTF8MB4_GENERAL_CI);
    out.extend_from_slice(&[0; 23]);
}

fn put_zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

/// The server's reply to a login.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoginReply<'a> {
    LoggedIn,
    /// The account has another plugin: begin with that one.
    Switch {
        plugin: &'a [u8],
        data: &'a [u8],
    },
    /// The plugin's exchange continues.
    More(&'a [u8]),
}

pub(super) fn parse_login_reply(payload: &[u8]) -> Result<LoginReply<'_>, DriverError> {
    match payload {
        [0x00, ..] => Ok(LoginReply::LoggedIn),
        [0xff, ..] => Err(parse_error(payload)?.into()),
        // Without a name: the password method before 4.1.
        [0xfe] => Ok(LoginReply::Switch { plugin: b"mysql_old_password", data: &[] }),
        [0xfe, rest @ ..] => {
            let mut reader = PayloadReader::new(rest);
            let plugin = reader.text_to_zero();
            Ok(LoginReply::Switch { plugin, data: reader.rest() })
        }
        [0x01, data @ ..] => Ok(LoginReply::More(data)),
        _ => Err(DriverError::Protocol("an unknown answer to the login")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a greeting; `capabilities` has 16 bits.
    fn greeting(protocol: u8, version: &str, capabilities: u16) -> Vec<u8> {
        let mut bytes = vec![protocol];
        bytes.extend_from_slice(version.as_bytes());
        bytes.extend_from_slice(b"\0\x01\0\0\0abcdefgh\0");
        bytes.extend_from_slice(&capabilities.to_le_bytes());
        bytes.extend_from_slice(&[45, 2, 0, 0x0a, 0, 21]);
        bytes.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0");
        bytes
    }

    #[test]
    fn a_greeting_is_read() {
        let found = parse_greeting(&greeting(10, "9.7.4", 0x8a00)).unwrap();
        assert_eq!(
            (&found.nonce, found.plugin.as_str()),
            (b"abcdefghijklmnopqrst", "caching_sha2_password")
        );
        assert!(found.offers_tls() && found.connection == 1);
        assert!(!parse_greeting(&greeting(10, "9.7.4", 0x8200)).unwrap().offers_tls());
        let whole = greeting(10, "9.7.4", 0x8a00);
        for length in 0..whole.len() - 22 {
            assert!(parse_greeting(&whole[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_login_asks_for_several_statements_and_for_changed_rows() {
        const FOUND_ROWS: u32 = 1 << 1;
        let asked_by = |target: &Target, offered| {
            let mut greeting = parse_greeting(&greeting(10, "9.7.4", 0x8200)).unwrap();
            greeting.capabilities |= offered;
            let mut out = Vec::new();
            put_login(&mut out, target, &greeting, false, "", b"");
            u32::from_le_bytes(out[..4].try_into().unwrap())
        };
        let plain = Target::mysql_unix("/s", "me", None);
        let asked = |offered| asked_by(&plain, offered);
        assert_eq!(asked(0) & (MULTI_STATEMENTS | FOUND_ROWS), 0);
        assert_eq!(
            asked(u32::MAX) & (MULTI_STATEMENTS | FOUND_ROWS | SSL | LOCAL_FILES),
            MULTI_STATEMENTS
        );
        let with_files = Target { sends_local_files: true, ..plain.clone() };
        assert_eq!(asked_by(&with_files, u32::MAX) & LOCAL_FILES, LOCAL_FILES);
        assert_eq!(asked_by(&with_files, 0) & LOCAL_FILES, 0);
    }

    #[test]
    fn old_servers_are_recognised_by_their_version() {
        for bytes in
            [greeting(9, "3.23.58", 0), greeting(10, "3.23.58", 0x0200), greeting(10, "3.23.58", 0)]
        {
            let error = parse_greeting(&bytes).unwrap_err().to_string();
            assert!(error.contains("3.23.58"), "{error}");
        }
        let error = parse_greeting(b"\xff\x69\x04Host '1.2.3.4' is blocked").unwrap_err();
        assert_eq!(error.code(), 1129, "an error without a state");
    }

    #[test]
    fn replies_to_a_login() {
        let check =
            |payload: &[u8], expect| assert_eq!(parse_login_reply(payload).unwrap(), expect);
        check(b"\0\0\0\x02\0\0\0", LoginReply::LoggedIn);
        check(b"\xfe", LoginReply::Switch { plugin: b"mysql_old_password", data: b"" });
        check(b"\xfeplugin\0data\0", LoginReply::Switch { plugin: b"plugin", data: b"data\0" });
        check(b"\x01\x04", LoginReply::More(b"\x04"));
        assert!(parse_login_reply(b"").is_err() && parse_login_reply(b"\x02").is_err());
    }
}
