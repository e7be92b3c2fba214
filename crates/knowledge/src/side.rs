//! One side of a comparison: the settings of a server, from any source.

use std::collections::BTreeMap;

use truetps_record::{Family, Flavour, ServerFacts, Version, is_secret, same_setting};

use crate::platform::{Platform, platform_of};
use crate::setting::{Setting, VersionSpan};

/// The settings of one server, from any source.
#[derive(Debug, Clone, Default)]
pub struct SettingsSide {
    /// As the user named it.
    pub name: String,
    /// `capture`, `server`, `run folder` or `option file`.
    pub kind: String,
    /// `None` for an option file, which does not have it.
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    /// The family that the form and the names of an option file indicate.
    pub family: Option<Family>,
    /// Whether the list is complete: a missing setting is one that the server does not have.
    pub is_complete: bool,
    pub settings: BTreeMap<String, SideValue>,
    /// What could not be read, or was chosen, and why.
    pub notes: Vec<String>,
}

impl SettingsSide {
    /// What a server was set to in a trial, without secrets.
    pub fn recorded(
        name: String,
        server: Option<&ServerFacts>,
        variables: &BTreeMap<String, String>,
    ) -> Self {
        let known = variables.iter().filter(|(name, value)| !is_secret(name, value));
        Self {
            name,
            kind: "run folder".to_owned(),
            flavour: server.map(|server| server.flavour),
            version: server.map(|server| server.version.clone()),
            is_complete: true,
            settings: known.map(|(name, text)| (name.clone(), SideValue::new(text))).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn family(&self) -> Option<Family> {
        self.flavour.map(Family::from).or(self.family)
    }

    /// `None` for an ordinary server, and for an option file, which does not show it.
    pub fn platform(&self) -> Option<&'static Platform> {
        platform_of(
            self.flavour?,
            self.settings.iter().map(|(name, found)| (name.as_str(), found.value.as_str())),
        )
    }

    /// Whether the two are known to be of different families: neither side's rules apply to the
    /// other.
    pub(crate) fn is_of_other_family(&self, other: &Self) -> bool {
        self.family().zip(other.family()).is_some_and(|(one, other)| one != other)
    }

    pub(crate) fn parsed_version(&self) -> Option<Version> {
        self.version.as_deref().and_then(Version::parse)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(|found| found.value.as_str())
    }

    /// What the knowledge base says of a setting in this side's version.
    pub(crate) fn span_of<'s>(&self, setting: &'s Setting) -> Option<&'s VersionSpan> {
        setting.span(self.flavour?, &self.parsed_version()?)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideValue {
    pub value: String,
    /// Where it was set: a file, a command line, `compiled`.
    pub origin: Option<String>,
    /// What the server itself calls the default.
    pub default: Option<String>,
    /// What PostgreSQL counts the value in: `8kB`, `ms`.
    pub unit: Option<String>,
    /// A line `loose-…` of an option file: a server that does not know the name ignores it.
    pub is_loose: bool,
    /// A line of an option file with the name alone, which is `ON` for a switch, and 1 for a
    /// number.
    pub is_bare: bool,
}

impl SideValue {
    pub(crate) fn new(value: &str) -> Self {
        Self { value: value.to_owned(), ..Self::default() }
    }

    /// Whether the server itself says so: in the words of MySQL, MariaDB or PostgreSQL.
    pub(crate) fn is_default(&self) -> bool {
        let origin = self.origin.as_deref();
        origin.is_some_and(|origin| ["compiled", "compile-time", "default"].contains(&origin))
            || self.default.as_deref().is_some_and(|default| same_setting(default, &self.value))
    }
}
