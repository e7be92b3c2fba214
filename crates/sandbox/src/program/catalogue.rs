//! The settings that a server knows and the values that it accepts, read from the program without
//! starting a server.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use truetps_record::{
    Family, SettingValue, did_you_mean, near_matches, same_setting, setting_number,
};

use crate::error::CatalogueError;
use crate::program::binary::ServerBinary;
use crate::program::catalogue_text::LogMessage;
use crate::program::catalogue_text::{LogSeverity, messages, parse_descriptions, parse_values};
use crate::program::postgres::catalogue;
use crate::settings::names::{canonical_name, switch_of};
use crate::settings::options::{CommandOption, FileSetting};
use crate::settings::reserved::reserved_reason;
use crate::settings::version::ServerVersion;
use crate::system::run::ProgramOutput;
use crate::system::server_user::ServerUser;

/// Maximum length of the server's description of a setting.
const DESCRIPTION_CHARS_MAX: usize = 300;
/// Prefixes that turn an option on or off, or make it optional.
const PREFIXES: [&str; 5] = ["skip_", "disable_", "enable_", "loose_", "maximum_"];

/// Names of one setting in two families or versions: a few of those in the settings knowledge,
/// which a test there compares with it.
pub const COUNTERPARTS: [(&str, &str); 3] = [
    ("innodb_log_file_size", "innodb_redo_log_capacity"),
    ("binlog_commit_wait_usec", "binlog_group_commit_sync_delay"),
    ("binlog_commit_wait_count", "binlog_group_commit_sync_no_delay_count"),
];

/// In all versions of MySQL, and of Percona Server.
const FLUSH_METHODS: [&str; 8] = [
    "fsync",
    "fdatasync",
    "littlesync",
    "nosync",
    "O_DSYNC",
    "O_DIRECT",
    "O_DIRECT_NO_FSYNC",
    "ALL_O_DIRECT",
];

/// Words of warnings after which a server does not have the value of a line.
const REFUSING: [&str; 4] = ["invalid value", "ignoring option", "unknown", "truncated"];

/// What a line of an option file does in a server.
pub(crate) enum LineEffect {
    /// The server does not start with it.
    Unknown,
    /// The server takes it for the sake of old files.
    Nothing,
    /// It abbreviates the name of this variable, which gets this value.
    Sets(String, String),
}

fn counterparts(name: &str) -> impl Iterator<Item = &'static str> {
    let both = COUNTERPARTS.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    both.filter(move |(from, _)| *from == name).map(|(_, to)| to)
}

/// The settings of one server program.
#[derive(Debug, Clone)]
pub struct Catalogue {
    binary: ServerBinary,
    user: ServerUser,
    defaults: BTreeMap<String, String>,
    descriptions: BTreeMap<String, String>,
    /// Messages that it prints without any setting.
    usual: BTreeSet<LogMessage>,
}

impl Catalogue {
    pub fn ask(binary: &ServerBinary, user: &ServerUser) -> Result<Self, CatalogueError> {
        if binary.family() == Family::Postgresql {
            let (defaults, descriptions) = catalogue::describe(binary, user)?;
            let (binary, user) = (binary.clone(), user.clone());
            return Ok(Self { binary, user, defaults, descriptions, usual: BTreeSet::new() });
        }
        let output = help(binary, user, &[])?;
        let defaults = parse_values(&output.stdout);
        if !output.status.success() || defaults.is_empty() {
            let problem = format!("--verbose --help: {}: {}", output.status, output.last_words());
            return Err(CatalogueError::Ask { binary: binary.path.clone(), problem });
        }
        Ok(Self {
            binary: binary.clone(),
            user: user.clone(),
            defaults,
            descriptions: parse_descriptions(&output.stdout),
            usual: messages(&output.stderr),
        })
    }

    /// The program's default; for a few settings the running server uses another value.
    pub fn default_value(&self, name: &str) -> Option<&str> {
        self.defaults.get(&canonical_name(name)).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.defaults.keys().map(String::as_str)
    }

    /// The server's own description of a setting, cut to a few lines.
    pub fn description(&self, name: &str) -> Option<String> {
        let text = self.descriptions.get(&canonical_name(name)).filter(|text| !text.is_empty())?;
        Some(shortened(text))
    }

    /// Removes settings that this program does not know: the defaults of truetps cover many
    /// versions.
    pub fn keep_known(&self, chosen: Vec<(String, String)>) -> Vec<(String, String)> {
        chosen.into_iter().filter(|(name, _)| self.default_value(name).is_some()).collect()
    }

    /// Whether the server knows the setting and accepts the value unchanged.
    pub fn check(&self, name: &str, value: &SettingValue) -> Result<(), CatalogueError> {
        self.check_name(name)?;
        self.check_shape(name, value)?;
        if self.binary.family() == Family::Postgresql {
            let refusal = catalogue::refusal(&self.binary, &self.user, name, value)?;
            return refusal.map_or(Ok(()), |problem| Err(self.bad_value(name, value, problem)));
        }
        if self.opens_binlog(name) {
            return Ok(());
        }
        let output = self.output_of_lines([(name, value)])?;
        let refusal = self.refusal(&output).or_else(|| self.adjustment(name, value, &output));
        refusal.map_or(Ok(()), |problem| Err(self.bad_value(name, value, problem)))
    }

    /// Like [`check`](Self::check), for one of several settings: a collation, for example, is valid
    /// beside its character set only.
    pub fn check_beside<'o>(
        &self,
        name: &'o str,
        value: &'o SettingValue,
        others: impl IntoIterator<Item = (&'o str, &'o SettingValue)>,
    ) -> Result<(), CatalogueError> {
        let alone = match self.check(name, value) {
            Err(error @ CatalogueError::Value { .. }) if self.binary.family() == Family::Mysql => {
                error
            }
            other => return other,
        };
        self.check_shape(name, value)?;
        let output = self.output_of_lines(others.into_iter().chain([(name, value)]))?;
        let refusal = self.refusal(&output).or_else(|| self.adjustment(name, value, &output));
        refusal.map_or(Ok(()), |_| Err(alone))
    }

    /// MySQL 5.5 and 5.6 open a binlog in their default folder before they print anything.
    fn opens_binlog(&self, name: &str) -> bool {
        canonical_name(name) == "log_bin"
            && self.binary.is_bootstrapped()
            && !self.binary.is_mariadb()
    }

    /// The values that the server has with all of these lines, or why it does not take them.
    pub(crate) fn together<'o>(
        &self,
        lines: impl IntoIterator<Item = (&'o str, &'o SettingValue)>,
    ) -> Result<Result<BTreeMap<String, String>, String>, CatalogueError> {
        let output =
            self.output_of_lines(lines.into_iter().filter(|(name, _)| !self.opens_binlog(name)))?;
        // What it adjusts is seen in the values.
        let refusal = self.refusal_of(&output, refuses);
        Ok(refusal.map_or_else(|| Ok(parse_values(&output.stdout)), Err))
    }

    /// The value that a server with these values has in place of this one; `None`: this one, or
    /// text that cannot be compared.
    pub(crate) fn taken_instead(
        &self,
        name: &str,
        value: &SettingValue,
        values: &BTreeMap<String, String>,
    ) -> Result<Option<String>, CatalogueError> {
        self.check_place(name, value)?;
        let canonical = canonical_name(name);
        let Some(taken) = values.get(&canonical) else { return Ok(None) };
        if self.is_switch(name) && switch_of(value).is_none() {
            return Ok(Some(if taken == "TRUE" { "ON" } else { "OFF" }.to_owned()));
        }
        // `512Mbytes` is a number to servers, and a number is one of the words that they know.
        let default = self.default_value(name).unwrap_or_default();
        let [is_number, was_number, is_of_numbers] =
            [taken.as_str(), &value.option_text(), default]
                .map(|text| setting_number(text).is_some());
        let is_word = canonical != "log_bin"
            && !is_number
            && was_number
            && !self.is_switch(name)
            && !taken.starts_with('(');
        let is_other = is_number && !was_number && is_of_numbers || is_word;
        Ok((is_other || self.differs(name, value, taken)).then(|| taken.clone()))
    }

    /// What a line does whose name is no variable's.
    pub(crate) fn effect_of(
        &self,
        name: &str,
        value: &SettingValue,
    ) -> Result<LineEffect, CatalogueError> {
        let canonical = canonical_name(name);
        let bare = PREFIXES.iter().find_map(|prefix| canonical.strip_prefix(prefix));
        // From 8.0 on, MySQL refuses unknown names only when it starts; it takes no abbreviations.
        let is_described = bare.is_some_and(|bare| self.descriptions.contains_key(bare));
        if self.binary.family() == Family::Postgresql || !(is_described || self.binary.is_mariadb())
        {
            return Ok(LineEffect::Unknown);
        }
        let output = self.output_of_lines([(name, value)])?;
        if self.refusal(&output).is_some() {
            return Ok(LineEffect::Unknown);
        }
        let name = canonical;
        let set = parse_values(&output.stdout).into_iter().find(|(variable, value)| {
            variable.starts_with(&name) && self.defaults.get(variable) != Some(value)
        });
        Ok(set.map_or(LineEffect::Nothing, |(variable, value)| LineEffect::Sets(variable, value)))
    }

    /// What a line without a value sets, if that is no switch and the server takes such a line.
    pub(crate) fn value_of_bare(
        &self,
        line: &FileSetting,
    ) -> Result<Option<String>, CatalogueError> {
        let is_of_file =
            canonical_name(&line.name) == "log_bin" || self.binary.family() == Family::Postgresql;
        if !line.is_bare || is_of_file || self.is_switch(&line.name) {
            return Ok(None);
        }
        let output = help(&self.binary, &self.user, &[CommandOption::flag(&line.name)])?;
        let taken = parse_values(&output.stdout).remove(&canonical_name(&line.name));
        Ok(taken.filter(|taken| {
            self.refusal(&output).is_none() && !taken.is_empty() && !taken.starts_with('(')
        }))
    }

    fn output_of_lines<'o>(
        &self,
        lines: impl IntoIterator<Item = (&'o str, &'o SettingValue)>,
    ) -> Result<ProgramOutput, CatalogueError> {
        let lines: Vec<_> =
            lines.into_iter().map(|(name, value)| self.binary.setting_line(name, value)).collect();
        help(&self.binary, &self.user, &lines)
    }

    /// Like [`check_name`](Self::check_name), for a name as an option file has it: a MySQL minds
    /// its case, and none of its names has a capital.
    pub(crate) fn check_written_name(&self, name: &str) -> Result<(), CatalogueError> {
        if !self.is_of_mysql() || !name.chars().any(|c| c.is_ascii_uppercase()) {
            return self.check_name(name);
        }
        let near = near_matches(&canonical_name(name), self.names());
        Err(CatalogueError::Unknown { name: name.to_owned(), server: self.server(), near })
    }

    fn server(&self) -> String {
        format!("{} {}", self.binary.flavour, self.binary.version)
    }

    pub(crate) fn is_of_mysql(&self) -> bool {
        self.binary.is_of_mysql()
    }

    /// How many parts a MySQL makes of a large pool by itself, by its manual; from 8.4 on that
    /// depends on this host.
    pub(crate) fn pool_instances(&self, pool_bytes: f64, chunk_bytes: f64) -> f64 {
        if self.binary.version < ServerVersion::new(8, 4, 0) {
            return 8.0;
        }
        let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
        (pool_bytes / chunk_bytes / 2.0).min(cpus / 4.0).floor().clamp(1.0, 64.0)
    }

    pub(crate) fn family(&self) -> Family {
        self.binary.family()
    }

    pub fn check_name(&self, name: &str) -> Result<(), CatalogueError> {
        let canonical = canonical_name(name);
        let is_postgres = self.binary.family() == Family::Postgresql;
        if let Some(reason) = reserved_reason(self.binary.family(), name) {
            return Err(CatalogueError::Reserved { name: name.to_owned(), reason });
        }
        if self.defaults.contains_key(&canonical)
            || is_postgres && catalogue::is_known(&self.binary, &self.user, name)
        {
            return Ok(());
        }
        let bare = PREFIXES.iter().find_map(|prefix| canonical.strip_prefix(prefix));
        let other = counterparts(&canonical).find(|name| self.defaults.contains_key(*name));
        let server = self.server();
        let near = match bare.filter(|bare| self.defaults.contains_key(*bare)).or(other) {
            Some(known) => vec![known.to_owned()],
            None if self.descriptions.contains_key(&canonical) => {
                return Err(CatalogueError::NoVariable { name: name.to_owned(), server });
            }
            None => near_matches(&canonical, self.names()),
        };
        Err(CatalogueError::Unknown { name: name.to_owned(), server, near })
    }

    /// Values that a program would accept silently, or take for something else.
    fn check_shape(&self, name: &str, value: &SettingValue) -> Result<(), CatalogueError> {
        self.check_place(name, value)?;
        if self.is_switch(name) && switch_of(value).is_none() {
            return Err(self.bad_value(name, value, "is neither true nor false".to_owned()));
        }
        Ok(())
    }

    /// Values that a program accepts, and a private server cannot have.
    fn check_place(&self, name: &str, value: &SettingValue) -> Result<(), CatalogueError> {
        let text = value.option_text();
        let problem = if text.chars().any(char::is_control) {
            "has a control character"
        } else if canonical_name(name) == "log_bin" && text.contains('/') {
            "the binlog stays in the private server's folder: true, false, or a name without `/`"
        } else if canonical_name(name) == "innodb_data_file_path" && text.contains('/') {
            "its files stay in the private server's folder: names without `/`"
        } else if canonical_name(name) == "innodb_flush_method" && self.binary.is_of_mysql() {
            return unknown_flush_method(&text)
                .map_or(Ok(()), |problem| Err(self.bad_value(name, value, problem)));
        } else {
            return Ok(());
        };
        Err(self.bad_value(name, value, problem.to_owned()))
    }

    fn is_switch(&self, name: &str) -> bool {
        self.default_value(name).is_some_and(|value| value == "TRUE" || value == "FALSE")
    }

    fn bad_value(&self, name: &str, value: &SettingValue, problem: String) -> CatalogueError {
        let description = self.description(name);
        CatalogueError::Value {
            name: name.to_owned(),
            value: value.to_string(),
            problem,
            description,
        }
    }

    /// The server's messages about the value.
    fn refusal(&self, output: &ProgramOutput) -> Option<String> {
        self.refusal_of(output, |message| refuses(message) || adjusts(message))
    }

    /// A program whose InnoDB refuses a value still exits successfully, so the exit code alone is
    /// not enough.
    fn refusal_of(
        &self,
        output: &ProgramOutput,
        is_against: impl Fn(&LogMessage) -> bool,
    ) -> Option<String> {
        let news = messages(&output.stderr);
        let told = news.difference(&self.usual).filter(|message| is_against(message));
        let told: Vec<_> = told.map(|(_, text)| text.as_str()).collect();
        match (told.is_empty(), output.status.success()) {
            (false, _) => Some(format!("the server says: {}", told.join("; "))),
            (true, false) => Some(format!("the server refuses it: {}", last_line(&output.stderr))),
            (true, true) => None,
        }
    }

    /// Some versions adjust a value silently in this mode, so the resulting values are compared.
    fn adjustment(
        &self,
        name: &str,
        value: &SettingValue,
        output: &ProgramOutput,
    ) -> Option<String> {
        let taken = parse_values(&output.stdout).remove(&canonical_name(name))?;
        self.differs(name, value, &taken).then(|| format!("the server would use {taken} instead"))
    }

    fn differs(&self, name: &str, value: &SettingValue, taken: &str) -> bool {
        let (wanted, default) = (value.option_text(), self.default_value(name));
        let comparable = (setting_number(&wanted).is_some() && setting_number(taken).is_some())
            || self.is_switch(name);
        // 0 and -1 mean "choose automatically" for some settings; the resulting value is then the
        // default.
        let left_to_the_server = ["0", "-1"].contains(&wanted.trim()) && default == Some(taken);
        canonical_name(name) != "log_bin"
            && comparable
            && !left_to_the_server
            && !same_setting(&wanted, taken)
    }
}

/// Whether the server does not take a value, by this message.
fn refuses((severity, text): &LogMessage) -> bool {
    match severity {
        LogSeverity::Error => !is_derived(text),
        LogSeverity::Warning => REFUSING.iter().any(|word| text.contains(word)),
    }
}

/// Whether the server takes another value.
fn adjusts((severity, text): &LogMessage) -> bool {
    *severity == LogSeverity::Warning
        && ["adjusted", "wasn't recognized"].iter().any(|word| text.contains(word))
}

fn is_derived(text: &str) -> bool {
    text.starts_with("Parsing options for plugin") || text == "Aborting"
}

/// MySQL before 8.0 accepts any word in this mode, and fails at start.
fn unknown_flush_method(text: &str) -> Option<String> {
    // A number is an index into the words, which 8.0 checks.
    if setting_number(text).is_some()
        || FLUSH_METHODS.iter().any(|known| known.eq_ignore_ascii_case(text))
    {
        return None;
    }
    let near = near_matches(text, FLUSH_METHODS);
    Some(format!("is none of {}{}", FLUSH_METHODS.join(", "), did_you_mean(&near)))
}

fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it ended with an error")
}

fn help(
    binary: &ServerBinary,
    user: &ServerUser,
    options: &[CommandOption],
) -> Result<ProgramOutput, CatalogueError> {
    let mut lines = vec![CommandOption::flag("no-defaults")];
    // MySQL prints no help at all if its default folder for `secure-file-priv` is missing, so the
    // option is set to none.
    lines.extend(binary.tree_lines());
    lines.push(CommandOption::new("secure-file-priv", ""));
    if !binary.is_mariadb() {
        // Without the first it adjusts values silently; without the second 5.7 refuses `log_bin`.
        lines.extend([
            CommandOption::new("loose-log-error-verbosity", "2"),
            CommandOption::new("server-id", "1"),
        ]);
    }
    lines.extend(options.iter().cloned());
    lines.extend([CommandOption::flag("verbose"), CommandOption::flag("help")]);
    let arguments: Vec<OsString> = lines.iter().map(CommandOption::argument).collect();
    binary.run(user, &arguments)
}

/// At most [`DESCRIPTION_CHARS_MAX`], cut at the end of a sentence or of a word.
fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(DESCRIPTION_CHARS_MAX) else {
        return text.to_owned();
    };
    match (text[..end].rfind(". "), text[..end].rfind(' ')) {
        (Some(sentence), _) => text[..=sentence].to_owned(),
        (None, word) => format!("{} …", &text[..word.unwrap_or(end)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flush_methods() {
        assert_eq!(
            (unknown_flush_method("O_DIRECT"), unknown_flush_method("o_dsync")),
            (None, None)
        );
        let problem = unknown_flush_method("O_DIRCT").unwrap();
        assert!(problem.contains("did you mean `O_DIRECT`"), "{problem}");
    }

    #[test]
    fn descriptions_end_with_a_sentence_or_a_word() {
        assert_eq!(shortened("Short."), "Short.");
        let sentences =
            format!("{}. One more", "word ".repeat(DESCRIPTION_CHARS_MAX / 5 - 1).trim());
        assert!(
            shortened(&format!("{sentences} {}", "x".repeat(100))).ends_with("word."),
            "{sentences}"
        );
        assert!(shortened(&"word ".repeat(DESCRIPTION_CHARS_MAX)).ends_with("word …"));
    }
}
