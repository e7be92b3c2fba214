//! The course of a test: for each engine and number of clients, and each repetition: schema,
//! tables, rows, commands, queries, commands, and the schema is dropped.

use std::num::{NonZeroU32, NonZeroU64};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use truetps_driver::{DriverError, QueryResult, Target};
use truetps_engine::{LoadSpec, RunOutcome};
use truetps_record::{ErrorClass, Protocol, SECRET_VARIABLES, Validity};
use truetps_recording::is_remarked;
use truetps_trial::TrialContext;
use truetps_workload::{Commit, SqlList};

use super::admin::Admin;
use super::auto::LoadType;
use super::print::SOME_KEY;
use super::report::{self, Test};
use super::script::SlapScript;
use super::settings::{Csv, Engine, SlapSettings, StatementSource};
use super::specs::NAME;
use crate::ending::PATIENCE;
use crate::recording::{CompatRecording, server_message};
use crate::run::{FAILED_SHARE_MAX, RunRequest, TrialResult, drive};
use crate::supplement::Supplement;
use crate::{CompatEnv, HIDDEN_WORDS};

/// The server's error for a statement that was ended.
const INTERRUPTED: u16 = 1317;

/// Why a test is aborted.
#[derive(Debug)]
pub(super) enum Stop {
    /// A line for the user.
    Failed(String),
    Interrupted,
}

pub(super) struct SlapRun<'a, 'w> {
    pub(super) settings: &'a SlapSettings,
    pub(super) script: &'a SlapScript,
    /// Without a database.
    pub(super) target: &'a Target,
    pub(super) admin: Admin,
    pub(super) recording: CompatRecording,
    pub(super) env: &'a mut CompatEnv<'w>,
    pub(super) workers: u32,
    /// Number of trials so far.
    pub(super) trials: usize,
    /// The schema exists and was created by this run.
    pub(super) has_made_schema: bool,
    /// Everything was acknowledged so far.
    pub(super) is_good: bool,
}

impl SlapRun<'_, '_> {
    /// Sets the messages for Ctrl-C.
    fn announce_interrupt(&self) {
        let (name, schema, seconds) = (NAME, &self.settings.schema, PATIENCE.as_secs());
        let first = format!("{name}: interrupted: running statements are ended after {seconds} s");
        // A schema that is meant to stay is not reported.
        let (first, second) = if self.has_made_schema && !self.settings.keeps_schema {
            let again =
                format!("and the schema {schema} is dropped; Ctrl-C again leaves it behind");
            let left = format!(
                "{name}: the schema {schema} is left behind; to drop it: DROP SCHEMA `{schema}`\n"
            );
            (format!("{first}, {again}\n"), left)
        } else {
            (format!("{first}; Ctrl-C again leaves at once\n"), String::new())
        };
        self.env.interrupt_messages.set(first, second);
    }

    /// All tests in order.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        self.announce_interrupt();
        if let StatementSource::Generated(auto) = &self.settings.source {
            self.print_verbose(
                2,
                "Building Create Statements for Auto\nBuilding Query Statements for Auto\n",
            );
            if auto.load_type == LoadType::Key {
                self.print_verbose(2, "Generating SELECT for keys Statements for Auto\n");
            }
        }
        self.print_verbose(2, "Parsing engines to use.\n");
        for engine in self.settings.tested_engines() {
            self.print_verbose(2, "Starting Concurrency Test\n");
            for clients in &self.settings.concurrency {
                self.test(engine, *clients)?;
            }
            if !self.settings.keeps_schema {
                self.drop_schema()?;
            }
        }
        Ok(())
    }

    fn test(&mut self, engine: Option<&Engine>, clients: u32) -> Result<(), Stop> {
        let (mut truth, mut lengths) =
            (Supplement::new(self.unit(), self.settings.seed), Vec::new());
        let mut stopped = Ok(());
        for _ in 0..self.settings.iterations {
            stopped = self.iteration(engine, clients, &mut truth, &mut lengths);
            if stopped.is_err() {
                break;
            }
        }
        if !truth.runs.is_empty() {
            self.is_good &= truth.is_valid();
            self.report(engine, clients, &truth, &lengths);
        }
        stopped
    }

    fn iteration(
        &mut self,
        engine: Option<&Engine>,
        clients: u32,
        truth: &mut Supplement,
        lengths: &mut Vec<Duration>,
    ) -> Result<(), Stop> {
        // The schema of the previous test.
        self.drop_schema()?;
        self.make_schema(engine)?;
        let keys = self.keys(engine)?;
        self.shell("pre_system", self.settings.pre_system.as_deref())?;
        self.execute_all(&self.script.pre)?;
        let driven = self.drive(clients, keys, truth)?;
        let Some(outcome) = &driven.outcome else {
            self.check_stop()?;
            return Err(Stop::Failed(reason(&driven.trial.validity)));
        };
        if outcome.measured.is_some() {
            lengths.push(driven.length());
        }
        self.complain(outcome, driven.has_ended_connections);
        self.check_stop()?;
        self.reconnect()?;
        self.execute_all(&self.script.post)?;
        self.shell("post_system", self.settings.post_system.as_deref())
    }

    /// Whether the user has pressed Ctrl-C.
    fn check_stop(&self) -> Result<(), Stop> {
        if self.admin.is_stopped() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    fn make_schema(&mut self, engine: Option<&Engine>) -> Result<(), Stop> {
        let schema = self.settings.schema.clone();
        if self.settings.makes_schema() {
            self.check_stop()?;
            self.print_verbose(2, "Loading Pre-data\n");
            let sql = format!("CREATE SCHEMA `{schema}`");
            self.print_verbose(3, &format!("{sql};\n"));
            self.admin.finish(&sql).map_err(|error| {
                Stop::Failed(format!(
                    "Cannot create schema {schema} : {}{}",
                    server_message(&error),
                    hint_of_schema(&error)
                ))
            })?;
            self.has_made_schema = true;
            self.announce_interrupt();
        }
        self.use_schema().map_err(|error| cannot_use(&schema, &error))?;
        for (sql, plain) in self.script.create_with(engine).iter().zip(&self.script.create) {
            self.execute_as(sql, plain)?;
        }
        if let StatementSource::Generated(auto) = &self.settings.source {
            auto.fill(self.settings.seed).try_for_each(|sql| self.execute(&sql))?;
        }
        Ok(())
    }

    fn use_schema(&mut self) -> Result<QueryResult, DriverError> {
        self.admin.finish(&format!("USE `{}`", self.settings.schema))
    }

    /// During the load this connection is idle, and servers close connections that are idle for
    /// long.
    fn reconnect(&mut self) -> Result<(), Stop> {
        if self.use_schema().is_ok() {
            return Ok(());
        }
        let again = self.admin.renew().and_then(|()| self.use_schema());
        again.map(drop).map_err(|error| cannot_use(&self.settings.schema, &error))
    }

    /// Drops only what this run has created.
    pub(super) fn drop_schema(&mut self) -> Result<(), Stop> {
        if !self.has_made_schema {
            return Ok(());
        }
        let schema = &self.settings.schema;
        let sql = format!("DROP SCHEMA IF EXISTS `{schema}`");
        if self.settings.output.verbose >= 3 {
            let _ = writeln!(self.env.out, "{sql};");
        }
        // A statement that was ended may have lost its connection, and one that waits may hold
        // locks.
        let renewed = if self.admin.is_stopped() { self.admin.renew() } else { Ok(()) };
        let dropped = renewed.and_then(|()| match self.admin.finish(&sql) {
            Err(error) if !matches!(error, DriverError::Server(_)) => {
                self.admin.renew().and_then(|()| self.admin.finish(&sql))
            }
            dropped => dropped,
        });
        dropped.map_err(|error| {
            let message = server_message(&error);
            Stop::Failed(format!("Cannot drop database '{schema}' ERROR : {message}"))
        })?;
        self.has_made_schema = false;
        self.announce_interrupt();
        Ok(())
    }

    fn keys(&mut self, engine: Option<&Engine>) -> Result<Arc<[String]>, Stop> {
        self.print_verbose(2, "Generating primary key list\n");
        if !self.script.takes_keys() {
            return Ok(Arc::new([]));
        }
        if engine.is_some_and(forgets_rows) {
            return Ok(Arc::new([SOME_KEY.to_owned()]));
        }
        let rows = self.query("SELECT id from t1", server_message)?.rows;
        let keys: Arc<[String]> =
            rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        if keys.is_empty() {
            return Err(Stop::Failed("there is no row with a key to look up".to_owned()));
        }
        Ok(keys)
    }

    fn execute_all(&mut self, statements: &[String]) -> Result<(), Stop> {
        statements.iter().try_for_each(|sql| self.execute(sql))
    }

    fn execute(&mut self, sql: &str) -> Result<(), Stop> {
        self.execute_as(sql, sql)
    }

    /// `shown`: the statement as printed in messages.
    fn execute_as(&mut self, sql: &str, shown: &str) -> Result<(), Stop> {
        self.print_verbose(3, &format!("{sql};\n"));
        self.query(sql, |error| {
            format!("Cannot run query {shown} ERROR : {}", server_message(error))
        })
        .map(drop)
    }

    /// Runs a statement, unless the user has pressed Ctrl-C; a running one then ends soon.
    fn query(
        &mut self,
        sql: &str,
        failure: impl Fn(&DriverError) -> String,
    ) -> Result<QueryResult, Stop> {
        self.check_stop()?;
        let result = self.admin.query(sql);
        // Its result is ignored: it may have been ended.
        self.check_stop()?;
        result.map_err(|error| Stop::Failed(failure(&error)))
    }

    /// A terminal's Ctrl-C reaches the command as well.
    #[expect(
        clippy::disallowed_methods,
        reason = "commands of the user's own, which the command line names"
    )]
    fn shell(&mut self, name: &str, command: Option<&str>) -> Result<(), Stop> {
        use std::os::unix::process::ExitStatusExt;
        let Some(command) = command else { return Ok(()) };
        self.check_stop()?;
        let _ = self.env.out.flush();
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).env_remove(HIDDEN_WORDS);
        for name in SECRET_VARIABLES {
            shell.env_remove(name);
        }
        let returned = match shell.status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.into_raw().to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(returned) = returned {
            let _ =
                writeln!(self.env.err, "Warning: Execution of {name} option returned {returned}.");
        }
        self.check_stop()
    }

    /// Statements of all clients; `None` if time is the limit.
    fn total(&self, clients: u32) -> Option<u64> {
        let settings = self.settings;
        if settings.time.is_some() {
            return None;
        }
        let each = settings.queries_each.unwrap_or(self.script.queries.len() as u64);
        Some(settings.queries.unwrap_or_else(|| each.saturating_mul(clients.into())))
    }

    fn transactions(&self, clients: u32) -> Option<u64> {
        let batch = self.settings.batch();
        self.total(clients).map(|total| match self.settings.rate {
            // Shared by all clients, so that only the very last one is cut off.
            Some(_) => total.div_ceil(batch),
            None => transactions(total, clients, batch),
        })
    }

    /// The unit of a transaction.
    fn unit(&self) -> &'static str {
        if self.settings.commit.is_some() { "transactions" } else { "queries" }
    }

    fn load(&self, clients: u32) -> LoadSpec {
        let settings = self.settings;
        let asked = RunRequest {
            transactions: self.transactions(clients),
            ..run_request(settings, clients, self.workers)
        };
        // A connection ends after a transaction.
        let reconnect_every = settings
            .detach
            .and_then(|statements| NonZeroU64::new(statements.div_ceil(settings.batch())));
        LoadSpec { reconnect_every, ..asked.load() }
    }

    fn drive(
        &mut self,
        clients: u32,
        keys: Arc<[String]>,
        truth: &mut Supplement,
    ) -> Result<TrialResult, Stop> {
        let commit = self
            .settings
            .commit
            .and_then(|n| NonZeroU32::new(u32::try_from(n).unwrap_or(u32::MAX)));
        let commit = commit.map_or(Commit::Each, Commit::EveryWithoutBegin);
        let list = SqlList::workload(self.script.list(), keys, commit, self.settings.seed);
        let mut list = list.map_err(|error| Stop::Failed(error.to_string()))?;
        if let Some(total) = self.total(clients) {
            let is_shared = self.settings.rate.is_some();
            list = if is_shared {
                list.with_shared_total(total)
            } else {
                list.with_total(total, clients)
            };
        }
        let mut target = self.target.clone();
        target.login.database = Some(self.settings.schema.clone());
        // The server's init_connect, which runs after the login, may have chosen another one.
        target.setup.push(format!("USE `{}`", self.settings.schema));
        if commit != Commit::Each {
            target.setup.push("SET AUTOCOMMIT=0".to_owned());
        }
        let context = TrialContext {
            load: self.load(clients),
            protocol: if self.settings.prepared { Protocol::Prepared } else { Protocol::Text },
            workload: &list,
            service: None,
            target: &target,
            server_pid: self.admin.client().peer_pid(),
            stop: &self.env.stop,
            failed_share_max: FAILED_SHARE_MAX,
            presence: &self.recording.presence,
            gate: None,
            probe: Some(self.recording.probe()),
        };
        let number = self.trials;
        self.trials += 1;
        let driven = drive(&self.recording, number, &context, self.transactions(clients), truth);
        let driven = driven.map_err(|error| Stop::Failed(error.to_string()))?;
        for other in driven.others.iter().filter(|_| is_remarked(self.settings.runs.is_named)) {
            self.warn(&format!("{other} also loaded this host"));
        }
        Ok(driven)
    }

    /// Errors of clients, in the original's format. Errors caused by the user's interruption do not
    /// count.
    fn complain(&mut self, outcome: &RunOutcome, has_ended_connections: bool) {
        for error in &outcome.connect_errors {
            let is_prepared = self.settings.prepared && is_of_statement(error.code);
            let what = if is_prepared {
                "Cannot prepare a query"
            } else {
                "Error when connecting to server"
            };
            self.warn(&format!("{what}: {}", error.first_message));
        }
        let is_stopped = self.admin.is_stopped();
        for error in outcome.errors() {
            let is_lost = error.class == ErrorClass::ConnectionLost;
            if is_stopped && (error.code == INTERRUPTED || has_ended_connections && is_lost) {
                continue;
            }
            let times = error.count + error.retried;
            // If no query failed, a new connection came later than planned.
            if error.count == 0 {
                let text = format!("{} ({times} times, and was tried again)", error.first_message);
                self.warn(&format!("Error when connecting to server: {text}"));
            } else {
                self.warn(&format!(
                    "Cannot run query ERROR : {} ({times} times)",
                    error.first_message
                ));
            }
        }
    }

    fn warn(&mut self, text: &str) {
        let _ = writeln!(self.env.err, "{NAME}: {}", truetps_record::printable_lines(text));
    }

    fn report(
        &mut self,
        engine: Option<&Engine>,
        clients: u32,
        truth: &Supplement,
        lengths: &[Duration],
    ) {
        self.print_verbose(2, "Generating stats\n");
        let output = &self.settings.output;
        let load_type = match &self.settings.source {
            StatementSource::Generated(auto) => auto.load_type.name(),
            StatementSource::Given { .. } => "query",
        };
        let (clients, queries_each) = self.who_ran(clients, truth);
        let engine = engine.map(|engine| engine.name.as_str());
        let test = Test { engine, load_type, lengths, clients, queries_each };
        let mut text = String::new();
        // Without a client there is no duration.
        if !output.silent && clients > 0 && !lengths.is_empty() {
            text += &report::benchmark(&test);
        }
        if !output.silent && !output.classic {
            text += &truth.block(self.recording.kept_in().as_deref());
        }
        let csv = report::csv(&test);
        if output.csv == Csv::Stdout && truth.is_valid() {
            text += &csv;
        }
        // A closed output is no reason to fail: the results are on disk.
        let _ = self.env.out.write_all(text.as_bytes()).and_then(|()| self.env.out.flush());
        self.write_csv(&csv, truth);
    }

    /// A line of CSV has no field for errors.
    fn write_csv(&mut self, line: &str, truth: &Supplement) {
        let csv = &self.settings.output.csv;
        if *csv != Csv::Off && !truth.is_valid() {
            self.warn("not all queries were acknowledged: this test has no line of CSV");
        } else if let Csv::File(path) = csv
            && let Err(error) = append(path, line)
        {
            self.is_good = false;
            self.warn(&format!("Could not write csv file: {}: {error}", path.display()));
        }
    }

    /// Clients that ran to the end, and the acknowledged number for each of them. The run is
    /// complete if all clients ended and everything was acknowledged.
    fn who_ran(&self, clients: u32, truth: &Supplement) -> (u32, u64) {
        let runs = truth.runs.len().max(1) as u64;
        let ran = truth
            .runs
            .iter()
            .map(|run| u64::from(run.clients.saturating_sub(run.clients_failed)))
            .sum::<u64>();
        let (batch, most) = (self.settings.batch(), self.total(clients).unwrap_or(u64::MAX));
        // The last transaction of a client may be shorter: the sum shows how many are.
        let queries = truth.runs.iter().map(|run| run.acknowledged.saturating_mul(batch).min(most));
        let queries = queries.fold(0, u64::saturating_add);
        let clients = u32::try_from(ran / runs).unwrap_or(clients);
        (clients, queries / (runs * u64::from(clients)).max(1))
    }

    fn print_verbose(&mut self, verbosity: u32, text: &str) {
        if self.settings.output.verbose >= verbosity {
            let _ = self.env.out.write_all(text.as_bytes());
        }
    }
}

/// The options of each run, except the number of transactions.
pub(super) fn run_request(settings: &SlapSettings, clients: u32, workers: u32) -> RunRequest {
    RunRequest {
        clients,
        workers,
        transactions: None,
        time: settings.time,
        rate: settings.rate.map(|queries| queries / settings.batch() as f64),
        seed: settings.seed,
    }
}

/// Transactions for this many statements in all, `batch` in each, when each client has its share.
fn transactions(statements: u64, clients: u32, batch: u64) -> u64 {
    let clients = u64::from(clients);
    let (each, rest) = (statements / clients, statements % clients);
    rest * (each + 1).div_ceil(batch) + (clients - rest) * each.div_ceil(batch)
}

pub(super) fn append(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn cannot_use(schema: &str, error: &DriverError) -> Stop {
    Stop::Failed(format!("Cannot use schema {schema} : {}", server_message(error)))
}

/// Whether an error of a connecting client comes from a statement that it prepared: the connection
/// that prepares the test has logged in the same way before. Without an error number it is not the
/// server's.
fn is_of_statement(code: u16) -> bool {
    // Limits of connections, and accounts and databases that were changed since.
    const LOGIN: [u16; 17] = [
        0, 1040, 1044, 1045, 1049, 1129, 1130, 1158, 1203, 1226, 1251, 1524, 1698, 1820, 1862,
        3118, 4151,
    ];
    !LOGIN.contains(&code)
}

/// A table without rows has no key; any value will do.
fn forgets_rows(engine: &Engine) -> bool {
    engine.name.eq_ignore_ascii_case("blackhole")
}

fn hint_of_schema(error: &DriverError) -> &'static str {
    const EXISTS: u16 = 1007;
    if error.code() == EXISTS {
        "\nhint: an existing schema is not dropped; name another one with --create-schema"
    } else {
        ""
    }
}

fn reason(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "the run failed".to_owned(),
        Validity::Invalid(reason) | Validity::Partial(reason) => reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_shares() {
        assert_eq!(transactions(1_050, 100, 1), 1_050);
        // 50 clients with 11 statements in 2 transactions, 50 with 10 in one.
        assert_eq!(transactions(1_050, 100, 10), 150);
        assert_eq!(transactions(3, 10, 5), 3);
    }

    #[test]
    fn a_login_that_fails_is_no_fault_of_a_statement() {
        assert!(is_of_statement(1064) && is_of_statement(1146));
        assert!(!is_of_statement(1040) && !is_of_statement(0));
    }

    #[test]
    fn only_a_table_that_keeps_no_rows_has_a_key_made_up() {
        let engine = |name: &str| Engine { name: name.to_owned(), options: String::new() };
        assert!(forgets_rows(&engine("BlackHole")) && !forgets_rows(&engine("innodb")));
    }
}
