//! Whole command lines: which are refused, with which words, and the result of the others.

mod beside_sysbench;
mod config;
mod databases;
mod ours;
mod pages;
mod refusals;
mod scripts;
mod values;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::*;

/// A file that tests find under the name `file`, and the environment.
#[derive(Default)]
struct TestEnv<'a> {
    file: &'a str,
    runs: Option<&'a str>,
}

impl TestEnv<'_> {
    fn pass(&self, words: &[&str]) -> Result<FirstPass, OptionRefusal> {
        self.pass_bytes(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    fn pass_bytes(&self, words: &[Vec<u8>]) -> Result<FirstPass, OptionRefusal> {
        let argv = std::iter::once("sysbench".into())
            .chain(words.iter().cloned().map(OsString::from_vec))
            .collect();
        let environment =
            |name: &str| self.runs.filter(|_| name == "TRUETPS_RUNS").map(OsString::from);
        let read_file = |path: &Path| match path.to_str() {
            Some("file") => Ok(self.file.as_bytes().to_vec()),
            _ => Err(io::Error::from_raw_os_error(2)),
        };
        first_pass(argv, &Surroundings { environment: &environment, read_file: &read_file })
    }
}

fn pass(words: &[&str]) -> Result<FirstPass, OptionRefusal> {
    TestEnv::default().pass(words)
}

/// The settings of a command line, before a script is read.
pub(crate) fn settings_of(words: &[&str]) -> RunSettings {
    pass(words).unwrap().settings.unwrap()
}

/// All of it, for a script with these options.
pub(crate) fn options(
    words: &[&str],
    specs: &[OptionSpec],
) -> Result<SysbenchOptions, OptionRefusal> {
    let mut pass = pass(words)?;
    for spec in specs {
        pass.declare(spec.clone());
    }
    pass.finish(true)
}

/// All of it, for a script that declares nothing.
fn old_options(words: &[&str]) -> Result<SysbenchOptions, OptionRefusal> {
    pass(words)?.finish(false)
}

fn spec(name: &str, kind: OptionType, default: Option<&str>) -> OptionSpec {
    OptionSpec::new(name, format!("{name} text"), default.map(str::as_bytes), kind)
}

/// One option of each type.
fn each_kind() -> Vec<OptionSpec> {
    vec![
        spec("i", OptionType::Int, Some("7")),
        spec("sz", OptionType::Size, Some("1K")),
        spec("d", OptionType::Double, Some("1.5")),
        spec("s", OptionType::String, Some("x")),
        spec("n", OptionType::String, None),
        spec("b", OptionType::Bool, Some("on")),
        spec("l", OptionType::List, Some("a,b")),
        spec("f", OptionType::File, Some("")),
        spec("a_b-c", OptionType::Double, Some("1")),
    ]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn said(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(|notice| text(&notice.text)).collect()
}
