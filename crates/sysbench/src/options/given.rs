//! Parsed arguments, before their meaning is known.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::{Notice, OptionRefusal, key};

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The declaration's default.
    #[cfg(test)]
    Default,
    Environment,
    ConfigFile,
    CommandLine,
}

/// One option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenOption {
    /// As typed.
    pub(super) name: Vec<u8>,
    /// None: there was no `=`.
    pub(super) text: Option<Vec<u8>>,
    pub(super) origin: Origin,
}

impl GivenOption {
    /// `--name=text` again.
    pub(super) fn as_typed(&self) -> Vec<u8> {
        match &self.text {
            None => [b"--", self.name.as_slice()].concat(),
            Some(text) => [b"--", self.name.as_slice(), b"=", text].concat(),
        }
    }
}

/// Options in the order given. The last of equal names gives the value.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenOptions {
    entries: Vec<GivenOption>,
    last: BTreeMap<Vec<u8>, usize>,
}

impl GivenOptions {
    /// The text of an option, if it was given with one.
    pub(super) fn text(&self, name: &[u8]) -> Option<&[u8]> {
        self.get(name)?.text.as_deref()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&GivenOption> {
        self.last.get(&key(name)).map(|index| &self.entries[*index])
    }

    /// All of them, including repeated names.
    pub(super) fn iter(&self) -> impl Iterator<Item = &GivenOption> {
        self.entries.iter()
    }

    pub(super) fn put(&mut self, entry: GivenOption) {
        self.last.insert(key(&entry.name), self.entries.len());
        self.entries.push(entry);
    }

    /// Adds the options that are missing here.
    pub(super) fn put_below(&mut self, lower: Self) {
        let mut new = lower.entries;
        new.retain(|entry| self.get(&entry.name).is_none());
        for entry in new {
            self.put(entry);
        }
    }
}

/// The words of a command line that are not options, and the whole line as scripts see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Every argument, the program's name among them: `sysbench.cmdline.argv`, from index 0.
    pub(crate) argv: Vec<OsString>,
    /// A built-in test, a path, a module; `-` or nothing means a script on the standard input.
    pub(crate) test: Option<OsString>,
    /// `sysbench.cmdline.command`.
    pub(crate) command: Option<OsString>,
}

const TEST_WARNING: &str = "WARNING: the --test option is deprecated. You can pass a script name \
                            or path on the command line without any options.";

/// Parses arguments; the first is the program.
///
/// Each argument that starts with `--` is an option; the others are the test, then the command.
/// `--test=x` names the test directly: the next word is the command. No script can have an option
/// `test`.
///
/// # Errors
///
/// A third word is refused with exit status 1, also beside `--help`.
pub(super) fn take_apart(
    argv: Vec<OsString>,
) -> Result<(CommandLine, GivenOptions, Vec<Notice>), OptionRefusal> {
    let mut line = CommandLine { argv, ..CommandLine::default() };
    let (mut given, mut notices) = (GivenOptions::default(), Vec::new());
    for argument in line.argv.iter().skip(1) {
        let Some(option) = argument.as_bytes().strip_prefix(b"--") else {
            if line.test.is_none() {
                line.test = Some(argument.clone());
            } else if line.command.is_none() {
                line.command = Some(argument.clone());
            } else {
                let text = [b"Unrecognized command line argument: ", argument.as_bytes()].concat();
                return Err(OptionRefusal { notices, ..OptionRefusal::usage(text) });
            }
            continue;
        };
        let (name, text) = name_and_text(option);
        if name == b"test" {
            if let Some(text) = text {
                notices.push(Notice::usage(TEST_WARNING));
                if !text.is_empty() {
                    line.test = Some(OsString::from_vec(text.to_vec()));
                }
            }
        } else {
            let text = text.map(<[u8]>::to_vec);
            given.put(GivenOption { name: name.to_vec(), text, origin: Origin::CommandLine });
        }
    }
    Ok((line, given, notices))
}

/// The parts before and after the first `=`.
pub(super) fn name_and_text(option: &[u8]) -> (&[u8], Option<&[u8]>) {
    match option.iter().position(|byte| *byte == b'=') {
        None => (option, None),
        Some(end) => (&option[..end], Some(&option[end + 1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(words: &[&str]) -> Result<(CommandLine, GivenOptions, Vec<Notice>), OptionRefusal> {
        take_apart(
            std::iter::once("sysbench").chain(words.iter().copied()).map(OsString::from).collect(),
        )
    }

    #[test]
    fn words_are_the_test_and_the_command() {
        for (words, test, command) in [
            (&[][..], None, None),
            (&["a.lua"], Some("a.lua"), None),
            (&["a.lua", "run"], Some("a.lua"), Some("run")),
            (&["--x", "a.lua", "--y=1", "run", "--z"], Some("a.lua"), Some("run")),
            (&["-"], Some("-"), None),
            (&["-h"], Some("-h"), None),
            (&["", ""], Some(""), Some("")),
            (&["--", "a.lua"], Some("a.lua"), None),
            (&["--test=a.lua", "run"], Some("a.lua"), Some("run")),
            (&["b.lua", "--test=a.lua"], Some("a.lua"), None),
            (&["b.lua", "run", "--test=a.lua"], Some("a.lua"), Some("run")),
            (&["--test=", "a.lua", "run"], Some("a.lua"), Some("run")),
            (&["--test", "a.lua", "run"], Some("a.lua"), Some("run")),
        ] {
            let (line, _, _) = apart(words).unwrap();
            assert_eq!(
                (line.test, line.command),
                (test.map(Into::into), command.map(Into::into)),
                "{words:?}"
            );
        }
    }

    #[test]
    fn a_third_word_is_refused() {
        for (words, third) in [
            (&["a", "b", "c", "d"][..], "c"),
            (&["--help", "a", "b", "-h"], "-h"),
            (&["a", "b", ""], ""),
            (&["a", "--threads", "4", "5"], "5"),
        ] {
            let refusal = apart(words).unwrap_err();
            assert_eq!(
                refusal.text,
                format!("Unrecognized command line argument: {third}\n").into_bytes()
            );
            assert_eq!((refusal.stream, refusal.exit), (super::super::OutputStream::Stderr, 1));
            assert!(refusal.notices.is_empty());
        }
        let refusal = apart(&["--test=a", "b", "c"]).unwrap_err();
        assert_eq!(refusal.notices.len(), 1, "the warning comes first");
    }

    #[test]
    fn test_as_an_option_is_warned_of() {
        let warnings = |words: &[&str]| apart(words).unwrap().2.len();
        assert_eq!(warnings(&["--test=a"]), 1);
        assert_eq!(warnings(&["--test="]), 1);
        assert_eq!(warnings(&["--test", "a"]), 0);
        assert_eq!(warnings(&["a"]), 0);
    }

    #[test]
    fn the_last_of_equal_names_gives_the_value() {
        let (_, mut given, _) = apart(&["--a-b=1", "--c", "--a_b=2=3", "--=5"]).unwrap();
        let typed = |given: &GivenOptions| {
            given.iter().map(|entry| String::from_utf8(entry.as_typed()).unwrap()).collect()
        };
        let all: Vec<_> = typed(&given);
        assert_eq!(all, ["--a-b=1", "--c", "--a_b=2=3", "--=5"]);
        assert_eq!(given.get(b"a-b").unwrap().text.as_deref(), Some(&b"2=3"[..]));
        let (_, lower, _) = apart(&["--c=1", "--d=1", "--d=2"]).unwrap();
        given.put_below(lower);
        let all: Vec<_> = typed(&given);
        assert_eq!(all, ["--a-b=1", "--c", "--a_b=2=3", "--=5", "--d=1", "--d=2"]);
        assert_eq!(given.get(b"d").unwrap().text.as_deref(), Some(&b"2"[..]));
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let name = OsString::from_vec(b"--x\xff=\xfe".to_vec());
        let (_, given, _) = take_apart(vec!["sysbench".into(), name]).unwrap();
        assert_eq!(given.iter().next().unwrap().as_typed(), b"--x\xff=\xfe");
    }
}
