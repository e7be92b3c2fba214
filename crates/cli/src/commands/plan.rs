//! `truetps plan`: list, show, check.

use std::fmt::Write as _;
use std::path::Path;

use truetps_lab::{ServerProgram, check_settings, estimate, schedule};
use truetps_plan::Plan;
use truetps_report::format;
use truetps_sandbox::{ServerUser, find};
use truetps_workload as workload;

use crate::answer::screen;
use crate::args::SandboxPlace;
use crate::commands::server::open;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::plans::{SHIPPED, parse, text_of};
use crate::site::{choose_server, programs, usual_basedir};
use crate::{print_message, print_out};

pub(crate) fn list(full: bool) -> Exit {
    let plan = |toml| Plan::parse(toml).expect("shipped plans are valid, a test says so");
    let exit = if full {
        let lines = SHIPPED.map(|(name, toml)| {
            let plan = plan(toml);
            let (about, whole, quick) = (plan.about.clone(), size(&plan), size(&plan.into_quick()));
            format!("{name:<16} {about}\n{:<16} {whole}\n{:<16} --quick: {quick}\n", "", "")
        });
        print_out(&lines.concat())
    } else {
        let screen = screen();
        let heading = format!("{:<16} {:>7} {:>7}  question\n", "plan", "whole", "--quick");
        let lines = SHIPPED.map(|(name, toml)| {
            let (plan, quick) = (plan(toml), plan(toml).into_quick());
            let (whole, quick) = (minutes(&plan), minutes(&quick));
            screen.cut(&format!("{name:<16} {whole:>7} {quick:>7}  {}", plan.about)) + "\n"
        });
        print_out(&(heading + &lines.concat()))
    };
    print_message("\nNext   truetps plan show NAME, truetps sweep NAME\n");
    exit
}

/// About how long a plan takes.
fn minutes(plan: &Plan) -> String {
    let minutes = estimate(plan, &schedule(plan)).as_secs_f64() / 60.0;
    format!("{:.0} min", minutes.max(1.0))
}

pub(crate) fn show(plan: &str) -> Result<Exit, CommandFailure> {
    Ok(print_out(&text_of(plan)?))
}

pub(crate) fn check(
    name: &str,
    basedir: Option<&Path>,
    server: Option<&str>,
    sandbox: &SandboxPlace,
) -> Result<Exit, CommandFailure> {
    let mut plan = parse(name)?;
    choose_server(&mut plan, server)?;
    let (programs, user) = programs_to_ask(&plan, basedir, sandbox)?;
    for ServerProgram { binary, .. } in &programs {
        workload::build(&plan.workload, binary.family().dialect(), plan.design.seed)
            .map_err(|error| CommandFailure::usage(format!("plan `{name}`: {error}")))?;
    }
    check_settings(&plan, &programs, &user)
        .map_err(|error| CommandFailure::usage(format!("plan `{name}`: {error}")).hint_if(error.hint()))?;
    let mut text = format!("plan `{name}` is fine: {}\n", size(&plan));
    for ServerProgram { name, binary } in &programs {
        let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let _ = writeln!(text, "  asked {name}{} ({})", binary.path.display(), binary.version_text);
    }
    let exit = print_out(&text);
    print_message(&format!("\nNext   truetps sweep {name}\n"));
    Ok(exit)
}

/// The programs to ask. A plan that names none needs no folder for private servers, and none is made for it.
fn programs_to_ask(
    plan: &Plan,
    basedir: Option<&Path>,
    sandbox: &SandboxPlace,
) -> Result<(Vec<ServerProgram>, ServerUser), CommandFailure> {
    if plan.server_names().is_empty() {
        let user = ServerUser::choose();
        let found = find(usual_basedir(basedir).as_deref(), plan.server.flavour, &user);
        let binary = found.map_err(|error| CommandFailure::usage(&error).hint_if(error.hint()))?;
        return Ok((vec![ServerProgram { name: None, binary }], user));
    }
    let home = open(sandbox)?;
    // They are only asked now.
    let (programs, _) = programs(plan, &home, basedir)?;
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
