//! The invariants of ARCHITECTURE.md that a reader of the source can check: what a crate does not
//! do.

/// Access to a clock, to files, to the network, to the terminal.
const CLOCK: &[&str] = &["Instant::now", "SystemTime::now"];
const FILES: &[&str] = &["std::fs", "rustix::fs", "File::open", "File::create"];
const NETWORK: &[&str] = &["std::net", "rustix::net", "UnixStream", "TcpStream"];
const TERMINAL: &[&str] =
    &["print!(", "println!(", "eprint!(", "eprintln!(", "std::io::stdout", "std::io::stderr"];
const UNSAFE: &[&str] = &["unsafe_code"];
/// Operations that a link in the path leads elsewhere: as root, to a file that the owner of the
/// folder could not touch. `truetps_files` has `OpenFolder` and `open_no_link` in place of them.
/// Descriptors (`fchmod`, `fchown`) are no paths.
const RIGHTS_BY_PATH: &[&str] = &["set_permissions(", "lchown(", " chown(", "fs::chown("];
const BY_PATH: &[&str] =
    &["fs::read(", "fs::read_to_string(", "fs::write(", "fs::copy(", "File::open(", "File::create"];
/// Run folders may be another user's: `run_file::open_below` opens their files.
const READ_BY_PATH: &[&str] =
    &["fs::read(", "fs::read_to_string(", "File::open(", "open_regular(", "fs::metadata("];

/// A crate (`*`: every crate; with `/`: files of one), what it does not use, and the files in which
/// it may.
struct Invariant(&'static str, &'static [&'static [&'static str]], &'static [&'static str]);

const INVARIANTS: [Invariant; 28] = [
    Invariant("record", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("files", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("binlog", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    // The standard library would call its functions.
    Invariant("prealloc", &[FILES, NETWORK, TERMINAL], &[]),
    Invariant("plan", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("folder", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("folder", &[READ_BY_PATH], &[]),
    Invariant("archive", &[READ_BY_PATH], &[]),
    Invariant("random", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("workload", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("measure", &[FILES, NETWORK, TERMINAL], &["measure/src/thread_use.rs"]),
    Invariant("engine", &[FILES, TERMINAL], &[]),
    Invariant("analysis", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("adaptive", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("causes", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("pool", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("archive", &[CLOCK, NETWORK, TERMINAL], &[]),
    Invariant("knowledge", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("report", &[CLOCK, FILES, NETWORK, TERMINAL], &[]),
    Invariant("lab", &[TERMINAL], &[]),
    Invariant(
        "batch",
        &[CLOCK, FILES, NETWORK, TERMINAL],
        &[
            "batch/src/database/commit_queue.rs",
            "batch/src/database/connection.rs",
            "batch/src/database/worker.rs",
        ],
    ),
    // Root runs these in folders of a server's user. The files that are left out read what the
    // kernel or truetps itself makes (/proc, /sys, folders of root), or what the command line
    // names.
    Invariant("preload", &[BY_PATH], &["preload/src/trim.rs"]),
    Invariant("cli/src/commands/prealloc/", &[BY_PATH], &["cli/src/commands/prealloc/checks.rs"]),
    Invariant(
        "lab",
        &[BY_PATH],
        &["lab/src/external/journal.rs", "lab/src/external/journal_file.rs"],
    ),
    Invariant(
        "sandbox",
        &[BY_PATH],
        &[
            "sandbox/src/housekeeping/archive.rs",
            "sandbox/src/program/binary.rs",
            "sandbox/src/system/children.rs",
            "sandbox/src/home/home_folder.rs",
            "sandbox/src/system/host_limits.rs",
            "sandbox/src/instance/port.rs",
            "sandbox/src/system/json_file.rs",
            "sandbox/src/data/postgres_state.rs",
            "sandbox/src/system/processes.rs",
            "sandbox/src/system/server_user.rs",
            "sandbox/src/data/template.rs",
            "sandbox/src/data/template_build.rs",
        ],
    ),
    Invariant(
        "disk",
        &[BY_PATH],
        &[
            "disk/src/file_system_lab/mod.rs",
            "disk/src/file_system_lab/nodes.rs",
            "disk/src/mounts.rs",
            "disk/src/profile.rs",
            "disk/src/test_disks.rs",
        ],
    ),
    // In folders of truetps only, or by the path of a descriptor in /proc.
    Invariant(
        "*",
        &[RIGHTS_BY_PATH],
        &[
            "disk/src/file_system_lab/mod.rs",
            "disk/src/file_system_lab/names.rs",
            "disk/src/file_system_lab/nodes.rs",
            "sandbox/src/housekeeping/archive.rs",
            "sandbox/src/home/home_folder.rs",
            "sandbox/src/system/folders.rs",
            "testkit/src/postgres.rs",
            "testkit/src/templates.rs",
        ],
    ),
    Invariant(
        "*",
        &[UNSAFE],
        &[
            "cli/src/allocator.rs",
            "prealloc/src/next.rs",
            "prealloc/src/process_calls.rs",
            "prealloc/src/symbols.rs",
            "sandbox/src/system/spawn.rs",
            "sysbench/src/lua/state.rs",
            "sysbench/src/lua/symbols.rs",
            "sysbench/src/sql/bound.rs",
            "sysbench/src/sql/shapes.rs",
        ],
    ),
];

/// What the code of one file must not use. Tests may: modules of tests stand at the end of a file,
/// or in a file named for them.
pub(super) fn problems(file: &str, text: &str) -> Vec<String> {
    let Some(path) = file.strip_prefix("crates/").filter(|path| !is_test(path)) else {
        return Vec::new();
    };
    let tests = ["\n#[cfg(test)]\nmod ", "\n#[cfg(test)]\npub(crate) mod "];
    let code = tests.iter().fold(text, |code, tests| code.split(tests).next().unwrap_or_default());
    let mut found = Vec::new();
    for Invariant(of, uses, _) in INVARIANTS.iter().filter(|one| one.holds_in(path)) {
        for word in uses.iter().copied().flatten() {
            let lines =
                code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
            let at = lines.filter(|(_, line)| line.contains(word)).map(|(number, _)| number + 1);
            found.extend(
                at.map(|line| {
                    format!("{file}:{line}: `{word}`: not in `{of}`, by ARCHITECTURE.md")
                }),
            );
        }
    }
    found
}

impl Invariant {
    fn holds_in(&self, path: &str) -> bool {
        let Self(of, _, except) = self;
        let is_of = *of == "*"
            || path.starts_with(&format!("{of}/src/"))
            || of.contains('/') && path.starts_with(of);
        is_of && !except.contains(&path)
    }
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
        let check = |file: &str, text: &str, expect: usize| {
            assert_eq!(problems(file, text).len(), expect, "{file}");
        };
        let reads = "//! std::fs\nuse std::fs;\n";
        check("crates/analysis/src/noise.rs", reads, 1);
        check("crates/analysis/src/truth_tests.rs", reads, 0);
        check(
            "crates/analysis/src/noise.rs",
            "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
            0,
        );
        check("crates/sandbox/src/system/copy.rs", reads, 0);
        check("crates/measure/src/thread_use.rs", reads, 0);
        check("crates/folder/src/folder.rs", reads, 0);
        check("crates/folder/src/folder.rs", "let now = Instant::now();", 1);
        check("crates/sandbox/src/system/copy.rs", "#[expect(unsafe_code)]", 1);
        check("crates/sandbox/src/system/spawn.rs", "#[expect(unsafe_code)]", 0);
    }

    #[test]
    fn operations_by_path_are_found_where_root_works_in_folders_of_others() {
        let check = |file: &str, text: &str, expect: usize| {
            assert_eq!(problems(file, text).len(), expect, "{file}");
        };
        check(
            "crates/preload/src/library.rs",
            "fs::set_permissions(&path, mode)?;\nfs::read(&path)?;",
            2,
        );
        check("crates/preload/src/state_file.rs", "File::open(&self.path)", 1);
        check("crates/preload/src/state_file.rs", "folder.as_owner(|| folder.file(name))", 0);
        check("crates/cli/src/commands/prealloc/status.rs", "fs::read_to_string(path)", 1);
        check("crates/cli/src/commands/pool.rs", "fs::read_to_string(path)", 0);
        check("crates/folder/src/folder.rs", "open_regular(&path)?.read_to_end(&mut bytes)", 1);
        check("crates/lab/src/crash/binlog.rs", "fs::read(folder.join(name))", 1);
        check("crates/gateway/src/config.rs", "std::fs::chown(path, uid, gid)", 1);
        check("crates/sandbox/src/system/copy.rs", "fchown(file, uid, gid)", 0);
    }
}
