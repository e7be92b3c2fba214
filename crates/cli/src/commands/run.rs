//! `truetps run`: one trial of one configuration. It is a plan with one block, so that its folder
//! is like any other.

use std::str::FromStr;

use indexmap::IndexMap;
use truetps_plan::{
    Design, Plan, ProbeSpec, QuickOverrides, ReadWriteMix, ServerSpec, WorkloadKind, WorkloadSpec,
};
use truetps_record::{CONNECTIONS, DriveMode, Protocol, SettingValue};
use truetps_workload as workload;

use crate::args::RunArgs;
use crate::args::load::{LoadArgs, Mode};
use crate::commands::sweep::{Measurement, measure};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::set_words::settings;
use crate::short_plan::check_runnable;
use crate::site;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, CommandFailure> {
    let plan = plan_of(args)?;
    if let Some(dialect) = site::dialect(&args.place)? {
        workload::build(&plan.workload, dialect, plan.design.seed)
            .map_err(CommandFailure::usage)?;
    }
    let LoadArgs { find_max, slo, .. } = &args.load;
    let what =
        if *find_max { Measurement::HighestRate(slo) } else { Measurement::Whole { quick: false } };
    measure(&plan, &what, None, &args.place, &args.engine)
}

fn plan_of(args: &RunArgs) -> Result<Plan, CommandFailure> {
    check_runnable(&args.workload)?;
    let what = match args.repeat {
        _ if args.load.find_max => "Search for the highest rate".to_owned(),
        1 => "One trial".to_owned(),
        trials => format!("{trials} trials"),
    };
    let plan = Plan {
        name: format!("run-{}", args.workload),
        about: format!("{what} of {} with {} connections", args.workload, args.connections),
        recorded_from: None,
        server: ServerSpec {
            name: site::usual_server(&args.place),
            flavour: None,
            settings: settings(&args.settings)?,
        },
        disk: args.place.disk.clone(),
        workload: workload_spec(args)?,
        load: args.load.load(args.engine.mode.map_or(DriveMode::Auto, Mode::drive_mode)),
        factors: IndexMap::from([(
            CONNECTIONS.to_owned(),
            vec![SettingValue::Int(args.connections.into())],
        )]),
        design: Design {
            blocks: args.repeat,
            seed: args.seed,
            aa_pair: false,
            ..Design::default()
        },
        probe: args.probe.over(&ProbeSpec::default()),
        quick: QuickOverrides::default(),
    };
    if args.load.find_max && plan.load.mode == DriveMode::Blocking {
        let message = "--mode blocking: not with --find-max, which tries rates of all clients";
        return Err(CommandFailure::usage(message).hint("leave out --mode"));
    }
    plan.checked().map_err(|error| CommandFailure::usage(error.by_flag()))
}

/// The workload's flags; the workload must use each of them.
fn workload_spec(args: &RunArgs) -> Result<WorkloadSpec, CommandFailure> {
    let distribution = parsed("--distribution", args.distribution.as_deref())?;
    let key = parsed("--key", args.key.as_deref())?;
    let mix = mix(&args.mix)?;
    let given = [
        ("tables", args.tables.is_some()),
        ("table_rows", args.table_rows.is_some()),
        ("distribution", distribution.is_some()),
        ("rows_per_insert", args.rows_per_insert.is_some()),
        ("key", key.is_some()),
        ("hot_rows", args.hot_rows.is_some()),
        ("mix", mix.is_some()),
    ];
    let keys = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key));
    let mut kind = WorkloadKind::with_keys(&args.workload, keys)
        .map_err(|error| CommandFailure::usage(error.by_flag()))?;
    match &mut kind {
        WorkloadKind::BulkInsert(spec) => spec.rows_per_insert = args.rows_per_insert,
        WorkloadKind::UpdateIndex(spec) | WorkloadKind::UpdateNonIndex(spec) => {
            spec.distribution = distribution;
        }
        WorkloadKind::DeleteInsert(spec) => (spec.distribution, spec.key) = (distribution, key),
        WorkloadKind::HotRow(spec) => {
            (spec.distribution, spec.hot_rows) = (distribution, args.hot_rows);
        }
        WorkloadKind::ReadWrite(spec) => (spec.distribution, spec.mix) = (distribution, mix),
        WorkloadKind::Insert
        | WorkloadKind::Custom(_)
        | WorkloadKind::Sql(_)
        | WorkloadKind::Table(_)
        | WorkloadKind::Sysbench(_)
        | WorkloadKind::Verify(_) => {}
    }
    let defaults = WorkloadSpec::new(kind);
    Ok(WorkloadSpec {
        tables: args.tables.unwrap_or(defaults.tables),
        table_rows: args.table_rows.unwrap_or(defaults.table_rows),
        protocol: if args.text_protocol { Protocol::Text } else { Protocol::Prepared },
        kind: defaults.kind,
    })
}

fn parsed<T: FromStr<Err = String>>(
    flag: &str,
    text: Option<&str>,
) -> Result<Option<T>, CommandFailure> {
    text.map(str::parse)
        .transpose()
        .map_err(|problem| CommandFailure::usage(format!("{flag}: {problem}")))
}

/// `NAME=COUNT`, over the default counts.
fn mix(words: &[String]) -> Result<Option<ReadWriteMix>, CommandFailure> {
    let mut mix = None;
    for word in words {
        let parsed =
            word.split_once('=').and_then(|(name, count)| Some((name, count.parse().ok()?)));
        let Some((name, count)) = parsed else {
            return Err(CommandFailure::usage(format!("--mix {word}: not of the form NAME=COUNT")));
        };
        let changed =
            mix.get_or_insert_with(ReadWriteMix::default).set(&name.replace('-', "_"), count);
        changed.map_err(|problem| CommandFailure::usage(format!("--mix {word}: {problem}")))?;
    }
    Ok(mix)
}
