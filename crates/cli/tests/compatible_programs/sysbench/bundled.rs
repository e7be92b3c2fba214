//! The scripts of Debian's package, read where it installs them.

use std::path::{Path, PathBuf};

use crate::common::Place;
use crate::sysbench::lines::Counts;
use crate::sysbench::pair::{Facts, Look, Verdict, difference, facts};
use crate::sysbench::program::Program;
use crate::sysbench::server::Server;

const FOLDER: &str = "/usr/share/sysbench";
const SMALL: [&str; 2] = ["--table-size=100", "--range-size=5"];
const EVENTS: &str = "--events=20";

struct Script {
    name: &'static str,
    tables: &'static str,
    /// Several threads of it may be in each other's way, and try again.
    conflicts: bool,
    /// Whether a row was there to be changed depends on the seed.
    by_chance: bool,
    /// It fills its tables when it runs, so each run needs new ones.
    fills: bool,
}

const PLAIN: Script =
    Script { name: "", tables: "--tables=2", conflicts: false, by_chance: false, fills: false };

const SCRIPTS: [Script; 11] = [
    Script { name: "oltp_read_only", ..PLAIN },
    Script { name: "oltp_point_select", ..PLAIN },
    Script { name: "oltp_insert", ..PLAIN },
    Script { name: "oltp_delete", by_chance: true, ..PLAIN },
    Script { name: "oltp_update_index", ..PLAIN },
    Script { name: "oltp_update_non_index", ..PLAIN },
    Script { name: "oltp_write_only", conflicts: true, ..PLAIN },
    Script { name: "oltp_read_write", conflicts: true, ..PLAIN },
    Script { name: "select_random_points", tables: "--tables=1", ..PLAIN },
    Script { name: "select_random_ranges", tables: "--tables=1", ..PLAIN },
    Script { name: "bulk_insert", tables: "", fills: true, ..PLAIN },
];

impl Script {
    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(self.name).with_extension("lua")
    }

    fn look(&self, threads: &str, command: &str) -> Look {
        let several = threads != "--threads=1";
        let is_run = command == "run";
        let vary = is_run && (self.by_chance || (several && (self.conflicts || self.fills)));
        let counts = if vary { Counts::Vary } else { Counts::Exact };
        Look { counts, spread: is_run, sorted: several && !is_run }
    }

    /// Name, threads and command of each step, in order.
    fn steps(&self, prepare_threads: &'static str) -> Vec<(&'static str, &'static str)> {
        let prepare_threads = if self.fills { "--threads=4" } else { prepare_threads };
        let (prepare, cleanup) = ((prepare_threads, "prepare"), (prepare_threads, "cleanup"));
        let between: &[_] = if self.fills { &[cleanup, prepare] } else { &[] };
        [&[prepare, ("--threads=1", "run")], between, &[("--threads=4", "run"), cleanup]].concat()
    }

    fn run(
        &self,
        program: &Program,
        server: &Server,
        place: &Place,
        ps_mode: &str,
        steps: &[(&str, &str)],
    ) -> Vec<Facts> {
        server.reset();
        let (path, flags) = (self.path().display().to_string(), server.flags());
        let step = |&(threads, command): &(&str, &str)| {
            let mut args: Vec<&str> = vec![&path, ps_mode, threads];
            args.extend(flags.iter().map(String::as_str));
            if !self.fills {
                args.extend(SMALL);
                args.push(self.tables);
            }
            if command == "run" {
                // By the time's second, two runs would have the same numbers, and change nothing
                // the second time.
                let seed =
                    if threads == "--threads=1" { "--rand-seed=11" } else { "--rand-seed=44" };
                args.extend([EVENTS, "--time=30", seed]);
            }
            args.push(command);
            facts(program, place.path(), &args, "", Some(server), self.look(threads, command))
        };
        steps.iter().map(step).collect()
    }
}

fn compare_all(server: &Server) {
    let (reference, ours, place) = (Program::reference(), Program::ours(), Place::new());
    let mut verdict = Verdict::default();
    for script in &SCRIPTS {
        let path = script.path();
        assert!(path.is_file(), "{} is missing: apt-get install sysbench", path.display());
        for (ps_mode, prepare_threads) in
            [("--db-ps-mode=auto", "--threads=1"), ("--db-ps-mode=disable", "--threads=4")]
        {
            let steps = script.steps(prepare_threads);
            let [there, here] = [&reference, &ours]
                .map(|program| script.run(program, server, &place, ps_mode, &steps));
            for ((step, there), here) in steps.iter().zip(&there).zip(&here) {
                assert_eq!(
                    there.code,
                    Some(0),
                    "sysbench itself: {} {step:?} {:?}",
                    script.name,
                    there.stdout
                );
                let name =
                    format!("{} {ps_mode} {} {} on {}", script.name, step.0, step.1, server.name());
                verdict.add(&name, difference(there, here, script.look(step.0, step.1)), None);
            }
        }
    }
    verdict.check();
}

#[test]
fn scripts_of_the_package_on_mariadb() {
    let Some(server) = Server::mariadb("scripts_of_the_package_on_mariadb") else { return };
    compare_all(&server);
}

#[test]
fn scripts_of_the_package_on_postgres() {
    let Some(server) = Server::postgres("scripts_of_the_package_on_postgres") else { return };
    compare_all(&server);
}

/// Each tells its options; the common part cannot be run by itself.
#[test]
fn help_of_the_scripts_of_the_package() {
    let (reference, ours, place) = (Program::reference(), Program::ours(), Place::new());
    let mut verdict = Verdict::default();
    for name in SCRIPTS.iter().map(|script| script.name).chain(["oltp_common"]) {
        for command in [&["help"][..], &["run"], &[]] {
            if command == ["run"] && name != "oltp_common" {
                continue;
            }
            let args = [&[name], command].concat();
            let run = |program| facts(program, place.path(), &args, "", None, Look::EXACT);
            let (there, here) = (run(&reference), run(&ours));
            verdict.add(&args.join(" "), difference(&there, &here, Look::EXACT), None);
        }
    }
    verdict.check();
}
