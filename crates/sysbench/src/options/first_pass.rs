//! Options known before a script is read, and what the script may add.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use truetps_record::Part;
use truetps_recording::default_runs;

use super::database::mysql_tls_mode;
use super::given::{self, GivenOption, GivenOptions, Origin};
use super::lookup::Lookup;
use super::value::{self, BadText};
use super::{
    CommandLine, Notice, OptionRefusal, OptionSpec, OptionType, Registry, RunSettings,
    SysbenchOptions, SysbenchRelease, config_file, settings,
};

/// The parts of the environment that the first pass reads.
pub(crate) struct Surroundings<'a> {
    pub(crate) environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// For `--config-file`.
    pub(crate) read_file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// What the command line requests first of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstRequest {
    /// The script, and its command where there is one.
    Script,
    /// The help page. No value was checked.
    Help,
    /// The line with the version. No value was checked.
    Version,
}

/// The built-in test.
const BUILT_IN: &str = "cpu";

/// Options before the script is read. With a command, the caller continues: [`FirstPass::declare`]
/// each option of the script, [`FirstPass::check_names`], whether the command exists, and
/// [`FirstPass::finish`]. Without one, only the script's body runs, and unknown options are never
/// checked.
#[derive(Debug, Clone)]
pub(crate) struct FirstPass {
    pub(crate) command_line: CommandLine,
    pub(crate) wish: FirstRequest,
    pub(crate) compat: SysbenchRelease,
    /// For the help page, and a script's list of options.
    pub(crate) registry: Registry,
    given: GivenOptions,
    /// None if help or the version is requested. [`FirstPass::finish`] reads them again, when the
    /// script's defaults are known.
    pub(crate) settings: Option<RunSettings>,
    /// Why `--part=auto` names no part.
    part_problem: Option<String>,
    /// Notices to print at once, before the line with the version, at any verbosity.
    pub(crate) notices: Vec<Notice>,
}

/// Reads a command line; the first argument is the program's name.
///
/// sysbench's general options are read and checked here, before the line with the version is
/// printed; options of databases, of the script and of truetps are only parsed. Wrong values of
/// truetps's own options count as not given until [`FirstPass::finish`] refuses them, since a
/// script may take their names.
///
/// # Errors
///
/// A third word, and wrong values or combinations of general options.
pub(crate) fn first_pass(
    argv: Vec<OsString>,
    surroundings: &Surroundings<'_>,
) -> Result<FirstPass, OptionRefusal> {
    let (command_line, mut given, mut notices) = given::take_apart(argv)?;
    if let Some(path) = given
        .get(b"config-file")
        .and_then(|entry| entry.text.clone())
        .filter(|path| !path.is_empty())
    {
        match (surroundings.read_file)(Path::new(&OsString::from_vec(path.clone()))) {
            Ok(file) => given.put_below(config_file::read(&file)),
            // sysbench continues without the file.
            Err(error) => notices.push(Notice::usage(config_file::problem(&path, &error))),
        }
    }
    if given.get(b"runs").is_none() {
        let text = Some(default_runs(surroundings.environment).into_os_string().into_vec());
        given.put(GivenOption { name: b"runs".to_vec(), text, origin: Origin::Environment });
    }
    let part_problem = name_part(&mut given, surroundings.environment).err();
    let compat = given.text(b"compat").and_then(SysbenchRelease::from_text).unwrap_or_default();
    let mut registry = Registry::new(compat);
    // A mode of 1.1 is understood in 1.0 as well, where the option is a switch.
    if given.text(b"mysql-ssl").is_some_and(|text| mysql_tls_mode(text).is_some()) {
        registry.set_kind(b"mysql-ssl", OptionType::String);
    }
    let mut pass = FirstPass {
        command_line,
        wish: FirstRequest::Script,
        compat,
        registry,
        given,
        settings: None,
        part_problem,
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
        // Scripts also see the effective value under the current name.
        for (name, text) in settings::decided(&pass.lookup(false)) {
            pass.given.put(GivenOption {
                name: name.into(),
                text: Some(text),
                origin: Origin::CommandLine,
            });
        }
    }
    pass.notices = notices;
    Ok(pass)
}

/// Replaces `--part=auto` by the part that a scheduler has given this process.
fn name_part(
    given: &mut GivenOptions,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(), String> {
    let text = given.get(b"part").and_then(|entry| String::from_utf8(entry.text.clone()?).ok());
    let Some(text) = text.filter(|text| text.starts_with("auto")) else { return Ok(()) };
    let part = Part::choose(&text, |name| environment(name)?.into_string().ok())?;
    let text = Some(part.to_string().into_bytes());
    given.put(GivenOption { name: b"part".to_vec(), text, origin: Origin::CommandLine });
    Ok(())
}

impl FirstPass {
    /// Declares an option of the script, or of a built-in test. [`FirstPass::finish`] checks its
    /// default.
    ///
    /// If a script declares one of sysbench's own names, sysbench applies the script's default even
    /// if the user gave a value, and has already used the old default itself by then (its issue
    /// 151). Here the user's value stays in force, and truetps uses the script's default if the
    /// user gave none.
    pub(crate) fn declare(&mut self, spec: OptionSpec) {
        self.registry.declare(spec);
    }

    /// Whether every option that was given is known, and every switch on or off.
    /// `script_has_options`: the script has set `sysbench.cmdline.options`, if only to an empty
    /// table, or the test is a built-in one.
    ///
    /// # Errors
    ///
    /// `invalid option: --name=text` of the first unknown one. 1.0 accepts every name if the script
    /// declares none.
    pub(crate) fn check_names(&self, script_has_options: bool) -> Result<(), OptionRefusal> {
        let refused = self.given.iter().find(|entry| match self.registry.get(&entry.name) {
            None => !self.takes_unknown(script_has_options),
            Some(one) => value::read(one.spec.kind, entry.text.as_deref()) == Err(BadText::Switch),
        });
        match refused {
            None => Ok(()),
            Some(entry) => Err(OptionRefusal::usage(
                [b"invalid option: ", entry.as_typed().as_slice()].concat(),
            )),
        }
    }

    /// All values, after all declarations. `script_has_options` as in [`FirstPass::check_names`],
    /// which is called first.
    ///
    /// # Errors
    ///
    /// Unknown names, wrong numbers of any option, wrong values of truetps's own options, and
    /// errors caused by the script's defaults.
    pub(crate) fn finish(
        mut self,
        script_has_options: bool,
    ) -> Result<SysbenchOptions, OptionRefusal> {
        self.check_names(script_has_options)?;
        if let Some(problem) =
            self.part_problem.as_ref().filter(|_| !self.registry.is_taken(b"part"))
        {
            return Err(OptionRefusal::usage(format!("--part: {problem}")));
        }
        let unknown: Vec<_> = self.given.iter().map(|entry| entry.name.clone()).collect();
        for name in &unknown {
            if self.registry.get(name).is_none() {
                self.registry.add_unknown(name);
            }
        }
        let without_options = self.takes_unknown(script_has_options);
        SysbenchOptions::new(
            self.compat,
            self.registry,
            self.given,
            &self.notices,
            without_options,
            true,
        )
    }

    /// Values before the script is known: used by a script's body that opens connections. Unknown
    /// names are texts.
    ///
    /// # Errors
    ///
    /// Wrong numbers of options known so far, and a built-in test without a command, which has no
    /// body to run.
    pub(crate) fn preliminary(&self) -> Result<SysbenchOptions, OptionRefusal> {
        let line = &self.command_line;
        if let (Some(test), None) =
            (line.test.as_ref().filter(|test| *test == BUILT_IN), &line.command)
        {
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
