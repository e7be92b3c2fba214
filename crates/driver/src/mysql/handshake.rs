//! Greeting and login.

use super::reply::parse_error;
use super::wire::Reader;
use crate::{DriverError, Login};

const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;

const UTF8MB4_GENERAL_CI: u8 = 45;
const PACKET_BYTES_MAX: u32 = 1 << 30;

/// What the server's first packet says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) plugin: String,
}

pub(crate) fn parse_greeting(payload: &[u8]) -> Result<Greeting, DriverError> {
    let mut reader = Reader::new(payload);
    match reader.u8()? {
        10 => {}
        0xff => return Err(parse_error(payload)?.into()),
        _ => return Err(DriverError::Protocol("a greeting that is not protocol version 10")),
    }
    let _version = reader.text_to_zero();
    reader.bytes(4 + 8 + 1)?;
    let low = reader.uint(2)? as u32;
    reader.bytes(1 + 2)?;
    let capabilities = low | (reader.uint(2)? as u32) << 16;
    if capabilities & (PROTOCOL_41 | SECURE_CONNECTION) != PROTOCOL_41 | SECURE_CONNECTION {
        return Err(DriverError::Protocol("a server older than MySQL 4.1"));
    }
    let scramble_bytes = usize::from(reader.u8()?);
    reader.bytes(10)?;
    reader.bytes(scramble_bytes.saturating_sub(8).max(13))?;
    let plugin = String::from_utf8_lossy(reader.text_to_zero()).into_owned();
    Ok(Greeting { plugin })
}

/// The answer to the greeting: a login with an empty password, which every plugin takes as an empty response.
pub(crate) fn put_login(out: &mut Vec<u8>, login: &Login, greeting: &Greeting) {
    let with_db = if login.database.is_some() { CONNECT_WITH_DB } else { 0 };
    let capabilities =
        LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | PLUGIN_AUTH | with_db;
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    out.push(UTF8MB4_GENERAL_CI);
    out.extend_from_slice(&[0; 23]);
    put_zero_ended(out, &login.user);
    out.push(0);
    if let Some(database) = &login.database {
        put_zero_ended(out, database);
    }
    put_zero_ended(out, &greeting.plugin);
}

fn put_zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

/// What the server says to a login.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoginStep {
    LoggedIn,
    /// The account has another plugin: answer with an empty response once more.
    AnswerEmpty,
}

pub(crate) fn parse_login_reply(payload: &[u8], greeting: &Greeting) -> Result<LoginStep, DriverError> {
    match payload.first() {
        Some(0x00) => Ok(LoginStep::LoggedIn),
        Some(0xff) => Err(parse_error(payload)?.into()),
        Some(0xfe) => Ok(LoginStep::AnswerEmpty),
        Some(0x01) => Err(DriverError::PasswordNeeded(greeting.plugin.clone())),
        _ => Err(DriverError::Protocol("an unknown answer to the login")),
    }
}
