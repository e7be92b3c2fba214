//! The life of a test: for each engine and number of clients, as often as it is wanted: schema, tables, rows, commands,
//! queries, commands, and the schema is dropped.

use std::num::{NonZeroU32, NonZeroU64};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use truetps_driver::{Client, DriverError, Target};
use truetps_engine::{LoadSpec, OpenPacing, Outcome, Pacing, Quota, Rate, RateOf};
use truetps_lab::{TrialContext, connect_timeout, run_trial};
use truetps_record::{ErrorPolicy, Protocol, Spacing, Trial, Validity};
use truetps_workload::{Commit, SqlList};

use super::report::{self, Test};
use super::script::Script;
use super::settings::{Csv, Engine, Settings, Source};
use crate::World;
use crate::recording::Recording;
use crate::recording::said;
use crate::truth::{Truth, ran};

/// A query that does not end for so long, when all others have, hangs.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(1);
/// Rows that are inserted between two looks at whether the user has had enough.
const ROWS_A_LOOK: usize = 1_000;

/// Why a test is broken off.
#[derive(Debug)]
pub(super) enum Stop {
    /// A line for the user.
    Failed(String),
    Interrupted,
}

pub(super) struct Bench<'a, 'w> {
    pub(super) settings: &'a Settings,
    pub(super) script: &'a Script,
    /// Without a database.
    pub(super) target: &'a Target,
    pub(super) admin: Client,
    pub(super) recording: Recording,
    pub(super) world: &'a mut World<'w>,
    pub(super) workers: u32,
    /// Trials so far.
    pub(super) trials: usize,
    /// The schema is there, and this run has made it.
    pub(super) has_made_schema: bool,
    /// Everything was acknowledged so far.
    pub(super) is_good: bool,
}

impl Bench<'_, '_> {
    /// All tests, one after the other.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        self.say(2, "Starting Concurrency Test\n");
        let engines: Vec<Option<&Engine>> = match &self.settings.engines[..] {
            [] => vec![None],
            engines => engines.iter().map(Some).collect(),
        };
        for engine in engines {
            for clients in &self.settings.concurrency {
                self.test(engine, *clients)?;
            }
        }
        Ok(())
    }

    fn test(&mut self, engine: Option<&Engine>, clients: u32) -> Result<(), Stop> {
        let (mut truth, mut lengths) = (Truth::new(self.unit()), Vec::new());
        let mut stopped = Ok(());
        for _ in 0..self.settings.iterations {
            stopped = self.iteration(engine, clients, &mut truth, &mut lengths);
            if stopped.is_err() {
                break;
            }
        }
        if !lengths.is_empty() {
            self.is_good &= truth.is_valid();
            self.report(engine, clients, &truth, &lengths);
        }
        stopped
    }

    fn iteration(
        &mut self,
        engine: Option<&Engine>,
        clients: u32,
        truth: &mut Truth,
        lengths: &mut Vec<Duration>,
    ) -> Result<(), Stop> {
        self.make_schema(engine)?;
        let keys = self.keys()?;
        self.shell("pre_system", self.settings.pre_system.as_deref());
        self.execute_all(&self.script.pre)?;
        let (trial, outcome) = self.drive(clients, keys, truth)?;
        if let Some(outcome) = &outcome {
            lengths.push(outcome.last_end.unwrap_or(outcome.measure_length));
            self.complain(outcome);
        }
        let interrupted = self.world.stop.load(Ordering::Relaxed);
        truth.runs.push(ran(&trial, outcome.as_ref(), clients, self.transactions(clients)));
        if interrupted {
            return Err(Stop::Interrupted);
        }
        if outcome.is_none() {
            return Err(Stop::Failed(reason(&trial.validity)));
        }
        self.execute_all(&self.script.post)?;
        self.shell("post_system", self.settings.post_system.as_deref());
        self.drop_schema()
    }

    fn make_schema(&mut self, engine: Option<&Engine>) -> Result<(), Stop> {
        let schema = self.settings.schema.clone();
        if self.settings.makes_schema() {
            self.say(2, "Loading Pre-data\n");
            let sql = format!("CREATE SCHEMA `{schema}`");
            self.say(3, &format!("{sql};\n"));
            self.admin.execute(&sql).map_err(|error| {
                Stop::Failed(format!("Cannot create schema {schema} : {}{}", said(&error), hint_of_schema(&error)))
            })?;
            self.has_made_schema = true;
        }
        self.admin
            .execute(&format!("USE `{schema}`"))
            .map_err(|error| Stop::Failed(format!("Cannot use schema {schema} : {}", said(&error))))?;
        for (sql, plain) in self.script.create_with(engine).iter().zip(&self.script.create) {
            self.execute_as(sql, plain)?;
        }
        if let Source::Generated(auto) = &self.settings.source {
            for (n, sql) in auto.fill(self.settings.seed).enumerate() {
                self.execute(&sql)?;
                if n % ROWS_A_LOOK == 0 && self.world.stop.load(Ordering::Relaxed) {
                    return Err(Stop::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Drops what this run has made, and nothing else.
    pub(super) fn drop_schema(&mut self) -> Result<(), Stop> {
        if !self.has_made_schema || self.settings.keeps_schema {
            return Ok(());
        }
        let schema = &self.settings.schema;
        let dropped = self.admin.execute(&format!("DROP SCHEMA IF EXISTS `{schema}`"));
        dropped.map_err(|error| Stop::Failed(format!("Cannot drop database '{schema}' ERROR : {}", said(&error))))?;
        self.has_made_schema = false;
        Ok(())
    }

    fn keys(&mut self) -> Result<Arc<[String]>, Stop> {
        self.say(2, "Generating primary key list\n");
        if !self.script.takes_keys() {
            return Ok(Arc::new([]));
        }
        let rows = self.admin.query("SELECT id from t1").map_err(|error| Stop::Failed(said(&error)))?.rows;
        let keys: Arc<[String]> = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        if keys.is_empty() {
            return Err(Stop::Failed("there is no row whose key could be looked up".to_owned()));
        }
        Ok(keys)
    }

    fn execute_all(&mut self, statements: &[String]) -> Result<(), Stop> {
        statements.iter().try_for_each(|sql| self.execute(sql))
    }

    fn execute(&mut self, sql: &str) -> Result<(), Stop> {
        self.execute_as(sql, sql)
    }

    /// `shown`: the statement as messages have it.
    fn execute_as(&mut self, sql: &str, shown: &str) -> Result<(), Stop> {
        self.say(3, &format!("{sql};\n"));
        let done = self.admin.execute(sql);
        done.map(drop).map_err(|error| Stop::Failed(format!("Cannot run query {shown} ERROR : {}", said(&error))))
    }

    #[expect(clippy::disallowed_methods, reason = "commands of the user's own, which the command line names")]
    fn shell(&mut self, name: &str, command: Option<&str>) {
        use std::os::unix::process::ExitStatusExt;
        let Some(command) = command else { return };
        let _ = self.world.out.flush();
        let returned = match Command::new("/bin/sh").arg("-c").arg(command).status() {
            Ok(status) if status.success() => return,
            Ok(status) => status.into_raw().to_string(),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(self.world.err, "Warning: Execution of {name} option returned {returned}.");
    }

    /// Statements of all clients; `None` where time is the limit.
    fn total(&self, clients: u32) -> Option<u64> {
        let settings = self.settings;
        if settings.time.is_some() {
            return settings.queries;
        }
        let each = settings.queries_each.unwrap_or(self.script.queries.len() as u64);
        Some(settings.queries.unwrap_or_else(|| each.saturating_mul(clients.into())))
    }

    fn transactions(&self, clients: u32) -> Option<u64> {
        let batch = self.settings.commit.unwrap_or(1);
        // With a rate they are for whoever is free.
        let shares = if self.settings.rate.is_some() { 1 } else { clients };
        self.total(clients).map(|total| transactions(total, shares, batch))
    }

    /// What a transaction is here.
    fn unit(&self) -> &'static str {
        if self.settings.commit.is_some() { "transactions" } else { "queries" }
    }

    fn load(&self, clients: u32) -> LoadSpec {
        let settings = self.settings;
        let batch = settings.commit.unwrap_or(1);
        let transactions = self.transactions(clients);
        let pacing = settings.rate.map_or(Pacing::Closed, |rate| {
            Pacing::Open(OpenPacing {
                rate: Rate::constant(rate / batch as f64),
                of: RateOf::All,
                spacing: Spacing::Constant,
                latency_limit: None,
                seed: settings.seed,
            })
        });
        // A schedule is everybody's: whoever is free takes the next start.
        let quota = transactions.map(|n| if settings.rate.is_some() { Quota::Together(n) } else { Quota::Each(n) });
        LoadSpec {
            workers: self.workers,
            pacing,
            errors: ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() },
            quota,
            // A connection ends with a transaction.
            reconnect_every: settings.detach.and_then(|statements| NonZeroU64::new(statements.div_ceil(batch))),
            connect_timeout: connect_timeout(clients),
            drain_timeout: DRAIN_TIMEOUT,
            ..LoadSpec::closed(clients, self.workers, settings.time.unwrap_or(Duration::MAX))
        }
    }

    fn drive(
        &mut self,
        clients: u32,
        keys: Arc<[String]>,
        truth: &mut Truth,
    ) -> Result<(Trial, Option<Outcome>), Stop> {
        let failed = |error: &dyn std::fmt::Display| Stop::Failed(error.to_string());
        let commit = self.settings.commit.and_then(|n| NonZeroU32::new(u32::try_from(n).unwrap_or(u32::MAX)));
        let commit = commit.map_or(Commit::Each, Commit::EveryWithoutBegin);
        let list = SqlList::new(self.script.list(), keys, commit, self.settings.seed);
        let mut list = list.map_err(|error| failed(&error))?;
        if let Some(total) = self.total(clients) {
            let is_shared = self.settings.rate.is_some();
            list = if is_shared { list.with_shared_total(total) } else { list.with_total(total, clients) };
        }
        let mut target = self.target.clone();
        target.login.database = Some(self.settings.schema.clone());
        if commit != Commit::Each {
            target.setup.push("SET AUTOCOMMIT=0".to_owned());
        }
        let context = TrialContext {
            load: self.load(clients),
            protocol: if self.settings.prepared { Protocol::Prepared } else { Protocol::Text },
            workload: &list,
            target: &target,
            server_pid: self.admin.peer_pid(),
            stop: &self.world.stop,
        };
        let (mut trial, mut writer) = self.recording.begin_trial(self.trials).map_err(|error| failed(&error))?;
        self.trials += 1;
        let add = &mut |_: &_, histogram: &truetps_record::Histogram| {
            // All have the same bounds.
            let _ = truth.response.add(histogram);
        };
        let outcome = run_trial(&context, &mut trial, &mut writer, add);
        let outcome = outcome.and_then(|outcome| writer.write_trial(&trial).map(|()| outcome));
        Ok((trial, outcome.map_err(|error| failed(&error))?))
    }

    /// Errors of clients, in the original's words.
    fn complain(&mut self, outcome: &Outcome) {
        for error in &outcome.connect_errors {
            self.warn(&format!("Error when connecting to server: {}", error.first_message));
        }
        for error in outcome.errors.iter().chain(&outcome.errors_elsewhere) {
            self.warn(&format!("Cannot run query ERROR : {} ({} times)", error.first_message, error.count));
        }
    }

    fn warn(&mut self, text: &str) {
        let _ = writeln!(self.world.err, "{}: {text}", super::NAME);
    }

    fn report(&mut self, engine: Option<&Engine>, clients: u32, truth: &Truth, lengths: &[Duration]) {
        self.say(2, "Generating stats\n");
        let output = &self.settings.output;
        let load_type = match &self.settings.source {
            Source::Generated(auto) => auto.load_type.name(),
            Source::Given { .. } => "query",
        };
        let test = Test {
            engine: engine.map(|engine| engine.name.as_str()),
            load_type,
            lengths,
            clients,
            queries_each: self.total(clients).unwrap_or_else(|| acknowledged(truth)) / u64::from(clients),
        };
        let mut text = String::new();
        if !output.silent {
            text += &report::benchmark(&test);
        }
        if !output.silent && !output.classic {
            let kept = self.recording.path().map(|path| path.display().to_string());
            text += &truth.block(kept.as_deref());
        }
        if output.csv == Csv::Stdout {
            text += &report::csv(&test);
        }
        // Nobody listening is no reason to fail: what was measured is on disk.
        let _ = self.world.out.write_all(text.as_bytes()).and_then(|()| self.world.out.flush());
        if let Csv::File(path) = &output.csv
            && let Err(error) = append(path, &report::csv(&test))
        {
            self.is_good = false;
            self.warn(&format!("Could not write csv file: {}: {error}", path.display()));
        }
    }

    fn say(&mut self, verbosity: u32, text: &str) {
        if self.settings.output.verbose >= verbosity {
            let _ = self.world.out.write_all(text.as_bytes());
        }
    }
}

/// Transactions of so many statements in all, `batch` in each, when each client has its share.
fn transactions(statements: u64, clients: u32, batch: u64) -> u64 {
    let clients = u64::from(clients);
    let (each, rest) = (statements / clients, statements % clients);
    rest * (each + 1).div_ceil(batch) + (clients - rest) * each.div_ceil(batch)
}

fn acknowledged(truth: &Truth) -> u64 {
    truth.runs.last().map_or(0, |run| run.acknowledged)
}

pub(super) fn append(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn hint_of_schema(error: &DriverError) -> &'static str {
    const EXISTS: u16 = 1007;
    if error.code() == EXISTS {
        "\nhint: a schema that is there already is not dropped; name another one with --create-schema, or drop it yourself"
    } else {
        ""
    }
}

fn reason(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "the run failed".to_owned(),
        Validity::Invalid(reason) | Validity::Partial(reason) => reason.clone(),
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
}
