//! `truetps server sql`: statements in one session of a server with a name.

use std::io::{ErrorKind, IsTerminal, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use truetps_driver::{Client, DriverError, QueryResult};
use truetps_record::Family;
use truetps_report::{display_width, escaped_text, format, printable};
use truetps_sandbox::{Instance, NamedServers, SandboxError};

use crate::args::server::SqlArgs;
use crate::commands::instance::get;
use crate::commands::sql_text::{SplitStatement, split};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::private_home::{open, refused};
use crate::signals;
use crate::terminal::{print_made, print_message};

/// Cells wider than this are cut at a terminal.
const CELL_CHARS_MAX: usize = 60;
/// Time limit of a login; `--wait` may be shorter.
const LOGIN_SECONDS: u64 = 10;
/// Time limit of the login that ends a statement in the server.
const END_TIME_LIMIT: Duration = Duration::from_secs(5);
/// A statement that came just when it was to be ended is ended at the next look.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
const LOOK_FOR_SIGNAL: Duration = Duration::from_millis(20);
/// MySQL's number of a syntax error.
const SYNTAX: u16 = 1064;

pub(crate) fn run(args: &SqlArgs) -> Result<Exit, CommandFailure> {
    let home = open(&args.sandbox)?;
    let server = get(&home, &args.name)?;
    let statements = statements(&args.sql, server.family())?;
    let stop = signals::stop_flag()?;
    let mut session =
        SqlSession::begin(Instance::of(NamedServers::of(&home), &server), &args.name, args.wait)?;
    let done = AtomicBool::new(false);
    let end = session.end.clone();
    thread::scope(|scope| {
        let watch = scope.spawn(|| end_when_wanted(&end, &stop, &done));
        let ran = session.run(&statements, &stop);
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        ran
    })
}

fn statements(typed: &[String], family: Family) -> Result<Vec<SplitStatement>, CommandFailure> {
    let mut text = String::new();
    if typed.is_empty() {
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| CommandFailure::usage(format!("stdin: {error}")))?;
    }
    let texts = if typed.is_empty() { vec![text] } else { typed.to_vec() };
    let mut statements = Vec::new();
    for text in texts {
        statements.extend(split(&text, family.dialect()).map_err(CommandFailure::usage)?);
    }
    if statements.is_empty() {
        return Err(CommandFailure::usage(
            "there is no statement, neither on the command line nor on stdin",
        ));
    }
    Ok(statements)
}

/// How a statement of a session is ended from outside: by a second session.
#[derive(Clone)]
struct StatementKiller<'a> {
    instance: Instance<'a>,
    sql: String,
}

impl StatementKiller<'_> {
    fn send(&self) -> bool {
        self.instance
            .connect(END_TIME_LIMIT)
            .is_ok_and(|mut client| client.execute(&self.sql).is_ok())
    }
}

/// Ends the statement in the server after Ctrl-C, so that it does not continue unattended.
fn end_when_wanted(end: &StatementKiller<'_>, stop: &AtomicBool, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        if stop.load(Ordering::Relaxed) {
            end.send();
            thread::park_timeout(LOOK_AGAIN);
        } else {
            thread::park_timeout(LOOK_FOR_SIGNAL);
        }
    }
}

struct SqlSession<'a> {
    client: Client,
    end: StatementKiller<'a>,
    wait_s: u64,
}

impl<'a> SqlSession<'a> {
    fn begin(instance: Instance<'a>, name: &str, wait_s: u64) -> Result<Self, CommandFailure> {
        let login_s = wait_s.min(LOGIN_SECONDS);
        let mut client =
            instance.connect(Duration::from_secs(login_s)).map_err(|error| match &error {
                SandboxError::Sql { source, .. } if is_late(source) => {
                    let what = if login_s == wait_s { " (--wait)" } else { "" };
                    let message =
                        format!("the server has not answered the login within {login_s} s{what}");
                    CommandFailure::failed(message)
                        .hint(format!("see its log: `truetps server log {name}`"))
                }
                error => refused(error),
            })?;
        let (ask, before, behind) = match client.dialect() {
            truetps_record::SqlDialect::Mysql => ("SELECT CONNECTION_ID()", "KILL QUERY ", ""),
            truetps_record::SqlDialect::Postgres => {
                ("SELECT pg_backend_pid()", "SELECT pg_cancel_backend(", ")")
            }
        };
        let id = client.query_value(ask).map_err(CommandFailure::failed)?.unwrap_or_default();
        client.set_timeout(Duration::from_secs(wait_s)).map_err(CommandFailure::failed)?;
        Ok(Self {
            client,
            end: StatementKiller { instance, sql: format!("{before}{id}{behind}") },
            wait_s,
        })
    }

    fn run(
        &mut self,
        statements: &[SplitStatement],
        stop: &AtomicBool,
    ) -> Result<Exit, CommandFailure> {
        for (n, statement) in statements.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Ok(interrupted("before", statements, n));
            }
            let answered = self.client.query(&statement.text);
            if let Ok(result) = &answered {
                let exit = shown(result);
                if exit != Exit::Good {
                    return Ok(exit);
                }
            }
            match answered {
                Err(_) if stop.load(Ordering::Relaxed) => {
                    return Ok(interrupted("in", statements, n));
                }
                Err(error) => return Err(self.failed(&error, statements, n)),
                // An ended sleep returns without an error.
                Ok(_) if stop.load(Ordering::Relaxed) && n + 1 == statements.len() => {
                    return Ok(interrupted("in", statements, n));
                }
                Ok(_) => {}
            }
        }
        Ok(Exit::Good)
    }

    fn failed(
        &self,
        error: &DriverError,
        statements: &[SplitStatement],
        n: usize,
    ) -> CommandFailure {
        let statement = statement_name(statements, n);
        if is_late(error) {
            let became =
                if self.end.send() { "it was ended there" } else { "it may still run there" };
            return CommandFailure::failed(format!(
                "the server has not answered {statement} within {} s (--wait): {became}",
                self.wait_s
            ));
        }
        let is_cut = matches!(error, DriverError::Server(error) if error.code == SYNTAX)
            && ["CREATE", "BEGIN"]
                .iter()
                .all(|word| statements[n].text.to_ascii_uppercase().contains(word));
        let hint = is_cut.then(|| {
            "a text is cut at each `;`: put a line `DELIMITER //` before a routine, and `//` \
             behind its END"
                .to_owned()
        });
        CommandFailure::failed(format!("cannot run {statement}: {error}")).hint_if(hint)
    }
}

fn interrupted(how: &str, statements: &[SplitStatement], n: usize) -> Exit {
    print_message(&format!("interrupted {how} {}\n", statement_name(statements, n)));
    Exit::Interrupted
}

fn is_late(error: &DriverError) -> bool {
    matches!(error, DriverError::Io(source) | DriverError::Connect { source, .. } if source.kind() == ErrorKind::TimedOut)
}

/// How messages call a statement: its number, where there are several, and its line.
fn statement_name(statements: &[SplitStatement], n: usize) -> String {
    let line = statements[n].line.map(|line| format!(" (line {line})")).unwrap_or_default();
    if statements.len() == 1 {
        return format!("the statement{line}");
    }
    format!("statement {} of {}{line}, `{}`", n + 1, statements.len(), cut(&statements[n].text))
}

fn shown(result: &QueryResult) -> Exit {
    if result.columns.is_empty() {
        print_message(&format!("{}\n", format::plural(result.affected_rows, "row")));
        return Exit::Good;
    }
    print_made(&if std::io::stdout().is_terminal() { table(result) } else { tabs(result) })
}

/// Puts a text on one line, and cuts it where it is too long.
fn cut(text: &str) -> String {
    let text = printable(text);
    if text.chars().count() <= CELL_CHARS_MAX {
        return text;
    }
    text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
}

/// The format that the `mysql` client writes for programs: `\\N` is NULL, tabs and newlines in a
/// value are escaped. So is what a terminal would obey: `\\x1b`, `\\u202e`.
fn tabs(result: &QueryResult) -> String {
    let mut rows = vec![result.columns.iter().map(|name| escaped_cell(name)).collect::<Vec<_>>()];
    rows.extend(result.rows.iter().map(|cells| {
        let cells = cells.iter().map(Option::as_deref);
        cells.map(|cell| cell.map_or_else(|| "\\N".to_owned(), escaped_cell)).collect()
    }));
    rows.iter().map(|cells| cells.join("\t") + "\n").collect()
}

fn escaped_cell(text: &str) -> String {
    escaped_text(&text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"))
}

fn table(result: &QueryResult) -> String {
    let mut rows = vec![result.columns.iter().map(|name| cut(name)).collect::<Vec<_>>()];
    rows.extend(
        result
            .rows
            .iter()
            .map(|cells| cells.iter().map(|cell| cut(cell.as_deref().unwrap_or("NULL"))).collect()),
    );
    let widths: Vec<_> = (0..result.columns.len())
        .map(|column| rows.iter().map(|row| display_width(&row[column])).max().unwrap_or(0))
        .collect();
    let rule = format!(
        "{}\n",
        widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  ")
    );
    let mut lines: Vec<_> = rows.iter().map(|row| table_line(row, &widths)).collect();
    lines.insert(1, rule);
    lines.concat()
}

fn table_line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, width)| {
        let padding = width.saturating_sub(display_width(cell));
        format!("{cell}{}", " ".repeat(padding))
    });
    format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> QueryResult {
        let text = |text: &str| Some(text.to_owned());
        QueryResult {
            columns: vec!["id".to_owned(), "name".to_owned()],
            rows: vec![vec![text("1"), text("a\tb")], vec![text("22"), None]],
            affected_rows: 0,
            warnings: 0,
        }
    }

    #[test]
    fn answers_for_programs_and_for_people() {
        assert_eq!(tabs(&result()), "id\tname\n1\ta\\tb\n22\t\\N\n");
        assert_eq!(table(&result()), "id  name\n--  ----\n1   a b\n22  NULL\n");
        let mut chinese = result();
        chinese.rows[0][0] = Some("表已满".to_owned());
        assert_eq!(table(&chinese), "id      name\n------  ----\n表已满  a b\n22      NULL\n");
    }

    #[test]
    fn a_terminal_obeys_no_value_and_no_name() {
        let hostile = "a\u{1b}[2J\r\u{7}\u{9b}31m\u{202e}b";
        let result = QueryResult {
            columns: vec![hostile.to_owned()],
            rows: vec![vec![Some(hostile.to_owned())]],
            affected_rows: 0,
            warnings: 0,
        };
        let (people, programs) = (table(&result), tabs(&result));
        assert_eq!(people.lines().nth(2), Some("a [2J   31m b"), "{people:?}");
        assert_eq!(programs, format!("{0}\n{0}\n", r"a\x1b[2J\x0d\x07\x9b31m\u202eb"));
        assert!(!people.chars().any(|c| truetps_record::is_obeyed(c) && c != '\n'), "{people:?}");
    }
}
