//! What is known before a script is read, and what it may add.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::given::{self, GivenOption, GivenOptions, Origin};
use super::lookup::Lookup;
use super::value::{self, BadText};
use super::{
    CommandLine, DeclarationOutcome, Notice, OptionRefusal, OptionSpec, OptionType, Registry, RunSettings,
    SysbenchOptions, SysbenchRelease, config_file, settings,
};

/// What the first pass reads of the world.
pub(crate) struct Surroundings<'a> {
    pub(crate) environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// For `--config-file`.
    pub(crate) read_file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// What the command line asks for before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstRequest {
    /// The script, and its command where there is one.
    Script,
    /// The help page. No value was looked at.
    Help,
    /// The line with the version. No value was looked at.
    Version,
}

/// The environment's place for `--runs`.
const RUNS_VARIABLE: &str = "TRUETPS_RUNS";

/// The test that is built in.
const BUILT_IN: &str = "cpu";

/// Options before the script is read. With a command, the host goes on: [`FirstPass::declare`] each option of the
/// script, [`FirstPass::check_names`], whether the command is there, and [`FirstPass::finish`]. Without one only the
/// script's body runs, and unknown options are never looked at.
#[derive(Debug, Clone)]
pub(crate) struct FirstPass {
    command_line: CommandLine,
    wish: FirstRequest,
    compat: SysbenchRelease,
    registry: Registry,
    given: GivenOptions,
    settings: Option<RunSettings>,
    notices: Vec<Notice>,
}

/// Reads a command line; the first argument is the program's name.
///
/// sysbench's general options are read and checked here, before the line with the version is printed; what belongs to
/// databases, to the script and to us is only taken apart. Values of our own options that are wrong count as not given
/// until [`FirstPass::finish`] refuses them, as a script may take their names.
///
/// # Errors
///
/// A third word, and wrong values or combinations of general options.
pub(crate) fn first_pass(argv: Vec<OsString>, surroundings: &Surroundings<'_>) -> Result<FirstPass, OptionRefusal> {
    let (command_line, mut given, mut notices) = given::take_apart(argv)?;
    if let Some(path) = given.get(b"config-file").and_then(|entry| entry.text.clone()).filter(|path| !path.is_empty()) {
        match (surroundings.read_file)(Path::new(&OsString::from_vec(path.clone()))) {
            Ok(file) => given.put_below(config_file::read(&file)),
            // sysbench goes on without the file.
            Err(error) => notices.push(Notice::usage(config_file::problem(&path, &error))),
        }
    }
    if given.get(b"runs").is_none()
        && let Some(folder) = (surroundings.environment)(RUNS_VARIABLE).filter(|folder| !folder.is_empty())
    {
        let text = Some(folder.as_bytes().to_vec());
        given.put(GivenOption { name: b"runs".to_vec(), text, origin: Origin::Environment });
    }
    let typed = |name: &[u8]| given.get(name).and_then(|entry| entry.text.as_deref());
    let compat = typed(b"compat").and_then(SysbenchRelease::from_text).unwrap_or_default();
    let mut registry = Registry::new(compat);
    // A mode of 1.1 is understood in 1.0 as well, where the option is a switch.
    if typed(b"mysql-ssl").is_some_and(|text| super::SslMode::from_text(text).is_some()) {
        registry.set_kind(b"mysql-ssl", OptionType::String);
    }
    let mut pass = FirstPass {
        command_line,
        wish: FirstRequest::Script,
        compat,
        registry,
        given,
        settings: None,
        notices: Vec::new(),
    };
    pass.wish = pass.read_wish();
    if pass.wish == FirstRequest::Script {
        let (settings, more) = match RunSettings::read(&pass.lookup(false)) {
            Ok(read) => read,
            Err(refusal) => {
                notices.extend(refusal.notices);
                return Err(OptionRefusal { notices, ..refusal });
            }
        };
        notices.extend(more);
        pass.settings = Some(settings);
        // Scripts see what is in force under the name of today as well.
        for (name, text) in settings::decided(&pass.lookup(false)) {
            pass.given.put(GivenOption { name: name.into(), text: Some(text), origin: Origin::CommandLine });
        }
    }
    pass.notices = notices;
    Ok(pass)
}

impl FirstPass {
    pub(crate) fn command_line(&self) -> &CommandLine {
        &self.command_line
    }

    pub(crate) fn wish(&self) -> FirstRequest {
        self.wish
    }

    pub(crate) fn compat(&self) -> SysbenchRelease {
        self.compat
    }

    /// None where help or the version is wished for. They are read anew by [`FirstPass::finish`], when defaults of the
    /// script are known.
    pub(crate) fn settings(&self) -> Option<&RunSettings> {
        self.settings.as_ref()
    }

    /// What to say at once, before the line with the version, whatever the verbosity.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// For the help page, and a script's list of options.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// An option of the script, or of a built-in test. Its default is looked at by [`FirstPass::finish`].
    ///
    /// sysbench gives a declaration of one of its own names the script's default even where the user gave a value, and
    /// has used the old default itself by then (its issue 151). Here the user's value stays the value, and the script's
    /// default is what the host uses where there is none.
    pub(crate) fn declare(&mut self, spec: OptionSpec) -> DeclarationOutcome {
        self.registry.declare(spec)
    }

    /// Whether every option that was given is known, and every switch on or off. `script_has_options`: the script has
    /// set `sysbench.cmdline.options`, if only to an empty table, or the test is a built-in one.
    ///
    /// # Errors
    ///
    /// `invalid option: --name=text` of the first that is not. 1.0 knows every name where the script declares none.
    pub(crate) fn check_names(&self, script_has_options: bool) -> Result<(), OptionRefusal> {
        let refused = |entry: &&GivenOption| match self.registry.get(&entry.name) {
            None => !self.takes_unknown(script_has_options),
            Some(one) => value::read(one.spec.kind, entry.text.as_deref()) == Err(BadText::Switch),
        };
        match self.given.iter().find(refused) {
            None => Ok(()),
            Some(entry) => Err(OptionRefusal::usage([b"invalid option: ", entry.as_typed().as_slice()].concat())),
        }
    }

    /// All values, when everything is declared. `script_has_options` as in [`FirstPass::check_names`], which this
    /// begins with.
    ///
    /// # Errors
    ///
    /// Unknown names, wrong numbers of any option, wrong values of our own, and what the script's defaults make wrong.
    pub(crate) fn finish(mut self, script_has_options: bool) -> Result<SysbenchOptions, OptionRefusal> {
        self.check_names(script_has_options)?;
        let unknown: Vec<_> = self.given.iter().map(|entry| entry.name.clone()).collect();
        for name in &unknown {
            if self.registry.get(name).is_none() {
                self.registry.add_unknown(name);
            }
        }
        let without_options = self.takes_unknown(script_has_options);
        SysbenchOptions::new(self.compat, self.registry, self.given, &self.notices, without_options, true)
    }

    /// Values as they are before the script is known: what its body finds that opens connections. Unknown names are
    /// texts.
    ///
    /// # Errors
    ///
    /// Wrong numbers of options that are known by now, and a built-in test without a command, which has no body that
    /// could be all that is wanted.
    pub(crate) fn preliminary(&self) -> Result<SysbenchOptions, OptionRefusal> {
        let line = &self.command_line;
        if let (Some(test), None) = (line.test.as_ref().filter(|test| *test == BUILT_IN), &line.command) {
            let test = test.to_string_lossy();
            return Err(OptionRefusal::usage(format!(
                "the test '{test}' needs a command, such as run: sysbench {test} run"
            )));
        }
        let (registry, given) = (self.registry.clone(), self.given.clone());
        SysbenchOptions::new(self.compat, registry, given, &self.notices, false, false)
    }

    fn takes_unknown(&self, script_has_options: bool) -> bool {
        self.compat == SysbenchRelease::V1_0 && !script_has_options
    }

    fn lookup(&self, strict: bool) -> Lookup<'_> {
        Lookup { registry: &self.registry, given: &self.given, strict }
    }

    fn read_wish(&self) -> FirstRequest {
        let lookup = self.lookup(false);
        if lookup.switch("help") {
            FirstRequest::Help
        } else if lookup.switch("version") {
            FirstRequest::Version
        } else {
            FirstRequest::Script
        }
    }
}
