//! `truetps plan`: list, show, check.

use std::path::Path;

use truetps_driver::Dialect;
use truetps_lab::{check_settings, estimate, schedule};
use truetps_record::Plan;
use truetps_report::format;
use truetps_sandbox::{ServerUser, find};
use truetps_workload as workload;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::plans::{SHIPPED, parse, text_of};
use crate::{print_out, say};

pub(crate) fn list() -> Exit {
    let lines = SHIPPED.map(|(name, toml)| {
        let plan = Plan::parse(toml).expect("shipped plans are valid, a test says so");
        let (about, whole, quick) = (plan.about.clone(), size(&plan), size(&plan.into_quick()));
        format!("{name:<14} {about}\n{:<14} {whole}\n{:<14} --quick: {quick}\n", "", "")
    });
    let exit = print_out(&lines.concat());
    say("\nNext   truetps plan show NAME, truetps sweep NAME\n");
    exit
}

pub(crate) fn show(plan: &str) -> Result<Exit, Failure> {
    Ok(print_out(&text_of(plan)?))
}

pub(crate) fn check(name: &str, basedir: Option<&Path>) -> Result<Exit, Failure> {
    let plan = parse(name)?;
    workload::build(&plan.workload, Dialect::Mysql, plan.design.seed)
        .map_err(|error| Failure::usage(format!("plan `{name}`: {error}")))?;
    let user = ServerUser::choose();
    let binary =
        find(basedir, plan.server.flavour, &user).map_err(|error| Failure::usage(&error).hint(error.hint()))?;
    check_settings(&plan, &binary, &user)
        .map_err(|error| Failure::usage(format!("plan `{name}`: {error}")).hint(error.hint()))?;
    let text = format!(
        "plan `{name}` is fine: {}\n  asked {} ({})\n",
        size(&plan),
        binary.path.display(),
        binary.version_text
    );
    let exit = print_out(&text);
    say(&format!("\nNext   truetps sweep {name}\n"));
    Ok(exit)
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
