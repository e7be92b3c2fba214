//! The action `insert`: inserts rows over several connections, prints the original's log, then what
//! that leaves out.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::{Client, DriverError, Target};
use truetps_plan::{
    Design, GeneratedTable, Plan, ProbeSpec, QuickOverrides, ServerSpec, TableInsertSpec,
    WorkloadKind, WorkloadSpec,
};
use truetps_probe::clock;
use truetps_record::{
    CONNECTIONS, Configuration, Personality, Protocol, ServerFacts, SettingValue, SqlDialect,
    Validity,
};
use truetps_recording::{LiveView, RunsFolder, is_remarked};
use truetps_trial::TrialContext;
use truetps_workload::{Commit, TableInsert};

use super::exit::{FAILED, GOOD, INTERRUPTED, MtlsExit, NAME, failed, refused};
use super::log::MtlsLog;
use super::options::MtlsOptions;
use super::target::{full_name, table, target};
use crate::recording::{CompatRecording, RunsWish, TrialTurn, choose_runs, server_facts};
use crate::run::{
    ANSWER_TIMEOUT, FAILED_SHARE_MAX, RunRequest, TrialResult, drive, make_room, unless_stopped,
    workers,
};
use crate::supplement::{Supplement, error_text};

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

pub(super) struct InsertRun<'a> {
    pub(super) options: &'a MtlsOptions,
    pub(super) cores: u32,
    pub(super) environment: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) stop: &'a AtomicBool,
    pub(super) command: Vec<String>,
    pub(super) server_warning: fn(&Target) -> Option<String>,
    pub(super) live_view: &'a dyn Fn(&str) -> Result<LiveView, String>,
}

impl InsertRun<'_> {
    pub(super) fn insert(
        &self,
        log: &mut MtlsLog<'_>,
        out: &mut dyn Write,
    ) -> Result<u8, MtlsExit> {
        let options = self.options;
        let table = table(options, options.batch)?;
        self.check_batch()?;
        let asked = target(options)?;
        make_room(options.parallel, &asked).map_err(failed)?;
        let insert = TableInsert::new(&table, options.batch, SqlDialect::Mysql);
        let runs = choose_runs(&self.runs(), self.environment, &mut |text| log.info(text))
            .map_err(failed)?;
        let (admin, server) = self.connect()?;
        let server_warning = self.server_warning;
        let warning = unless_stopped(self.stop, move || server_warning(&asked)).flatten();
        if let Some(warning) = warning {
            log.info(&warning);
        }
        let recording = self.begin_recording(&runs, &table, server)?;
        recording.show_in(options.ui.then(|| (self.live_view)(NAME)).transpose().map_err(failed)?);
        self.log_beginning(&insert, log);
        let mut truth =
            Supplement::new(if options.batch == 1 { "rows" } else { "INSERTs" }, options.seed);
        let driven = self.drive(&insert, &admin, &recording, &mut truth)?;
        for other in driven.others.iter().filter(|_| is_remarked(self.runs().is_named)) {
            log.info(&format!("{other} also loaded this host"));
        }
        self.log_end(&driven, &truth, log);
        if !options.classic {
            // A closed output is no reason to fail: the results are on disk.
            let block = truth.block(recording.kept_in().as_deref());
            let _ = out.write_all(block.as_bytes()).and_then(|()| out.flush());
        }
        Ok(match driven.trial.validity {
            Validity::Valid => GOOD,
            Validity::Invalid(_) => FAILED,
            Validity::Partial(_) => INTERRUPTED,
        })
    }

    fn check_batch(&self) -> Result<(), MtlsExit> {
        let MtlsOptions { rows, batch, time, .. } = self.options;
        if time.is_some() || rows.is_multiple_of(u64::from(*batch)) {
            return Ok(());
        }
        Err(failed(format!(
            "--rows={rows} is not a multiple of --batch={batch}: rows would be left over"
        )))
    }

    /// Asks for the server's identity and its process.
    fn connect(&self) -> Result<(Client, ServerFacts), MtlsExit> {
        let (target, columns) =
            (target(self.options)?, format!("SHOW COLUMNS FROM {}", full_name(self.options)));
        let connected = unless_stopped(self.stop, move || -> Result<_, DriverError> {
            let mut admin = Client::connect(&target, ANSWER_TIMEOUT)?;
            let server = server_facts(&mut admin)?;
            match admin.query(&columns) {
                // Without its table each row would fail. Other errors are reported by the rows.
                Err(error) if error.code() == NO_SUCH_TABLE => Err(error),
                _ => Ok((admin, server)),
            }
        });
        let connected = connected
            .ok_or_else(|| (INTERRUPTED, "interrupted before anything was sent".to_owned()))?;
        connected.map_err(|error| refused(&error))
    }

    fn begin_recording(
        &self,
        runs: &RunsFolder,
        table: &GeneratedTable,
        server: ServerFacts,
    ) -> Result<CompatRecording, MtlsExit> {
        let turn = TrialTurn { block: 0, configuration: self.configuration() };
        let target = target(self.options)?;
        let (plan, command) = (self.plan(table), self.command.clone());
        CompatRecording::begin(
            runs,
            plan,
            &[turn],
            server,
            &target,
            command,
            self.run_request().workers,
        )
        .map_err(failed)
    }

    fn drive(
        &self,
        insert: &TableInsert,
        admin: &Client,
        recording: &CompatRecording,
        truth: &mut Supplement,
    ) -> Result<TrialResult, MtlsExit> {
        let asked = self.run_request();
        let workload = insert
            .workload(Commit::EveryWithoutBegin(NonZeroU32::MIN), asked.seed)
            .map_err(failed)?;
        let context = TrialContext {
            load: asked.load(),
            protocol: self.protocol(),
            workload: &*workload,
            service: None,
            target: &target(self.options)?.with_setup(["set autocommit=0"]),
            server_pid: admin.peer_pid(),
            stop: self.stop,
            failed_share_max: FAILED_SHARE_MAX,
            presence: &recording.presence,
            gate: None,
            probe: Some(recording.probe()),
        };
        drive(recording, 0, &context, asked.transactions, truth).map_err(failed)
    }

    fn run_request(&self) -> RunRequest {
        let options = self.options;
        RunRequest {
            clients: options.parallel,
            workers: workers(options.workers, self.cores),
            transactions: options.time.is_none().then(|| options.rows / u64::from(options.batch)),
            time: options.time.map(Duration::from_secs_f64),
            rate: options.rate,
            seed: options.seed,
        }
    }

    fn log_beginning(&self, insert: &TableInsert, log: &mut MtlsLog<'_>) {
        let options = self.options;
        log.info(&format!("start time = {}", clock::epoch_s()));
        stars(log);
        let sql = placeholders(&insert.insert_sql, &options.table, &full_name(options));
        for _ in 0..options.parallel {
            log.info(&format!("sql statement: {sql}"));
        }
    }

    /// Why the run did not do what was requested, if so, followed by the original's last line.
    fn log_end(&self, driven: &TrialResult, truth: &Supplement, log: &mut MtlsLog<'_>) {
        stars(log);
        log.info(&format!("stop time = {}", clock::epoch_s()));
        for error in truth.errors() {
            log.error(&error_text(&error));
        }
        if let Some(reason) = driven.trial.validity.reason() {
            log.error(&reason.to_string());
        }
        let transactions: u64 = truth.runs.iter().map(|run| run.acknowledged).sum();
        let rows = transactions * u64::from(self.options.batch);
        let seconds = driven.length().as_secs_f64();
        let tps = if seconds > 0.0 { rows as f64 / seconds } else { 0.0 };
        log.info(&format!("TPS:{tps:.2} duration {seconds:.2}(s)"));
    }

    fn protocol(&self) -> Protocol {
        if self.options.prepared { Protocol::Prepared } else { Protocol::Text }
    }

    fn configuration(&self) -> Configuration {
        let clients = SettingValue::Int(self.options.parallel.into());
        Configuration { levels: IndexMap::from([(CONNECTIONS.to_owned(), clients)]) }
    }

    /// Only for a run that is kept or shown.
    fn probe(&self) -> ProbeSpec {
        let MtlsOptions { probe_interval: probe, ui, .. } = self.options;
        ProbeSpec {
            enabled: probe.enabled && (*ui || self.runs().folder.is_some()),
            ..probe.clone()
        }
    }

    fn runs(&self) -> RunsWish {
        RunsWish::of(self.options.runs.clone(), self.environment)
    }

    /// The part that a plan can express; the COMMIT after each INSERT, without a BEGIN, is not.
    fn plan(&self, table: &GeneratedTable) -> Plan {
        let options = self.options;
        let kind = WorkloadKind::Table(TableInsertSpec {
            table: table.clone(),
            rows_per_insert: (options.batch > 1).then_some(options.batch),
            explicit_commit: None,
        });
        let until = options.time.map_or_else(
            || format!("{} rows", options.rows),
            |seconds| format!("{seconds} s of rows"),
        );
        Plan {
            name: "mtls".to_owned(),
            about: format!("{NAME}: {until} by {} clients", options.parallel),
            recorded_from: Some(Personality::Mtls),
            server: ServerSpec::default(),
            disk: None,
            workload: WorkloadSpec { protocol: self.protocol(), ..WorkloadSpec::new(kind) },
            load: self.run_request().plan_load(),
            factors: self
                .configuration()
                .levels
                .into_iter()
                .map(|(name, level)| (name, vec![level]))
                .collect(),
            design: Design { blocks: 1, seed: options.seed, aa_pair: false, ..Design::default() },
            probe: self.probe(),
            quick: QuickOverrides::default(),
        }
    }
}

fn stars(log: &mut MtlsLog<'_>) {
    log.info("****");
    log.info("****");
}

/// The statement as the original prints it: `insert into db.t (i0,i1) values(%s,%s)`.
fn placeholders(sql: &str, table: &str, full_name: &str) -> String {
    let sql = sql.replacen(&format!("into {table} "), &format!("into {full_name} "), 1);
    sql.replace(", ", ",").replace("values (", "values(").replace('?', "%s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_as_the_original_shows_it() {
        assert_eq!(
            placeholders("insert into t (i0, c0) values (?, ?)", "t", "tempdb.t"),
            "insert into tempdb.t (i0,c0) values(%s,%s)"
        );
    }
}
