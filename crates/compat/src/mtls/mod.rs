//! mtls-perf-bench: its options, its log, and the rows of its table by our engine.

mod log;
mod options;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Parser;
use indexmap::IndexMap;
use truetps_driver::{Client, Dialect, DriverError, Endpoint, Login, Password, Target, Tls};
use truetps_engine::{LoadSpec, OpenPacing, Outcome, Pacing, Quota, Rate, RateOf};
use truetps_lab::{TrialContext, connect_timeout, run_trial};
use truetps_probe::clock;
use truetps_record::{
    CONNECTIONS, Configuration, Design, ErrorPolicy, ExperimentFolder, GeneratedTable, Histogram, Load, Personality,
    Plan, Protocol, QuickOverrides, ServerSpec, SettingValue, Spacing, TableSection, Trial, WorkloadSpec,
};
use truetps_workload::{Commit, TableInsert, WorkloadError};

use self::log::Log;
use self::options::{Action, Options};
use crate::World;
use crate::recording::{Place, Recording, Turn, said, server_facts};
use crate::truth::{Truth, ran};

/// The name in messages.
const NAME: &str = "mtls-perf-bench";
const GOOD: u8 = 0;
/// Rows were not acknowledged, or something on this side is wrong.
const FAILED: u8 = 2;
/// The server refused.
const REFUSED: u8 = 3;
const INTERRUPTED: u8 = 130;
/// In a record: these runs end with their rows.
const UNLIMITED_S: f64 = 0.0;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// An INSERT that does not end for so long, when all others have, hangs.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a command line of mtls-perf-bench, its name first. Returns the exit status.
pub fn run(arguments: Vec<OsString>, world: &mut World<'_>) -> u8 {
    let command = without_secrets(&arguments);
    let options = match Options::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            let text = error.render().to_string();
            let to = if error.use_stderr() { &mut *world.err } else { &mut *world.out };
            let _ = to.write_all(text.as_bytes());
            return error.exit_code() as u8;
        }
    };
    let pid = std::process::id();
    let (err, level) = (&mut *world.err, options.log_level);
    let mut log = Log { out: err, level, pid, now: clock::now_rfc3339_ms };
    let done = match options.action {
        Action::Create => create(&options, &mut log),
        Action::Drop => drop_table(&options, &mut log),
        Action::Insert => {
            let bench = Bench { options: &options, cores: world.cores, stop: &world.stop, command };
            bench.insert(&mut log, world.out)
        }
    };
    match done {
        Ok(exit) => exit,
        Err((exit, text)) => {
            log.error(&text);
            exit
        }
    }
}

/// The exit status, and a line of the log.
type Stopped = (u8, String);

fn refused(error: &DriverError) -> Stopped {
    let text = match error {
        DriverError::Server(error) => format!("{} ({}): {}", error.code, error.sqlstate, error.message),
        other => said(other),
    };
    (REFUSED, text)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: impl ToString) -> Stopped {
    (FAILED, error.to_string())
}

fn target(options: &Options) -> Target {
    let endpoint = match &options.socket {
        Some(path) => Endpoint::Unix(path.clone()),
        None => Endpoint::Tcp { host: options.host.clone(), port: options.port },
    };
    let password = Some(options.password.clone()).filter(|text| !text.is_empty()).map(Password::new);
    let login = Login { user: options.user.clone(), password, database: Some(options.database.clone()) };
    Target { dialect: Dialect::Mysql, endpoints: vec![endpoint], login, tls: Tls::default(), setup: Vec::new() }
}

/// The table as it is asked for, checked as a plan of it would be.
fn table(options: &Options) -> Result<GeneratedTable, Stopped> {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_$-".contains(c));
    for (flag, name) in [("--table", &options.table), ("--database", &options.database)] {
        if !is_name(name) {
            return Err(failed(format!("{flag}={name} is no name")));
        }
    }
    let table = GeneratedTable {
        name: options.table.clone(),
        rows: 0,
        auto_primary_key: options.auto_primary_key,
        ints: options.ints,
        varchars: options.varchars,
        floats: options.floats,
        doubles: options.doubles,
        decimals: options.decimals,
        texts: options.texts,
        bigints: options.bigints,
        datetimes: options.datetimes,
        blobs: options.blobs,
        varchar_length: options.varchar_length,
        value_length: options.value_length,
        decimal_precision: options.decimal_precision,
        decimal_scale: options.decimal_scale,
    };
    if table.value_columns() == 0 {
        return Err(failed(match options.action {
            Action::Insert => "columns counts equal 0".to_owned(),
            _ => format!("do not have any columns in table {}.{}", options.database, options.table),
        }));
    }
    Ok(table)
}

fn create(options: &Options, log: &mut Log<'_>) -> Result<u8, Stopped> {
    let sql = TableInsert::new(&table(options)?, 1, Dialect::Mysql).create_sql;
    // The blanks are the original's: they show in its log.
    let (head, full) = (format!("table {} (", options.table), format!("table {} ( ", full_name(options)));
    let sql = sql.replace(", ", ",").replacen(&head, &full, 1);
    log.info(&format!("create table sql statement: {sql};"));
    let mut client = Client::connect(&target(options), ANSWER_TIMEOUT).map_err(|error| refused(&error))?;
    client.execute(&sql).map_err(|error| refused(&error))?;
    log.info("complete");
    Ok(GOOD)
}

fn drop_table(options: &Options, log: &mut Log<'_>) -> Result<u8, Stopped> {
    let sql = format!("drop table {}", full_name(options));
    log.info(&format!("drop table sql statement: {sql};"));
    let mut client = Client::connect(&target(options), ANSWER_TIMEOUT).map_err(|error| refused(&error))?;
    client.execute(&sql).map_err(|error| refused(&error))?;
    log.info("complete");
    Ok(GOOD)
}

fn full_name(options: &Options) -> String {
    format!("{}.{}", options.database, options.table)
}

struct Bench<'a> {
    options: &'a Options,
    cores: u32,
    stop: &'a std::sync::atomic::AtomicBool,
    command: Vec<String>,
}

impl Bench<'_> {
    fn insert(&self, log: &mut Log<'_>, out: &mut dyn std::io::Write) -> Result<u8, Stopped> {
        let options = self.options;
        let table = table(options)?;
        if !options.rows.is_multiple_of(u64::from(options.batch)) {
            let text =
                format!("--rows={} is no multiple of --batch={}: rows would be left over", options.rows, options.batch);
            return Err(failed(text));
        }
        let insert = TableInsert::new(&table, options.batch, Dialect::Mysql);
        let mut admin = Client::connect(&target(options), ANSWER_TIMEOUT).map_err(|error| refused(&error))?;
        let server = server_facts(&mut admin).map_err(|error| refused(&error))?;
        let dropped;
        let place = if options.runs == "none" {
            dropped = tempfile::tempdir().map_err(failed)?;
            Place::Dropped(dropped.path().to_owned())
        } else {
            ExperimentFolder::check_writable(options.runs.as_ref()).map_err(failed)?;
            Place::Kept(options.runs.clone().into())
        };
        let (plan, turn) = (self.plan(&table), Turn { block: 0, configuration: self.configuration() });
        let endpoint = target(options).endpoint(0).to_string();
        let recording = Recording::begin(&place, plan, &[turn], server, endpoint, self.command.clone(), self.workers());
        let recording = recording.map_err(failed)?;
        log.info(&format!("start time = {}", clock::epoch_s()));
        stars(log);
        for _ in 0..options.parallel {
            log.info(&format!(
                "sql statement: {}",
                placeholders(&insert.insert_sql, &options.table, &full_name(options))
            ));
        }
        let mut truth = Truth::new(if options.batch == 1 { "rows" } else { "INSERTs" });
        let (trial, outcome) = self.drive(&insert, &admin, &recording, &mut truth)?;
        stars(log);
        log.info(&format!("stop time = {}", clock::epoch_s()));
        let transactions = options.time.is_none().then(|| options.rows / u64::from(options.batch));
        let run = ran(&trial, outcome.as_ref(), options.parallel, transactions);
        let seconds = outcome.as_ref().map_or(0.0, |one| one.last_end.unwrap_or(one.measure_length).as_secs_f64());
        let rows = run.acknowledged * u64::from(options.batch);
        for error in &run.errors {
            log.error(&format!("{} ({} times)", error.first_message, error.count));
        }
        log.info(&format!(
            "TPS:{:.2} duration {seconds:.2}(s)",
            if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
        ));
        truth.runs.push(run);
        if !options.classic {
            let kept = recording.path().map(|path| path.display().to_string());
            let _ = out.write_all(truth.block(kept.as_deref()).as_bytes()).and_then(|()| out.flush());
        }
        Ok(match (self.stop.load(Ordering::Relaxed), truth.is_valid()) {
            (true, _) => INTERRUPTED,
            (false, true) => GOOD,
            (false, false) => FAILED,
        })
    }

    fn drive(
        &self,
        insert: &TableInsert,
        admin: &Client,
        recording: &Recording,
        truth: &mut Truth,
    ) -> Result<(Trial, Option<Outcome>), Stopped> {
        let options = self.options;
        let workload = insert.workload(Commit::EveryWithoutBegin(NonZeroU32::MIN), options.seed);
        let workload = workload.map_err(|error: WorkloadError| failed(error))?;
        let context = TrialContext {
            load: self.load(),
            protocol: self.protocol(),
            workload: &*workload,
            target: &target(options).with_setup(["set autocommit=0"]),
            server_pid: admin.peer_pid(),
            stop: self.stop,
        };
        let (mut trial, mut writer) = recording.begin_trial(0).map_err(failed)?;
        let add = &mut |_: &_, histogram: &Histogram| {
            // All have the same bounds.
            let _ = truth.response.add(histogram);
        };
        let outcome = run_trial(&context, &mut trial, &mut writer, add);
        let outcome = outcome.and_then(|outcome| writer.write_trial(&trial).map(|()| outcome)).map_err(failed)?;
        Ok((trial, outcome))
    }

    fn load(&self) -> LoadSpec {
        let options = self.options;
        let transactions = options.time.is_none().then(|| options.rows / u64::from(options.batch));
        let pacing = options.rate.map_or(Pacing::Closed, |rate| {
            Pacing::Open(OpenPacing {
                rate: Rate::constant(rate),
                of: RateOf::All,
                spacing: Spacing::Constant,
                latency_limit: None,
                seed: options.seed,
            })
        });
        LoadSpec {
            pacing,
            errors: ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() },
            quota: transactions.map(|n| if options.rate.is_some() { Quota::Together(n) } else { Quota::Each(n) }),
            connect_timeout: connect_timeout(options.parallel),
            drain_timeout: DRAIN_TIMEOUT,
            ..LoadSpec::closed(
                options.parallel,
                self.workers(),
                options.time.map_or(Duration::MAX, Duration::from_secs_f64),
            )
        }
    }

    fn workers(&self) -> u32 {
        if self.options.workers > 0 { self.options.workers } else { (self.cores / 2).max(1) }
    }

    fn protocol(&self) -> Protocol {
        if self.options.prepared { Protocol::Prepared } else { Protocol::Text }
    }

    fn configuration(&self) -> Configuration {
        let clients = SettingValue::Int(self.options.parallel.into());
        Configuration { levels: IndexMap::from([(CONNECTIONS.to_owned(), clients)]) }
    }

    /// What plans have words for; that each INSERT has its COMMIT, without a BEGIN, is not among it.
    fn plan(&self, table: &GeneratedTable) -> Plan {
        let options = self.options;
        let mut workload = WorkloadSpec::new("table");
        workload.table = TableSection::Generated(table.clone());
        workload.protocol = self.protocol();
        workload.rows_per_insert = (options.batch > 1).then_some(options.batch);
        Plan {
            name: "mtls".to_owned(),
            about: format!("{NAME}: {} rows by {} clients", options.rows, options.parallel),
            recorded_from: Some(Personality::Mtls),
            server: ServerSpec::default(),
            workload,
            load: Load {
                warm_up_s: 0.0,
                measure_s: options.time.unwrap_or(UNLIMITED_S),
                measure_transactions: options.time.is_none().then(|| options.rows / u64::from(options.batch)),
                rate: options.rate,
                errors: ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() },
                ..Load::default()
            },
            factors: self.configuration().levels.into_iter().map(|(name, level)| (name, vec![level])).collect(),
            design: Design { blocks: 1, seed: options.seed, aa_pair: false, ..Design::default() },
            quick: QuickOverrides::default(),
        }
    }
}

fn stars(log: &mut Log<'_>) {
    log.info("****");
    log.info("****");
}

/// The statement as the original shows it: `insert into db.t (i0,i1) values(%s,%s)`.
fn placeholders(sql: &str, table: &str, full_name: &str) -> String {
    let sql = sql.replacen(&format!("into {table} "), &format!("into {full_name} "), 1);
    sql.replace(", ", ",").replace("values (", "values(").replace('?', "%s")
}

/// Words for the record, without the password.
fn without_secrets(arguments: &[OsString]) -> Vec<String> {
    let (mut words, mut is_secret) = (vec!["truetps mtls".to_owned()], false);
    for argument in arguments.iter().skip(1).map(|argument| argument.to_string_lossy()) {
        let names_it = argument.starts_with("--pas");
        words.push(match (is_secret, names_it.then(|| argument.contains('='))) {
            (true, _) => "…".to_owned(),
            (false, Some(true)) => "--password=…".to_owned(),
            _ => argument.to_string(),
        });
        is_secret = names_it && !argument.contains('=');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_recorded() {
        let words = ["mtls", "--password", "secret", "--pass=secret", "insert"].map(OsString::from);
        assert_eq!(without_secrets(&words), ["truetps mtls", "--password", "…", "--password=…", "insert"]);
    }

    #[test]
    fn the_statement_as_the_original_shows_it() {
        assert_eq!(
            placeholders("insert into t (i0, c0) values (?, ?)", "t", "tempdb.t"),
            "insert into tempdb.t (i0,c0) values(%s,%s)"
        );
    }
}
