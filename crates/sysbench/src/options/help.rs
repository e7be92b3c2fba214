//! Pages of help. They are bytes: scripts choose names, texts and defaults.

use super::OptionGroup;
use super::registry::Registry;
use super::{OptionSpec, SysbenchRelease};

/// The page of `--help`, for the standard output.
pub(crate) fn help_page(registry: &Registry) -> Vec<u8> {
    let mut page = b"Usage:\n  sysbench [options]... [testname] [command]\n\n\
                     Commands implemented by most tests: prepare run cleanup help\n\n"
        .to_vec();
    let mut part = |heading: &str, group: OptionGroup| {
        page.extend_from_slice(heading.as_bytes());
        page.extend(lines(&registry.group(group).collect::<Vec<_>>()));
        page.push(b'\n');
    };
    part("General options:\n", OptionGroup::General);
    part("Pseudo-Random Numbers Generator options:\n", OptionGroup::Rand);
    part("Log options:\n", OptionGroup::Log);
    part("", OptionGroup::Latency);
    part("General database options:\n\n", OptionGroup::Database);
    let drivers =
        "\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n";
    part(&format!("{drivers}mysql options:\n"), OptionGroup::Mysql);
    part("pgsql options:\n", OptionGroup::Pgsql);
    part(
        "truetps options (sysbench has none of these, and a script may declare their names):\n",
        OptionGroup::Ours,
    );
    page.extend_from_slice(
        b"Compiled-in tests:\n  cpu - a few prime numbers: for trying options\n\n\
          See 'sysbench <testname> help' for a list of options for each test.\n\n",
    );
    page
}

/// The output of `<test> help` if the test has no `help` of its own: its options by name, under its own name.
pub(crate) fn test_help(registry: &Registry, test: &[u8]) -> Vec<u8> {
    let mut specs: Vec<_> = registry.group(OptionGroup::Script).collect();
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    [test, b" options:\n", &print_test_options(&specs)].concat()
}

/// The line of `--version`.
pub(crate) fn version_line(compat: SysbenchRelease) -> String {
    format!("sysbench {}\n", compat.version())
}

/// The output of `sysbench.cmdline.print_test_options()` for options in this order: a line for each, and an empty one.
pub(crate) fn print_test_options(specs: &[&OptionSpec]) -> Vec<u8> {
    [&lines(specs)[..], b"\n"].concat()
}

/// A line for each option, with the texts in one column.
fn lines(specs: &[&OptionSpec]) -> Vec<u8> {
    let head =
        |spec: &OptionSpec| [b"  --", spec.name.as_slice(), spec.kind.suffix().as_bytes()].concat();
    let width = specs.iter().map(|spec| head(spec).len()).max().unwrap_or(0);
    let mut text = Vec::new();
    for spec in specs {
        let mut line = head(spec);
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
