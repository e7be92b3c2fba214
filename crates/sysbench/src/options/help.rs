//! Pages of help. They are bytes: scripts choose names, texts and defaults.

use super::OptionGroup;
use super::registry::Registry;
use super::{OptionSpec, SysbenchRelease};

/// The parts of the page of `--help`.
const PARTS: [(&str, OptionGroup); 8] = [
    ("General options:\n", OptionGroup::General),
    ("Pseudo-Random Numbers Generator options:\n", OptionGroup::Rand),
    ("Log options:\n", OptionGroup::Log),
    ("", OptionGroup::Latency),
    ("General database options:\n\n", OptionGroup::Database),
    (
        "\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n\
         mysql options:\n",
        OptionGroup::Mysql,
    ),
    ("pgsql options:\n", OptionGroup::Pgsql),
    (
        "truetps options (sysbench has none of these, and a script may declare their names):\n",
        OptionGroup::Ours,
    ),
];

/// The page of `--help`, for the standard output.
pub(crate) fn help_page(registry: &Registry) -> Vec<u8> {
    let mut page = b"Usage:\n  sysbench [options]... [testname] [command]\n\n\
                     Commands implemented by most tests: prepare run cleanup help\n\n"
        .to_vec();
    for (heading, group) in PARTS {
        page.extend_from_slice(heading.as_bytes());
        page.extend(lines(&registry.group(group).collect::<Vec<_>>()));
        page.push(b'\n');
    }
    page.extend_from_slice(
        b"Compiled-in tests:\n  cpu - a few prime numbers: for trying options\n\n\
          See 'sysbench <testname> help' for a list of options for each test.\n\n",
    );
    page
}

/// The output of `<test> help` if the test has no `help` of its own: its options by name, under its
/// own name.
pub(crate) fn test_help(registry: &Registry, test: &[u8]) -> Vec<u8> {
    let mut specs: Vec<_> = registry.group(OptionGroup::Script).collect();
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    [test, b" options:\n", &print_test_options(&specs)].concat()
}

/// The line of `--version`.
pub(crate) fn version_line(compat: SysbenchRelease) -> String {
    format!("sysbench {}\n", compat.version())
}

/// The output of `sysbench.cmdline.print_test_options()` for options in this order: a line for
/// each, and an empty one.
pub(crate) fn print_test_options(specs: &[&OptionSpec]) -> Vec<u8> {
    [&lines(specs)[..], b"\n"].concat()
}

/// A line for each option, with the texts in one column.
fn lines(specs: &[&OptionSpec]) -> Vec<u8> {
    let heads: Vec<_> = specs
        .iter()
        .map(|spec| [b"  --", spec.name.as_slice(), spec.kind.suffix().as_bytes()].concat())
        .collect();
    let width = heads.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = Vec::new();
    for (spec, mut line) in specs.iter().zip(heads) {
        line.resize(width + 1, b' ');
        line.extend_from_slice(&spec.description);
        if let Some(default) = &spec.default {
            line.extend_from_slice(b" [");
            line.extend_from_slice(default);
            line.push(b']');
        }
        line.push(b'\n');
        text.extend(line);
    }
    text
}
