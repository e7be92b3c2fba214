//! From the greeting to the server's OK.

use super::auth::{Auth, Channel, Plugin, Problem, Requested};
use super::handshake::{Greeting, LoginReply, parse_login_reply, put_login};
use crate::{DriverError, Endpoint, LoginError, Target, Tls, TlsMode};

const ACCESS_DENIED: u16 = 1045;
/// A server with several plugins for one account asks for each in turn; MariaDB allows some.
const SWITCHES_MAX: u8 = 16;

/// A login that was sent and has not ended.
#[derive(Debug)]
pub(super) struct LoginExchange {
    auth: Auth,
    channel: Channel,
    switches: u8,
}

/// The next step of a login.
#[derive(Debug)]
pub(super) enum LoginStep {
    LoggedIn,
    Answer(Vec<u8>),
    /// Wait for the server's next packet.
    Wait,
}

impl LoginExchange {
    /// Appends the payload of the login.
    pub(super) fn begin(
        target: &Target,
        endpoint: &Endpoint,
        is_encrypted: bool,
        greeting: &Greeting,
        out: &mut Vec<u8>,
    ) -> Result<Self, DriverError> {
        let channel = channel(&target.tls, endpoint, is_encrypted);
        // The account's own plugin is not known yet. If answering with the server's default plugin
        // could reveal the password, the oldest plugin is used: the server then requests the right
        // one.
        let plugin = Plugin::of_name(&greeting.plugin).filter(|plugin| plugin.suits_a_greeting());
        let plugin = plugin.unwrap_or(Plugin::NativePassword);
        let (auth, answer) = Auth::begin(plugin, &greeting.nonce, password(target), channel)
            .map_err(|problem| error(target, plugin, problem))?;
        put_login(out, target, greeting, is_encrypted, plugin.name(), &answer);
        Ok(Self { auth, channel, switches: 0 })
    }

    /// Takes the server's next packet.
    pub(super) fn packet(
        &mut self,
        payload: &[u8],
        target: &Target,
    ) -> Result<LoginStep, DriverError> {
        // MariaDB before 11.8.4 sends the salt of PARSEC without the byte that begins all other
        // requests of a plugin.
        let is_bare_salt =
            self.auth.requested == Some(Requested::ParsecSalt) && payload.first() == Some(&b'P');
        if is_bare_salt {
            return self.answer_request(payload, target);
        }
        let reply = parse_login_reply(payload).map_err(|refusal| match refusal {
            DriverError::Server(said)
                if said.code == ACCESS_DENIED
                    && self.auth.requested == Some(Requested::PublicKey) =>
            {
                error(target, self.auth.plugin, Problem::NotEncrypted("the server has no RSA key"))
            }
            other => other,
        });
        match reply? {
            LoginReply::LoggedIn => Ok(LoginStep::LoggedIn),
            LoginReply::Switch { plugin, data } => {
                self.switch(plugin, data, target).map(LoginStep::Answer)
            }
            LoginReply::More(data) => self.answer_request(data, target),
        }
    }

    fn answer_request(&mut self, data: &[u8], target: &Target) -> Result<LoginStep, DriverError> {
        let answer = self.auth.more(data, password(target), self.channel);
        let answer = answer.map_err(|problem| error(target, self.auth.plugin, problem))?;
        Ok(answer.map_or(LoginStep::Wait, LoginStep::Answer))
    }

    fn switch(
        &mut self,
        name: &[u8],
        data: &[u8],
        target: &Target,
    ) -> Result<Vec<u8>, DriverError> {
        self.switches += 1;
        if self.switches > SWITCHES_MAX {
            return Err(DriverError::Protocol("it asks for too many plugins in turn"));
        }
        let name = String::from_utf8_lossy(name);
        let Some(plugin) = Plugin::of_name(&name) else {
            let (plugin, account) = (name.into_owned(), target.login.user.clone());
            return Err(LoginError::UnknownPlugin { plugin, account }.into());
        };
        let begun = Auth::begin(plugin, data, password(target), self.channel);
        let (auth, answer) = begun.map_err(|problem| error(target, plugin, problem))?;
        self.auth = auth;
        Ok(answer)
    }
}

fn channel(tls: &Tls, endpoint: &Endpoint, is_encrypted: bool) -> Channel {
    let is_unix = matches!(endpoint, Endpoint::Unix(_));
    let is_verified = is_unix || matches!(tls.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
    match (is_encrypted, is_verified) {
        (true, true) => Channel::Verified,
        (true, false) => Channel::Encrypted,
        (false, _) if is_unix => Channel::Unix,
        (false, _) if tls.takes_server_key || endpoint.is_local() => Channel::Trusted,
        (false, _) => Channel::Open,
    }
}

fn password(target: &Target) -> &[u8] {
    target.login.password.as_ref().map_or(&[], |password| password.reveal().as_bytes())
}

fn error(target: &Target, plugin: Plugin, problem: Problem) -> DriverError {
    let (plugin, account) = (plugin.name().to_owned(), target.login.user.clone());
    match problem {
        Problem::NotSecret => LoginError::NotSecret { plugin, account }.into(),
        Problem::UnknownKey => LoginError::UnknownKey { plugin, account }.into(),
        Problem::NotEncrypted(problem) => LoginError::NotEncrypted { account, problem }.into(),
        Problem::Exchange(problem) => LoginError::Exchange { plugin, account, problem }.into(),
    }
}
