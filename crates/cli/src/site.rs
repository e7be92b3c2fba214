//! Where a command measures: private servers of a program on this host, or a server that runs already.

use truetps_driver::{Dialect, Target};
use truetps_lab::Pin;
use truetps_record::Plan;
use truetps_sandbox::{Home, ServerBinary, find};

use crate::args::{EngineArgs, Place};
use crate::failure::Failure;
use crate::{pin, say};

/// The password is read from here, so that it is on no command line.
const PASSWORD: &str = "TRUETPS_PASSWORD";

pub(crate) struct Site {
    ground: Ground,
    pub(crate) pin: Pin,
}

enum Ground {
    Private { home: Home, binary: ServerBinary },
    Given { target: Target, schema: String },
}

impl Site {
    pub(crate) fn open(plan: &Plan, place: &Place, engine: &EngineArgs) -> Result<Self, Failure> {
        let pin = engine.pin.as_deref().map_or(Ok(Pin::default()), pin::parse)?;
        let ground = match &place.dsn {
            Some(dsn) => Ground::Given { target: target(dsn)?, schema: schema(&place.schema)? },
            None => private(plan, place)?,
        };
        Ok(Self { ground, pin })
    }

    pub(crate) fn place(&self) -> truetps_lab::Place<'_> {
        match &self.ground {
            Ground::Private { home, binary } => truetps_lab::Place::Private { home, binary },
            Ground::Given { target, schema } => truetps_lab::Place::Given { target, schema },
        }
    }

    /// The command line as it is recorded: without a password that may be in it.
    pub(crate) fn command(&self) -> Vec<String> {
        let Ground::Given { target, .. } = &self.ground else { return std::env::args().collect() };
        let shown = target.to_string();
        let without_password = |word: String| match word.split_once("://") {
            Some((before, _)) if Target::parse(word.trim_start_matches("--dsn=")).is_ok() => {
                let flag = if before.starts_with("--dsn=") { "--dsn=" } else { "" };
                format!("{flag}{shown}")
            }
            _ => word,
        };
        std::env::args().map(without_password).collect()
    }
}

fn private(plan: &Plan, place: &Place) -> Result<Ground, Failure> {
    let home =
        Home::open(place.sandbox.sandbox_dir.as_deref()).map_err(|error| Failure::usage(&error).hint(error.hint()))?;
    let binary = find(place.basedir.as_deref(), plan.server.flavour, home.user())
        .map_err(|error| Failure::usage(&error).hint(error.hint()))?;
    Ok(Ground::Private { home, binary })
}

fn parse(dsn: &str) -> Result<Target, Failure> {
    let hint = "for example mysql://root@?socket=/run/mysqld/mysqld.sock; docs/reference/dsn.md has the rest";
    let wrong = |problem: &str| Failure::usage(format!("--dsn: {problem}")).hint(hint.to_owned());
    let target = Target::parse(dsn);
    if is_cut(dsn, target.is_err()) {
        return Err(wrong("a `/` or `?` stands before the `@`: in a name or password they are written %2F and %3F"));
    }
    target.map_err(|error| wrong(&error.to_string()))
}

/// Whether a letter of a password may have cut the address in two. What is then read as schema, port or option may be a
/// part of it, and must not be told.
fn is_cut(dsn: &str, is_wrong: bool) -> bool {
    let rest = dsn.split_once("://").map_or(dsn, |(_, rest)| rest);
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let in_schema = place.split_once('/').is_some_and(|(_, schema)| schema.contains('@'));
    // The path of a socket may have one.
    in_schema || (is_wrong && options.contains('@'))
}

fn target(dsn: &str) -> Result<Target, Failure> {
    let target = parse(dsn)?;
    let has_password = target.login.password.is_some();
    if has_password && std::env::args().any(|word| word.ends_with(dsn)) {
        say(&format!(
            "warning: a password on the command line can be read by everybody on this host: use {PASSWORD}\n"
        ));
    }
    Ok(match std::env::var(PASSWORD) {
        Ok(password) if !has_password => target.with_password(password),
        _ => target,
    })
}

/// A name that both families take without folding and without surprise.
fn schema(name: &str) -> Result<String, Failure> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > 63 || !name.chars().all(fine) {
        return Err(Failure::usage(format!("--schema {name}: must be 1 to 63 lower-case letters, digits or `_`")));
    }
    Ok(name.to_owned())
}

/// The SQL of the place that a command measures at.
pub(crate) fn dialect(place: &Place) -> Result<Dialect, Failure> {
    place.dsn.as_deref().map_or(Ok(Dialect::Mysql), |dsn| parse(dsn).map(|target| target.dialect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_a_password_cuts_is_seen() {
        let check = |dsn: &str| is_cut(dsn, Target::parse(dsn).is_err());
        for cut in ["mysql://u:12/secret@h", "mysql://u:a/b@h/db", "mysql://u:a?b@h", "mysql://u:a?tls=off@h"] {
            assert!(check(cut), "{cut}");
        }
        for whole in
            ["mysql://u:a@b@h/db?tls=off", "mysql://u@?socket=/run/a@b", "mysql://h/a%40b", "h", "mysql://h?x=1"]
        {
            assert!(!check(whole), "{whole}");
        }
    }
}
