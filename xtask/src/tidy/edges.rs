//! Which crate may use which: the edges of ARCHITECTURE.md.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Which crates of the workspace a crate may use: the edges of ARCHITECTURE.md. A new edge needs a separate change with
/// its reason.
pub(super) const EDGES: [(&str, &str); 31] = [
    ("record", ""),
    ("files", "record"),
    ("plan", "record files"),
    ("folder", "record files plan"),
    ("random", ""),
    ("binlog", ""),
    ("prealloc", "binlog"),
    ("disk", "random"),
    ("causes", "random"),
    ("pool", "record random"),
    ("driver", "record files"),
    ("workload", "record plan driver random"),
    ("measure", "record random"),
    ("engine", "record plan driver workload measure"),
    ("probe", "record driver"),
    ("batch", "record driver random"),
    ("gateway", "record driver knowledge batch"),
    ("knowledge", "record files"),
    ("recording", "record plan folder driver measure probe"),
    ("inspect", "record files folder driver probe knowledge"),
    ("sysbench", "record plan folder driver measure probe random recording"),
    ("preload", "record files binlog"),
    ("sandbox", "record files disk driver"),
    ("analysis", "record plan"),
    ("archive", "record plan folder analysis causes pool"),
    ("report", "record plan analysis archive knowledge causes pool"),
    (
        "lab",
        "record files plan folder disk driver workload engine measure probe recording sandbox knowledge causes binlog preload \
         pool",
    ),
    ("compat", "record files plan folder driver workload engine probe recording lab"),
    (
        "cli",
        "record files plan folder disk driver workload engine measure probe recording sandbox analysis archive report lab \
         sysbench compat knowledge inspect causes binlog preload pool gateway",
    ),
    // For tests only: no other list has it, and `[dev-dependencies]` are not looked at.
    ("testkit", "record driver sandbox"),
    ("xtask", "record plan folder driver workload engine probe sandbox"),
];

pub(super) fn check(root: &Path, name: &str, allowed: &str, problems: &mut Vec<String>) -> anyhow::Result<()> {
    let folder = if name == "xtask" { root.join(name) } else { root.join("crates").join(name) };
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
    let ordinary = text.split("[dev-dependencies]").next().unwrap_or_default();
    for line in ordinary.lines() {
        let Some(rest) = line.strip_prefix("truetps-") else { continue };
        let used = rest.split(['.', ' ', '=']).next().unwrap_or_default();
        if !allowed.split(' ').any(|one| one == used) {
            problems.push(format!("{name} uses {used}: not one of the edges in ARCHITECTURE.md and tidy.rs"));
        }
    }
    Ok(())
}
