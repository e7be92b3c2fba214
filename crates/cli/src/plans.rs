//! Finding a plan: a file, or one of those that ship inside the program.

use std::fs;
use std::io::Read;
use std::path::Path;

use truetps_plan::Plan;
use truetps_record::near_matches;

use crate::failure::CommandFailure;

/// A plan with 10,000 statements of a kilobyte each has 10 MiB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Plans that ship: name and text.
pub(crate) const SHIPPED: [(&str, &str); 23] = [
    ("durability", include_str!("../../../plans/durability.toml")),
    ("durability-hdd", include_str!("../../../plans/durability-hdd.toml")),
    ("clients-1000", include_str!("../../../plans/clients-1000.toml")),
    ("sync-binlog", include_str!("../../../plans/sync-binlog.toml")),
    ("server-log-bin", include_str!("../../../plans/server-log-bin.toml")),
    ("server-gtid", include_str!("../../../plans/server-gtid.toml")),
    ("binlog-engine", include_str!("../../../plans/binlog-engine.toml")),
    ("postgres-durability", include_str!("../../../plans/postgres-durability.toml")),
    ("crash", include_str!("../../../plans/crash.toml")),
    ("crash-mariadb", include_str!("../../../plans/crash-mariadb.toml")),
    ("crash-preallocation", include_str!("../../../plans/crash-preallocation.toml")),
    ("crash-postgresql", include_str!("../../../plans/crash-postgresql.toml")),
    ("mtls", include_str!("../../../plans/mtls.toml")),
    ("mtls-ssd", include_str!("../../../plans/mtls-ssd.toml")),
    ("hot-row", include_str!("../../../plans/hot-row.toml")),
    ("hot-row-57-80", include_str!("../../../plans/hot-row-57-80.toml")),
    ("hot-row-ssd", include_str!("../../../plans/hot-row-ssd.toml")),
    ("hot-rows", include_str!("../../../plans/hot-rows.toml")),
    ("preallocation", include_str!("../../../plans/preallocation.toml")),
    ("preallocation-update", include_str!("../../../plans/preallocation-update.toml")),
    ("primary-key", include_str!("../../../plans/primary-key.toml")),
    ("primary-key-hdd", include_str!("../../../plans/primary-key-hdd.toml")),
    ("primary-key-ssd", include_str!("../../../plans/primary-key-ssd.toml")),
];

/// Text of a plan, by name or by path. A name is looked for among those that ship; anything with a
/// `/` or ending in `.toml` is a file.
pub(crate) fn text_of(plan: &str) -> Result<String, CommandFailure> {
    if let Some((_, text)) = SHIPPED.iter().find(|(name, _)| *name == plan) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(plan);
    let is_path =
        plan.contains('/') || path.extension().is_some_and(|extension| extension == "toml");
    if is_path {
        return read(path)
            .map_err(|problem| CommandFailure::usage(format!("plan `{plan}`: {problem}")));
    }
    if truetps_workload::NAMES.contains(&plan) {
        let message = format!("`{plan}` is a workload, and no plan of this name ships");
        let hint = format!(
            "`truetps sweep {plan} --vary NAME=LEVEL,LEVEL` measures it; --save-plan FILE.toml \
             writes its plan"
        );
        return Err(CommandFailure::usage(message).hint(hint));
    }
    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let near = near_matches(plan, names.iter().copied().chain(truetps_workload::NAMES));
    let hint = match near.first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!(
                "plans that ship: `{}`; for a file of your own write its path, `./{plan}.toml`",
                names.join("`, `")
            )
        }
    };
    Err(CommandFailure::usage(format!("unknown plan `{plan}`")).hint(hint))
}

/// A pipe is read as well, to its end.
fn read(path: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20));
    }
    String::from_utf8(text).map_err(|error| error.to_string())
}

pub(crate) fn parse(plan: &str) -> Result<Plan, CommandFailure> {
    let text = text_of(plan)?;
    let parsed = Plan::parse(&text)
        .map_err(|error| CommandFailure::usage(format!("plan `{plan}`: {error}")))?;
    refuse_record(&parsed, &format!("plan `{plan}`"))?;
    Ok(parsed)
}

/// The record of a run looks like a plan, but is incomplete: an experiment made from it would
/// measure something else.
pub(crate) fn refuse_record(plan: &Plan, what: &str) -> Result<(), CommandFailure> {
    let Some(personality) = plan.recorded_from else { return Ok(()) };
    let message = format!(
        "{what} is the record of a run of `{personality}`: it cannot be run as an experiment"
    );
    let hint = format!(
        "repeat the command line of `{personality}`, or write a plan with the workload `sql` or \
         `table` (`truetps help workloads`)"
    );
    Err(CommandFailure::usage(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.toml");
        let most = FILE_BYTES_MAX as usize;
        fs::write(&path, "#".repeat(most)).unwrap();
        assert_eq!(text_of(path.to_str().unwrap()).unwrap().len(), most);
        fs::write(&path, "#".repeat(most + 1)).unwrap();
        for name in [path.to_str().unwrap(), "/dev/zero"] {
            let refused = text_of(name).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("plan `{name}`: the file is larger than 16 MiB")),
                "{refused}"
            );
        }
    }

    #[test]
    fn records_are_no_plans() {
        let text = "name = 's'\nabout = '?'\nrecorded_from = 'slap'\n[workload]\nsql = \
                    'x'\n[factors]\nconnections = [1]";
        let refused =
            refuse_record(&Plan::parse(text).unwrap(), "plan `p`").unwrap_err().to_string();
        assert!(refused.contains("plan `p` is the record of a run of `truetps slap`"), "{refused}");
        assert!(
            refused.contains("repeat the command line of `truetps slap`, or write a plan"),
            "{refused}"
        );
    }

    #[test]
    fn shipped_plans_are_valid_and_bear_their_names() {
        for (name, text) in SHIPPED {
            let plan = Plan::parse(text).unwrap();
            assert_eq!(plan.name, name);
            assert!(
                plan.clone().into_quick().configurations().len() <= plan.configurations().len()
            );
        }
    }
}
