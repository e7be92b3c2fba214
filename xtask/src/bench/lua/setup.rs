//! Preparations for the first run: both programs, their scripts, memory of the host, and tables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use truetps_sandbox::{HostLimits, ServerLoad};

use crate::bench::lua::options::{LuaBenchOptions, LuaRival, Script};
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{build_release, commit, new_command, output};
use crate::bench::sample::Server;

const SYSBENCH: &str = "sysbench";
const INSTALL: &str = "apt-get install --no-install-recommends sysbench";
/// The scripts' folder in Debian's package. Both programs get the path, so that no copy can replace
/// it.
const SCRIPTS: &str = "/usr/share/sysbench";

/// Filled once; scripts that change rows leave their number as it is.
const FULL: &str = "sbtest";
/// For scripts that only add rows.
const EMPTY: &str = "sbtest_empty";

/// sysbench took 0.34 MB for each of 1,000 clients, 0.28 for each of 5,000; with prepared
/// statements more.
const BYTES_PER_CLIENT: u64 = 512 << 10;
/// The sandbox's estimates: a session of the server, and the server without sessions, besides its
/// buffer pool of a quarter of the memory, at most 1 GiB.
const BYTES_PER_SESSION: u64 = 256 << 10;
const SERVER_BYTES: u64 = 400 << 20;
const BUFFER_POOL_MAX: u64 = 1 << 30;
/// The most prepared statements that the private server is given room for.
const STATEMENTS_MAX: u64 = 1_048_576;

pub(crate) struct LuaPrograms {
    truetps: PathBuf,
    /// A line each.
    pub(crate) about: String,
}

impl LuaPrograms {
    /// Builds truetps unless another one is named, and checks that sysbench is present.
    pub(crate) fn find(root: &Path, options: &LuaBenchOptions) -> anyhow::Result<Self> {
        let version = output(SYSBENCH, INSTALL)?;
        let rival = match &options.against {
            LuaRival::Build(path) if !path.is_file() => {
                bail!("--against build:{}: no such file", path.display())
            }
            LuaRival::Build(_) => {
                format!("{}, given with --against; tables of {version}", options.against.name())
            }
            LuaRival::Sysbench => version,
        };
        for script in &options.scripts {
            let path = script_path(*script);
            if !path.is_file() {
                bail!("{} is needed: {INSTALL}", path.display());
            }
        }
        let truetps = truetps_path(root, options);
        let ours = match &options.truetps {
            Some(path) if path.is_file() => "another build, given with --truetps".to_owned(),
            Some(path) => bail!("--truetps {}: no such file", path.display()),
            None => {
                build_release("truetps", root, &["--package", "truetps"])?;
                format!("this tree{}", commit(root))
            }
        };
        let about = format!(
            "- truetps sysbench: {ours}\n- {rival}; scripts of {SCRIPTS}, {}\n",
            scripts_state()
        );
        Ok(Self { truetps, about })
    }

    pub(crate) fn command(
        &self,
        is_ours: bool,
        options: &LuaBenchOptions,
        script: Script,
        clients: u32,
        server: &PrivateServer,
    ) -> Command {
        let words = words(is_ours, &self.truetps, options, script, clients, server.socket());
        let mut command = new_command(&words[0]);
        command.args(&words[1..]);
        command
    }
}

/// The command line of a run.
fn words(
    is_ours: bool,
    truetps: &Path,
    options: &LuaBenchOptions,
    script: Script,
    clients: u32,
    socket: &Path,
) -> Vec<String> {
    let mut words = match &options.against {
        _ if is_ours => vec![truetps.display().to_string(), SYSBENCH.to_owned()],
        LuaRival::Sysbench => vec![SYSBENCH.to_owned()],
        LuaRival::Build(path) => vec![path.display().to_string(), SYSBENCH.to_owned()],
    };
    words.push(script_path(script).display().to_string());
    words.extend(server_words(socket, schema(script)));
    words.push(format!("--threads={clients}"));
    words.extend(options.load());
    if is_ours || options.against != LuaRival::Sysbench {
        // A folder for each run would be work that sysbench does not do.
        words.push("--runs=none".to_owned());
    }
    if is_ours {
        words.extend(options.ours.iter().cloned());
    }
    words.push("run".to_owned());
    words
}

fn server_words(socket: &Path, schema: &str) -> [String; 3] {
    [
        format!("--mysql-socket={}", socket.display()),
        "--mysql-user=root".to_owned(),
        format!("--mysql-db={schema}"),
    ]
}

fn script_path(script: Script) -> PathBuf {
    Path::new(SCRIPTS).join(script.name).with_extension("lua")
}

fn schema(script: Script) -> &'static str {
    if script.is_growing { EMPTY } else { FULL }
}

fn truetps_path(root: &Path, options: &LuaBenchOptions) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    options.truetps.clone().unwrap_or_else(|| target.join("release/truetps"))
}

/// Whether the scripts are unmodified since the package's installation.
fn scripts_state() -> String {
    let changed = new_command("dpkg").args(["--verify", "sysbench"]).output();
    match changed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()) {
        Ok(text) if !text.contains(SCRIPTS) => "unmodified (`dpkg --verify`)".to_owned(),
        Ok(_) => "**modified** (`dpkg --verify`)".to_owned(),
        Err(_) => "not verified: there is no dpkg".to_owned(),
    }
}

/// Room for all sessions and their prepared statements.
pub(crate) fn server_load(options: &LuaBenchOptions) -> anyhow::Result<ServerLoad> {
    let (clients, each) = (options.most_clients(), options.statements_per_session());
    let all = u64::from(clients) * u64::from(each);
    if all > STATEMENTS_MAX {
        bail!(
            "{clients} clients prepare {each} statements each, {all} in all, and a server has room \
             for {STATEMENTS_MAX}: use fewer --tables, or --prepared disable"
        );
    }
    Ok(ServerLoad { connections_max: clients, statements_per_connection: each })
}

/// Memory of server and clients together. Other limits of the host are checked when the server
/// starts.
pub(crate) fn check_memory(clients: u32) -> anyhow::Result<()> {
    let host = HostLimits::read();
    let needed = memory_bytes(clients, host.memory_bytes);
    if let Some(available) = host.memory_available_bytes.filter(|available| *available < needed) {
        bail!(
            "this host cannot carry the load: server and sysbench need about {} MB with {clients} \
             clients, and {} MB are available; use fewer --clients",
            needed / 1_000_000,
            available / 1_000_000
        );
    }
    Ok(())
}

fn memory_bytes(clients: u32, host_bytes: u64) -> u64 {
    // A buffer pool has an overhead of a tenth of its size.
    let buffer_pool = (host_bytes / 4).min(BUFFER_POOL_MAX) / 10 * 11;
    SERVER_BYTES + buffer_pool + u64::from(clients) * (BYTES_PER_CLIENT + BYTES_PER_SESSION)
}

/// The tables of both schemas, created by sysbench itself.
pub(crate) fn prepare(options: &LuaBenchOptions, server: &mut PrivateServer) -> anyhow::Result<()> {
    for (schema, rows) in [(FULL, options.table_rows), (EMPTY, 0)] {
        if !options.scripts.iter().any(|script| self::schema(*script) == schema) {
            continue;
        }
        server.client.execute(&format!("CREATE DATABASE {schema}"))?;
        let mut command = new_command(SYSBENCH);
        command.arg(script_path(options.scripts[0])).args(server_words(server.socket(), schema));
        command.args([
            format!("--tables={}", options.tables),
            format!("--table-size={rows}"),
            "prepare".to_owned(),
        ]);
        let output = command.output().context("starting sysbench")?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            bail!("sysbench could not make its tables: {}", text.trim());
        }
    }
    Ok(())
}

/// Makes tables that are alike for each program.
pub(crate) fn same_start(
    options: &LuaBenchOptions,
    script: Script,
    server: &mut PrivateServer,
) -> anyhow::Result<()> {
    if script.is_growing {
        for table in 1..=options.tables {
            server.client.execute(&format!("TRUNCATE TABLE {EMPTY}.sbtest{table}"))?;
        }
    }
    Ok(())
}

/// The planned runs, for `--dry`.
pub(crate) fn plan(root: &Path, options: &LuaBenchOptions) -> String {
    let truetps = truetps_path(root, options);
    let mut text = options.describe();
    let settings: Vec<_> =
        options.settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(text, "- a private server with {}", settings.join(", "));
    let runs = options.scripts.len() * options.clients.len() * options.pairs.count as usize * 2;
    let seconds = runs as u64 * super::run::run_seconds(options.window);
    let _ = writeln!(
        text,
        "- {runs} runs, {} minutes and the time that programs take to start\n",
        seconds.div_ceil(60)
    );
    for script in &options.scripts {
        for clients in &options.clients {
            for is_ours in [true, false] {
                let words =
                    words(is_ours, &truetps, options, *script, *clients, Path::new("SOCKET"));
                let _ = writeln!(text, "{}", words.join(" "));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> LuaBenchOptions {
        crate::bench::lua::options::tests::parse(text).unwrap()
    }

    fn script(name: &str) -> Script {
        Script::parse(name).unwrap()
    }

    #[test]
    fn both_programs_get_the_same_words() {
        let options = options("--ours --lua-memory-limit=0 -- --rand-seed=3");
        let of = |is_ours| {
            words(
                is_ours,
                Path::new("truetps"),
                &options,
                script("oltp_write_only"),
                64,
                Path::new("s"),
            )
        };
        let mut ours = of(true);
        ours.splice(0..2, ["sysbench".to_owned()]);
        ours.retain(|word| word != "--runs=none" && word != "--lua-memory-limit=0");
        assert_eq!(ours, of(false));
        assert!(ours.contains(&"/usr/share/sysbench/oltp_write_only.lua".to_owned()));
        assert!(
            ours.contains(&"--mysql-db=sbtest".to_owned())
                && ours.contains(&"--rand-seed=3".to_owned())
        );
        assert_eq!(ours.last().map(String::as_str), Some("run"));
    }

    #[test]
    fn inserts_have_tables_of_their_own() {
        assert_ne!(schema(script("oltp_insert")), schema(script("oltp_read_write")));
    }

    #[test]
    fn a_plan_has_a_line_for_each_program_and_cell() {
        let text = plan(
            Path::new("/tree"),
            &options("--clients 8,64 --scripts oltp_insert --pairs 2 --truetps ours"),
        );
        assert_eq!(text.lines().filter(|line| line.ends_with(" run")).count(), 4);
        assert!(text.contains("- 8 runs") && text.contains("ours sysbench /usr/share"), "{text}");
    }

    #[test]
    fn more_statements_than_a_server_takes_are_refused() {
        assert_eq!(server_load(&options("--tables 10")).unwrap().statements_per_connection, 92);
        assert!(server_load(&options("--tables 30")).unwrap_err().to_string().contains("--tables"));
        assert!(server_load(&options("--tables 30 --prepared disable")).is_ok());
    }

    #[test]
    fn memory_that_no_host_has_is_named() {
        assert!(memory_bytes(1, 2 << 30) < 1 << 30);
        assert_eq!(memory_bytes(1001, 8 << 30) - memory_bytes(1, 64 << 30), 1000 * (768 << 10));
        assert!(check_memory(u32::MAX).unwrap_err().to_string().contains("--clients"));
    }
}
