//! `truetps diff`: what differs between the settings of two servers.

use std::path::Path;

use truetps_driver::Target;
use truetps_inspect::{InspectError, side_of_path, side_of_server};
use truetps_knowledge::{SettingsSide, diff};
use truetps_report::SettingsDiff;

use crate::answer::print_answer;
use crate::args::DiffArgs;
use crate::commands::capture::failure;
use crate::commands::instance::owner_of;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::{self, LoginSources, OwnFile, PASSWORD};

/// The options for separate logins.
const TWO_LOGINS: &str = "TRUETPS_PASSWORD_A and TRUETPS_PASSWORD_B (empty: none), \
                          --defaults-file-a and --defaults-file-b, or --ask-password";

pub(crate) fn run(args: &DiffArgs) -> Result<Exit, CommandFailure> {
    let (file_a, file_b) = (args.defaults_file_a.as_deref(), args.defaults_file_b.as_deref());
    let ends = [
        DiffSide::open(args, &args.a, "A", "TRUETPS_PASSWORD_A", file_a)?,
        DiffSide::open(args, &args.b, "B", "TRUETPS_PASSWORD_B", file_b)?,
    ];
    let shares = shares(&ends, args)?;
    let are_servers = ends.iter().all(DiffSide::is_server);
    let side = |n: usize, like: Option<&SettingsSide>| {
        match ends[n].target(shares[n], args)? {
            Some(target) => side_of_server(&target),
            None => side_of_path(Path::new(ends[n].named), like),
        }
        .map_err(|error| unread(&error, are_servers))
    };
    let mut a = side(0, None)?;
    // An option file is read as the other side's version reads it.
    let b = side(1, Some(&a).filter(|a| a.is_complete))?;
    // A pipe, such as a shell makes of `<(…)`, can be read only once.
    if !a.is_complete && Path::new(&args.a).is_file() {
        a = side(0, Some(&b))?;
    }
    let found = diff(&a, &b);
    print_answer(&SettingsDiff { diff: &found, all: args.all }, args.form())
}

/// One of the two that are compared.
struct DiffSide<'a> {
    named: &'a str,
    /// A named server: it needs no password, and none is sent.
    owner: Option<Target>,
    letter: &'static str,
    /// Environment variable with the password for this server only.
    variable: &'static str,
    /// Option file for this one alone.
    file: Option<&'a Path>,
}

impl<'a> DiffSide<'a> {
    fn open(
        args: &DiffArgs,
        named: &'a str,
        letter: &'static str,
        variable: &'static str,
        file: Option<&'a Path>,
    ) -> Result<Self, CommandFailure> {
        let mut side = Self { named, owner: None, letter, variable, file };
        if !side.is_server() && !Path::new(named).exists() {
            side.owner = owner_of(&args.sandbox, named)?;
        }
        Ok(side)
    }

    fn is_server(&self) -> bool {
        self.named.contains("://")
    }

    /// Whether this server has its own login.
    fn has_own_login(&self) -> Result<bool, CommandFailure> {
        let is_given = self.file.is_some() || std::env::var_os(self.variable).is_some();
        Ok(is_given || login::parse(self.named, self.letter)?.login.password.is_some())
    }

    /// `None`: a file or folder. `is_alone`: login options without a side are for this server.
    fn target(&self, is_alone: bool, args: &DiffArgs) -> Result<Option<Target>, CommandFailure> {
        if self.owner.is_some() || !self.is_server() {
            return Ok(self.owner.clone());
        }
        let asks = args.login.ask_password && !self.has_own_login()?;
        let common = args.login.defaults_file.as_deref().filter(|_| is_alone);
        let variables = [self.variable, PASSWORD];
        let sources = LoginSources {
            variables: if is_alone { &variables } else { &variables[..1] },
            defaults_file: self.file.or(common),
            own_file: is_alone,
            asks,
        };
        login::target(self.named, self.letter, &sources).map(Some)
    }
}

/// Why a side was not read. Where two servers want a password, the hint names the options for both.
fn unread(error: &InspectError, are_servers: bool) -> CommandFailure {
    let wants_password = matches!(error, InspectError::Server { source, .. } if are_servers && source.wants_password());
    if wants_password { failure(error).hint(TWO_LOGINS) } else { failure(error) }
}

/// Which side may use the shared login options: neither if both servers need a login, because the
/// password of one would be sent to the other.
fn shares(ends: &[DiffSide<'_>; 2], args: &DiffArgs) -> Result<[bool; 2], CommandFailure> {
    let mut wants = [false; 2];
    for (end, wants) in ends.iter().zip(&mut wants) {
        *wants = end.is_server() && !end.has_own_login()?;
    }
    if wants != [true; 2] {
        return Ok(wants);
    }
    let [a, b] = [login::parse(&args.a, "A")?, login::parse(&args.b, "B")?];
    if a.endpoints == b.endpoints {
        return Ok(wants);
    }
    if args.login.ask_password {
        return Ok([false; 2]);
    }
    if args.login.defaults_file.is_some() {
        return Err(whose("--defaults-file"));
    }
    if login::is_set(PASSWORD) {
        return Err(whose(PASSWORD));
    }
    let own = [login::own_file_of(&a, &args.a), login::own_file_of(&b, &args.b)];
    // Its user alone is not a secret.
    if own.iter().all(|file| file.as_ref().is_some_and(OwnFile::has_password)) {
        return Err(whose("~/.my.cnf"));
    }
    Ok(own.map(|file| file.is_some()))
}

/// Refuses a login option that would be for both servers, before anything was sent.
fn whose(what: &str) -> CommandFailure {
    CommandFailure::usage(format!(
        "A and B are two servers, and {what} is ambiguous: it applies to one server"
    ))
    .hint(TWO_LOGINS)
}
