//! Sessions inside TLS: what leaves them is TLS.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, OnceLock};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use truetps_driver::{
    Endpoint, Login, MysqlSession, Params, Password, PgSession, Session, SessionEvent, Target, Tls,
    TlsClient, TlsMode,
};
use truetps_record::SqlDialect;

use crate::{PLUGINS, greeting, packet, postgres};

/// In all that a session says: its user, its password, its statements.
const MARK: &str = "mark-4b1f9c";
const HOST: &str = "db.example";
const TLS_REQUEST_OF_MYSQL_BYTES: usize = 36;

/// The first byte says which session it is and how far it comes by itself, the second how the bytes
/// are cut. The rest are records of the server; see [`Conversation::step`].
///
/// Whatever the server says in TLS, all that the session sends is records of TLS, and nothing in
/// them can be read.
pub fn tls_sealing(data: &[u8]) {
    let [kind, cut, rest @ ..] = data else { return };
    let mut conversation = Conversation::begin(*kind, usize::from(*cut));
    if kind & 2 != 0 {
        conversation.log_in();
    }
    let mut rest = rest;
    while !rest.is_empty() {
        rest = conversation.step(rest);
    }
    conversation.client_says(|session, out| session.quit(out));
}

struct Conversation {
    dialect: SqlDialect,
    session: Box<dyn Session>,
    server: ServerConnection,
    /// What the server has heard.
    heard: Vec<u8>,
    /// The session's bytes come in pieces of so many.
    piece: usize,
    /// The number of the server's next packet (MySQL).
    sequence: u8,
    is_idle: bool,
}

impl Conversation {
    /// Up to the login, which the server has not answered.
    fn begin(kind: u8, cut: usize) -> Self {
        let dialect = if kind & 1 == 0 { SqlDialect::Mysql } else { SqlDialect::Postgres };
        let mut session = session(dialect);
        if kind & 4 != 0 {
            session.keep_rows();
        }
        let mut out = Vec::new();
        session.start_login(&mut out);
        let (agreement, request_bytes) = match dialect {
            SqlDialect::Mysql => {
                assert!(out.is_empty());
                (
                    packet(0, &greeting(PLUGINS[usize::from(kind >> 4 & 3)], true)),
                    TLS_REQUEST_OF_MYSQL_BYTES,
                )
            }
            SqlDialect::Postgres => {
                assert_eq!(out.split_off(0), [0, 0, 0, 8, 4, 210, 22, 47]);
                (b"S".to_vec(), 0)
            }
        };
        assert!(matches!(session.on_bytes(&agreement, &mut out), Ok(SessionEvent::Pending)));
        let server = ServerConnection::new(Arc::clone(&stage().server))
            .expect("a configuration that was checked");
        let heard = Vec::new();
        let mut conversation = Self {
            dialect,
            session,
            server,
            heard,
            piece: usize::MAX,
            sequence: 3,
            is_idle: false,
        };
        conversation.check_and_take(&out[request_bytes..]);
        conversation.flush();
        assert!(has_mark(&conversation.heard), "the login came through TLS");
        conversation.piece = cut + 1;
        conversation
    }

    fn log_in(&mut self) {
        match self.dialect {
            SqlDialect::Mysql => {
                self.server_says(&packet(3, crate::OK));
                self.server_says(&packet(1, crate::OK));
            }
            SqlDialect::Postgres => {
                self.server_says(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
                self.server_says(b"C\0\0\0\x08SET\0Z\0\0\0\x05I");
            }
        }
        assert!(self.is_idle);
    }

    /// The lowest four bits: so many messages, of a byte of length and then so many, in one record.
    /// 0x10: they are no messages. 0x20: a statement first, where one may be sent. 0x40: bytes that
    /// are no records.
    fn step<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let Some((what, mut rest)) = data.split_first() else { return &[] };
        if what & 0x20 != 0 && std::mem::take(&mut self.is_idle) {
            self.send(what & 3);
        }
        let mut plain = Vec::new();
        for _ in 0..what & 15 {
            let [length, behind @ ..] = rest else { break };
            let (message, behind) = behind.split_at(usize::from(*length).min(behind.len()));
            rest = behind;
            match self.dialect {
                _ if what & 0x10 != 0 => plain.extend_from_slice(message),
                SqlDialect::Mysql => {
                    plain.extend_from_slice(&packet(self.sequence, message));
                    self.sequence = self.sequence.wrapping_add(1);
                }
                SqlDialect::Postgres => plain.extend_from_slice(&postgres::message(message)),
            }
        }
        if what & 0x40 != 0 {
            self.deliver(&plain)
        } else {
            self.server_says(&plain)
        }
        rest
    }

    fn send(&mut self, which: u8) {
        self.sequence = 1;
        self.client_says(|session, out| match which {
            0 => session.send_sql(&format!("SELECT '{MARK}'"), out),
            1 => {
                session.collect(Box::default());
                session.send_bytes(format!("SELECT '{MARK}'; SELECT 1").as_bytes(), out);
            }
            2 => session.prepare(format!("SELECT '{MARK}', ?").as_bytes(), &[], out).expect("idle"),
            _ => {
                let mut params = Params::default();
                params.push_text(|text| text.extend_from_slice(MARK.as_bytes()));
                // Where nothing was prepared, it is refused.
                if session.execute(0, &params, out).is_err() {
                    session.send_sql(MARK, out);
                }
            }
        });
    }

    fn client_says(&mut self, say: impl FnOnce(&mut dyn Session, &mut Vec<u8>)) {
        let mut out = Vec::new();
        say(&mut *self.session, &mut out);
        self.check_and_take(&out);
    }

    fn server_says(&mut self, plain: &[u8]) {
        let _ = self.server.writer().write_all(plain);
        self.flush();
    }

    /// Until neither has anything to say.
    fn flush(&mut self) {
        while self.server.wants_write() {
            let mut bytes = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut bytes).expect("memory");
            }
            self.deliver(&bytes);
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(self.piece.min(bytes.len().max(1))) {
            let mut out = Vec::new();
            match self.session.on_bytes(piece, &mut out) {
                Ok(SessionEvent::Pending) => {}
                Ok(SessionEvent::Ready | SessionEvent::Reply(_) | SessionEvent::Prepared(_)) => {
                    self.is_idle = true
                }
                // A caller who goes on must not be harmed.
                Err(_) => self.is_idle = false,
            }
            self.check_and_take(&out);
        }
    }

    /// The invariant; then the server hears it.
    fn check_and_take(&mut self, out: &[u8]) {
        assert!(!has_mark(out), "what the session said can be read");
        let mut records = out;
        while let [kind, 3, minor, high, low, rest @ ..] = records {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            assert!(
                (20..=23).contains(kind) && (1..=3).contains(minor) && length <= rest.len(),
                "no record of TLS"
            );
            records = &rest[length..];
        }
        assert!(records.is_empty(), "no record of TLS");
        let mut bytes = out;
        while !bytes.is_empty() && self.server.read_tls(&mut bytes).is_ok_and(|taken| taken > 0) {
            if self.server.process_new_packets().is_err() {
                break;
            }
            let _ = self.server.reader().read_to_end(&mut self.heard);
        }
    }
}

fn has_mark(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

fn session(dialect: SqlDialect) -> Box<dyn Session> {
    let target = Arc::new(Target {
        dialect,
        endpoints: vec![Endpoint::Tcp { host: HOST.to_owned(), port: 1 }],
        login: Login {
            user: format!("u-{MARK}"),
            password: Some(Password::new(MARK)),
            database: None,
        },
        tls: stage().tls.clone(),
        setup: vec![format!("SET x = '{MARK}'").into()],
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    });
    let tls = Some(stage().client.clone());
    match dialect {
        SqlDialect::Mysql => {
            Box::new(MysqlSession::new(target, Arc::new([]), false).for_client(0, tls))
        }
        SqlDialect::Postgres => Box::new(PgSession::new(target, Arc::new([]), false, tls, 0)),
    }
}

/// What is made once: an authority, the server's certificate, and a client that trusts it.
struct Stage {
    server: Arc<ServerConfig>,
    client: TlsClient,
    tls: Tls,
}

fn stage() -> &'static Stage {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    STAGE.get_or_init(|| make_stage().expect("certificates"))
}

fn make_stage() -> Result<Stage, Box<dyn std::error::Error>> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = std::env::temp_dir().join(format!("truetps-fuzz-ca-{}.pem", std::process::id()));
    std::fs::write(&ca, authority.self_signed(&authority_key)?.pem())?;
    // Needed for the password: a session sends it in clear text only to a server that it has
    // verified.
    let tls = Tls { mode: TlsMode::VerifyIdentity, ca: Some(ca.clone()), ..Tls::default() };
    let client = TlsClient::new(&tls)?.ok_or("a mode that encrypts")?;
    std::fs::remove_file(&ca)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![HOST.to_owned()])?
        .signed_by(&key, &Issuer::new(authority, authority_key))?;
    let server =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der())?,
            )?;
    Ok(Stage { server: Arc::new(server), client, tls })
}
