//! The engine as a process of its own, so that the same outside observer measures it and sysbench.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail};
use truetps_driver::{Connector, Dialect, Target};
use truetps_engine::{LoadSpec, Observer};
use truetps_record::{Histogram, Interval, Phase, Protocol, WorkloadSpec};

pub(crate) const SCHEMA: &str = "truetps";
pub(crate) const TABLE_ROWS: u64 = 200_000;

/// `bench-client SOCKET CLIENTS SECONDS text|prepared`
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let [socket, clients, seconds, protocol] = args else { bail!("bench-client SOCKET CLIENTS SECONDS text|prepared") };
    let workload = truetps_workload::build(&workload_spec(), Dialect::Mysql, 1)?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let measure = Duration::from_secs(seconds.parse().context("SECONDS")?);
    let load = LoadSpec::closed(clients.parse().context("CLIENTS")?, (cores / 2).max(1), measure);
    let target = Target::mysql_unix(*socket, "root", Some(SCHEMA));
    let connector = Connector::new(target, workload.statements(), *protocol == "prepared")?;
    truetps_engine::run(&load, &connector, &*workload, &AtomicBool::new(false), &mut Silent)?;
    Ok(())
}

pub(crate) fn workload_spec() -> WorkloadSpec {
    WorkloadSpec { table_rows: TABLE_ROWS, protocol: Protocol::Text, ..WorkloadSpec::new("insert") }
}

struct Silent;

impl Observer for Silent {
    fn phase(&mut self, _: Phase) {}

    fn interval(&mut self, _: &Interval, _: &Histogram) -> Result<(), String> {
        Ok(())
    }
}
