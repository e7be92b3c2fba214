//! What was typed, as a request: the service with its template, the table, the load, the times of
//! kills.

use std::fs;
use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::{HttpTarget, HttpTemplate, Target};
use truetps_lab::{NamedPlace, PlannedDisks, ServerProgram, TableServer};
use truetps_plan::{
    Design, ErrorPolicy, Load, Plan, ProbeSpec, QuickOverrides, ServerSpec, VerifySpec,
    WorkloadKind, WorkloadSpec,
};
use truetps_record::{
    CONNECTIONS, KeyColumn, Personality, SettingValue, VerifiedTable, VerifyLoad,
};
use truetps_sandbox::{Home, Instance, InstanceOptions, NamedServers, Use};
use truetps_workload::{ROW_FIELDS, RowField};

use crate::args::VerifyArgs;
use crate::commands::instance::get;
use crate::failure::CommandFailure;
use crate::login::{LoginSources, target};
use crate::private_home::{open, refused};
use crate::set_words::settings;
use crate::site::{self, DSN, own_program, programs};

/// A day: longer runs would fill any disk unnoticed.
const LENGTH_MAX_S: f64 = 7.0 * 86_400.0;
const TEMPLATE_BYTES_MAX: u64 = 1 << 20;
const KILLS_MAX: usize = 1000;
/// How long a client tries to reach a server or a service that is gone: to the end of any run.
const RECONNECT_S: f64 = LENGTH_MAX_S;

/// Combinations that mean nothing, before anything is opened.
pub(crate) fn check(args: &VerifyArgs) -> Result<(), CommandFailure> {
    let place = &args.place;
    if place.schema.is_some() || place.i_own_this_schema || place.dry_run {
        return refuse(
            "--schema, --i-own-this-schema and --dry-run are not for verify",
            "name the table with --table schema.table",
        );
    }
    if !(args.measure > 0.0 && args.measure <= LENGTH_MAX_S) {
        return refuse("--measure must be more than 0 and at most 7 days", "such as 60s, 5m or 1h");
    }
    if !(args.answer_timeout >= 0.01 && args.answer_timeout <= 3600.0) {
        return refuse("--answer-timeout must be between 10ms and 1h", "such as 30s");
    }
    let has_server = place.dsn.is_some() || place.server.is_some() && args.url.is_some();
    match (&args.url, &args.table) {
        (Some(_), _) if !has_server => refuse(
            "a service needs the server that has its table",
            "name it with --dsn, or a server of `truetps server start` with --server",
        ),
        (Some(_), None) => refuse(
            "a service needs the table that it saves rows to",
            "name it with --table schema.table",
        ),
        (None, None) if place.dsn.is_some() => refuse(
            "--dsn needs --table: truetps creates no table in a server that it did not start",
            "CREATE TABLE rows (client INT, seq BIGINT, payload VARCHAR(100), PRIMARY KEY (client, \
             seq))",
        ),
        (None, Some(_)) if place.dsn.is_none() => refuse(
            "--table is for a service, or for --dsn: in a private server truetps makes its own",
            "leave --table out",
        ),
        _ if has_server && !args.settings.is_empty() => {
            refuse("--set is for private servers: this one keeps its settings", "leave --set out")
        }
        _ => Ok(()),
    }
}

fn refuse(message: &str, hint: &str) -> Result<(), CommandFailure> {
    Err(CommandFailure::usage(message).hint(hint))
}

/// A service, and how it is called in records.
pub(crate) struct Service {
    pub(crate) target: HttpTarget,
    pub(crate) name: String,
}

pub(crate) fn service(args: &VerifyArgs) -> Result<Option<Service>, CommandFailure> {
    let Some(url) = &args.url else { return Ok(None) };
    let mut headers = Vec::new();
    for header in &args.headers {
        match header.strip_prefix('@') {
            Some(path) => {
                headers.extend(
                    file("--header", path)?
                        .lines()
                        .filter(|line| !line.is_empty())
                        .map(str::to_owned),
                );
            }
            None => headers.push(header.clone()),
        }
    }
    let is_typed =
        headers.iter().any(|header| header.to_ascii_lowercase().starts_with("content-type:"));
    let body = match args.body.strip_prefix('@') {
        Some(path) => file("--body", path)?,
        None => args.body.clone(),
    };
    if !is_typed && body.trim_start().starts_with(['{', '[']) {
        headers.push("Content-Type: application/json".to_owned());
    }
    let method = args.method.name();
    let target = HttpTemplate::target(url, method, &headers, &body, ROW_FIELDS)
        .map_err(CommandFailure::usage)?;
    let used = target.template.fields();
    let mut needed: Vec<_> = key_columns(args)?.into_iter().map(|key| key.field).collect();
    needed.push(RowField::Payload.name().to_owned());
    for field in needed {
        let number = ROW_FIELDS.iter().position(|name| *name == field);
        if number.is_none_or(|number| !used.contains(&number)) {
            let message =
                format!("no request has the field {{{field}}}, which the table must have");
            return Err(CommandFailure::usage(message).hint(
                "put it into --body, --header or the address; or name other columns with --key",
            ));
        }
    }
    // The query may have a secret.
    let name = format!("{method} {}", url.split(['?', '#']).next().unwrap_or_default());
    Ok(Some(Service { target, name }))
}

fn file(flag: &str, path: &str) -> Result<String, CommandFailure> {
    read_template(path)
        .map_err(|problem| CommandFailure::usage(format!("{flag} @{path}: {problem}")))
}

fn read_template(path: &str) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > TEMPLATE_BYTES_MAX {
        return Err("is larger than 1 MiB".to_owned());
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The fields that say which row it is: all of one line.
const IDENTITIES: [&[RowField]; 3] =
    [&[RowField::Key], &[RowField::Uuid], &[RowField::Client, RowField::Seq]];

/// `client,seq`, `id=uuid`, `id` (the field `key`).
fn key_columns(args: &VerifyArgs) -> Result<Vec<KeyColumn>, CommandFailure> {
    let words = args.key.iter().enumerate();
    let columns = words
        .map(|(position, word)| key_column(word, position, args.key.len() == 1))
        .collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<_> = columns.iter().map(|key| key.field.as_str()).collect();
    if IDENTITIES.iter().any(|needed| needed.iter().all(|field| fields.contains(&field.name()))) {
        return Ok(columns);
    }
    Err(CommandFailure::usage("--key: the columns do not say which row it is")
        .hint("they need client and seq, or key, or uuid"))
}

/// One word of `--key`; the position among several says which field it is.
fn key_column(word: &str, position: usize, is_only: bool) -> Result<KeyColumn, CommandFailure> {
    let (column, field) = match word.split_once('=') {
        Some((column, field)) => (column, RowField::of_name(field)),
        None if is_only => (word, Some(RowField::Key)),
        None => (word, [RowField::Client, RowField::Seq].get(position).copied()),
    };
    match field {
        Some(field) if field != RowField::Payload && !column.is_empty() => {
            Ok(KeyColumn { column: column.to_owned(), field: field.name().to_owned() })
        }
        _ => Err(CommandFailure::usage(format!("--key {word}: is not of the form column=field"))
            .hint(
                "fields: client, seq, key, uuid; such as --key device=client,number=seq or --key \
                 id=uuid",
            )),
    }
}

pub(crate) fn load(args: &VerifyArgs, service: Option<&Service>) -> VerifyLoad {
    VerifyLoad {
        service: service.map(|service| service.name.clone()),
        clients: args.clients,
        rate_per_client: (!args.closed_loop).then_some(args.rate_per_client),
        length_s: args.measure,
        payload_bytes: args.payload_bytes,
        retries: args.retries,
        answer_timeout_s: args.answer_timeout,
    }
}

/// `5`: so many times, evenly; `30s`: each time after this.
pub(crate) fn kill_times(args: &VerifyArgs) -> Result<Vec<Duration>, CommandFailure> {
    let Some(word) = &args.kill else { return Ok(Vec::new()) };
    let times: Vec<f64> = match word.parse::<usize>() {
        Ok(kills) if kills > 0 && kills <= KILLS_MAX => {
            (1..=kills).map(|n| args.measure * n as f64 / (kills + 1) as f64).collect()
        }
        Ok(_) => return Err(wrong_kill(word)),
        Err(_) => {
            let every =
                humantime::parse_duration(word).map_err(|_| wrong_kill(word))?.as_secs_f64();
            if every < 1.0 || every >= args.measure {
                return Err(CommandFailure::usage(format!(
                    "--kill {word}: must be at least 1s, and less than --measure"
                ))
                .hint("a killed server needs time to recover"));
            }
            (1..=KILLS_MAX)
                .map(|n| n as f64 * every)
                .take_while(|time| *time < args.measure)
                .collect()
        }
    };
    Ok(times.into_iter().map(Duration::from_secs_f64).collect())
}

fn wrong_kill(word: &str) -> CommandFailure {
    CommandFailure::usage(format!(
        "--kill {word}: is neither a number of kills nor a time between them"
    ))
    .hint("such as 5, or 30s")
}

/// The record of the run.
pub(crate) fn plan_of(args: &VerifyArgs, load: &VerifyLoad) -> Result<Plan, CommandFailure> {
    let target = load.service.clone().unwrap_or_else(|| "INSERT".to_owned());
    let plan = Plan {
        name: "verify".to_owned(),
        about: format!("Are all acknowledged rows there? {} clients, {target}", args.clients),
        recorded_from: Some(Personality::Verify),
        server: ServerSpec {
            name: if args.url.is_some() { None } else { site::usual_server(&args.place) },
            flavour: None,
            settings: settings(&args.settings)?,
        },
        disk: args.place.disk.clone(),
        workload: WorkloadSpec::new(WorkloadKind::Verify(VerifySpec { target })),
        load: Load {
            warm_up_s: 0.0,
            measure_s: load.length_s,
            rate_per_client: load.rate_per_client,
            errors: ErrorPolicy {
                retry: Vec::new(),
                reconnect_s: RECONNECT_S,
                ..ErrorPolicy::default()
            },
            ..Load::default()
        },
        factors: IndexMap::from([(
            CONNECTIONS.to_owned(),
            vec![SettingValue::Int(args.clients.into())],
        )]),
        design: Design { blocks: 1, seed: args.seed, aa_pair: false, ..Design::default() },
        probe: ProbeSpec::default(),
        quick: QuickOverrides::default(),
    };
    plan.checked().map_err(CommandFailure::usage)
}

/// The server that has the table.
pub(crate) enum VerifySite {
    Private {
        home: Home,
        programs: Vec<ServerProgram>,
        disks: PlannedDisks,
        _uses: Vec<Use>,
    },
    Given {
        target: Target,
        table: VerifiedTable,
    },
    /// A server of `truetps server start`.
    Named {
        place: Box<NamedPlace>,
        target: Target,
        table: VerifiedTable,
    },
}

impl VerifySite {
    pub(crate) fn open(args: &VerifyArgs, plan: &Plan) -> Result<Self, CommandFailure> {
        let place = &args.place;
        if let (Some(_), Some(name)) = (&args.url, &place.server) {
            return named(args, name);
        }
        if let Some(dsn) = &place.dsn {
            let sources = LoginSources::of_one(place.defaults_file.as_deref(), place.ask_password);
            let target = target(dsn, DSN, &sources)?;
            let table = table(args, &target)?;
            return Ok(Self::Given { target, table });
        }
        let home = Home::open(place.sandbox.sandbox_dir.as_deref())?;
        let (programs, uses) =
            programs(plan, &home, place.basedir.as_deref(), place.my_cnf.as_deref())?;
        let disks = PlannedDisks::of(plan, own_program()?)?;
        Ok(Self::Private { home, programs, disks, _uses: uses })
    }

    pub(crate) fn server(&self) -> TableServer<'_> {
        match self {
            Self::Private { home, programs, disks, .. } => {
                TableServer::Private { home, program: &programs[0], disks }
            }
            Self::Given { target, table } => TableServer::Given { target, table: table.clone() },
            Self::Named { place, target, table } => {
                TableServer::Named { place, target, table: table.clone() }
            }
        }
    }

    pub(crate) fn target(&self) -> Option<&Target> {
        match self {
            Self::Private { .. } => None,
            Self::Given { target, .. } | Self::Named { target, .. } => Some(target),
        }
    }
}

fn named(args: &VerifyArgs, name: &str) -> Result<VerifySite, CommandFailure> {
    let home = open(&args.place.sandbox)?;
    let server = get(&home, name)?;
    let instance = Instance::of(NamedServers::of(&home), &server);
    let (target, status) = instance
        .owner()
        .and_then(|target| Ok((target, instance.status()?)))
        .map_err(|error| refused(&error))?;
    let options = InstanceOptions {
        settings: status.settings,
        port: status.port,
        ready_time_limit: Duration::from_mins(5),
        disk: None,
        disk_helper: own_program()?,
    };
    let table = table(args, &target)?;
    Ok(VerifySite::Named { place: Box::new(NamedPlace { home, server, options }), target, table })
}

fn table(args: &VerifyArgs, target: &Target) -> Result<VerifiedTable, CommandFailure> {
    let word = args.table.as_deref().unwrap_or_default();
    let (schema, table) = word
        .split_once('.')
        .map_or((None, word), |(schema, table)| (Some(schema.to_owned()), table));
    if [Some(table), schema.as_deref()].into_iter().flatten().any(|name| !is_name(name)) {
        return Err(CommandFailure::usage(format!(
            "--table {word}: is not a table, or schema.table"
        )));
    }
    if schema.is_none() && target.login.database.is_none() {
        return Err(CommandFailure::usage(format!(
            "--table {word}: the address of the server has no schema"
        ))
        .hint(format!("--table schema.{word}")));
    }
    Ok(VerifiedTable {
        server: target.to_string(),
        schema,
        table: table.to_owned(),
        key: key_columns(args)?,
        payload: args.payload.clone(),
        key_is_unique: false,
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\0', '.'])
}

/// The server of an earlier run: the one of --dsn, or the one that the run has recorded.
pub(crate) fn resumed_target(args: &VerifyArgs, recorded: &str) -> Result<Target, CommandFailure> {
    let (dsn, flag) =
        args.place.dsn.as_deref().map_or((recorded, "the recorded server"), |dsn| (dsn, DSN));
    target(
        dsn,
        flag,
        &LoginSources::of_one(args.place.defaults_file.as_deref(), args.place.ask_password),
    )
}

/// The command line as it is recorded: without passwords and values of headers.
pub(crate) fn command(args: &VerifyArgs, target: Option<&Target>) -> Vec<String> {
    std::env::args_os()
        .map(|word| recorded_word(args, target, word.to_string_lossy().into_owned()))
        .collect()
}

fn recorded_word(args: &VerifyArgs, target: Option<&Target>, word: String) -> String {
    if let Some(dsn) = args.place.dsn.as_ref().filter(|dsn| word.ends_with(dsn.as_str())) {
        let shown = target.map(ToString::to_string).unwrap_or_default();
        return format!("{}{shown}", &word[..word.len() - dsn.len()]);
    }
    let header = args
        .headers
        .iter()
        .find(|header| word.ends_with(header.as_str()) && !header.starts_with('@'));
    match header {
        Some(header) => {
            let name = header.split(':').next().unwrap_or_default();
            format!("{}{name}: …", &word[..word.len() - header.len()])
        }
        None => word,
    }
}
