//! How a client proves that it knows the password: the plugins of MySQL and MariaDB, without I/O.

use std::num::NonZeroU32;

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use ring::pbkdf2;
use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::{OsRng, RngCore as _};
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};

const NONCE_BYTES: usize = 20;
const ED25519_NONCE_BYTES: usize = 32;
/// A PEM file with an RSA key of 4096 bits has 800.
const KEY_BYTES_MAX: usize = 16 << 10;
const PARSEC_NONCE_BYTES: usize = 32;
/// A server sends 18 bytes.
const PARSEC_SALT_BYTES_MAX: usize = 64;
/// The number of rounds is 1,024 << factor. MariaDB's default is 0, and from 13.1 on up to 20: 2^30
/// rounds would keep a client busy for ten minutes at the word of an unverified server. 2^20 take
/// about a second.
const PARSEC_FACTOR_MAX: u8 = 10;

/// How far the connection protects what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// TCP without TLS: anyone may read it, and the server is not verified.
    Open,
    /// TCP without TLS to an address of this machine, or with the user's consent: an unverified
    /// server may get the password.
    Trusted,
    /// A unix socket: the kernel carries it.
    Unix,
    /// TLS with an unverified server.
    Encrypted,
    /// TLS with a server whose certificate was verified.
    Verified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    NativePassword,
    CachingSha2,
    Sha256,
    Ed25519,
    Parsec,
    ClearPassword,
}

impl Plugin {
    const ALL: [Self; 6] = [
        Self::NativePassword,
        Self::CachingSha2,
        Self::Sha256,
        Self::Ed25519,
        Self::Parsec,
        Self::ClearPassword,
    ];

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Parsec => "parsec",
            Self::ClearPassword => "mysql_clear_password",
        }
    }

    /// Whether its first answer may be sent before the server asks: it does not reveal the
    /// password.
    pub(super) fn suits_a_greeting(self) -> bool {
        matches!(self, Self::NativePassword | Self::CachingSha2)
    }
}

/// Why the exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The answer would be the password itself, and others could read it.
    NotSecret,
    /// The answer would be encrypted with the key of an unverified server.
    UnknownKey,
    /// The password does not fit the server's key, or there is no key.
    NotEncrypted(&'static str),
    /// The server's part of the exchange is invalid.
    Exchange(&'static str),
}

/// What the last answer requested: the server replies with it, or refuses the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    PublicKey,
    ParsecSalt,
}

/// One run of a plugin.
#[derive(Debug)]
pub(super) struct Auth {
    pub(super) plugin: Plugin,
    nonce: Vec<u8>,
    pub(super) requested: Option<Requested>,
}

impl Auth {
    /// Begins with the server's data for the plugin; also returns the first answer.
    pub(super) fn begin(
        plugin: Plugin,
        data: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Result<(Self, Vec<u8>), Problem> {
        let nonce = match plugin {
            Plugin::ClearPassword => &[],
            Plugin::Ed25519 => nonce(data, ED25519_NONCE_BYTES)?,
            Plugin::Parsec => nonce(data, PARSEC_NONCE_BYTES)?,
            Plugin::NativePassword | Plugin::CachingSha2 | Plugin::Sha256 => {
                nonce(data, NONCE_BYTES)?
            }
        };
        let mut auth = Self { plugin, nonce: nonce.to_vec(), requested: None };
        let answer = match plugin {
            Plugin::NativePassword => native_password(nonce, password),
            Plugin::CachingSha2 => caching_sha2(nonce, password),
            Plugin::Ed25519 => ed25519(nonce, password),
            Plugin::Parsec => {
                auth.requested = Some(Requested::ParsecSalt);
                Vec::new()
            }
            Plugin::Sha256 if password.is_empty() => vec![0],
            Plugin::Sha256 if matches!(channel, Channel::Encrypted | Channel::Verified) => {
                clear(password)
            }
            Plugin::Sha256 => auth.ask_key(1, channel)?,
            // With this plugin the server receives the password itself, so it must be verified.
            Plugin::ClearPassword if matches!(channel, Channel::Unix | Channel::Verified) => {
                clear(password)
            }
            Plugin::ClearPassword => return Err(Problem::NotSecret),
        };
        Ok((auth, answer))
    }

    /// Answers the server's next request; `None` if it only reports success.
    pub(super) fn more(
        &mut self,
        data: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Result<Option<Vec<u8>>, Problem> {
        const FAST_PATH_IS_ENOUGH: &[u8] = &[3];
        const FULL_EXCHANGE: &[u8] = &[4];
        match self.requested.take() {
            Some(Requested::PublicKey) => return self.encrypted(data, password).map(Some),
            Some(Requested::ParsecSalt) => {
                let mut client_nonce = [0; PARSEC_NONCE_BYTES];
                OsRng
                    .try_fill_bytes(&mut client_nonce)
                    .map_err(|_| Problem::Exchange("there are no random numbers"))?;
                return parsec(&self.nonce, &client_nonce, data, password).map(Some);
            }
            None => {}
        }
        match (self.plugin, data) {
            (Plugin::CachingSha2, FAST_PATH_IS_ENOUGH) => Ok(None),
            (Plugin::CachingSha2, FULL_EXCHANGE)
                if matches!(channel, Channel::Open | Channel::Trusted) =>
            {
                self.ask_key(2, channel).map(Some)
            }
            (Plugin::CachingSha2, FULL_EXCHANGE) => Ok(Some(clear(password))),
            _ => Err(Problem::Exchange("the server sent an unexpected request")),
        }
    }

    /// Nothing proves that the key is the server's, and the owner of its private key can read the
    /// password.
    fn ask_key(&mut self, request: u8, channel: Channel) -> Result<Vec<u8>, Problem> {
        if channel == Channel::Open {
            return Err(Problem::UnknownKey);
        }
        self.requested = Some(Requested::PublicKey);
        Ok(vec![request])
    }

    /// The password, mixed with the nonce and encrypted with the server's public key.
    fn encrypted(&self, pem: &[u8], password: &[u8]) -> Result<Vec<u8>, Problem> {
        let bad_key = Problem::Exchange("the server's public key cannot be read");
        let pem = std::str::from_utf8(pem)
            .ok()
            .filter(|pem| pem.len() <= KEY_BYTES_MAX)
            .ok_or(bad_key)?;
        let key = RsaPublicKey::from_public_key_pem(pem.trim_end_matches('\0').trim())
            .map_err(|_| bad_key)?;
        let mixed: Vec<u8> = clear(password)
            .iter()
            .zip(self.nonce.iter().cycle())
            .map(|(byte, nonce)| byte ^ nonce)
            .collect();
        key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &mixed)
            .map_err(|_| Problem::NotEncrypted("it is too long for the server's RSA key"))
    }
}

/// Servers end a nonce with a zero byte that does not belong to it.
fn nonce(data: &[u8], length: usize) -> Result<&[u8], Problem> {
    let nonce = if data.len() > length { data.strip_suffix(&[0]).unwrap_or(data) } else { data };
    if nonce.len() == length {
        Ok(nonce)
    } else {
        Err(Problem::Exchange("the server's nonce has the wrong length"))
    }
}

fn clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))); nothing for an empty one.
fn native_password(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once)).finalize();
    once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce); nothing for an empty one.
fn caching_sha2(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(nonce).finalize();
    once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// The nonce signed with a key derived from the password: its SHA-512 takes the place of the seed's
/// in RFC 8032.
fn ed25519(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key)).to_vec()
}

/// The signing key of a PARSEC account: made of the password with PBKDF2-HMAC-SHA512.
///
/// `extended_salt` is `P`, the factor of the rounds, and the salt (MariaDB's documentation, "parsec
/// Plugin").
fn parsec_key(extended_salt: &[u8], password: &[u8]) -> Result<SigningKey, Problem> {
    let &[b'P', factor, ref salt @ ..] = extended_salt else {
        return Err(Problem::Exchange("the server's salt has an unknown form"));
    };
    if salt.is_empty() || salt.len() > PARSEC_SALT_BYTES_MAX {
        return Err(Problem::Exchange("the server's salt has the wrong length"));
    }
    let rounds =
        (factor <= PARSEC_FACTOR_MAX).then(|| 1024_u32 << factor).and_then(NonZeroU32::new);
    let rounds = rounds.ok_or(Problem::Exchange(
        "the server demands more than 1,048,576 rounds (its parsec_iterations)",
    ))?;
    let mut seed = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, password, &mut seed);
    Ok(SigningKey::from_bytes(&seed))
}

/// The client's nonce, and the signature of both nonces.
fn parsec(
    nonce: &[u8],
    client_nonce: &[u8; PARSEC_NONCE_BYTES],
    extended_salt: &[u8],
    password: &[u8],
) -> Result<Vec<u8>, Problem> {
    let signature = parsec_key(extended_salt, password)?.sign(&[nonce, client_nonce].concat());
    Ok([&client_nonce[..], &signature.to_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(plugin: Plugin, password: &[u8], channel: Channel) -> Result<Vec<u8>, Problem> {
        Auth::begin(plugin, b"01234567890123456789\0", password, channel).map(|(_, answer)| answer)
    }

    /// The values that other implementations compute.
    #[test]
    fn answers_match_other_implementations() {
        let nonce = [
            0x4e, 0x52, 0x33, 0x48, 0x50, 0x3a, 0x71, 0x49, 0x59, 0x61, 0x5f, 0x39, 0x3d, 0x64,
            0x62, 0x3f, 0x53, 0x64, 0x7b, 0x60,
        ];
        let expect = [
            0x4f, 0x97, 0xbb, 0xfd, 0x20, 0x24, 0x01, 0xc4, 0x2a, 0x69, 0xde, 0xaa, 0xe5, 0x3b,
            0xda, 0x07, 0x7e, 0xd7, 0x57, 0x85, 0x63, 0xc1, 0xa8, 0x0e, 0xb8, 0x16, 0xc8, 0x21,
            0x19, 0xb6, 0x8d, 0x2e,
        ];
        assert_eq!(caching_sha2(&nonce, b"G!ider27"), expect);
        assert!(native_password(&nonce, b"").is_empty() && caching_sha2(&nonce, b"").is_empty());
    }

    #[test]
    fn an_ed25519_answer_is_a_valid_signature() {
        let nonce = [7; ED25519_NONCE_BYTES];
        let key =
            VerifyingKey::from(&ExpandedSecretKey::from_bytes(&Sha512::digest(b"secret").into()));
        let answer: [u8; 64] = ed25519(&nonce, b"secret").try_into().unwrap();
        key.verify_strict(&nonce, &ed25519_dalek::Signature::from_bytes(&answer)).unwrap();
    }

    /// What MariaDB 11.8.9 keeps of an account with the password `s3cret`:
    /// P0:hpYsAROjkbyWQ52ABr0bXlJn:STtbtC8GXjNPL4QbcIavu9BSUmTQxcQYLn3lL+0G5YY
    const PARSEC_SALT: &[u8] = &[
        b'P', 0, 0x86, 0x96, 0x2c, 0x01, 0x13, 0xa3, 0x91, 0xbc, 0x96, 0x43, 0x9d, 0x80, 0x06,
        0xbd, 0x1b, 0x5e, 0x52, 0x67,
    ];

    #[test]
    fn a_parsec_key_is_the_one_that_the_server_keeps() {
        let public = [
            0x49, 0x3b, 0x5b, 0xb4, 0x2f, 0x06, 0x5e, 0x33, 0x4f, 0x2f, 0x84, 0x1b, 0x70, 0x86,
            0xaf, 0xbb, 0xd0, 0x52, 0x52, 0x64, 0xd0, 0xc5, 0xc4, 0x18, 0x2e, 0x7d, 0xe5, 0x2f,
            0xed, 0x06, 0xe5, 0x86,
        ];
        let key = parsec_key(PARSEC_SALT, b"s3cret").unwrap();
        assert_eq!(key.verifying_key().to_bytes(), public);
        assert_ne!(parsec_key(PARSEC_SALT, b"s3creT").unwrap().verifying_key().to_bytes(), public);
    }

    /// The salt is requested with an empty packet; the answer signs both nonces.
    #[test]
    fn a_parsec_exchange() {
        let begun = Auth::begin(Plugin::Parsec, &[7; 32], b"s3cret", Channel::Open);
        let (mut auth, request) = begun.unwrap();
        assert!(request.is_empty() && auth.requested == Some(Requested::ParsecSalt));
        let answer = auth.more(PARSEC_SALT, b"s3cret", Channel::Open).unwrap().unwrap();
        let (client_nonce, signature) = answer.split_at(32);
        let signature = ed25519_dalek::Signature::from_slice(signature).unwrap();
        let key = parsec_key(PARSEC_SALT, b"s3cret").unwrap();
        key.verify_strict(&[&[7; 32], client_nonce].concat(), &signature).unwrap();
        assert!(auth.more(PARSEC_SALT, b"s3cret", Channel::Open).is_err(), "it is asked once");
    }

    #[test]
    fn a_hostile_parsec_salt_is_refused_at_once() {
        let refused = |salt: &[u8]| {
            let (mut auth, _) =
                Auth::begin(Plugin::Parsec, &[7; 32], b"p", Channel::Verified).unwrap();
            auth.more(salt, b"p", Channel::Verified).unwrap_err()
        };
        let started = std::time::Instant::now();
        for salt in [&b""[..], b"P", b"P\0", b"S\0saltsalt", &[&b"P\0"[..], &[1; 65]].concat()] {
            assert!(
                matches!(refused(salt), Problem::Exchange(problem) if problem.contains("salt")),
                "{salt:?}"
            );
        }
        for factor in [11, 20, 21, 22, 31, 32, 62, 127, 128, 255] {
            let problem = refused(&[b'P', factor, 1, 2, 3, 4]);
            assert!(
                matches!(problem, Problem::Exchange(problem) if problem.contains("rounds")),
                "{factor}"
            );
        }
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    #[test]
    fn the_password_itself_goes_only_over_protected_channels() {
        for channel in [Channel::Open, Channel::Trusted, Channel::Encrypted] {
            assert_eq!(first(Plugin::ClearPassword, b"p", channel), Err(Problem::NotSecret));
        }
        for channel in [Channel::Unix, Channel::Verified] {
            assert_eq!(first(Plugin::ClearPassword, b"p", channel).unwrap(), b"p\0");
        }
        assert_eq!(first(Plugin::Sha256, b"p", Channel::Encrypted).unwrap(), b"p\0");
        assert_eq!(
            first(Plugin::Sha256, b"p", Channel::Trusted).unwrap(),
            [1],
            "the key is asked for"
        );
        assert_eq!(first(Plugin::Sha256, b"p", Channel::Open), Err(Problem::UnknownKey));
        assert_eq!(
            first(Plugin::Sha256, b"", Channel::Open).unwrap(),
            [0],
            "there is nothing to hide"
        );
        let full = |channel| {
            let (mut auth, _) =
                Auth::begin(Plugin::CachingSha2, &[1; NONCE_BYTES], b"p", channel).unwrap();
            auth.more(&[4], b"p", channel).map(Option::unwrap)
        };
        assert_eq!(full(Channel::Open), Err(Problem::UnknownKey));
        assert_eq!(full(Channel::Trusted).unwrap(), [2]);
        assert_eq!(full(Channel::Unix).unwrap(), b"p\0");
        assert_eq!(full(Channel::Encrypted).unwrap(), b"p\0");
    }

    #[test]
    fn a_hostile_server_gets_errors() {
        for data in [&[][..], &[1; 19], &[1; 22], &[1; 31], &[0; 200]] {
            for plugin in Plugin::ALL.into_iter().filter(|plugin| *plugin != Plugin::ClearPassword)
            {
                assert!(Auth::begin(plugin, data, b"p", Channel::Open).is_err());
            }
        }
        let long = vec![b'-'; 20_000];
        let keys = [
            &b""[..],
            b"\xff",
            b"-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----",
            &long,
        ];
        for key in keys {
            let (mut auth, _) =
                Auth::begin(Plugin::Sha256, &[1; NONCE_BYTES], b"p", Channel::Trusted).unwrap();
            assert!(auth.more(key, b"p", Channel::Trusted).is_err());
        }
        let (mut auth, _) =
            Auth::begin(Plugin::NativePassword, &[1; NONCE_BYTES], b"p", Channel::Unix).unwrap();
        assert!(auth.more(&[4], b"p", Channel::Unix).is_err());
    }
}
