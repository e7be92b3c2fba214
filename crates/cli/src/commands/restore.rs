//! `truetps server restore`: restores servers of `--dsn` after killed runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use truetps_driver::Target;
use truetps_lab::{
    ExternalError, IdentityProof, Journal, LabError, LeftJournals, Restored, restore, unfinished,
};
use truetps_report::format::shell_word;
use truetps_report::printable;

use crate::args::RestoreArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::{self, LoginSources, PASSWORD};
use crate::site;
use crate::terminal::{print_line, print_message, print_out};

pub(crate) fn run(args: &RestoreArgs) -> Result<Exit, CommandFailure> {
    // A journal names its server.
    let usual = if args.journal.is_none() { site::dsn_of_settings() } else { None };
    let dsn = args.dsn.clone().or(usual);
    let LeftJournals { left: journals, held } = match &args.journal {
        Some(path) => LeftJournals { left: vec![path.clone()], held: Vec::new() },
        None => unfinished(&site::journals(&args.runs)).map_err(LabError::from)?,
    };
    if journals.is_empty() && held.is_empty() {
        print_message("nothing to restore: no killed run has left a journal\n");
        return Ok(Exit::Good);
    }
    let is_one_server = dsn.is_some() || args.journal.is_some() || addresses(&journals).len() < 2;
    let mut logins = Logins { args, dsn, is_one_server, known: BTreeMap::new() };
    logins.refuse_one_for_all(&journals)?;
    // All journals are tried: a server that is gone must not block the others.
    let mut first_failure = None;
    let mut skipped = Vec::new();
    for path in &journals {
        match restore_journal(path, args, &mut logins) {
            Ok(()) => {}
            // Journals of other servers are skipped, and reported at the end.
            Err(Refused::OtherServer(error)) if logins.dsn.is_some() && args.journal.is_none() => {
                print_message(&format!(
                    "{}: skipped, belongs to another server than --dsn (or TRUETPS_DSN): {error}\n",
                    path.display()
                ));
                skipped.push((path, error));
            }
            Err(refused) => {
                let failure = match refused {
                    Refused::OtherServer(error) => error.into(),
                    Refused::Failed(failure) => failure,
                };
                if first_failure.is_none() {
                    first_failure = Some(failure);
                } else {
                    print_message(&failure.to_string());
                }
            }
        }
    }
    for path in &held {
        print_line(&format!("{}: in use by a live run or another restore", path.display()));
    }
    match (first_failure, skipped.into_iter().next()) {
        (Some(failure), _) => Err(failure),
        (None, Some((path, error))) => Err(passed_over(path, &error)),
        (None, None) if held.is_empty() => Ok(Exit::Good),
        (None, None) => Err(CommandFailure::usage(
            "a journal is in use and was not restored: the process that uses it restores \
                the server at its end",
        )
        .hint("wait for its end, or end that run with Ctrl-C")),
    }
}

fn passed_over(path: &Path, error: &LabError) -> CommandFailure {
    let hint = match error {
        LabError::External(ExternalError::OtherOrMoved { .. }) => error.hint(),
        _ => Some(format!(
            "truetps server restore --journal {} --dsn DSN, or without a DSN",
            shell_word(&path.display().to_string())
        )),
    };
    CommandFailure::usage("journals of other servers remain").hint_if(hint)
}

/// The servers that journals are of.
fn addresses(journals: &[PathBuf]) -> BTreeSet<String> {
    journals.iter().filter_map(|path| Some(Journal::read(path).ok()?.address)).collect()
}

/// The account to restore with, on each server.
struct Logins<'a> {
    args: &'a RestoreArgs,
    /// The server; `None`: each journal names its own.
    dsn: Option<String>,
    /// The login options are for one server.
    is_one_server: bool,
    /// By DSN: the password of a server is asked for once.
    known: BTreeMap<String, Target>,
}

impl Logins<'_> {
    /// A password is never sent to another server, whose address comes only from a file.
    fn refuse_one_for_all(&self, journals: &[PathBuf]) -> Result<(), CommandFailure> {
        let login = &self.args.login;
        let is_given_once = login::is_set(PASSWORD) || login.defaults_file.is_some();
        if self.is_one_server || login.ask_password || !is_given_once {
            return Ok(());
        }
        let what = if login.defaults_file.is_some() { "--defaults-file" } else { PASSWORD };
        let addresses: Vec<_> = addresses(journals).into_iter().collect();
        let message = format!(
            "{what} is for one server, but the journals are of several servers: {}",
            addresses.join(", ")
        );
        let hint =
            "name the server with --dsn, or one journal with --journal, or use --ask-password";
        Err(CommandFailure::usage(message).hint(hint))
    }

    fn target(&mut self, address: &str) -> Result<Target, CommandFailure> {
        let dsn = self.dsn.as_deref().unwrap_or(address);
        if let Some(target) = self.known.get(dsn) {
            return Ok(target.clone());
        }
        let login = &self.args.login;
        let of_one = LoginSources::of_one(login.defaults_file.as_deref(), login.ask_password);
        // With several servers, only passwords typed for each remain.
        let of_several =
            LoginSources { variables: &[], defaults_file: None, own_file: false, ..of_one };
        let target =
            login::target(dsn, site::DSN, if self.is_one_server { &of_one } else { &of_several })?;
        self.known.insert(dsn.to_owned(), target.clone());
        Ok(target)
    }
}

enum Refused {
    OtherServer(LabError),
    Failed(CommandFailure),
}

impl From<LabError> for Refused {
    fn from(error: LabError) -> Self {
        match &error {
            LabError::External(
                ExternalError::OtherServer { .. } | ExternalError::OtherOrMoved { .. },
            ) => Self::OtherServer(error),
            // The server may have unknown leftovers.
            LabError::External(ExternalError::Damaged { .. } | ExternalError::Untrusted { .. }) => {
                Self::Failed(CommandFailure::broken(error))
            }
            _ => Self::Failed(error.into()),
        }
    }
}

fn restore_journal(
    path: &Path,
    args: &RestoreArgs,
    logins: &mut Logins<'_>,
) -> Result<(), Refused> {
    let journal = Journal::read(path).map_err(LabError::from)?;
    print_line(&format!(
        "{}: a run of {} left {}",
        journal.address,
        journal.begun_at,
        journal.contents_text()
    ));
    let target = logins.target(&journal.address).map_err(Refused::Failed)?;
    let proof = match &args.journal {
        Some(_) if args.same_server => IdentityProof::SameServer,
        Some(_) => IdentityProof::Named,
        None => IdentityProof::Id,
    };
    let Restored { done, left, failed: not_done, kept, notes } = restore(path, &target, proof)?;
    for note in notes {
        print_line(&note);
    }
    let done = done.iter().map(|line| format!("restored: {}\n", printable(line)));
    let left = left.iter().map(|line| format!("left unchanged: {}\n", printable(line)));
    let kept =
        kept.map(|kept| format!("the settings before the run are kept in {}\n", kept.display()));
    let lines: String = done.chain(left).chain(kept).collect();
    let nothing = if not_done.is_empty() { "everything is as it was\n" } else { "" };
    print_out(if lines.is_empty() { nothing } else { &lines });
    if not_done.is_empty() {
        return Ok(());
    }
    let message = LabError::from(ExternalError::NotAsBefore { what: not_done });
    let journal = shell_word(&path.display().to_string());
    let hint = format!("fix the cause, then run: truetps server restore --journal {journal}");
    Err(Refused::Failed(CommandFailure::failed(&message).hint(hint)))
}
