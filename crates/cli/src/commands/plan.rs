//! `truetps plan`: list, show, check.

use std::fmt::Write as _;
use std::path::Path;

use truetps_lab::{ServerProgram, ServerSource, check_plan_on, check_settings, estimate, schedule};
use truetps_plan::Plan;
use truetps_report::format;
use truetps_sandbox::{ServerUser, find};
use truetps_workload as workload;

use crate::args::{CheckArgs, FolderArgs};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::option_file::of_file;
use crate::plans::{SHIPPED, parse, text_of};
use crate::private_home::open;
use crate::progress::Progress;
use crate::screen::screen;
use crate::site::{RunSite, choose_disk, choose_server, programs, usual_basedir, usual_dsn};
use crate::terminal::{print_out, print_progress};

pub(crate) fn list(full: bool) -> Exit {
    let exit = if full {
        let lines = SHIPPED.map(|(name, toml)| {
            let plan = shipped_plan(toml);
            let (about, whole, quick) = (plan.about.clone(), size(&plan), size(&plan.into_quick()));
            format!("{name:<20} {about}\n{:<20} {whole}\n{:<20} --quick: {quick}\n", "", "")
        });
        print_out(&lines.concat())
    } else {
        let screen = screen();
        let heading = format!("{:<20} {:>7} {:>7}  question\n", "plan", "whole", "--quick");
        let lines = SHIPPED.map(|(name, toml)| {
            let (plan, quick) = (shipped_plan(toml), shipped_plan(toml).into_quick());
            let (whole, quick) = (minutes(&plan), minutes(&quick));
            screen.cut(&format!("{name:<20} {whole:>7} {quick:>7}  {}", plan.about)) + "\n"
        });
        print_out(&(heading + &lines.concat()))
    };
    print_progress("\nNext   truetps plan show NAME, truetps sweep NAME\n");
    exit
}

fn shipped_plan(toml: &str) -> Plan {
    Plan::parse(toml).expect("shipped plans are valid, a test says so")
}

/// About how long a plan takes.
fn minutes(plan: &Plan) -> String {
    let minutes = estimate(plan, &schedule(plan)).as_secs_f64() / 60.0;
    format!("{:.0} min", minutes.max(1.0))
}

pub(crate) fn show(plan: &str) -> Result<Exit, CommandFailure> {
    Ok(print_out(&text_of(plan)?))
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, CommandFailure> {
    let (name, place) = (args.plan.as_str(), &args.place);
    let mut plan = parse(name)?;
    choose_server(&mut plan, place.server.as_deref(), place.is_elsewhere())?;
    choose_disk(&mut plan, place.disk.as_deref())?;
    let is_named = !plan.server_names().is_empty() || !plan.disk_names().is_empty();
    if place.dsn.is_some() || usual_dsn(place, is_named).is_some() {
        return check_on_server(name, &plan, place);
    }
    let (programs, user) = programs_to_ask(&plan, place)?;
    for ServerProgram { binary, .. } in &programs {
        workload::build(&plan.workload, binary.family().dialect(), plan.design.seed)
            .map_err(|error| CommandFailure::usage(format!("plan `{name}`: {error}")))?;
    }
    check_settings(&plan, &programs, &user).map_err(|error| {
        CommandFailure::usage(format!("plan `{name}`: {error}")).advised_by(&error)
    })?;
    let mut text = format!("plan `{name}` is fine: {}\n", size(&plan));
    for ServerProgram { name, binary, .. } in &programs {
        let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        // MySQL and MariaDB begin with their own path.
        let version = binary
            .version_text
            .split_once("Ver ")
            .map_or(&*binary.version_text, |(_, version)| version);
        let _ = writeln!(text, "  asked {name}{} ({version})", binary.path.display());
    }
    let exit = print_out(&text);
    print_progress(&format!("\nNext   truetps {} {name}\n", command_of(name, &plan)));
    Ok(exit)
}

/// Checks a plan on a server that runs already: it is only read.
fn check_on_server(name: &str, plan: &Plan, place: &FolderArgs) -> Result<Exit, CommandFailure> {
    if command_of(name, plan) == CRASH {
        let message =
            format!("plan `{name}` crashes private servers: it does not run on a server of --dsn");
        return Err(CommandFailure::usage(message)
            .hint(format!("truetps plan check {name}, without a DSN")));
    }
    let site = RunSite::open(plan, place, None)?;
    let ServerSource::Given(external) = site.source() else {
        return Err(CommandFailure::usage("no server of --dsn"));
    };
    if place.dry_run {
        return site.rehearse(plan);
    }
    let found = check_plan_on(plan, external, &mut Progress::new()).map_err(|error| {
        let message = format!("plan `{name}`: {error}");
        let failure = if error.is_usage() {
            CommandFailure::usage(message)
        } else {
            CommandFailure::failed(message)
        };
        failure.advised_by(&error)
    })?;
    let mut text = format!(
        "plan `{name}` is fine: {}\n  asked {} ({})\n",
        size(plan),
        external.target,
        found.server.version
    );
    if !found.global.is_empty() {
        let _ = writeln!(
            text,
            "  set for all sessions during a run, and restored: {}",
            found.global.join(", ")
        );
    }
    if !found.unchecked.is_empty() {
        let _ = writeln!(
            text,
            "  a run tries these before it fills any table: {}",
            found.unchecked.join(", ")
        );
    }
    let exit = print_out(&text);
    print_progress(&format!(
        "\nNext   truetps sweep {name} --dsn '{}' --dry-run\n",
        external.target
    ));
    Ok(exit)
}

const CRASH: &str = "crash";

/// The command that runs a plan. Only `truetps crash` gives a plan of its kind a meaning: its
/// clients send no workload.
fn command_of(name: &str, plan: &Plan) -> &'static str {
    let file = Path::new(name)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    if is_of_crash(&plan.name) || is_of_crash(&file) { CRASH } else { "sweep" }
}

fn is_of_crash(plan: &str) -> bool {
    plan == CRASH || plan.starts_with("crash-")
}

/// The programs to ask. A plan that names none needs no folder for private servers, and none is
/// made for it.
fn programs_to_ask(
    plan: &Plan,
    FolderArgs { basedir, sandbox, my_cnf, .. }: &FolderArgs,
) -> Result<(Vec<ServerProgram>, ServerUser), CommandFailure> {
    let option_file = my_cnf.as_deref();
    if plan.server_names().is_empty() {
        let user = ServerUser::choose();
        let found = find(usual_basedir(basedir.as_deref()).as_deref(), plan.server.flavour, &user);
        let binary = found?;
        let base = option_file.map_or(Ok(Vec::new()), |path| of_file(path, &binary, &user))?;
        return Ok((vec![ServerProgram { name: None, binary, base }], user));
    }
    let home = open(sandbox)?;
    // They are only asked now.
    let (programs, _) = programs(plan, &home, basedir.as_deref(), option_file)?;
    Ok((programs, home.user().clone()))
}

/// How large a plan is and how long it takes.
pub(crate) fn size(plan: &Plan) -> String {
    let trials = schedule(plan);
    let configurations = plan.configurations().len() as u64;
    format!(
        "{} in {}{} = {}, about {}",
        format::plural(configurations, "configuration"),
        format::plural(plan.design.blocks.into(), "block"),
        if plan.design.aa_pair { ", one of them twice in each" } else { "" },
        format::plural(trials.len() as u64, "trial"),
        format::duration(estimate(plan, &trials))
    )
}
