//! The words of a command line, and the options that they set.

use std::collections::{BTreeMap, VecDeque};

use super::number;
use super::spec::{Spec, WordKind, WordRefusal};

const UNKNOWN: u8 = 2;
const AMBIGUOUS: u8 = 3;
const WITH_ARGUMENT: u8 = 4;
const WITHOUT_ARGUMENT: u8 = 5;
const UNKNOWN_VARIABLE: u8 = 7;
/// Replacement of a secret text.
pub(crate) const HIDDEN: &str = "…";

/// The last value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GivenValue {
    Switch(bool),
    /// How often it was given.
    Count(u32),
    Text(String),
    /// The name without a value.
    NoText,
    Number(u64),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MysqlWords {
    given: BTreeMap<&'static str, GivenValue>,
    /// Its last position on the command line; `None` if it comes from a file.
    typed_at: BTreeMap<&'static str, usize>,
    shown: Vec<String>,
    /// Number of shown words that come from files.
    from_files: usize,
    /// The number of words that belong to no option. The words are not kept: one may be a password
    /// after `-p` and a blank.
    pub(crate) strays: usize,
    /// Warnings, which stop nothing.
    pub(crate) notices: Vec<String>,
    /// The first error.
    pub(crate) refusal: Option<WordRefusal>,
}

impl MysqlWords {
    pub(crate) fn get(&self, name: &str) -> Option<&GivenValue> {
        self.given.get(name)
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name), Some(GivenValue::Switch(true)))
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        if let Some(GivenValue::Count(count)) = self.get(name) { *count } else { 0 }
    }

    /// A text that was given, including an empty one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Some(GivenValue::Text(text)) = self.get(name) { Some(text) } else { None }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        if let Some(GivenValue::Number(number)) = self.get(name) { Some(*number) } else { None }
    }

    /// All numbers that were given.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.given.iter().filter_map(|(name, given)| match given {
            GivenValue::Number(number) => Some((*name, *number)),
            _ => None,
        })
    }

    /// The position of the word that set it, if it was typed.
    pub(crate) fn typed_at(&self, name: &str) -> Option<usize> {
        self.typed_at.get(name).copied()
    }

    /// All words without secrets: first the words of files, then the typed ones.
    pub(crate) fn shown(&self) -> &[String] {
        &self.shown
    }

    /// The typed words without secrets.
    pub(crate) fn shown_typed(&self) -> &[String] {
        &self.shown[self.from_files..]
    }
}

/// Reads words, option files first: later values win. `program`: its name in notices.
pub(crate) fn parse(
    specs: &'static [Spec],
    program: &'static str,
    from_files: Vec<String>,
    typed: VecDeque<String>,
) -> MysqlWords {
    let mut parser = Parser {
        specs,
        program,
        words: from_files.into(),
        is_typed: false,
        read: MysqlWords::default(),
    };
    parser.all();
    parser.read.from_files = parser.read.shown.len();
    parser.words = typed;
    parser.is_typed = true;
    parser.all();
    parser.read
}

struct Parser {
    specs: &'static [Spec],
    program: &'static str,
    words: VecDeque<String>,
    is_typed: bool,
    read: MysqlWords,
}

/// Prefixes of a name, and whether they turn it on or off. `None`: an unknown name is not an error.
const PREFIXES: [(&str, Option<bool>); 4] =
    [("skip-", Some(false)), ("disable-", Some(false)), ("enable-", Some(true)), ("loose-", None)];

impl Parser {
    /// Reads to the end even after an error: all words are needed for display.
    fn all(&mut self) {
        while let Some(word) = self.words.pop_front() {
            let done = if word == "--" {
                self.show("--");
                while self.words.pop_front().is_some() {
                    self.stray();
                }
                Ok(())
            } else if let Some(long) = word.strip_prefix("--") {
                self.long(long)
            } else if word.len() > 1 && word.starts_with('-') {
                self.short(&word[1..])
            } else {
                self.stray();
                Ok(())
            };
            if let Err(refusal) = done {
                self.read.refusal.get_or_insert(refusal);
            }
        }
    }

    fn show(&mut self, text: &str) {
        self.read.shown.push(text.to_owned());
    }

    fn stray(&mut self) {
        self.read.strays += 1;
        self.show(HIDDEN);
    }

    /// Only the first error is reported.
    fn notice(&mut self, line: String) {
        if self.read.refusal.is_none() {
            self.read.notices.push(line);
        }
    }

    fn warn(&mut self, text: &str) {
        self.notice(format!("Warning: {}: {text}", self.program));
    }

    fn long(&mut self, word: &str) -> Result<(), WordRefusal> {
        let (typed, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let named = self.named(typed, value.as_deref());
        let shown = match &named {
            Ok(Some((spec, _))) if spec.kind != WordKind::Secret => word.to_owned(),
            // The value of an unknown name may be a password, too.
            _ if value.is_some() => format!("{typed}={HIDDEN}"),
            _ => typed.to_owned(),
        };
        self.show(&format!("--{shown}"));
        let Some((spec, turned)) = named? else { return Ok(()) };
        match turned {
            Some(is_on) => self.turned(spec, is_on, value.as_deref()),
            None => self.value(spec, &format!("--{}", spec.name), value),
        }
    }

    /// The option of a possibly abbreviated name, and whether a prefix turns it on or off: the last
    /// prefix counts. `None` for an unknown name that is allowed.
    fn named(
        &mut self,
        typed: &str,
        value: Option<&str>,
    ) -> Result<Option<(&'static Spec, Option<bool>)>, WordRefusal> {
        let name = typed.replace('_', "-").to_ascii_lowercase();
        let (mut rest, mut turned, mut is_loose) = (name.as_str(), None, false);
        loop {
            if let Some(spec) = self.find(rest)? {
                if spec.name != rest {
                    let (short, full) = (rest, spec.name);
                    self.notice(format!(
                        "Info: Using unique option prefix '{short}' is error-prone and can break \
                         in the future. Please use the full name '{full}' instead."
                    ));
                }
                return Ok(Some((spec, turned)));
            }
            let stripped =
                PREFIXES.iter().find_map(|(text, state)| Some((rest.strip_prefix(text)?, *state)));
            let Some((behind, state)) = stripped else { break };
            (rest, turned) = (behind, state);
            is_loose |= state.is_none();
        }
        let refusal = unknown_long(typed, value);
        if is_loose {
            self.warn(&refusal.text);
            return Ok(None);
        }
        Err(refusal)
    }

    fn find(&self, name: &str) -> Result<Option<&'static Spec>, WordRefusal> {
        if let Some(spec) = self.specs.iter().find(|spec| spec.name == name) {
            return Ok(Some(spec));
        }
        let near = self.specs.iter().filter(|spec| !name.is_empty() && spec.name.starts_with(name));
        let (mut originals, mut others): (Vec<&Spec>, Vec<&Spec>) =
            near.partition(|spec| spec.is_original);
        let near = if originals.is_empty() { &mut others } else { &mut originals };
        near.sort_by_key(|spec| spec.name);
        match &near[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            [first, .., last] => Err(WordRefusal::new(
                AMBIGUOUS,
                format!("ambiguous option '--{name}' ({}, {})", first.name, last.name),
            )),
        }
    }

    /// `-ac5`: switches, and one option with an argument at the end.
    fn short(&mut self, letters: &str) -> Result<(), WordRefusal> {
        for (at, letter) in letters.char_indices() {
            let end = at + letter.len_utf8();
            let rest = &letters[end..];
            let Some(spec) = self.specs.iter().find(|spec| spec.short == Some(letter)) else {
                // The text after it may be anything.
                let hidden = if rest.is_empty() { "" } else { HIDDEN };
                self.show(&format!("-{}{hidden}", &letters[..end]));
                return Err(WordRefusal::new(UNKNOWN, format!("unknown option '-{letter}'")));
            };
            if matches!(spec.kind, WordKind::Switch | WordKind::Count) {
                self.value(spec, "", None)?;
                continue;
            }
            let is_hidden = spec.kind == WordKind::Secret && !rest.is_empty();
            let shown = if is_hidden {
                format!("-{}{HIDDEN}", &letters[..end])
            } else {
                format!("-{letters}")
            };
            self.show(&shown);
            let attached = (!rest.is_empty()).then(|| rest.to_owned());
            return self.value(spec, &format!("-{letter}"), attached);
        }
        self.show(&format!("-{letters}"));
        Ok(())
    }

    /// An option after `--skip-` or `--enable-`. One that takes a value gets 0 or 1.
    fn turned(
        &mut self,
        spec: &'static Spec,
        is_on: bool,
        value: Option<&str>,
    ) -> Result<(), WordRefusal> {
        let given = match spec.kind {
            // `--skip-x=0` turns it on, and `--enable-x=0` off.
            WordKind::Switch => {
                GivenValue::Switch(is_on != (value.and_then(switch) == Some(false)))
            }
            WordKind::Count => return Err(takes_none(spec)),
            WordKind::Text => GivenValue::Text(u8::from(is_on).to_string()),
            WordKind::Number => GivenValue::Number(is_on.into()),
            WordKind::OptionalText | WordKind::Secret if is_on => GivenValue::NoText,
            WordKind::OptionalText | WordKind::Secret => GivenValue::Switch(false),
        };
        self.give(spec, given);
        Ok(())
    }

    fn value(
        &mut self,
        spec: &'static Spec,
        typed: &str,
        value: Option<String>,
    ) -> Result<(), WordRefusal> {
        let given = match (spec.kind, value) {
            (WordKind::Switch, None) => GivenValue::Switch(true),
            (WordKind::Switch, Some(value)) => {
                let Some(is_on) = switch(&value) else {
                    self.warn(&format!(
                        "ignoring option '--{}' due to invalid value '{value}'",
                        spec.name
                    ));
                    return Ok(());
                };
                GivenValue::Switch(is_on)
            }
            (WordKind::Count, None) => GivenValue::Count(self.read.count(spec.name) + 1),
            (WordKind::Count, Some(_)) => return Err(takes_none(spec)),
            (WordKind::OptionalText | WordKind::Secret, None) => GivenValue::NoText,
            (WordKind::Text | WordKind::OptionalText | WordKind::Secret, Some(value)) => {
                GivenValue::Text(value)
            }
            (WordKind::Text, None) => GivenValue::Text(self.argument(typed)?),
            (WordKind::Number, Some(value)) => GivenValue::Number(number::read(spec.name, &value)?),
            (WordKind::Number, None) => {
                GivenValue::Number(number::read(spec.name, &self.argument(typed)?)?)
            }
        };
        self.give(spec, given);
        Ok(())
    }

    /// The next word. A line of a file has none: the next line is another option.
    fn argument(&mut self, typed: &str) -> Result<String, WordRefusal> {
        let next = if self.is_typed { self.words.pop_front() } else { None };
        let word = next.ok_or_else(|| {
            WordRefusal::new(WITHOUT_ARGUMENT, format!("option '{typed}' requires an argument"))
        })?;
        // `--user --password=…` takes the second word as the user.
        self.show(if word.starts_with('-') { HIDDEN } else { &word });
        Ok(word)
    }

    fn give(&mut self, spec: &'static Spec, given: GivenValue) {
        self.read.given.insert(spec.name, given);
        if self.is_typed {
            self.read.typed_at.insert(spec.name, self.read.shown.len());
        }
    }
}

/// The state of a switch for a text.
fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Some(true),
        "0" | "off" | "false" => Some(false),
        _ => None,
    }
}

fn takes_none(spec: &Spec) -> WordRefusal {
    WordRefusal::new(WITH_ARGUMENT, format!("option '--{}' cannot take an argument", spec.name))
}

fn unknown_long(typed: &str, value: Option<&str>) -> WordRefusal {
    // A password with a misspelt option name is still a password.
    let is_like_password =
        ["pas", "pw"].iter().any(|part| typed.to_ascii_lowercase().contains(part));
    match value {
        None => WordRefusal::new(UNKNOWN, format!("unknown option '--{typed}'")),
        Some(value) => {
            let value = if is_like_password { HIDDEN } else { value };
            WordRefusal::new(UNKNOWN_VARIABLE, format!("unknown variable '{typed}={value}'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(name: &'static str, short: Option<char>, kind: WordKind) -> Spec {
        Spec { name, short, kind, is_original: true, about: "" }
    }

    static SPECS: [Spec; 12] = [
        Spec { is_original: false, ..spec("verify", None, WordKind::Switch) },
        Spec { is_original: false, ..spec("auto-other", None, WordKind::Switch) },
        Spec { is_original: false, ..spec("auto-more", None, WordKind::Switch) },
        spec("auto-generate-sql", Some('a'), WordKind::Switch),
        spec("auto-generate-sql-write-number", None, WordKind::Number),
        spec("concurrency", Some('c'), WordKind::Text),
        spec("csv", None, WordKind::OptionalText),
        spec("password", Some('p'), WordKind::Secret),
        spec("port", Some('P'), WordKind::Number),
        spec("silent", Some('s'), WordKind::Switch),
        spec("user", Some('u'), WordKind::Text),
        spec("verbose", Some('v'), WordKind::Count),
    ];

    fn all(files: &[&str], typed: &[&str]) -> MysqlWords {
        let owned =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        parse(&SPECS, "slap", owned(files), owned(typed).into())
    }

    fn words(words: &[&str]) -> Result<MysqlWords, WordRefusal> {
        let mut read = all(&[], words);
        read.refusal.take().map_or(Ok(read), Err)
    }

    #[test]
    fn long_and_short() {
        let read =
            words(&["-asvc5", "--port", "3307", "--csv", "--VERBOSE", "x", "-psecret", "--", "-a"])
                .unwrap();
        assert!(read.is_on("auto-generate-sql") && read.is_on("silent"));
        assert_eq!(
            (read.text("concurrency"), read.number("port"), read.count("verbose")),
            (Some("5"), Some(3307), 2)
        );
        assert_eq!(
            (read.get("csv"), read.text("password")),
            (Some(&GivenValue::NoText), Some("secret"))
        );
        assert_eq!((read.strays, read.notices.len()), (2, 0));
        assert_eq!(words(&["-c", "5"]).unwrap().text("concurrency"), Some("5"));
        assert!(
            words(&["--verb"]).unwrap().notices[0]
                .starts_with("Info: Using unique option prefix 'verb' is")
        );
    }

    #[test]
    fn no_way_of_giving_a_password_shows_it() {
        let typed = [
            "-apsecret",
            "-spsecret",
            "-psecret",
            "--pa=secret",
            "--pas=secret",
            "--password=secret",
            "--PASS=secret",
            "--loose-password=secret",
            "--skip-password=secret",
            "--loose-passwort=secret",
            "-p",
            "secret",
            "--p=secret",
            "-Zsecret",
            "--frills=secret",
            "-c",
            "5",
            "-uroot",
            "--concurrency=2",
            "--user",
            "--password=secret",
            "--",
            "secret",
        ];
        let read = all(&["--password=secret", "--user=me"], &typed);
        let texts = format!("{:?} {:?} {:?}", read.shown, read.notices, read.refusal);
        assert!(!texts.contains("secret"), "{texts}");
        let shown = "--password=… --user=me -ap… -sp… -p… --pa=… --pas=… --password=… --PASS=… \
                     --loose-password=… --skip-password=… --loose-passwort=… -p … --p=… -Z… \
                     --frills=… -c 5 -uroot --concurrency=2 --user … -- …";
        assert_eq!(read.shown().join(" "), shown);
        assert_eq!(read.shown_typed()[0], "-ap…");
    }

    #[test]
    fn a_line_of_a_file_takes_no_word_of_another_line() {
        let read = all(&["--user", "--password=secret"], &["-a"]);
        assert_eq!(read.refusal.unwrap().text, "option '--user' requires an argument");
        assert_eq!(all(&["--user"], &["me"]).refusal.unwrap().exit, 5);
    }

    #[test]
    fn places_count_typed_words() {
        let read = all(&["--port=1", "--user=x"], &["-uy", "-P", "3"]);
        assert!(read.typed_at("user") < read.typed_at("port") && read.typed_at("user").is_some());
        assert_eq!(all(&["--port=1"], &[]).typed_at("port"), None);
    }

    #[test]
    fn switches_are_turned_off() {
        for off in [
            "--skip-silent",
            "--disable-silent",
            "--silent=0",
            "--silent=OFF",
            "--skip_silent",
            "--enable-silent=0",
            "--skip-silent=1",
            "--skip-silent=maybe",
            "--loose-skip-silent",
            "--enable-skip-silent",
        ] {
            assert_eq!(
                words(&["-s", off]).unwrap().get("silent"),
                Some(&GivenValue::Switch(false)),
                "{off}"
            );
        }
        for on in
            ["--enable-silent", "--skip-silent=0", "--skip-enable-silent", "--skip-loose-silent"]
        {
            assert!(words(&[on]).unwrap().is_on("silent"), "{on}");
        }
        let odd = words(&["-s", "--silent=maybe"]).unwrap();
        assert!(odd.is_on("silent"));
        assert_eq!(
            odd.notices,
            ["Warning: slap: ignoring option '--silent' due to invalid value 'maybe'"]
        );
        for (loose, text) in [
            ("--loose-frills=3", "unknown variable 'loose-frills=3'"),
            ("--loose-skip-x", "unknown option '--loose-skip-x'"),
            ("--skip-loose-x", "unknown option '--skip-loose-x'"),
        ] {
            assert_eq!(words(&[loose]).unwrap().notices, [format!("Warning: slap: {text}")]);
        }
        let read = words(&[
            "-psecret",
            "--skip-password",
            "--skip-csv",
            "--skip-concurrency",
            "--skip-port",
        ])
        .unwrap();
        assert_eq!(read.get("password"), Some(&GivenValue::Switch(false)));
        assert_eq!((read.text("concurrency"), read.number("port")), (Some("0"), Some(0)));
    }

    #[test]
    fn refusals() {
        for (line, exit, text) in [
            (&["--foo"][..], 2, "unknown option '--foo'"),
            (&["--foo=3", "-Z"], 7, "unknown variable 'foo=3'"),
            (&["--pasword=x"], 7, "unknown variable 'pasword=…'"),
            (&["-Z"], 2, "unknown option '-Z'"),
            (&["--"], 0, ""),
            (
                &["--auto"],
                3,
                "ambiguous option '--auto' (auto-generate-sql, auto-generate-sql-write-number)",
            ),
            (
                &["--auto-"],
                3,
                "ambiguous option '--auto-' (auto-generate-sql, auto-generate-sql-write-number)",
            ),
            (&["-c"], 5, "option '-c' requires an argument"),
            (&["--conc"], 5, "option '--concurrency' requires an argument"),
            (&["--verbose=3"], 4, "option '--verbose' cannot take an argument"),
            (&["--skip-verbose"], 4, "option '--verbose' cannot take an argument"),
            (&["--port=x"], 9, "Error while setting value 'x' to 'port'"),
        ] {
            match words(line) {
                Ok(_) => assert_eq!(exit, 0, "{line:?}"),
                Err(refusal) => {
                    assert_eq!((refusal.exit, refusal.text.as_str()), (exit, text), "{line:?}");
                }
            }
        }
        // An option of the original is preferred; options of truetps can be abbreviated, too.
        assert_eq!(words(&["--ver"]).unwrap().count("verbose"), 1);
        assert!(words(&["--veri"]).unwrap().is_on("verify"));
        assert_eq!(
            words(&["--auto-o"]).unwrap().get("auto-other"),
            Some(&GivenValue::Switch(true))
        );
        // An exact name wins over all names that begin with it.
        assert!(words(&["--auto-generate-sql"]).unwrap().is_on("auto-generate-sql"));
    }
}
