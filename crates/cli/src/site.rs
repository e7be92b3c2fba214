//! Where a command measures: private servers of a program on this host, or a server that runs
//! already.

use std::path::{Path, PathBuf};
use std::time::Duration;

use truetps_disk::{DiskProfile, choose_level};
use truetps_driver::Target;
use truetps_lab::{
    ExternalServer, LabError, Pin, PlannedDisks, ServerProgram, refuse_system_schema,
};
use truetps_plan::Plan;
use truetps_record::{DISK, PREALLOC, Part, SERVER, SqlDialect, TABLE_ROWS};
use truetps_recording::state_folder;
use truetps_sandbox::{Home, NamedServers, SandboxDisk, Use, find};

use crate::args::FolderArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::login::{LoginSources, parse, parts_secret, target};
use crate::option_file::of_file;
use crate::pin;
use crate::progress::Progress;
use crate::settings::{self, BASEDIR, SERVER as USUAL_SERVER};
use crate::terminal::print_out;

pub(crate) const DSN: &str = "--dsn";
pub(crate) const SCHEMA: &str = "truetps";

pub(crate) struct RunSite {
    choice: ServerChoice,
    pub(crate) pin: Pin,
}

#[expect(clippy::large_enum_variant, reason = "a command has one of them")]
enum ServerChoice {
    Private { home: Home, programs: Vec<ServerProgram>, disks: PlannedDisks, _uses: Vec<Use> },
    Given(ExternalServer),
}

impl RunSite {
    pub(crate) fn open(
        plan: &Plan,
        place: &FolderArgs,
        pin: Option<&str>,
    ) -> Result<Self, CommandFailure> {
        let pin = pin.map_or(Ok(Pin::default()), pin::parse)?;
        let names = plan.server_names();
        if place.dsn.is_some() && !names.is_empty() {
            return Err(named_elsewhere(&names, DSN));
        }
        if place.dsn.is_some() && !plan.disk_names().is_empty() {
            let message = "an emulated disk is for private servers, and --dsn names another server";
            return Err(
                CommandFailure::usage(message).hint("leave --disk out, and `disk` of the plan")
            );
        }
        if usual_dsn(place, !names.is_empty()).is_some() {
            refuse_private_factors(plan)?;
        }
        let choice = match usual_dsn(place, !names.is_empty() || !plan.disk_names().is_empty()) {
            Some(dsn) => ServerChoice::Given(external(&dsn, place)?),
            None => private(plan, place)?,
        };
        Ok(Self { choice, pin })
    }

    pub(crate) fn source(&self) -> truetps_lab::ServerSource<'_> {
        match &self.choice {
            ServerChoice::Private { home, programs, disks, .. } => {
                truetps_lab::ServerSource::Private { home, programs, disks }
            }
            ServerChoice::Given(external) => truetps_lab::ServerSource::Given(external),
        }
    }

    /// The address of an external server, without a password.
    pub(crate) fn address(&self) -> Option<String> {
        match &self.choice {
            ServerChoice::Private { .. } => None,
            ServerChoice::Given(external) => Some(external.target.to_string()),
        }
    }

    /// This process makes one part of the load.
    pub(crate) fn with_part(mut self, part: Part, wait: Duration) -> Result<Self, CommandFailure> {
        match &mut self.choice {
            ServerChoice::Private { .. } => Err(CommandFailure::usage(
                "the parts of a load meet in one server: --part needs --dsn",
            )
            .hint("start a server, and name it with --dsn in all parts")),
            ServerChoice::Given(external) if external.schema_is_theirs => {
                let message = "parts meet in a schema of truetps: --part cannot be used with \
                               --i-own-this-schema";
                Err(CommandFailure::usage(message).hint("leave --i-own-this-schema out"))
            }
            ServerChoice::Given(external) => {
                (external.part, external.part_wait) = (part, wait);
                external.parts_secret = parts_secret()?;
                Ok(self)
            }
        }
    }

    /// Prints what a run on an external server would send; runs on private servers are not
    /// rehearsed.
    pub(crate) fn rehearse(&self, plan: &Plan) -> Result<Exit, CommandFailure> {
        let ServerChoice::Given(external) = &self.choice else {
            return Err(CommandFailure::usage("--dry-run needs a server of --dsn"));
        };
        let lines = truetps_lab::rehearse(plan, external, &mut Progress::new())?;
        Ok(print_out(&(lines.join("\n") + "\n")))
    }

    /// The command line as it is recorded: without a password that may be in it.
    pub(crate) fn command(&self) -> Vec<String> {
        let ServerChoice::Given(ExternalServer { target, .. }) = &self.choice else {
            return words().collect();
        };
        let shown = target.to_string();
        words().map(|word| without_password(word, &shown)).collect()
    }
}

/// A word of the command line, in which `shown` stands for the address of the server.
fn without_password(word: String, shown: &str) -> String {
    match word.split_once("://") {
        Some((before, _)) if Target::parse(word.trim_start_matches("--dsn=")).is_ok() => {
            let flag = if before.starts_with("--dsn=") { "--dsn=" } else { "" };
            format!("{flag}{shown}")
        }
        _ => word,
    }
}

fn external(dsn: &str, place: &FolderArgs) -> Result<ExternalServer, CommandFailure> {
    let target = target(
        dsn,
        DSN,
        &LoginSources::of_one(place.defaults_file.as_deref(), place.ask_password),
    )?;
    let schema = place.schema.as_deref().unwrap_or(SCHEMA);
    Ok(ExternalServer {
        schema: self::schema(schema, place.i_own_this_schema, target.dialect)?,
        target,
        schema_is_theirs: place.i_own_this_schema,
        journals: journals(&place.runs),
        part: Part::WHOLE,
        part_wait: Duration::ZERO,
        parts_secret: None,
    })
}

fn private(plan: &Plan, place: &FolderArgs) -> Result<ServerChoice, CommandFailure> {
    refuse_flags_of_dsn(place)?;
    let home = Home::open(place.sandbox.sandbox_dir.as_deref())?;
    let (programs, uses) =
        programs(plan, &home, place.basedir.as_deref(), place.my_cnf.as_deref())?;
    Ok(ServerChoice::Private { home, programs, disks: disks(plan)?, _uses: uses })
}

/// Factors for which a server has to be started, or filled, by truetps.
fn refuse_private_factors(plan: &Plan) -> Result<(), CommandFailure> {
    if plan.factors.contains_key(TABLE_ROWS) {
        let message = "table_rows as a factor is for private servers: tables in another server are \
                       filled once";
        return Err(CommandFailure::usage(message)
            .hint("leave --dsn out, or run one sweep for each --table-rows"));
    }
    if plan.factors.contains_key(PREALLOC) {
        let message =
            "prealloc as a factor is for private servers, which are started with the library";
        return Err(CommandFailure::usage(message).hint(
            "leave --dsn out: `truetps prealloc advise` measures with the settings of a server",
        ));
    }
    Ok(())
}

/// The emulated disks of a plan: their profiles are found before anything starts.
fn disks(plan: &Plan) -> Result<PlannedDisks, CommandFailure> {
    PlannedDisks::of(plan, own_program()?).map_err(CommandFailure::from)
}

/// The profile of that name, or in that file.
pub(crate) fn profile(name: &str) -> Result<DiskProfile, CommandFailure> {
    DiskProfile::find(name).map_err(CommandFailure::from)
}

/// The emulated disk of one private server, for a command without a plan.
pub(crate) fn private_disk(name: &str) -> Result<SandboxDisk, CommandFailure> {
    let level = choose_level()?;
    Ok(SandboxDisk { level, profile: profile(name)?, seed: 1, helper: own_program()? })
}

/// The program that emulates disks: this one.
pub(crate) fn own_program() -> Result<PathBuf, CommandFailure> {
    std::env::current_exe()
        .map_err(|error| CommandFailure::failed(format!("the program of truetps: {error}")))
}

/// The servers that a plan is about: those that it names, or the first one found. Those with names
/// stay while the second is there.
pub(crate) fn programs(
    plan: &Plan,
    home: &Home,
    basedir: Option<&Path>,
    option_file: Option<&Path>,
) -> Result<(Vec<ServerProgram>, Vec<Use>), CommandFailure> {
    let names = plan.server_names();
    if names.is_empty() {
        let binary = find(usual_basedir(basedir).as_deref(), plan.server.flavour, home.user())?;
        let base =
            option_file.map_or(Ok(Vec::new()), |path| of_file(path, &binary, home.user()))?;
        return Ok((vec![ServerProgram { name: None, binary, base }], Vec::new()));
    }
    if basedir.is_some() {
        return Err(named_elsewhere(&names, "--basedir"));
    }
    let named = NamedServers::of(home);
    let programs = names.iter().map(|name| {
        let used = named.use_server(name).and_then(|(server, used)| {
            let base = server
                .base_settings()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            Ok((server.binary(home)?, base, used))
        });
        let (binary, base, used) = used?;
        if plan.server.flavour.is_some_and(|wanted| wanted != binary.flavour) {
            let wanted = plan.server.flavour.map(|flavour| flavour.to_string()).unwrap_or_default();
            return Err(CommandFailure::usage(format!(
                "the plan wants {wanted}, and server `{name}` is {binary}"
            )));
        }
        let base = match option_file {
            Some(path) => of_file(path, &binary, home.user())?,
            None => base,
        };
        Ok((ServerProgram { name: Some((*name).to_owned()), binary, base }, used))
    });
    let found: Result<Vec<_>, CommandFailure> = programs.collect();
    Ok(found?.into_iter().unzip())
}

/// `--basedir` as typed, else of the settings: the latter is used if nothing else is named. As an
/// argument's default it would be in the way of the other flags that name a server.
pub(crate) fn usual_basedir(typed: Option<&Path>) -> Option<PathBuf> {
    typed
        .map(Path::to_owned)
        .or_else(|| settings::given(BASEDIR).map(|given| given.path().to_owned()))
}

/// `--dsn` as typed, else of the settings: the latter is used if nothing else is named.
pub(crate) fn usual_dsn(place: &FolderArgs, is_named: bool) -> Option<String> {
    place.dsn.clone().or_else(|| {
        if is_named || place.basedir.is_some() || place.my_cnf.is_some() {
            None
        } else {
            dsn_of_settings()
        }
    })
}

/// The server to use if none is named.
pub(crate) fn dsn_of_settings() -> Option<String> {
    settings::given(settings::DSN).map(settings::Given::text)
}

/// `--server` as typed, else of the settings: the latter is used if nothing else is named.
pub(crate) fn usual_server(place: &FolderArgs) -> Option<String> {
    place.server.clone().or_else(|| if place.is_elsewhere() { None } else { server_of_settings() })
}

pub(crate) fn server_of_settings() -> Option<String> {
    settings::given(USUAL_SERVER).map(settings::Given::text)
}

/// Refuses flags that are only for external servers.
fn refuse_flags_of_dsn(place: &FolderArgs) -> Result<(), CommandFailure> {
    let flags = [
        ("--dry-run", place.dry_run),
        ("--schema", place.schema.is_some()),
        ("--defaults-file", place.defaults_file.is_some()),
        ("--ask-password", place.ask_password),
    ];
    match flags.into_iter().find(|(_, is_there)| *is_there) {
        Some((flag, _)) => {
            Err(CommandFailure::usage(format!("{flag} needs a server of --dsn (or TRUETPS_DSN)")))
        }
        None => Ok(()),
    }
}

fn named_elsewhere(names: &[&str], flag: &str) -> CommandFailure {
    let message = format!("the plan names `{}`, and {flag} another server", names.join("`, `"));
    CommandFailure::usage(message)
        .hint(format!("leave {flag} out, or take the name out of the plan"))
}

/// Replaces the plan's server by the server of `--server`; a plan that names none, without
/// `--basedir` or `--dsn` (`is_elsewhere`), gets the server of the settings.
pub(crate) fn choose_server(
    plan: &mut Plan,
    server: Option<&str>,
    is_elsewhere: bool,
) -> Result<(), CommandFailure> {
    let Some(server) = server else {
        if !is_elsewhere && plan.server_names().is_empty() {
            plan.server.name = server_of_settings();
        }
        return Ok(());
    };
    if plan.factors.contains_key(SERVER) {
        return Err(named_elsewhere(&plan.server_names(), "--server"));
    }
    plan.server.name = Some(server.to_owned());
    Ok(())
}

/// Replaces the plan's disk by the one that `--disk` names.
pub(crate) fn choose_disk(plan: &mut Plan, disk: Option<&str>) -> Result<(), CommandFailure> {
    let Some(disk) = disk else { return Ok(()) };
    if plan.factors.contains_key(DISK) {
        let message =
            format!("--disk {disk}: the plan compares disks ({})", plan.disk_names().join(", "));
        return Err(CommandFailure::usage(message).hint("leave --disk out"));
    }
    plan.disk = Some(disk.to_owned());
    Ok(())
}

/// Folder of the journals: in the user's state folder, or beside the runs of a user without one.
pub(crate) fn journals(runs: &Path) -> PathBuf {
    state_folder(&|name| std::env::var_os(name)).unwrap_or_else(|| runs.to_owned()).join("journals")
}

/// A schema to create needs a name that both families keep unchanged; an existing one may have any
/// name. PostgreSQL silently truncates longer names.
fn schema(name: &str, is_theirs: bool, dialect: SqlDialect) -> Result<String, CommandFailure> {
    const LENGTH_MAX: usize = 63;
    let (length, most, unit) = match dialect {
        SqlDialect::Mysql => (name.chars().count(), 64, "characters"),
        SqlDialect::Postgres => (name.len(), LENGTH_MAX, "bytes"),
    };
    refuse_system_schema(name, dialect).map_err(LabError::from)?;
    if length == 0 || length > most || name.contains('\0') {
        return Err(CommandFailure::usage(format!(
            "--schema {name}: must have 1 to {most} {unit}"
        )));
    }
    if !is_theirs && (name.len() > LENGTH_MAX || !name.bytes().all(is_schema_letter)) {
        let message =
            format!("--schema {name}: must be 1 to {LENGTH_MAX} lower-case letters, digits or `_`");
        return Err(CommandFailure::usage(message));
    }
    Ok(name.to_owned())
}

/// A letter of names that both families keep unchanged.
fn is_schema_letter(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_'
}

/// The SQL dialect of the measured server; `None`: known only after its program was examined.
pub(crate) fn dialect(place: &FolderArgs) -> Result<Option<SqlDialect>, CommandFailure> {
    let is_named = usual_server(place).is_some();
    match usual_dsn(place, is_named) {
        Some(dsn) => parse(&dsn, DSN).map(|target| Some(target.dialect)),
        None if usual_basedir(place.basedir.as_deref()).is_some() || is_named => Ok(None),
        None => Ok(Some(SqlDialect::Mysql)),
    }
}

/// The command line; a path in it need not be text.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}
