//! A line of an option file.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionLine {
    Group(String),
    /// A name as it is written; no value where there is no `=`. What is not UTF-8 has replacement
    /// characters.
    Setting {
        name: String,
        value: Option<String>,
    },
    /// `include`, `includedir`, `include_dir`, `include_if_exists`, and what it names.
    Include {
        how: String,
        path: String,
    },
    /// A server does not start with this line.
    Fault(&'static str),
    /// Servers read a part of it; which one depends on their version.
    Cut(&'static str),
}

pub(crate) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
