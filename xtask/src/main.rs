//! Chores of the project: `cargo xtask help` lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers talks to its terminal")]

mod bench;
mod ci;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci              formatting, lints, tests, tidy: what a submission must pass
cargo xtask tidy            checks on the tree: edges between crates, lengths of files, leftovers
cargo xtask bench engine    client CPU, throughput and memory beside another program's, alternating, on a private server
cargo xtask bench null      the same against a server that does nothing, client and server on a core each
cargo xtask bench lateness  how late an open loop starts its transactions
cargo xtask bench lua       `truetps sysbench` beside sysbench: the same Lua scripts, alternating, on a private server
cargo xtask bench slap      `truetps slap` and `mtls` beside mariadb-slap and mtls-perf-bench
cargo xtask bench probe     what it costs to watch a server: with and without the probe, and with waits timed
cargo xtask bench report    how long `truetps report` takes over an hour of measurements, and how large its page is
    The others keep their results under bench/runs; docs/reference/benchmarks.md has all options. Run them as
    `cargo run --release -p xtask -- bench …`.
    engine, null: --connections N,… --pairs N --seconds S --protocol text,prepared --mode auto|blocking|multiplexed
                  --workers N --against sysbench|mysqlslap|mysql_async|self:MODE[:WORKERS]|build:PATH|none
                  --set NAME=VALUE (engine) --dry
    lateness:     --runs N --seconds S --clients N --rate R --server null,mariadb --of each,all
                  --spacing constant,poisson --set NAME=VALUE --dry
    lua:          --clients N,… --scripts NAME,… --pairs N --seconds S --tables N --table-size N
                  --prepared auto|disable --truetps PATH --ours OPTION --set NAME=VALUE --no-result
                  --dry (print what would run) -- OPTIONS OF BOTH PROGRAMS
    report:       --truetps PATH --keep DIR
    slap:         --pairs N --truetps PATH --mtls PATH --set NAME=VALUE --no-result
    probe:        --connections N,… --pairs N --seconds S --interval TIME --workload NAME --truetps PATH --basedir DIR
                  --set NAME=VALUE --no-result
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci::run(&root()),
        ["tidy"] => tidy::run(&root()),
        ["bench", "engine", rest @ ..] => bench::engine(&root(), rest),
        ["bench", "null", rest @ ..] => bench::null(&root(), rest),
        ["bench", "lateness", rest @ ..] => bench::lateness(&root(), rest),
        ["bench", "lua", rest @ ..] => bench::lua(&root(), rest),
        ["bench", "report", rest @ ..] => bench::report(&root(), rest),
        ["bench", "slap", rest @ ..] => bench::slap(&root(), rest),
        ["bench", "probe", rest @ ..] => bench::probe(&root(), rest),
        ["bench-client", rest @ ..] => bench::client(rest),
        ["bench-null-server", rest @ ..] => bench::null_server(rest),
        ["bench-pin", rest @ ..] => bench::pin(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(anyhow::anyhow!("unknown chore: {}\n\n{HELP}", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}
