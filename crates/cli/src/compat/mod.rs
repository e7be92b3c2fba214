//! Personalities: other tools' command lines and texts over the same measurement.

mod classics;
mod hidden;
mod sysbench;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

pub(crate) use hidden::arguments;
use truetps_compat::{run_mtls, run_slap};

/// A tool whose command line is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Sysbench,
    Slap,
    Mtls,
}

/// Its word behind `truetps`, and the names of links to this program that mean it.
const TOOLS: [(Tool, &str, &[&str]); 3] = [
    (Tool::Sysbench, "sysbench", &["sysbench"]),
    (Tool::Slap, "slap", &["mysqlslap", "mariadb-slap"]),
    (Tool::Mtls, "mtls", &["mtls-perf-bench"]),
];

/// The tool that is called and its arguments, its own name first; `None` where somebody else is called.
pub(crate) fn called(mut arguments: Vec<OsString>) -> Option<(Tool, Vec<OsString>)> {
    let program = Path::new(arguments.first()?).file_name().map(OsStr::to_owned);
    for (tool, word, links) in TOOLS {
        if program.as_ref().is_some_and(|program| links.iter().any(|link| program == link)) {
            return Some((tool, arguments));
        }
        if arguments.get(1).is_some_and(|typed| typed == word) {
            arguments.remove(0);
            return Some((tool, arguments));
        }
    }
    None
}

pub(crate) fn run(tool: Tool, arguments: Vec<OsString>) -> ExitCode {
    match tool {
        Tool::Sysbench => sysbench::run(arguments),
        Tool::Slap => classics::run(run_slap, arguments),
        Tool::Mtls => classics::run(run_mtls, arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> Option<(Tool, Vec<OsString>)> {
        super::called(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn by_a_word_or_by_a_link() {
        assert_eq!(called(&["/opt/mtls-perf-bench", "insert"]).unwrap().0, Tool::Mtls);
        let (tool, words) = called(&["/bin/truetps", "sysbench", "--help"]).unwrap();
        assert!(tool == Tool::Sysbench && words == ["sysbench", "--help"]);
        assert_eq!(called(&["/opt/sysbench", "slap"]).unwrap().0, Tool::Sysbench);
        assert_eq!(called(&["truetps", "slap", "-a"]).unwrap(), (Tool::Slap, vec!["slap".into(), "-a".into()]));
        assert_eq!(called(&["/usr/bin/mariadb-slap"]).unwrap().0, Tool::Slap);
        assert_eq!(called(&["truetps", "run", "sysbench"]), None);
        assert_eq!(called(&[]), None);
    }
}
