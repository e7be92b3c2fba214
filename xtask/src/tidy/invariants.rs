//! The invariants of ARCHITECTURE.md that a reader of the source can check: what a crate does not do.

/// Access to a clock, to files, to the network, to the terminal.
const CLOCK: &[&str] = &["Instant::now", "SystemTime::now"];
const FILES: &[&str] = &["std::fs", "rustix::fs", "File::open", "File::create"];
const NETWORK: &[&str] = &["std::net", "rustix::net", "UnixStream", "TcpStream"];
const TERMINAL: &[&str] = &["print!(", "println!(", "eprint!(", "eprintln!(", "std::io::stdout", "std::io::stderr"];
const UNSAFE: &[&str] = &["unsafe_code"];

/// A crate (`*`: every crate), what it does not use, and the files in which it may.
struct Invariant(&'static str, &'static [&'static [&'static str]], &'static [&'static str]);

const INVARIANTS: [Invariant; 17] = [
    Invariant("record", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("files", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("binlog", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    // The standard library would call its functions.
    Invariant("prealloc", &[FILES, NETWORK, TERMINAL], &[]),
    Invariant("plan", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("folder", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("random", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("workload", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("measure", &[FILES, NETWORK, TERMINAL], &["measure/src/thread_use.rs"]),
    Invariant("engine", &[FILES, TERMINAL], &[]),
    Invariant("analysis", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("archive", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("knowledge", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("report", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("lab", &[TERMINAL], &[]),
    Invariant(
        "batch",
        &[CLOCK, FILES, NETWORK, TERMINAL],
        &["batch/src/database/commit_queue.rs", "batch/src/database/connection.rs", "batch/src/database/worker.rs"],
    ),
    Invariant(
        "*",
        &[UNSAFE],
        &[
            "prealloc/src/next.rs",
            "prealloc/src/process_calls.rs",
            "prealloc/src/symbols.rs",
            "sandbox/src/spawn.rs",
            "sysbench/src/lua/shapes.rs",
            "sysbench/src/lua/state.rs",
            "sysbench/src/lua/symbols.rs",
            "sysbench/src/sql/bound.rs",
        ],
    ),
];

/// What the code of one file must not use. Tests may: modules of tests stand at the end of a file, or in a file named
/// for them.
pub(super) fn problems(file: &str, text: &str) -> Vec<String> {
    let Some(path) = file.strip_prefix("crates/").filter(|path| !is_test(path)) else { return Vec::new() };
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let holds = |Invariant(of, _, except): &&Invariant| {
        (*of == "*" || path.starts_with(&format!("{of}/src/"))) && !except.contains(&path)
    };
    let mut found = Vec::new();
    for Invariant(of, uses, _) in INVARIANTS.iter().filter(holds) {
        for word in uses.iter().copied().flatten() {
            let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
            let at = lines.filter(|(_, line)| line.contains(word)).map(|(number, _)| number + 1);
            found.extend(at.map(|line| format!("{file}:{line}: `{word}`: not in `{of}`, by ARCHITECTURE.md")));
        }
    }
    found
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.contains("/tests/")
        || name == "tests.rs"
        || name.starts_with("fixture")
        || name.ends_with("_tests.rs")
        || name == "testing.rs"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crate_does_not_do_is_found_outside_of_its_tests() {
        let check = |file: &str, text: &str, expect: usize| assert_eq!(problems(file, text).len(), expect, "{file}");
        let reads = "//! std::fs\nuse std::fs;\n";
        check("crates/analysis/src/noise.rs", reads, 1);
        check("crates/analysis/src/truth_tests.rs", reads, 0);
        check("crates/analysis/src/noise.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n", 0);
        check("crates/sandbox/src/copy.rs", reads, 0);
        check("crates/measure/src/thread_use.rs", reads, 0);
        check("crates/folder/src/folder.rs", reads, 0);
        check("crates/folder/src/folder.rs", "let now = Instant::now();", 1);
        check("crates/sandbox/src/copy.rs", "#[expect(unsafe_code)]", 1);
        check("crates/sandbox/src/spawn.rs", "#[expect(unsafe_code)]", 0);
    }
}
