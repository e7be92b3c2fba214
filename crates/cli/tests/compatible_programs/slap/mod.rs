//! `truetps slap` beside the original, and what the original does wrong.

mod beyond;
mod defects;
mod ends;
mod prompt;
mod same;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran};
use crate::support::Owned;

const ORIGINAL: &str = "mariadb-slap";
const MISSING: &str =
    "mariadb-slap is not installed, which these tests compare with: apt-get install mariadb-client";

/// A server that remembers what was sent to it.
struct Bench {
    owned: Owned,
    place: Place,
}

/// What came of one command line.
struct Seen {
    ran: Ran,
    /// Statements of the log, without what differs from run to run, and how often each was sent.
    statements: BTreeMap<String, u64>,
    /// Rows of `t1` or `t`, where the schema was left behind.
    rows: Option<String>,
    connections: u64,
}

/// Queries of truetps, before and after the measurement.
const OWN: [&str; 7] = [
    "SELECTCONCAT(VERSION(),N,@@version_comment)",
    "SELECTCONNECTION_ID()",
    "SHOWGLOBALVARIABLES",
    "SHOWGLOBALSTATUSWHEREVariable_nameIN(N,N,N)",
    // Who else gets what is written.
    "SHOWALLSLAVESSTATUS",
    "SHOWGLOBALSTATUSLIKEN",
    "SHOWGLOBALVARIABLESLIKEN",
];

impl Bench {
    fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let owned = Owned::start(
            &binary,
            &[("general_log", "ON"), ("log_output", "TABLE"), ("max_connections", "300")],
        );
        Some(Self { owned, place: Place::new() })
    }

    fn socket(&self) -> String {
        format!("--socket={}", self.owned.server.socket().display())
    }

    fn ours(&self, args: &[&str]) -> Seen {
        let socket = self.socket();
        let own = ["slap", "--no-defaults", &socket, "--user=root"];
        self.seen(|| self.place.run(&[&own, args].concat()))
    }

    #[expect(clippy::disallowed_methods, reason = "the program to compare with")]
    fn original(&self, args: &[&str]) -> Seen {
        let socket = self.socket();
        let own = ["--no-defaults", socket.as_str(), "--user=root", "--skip-ssl"];
        self.seen(|| {
            Command::new(ORIGINAL)
                .args(own)
                .args(args)
                .stdin(Stdio::null())
                .output()
                .expect(MISSING)
                .into()
        })
    }

    fn seen(&self, run: impl FnOnce() -> Ran) -> Seen {
        self.owned.execute(&["DROP SCHEMA IF EXISTS mysqlslap", "TRUNCATE mysql.general_log"]);
        let ran = run();
        let mut admin = self.owned.admin();
        let sql = "SELECT CAST(argument AS CHAR) FROM mysql.general_log WHERE command_type IN \
                   ('Query', 'Init DB') AND thread_id <> CONNECTION_ID()";
        let mut statements = BTreeMap::new();
        for row in admin.query(sql).unwrap().rows {
            let text = shape(row[0].as_deref().unwrap_or_default());
            if !text.starts_with("TRUNCATE") && !OWN.contains(&text.as_str()) {
                *statements.entry(text).or_default() += 1;
            }
        }
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Connect'";
        let connections: u64 = admin.query_value(sql).unwrap().unwrap().parse().unwrap();
        let table = "SELECT table_name FROM information_schema.tables WHERE table_schema = \
                     'mysqlslap' LIMIT 1";
        let rows = admin.query_value(table).unwrap().map(|table| {
            admin.query_value(&format!("SELECT COUNT(*) FROM mysqlslap.{table}")).unwrap().unwrap()
        });
        // Without the one that asks.
        Seen { ran, statements, rows, connections: connections - 1 }
    }
}

/// A statement without its numbers and texts, and without the byte that the original sends behind
/// some.
fn shape(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql.trim_end_matches('\0').trim();
    while let Some(c) = rest.chars().next() {
        let bytes = if c == '\'' {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if c.is_ascii_digit() {
            rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        } else {
            out.extend((!c.is_whitespace()).then_some(c));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push('N');
        rest = &rest[bytes..];
    }
    out
}

/// The report's lines, without their figures.
fn lines(report: &str) -> Vec<String> {
    report
        .lines()
        .map(|line| line.replace(|c: char| c.is_ascii_digit(), "0"))
        .filter(|line| !line.is_empty())
        .collect()
}
