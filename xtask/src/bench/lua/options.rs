//! The arguments of `bench lua`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, value_parser};

use crate::bench::lua::run::run_seconds;
use crate::bench::options::{KeptOptions, PairOptions, by_word, seconds};

/// A script of sysbench's package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) name: &'static str,
    /// The server's counter that grows by one for each transaction, prepared or not.
    pub(crate) counter: &'static str,
    /// Whether its tables grow: such a script has its own tables, which are emptied before each
    /// run.
    pub(crate) is_growing: bool,
    /// The maximum that a session prepares: for each table and for all of them.
    prepared: (u32, u32),
}

const SCRIPTS: [Script; 5] = [
    Script { name: "oltp_insert", counter: "Com_insert", is_growing: true, prepared: (0, 0) },
    Script {
        name: "oltp_update_index",
        counter: "Com_update",
        is_growing: false,
        prepared: (1, 0),
    },
    Script { name: "oltp_write_only", counter: "Com_commit", is_growing: false, prepared: (4, 2) },
    Script { name: "oltp_read_write", counter: "Com_commit", is_growing: false, prepared: (9, 2) },
    Script {
        name: "oltp_point_select",
        counter: "Com_select",
        is_growing: false,
        prepared: (1, 0),
    },
];

impl Script {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        by_word(text, &SCRIPTS, |script| script.name)
    }
}

/// What runs beside `truetps sysbench`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LuaRival {
    Sysbench,
    /// Another build of truetps: the same engine before a change.
    Build(PathBuf),
}

impl LuaRival {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "sysbench" => Ok(Self::Sysbench),
            Some(("build", path)) => Ok(Self::Build(path.into())),
            _ => Err("not one of sysbench, build:PATH".to_owned()),
        }
    }

    /// A short name, for tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Build(_) => "truetps sysbench, other build",
        }
    }
}

#[derive(Debug, Clone, Parser)]
pub(crate) struct LuaBenchOptions {
    #[command(flatten)]
    pub(crate) pairs: PairOptions,
    /// Length of a window in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) window: Duration,
    /// Numbers of clients, with commas
    #[arg(long, alias = "connections", value_name = "N", value_delimiter = ',', default_value = "8,64,1000,5000", value_parser = value_parser!(u32).range(1..))]
    pub(crate) clients: Vec<u32>,
    /// Scripts of sysbench's package, with commas [default: all five]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Script::parse, default_values = SCRIPTS.map(|script| script.name), hide_default_value = true)]
    pub(crate) scripts: Vec<Script>,
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..))]
    pub(crate) tables: u32,
    #[arg(long = "table-size", value_name = "N", default_value = "100000", value_parser = value_parser!(u32).range(1..))]
    pub(crate) table_rows: u32,
    /// --db-ps-mode of both
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = ["auto", "disable"])]
    pub(crate) prepared: String,
    /// sysbench or build:PATH, another build of truetps
    #[arg(long, value_name = "PROGRAM", default_value = "sysbench", value_parser = LuaRival::parse)]
    pub(crate) against: LuaRival,
    /// This program, in place of a build of this tree
    #[arg(long, value_name = "PATH")]
    pub(crate) truetps: Option<PathBuf>,
    /// An option only for `truetps sysbench`
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) ours: Vec<String>,
    /// Print what would run, and run nothing
    #[arg(long = "dry")]
    pub(crate) is_dry: bool,
    #[command(flatten)]
    pub(crate) kept: KeptOptions,
    /// Options of both programs
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) both: Vec<String>,
}

impl LuaBenchOptions {
    pub(crate) fn most_clients(&self) -> u32 {
        self.clients.iter().copied().max().unwrap_or(1)
    }

    /// With a thread for each connection, the server alone would determine the figures of many
    /// clients.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let threads = ("thread_handling".to_owned(), "pool-of-threads".to_owned());
        std::iter::once(threads).chain(self.kept.settings.iter().cloned()).collect()
    }

    /// Prepared at once in a session, by the script that prepares most.
    pub(crate) fn statements_per_session(&self) -> u32 {
        if self.prepared == "disable" {
            return 0;
        }
        let prepared = self.scripts.iter().map(|script| {
            let (each, all) = script.prepared;
            each.saturating_mul(self.tables).saturating_add(all)
        });
        prepared.max().unwrap_or(0)
    }

    /// Arguments of both programs, except the server and the number of clients.
    pub(crate) fn load(&self) -> Vec<String> {
        let mut load = vec![
            format!("--tables={}", self.tables),
            format!("--table-size={}", self.table_rows),
            format!("--time={}", run_seconds(self.window)),
            // The default, `special`, uses the same few rows repeatedly: locks would dominate.
            "--rand-type=uniform".to_owned(),
            format!("--db-ps-mode={}", self.prepared),
            // A deadlock ends no run; the number of deadlocks is shown.
            "--mysql-ignore-errors=all".to_owned(),
        ];
        load.extend(self.both.iter().cloned());
        load
    }

    /// Lines for the head of a report.
    pub(crate) fn describe(&self) -> String {
        let ours = if self.ours.is_empty() {
            String::new()
        } else {
            format!("; ours also {}", self.ours.join(" "))
        };
        format!(
            "- both get {}{ours}; `oltp_insert` starts with empty tables\n- {} pairs for each \
             cell, in changing order; windows of {} s in the measured phase, observed from outside \
             (/proc, and the server's count of transactions)\n",
            self.load().join(" "),
            self.pairs.count,
            self.window.as_secs_f64(),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;

    pub(crate) fn parse(text: &str) -> Result<LuaBenchOptions, clap::Error> {
        LuaBenchOptions::try_parse_from(["lua"].into_iter().chain(text.split_ascii_whitespace()))
    }

    #[test]
    fn without_options_all_scripts_run_with_all_clients() {
        let options = parse("").unwrap();
        assert_eq!(
            (options.pairs.count, options.clients.as_slice()),
            (5, &[8, 64, 1000, 5000][..])
        );
        assert_eq!(options.scripts, SCRIPTS);
        assert_eq!(
            options.settings(),
            [("thread_handling".to_owned(), "pool-of-threads".to_owned())]
        );
        assert!(
            options.kept.folder(Path::new("."), "lua").is_some()
                && !options.is_dry
                && options.against == LuaRival::Sysbench
        );
    }

    #[test]
    fn options_say_what_runs() {
        let args = "--clients 8,64 --scripts oltp_insert,oltp_read_write --pairs 1 --seconds 1.5 \
                    --tables 2 --prepared disable --ours --pin=off --dry --against build:old -- \
                    --rand-seed=7 --skip_trx=on";
        let options = parse(args).unwrap();
        assert_eq!(options.clients, [8, 64]);
        assert_eq!(options.scripts, [SCRIPTS[0], SCRIPTS[3]]);
        assert_eq!(options.window, Duration::from_millis(1500));
        assert_eq!(options.ours, ["--pin=off"]);
        assert_eq!(options.against, LuaRival::Build("old".into()));
        assert!(options.is_dry);
        let load = options.load();
        assert_eq!(load.last().map(String::as_str), Some("--skip_trx=on"));
        assert!(load.contains(&"--db-ps-mode=disable".to_owned()));
        assert_eq!(options.statements_per_session(), 0);
    }

    #[test]
    fn the_script_that_prepares_most_decides() {
        assert_eq!(parse("--tables 3").unwrap().statements_per_session(), 9 * 3 + 2);
        assert_eq!(parse("--scripts oltp_update_index").unwrap().statements_per_session(), 1);
    }

    #[test]
    fn wrong_words_are_named() {
        let cases = [
            ("--scripts oltp_insert,tpcc", "'tpcc'"),
            ("--clients 0", "'0'"),
            ("--seconds 0", "not above 0"),
            ("--prepared often", "often"),
            ("--against wrk", "build:PATH"),
            ("--truetps", "--truetps <PATH>"),
            ("--rand-seed=7", "'-- --rand-seed"),
        ];
        for (args, message) in cases {
            let error = parse(args).err().unwrap().to_string();
            assert!(error.contains(message), "{error} should contain {message}");
        }
    }
}
