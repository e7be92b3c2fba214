//! `truetps doctor`: what this machine has, and what it lacks.

use truetps_disk::{DiskError, LabLevel, missing_for};
use truetps_probe::{host_facts, probe_flush};
use truetps_record::Flavour;
use truetps_report::format;
use truetps_sandbox::{Home, HostLimits, NamedServers, find, free_bytes};

use crate::args::SandboxPlace;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::print_out;

/// One line of the answer: whether it is as it should be, what it is about, and what was found.
#[derive(Clone)]
struct Finding {
    is_good: bool,
    what: &'static str,
    found: String,
}

impl Finding {
    fn line(&self) -> String {
        let Self { is_good, what, found } = self;
        format!("{}  {what:<15}{found}\n", if *is_good { "ok     " } else { "LACKING" })
    }
}

pub(crate) fn run(sandbox: &SandboxPlace) -> Result<Exit, CommandFailure> {
    let home = Home::open(sandbox.sandbox_dir.as_deref())?;
    let findings: Vec<_> =
        [servers(&home), vec![host(&home), folder(&home), flush(&home), open_files()], disks()]
            .concat();
    let printed = print_out(&findings.iter().map(Finding::line).collect::<String>());
    // Without a server nothing can be measured; all else narrows what can.
    let has_server = findings.iter().any(|finding| finding.is_good && finding.what == SERVER);
    Ok(if printed == Exit::Good && !has_server { Exit::No } else { printed })
}

const SERVER: &str = "server";

fn servers(home: &Home) -> Vec<Finding> {
    let installed =
        [None, Some(Flavour::Postgresql)].map(|wanted| match find(None, wanted, home.user()) {
            Ok(binary) => Finding { is_good: true, what: SERVER, found: binary.to_string() },
            Err(error) => Finding { is_good: false, what: SERVER, found: error.to_string() },
        });
    let named = NamedServers::of(home).list().unwrap_or_default();
    let named = named.into_iter().map(|listed| Finding {
        is_good: true,
        what: SERVER,
        found: format!("{} (named)", listed.name),
    });
    installed.into_iter().chain(named).collect()
}

fn host(home: &Home) -> Finding {
    let host = host_facts(home.path(), None);
    let cores = format::plural(host.cores.into(), "core");
    let found = format!("{cores}, {} of memory", format::bytes(host.memory_bytes));
    Finding { is_good: host.cores > 1, what: "host", found }
}

fn folder(home: &Home) -> Finding {
    const FREE_BYTES_MIN: u64 = 6 << 30;
    let free = free_bytes(home.path()).unwrap_or(0);
    let found = format!("{}, {} free", home.path().display(), format::bytes(free));
    Finding { is_good: free >= FREE_BYTES_MIN, what: "folder", found }
}

fn flush(home: &Home) -> Finding {
    match probe_flush(home.path()) {
        Ok(flush) => {
            let (p50, p99) = (format::duration_us(flush.us_p50), format::duration_us(flush.us_p99));
            Finding {
                is_good: true,
                what: "a flush takes",
                found: format!("{p50} (p50), {p99} (p99)"),
            }
        }
        Err(error) => Finding { is_good: false, what: "a flush takes", found: error.to_string() },
    }
}

fn open_files() -> Finding {
    // A plan with 5,000 clients needs as many sockets in the generator and in the server.
    const WANTED: u64 = 20_000;
    let (_, hard) = HostLimits::read().open_files;
    let found = hard
        .map_or_else(|| "no limit".to_owned(), |hard| format!("at most {}", format::count(hard)));
    Finding { is_good: hard.is_none_or(|hard| hard >= WANTED), what: "open files", found }
}

/// The level that emulated disks have here, and what the better ones lack.
fn disks() -> Vec<Finding> {
    let what = "emulated disks";
    let levels = LabLevel::ALL.map(|level| (level, missing_for(level)));
    let found = levels.iter().find(|(_, missing)| missing.is_empty()).map(|(level, _)| *level);
    let usable =
        found.map(|level| Finding { is_good: true, what, found: level_text(level).to_owned() });
    let better = levels.iter().take_while(|(level, _)| Some(*level) != found);
    let lacking =
        better.flat_map(|(level, missing)| missing.iter().map(|error| (level.name(), error)));
    let lacking = lacking.map(|(level, error)| Finding {
        is_good: false,
        what,
        found: lacking_text(level, error),
    });
    usable.into_iter().chain(lacking).collect()
}

fn level_text(level: LabLevel) -> &'static str {
    match level {
        LabLevel::Block => "level block: ext4 on a loop device (`truetps disk list`)",
        LabLevel::FileSystem => {
            "level file_system: its journal is modelled, and loss of metadata is not shown \
             (`truetps disk list`)"
        }
    }
}

fn lacking_text(level: &str, error: &DiskError) -> String {
    let hint = error.hint().map_or(String::new(), |hint| format!("; {hint}"));
    format!("level {level}: {error}{hint}")
}
