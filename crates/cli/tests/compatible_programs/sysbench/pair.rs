//! One command line, given to both programs one after the other, and what it came to.

use std::fmt::Write;
use std::path::Path;

use crate::sysbench::difference::{of_lines, of_shapes};
use crate::sysbench::lines::{Counts, lines};
use crate::sysbench::program::Program;
use crate::sysbench::server::Server;
use crate::sysbench::shapes::Shapes;

/// What of a run depends on neither seed nor clock.
pub(crate) struct Facts {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<String>,
    /// As it came, for people.
    printed: Vec<String>,
    pub(crate) stderr: Vec<String>,
    pub(crate) statements: Shapes,
    pub(crate) tables: Vec<String>,
}

/// How a run's facts are seen.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// How numbers of statements and of rows are compared.
    pub(crate) counts: Counts,
    /// Which row went to which table is random, only their sum is not.
    pub(crate) spread: bool,
    /// Lines come in an order that depends on threads.
    pub(crate) sorted: bool,
}

impl Look {
    pub(crate) const EXACT: Self = Self { counts: Counts::Exact, spread: false, sorted: false };

    /// For what a clock has filled in.
    pub(crate) const ANY_NUMBERS: Self = Self { counts: Counts::AllVary, ..Self::EXACT };

    fn tables(self, tables: &[(String, u64)]) -> Vec<String> {
        let names = tables.iter().map(|(name, _)| name.clone());
        match (self.counts, self.spread) {
            (Counts::Vary | Counts::AllVary, _) => names.collect(),
            (Counts::Exact, true) => {
                let sum: u64 = tables.iter().map(|(_, rows)| rows).sum();
                names.chain([format!("{sum} rows")]).collect()
            }
            (Counts::Exact, false) => {
                tables.iter().map(|(name, rows)| format!("{name}: {rows} rows")).collect()
            }
        }
    }
}

/// Runs a program once. Statements and tables are looked at where there is a server.
pub(crate) fn facts(
    program: &Program,
    folder: &Path,
    args: &[&str],
    stdin: &str,
    server: Option<&Server>,
    look: Look,
) -> Facts {
    let ran = program.run(folder, args, stdin);
    let printed = lines(&ran.stdout, folder, look.counts);
    Facts {
        code: ran.code,
        stdout: if look.sorted { sorted(&printed) } else { printed.clone() },
        printed,
        stderr: lines(&without_own_advice(&ran.stderr), folder, look.counts),
        statements: server.map(Server::statements).unwrap_or_default(),
        tables: look.tables(&server.map(Server::tables).unwrap_or_default()),
    }
}

/// What sysbench has no word for, and other tests look at: options that a script never reads, the
/// run folder, other runs on this host, and typed passwords.
fn without_own_advice(stderr: &str) -> String {
    let is_own = |line: &&str| {
        line.starts_with("truetps: the script never reads --")
            || line.starts_with("truetps: recorded in ")
            || line.starts_with("truetps: warning: a password on the command line")
            || line.trim_end().ends_with("puts load on this host, too")
    };
    stderr.split_inclusive('\n').filter(|line| !is_own(line)).collect()
}

/// Lua's print() writes each word apart, so threads come in between each other anywhere: all
/// letters, in order.
fn sorted(lines: &[String]) -> Vec<String> {
    let mut letters: Vec<char> = lines.iter().flat_map(|line| line.chars()).collect();
    letters.sort_unstable();
    vec![letters.into_iter().collect()]
}

/// Everything that is not alike, as text.
pub(crate) fn difference(reference: &Facts, ours: &Facts, look: Look) -> Option<String> {
    let mut text = String::new();
    if reference.code != ours.code {
        let _ = writeln!(text, "  exit code: {:?} there, {:?} here", reference.code, ours.code);
    }
    let stdout = of_lines("stdout", &reference.printed, &ours.printed)
        .filter(|_| reference.stdout != ours.stdout);
    let with_counts = look.counts == Counts::Exact;
    let parts = [
        stdout,
        of_lines("stderr", &reference.stderr, &ours.stderr),
        of_lines("tables", &reference.tables, &ours.tables),
        of_shapes(&reference.statements, &ours.statements, with_counts),
    ];
    parts.into_iter().flatten().for_each(|part| text.push_str(&part));
    (!text.is_empty()).then_some(text)
}

/// A command line, or a part of it, and why ours differs there on purpose;
/// docs/reference/sysbench.md says it to users.
pub(crate) type Deviation = (&'static str, &'static str);

/// The reason for this command line, if there is one.
pub(crate) fn reason(deviations: &[Deviation], args: &str) -> Option<&'static str> {
    deviations.iter().find(|(part, _)| args.contains(part)).map(|(_, reason)| *reason)
}

/// Gathers what differs in a list of cases, so that one run shows all of it.
#[derive(Default)]
pub(crate) struct Verdict {
    text: String,
    cases: usize,
    bad: usize,
}

impl Verdict {
    /// A case that deviates on purpose must do so: an entry that is no longer true is taken out.
    pub(crate) fn add(&mut self, name: &str, difference: Option<String>, deviation: Option<&str>) {
        self.cases += 1;
        let deviation = deviation.filter(|_| !Program::is_stand_in());
        let problem = match (difference, deviation) {
            (Some(text), None) => text,
            (None, Some(reason)) => format!("  is alike, and is listed as a deviation: {reason}\n"),
            _ => return,
        };
        self.bad += 1;
        let _ = write!(self.text, "{name}\n{problem}");
    }

    pub(crate) fn check(self) {
        assert!(self.cases > 0, "no case was run");
        assert!(
            self.bad == 0,
            "{} of {} cases differ (- sysbench, + ours):\n{}",
            self.bad,
            self.cases,
            self.text
        );
    }
}
