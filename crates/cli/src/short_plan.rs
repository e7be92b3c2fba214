//! The plan of `truetps sweep`: one that ships, a file, or one made for a workload, changed by the
//! flags of the command line.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use indexmap::IndexMap;
use truetps_plan::{
    Design, Load, Plan, ProbeSpec, QuickOverrides, ServerSpec, WORKLOADS_OF_PLANS, WorkloadKind,
    WorkloadSpec,
};
use truetps_record::{CONNECTIONS, PREALLOC, SettingValue, TABLE_ROWS};
use truetps_report::format::shell_word;

use crate::args::{ChangedLoadArgs, ShortPlanArgs, SweepArgs};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::plans::{self, SHIPPED};
use crate::set_words::settings;
use crate::site::{choose_disk, choose_server, usual_dsn};
use crate::terminal::{print_message, print_progress};

const DEFAULT_PLAN: &str = "durability";
const CONNECTIONS_DEFAULT: i64 = 8;
/// Many short trials decide more than few long ones. Whole seconds: servers flush once a second.
const MEASURE_S: f64 = 2.0;
const BLOCKS: u32 = 15;
/// The warm-up of trials that are repeated dozens of times.
const SHORT_WARM_UP_S: f64 = 0.3;
const QUICK_MEASURE_S: f64 = 1.0;
const QUICK_BLOCKS: u32 = 6;
const QUICK_TABLE_ROWS: u64 = 100_000;
const BINLOG: &str = "log_bin";
const NEED_BINLOG: [&str; 2] = ["sync_binlog", PREALLOC];
const NAME_MAX: usize = 64;

/// The plan that a command line names, with its name in messages.
pub(crate) fn plan_of(args: &SweepArgs) -> Result<(String, Plan), CommandFailure> {
    let named = args.plan.as_deref().unwrap_or(DEFAULT_PLAN);
    let typed = &args.short_plan;
    let of_workload = workload_of(named);
    let mut plan = match &of_workload {
        Some(kind) => of_kind(named, kind, typed),
        None => plans::parse(named)?,
    };
    change(&mut plan, args)?;
    if of_workload.is_some() {
        plan.name = name_of(named, typed);
        plan.about = question(named, typed);
    }
    // A plan of a workload is the user's own command line: its errors are in terms of flags.
    let plan = plan.checked().map_err(|error| match of_workload {
        Some(_) => CommandFailure::usage(error.by_flag()),
        None => CommandFailure::usage(format!("plan `{named}`: {error}")),
    })?;
    if of_workload.is_some() && plan.configurations().len() < 2 {
        let message = format!(
            "`{named}` with {} is one configuration: there is nothing to compare",
            plan.configurations()[0]
        );
        let hint = format!(
            "add --vary NAME=LEVEL,LEVEL or -c N,N; a single trial: truetps run {named} -c {}",
            plan.connections_max()
        );
        return Err(CommandFailure::usage(message).hint(hint));
    }
    Ok((named.to_owned(), plan))
}

/// The load of a plan or of a workload, in its short form.
pub(crate) fn load_of(named: &str) -> Result<Plan, CommandFailure> {
    let plan = match workload_of(named) {
        Some(kind) => in_short_trials(of_kind(named, &kind, &ShortPlanArgs::default())),
        None => plans::parse(named)?,
    };
    Ok(plan.into_quick())
}

/// The plan in trials that are repeated dozens of times.
pub(crate) fn in_short_trials(mut plan: Plan) -> Plan {
    plan.load.warm_up_s = plan.load.warm_up_s.min(SHORT_WARM_UP_S);
    plan.load.measure_s = plan.load.measure_s.min(QUICK_MEASURE_S);
    plan
}

/// A plan of this name has precedence over a workload.
fn workload_of(named: &str) -> Option<WorkloadKind> {
    let is_plan = SHIPPED.iter().any(|(name, _)| *name == named);
    let is_workload =
        truetps_workload::NAMES.contains(&named) && !WORKLOADS_OF_PLANS.contains(&named);
    if is_workload && !is_plan { WorkloadKind::named(named) } else { None }
}

/// Words that `run` takes for a workload, and that only a plan can be or have.
pub(crate) fn check_runnable(workload: &str) -> Result<(), CommandFailure> {
    if WORKLOADS_OF_PLANS.contains(&workload) {
        let message = format!(
            "the workload `{workload}` is in a plan: `run` has no flags for its statements and \
             tables"
        );
        let hint = "write a plan with it (`truetps help workloads` has examples), and run it: \
                    truetps sweep MY-PLAN.toml";
        return Err(CommandFailure::usage(message).hint(hint));
    }
    let is_file = Path::new(workload).extension().is_some_and(|extension| extension == "toml");
    let is_plan = is_file || SHIPPED.iter().any(|(name, _)| *name == workload);
    if is_plan && !truetps_workload::NAMES.contains(&workload) {
        let message =
            format!("`{workload}` is a plan, and `run` measures one configuration of a workload");
        return Err(
            CommandFailure::usage(message).hint(format!("truetps sweep {}", shell_word(workload)))
        );
    }
    Ok(())
}

fn of_kind(named: &str, kind: &WorkloadKind, typed: &ShortPlanArgs) -> Plan {
    let has_rows = !matches!(kind, WorkloadKind::HotRow(_));
    Plan {
        name: named.to_owned(),
        about: String::new(),
        recorded_from: None,
        server: ServerSpec::default(),
        disk: None,
        workload: WorkloadSpec::new(kind.clone()),
        load: Load { measure_s: MEASURE_S, ..Load::default() },
        factors: IndexMap::from([(
            CONNECTIONS.to_owned(),
            vec![SettingValue::Int(CONNECTIONS_DEFAULT)],
        )]),
        design: Design { blocks: BLOCKS, ..Design::default() },
        probe: ProbeSpec::default(),
        quick: QuickOverrides {
            blocks: Some(QUICK_BLOCKS),
            warm_up_s: None,
            measure_s: Some(QUICK_MEASURE_S),
            table_rows: (has_rows && typed.load.table_rows.is_none()).then_some(QUICK_TABLE_ROWS),
            factors: IndexMap::new(),
        },
    }
}

/// What the flags change. Flags of a number have precedence over the short form.
fn change(plan: &mut Plan, args: &SweepArgs) -> Result<(), CommandFailure> {
    let typed = &args.short_plan;
    check_twice(typed)?;
    for (name, value) in settings(&typed.load.settings)? {
        plan.fix(&name, value);
    }
    for (name, levels) in &typed.vary {
        plan.vary(name, levels.clone());
    }
    if !typed.connections.is_empty() {
        plan.vary(
            CONNECTIONS,
            typed.connections.iter().map(|number| SettingValue::Int((*number).into())).collect(),
        );
    }
    if args.quick {
        *plan = plan.clone().into_quick();
    }
    plan.design.blocks = args.blocks.unwrap_or(plan.design.blocks);
    plan.design.seed = args.seed.unwrap_or(plan.design.seed);
    change_load(plan, &typed.load)?;
    choose_server(plan, args.place.server.as_deref(), args.place.is_elsewhere())?;
    choose_disk(plan, args.place.disk.as_deref())?;
    turn_binlog_on(plan, args)
}

/// Flags of one number.
pub(crate) fn change_load(plan: &mut Plan, typed: &ChangedLoadArgs) -> Result<(), CommandFailure> {
    plan.load.warm_up_s = typed.warm_up.unwrap_or(plan.load.warm_up_s);
    plan.load.measure_s = typed.measure.unwrap_or(plan.load.measure_s);
    if let Some(rows) = typed.table_rows {
        if matches!(
            plan.workload.kind,
            WorkloadKind::HotRow(_)
                | WorkloadKind::Custom(_)
                | WorkloadKind::Sql(_)
                | WorkloadKind::Table(_)
        ) {
            let message = format!(
                "--table-rows: the workload `{}` has tables of its own",
                plan.workload.kind.name()
            );
            return Err(
                CommandFailure::usage(message).hint("the plan says how many rows they have")
            );
        }
        if plan.factors.contains_key(TABLE_ROWS) {
            return Err(CommandFailure::usage(
                "--table-rows: the number of rows is a factor: remove one of the two",
            ));
        }
        plan.workload.table_rows = rows;
    }
    Ok(())
}

/// A name that is given twice, or in two ways.
fn check_twice(typed: &ShortPlanArgs) -> Result<(), CommandFailure> {
    let mut seen = BTreeSet::new();
    for (name, _) in &typed.vary {
        if !seen.insert(name.as_str()) {
            return Err(CommandFailure::usage(format!("--vary {name}: is given twice"))
                .hint("write all levels in one"));
        }
    }
    if seen.contains(CONNECTIONS) && !typed.connections.is_empty() {
        return Err(CommandFailure::usage(
            "--vary connections and --connections are the same: remove one of the two",
        ));
    }
    match settings(&typed.load.settings)?.keys().find(|name| seen.contains(name.as_str())) {
        Some(name) => {
            let message = format!("--set {name}: is a factor too (--vary): remove one of the two");
            Err(CommandFailure::usage(message))
        }
        None => Ok(()),
    }
}

/// `sync_binlog` or `prealloc` alone would change nothing on a private server without a binlog:
/// also where the plan, and not the user, has none.
fn turn_binlog_on(plan: &mut Plan, args: &SweepArgs) -> Result<(), CommandFailure> {
    let typed = &args.short_plan;
    let varies = typed.vary.iter().find(|(name, _)| NEED_BINLOG.contains(&name.as_str()));
    let is_typed = settings(&typed.load.settings)?.contains_key(BINLOG);
    if let Some((name, _)) = varies.filter(|_| !is_typed && !plan.factors.contains_key(BINLOG))
        && usual_dsn(&args.place, !plan.server_names().is_empty()).is_none()
    {
        let how = match plan.server.settings.get(BINLOG).map(SettingValue::option_text) {
            None => "was added",
            Some(off) if ["0", "OFF", "FALSE"].contains(&off.to_uppercase().as_str()) => {
                "replaces log_bin = OFF of the plan"
            }
            Some(_) => return Ok(()),
        };
        plan.server.settings.insert(BINLOG.to_owned(), SettingValue::Bool(true));
        print_message(&format!(
            "log_bin = ON {how}: {name} has no effect without a binlog (--set log_bin=OFF: \
             without)\n"
        ));
    }
    Ok(())
}

/// `insert-sync_binlog`: the folder's name starts with it.
fn name_of(workload: &str, typed: &ShortPlanArgs) -> String {
    let names = typed.vary.iter().map(|(name, _)| name.as_str());
    let mut name = std::iter::once(workload).chain(names).collect::<Vec<_>>().join("-");
    name.retain(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    name.truncate(NAME_MAX);
    name
}

fn question(workload: &str, typed: &ShortPlanArgs) -> String {
    let factors: Vec<_> =
        typed.vary.iter().map(|(name, levels)| format!("{name} ({})", listed(levels))).collect();
    match &factors[..] {
        [] => format!("How many connections does {workload} need?"),
        _ => format!("How much does {workload} depend on {}?", factors.join(" and ")),
    }
}

fn listed(levels: &[SettingValue]) -> String {
    levels.iter().map(SettingValue::option_text).collect::<Vec<_>>().join(", ")
}

/// Writes the plan to a file that does not exist, and says how to run it.
pub(crate) fn save(plan: &Plan, path: &Path, args: &SweepArgs) -> Result<Exit, CommandFailure> {
    let shown = path.display().to_string();
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(not_saved(&shown, "a plan's file ends in .toml")
            .hint(format!("--save-plan {shown}.toml")));
    }
    let mut plan = plan.clone();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if !stem.is_empty()
        && stem.len() <= NAME_MAX
        && stem.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
    {
        plan.name = stem;
    }
    let file = if shown.contains('/') { shown.clone() } else { format!("./{shown}") };
    let run = format!("truetps sweep {}{}", shell_word(&file), dsn_words(args));
    let text = format!(
        "# {}\n#\n#   {run}\n#\n# `truetps plan check {file}` validates this file after a change. \
         Other keys: docs/reference/plan.md\n\n{}",
        plan.about,
        plan.to_short_toml()
    );
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            not_saved(&shown, "the file exists").hint("name another file, or remove this one first")
        }
        _ => not_saved(&shown, &error.to_string()),
    })?;
    print_progress(&format!("\nSaved  {shown}\nNext   {run}\n"));
    Ok(Exit::Good)
}

fn not_saved(path: &str, problem: &str) -> CommandFailure {
    CommandFailure::usage(format!("--save-plan {path}: {problem}"))
}

/// The address is not a part of a plan.
fn dsn_words(args: &SweepArgs) -> String {
    if args.place.dsn.is_some() { " --dsn DSN".to_owned() } else { String::new() }
}
