//! One crash: start, load, crash, recovery, reading back, stop.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_disk::DiskCrash;
use truetps_driver::{Client, DriverError};
use truetps_knowledge::{Durability, Loss};
use truetps_record::{BinlogDifference, CrashKind, CrashRecord, CrashStep, SqlDialect};
use truetps_sandbox::{RunningServer, Sandbox, StartOptions};
use truetps_workload::RandomStream;

use super::binlog::compare_binlog;
use super::clients::{CrashLoad, KEYS_PER_CLIENT, TABLE, load_until};
use super::controls::{CrashCell, promised_loss};
use super::count::{SentRow, count_loss};
use super::load_watch::{FoundBeside, LoadWatch};
use super::order::PlannedCrash;
use super::steps::BinlogWatch;
use super::table_check::TableCheck;
use crate::error::LabError;
use crate::trial::tables::SCHEMA;

/// Shortest load before a crash. A server that flushes once a second has done so at least once.
const LOAD_MIN: Duration = Duration::from_millis(1200);
/// The crash falls anywhere in a second: some settings flush once in one.
const PHASE: Duration = Duration::from_secs(1);
/// A crash at a step falls on one of its next occurrences, at once or a little later: while the
/// server waits for the disk.
const OCCURRENCES: u64 = 4;
const STEP_DELAY: Duration = Duration::from_millis(3);
const STOP_LOOK: Duration = Duration::from_millis(50);
const STOP_TIMEOUT: Duration = Duration::from_mins(5);
const CLIENT_TIMEOUT: Duration = Duration::from_mins(2);
/// Keys of one crash. All clients have room in them, and 2^19 crashes fit into a signed key.
const KEYS_PER_CRASH: u64 = 1 << 44;

/// The server of a configuration, between crashes.
pub(crate) struct CrashedServer<'a> {
    pub(crate) cell: &'a CrashCell,
    pub(crate) sandbox: Sandbox,
    pub(crate) options: StartOptions,
    pub(crate) clients: u32,
    pub(crate) survival: f64,
    /// The disk fails before the server dies.
    pub(crate) is_live: bool,
    pub(crate) stop: &'a AtomicBool,
    /// Folder and name of its binlogs; `None`: it has none, and so no steps.
    pub(crate) binlogs: Option<PathBuf>,
    /// `None`: the server has no check of its tables.
    pub(crate) table_check: Option<TableCheck>,
    /// By the server's own settings; `None`: not known.
    pub(crate) promised: Option<Durability>,
}

/// Where a crash stands in the experiment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrashPlace {
    /// From 1.
    pub(crate) number: u32,
    /// From 0.
    pub(crate) block: u32,
}

/// What is known after a crash.
pub(crate) struct CrashOutcome {
    pub(crate) record: CrashRecord,
    /// `None`: it does not start any more.
    pub(crate) server: Option<RunningServer>,
}

/// What a crash left of the load.
struct BrokenLoad {
    load: CrashLoad,
    /// On the clock of the rows.
    crashed: Duration,
    blocks_lost: u64,
}

impl CrashedServer<'_> {
    /// Starts it for a load. Until then its disk takes no time.
    pub(crate) fn start(&self) -> Result<RunningServer, LabError> {
        self.sandbox.set_disk_timed(false)?;
        let server = self.sandbox.start(&self.options)?;
        self.sandbox.set_disk_timed(true)?;
        Ok(server)
    }

    /// Stops it, so that the servers of other configurations are alone on the host.
    pub(crate) fn stop(&self, server: RunningServer) -> Result<(), LabError> {
        self.sandbox.set_disk_timed(false)?;
        let stopped = server.stop(STOP_TIMEOUT)?;
        if stopped.clean {
            return Ok(());
        }
        Err(LabError::CrashStop { status: stopped.status })
    }

    /// Loads and crashes this server. `None`: the user ended the experiment before the crash.
    pub(crate) fn crash(
        &self,
        server: RunningServer,
        planned: PlannedCrash,
        place: CrashPlace,
        random: &mut RandomStream,
        watch: &mut LoadWatch<'_>,
    ) -> Result<Option<CrashOutcome>, LabError> {
        let planned =
            PlannedCrash { step: planned.step.filter(|_| self.binlogs.is_some()), ..planned };
        let first_key = u64::from(place.number) * KEYS_PER_CRASH;
        let broken = self.crash_under_load(server, planned, first_key, random, watch)?;
        let Some(mut broken) = broken else { return Ok(None) };
        if planned.step == Some(CrashStep::Recovery)
            && let Some(disk_crash) = self.disk_crash(planned.kind, random)
        {
            broken.blocks_lost += self.crash_in_recovery(disk_crash, random)?;
        }
        let recovered = self.recover(first_key);
        let (server, after) = match recovered {
            Ok((server, after)) => (Some(server), after),
            Err(error) => {
                (None, AfterCrash { problem: Some(error.to_string()), ..AfterCrash::default() })
            }
        };
        let record = self.record(planned, place, &broken, after);
        Ok(Some(CrashOutcome { record, server }))
    }

    /// What the disk does in a crash of this kind.
    fn disk_crash(&self, kind: CrashKind, random: &mut RandomStream) -> Option<DiskCrash> {
        match kind {
            CrashKind::Kill => None,
            CrashKind::Os => Some(DiskCrash::Os),
            CrashKind::Power => {
                Some(DiskCrash::Power { survival: self.survival, seed: random.next_u64() })
            }
        }
    }

    fn crash_under_load(
        &self,
        server: RunningServer,
        planned: PlannedCrash,
        first_key: u64,
        random: &mut RandomStream,
        watch: &mut LoadWatch<'_>,
    ) -> Result<Option<BrokenLoad>, LabError> {
        let wait = LOAD_MIN + PHASE.mul_f64(random.open_unit());
        let disk_crash = self.disk_crash(planned.kind, random);
        let cut_first = disk_crash.filter(|_| self.is_live);
        let target = server.target(SCHEMA);
        let clock = Instant::now();
        let (mut load, crashed) =
            load_until(&target, self.clients, first_key, clock, |end_load| {
                let is_complete = wait_unless_stopped(wait, self.stop, watch);
                watch.end();
                if let Some(step) = planned.step.filter(|_| is_complete) {
                    self.wait_for_step(step, &server, random, end_load)?;
                }
                let at = clock.elapsed();
                let blocks_lost = cut_first.map_or(Ok(0), |crash| self.sandbox.cut_disk(crash))?;
                // Otherwise dead before the disk loses anything: nothing is acknowledged that the
                // disk has not.
                server.kill()?;
                Ok::<_, LabError>(is_complete.then_some((at, blocks_lost)))
            })?;
        let Some((crashed, mut blocks_lost)) = crashed? else { return Ok(None) };
        if let Some(error) = load.early {
            return Err(error.into());
        }
        blocks_lost += disk_crash.map_or(Ok(0), |crash| self.sandbox.crash_disk(crash))?;
        if cut_first.is_some() {
            load.sent
                .iter_mut()
                .for_each(|row| row.acknowledged = row.acknowledged.filter(|at| *at <= crashed));
        }
        Ok(Some(BrokenLoad { load, crashed, blocks_lost }))
    }

    /// Waits until the server works at a step, and a random moment longer.
    fn wait_for_step(
        &self,
        step: CrashStep,
        server: &RunningServer,
        random: &mut RandomStream,
        end_load: &dyn Fn(),
    ) -> Result<(), LabError> {
        let Some(mut watch) = self.watch_binlogs()? else { return Ok(()) };
        let count = 1 + random.below(OCCURRENCES);
        let is_dead = || server.exit_status_if_dead().is_some();
        match step {
            CrashStep::Stop => {
                end_load();
                server.ask_to_stop().map_err(|source| LabError::CrashStep { step, source })?;
                watch.wait(CrashStep::Close, 1, &is_dead)
            }
            // What is not filled, is written by commits; and a recovery has something to do after
            // one.
            CrashStep::Fill if self.cell.configuration.prealloc().is_none() => {
                watch.wait(CrashStep::Commit, count, &is_dead)
            }
            CrashStep::Recovery => watch.wait(CrashStep::Commit, count, &is_dead),
            step => watch.wait(step, count, &is_dead),
        }
        .map_err(|source| LabError::CrashStep { step, source })?;
        let delay = STEP_DELAY.mul_f64(random.open_unit());
        if random.below(2) == 1 {
            thread::sleep(delay);
        }
        Ok(())
    }

    fn watch_binlogs(&self) -> Result<Option<BinlogWatch>, LabError> {
        let Some(basename) = &self.binlogs else { return Ok(None) };
        let watch = BinlogWatch::new(basename, self.cell.configuration.prealloc());
        watch.map(Some).map_err(recovery_failed)
    }

    /// The server starts, and the disk fails while it changes its binlogs. Returns the blocks that
    /// the cache lost.
    fn crash_in_recovery(
        &self,
        disk_crash: DiskCrash,
        random: &mut RandomStream,
    ) -> Result<u64, LabError> {
        let Some(mut watch) = self.watch_binlogs()? else { return Ok(0) };
        let count = 1 + random.below(OCCURRENCES);
        let cut = thread::scope(|scope| {
            let starting = scope.spawn(|| self.sandbox.start(&self.options));
            let waited = watch.wait(CrashStep::Recovery, count, &|| starting.is_finished());
            let cut = self.sandbox.cut_disk(disk_crash);
            // It acknowledges nothing to anyone, so that it may go on without its disk; it need not
            // succeed.
            if let Ok(server) = starting.join().expect("a start does not panic") {
                server.kill()?;
            }
            waited.map_err(recovery_failed)?;
            Ok::<_, LabError>(cut?)
        })?;
        Ok(cut + self.sandbox.crash_disk(disk_crash)?)
    }

    /// Starts the server again, and reads what is there.
    fn recover(&self, first_key: u64) -> Result<(RunningServer, AfterCrash), LabError> {
        let began = Instant::now();
        let server = self.sandbox.start(&self.options)?;
        let mut client = Client::connect(&server.target(SCHEMA), CLIENT_TIMEOUT)?;
        let end_key = first_key + u64::from(self.clients) * KEYS_PER_CLIENT;
        let accepted =
            client.execute(&format!("INSERT INTO {TABLE} VALUES ({end_key}, 'after the crash')"));
        let recovery = began.elapsed();
        // A table that is gone is a loss of all of its rows.
        let after = match accepted.and_then(|_| self.read_back(&mut client, first_key, end_key)) {
            Ok(found) => AfterCrash { recovery, ..found },
            Err(error) => {
                create_table(&mut client)?;
                AfterCrash { problem: Some(error.to_string()), recovery, ..AfterCrash::default() }
            }
        };
        Ok((server, after))
    }

    /// What is there of a crash, but for the time that its recovery took.
    fn read_back(
        &self,
        client: &mut Client,
        first_key: u64,
        end_key: u64,
    ) -> Result<AfterCrash, DriverError> {
        let found = client
            .query(&format!("SELECT id FROM {TABLE} WHERE id >= {first_key} AND id < {end_key}"))?;
        let keys = found.rows.into_iter().filter_map(|row| row.into_iter().next()??.parse().ok());
        let present: Vec<u64> = keys.collect();
        // Rows are there or not, whatever these two find: their errors are no loss of rows.
        let binlog = compare_binlog(client, &present, first_key, end_key).unwrap_or_default();
        let problem = self.table_check.and_then(|check| {
            check.problem(client).unwrap_or_else(|error| Some(error.to_string()))
        });
        Ok(AfterCrash { present, problem, binlog, recovery: Duration::ZERO })
    }

    fn record(
        &self,
        planned: PlannedCrash,
        place: CrashPlace,
        BrokenLoad { load, crashed, blocks_lost }: &BrokenLoad,
        after: AfterCrash,
    ) -> CrashRecord {
        let PlannedCrash { kind, step } = planned;
        let count = count_loss(&load.sent, &after.present, *crashed);
        let load_s = crashed.as_secs_f64();
        CrashRecord {
            number: place.number,
            block: Some(place.block),
            role: self.cell.role,
            kind,
            step,
            configuration: self.cell.configuration.clone(),
            load_ms: load_s * 1e3,
            tps: count.acknowledged as f64 / load_s,
            response_us_p99: p99_us(&load.sent),
            attempted: count.attempted,
            acknowledged: count.acknowledged,
            unknown: count.unknown,
            lost: count.lost,
            loss_window_ms: count.loss_window.map(|window| window.as_secs_f64() * 1e3),
            recovered: count.recovered,
            unexpected: count.unexpected,
            holes: count.holes,
            blocks_lost: *blocks_lost,
            recovery_ms: after.recovery.as_secs_f64() * 1e3,
            table_problem: after.problem,
            binlog: after.binlog,
            promises_all_kept: self
                .promised
                .as_ref()
                .map(|durability| promised_loss(durability, kind) == Loss::Nothing),
            surroundings: None,
            steal: None,
            beside: Vec::new(),
        }
    }
}

impl CrashOutcome {
    /// Adds what went on beside the load.
    pub(crate) fn note_beside(&mut self, found: FoundBeside) {
        let FoundBeside { surroundings, steal, runs } = found;
        (self.record.surroundings, self.record.steal, self.record.beside) =
            (surroundings, steal, runs);
    }
}

/// What was found after a crash.
#[derive(Debug, Default)]
struct AfterCrash {
    present: Vec<u64>,
    problem: Option<String>,
    binlog: Option<BinlogDifference>,
    recovery: Duration,
}

/// Whether the time passed before the user ended the experiment.
fn wait_unless_stopped(wait: Duration, stop: &AtomicBool, watch: &mut LoadWatch<'_>) -> bool {
    let end = Instant::now() + wait;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(left.min(STOP_LOOK));
        watch.look();
    }
    true
}

pub(crate) fn create_table(client: &mut Client) -> Result<(), DriverError> {
    let engine = match client.dialect() {
        SqlDialect::Mysql => {
            client.execute(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"))?;
            client.execute(&format!("USE {SCHEMA}"))?;
            " ENGINE=InnoDB"
        }
        SqlDialect::Postgres => "",
    };
    client.execute(&format!("DROP TABLE IF EXISTS {TABLE}"))?;
    let columns = "id BIGINT NOT NULL PRIMARY KEY, payload VARCHAR(120) NOT NULL";
    client.execute(&format!("CREATE TABLE {TABLE} ({columns}){engine}")).map(drop)
}

fn p99_us(sent: &[SentRow]) -> Option<f64> {
    let mut all: Vec<_> =
        sent.iter().filter_map(|row| row.acknowledged?.checked_sub(row.sent)).collect();
    all.sort_unstable();
    let at = (all.len() * 99).div_ceil(100).checked_sub(1)?;
    Some(all[at].as_secs_f64() * 1e6)
}

fn recovery_failed(source: io::Error) -> LabError {
    LabError::CrashStep { step: CrashStep::Recovery, source }
}
