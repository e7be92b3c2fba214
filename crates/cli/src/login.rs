//! Who logs in at the server of a DSN, and where the password comes from. No server gets the
//! password of another one unless the user has said so.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use truetps_compat::{ClientLogin, NoPassword, client_login};
use truetps_driver::{Client, Password, Target};
use truetps_lab::PARTS_SECRET;
use truetps_record::SqlDialect;

use crate::failure::CommandFailure;
use crate::signals;
use crate::terminal::{print_line, print_message};

/// The password is read from here, so that it is on no command line.
pub(crate) const PASSWORD: &str = "TRUETPS_PASSWORD";
/// Where MySQL's programs look for the user's own login.
const OWN_FILE: &str = ".my.cnf";
/// Time limit of the check whether a password is required.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// How an account is given beside a DSN.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LoginArgs {
    /// Option file of MySQL's programs: user and password of its group [client], where neither the
    /// DSN nor TRUETPS_PASSWORD has them
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Ask for the account's password on the terminal, for each server
    #[arg(long)]
    pub(crate) ask_password: bool,
}

/// Sources of an account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoginSources<'a> {
    /// Names of variables of the environment: the first that is set counts.
    pub(crate) variables: &'a [&'a str],
    pub(crate) defaults_file: Option<&'a Path>,
    /// Whether what the user has for MySQL's programs, without having named it, is meant for this
    /// server: not where it could be for another one as well.
    pub(crate) own_file: bool,
    pub(crate) asks: bool,
}

impl<'a> LoginSources<'a> {
    /// The sources for a command that is about one server.
    pub(crate) fn of_one(defaults_file: Option<&'a Path>, asks: bool) -> Self {
        Self { variables: &[PASSWORD], defaults_file, own_file: true, asks }
    }
}

/// The server of a DSN, which `flag` has named.
pub(crate) fn parse(dsn: &str, flag: &str) -> Result<Target, CommandFailure> {
    let hint =
        "for example mysql://root@?socket=/run/mysqld/mysqld.sock; `truetps help dsn` has the rest";
    Target::parse(dsn).map_err(|error| CommandFailure::usage(format!("{flag}: {error}")).hint(hint))
}

/// The server of a DSN, with its account.
pub(crate) fn target(
    dsn: &str,
    flag: &str,
    sources: &LoginSources<'_>,
) -> Result<Target, CommandFailure> {
    let mut target = parse(dsn, flag)?;
    warn_of_typed_password(&target, dsn);
    if target.login.password.is_none()
        && let Some(password) = password_of(sources.variables)
    {
        target = target.with_password(password);
    }
    if let Some(path) = sources.defaults_file {
        let file = client_login(path).map_err(|problem| {
            CommandFailure::usage(format!("--defaults-file {}: {problem}", path.display()))
                .advised_by(&problem)
        })?;
        complete_login(&mut target, dsn, file);
    }
    if sources.asks {
        return ask(target);
    }
    if sources.own_file && sources.defaults_file.is_none() && target.login.password.is_none() {
        take_own_file(&mut target, dsn);
    }
    if wants_password(&target) { ask(target) } else { Ok(target) }
}

/// The first of these variables that is set; one that is empty says that there is none.
fn password_of(variables: &[&str]) -> Option<String> {
    let found = variables.iter().find_map(|name| std::env::var(name).ok())?;
    Some(found).filter(|password| !password.is_empty())
}

/// The secret of the parts of a load. It is in the environment, so that it is on no command line.
pub(crate) fn parts_secret() -> Result<Option<Password>, CommandFailure> {
    parts_secret_of(password_of(&[PARTS_SECRET]))
}

/// `secret`: the value of the variable, for programs that have taken it out of the environment.
pub(crate) fn parts_secret_of(secret: Option<String>) -> Result<Option<Password>, CommandFailure> {
    const CHARS_MIN: usize = 16;
    let Some(secret) = secret.filter(|secret| !secret.is_empty()) else { return Ok(None) };
    let chars = secret.chars().count();
    if chars < CHARS_MIN {
        let message = format!(
            "{PARTS_SECRET} has {chars} characters: one with less than {CHARS_MIN} can be guessed"
        );
        return Err(CommandFailure::usage(message).hint("use the output of: openssl rand -hex 16"));
    }
    Ok(Some(Password::new(secret)))
}

pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|text| !text.is_empty())
}

fn warn_of_typed_password(target: &Target, dsn: &str) {
    let is_typed = std::env::args_os().any(|word| word.to_string_lossy().ends_with(dsn));
    if target.login.password.is_some() && is_typed {
        print_message(&format!(
            "warning: a password on the command line can be read by every user of this host: use \
             {PASSWORD}\n"
        ));
    }
}

/// Fills in what DSN and environment lack of the account.
fn complete_login(target: &mut Target, dsn: &str, file: ClientLogin) {
    file.warnings.iter().for_each(|warning| print_line(&format!("warning: {warning}")));
    if let Some(user) = file.user.filter(|_| !names_user(dsn)) {
        target.login.user = user;
    }
    if target.login.password.is_none() {
        target.login.password = file.password;
    }
}

fn names_user(dsn: &str) -> bool {
    let authority = dsn
        .split_once("://")
        .map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    authority.rsplit_once('@').is_some_and(|(user, _)| !user.is_empty())
}

/// As MySQL's programs do: `~/.my.cnf`, for an account that the DSN does not name, or names as the
/// file does.
pub(crate) fn own_file_of(target: &Target, dsn: &str) -> Option<OwnFile> {
    let home = std::env::var_os("HOME").filter(|_| target.dialect == SqlDialect::Mysql)?;
    let path = Path::new(&home).join(OWN_FILE);
    if !path.is_file() {
        return None;
    }
    let login = match client_login(&path) {
        Ok(login) => login,
        Err(problem) => {
            print_line(&format!("warning: {problem}: no login is taken from it"));
            return None;
        }
    };
    let is_other = names_user(dsn) && login.user.as_ref() != Some(&target.login.user);
    let is_empty = login.user.is_none() && login.password.is_none();
    (!is_other && !is_empty).then_some(OwnFile { path, login })
}

/// What `~/.my.cnf` has for a server.
pub(crate) struct OwnFile {
    path: PathBuf,
    login: ClientLogin,
}

impl OwnFile {
    pub(crate) fn has_password(&self) -> bool {
        self.login.password.is_some()
    }
}

fn take_own_file(target: &mut Target, dsn: &str) {
    let Some(OwnFile { path, login }) = own_file_of(target, dsn) else { return };
    complete_login(target, dsn, login);
    print_line(&format!("login of `{}` from {}", target.login.user, path.display()));
}

/// Whether the password of this server is missing and can be asked for on a terminal.
fn wants_password(target: &Target) -> bool {
    let is_attended = io::stdin().is_terminal() && io::stderr().is_terminal();
    target.login.password.is_none()
        && is_attended
        && Client::connect(target, LOOK_TIMEOUT).is_err_and(|error| error.wants_password())
}

fn ask(target: Target) -> Result<Target, CommandFailure> {
    print_line(&target.to_string());
    // A signal while nothing is shown of what is typed would leave the terminal so.
    let answer = signals::unless_signalled(truetps_compat::ask_password)?;
    match answer.unwrap_or(Err(NoPassword::Interrupted)) {
        Ok(password) => Ok(target.with_password(password)),
        Err(NoPassword::Interrupted) => {
            Err(CommandFailure::interrupted("interrupted at the password"))
        }
        Err(NoPassword::NoTerminal(error)) => Err(CommandFailure::usage(format!(
            "--ask-password: no terminal available for the prompt ({error})"
        ))
        .hint(format!("give the password in {PASSWORD}, or in the file of --defaults-file"))),
        Err(NoPassword::Problem(error)) => {
            Err(CommandFailure::usage(format!("the password cannot be read: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_before_the_host() {
        for dsn in ["mysql://me@h", "mysql://me:x@h/s", "mysql://me@?socket=/s"] {
            assert!(names_user(dsn), "{dsn}");
        }
        for dsn in ["mysql://h", "mysql://@h", "mysql://?socket=/a@b", "mysql://h/a@b"] {
            assert!(!names_user(dsn), "{dsn}");
        }
    }
}
