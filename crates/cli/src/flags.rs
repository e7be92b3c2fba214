//! Errors in a plan, in terms of the flags on the command line.

use clap::CommandFactory;
use truetps_plan::PlanError;

use crate::args::Cli;

/// Settings of the server have no flag each.
const SETTINGS: &str = "server.settings.";

/// The same error with flags of this command in place of the keys that they stand for. Keys that no flag stands for are kept.
pub(crate) fn by_flag(command: &str, error: PlanError) -> PlanError {
    let cli = Cli::command();
    let Some(command) = cli.find_subcommand(command) else { return error };
    let flag = |key: String| of_key(command, &key).unwrap_or(key);
    match error {
        PlanError::Value { key, problem } => {
            let problem = in_text(command, &problem) + unit(&key, &problem);
            PlanError::Value { key: flag(key), problem }
        }
        PlanError::UnusedKey { key, workload, used_by } => PlanError::UnusedKey { key: flag(key), workload, used_by },
        other => other,
    }
}

/// A flag has the name of its key, as much of its section as it needs, and no unit: `load.warm_up_s` is `--warm-up`,
/// `probe.interval_s` `--probe-interval`.
fn of_key(command: &clap::Command, key: &str) -> Option<String> {
    if let Some(setting) = key.strip_prefix(SETTINGS) {
        return Some(format!("--set {setting}"));
    }
    let name = key.replace('.', "_");
    let starts = name.match_indices('_').map(|(at, _)| at + 1);
    let tails = [0].into_iter().chain(starts).map(|at| &name[at..]);
    let bare = |tail: &str| tail.strip_suffix("_ms").or_else(|| tail.strip_suffix("_s")).map(str::to_owned);
    tails.flat_map(|tail| [Some(tail.to_owned()), bare(tail)]).flatten().find_map(|id| of_id(command, &id))
}

/// The unit in a key's name, which its flag's name lacks, for errors about numbers.
fn unit(key: &str, problem: &str) -> &'static str {
    let is_bare = problem.contains("is not between") && problem.ends_with(|c: char| c.is_ascii_digit());
    match is_bare {
        true if key.ends_with("_ms") => " ms",
        true if key.ends_with("_s") => " s",
        _ => "",
    }
}

fn of_id(command: &clap::Command, id: &str) -> Option<String> {
    let found = command.get_arguments().find(|arg| arg.get_id() == id)?;
    Some(format!("--{}", found.get_long()?))
}

/// Words in backquotes that are keys.
fn in_text(command: &clap::Command, text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        let is_quoted = at % 2 == 1;
        is_quoted.then(|| of_id(command, part)).flatten().unwrap_or_else(|| part.to_owned())
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_flags_that_set_them() {
        let cli = Cli::command();
        let check = |command: &str, key: &str, expect: Option<&str>| {
            let found = of_key(cli.find_subcommand(command).unwrap(), key);
            assert_eq!(found.as_deref(), expect, "{command} {key}");
        };
        check("run", "workload.table_rows", Some("--table-rows"));
        check("run", "workload.key", Some("--key"));
        check("run", "load.warm_up_s", Some("--warm-up"));
        check("run", "load.measure_transactions", Some("--transactions"));
        check("run", "load.rate_per_client", Some("--rate-per-client"));
        check("run", "load.latency_limit_ms", Some("--latency-limit"));
        check("run", "load.errors.reconnect_s", Some("--reconnect"));
        check("run", "load.errors.retries_max", Some("--retries-max"));
        check("run", "factors.connections", Some("--connections"));
        check("run", "design.seed", Some("--seed"));
        check("run", "probe.interval_s", Some("--probe-interval"));
        check("run", "server.settings.seed", Some("--set seed"));
        check("probe", "probe.interval_s", Some("--interval"));
        check("run", "workload.statements", None);
        check("sweep", "load.measure_s", None);
    }

    #[test]
    fn what_is_wrong_is_said_of_the_flag() {
        let value = |key: &str, problem: &str| {
            let error = PlanError::Value { key: key.to_owned(), problem: problem.to_owned() };
            by_flag("run", error).to_string()
        };
        assert_eq!(
            value("load.ramp_to", "needs `rate` or `rate_per_client`"),
            "`--ramp-to`: needs `--rate` or `--rate-per-client`"
        );
        assert_eq!(value("load.warm_up_s", "-1 is not between 0 and 9"), "`--warm-up`: -1 is not between 0 and 9 s");
        assert_eq!(value("load.errors.retry", "`dedlock` is no error class"), "`--retry`: `dedlock` is no error class");
        let unused = PlanError::UnusedKey {
            key: "workload.key".to_owned(),
            workload: "insert".to_owned(),
            used_by: vec!["a".to_owned()],
        };
        assert_eq!(by_flag("run", unused).to_string(), "`--key` means nothing to `insert`: it is for `a`");
    }
}
