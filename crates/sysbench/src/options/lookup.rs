//! Values of truetps's and of sysbench's options by name, from any source.

use super::given::{GivenOptions, Origin};
use super::{OptionRefusal, Registry, key, number, value};

/// Texts of known options, read with the types of the known options, even if a script has declared
/// the name with another type.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) registry: &'a Registry,
    pub(super) given: &'a GivenOptions,
    /// Whether wrong values of truetps's own options are refused. Not before the script is read: it
    /// may take a name.
    pub(super) strict: bool,
}

impl<'a> Lookup<'a> {
    /// The text of an option: the given one, or the default, with a script's default first. None
    /// means no text.
    pub(super) fn text(&self, name: &str) -> Option<&'a [u8]> {
        let name = name.as_bytes();
        if self.registry.is_taken(name) {
            return self.registry.original(name)?.default.as_deref();
        }
        match self.given.get(name) {
            Some(entry) => entry.text.as_deref(),
            None => self.registry.get(name)?.spec.default.as_deref(),
        }
    }

    /// The text, empty if there is none.
    pub(super) fn bytes(&self, name: &str) -> &'a [u8] {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn list(&self, name: &str) -> Vec<Vec<u8>> {
        value::list(self.bytes(name))
    }

    pub(super) fn int(&self, name: &str) -> Result<i32, OptionRefusal> {
        let text = self.bytes(name);
        number::int(text).ok_or_else(|| OptionRefusal::invalid_value(&key(name.as_bytes()), text))
    }

    /// A wrong text gives the default: it is refused where names are checked.
    pub(super) fn switch(&self, name: &str) -> bool {
        let Some(text) = self.text(name) else { return true };
        value::switch(text).or_else(|| value::switch(self.default(name)?)).unwrap_or(false)
    }

    /// The text as one of some words, for truetps's own options.
    pub(super) fn choice<T>(
        &self,
        name: &str,
        right: &str,
        of: impl Fn(&'a [u8]) -> Option<T>,
    ) -> Result<T, OptionRefusal> {
        let text = self.bytes(name);
        if let Some(value) = of(text) {
            return Ok(value);
        }
        match of(self.default(name).unwrap_or_default()) {
            Some(value) if !self.strict => Ok(value),
            _ => Err(OptionRefusal::invalid_choice(&key(name.as_bytes()), text, right)),
        }
    }

    /// Whether a value was given, on the command line or in a file.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given
            .get(name.as_bytes())
            .is_some_and(|entry| matches!(entry.origin, Origin::CommandLine | Origin::ConfigFile))
    }

    /// The default of truetps's or sysbench's declaration.
    fn default(&self, name: &str) -> Option<&'a [u8]> {
        self.registry.original(name.as_bytes())?.default.as_deref()
    }
}
