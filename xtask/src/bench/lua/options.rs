//! The arguments of `bench lua`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use crate::bench::lua::run::run_seconds;
use crate::bench::options::Words;

/// A script of sysbench's package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Insert,
    UpdateIndex,
    WriteOnly,
    ReadWrite,
    PointSelect,
}

impl Script {
    const ALL: [Self; 5] = [Self::Insert, Self::UpdateIndex, Self::WriteOnly, Self::ReadWrite, Self::PointSelect];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "oltp_insert",
            Self::UpdateIndex => "oltp_update_index",
            Self::WriteOnly => "oltp_write_only",
            Self::ReadWrite => "oltp_read_write",
            Self::PointSelect => "oltp_point_select",
        }
    }

    /// The server's counter that grows by one for each transaction, prepared or not.
    pub(crate) fn counter(self) -> &'static str {
        match self {
            Self::Insert => "Com_insert",
            Self::UpdateIndex => "Com_update",
            Self::WriteOnly | Self::ReadWrite => "Com_commit",
            Self::PointSelect => "Com_select",
        }
    }

    /// Whether its tables grow: such a script has its own tables, which are emptied before each run.
    pub(crate) fn is_growing(self) -> bool {
        self == Self::Insert
    }

    /// The maximum that a session prepares: for each table and for all of them.
    pub(crate) fn prepared_statements(self) -> (u32, u32) {
        match self {
            Self::Insert => (0, 0),
            Self::UpdateIndex | Self::PointSelect => (1, 0),
            Self::WriteOnly => (4, 2),
            Self::ReadWrite => (9, 2),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|script| script.name() == text)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LuaBenchOptions {
    pub(crate) pairs: u32,
    pub(crate) window: Duration,
    pub(crate) clients: Vec<u32>,
    pub(crate) scripts: Vec<Script>,
    pub(crate) tables: u32,
    pub(crate) table_rows: u32,
    /// `--db-ps-mode` of both.
    pub(crate) prepared: &'static str,
    pub(crate) settings: Vec<(String, String)>,
    /// `None`: built from this tree.
    pub(crate) truetps: Option<PathBuf>,
    /// Options of both programs, and of truetps only. They follow the bench's own options, and so take precedence.
    pub(crate) both: Vec<String>,
    pub(crate) ours: Vec<String>,
    pub(crate) is_dry: bool,
    pub(crate) is_kept: bool,
}

impl LuaBenchOptions {
    pub(crate) fn parse(args: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            pairs: 5,
            window: Duration::from_secs(5),
            clients: vec![8, 64, 1000, 5000],
            scripts: Script::ALL.to_vec(),
            tables: 1,
            table_rows: 100_000,
            prepared: "auto",
            // With a thread for each connection, the server alone determines the figures of many clients.
            settings: vec![("thread_handling".to_owned(), "pool-of-threads".to_owned())],
            truetps: None,
            both: Vec::new(),
            ours: Vec::new(),
            is_dry: false,
            is_kept: true,
        };
        let (known, both) = split(args);
        options.both = both;
        let mut words = Words::new(known);
        while let Some(word) = words.next() {
            options.take(word, &mut words)?;
        }
        options.check()?;
        Ok(options)
    }

    fn take<'a>(&mut self, word: &'a str, words: &mut Words<'a>) -> anyhow::Result<()> {
        match word {
            "--pairs" | "--runs" => self.pairs = words.number()?,
            "--seconds" => self.window = words.seconds()?,
            "--clients" | "--connections" => self.clients = words.list(|text| text.parse().ok())?,
            "--scripts" => self.scripts = words.list(Script::parse)?,
            "--tables" => self.tables = words.number()?,
            "--table-size" => self.table_rows = words.number()?,
            "--prepared" => {
                self.prepared = match words.value()? {
                    "auto" => "auto",
                    "disable" => "disable",
                    other => bail!("--prepared `{other}`: auto or disable"),
                }
            }
            "--set" => self.settings.push(words.setting()?),
            "--truetps" => self.truetps = Some(words.value()?.into()),
            "--ours" => self.ours.push(words.value()?.to_owned()),
            "--dry" => self.is_dry = true,
            "--no-result" => self.is_kept = false,
            other => bail!("unknown option {other}; options of both programs follow `--`"),
        }
        Ok(())
    }

    fn check(&self) -> anyhow::Result<()> {
        let numbers = [self.pairs, self.tables, self.table_rows];
        if numbers.contains(&0) || self.clients.contains(&0) || self.window.is_zero() {
            bail!("--pairs, --clients, --seconds, --tables and --table-size are above 0");
        }
        Ok(())
    }

    pub(crate) fn most_clients(&self) -> u32 {
        self.clients.iter().copied().max().unwrap_or(1)
    }

    /// Prepared at once in a session, by the script that prepares most.
    pub(crate) fn statements_per_session(&self) -> u32 {
        if self.prepared == "disable" {
            return 0;
        }
        let of = |script: &Script| {
            let (each, all) = script.prepared_statements();
            each.saturating_mul(self.tables).saturating_add(all)
        };
        self.scripts.iter().map(of).max().unwrap_or(0)
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
        let ours = if self.ours.is_empty() { String::new() } else { format!("; ours also {}", self.ours.join(" ")) };
        format!(
            "- both get {}{ours}; `oltp_insert` starts with empty tables\n- {} pairs for each cell, in changing \
             order; windows of {} s in the measured phase, observed from outside (/proc, and the server's count of \
             transactions)\n",
            self.load().join(" "),
            self.pairs,
            self.window.as_secs_f64(),
        )
    }
}

/// The bench's own arguments, and those after `--`, which are for both programs.
fn split<'a, 'b>(args: &'a [&'b str]) -> (&'a [&'b str], Vec<String>) {
    let at = args.iter().position(|word| *word == "--");
    let both = at.map_or(&[][..], |at| &args[at + 1..]);
    (&args[..at.unwrap_or(args.len())], both.iter().map(|&word| word.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_all_scripts_run_with_all_clients() {
        let options = LuaBenchOptions::parse(&[]).unwrap();
        assert_eq!((options.pairs, options.clients.as_slice()), (5, &[8, 64, 1000, 5000][..]));
        assert_eq!(options.scripts.len(), 5);
        assert_eq!(options.settings, [("thread_handling".to_owned(), "pool-of-threads".to_owned())]);
        assert!(options.is_kept && !options.is_dry);
    }

    #[test]
    fn options_say_what_runs() {
        let args = "--clients 8,64 --scripts oltp_insert,oltp_read_write --pairs 1 --seconds 1.5 --tables 2 --prepared \
                    disable --ours --pin=off --dry -- --rand-seed=7 --skip_trx=on";
        let options = LuaBenchOptions::parse(&args.split_ascii_whitespace().collect::<Vec<_>>()).unwrap();
        assert_eq!(options.clients, [8, 64]);
        assert_eq!(options.scripts, [Script::Insert, Script::ReadWrite]);
        assert_eq!(options.window, Duration::from_millis(1500));
        assert_eq!(options.ours, ["--pin=off"]);
        assert!(options.is_dry);
        let load = options.load();
        assert_eq!(load.last().map(String::as_str), Some("--skip_trx=on"));
        assert!(load.contains(&"--db-ps-mode=disable".to_owned()));
        assert_eq!(options.statements_per_session(), 0);
    }

    #[test]
    fn the_script_that_prepares_most_decides() {
        let options = LuaBenchOptions::parse(&["--tables", "3"]).unwrap();
        assert_eq!(options.statements_per_session(), 9 * 3 + 2);
        assert_eq!(LuaBenchOptions::parse(&["--scripts", "oltp_update_index"]).unwrap().statements_per_session(), 1);
    }

    #[test]
    fn wrong_words_are_named() {
        let cases: [(&[&str], &str); 6] = [
            (&["--scripts", "oltp_insert,tpcc"], "`tpcc`"),
            (&["--clients", "0"], "above 0"),
            (&["--seconds", "0"], "above 0"),
            (&["--prepared", "often"], "often"),
            (&["--truetps"], "--truetps needs a value"),
            (&["--rand-seed=7"], "follow `--`"),
        ];
        for (args, message) in cases {
            let error = format!("{:#}", LuaBenchOptions::parse(args).err().unwrap());
            assert!(error.contains(message), "{error} should contain {message}");
        }
    }
}
