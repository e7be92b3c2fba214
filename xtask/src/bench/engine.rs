//! `bench engine`: the engine of truetps beside another program on a private server.

use std::path::Path;

use crate::bench::options::BenchOptions;
use crate::bench::pairs::Pairs;
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::Program;
use crate::bench::report::BenchReport;

pub(crate) fn run(root: &Path, options: &BenchOptions) -> anyhow::Result<()> {
    options.check()?;
    let programs = describe(root, options)?;
    let mut server = PrivateServer::start(options.most_connections(), &options.kept.settings)?;
    let about = format!("{programs}{}", server.describe(&options.kept.settings));
    let title = title("one INSERT a transaction, on a private server", options);
    let mut report = BenchReport::new(&title, &about, options);
    println!("{}", report.head());
    Pairs { root, options, server: &mut server, core: None }.run(&mut report)?;
    report.end(root, &format!("engine-{}", file_word(options)), !options.kept.no_result)
}

/// The names of the compared programs.
pub(crate) fn title(what: &str, options: &BenchOptions) -> String {
    match options.theirs() {
        Some(theirs) => format!("{} beside {}: {what}", options.ours().name(), theirs.name()),
        None => format!("{} alone: {what}", options.ours().name()),
    }
}

/// Each program on a line.
pub(crate) fn describe(root: &Path, options: &BenchOptions) -> anyhow::Result<String> {
    let programs = std::iter::once(options.ours()).chain(options.theirs().cloned());
    programs.map(|program| Ok(format!("- {}\n", program.describe(root)?))).collect()
}

/// The other program as part of a folder's name.
pub(crate) fn file_word(options: &BenchOptions) -> String {
    let name = options.theirs().map_or_else(|| "alone".to_owned(), Program::name);
    name.chars().filter(|c| !matches!(c, ',' | '×')).map(|c| if c == ' ' { '-' } else { c }).collect()
}
