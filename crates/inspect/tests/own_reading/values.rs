//! Which values a server has with a file: what truetps takes of it for a private server, beside the
//! program's own report.

use std::collections::BTreeMap;
use std::path::Path;

use truetps_inspect::server_options;
use truetps_knowledge::is_same_list;
use truetps_record::same_setting;
use truetps_sandbox::{
    BaseSettings, Catalogue, FileSetting, ServerBinary, ServerUser, base_settings_of,
};

use crate::programs::{check_all, mysql_family, output_of, write};

/// Settings of each type of number, and of a switch.
const NUMBERS: [&str; 4] =
    ["max_connections", "max_allowed_packet", "long_query_time", "innodb_log_buffer_size"];
const SWITCHES: [&str; 2] = ["low_priority_updates", "innodb_stats_on_metadata"];
const VALUES: [&str; 30] = [
    "16",
    "0",
    "-1",
    "16K",
    "2k",
    "1M",
    "1m",
    "1MB",
    "1Mbytes",
    "2G",
    "1T",
    "1.5M",
    "0.5",
    "1e3",
    "0x10",
    "",
    "+500",
    "'700'",
    "\"1M\"",
    "OFF",
    "ON",
    "on",
    "TRUE",
    "yes",
    "2",
    "none",
    "99999999999999999999",
    "1,000",
    "5%",
    "1024 # a comment",
];

/// Lines that mean something to a name, a word, a list or a text; and what is valid beside another
/// line only.
const LINES: [&str; 59] = [
    "max-connections=77",
    "max_connections 77",
    "MAX_CONNECTIONS=77",
    "Max-Connections=77",
    "loose-max_connections=77",
    "loose_nonsense=77",
    "nonsense=77",
    "skip-nonsense",
    "maxconnections=77",
    "max_connection=77",
    "max_connections",
    "lower_case_table_names",
    "concurrent-insert",
    "innodb_spin_wait_delay",
    "innodb_ft_min_token_size=2",
    "plugin_load_add=server_audit\nserver_audit=FORCE_PLUS_PERMANENT\nserver_audit_logging=ON",
    "max_connections=77\nmax_connections=78",
    "low-priority-updates",
    "skip-low-priority-updates",
    "skip-low-priority-updates=0",
    "disable-low-priority-updates=1",
    "enable-low-priority-updates",
    "loose-skip-low-priority-updates",
    "skip-external-locking",
    "skip-name-resolve",
    "skip-log-bin",
    "log-bin",
    "log-bin=OFF",
    "key_buffer=17M",
    "sort_buffer=1M",
    "character-set-server=utf8mb4",
    "character-set-server=latin1\ncollation-server=latin1_german1_ci",
    "character-set-server=utf8mb4\ncollation-server=latin1_swedish_ci",
    "collation-server=utf8mb4_general_ci\ncharacter-set-server=utf8mb4",
    "collation-server=utf8mb4_nonsense_ci",
    "collation-server=utf8mb4_nonsense_ci\ncharacter-set-server=utf8mb4\nmax_connections=77",
    "sql_mode=ANSI",
    "sql-mode=\"STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION\"",
    "sql_mode=TRADITIONAL",
    "sql_mode = no_engine_substitution,NO_ZERO_DATE",
    "log_output=TABLE,FILE",
    "optimizer_switch='mrr=off'",
    "optimizer_switch=index_merge=off,mrr_cost_based=off\noptimizer_switch='mrr=off'",
    "slave_skip_errors=1062,1032",
    "sql_mode=NONSENSE",
    "sql_mode=",
    "binlog_format=MIXED",
    "binlog_format=mixed",
    "binlog_format=1",
    "binlog_format=nonsense",
    "innodb_flush_method=O_DSYNC",
    "innodb_flush_method=o_dsync",
    "innodb_autoinc_lock_mode=1",
    "innodb_autoinc_lock_mode=7",
    "ft_boolean_syntax='+ -><()~*:\"\"&|'",
    "innodb_flush_log_at_trx_commit=2",
    "innodb_flush_log_at_trx_commit=7",
    "innodb_buffer_pool_instances=8\ninnodb_log_file_size=64M",
    "open_files_limit=65535\ntable_open_cache=20000\nthread_cache_size=200",
];

/// What a server makes of a file.
#[derive(Debug)]
struct ServersValues {
    refusal: Option<String>,
    values: BTreeMap<String, String>,
}

fn servers_values(binary: &ServerBinary, path: &Path) -> ServersValues {
    let file = format!("--defaults-file={}", path.display());
    let tree = [
        format!("--basedir={}", binary.basedir.display()),
        format!("--lc-messages-dir={}", binary.share_dir.display()),
        "--secure-file-priv=".to_owned(),
        "--server-id=1".to_owned(),
    ];
    let tree = tree.iter().map(String::as_str);
    let run = |last: &[&str]| {
        output_of(&binary.path, &[&[&*file][..], &tree.clone().collect::<Vec<_>>(), last].concat())
    };
    let output = run(&["--verbose", "--help"]);
    let told = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().find(|line| line.contains("[ERROR]")).map(str::to_owned)
    };
    let mut refusal =
        told(&output.stderr).or_else(|| (!output.status.success()).then(|| "it failed".to_owned()));
    if refusal.is_none() && !binary.is_mariadb() && binary.version.major >= 9 {
        // Which names it does not know, it says here only.
        let checked = run(&["--validate-config"]);
        refusal = (!checked.status.success()).then(|| told(&checked.stderr).unwrap_or_default());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("-----"))
        .skip(1)
        .take_while(|line| !line.is_empty());
    let row = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        (name.to_ascii_lowercase().replace('-', "_"), value.trim().to_owned())
    };
    ServersValues { refusal, values: table.map(row).collect() }
}

/// What truetps makes of it, or why it refuses it.
fn ours(
    catalogue: &Catalogue,
    binary: &ServerBinary,
    path: &Path,
) -> Result<(BaseSettings, Vec<FileSetting>), String> {
    let side = server_options(path, binary.flavour, &binary.version.to_string())
        .map_err(|error| error.to_string())?;
    let lines = side.settings.into_iter();
    let lines: Vec<_> = lines
        .map(|(name, found)| FileSetting {
            name,
            value: found.value,
            is_loose: found.is_loose,
            is_bare: found.is_bare,
        })
        .collect();
    let base = base_settings_of(catalogue, &lines).map_err(|error| error.to_string())?;
    Ok((base, lines))
}

fn compare(
    catalogue: &Catalogue,
    binary: &ServerBinary,
    line: &str,
    dir: &Path,
) -> Result<(), String> {
    let path = dir.join("my.cnf");
    write(&path, format!("[mysqld]\n{line}\n").as_bytes());
    let server = servers_values(binary, &path);
    let ours = ours(catalogue, binary, &path);
    let problem = match (&server.refusal, &ours) {
        (Some(_), Err(_)) => return Ok(()),
        (None, Ok((base, lines))) => differing(&server.values, base, lines),
        (Some(refusal), Ok(_)) => Some(format!("only the server refuses it: {refusal}")),
        (None, Err(error)) => Some(format!("only truetps refuses it: {error}")),
    };
    match problem {
        Some(problem) if !is_known(binary, line, &problem) => Err(format!(
            "{} {}: {line:?}: {problem}\n  truetps: {ours:?}",
            binary.flavour, binary.version
        )),
        _ => Ok(()),
    }
}

/// A value that the server has otherwise, or a changed one without a note.
fn differing(
    values: &BTreeMap<String, String>,
    base: &BaseSettings,
    lines: &[FileSetting],
) -> Option<String> {
    for (name, kept) in &base.kept {
        let Some(taken) = values.get(name).filter(|_| name != "log_bin") else { continue };
        if !same_setting(kept, taken) && !is_same_list(name, kept, taken) {
            return Some(format!("{name} is {taken}, and not {kept}"));
        }
        let line = lines.iter().find(|line| line.name == *name);
        let is_changed = line.is_some_and(|line| {
            !same_setting(&line.value, taken) && !is_same_list(name, &line.value, taken)
        });
        if is_changed && !base.notes.iter().any(|note| note.contains(name)) {
            return Some(format!("{name} is {taken} without a note"));
        }
    }
    None
}

/// What is taken differently on purpose, or cannot be seen here.
fn is_known(binary: &ServerBinary, line: &str, problem: &str) -> bool {
    let has = |part: &str| line.to_ascii_lowercase().contains(part);
    let is_old_mysql = !binary.is_mariadb() && binary.version.major == 8;
    // An 8.0 says which names it does not know when it starts, and not before.
    problem.starts_with("only truetps") && is_old_mysql && ["has no setting", "neither a group"].iter().any(|part| problem.contains(part))
        // It is 1 of a small pool once InnoDB has started, and 8 before.
        || has("pool_instances") && problem.contains("is 8, and not 1")
        // A private server loads no plugin, and does not need its file.
        || problem.starts_with("only the server") && problem.contains("Can't open shared library")
        // A word of 5.7's that is none of this option is found when InnoDB starts.
        || problem.starts_with("only truetps") && has("flush_method")
}

#[test]
fn a_private_server_has_the_values_of_the_file() {
    let servers = mysql_family("a_private_server_has_the_values_of_the_file");
    let user = ServerUser::choose();
    let asked = servers.iter().map(|binary| (binary, Catalogue::ask(binary, &user).unwrap()));
    let asked: Vec<_> = asked.collect();
    let names = NUMBERS.iter().chain(&SWITCHES);
    let product: Vec<_> =
        names.flat_map(|name| VALUES.map(|value| format!("{name} = {value}"))).collect();
    // Each server has its share of these, whose readers are nearly the same, and all of the others.
    let shares =
        product.into_iter().enumerate().map(|(n, line)| (&asked[n % asked.len().max(1)], line));
    let all = LINES.iter().flat_map(|line| asked.iter().map(|server| (server, (*line).to_owned())));
    let cases: Vec<_> = if asked.is_empty() { Vec::new() } else { shares.chain(all).collect() };
    check_all(&cases, |((binary, catalogue), line), dir| compare(catalogue, binary, line, dir));
}
