//! Output as lines that two runs have in common: what was measured is replaced, everything else is
//! kept to the letter.

use std::collections::BTreeSet;
use std::path::Path;

/// Whether counts of statements are the same in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Exact,
    /// They depend on the seed, or on which thread was faster.
    Vary,
    /// All numbers do, as in the reports of a script's own.
    AllVary,
}

/// Lines with the folder of the run, the version, times and rates replaced.
pub(crate) fn lines(text: &str, folder: &Path, counts: Counts) -> Vec<String> {
    let folder = folder.display().to_string();
    let text = text.replace(&folder, "FOLDER");
    // The last line's end is a fact as well.
    let ended = if text.is_empty() || text.ends_with('\n') { "" } else { "<no end of line>" };
    let mut all: Vec<String> =
        text.lines().map(|line| line_without_measures(line, counts)).collect();
    if counts == Counts::AllVary {
        without_repeats(&mut all);
    }
    if let Some(last) = all.last_mut() {
        last.push_str(ended);
    }
    all
}

/// The last report of a run races with its end: of lines of numbers that are alike the first one
/// counts.
fn without_repeats(lines: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    lines.retain(|line| !line.contains('N') || seen.insert(line.clone()));
}

fn line_without_measures(line: &str, counts: Counts) -> String {
    if line.starts_with("sysbench ") && line.contains(" (using ") && line.ends_with(')') {
        return "sysbench VERSION (using LUAJIT)".to_owned();
    }
    let label = line.trim_start();
    let is_latency = ["min:", "avg:", "max:", "sum:"].iter().any(|name| label.starts_with(name))
        || (label.contains("th percentile:") && !label.contains('('));
    if is_latency {
        return right_aligned(line);
    }
    if counts == Counts::AllVary {
        return numbers_replaced(line, line.ends_with(" per sec.)"));
    }
    if counts == Counts::Vary && is_count(label) {
        return numbers_replaced(line, true);
    }
    if is_measured(label) {
        return numbers_replaced(line, false);
    }
    places_replaced(&pointers_replaced(&rates_replaced(line)))
}

/// Line numbers of sysbench's own Lua, and LuaJIT's numbers of types, are not compared.
fn places_replaced(line: &str) -> String {
    let mut out = line.to_owned();
    for (begin, end) in [("[string \"sysbench", ": "), ("'struct ", "'")] {
        let Some(at) = out.find(begin) else { continue };
        let from = at
            + begin.len()
            + out[at + begin.len()..]
                .find(':')
                .filter(|_| end == ": ")
                .map_or(0, |colon| colon + 1);
        let digits = out[from..].bytes().take_while(u8::is_ascii_digit).count();
        if out[from + digits..].starts_with(end) {
            out.replace_range(from..from + digits, "N");
        }
    }
    out
}

/// A number at the end with the spaces before it: together they have a fixed width.
fn right_aligned(line: &str) -> String {
    let Some((label, value)) = line.rsplit_once(':') else { return line.to_owned() };
    let is_number = value.trim_start().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && value.contains('.');
    if is_number { format!("{label}:<{} wide>", value.len()) } else { line.to_owned() }
}

fn is_count(label: &str) -> bool {
    ["read:", "write:", "other:", "total:", "queries:", "ignored errors:"]
        .iter()
        .any(|name| label.starts_with(name))
}

/// Lines that have nothing but measures.
fn is_measured(label: &str) -> bool {
    [
        "total time:",
        "events (avg/stddev):",
        "execution time (avg/stddev):",
        "events per second:",
        "[ ",
    ]
    .iter()
    .any(|name| label.starts_with(name))
}

/// `(12.34 per sec.)` without its number.
fn rates_replaced(line: &str) -> String {
    match (line.rfind('('), line.ends_with(" per sec.)")) {
        (Some(at), true) => format!("{}(N per sec.)", &line[..at]),
        _ => line.to_owned(),
    }
}

fn pointers_replaced(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let (before, after) = rest.split_at(at + 2 + digits);
        out.push_str(if digits < 6 { before } else { &rest[..at] });
        out.push_str(if digits < 6 { "" } else { "POINTER" });
        rest = after;
    }
    out + rest
}

/// Every number as `N`, with the spaces after it if it is padded to a width.
fn numbers_replaced(line: &str, padded: bool) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for c in line.chars() {
        let continues = in_number && (c == '.' || (padded && c == ' '));
        if c.is_ascii_digit() {
            if !in_number {
                out.push('N');
            }
            in_number = true;
        } else if !continues {
            in_number = false;
            out.push(c);
        }
    }
    out
}

#[test]
fn only_measures_are_replaced() {
    let text = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\
        \x20   transactions:                        20     (107.91 per sec.)\n\
        \x20        min:                                    0.01\n\
        \x20        95th percentile:                        0.07\n\
        \x20   total time:                          2.0001s\n\
        table: 0x7f00aa11 in /tmp/x/a.lua, 0x10\n\
        [string \"sysbench.sql.lua\"]:132: no\n\
        a.lua:12: 'struct 183' has none";
    let expected = [
        "sysbench VERSION (using LUAJIT)",
        "    transactions:                        20     (N per sec.)",
        "         min:<40 wide>",
        "         95th percentile:<28 wide>",
        "    total time:                          Ns",
        "table: POINTER in FOLDER/a.lua, 0x10",
        "[string \"sysbench.sql.lua\"]:N: no",
        "a.lua:12: 'struct N' has none<no end of line>",
    ];
    assert_eq!(lines(text, Path::new("/tmp/x"), Counts::Exact), expected);
    let varied = lines(
        "        read:     280\n    queries:  2000   (1.5 per sec.)\n",
        Path::new("/x"),
        Counts::Vary,
    );
    assert_eq!(varied, ["        read:     N", "    queries:  N(Nper sec.)"]);
    let timed = lines("[ 1s ] eps: 2.5\n\n[ 2s ] eps: 99\n\n", Path::new("/x"), Counts::AllVary);
    assert_eq!(timed, ["[ Ns ] eps: N", "", ""]);
}
