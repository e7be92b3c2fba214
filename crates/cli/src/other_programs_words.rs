//! Hints for command lines with words of other programs, and for malformed numbers.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::CommandFailure;

/// Names that differ by more letters are not misspelt: `--duration` is not `--rate`.
const MISSPELT_MAX: usize = 2;

/// Flags of sysbench, pgbench, wrk, hyperfine and mysqlslap: what `run` and `sweep` have in their
/// place. `--time`, `--duration` and `--threads` are names of flags here, too.
const FLAGS: [(&str, &str); 15] = [
    ("--max-time --runtime -d -T", "--measure TIME sets the time that is measured"),
    (
        "--client --concurrency -t",
        "--connections N sets the number of clients, --workers N the threads that drive them",
    ),
    ("--jobs -j", "--workers N sets the threads that drive the clients"),
    ("--warmup --warmup-time -w", "--warm-up TIME sets the time of the warm-up"),
    (
        "--events --requests --max-requests --number-of-queries",
        "--transactions N ends the measure phase after N transactions",
    ),
    ("--table-size --table_size --rows --scale -s", "--table-rows N sets the rows in each table"),
    ("--rand-type", "--distribution NAME says how keys are drawn"),
    (
        "--report-interval",
        "each second is recorded in intervals.jsonl of the run folder; --ui shows it",
    ),
    (
        "--runs-count --iterations --min-runs -n -i",
        "--repeat N of `truetps run`, --blocks N of `truetps sweep`",
    ),
    (
        "--mysql-host --mysql-user --mysql-password --mysql-socket --host --user --password -h -u \
         -p",
        "--dsn mysql://USER@HOST/ names a server of yours; TRUETPS_PASSWORD has its password",
    ),
    (
        "--json --output -o",
        "--format json prints the answer as JSON; all files are in the run folder",
    ),
    (
        "--name --label --tag --comment",
        "--runs FOLDER records in a folder of its own; `truetps compare A B` takes two such folders",
    ),
    (
        "--sql --query --queries --create --script",
        "your own statements are in a plan: `[workload]` with `sql = \"…\"`; `truetps help \
         workloads` has examples",
    ),
    (
        "--prometheus --listen",
        "--format prometheus prints the figures of a run; `truetps probe DSN --listen \
         ADDRESS:PORT` serves the counters of a server",
    ),
    (
        "--config --config-file",
        "a plan is the file of an experiment: `truetps plan show durability`",
    ),
];

/// Flags of `run` that `sweep` does not have, and the reverse.
const IN_PLAN: [(&str, &str); 4] = [
    ("--repeat", "--blocks N sets how often each configuration is measured"),
    ("--plan", "the plan has no flag: truetps sweep PLAN"),
    (
        "--rate --rows-per-insert --key --hot-rows",
        "--vary NAME=LEVEL,LEVEL compares levels: `rate`, `rows_per_insert`, `key`, `hot_rows`; a \
         plan sets a single one",
    ),
    (
        "--rate-per-client --transactions --tables --distribution --mix --retry --ignore --fatal \
         --reconnect --arrivals --latency-limit --ramp-to --text-protocol --events --requests \
         --rand-type",
        "the plan sets it: `truetps plan show durability` shows one, --save-plan FILE.toml writes \
         one to change",
    ),
];
const IN_SWEEP: [(&str, &str); 3] = [
    ("--plan", "`truetps sweep PLAN` measures all configurations of a plan"),
    ("--vary", "`truetps sweep WORKLOAD --vary NAME=LEVEL,LEVEL` compares levels"),
    ("--blocks", "--repeat N measures this configuration N times"),
];

const IN_SERVER: [(&str, &str); 1] = [(
    "--basedir --base-dir --dir --path --archive",
    "the folder or archive of a server has no flag: truetps server add NAME FOLDER",
)];

/// Folders beyond those that a command takes.
const MORE_FOLDERS: [(&str, &str); 3] = [
    ("report", "`truetps compare A B` compares two runs"),
    ("stalls", "`truetps compare A B` compares two runs"),
    ("compare", "two at a time: of several levels `truetps sweep` has all in one answer"),
];

const COMMANDS: [(&str, &str); 15] = [
    ("watch monitor top stats metrics", "`truetps probe DSN` watches a server without load"),
    ("status", "`truetps server status NAME` of a named server; `truetps probe DSN` watches one"),
    (
        "replica lag replication",
        "`truetps probe DSN` of a replica says how far it is behind its source",
    ),
    (
        "capture add remove stop sql clean restore",
        "`truetps server` has this command: `truetps server --help`",
    ),
    (
        "log logs",
        "`truetps server log NAME` of a named server; `truetps report --full` has all of a run",
    ),
    (
        "find-max max capacity saturate",
        "`truetps run WORKLOAD --find-max --slo 'p99<20ms'` searches for the highest rate",
    ),
    (
        "check validate",
        "`truetps plan check FILE` checks a plan, `truetps doctor` this machine, `truetps verify` \
         rows",
    ),
    ("install uninstall", "`truetps help install`"),
    (
        "import slow-log slowlog schema workload workloads",
        "your own tables and statements are in a plan: `truetps help workloads` has examples",
    ),
    (
        "bench benchmark measure test start load",
        "`truetps run WORKLOAD` measures one load, `truetps sweep` a plan",
    ),
    ("show list ls", "`truetps plan list`, `truetps server list`, `truetps report`"),
    (
        "tune advise recommend optimize optimise",
        "`truetps explain A B` finds which of the settings that differ make a difference, `truetps \
         sweep --vary` measures levels, `truetps pool` the number of connections",
    ),
    (
        "runs history trend",
        "`truetps report FOLDER` shows a run, `truetps compare A B` two; recorded runs are in \
         ./runs",
    ),
    ("results result analyse analyze", "`truetps report` shows the newest run"),
    ("mysqlslap", "`truetps slap` takes the options of mysqlslap"),
];

/// An error of clap with a suitable tip, or none; errors about numbers get a text from truetps.
/// `command` is the word that was typed first.
pub(crate) fn explain(
    mut error: clap::Error,
    command: Option<&str>,
) -> Result<clap::Error, CommandFailure> {
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let of_plan = match command {
                Some("sweep") => &IN_PLAN[..],
                Some("run") => &IN_SWEEP[..],
                Some("server") => &IN_SERVER[..],
                _ => &[],
            };
            if is_another_word(&error) {
                if let Some((_, tip)) = MORE_FOLDERS.iter().find(|(of, _)| Some(*of) == command) {
                    put_tip(&mut error, ContextKind::SuggestedArg, tip);
                }
                return Ok(error);
            }
            let of_run = if matches!(command, Some("run" | "sweep")) { &FLAGS[..] } else { &[] };
            let known = of_plan.iter().chain(of_run);
            retip(&mut error, ContextKind::InvalidArg, ContextKind::SuggestedArg, known);
        }
        ErrorKind::InvalidSubcommand => {
            retip(
                &mut error,
                ContextKind::InvalidSubcommand,
                ContextKind::SuggestedSubcommand,
                COMMANDS.iter(),
            );
        }
        ErrorKind::ValueValidation => return number_error(&error).map_or(Ok(error), Err),
        _ => {}
    }
    Ok(error)
}

/// An argument that no flag's name begins.
fn is_another_word(error: &clap::Error) -> bool {
    context_text(error, ContextKind::InvalidArg).is_some_and(|word| !word.starts_with('-'))
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn put_tip(error: &mut clap::Error, suggested: ContextKind, tip: &str) {
    error.remove(suggested);
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.to_owned().into()]));
}

/// Replaces what clap takes for similar.
fn retip<'a>(
    error: &mut clap::Error,
    invalid: ContextKind,
    suggested: ContextKind,
    mut known: impl Iterator<Item = &'a (&'a str, &'a str)>,
) {
    let Some(word) = context_text(error, invalid) else { return };
    let word = word.split('=').next().unwrap_or_default().to_owned();
    // `use '-- --time'`: no argument here is meant to begin with a dash.
    error.remove(ContextKind::Suggested);
    if let Some((_, tip)) = known.find(|(words, _)| words.split(' ').any(|one| one == word)) {
        put_tip(error, suggested, tip);
        return;
    }
    let is_like_another = match error.get(suggested) {
        Some(ContextValue::String(other)) => is_misspelt(other, &word),
        Some(ContextValue::Strings(others)) => others.iter().any(|other| is_misspelt(other, &word)),
        _ => true,
    };
    if !is_like_another {
        error.remove(suggested);
        error.remove(ContextKind::Usage);
    }
}

/// Whether a word is another one with few wrong letters; short words differ by two letters from
/// anything.
fn is_misspelt(known: &str, typed: &str) -> bool {
    let [known, typed] = [known, typed].map(|word| word.trim_start_matches('-'));
    let most = MISSPELT_MAX.min(known.chars().count() / 3);
    strsim::osa_distance(known, typed) <= most
}

/// What the library's readers of numbers mean.
pub(crate) fn number_form(problem: &str) -> Option<&'static str> {
    Some(match problem {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "not a whole number, such as 8"
        }
        "number too large to fit in target type" => "too large",
        "invalid float literal" | "cannot parse float from empty string" => {
            "not a number, such as 0.5"
        }
        _ => return None,
    })
}

/// `None` where the value is not refused by the library's readers of numbers, whose words name
/// neither value nor form.
fn number_error(error: &clap::Error) -> Option<CommandFailure> {
    let form = number_form(&error.source()?.to_string())?;
    let flag = context_text(error, ContextKind::InvalidArg)?;
    let value = context_text(error, ContextKind::InvalidValue)?;
    let is_list = flag.starts_with("--connections") && value.contains(',');
    let hint = is_list.then(|| {
        format!(
            "a trial has one number of connections; several are compared by: truetps sweep \
                 WORKLOAD -c {value}"
        )
    });
    Some(
        CommandFailure::usage(format!("invalid value '{value}' for '{flag}': {form}"))
            .hint_if(hint),
    )
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn explained(line: &str) -> String {
        let words: Vec<_> = line.split(' ').collect();
        let error = Cli::try_parse_from(["truetps"].iter().chain(&words)).expect_err(line);
        match explain(error, words.first().copied()) {
            Ok(error) => error.to_string(),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn words_of_other_programs_have_ours_as_a_tip() {
        let check = |line: &str, tip: &str, not: &str| {
            let text = explained(line);
            assert!(text.contains(&format!("tip: {tip}")) && !text.contains(not), "{line}: {text}");
        };
        check("run insert --runtime 5", "--measure TIME", "--rate");
        check("run insert --max-time=5", "--measure TIME", "--rate");
        check("run insert --concurrency 4", "--connections N", "-- --concurrency");
        check("run insert --vary a=1,2", "`truetps sweep WORKLOAD --vary", "xxx");
        check("sweep --rate 5", "--vary NAME=LEVEL,LEVEL compares levels", "similar");
        check(
            "sweep --rows-per-insert 1,10",
            "--vary NAME=LEVEL,LEVEL compares levels: `rate`, `rows_per_insert`",
            "similar",
        );
        check("sweep --plan durability", "the plan has no flag: truetps sweep PLAN", "similar");
        check("run insert --name before", "--runs FOLDER records", "similar");
        check("run insert --rows 5000", "--table-rows N", "--rows-per-insert");
        check("run insert --sql x", "your own statements are in a plan", "similar");
        check("report a b", "`truetps compare A B`", "similar");
        check("compare a b c", "two at a time", "similar");
        for (word, tip) in [
            ("watch", "`truetps probe DSN` watches"),
            ("status", "`truetps server status NAME`"),
            ("lag", "`truetps probe DSN` of a replica"),
            ("capture", "`truetps server` has this command"),
            ("find-max", "`truetps run WORKLOAD --find-max"),
            ("check", "`truetps plan check FILE`"),
            ("import", "your own tables and statements"),
        ] {
            check(word, tip, "similar");
        }
        check("sweep insert --repeat 5", "--blocks N", "similar");
        check("sweep --tables 5", "the plan sets it", "--table-rows");
        check("bench", "`truetps run WORKLOAD`", "sysbench");
        for word in ["tune", "advise", "recommend", "optimize"] {
            check(word, "`truetps explain A B`", "similar");
        }
        for word in ["runs", "history", "trend"] {
            check(word, "`truetps report FOLDER`", "similar");
        }
        check("list", "`truetps plan list`", "similar");
        check("run insert --mesure 5", "a similar argument exists: '--measure'", "xxx");
        check("repport", "a similar subcommand exists: 'report'", "xxx");
    }

    #[test]
    fn unlike_words_have_no_tip() {
        for line in [
            "frobnicate",
            "run insert --foobar",
            "sweep --zzz",
            "report --rate 5",
            "probe x --uii",
            "compare a b --seed 7",
            "run insert --delay 5",
        ] {
            assert!(!explained(line).contains("tip:"), "{}", explained(line));
        }
    }

    #[test]
    fn a_number_that_is_none_is_reported_with_its_flag() {
        let list = explained("run insert -c 1,8,50");
        assert!(
            list.contains("invalid value '1,8,50' for '--connections <N>': not a whole number"),
            "{list}"
        );
        assert!(list.contains("compared by: truetps sweep WORKLOAD -c 1,8,50"), "{list}");
        assert!(
            explained("run insert --tables abc")
                .contains("'--tables <N>': not a whole number, such as 8")
        );
        assert!(
            explained("run insert --reconnect soon")
                .contains("'--reconnect <SECONDS>': not a number, such as 0.5")
        );
    }

    #[test]
    fn a_server_is_added_by_its_folder() {
        let said = explained("server add my57 --basedir /opt/mysql-5.7");
        assert!(said.contains("truetps server add NAME FOLDER"), "{said}");
    }

    /// A tip that names a flag which is not there would be worse than none.
    #[test]
    fn tips_name_flags_that_there_are() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").unwrap();
        let has = |flag: &str| {
            let mut names = run.get_arguments().flat_map(|arg| {
                arg.get_long().into_iter().chain(arg.get_visible_aliases().into_iter().flatten())
            });
            names.any(|name| name == flag)
        };
        for (words, tip) in &FLAGS[..] {
            for flag in tip.split([' ', ',']).filter_map(|word| word.strip_prefix("--")) {
                assert!(has(flag) || ["blocks", "save-plan", "listen"].contains(&flag), "{tip}");
            }
            for word in words.split(' ').filter_map(|word| word.strip_prefix("--")) {
                assert!(!has(word), "{word} is a flag of truetps");
            }
        }
    }
}
