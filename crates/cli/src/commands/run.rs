//! `truetps run`: one trial of one configuration. It is a plan with one block, so that its folder is like any other.

use indexmap::IndexMap;
use truetps_driver::Dialect;
use truetps_record::{
    CONNECTIONS, Design, DriveMode, Plan, Protocol, QuickOverrides, ServerSpec, SettingValue, WorkloadSpec,
};
use truetps_workload as workload;

use crate::args::RunArgs;
use crate::commands::sweep::measure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::load_args::Mode;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = plan_of(args)?;
    workload::build(&plan.workload, Dialect::Mysql, plan.design.seed).map_err(Failure::usage)?;
    measure(&plan, false, &args.place, &args.engine)
}

fn plan_of(args: &RunArgs) -> Result<Plan, Failure> {
    let plan = Plan {
        name: format!("run-{}", args.workload),
        about: format!("One trial of {} with {} connections", args.workload, args.connections),
        server: ServerSpec { flavour: None, settings: settings(&args.settings)? },
        workload: WorkloadSpec {
            name: args.workload.clone(),
            tables: args.tables,
            table_rows: args.table_rows,
            protocol: if args.text_protocol { Protocol::Text } else { Protocol::Prepared },
        },
        load: args.load.load(args.engine.mode.map_or(DriveMode::Auto, Mode::drive_mode)),
        factors: IndexMap::from([(CONNECTIONS.to_owned(), vec![SettingValue::Int(args.connections.into())])]),
        design: Design { blocks: 1, seed: args.seed, aa_pair: false, ..Design::default() },
        quick: QuickOverrides::default(),
    };
    // The flags go the same way as a file, so that the same checks say the same things.
    Plan::parse(&plan.to_toml()).map_err(Failure::usage)
}

/// `NAME=VALUE`, with `-` in names as on a server's command line.
fn settings(words: &[String]) -> Result<IndexMap<String, SettingValue>, Failure> {
    let mut settings = IndexMap::new();
    for word in words {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(format!("--set {word}: not of the form NAME=VALUE")));
        };
        let name = name.replace('-', "_");
        if settings.insert(name.clone(), value_of(value)).is_some() {
            return Err(Failure::usage(format!("--set {word}: {name} is set twice")));
        }
    }
    Ok(settings)
}

fn value_of(text: &str) -> SettingValue {
    if let Ok(number) = text.parse() {
        return SettingValue::Int(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" => SettingValue::Bool(true),
        "off" | "false" => SettingValue::Bool(false),
        _ => SettingValue::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_takes_what_a_server_takes() {
        let words = ["innodb-flush-log-at-trx-commit=2", "log_bin=ON", "innodb_log_file_size=1G", "sql_mode="];
        let settings = settings(&words.map(str::to_owned)).unwrap();
        assert_eq!(settings["innodb_flush_log_at_trx_commit"], SettingValue::Int(2));
        assert_eq!(settings["log_bin"], SettingValue::Bool(true));
        assert_eq!(settings["innodb_log_file_size"], SettingValue::Text("1G".into()));
        assert_eq!(settings["sql_mode"], SettingValue::Text(String::new()));
        for wrong in [&["=1"][..], &["novalue"], &["a=1", "a=2"]] {
            let words: Vec<_> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert!(super::settings(&words).is_err(), "{wrong:?}");
        }
    }
}
