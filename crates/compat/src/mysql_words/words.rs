//! The words of a command line, and what they give which option.

use std::collections::BTreeMap;

use super::{Kind, Refusal, Spec, number};

const UNKNOWN: u8 = 2;
const AMBIGUOUS: u8 = 3;
const WITHOUT_ARGUMENT: u8 = 5;

/// What an option has been given last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    Switch(bool),
    /// How often.
    Count(u32),
    Text(String),
    /// The name without a value.
    NoText,
    Number(u64),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    given: BTreeMap<&'static str, Given>,
    /// Words that belong to no option.
    pub(crate) others: Vec<String>,
    /// What is to be told, and stops nothing.
    pub(crate) warnings: Vec<String>,
}

impl Words {
    pub(crate) fn get(&self, name: &str) -> Option<&Given> {
        self.given.get(name)
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Given::Switch(true)))
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        if let Some(Given::Count(count)) = self.get(name) { *count } else { 0 }
    }

    /// A text that was given; an empty one is one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Some(Given::Text(text)) = self.get(name) { Some(text) } else { None }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        if let Some(Given::Number(number)) = self.get(name) { Some(*number) } else { None }
    }
}

/// Reads words, those of option files first: what comes later counts.
pub(crate) fn parse(specs: &'static [Spec], words: impl Iterator<Item = String>) -> Result<Words, Refusal> {
    let mut parser = Parser { specs, words, read: Words::default() };
    while let Some(word) = parser.words.next() {
        if word == "--" {
            parser.read.others.extend(parser.words);
            return Ok(parser.read);
        } else if let Some(long) = word.strip_prefix("--") {
            parser.long(long)?;
        } else if word.len() > 1 && word.starts_with('-') {
            parser.short(&word[1..])?;
        } else {
            parser.read.others.push(word);
        }
    }
    Ok(parser.read)
}

struct Parser<I> {
    specs: &'static [Spec],
    words: I,
    read: Words,
}

/// What may stand before a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    /// `--skip-`, `--disable-`.
    Off,
    /// `--enable-`.
    On,
    /// `--loose-`: an unknown name is no error.
    Loose,
}

const PREFIXES: [(&str, Prefix); 4] =
    [("skip-", Prefix::Off), ("disable-", Prefix::Off), ("enable-", Prefix::On), ("loose-", Prefix::Loose)];

impl<I: Iterator<Item = String>> Parser<I> {
    fn long(&mut self, word: &str) -> Result<(), Refusal> {
        let (typed, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let Some((spec, prefix)) = self.named(typed)? else { return Ok(()) };
        match (prefix, spec.kind) {
            (Prefix::Off | Prefix::On, Kind::Switch) => self.give(spec, Given::Switch(prefix == Prefix::On)),
            (Prefix::Off | Prefix::On, _) => return Err(unknown(&format!("--{typed}"))),
            _ => self.value(spec, &format!("--{typed}"), value)?,
        }
        Ok(())
    }

    /// The option of a name that may be cut short; `None` for one that may be unknown.
    fn named(&mut self, typed: &str) -> Result<Option<(&'static Spec, Prefix)>, Refusal> {
        let name = typed.replace('_', "-");
        if let Some(spec) = self.find(&name)? {
            return Ok(Some((spec, Prefix::None)));
        }
        for (text, prefix) in PREFIXES {
            let Some(rest) = name.strip_prefix(text) else { continue };
            match (self.find(rest)?, prefix) {
                (Some(spec), _) => return Ok(Some((spec, prefix))),
                (None, Prefix::Loose) => {
                    self.read.warnings.push(format!("unknown option '--{typed}'"));
                    return Ok(None);
                }
                _ => {}
            }
        }
        Err(unknown(&format!("--{typed}")))
    }

    fn find(&self, name: &str) -> Result<Option<&'static Spec>, Refusal> {
        if let Some(spec) = self.specs.iter().find(|spec| spec.name == name) {
            return Ok(Some(spec));
        }
        let mut near = self.specs.iter().filter(|spec| !name.is_empty() && spec.name.starts_with(name));
        let Some(first) = near.next() else { return Ok(None) };
        match near.next_back() {
            None => Ok(Some(first)),
            Some(last) => {
                Err(Refusal::new(AMBIGUOUS, format!("ambiguous option '--{name}' ({}, {})", first.name, last.name)))
            }
        }
    }

    /// `-ac5`: switches, and one with an argument at the end.
    fn short(&mut self, letters: &str) -> Result<(), Refusal> {
        for (at, letter) in letters.char_indices() {
            let Some(spec) = self.specs.iter().find(|spec| spec.short == Some(letter)) else {
                return Err(unknown(&format!("-{letter}")));
            };
            let rest = &letters[at + letter.len_utf8()..];
            if matches!(spec.kind, Kind::Switch | Kind::Count) {
                self.value(spec, "", None)?;
                continue;
            }
            let attached = (!rest.is_empty()).then(|| rest.to_owned());
            return self.value(spec, &format!("-{letter}"), attached);
        }
        Ok(())
    }

    fn value(&mut self, spec: &'static Spec, typed: &str, value: Option<String>) -> Result<(), Refusal> {
        let given = match (spec.kind, value) {
            (Kind::Switch, None) => Given::Switch(true),
            (Kind::Switch, Some(value)) => match value.to_ascii_lowercase().as_str() {
                "1" | "on" | "true" => Given::Switch(true),
                "0" | "off" | "false" => Given::Switch(false),
                _ => {
                    let name = spec.name;
                    let warning = format!("ignoring option '--{name}' due to invalid value '{value}'");
                    self.read.warnings.push(warning);
                    return Ok(());
                }
            },
            (Kind::Count, _) => Given::Count(self.read.count(spec.name) + 1),
            (Kind::OptionalText, None) => Given::NoText,
            (Kind::Text | Kind::OptionalText, Some(value)) => Given::Text(value),
            (Kind::Text, None) => Given::Text(self.argument(typed)?),
            (Kind::Number, Some(value)) => Given::Number(number::read(spec.name, &value)?),
            (Kind::Number, None) => Given::Number(number::read(spec.name, &self.argument(typed)?)?),
        };
        self.give(spec, given);
        Ok(())
    }

    fn argument(&mut self, typed: &str) -> Result<String, Refusal> {
        let missing = || Refusal::new(WITHOUT_ARGUMENT, format!("option '{typed}' requires an argument"));
        self.words.next().ok_or_else(missing)
    }

    fn give(&mut self, spec: &'static Spec, given: Given) {
        self.read.given.insert(spec.name, given);
    }
}

fn unknown(typed: &str) -> Refusal {
    Refusal::new(UNKNOWN, format!("unknown option '{typed}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(name: &'static str, short: Option<char>, kind: Kind) -> Spec {
        Spec { name, short, kind, about: "" }
    }

    static SPECS: [Spec; 8] = [
        spec("auto-generate-sql", Some('a'), Kind::Switch),
        spec("auto-generate-sql-write-number", None, Kind::Number),
        spec("concurrency", Some('c'), Kind::Text),
        spec("csv", None, Kind::OptionalText),
        spec("password", Some('p'), Kind::OptionalText),
        spec("port", Some('P'), Kind::Number),
        spec("silent", Some('s'), Kind::Switch),
        spec("verbose", Some('v'), Kind::Count),
    ];

    fn words(words: &[&str]) -> Result<Words, Refusal> {
        parse(&SPECS, words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn long_and_short() {
        let read = words(&["-asvc5", "--port", "3307", "--csv", "--verb", "x", "-psecret", "--", "-a"]).unwrap();
        assert!(read.is_on("auto-generate-sql") && read.is_on("silent"));
        assert_eq!((read.text("concurrency"), read.number("port"), read.count("verbose")), (Some("5"), Some(3307), 2));
        assert_eq!((read.get("csv"), read.text("password")), (Some(&Given::NoText), Some("secret")));
        assert_eq!(read.others, ["x", "-a"]);
        assert_eq!(words(&["-c", "5"]).unwrap().text("concurrency"), Some("5"));
    }

    #[test]
    fn switches_are_turned_off() {
        for off in ["--skip-silent", "--disable-silent", "--silent=0", "--silent=OFF", "--skip_silent"] {
            assert_eq!(words(&["-s", off]).unwrap().get("silent"), Some(&Given::Switch(false)), "{off}");
        }
        assert!(words(&["--enable-silent"]).unwrap().is_on("silent"));
        let odd = words(&["-s", "--silent=maybe"]).unwrap();
        assert!(odd.is_on("silent"));
        assert_eq!(odd.warnings, ["ignoring option '--silent' due to invalid value 'maybe'"]);
        assert_eq!(words(&["--loose-frills=3"]).unwrap().warnings, ["unknown option '--loose-frills'"]);
    }

    #[test]
    fn refusals() {
        for (line, exit, text) in [
            (&["--foo"][..], 2, "unknown option '--foo'"),
            (&["--skip-port"], 2, "unknown option '--skip-port'"),
            (&["-Z"], 2, "unknown option '-Z'"),
            (&["--"], 0, ""),
            (&["--auto"], 3, "ambiguous option '--auto' (auto-generate-sql, auto-generate-sql-write-number)"),
            (&["-c"], 5, "option '-c' requires an argument"),
            (&["--conc"], 5, "option '--conc' requires an argument"),
            (&["--port=x"], 9, "Error while setting value 'x' to 'port'"),
        ] {
            match words(line) {
                Ok(_) => assert_eq!(exit, 0, "{line:?}"),
                Err(refusal) => assert_eq!((refusal.exit, refusal.text.as_str()), (exit, text), "{line:?}"),
            }
        }
        // Exactly a name is that name, whatever begins with it.
        assert!(words(&["--auto-generate-sql"]).unwrap().is_on("auto-generate-sql"));
    }
}
