//! Options when all of them are known.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::given::{GivenOptions, Origin};
use super::lookup::Lookup;
use super::value::{self, BadText, OptionValue};
use super::{
    MysqlSettings, Notice, OptionGroup, OptionRefusal, OptionSpec, PgsqlSettings, Registry,
    RunSettings, SysbenchRelease, database, key,
};

/// Every option with its value.
///
/// Getters find names with `-` and with `_`. Each returns None if there is no such option, or its
/// type has no such value.
#[derive(Debug, Clone)]
pub(crate) struct SysbenchOptions {
    pub(crate) compat: SysbenchRelease,
    pub(crate) registry: Registry,
    given: GivenOptions,
    values: BTreeMap<Vec<u8>, OptionValue>,
    /// The settings of known options, including defaults of the script.
    pub(crate) settings: RunSettings,
    /// Notices to print now, besides the notices of the first pass.
    pub(crate) notices: Vec<Notice>,
    /// Whether the script declares none: it is of the old kind, and sees all typed options.
    script_has_none: bool,
}

impl SysbenchOptions {
    /// Whether the command line or a file names the folder of runs.
    pub(crate) fn names_runs(&self) -> bool {
        self.given.get(b"runs").is_some_and(|entry| entry.origin != Origin::Environment)
    }

    /// `strict`: wrong values of truetps's own options are refused instead of ignored.
    pub(super) fn new(
        compat: SysbenchRelease,
        registry: Registry,
        given: GivenOptions,
        said: &[Notice],
        script_has_none: bool,
        strict: bool,
    ) -> Result<Self, OptionRefusal> {
        let values = read_all(&registry, &given, strict)?;
        let lookup = Lookup { registry: &registry, given: &given, strict };
        let (settings, mut notices) = RunSettings::read(&lookup)?;
        notices.retain(|notice| !said.contains(notice));
        Ok(Self { compat, registry, given, values, settings, notices, script_has_none })
    }

    /// Whether no statement is prepared by the server: `--db-ps-mode`.
    ///
    /// # Errors
    ///
    /// An unknown mode. Call it when a script requests a driver: other scripts never name one.
    pub(crate) fn emulates_prepared(&self) -> Result<bool, OptionRefusal> {
        database::emulates_prepared(&self.lookup())
    }

    /// `--mysql-*`.
    ///
    /// # Errors
    ///
    /// An invalid port or TLS mode.
    pub(crate) fn mysql(&self) -> Result<MysqlSettings, OptionRefusal> {
        MysqlSettings::read(&self.lookup(), self.compat)
    }

    /// `--pgsql-*`.
    ///
    /// # Errors
    ///
    /// An invalid port or TLS mode.
    pub(crate) fn pgsql(&self) -> Result<PgsqlSettings, OptionRefusal> {
        PgsqlSettings::read(&self.lookup())
    }

    pub(crate) fn value(&self, name: &str) -> Option<&OptionValue> {
        self.values.get(&key(name.as_bytes()))
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        if let OptionValue::Text(text) = self.value(name)? { Some(text) } else { None }
    }

    /// The content of `sysbench.opt`: names with `_`, in order, with their values.
    ///
    /// truetps's own options are not included: sysbench has none of these names, and scripts that
    /// declare none get all options as globals, where `format` or `runs` may have another meaning.
    /// Such a script sees a typed one as text.
    pub(crate) fn export(&self) -> impl Iterator<Item = (&[u8], Cow<'_, OptionValue>)> {
        self.values.iter().filter_map(|(name, value)| {
            if self.registry.get(name)?.group != OptionGroup::Ours {
                return Some((name.as_slice(), Cow::Borrowed(value)));
            }
            let entry = self.given.get(name).filter(|entry| entry.origin == Origin::CommandLine)?;
            let text = OptionValue::Text(entry.text.clone().unwrap_or_default());
            self.script_has_none.then_some((name.as_slice(), Cow::Owned(text)))
        })
    }

    /// Whether the user gave it a value.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.lookup().is_given(name)
    }

    /// Whether the user gave an option of this group.
    pub(crate) fn has_given(&self, group: OptionGroup) -> bool {
        self.given
            .iter()
            .any(|entry| self.registry.get(&entry.name).is_some_and(|one| one.group == group))
    }

    /// The options that the user gave for the script, with `_` in their names, and how often the
    /// script has named each by declaring it.
    pub(crate) fn given_to_script(&self) -> Vec<(String, u32)> {
        let given = self.values.keys().filter(|name| self.given.get(name).is_some());
        let of_script = given.filter_map(|name| match self.registry.get(name)?.group {
            OptionGroup::Script => Some((String::from_utf8_lossy(name).into_owned(), 1)),
            OptionGroup::Unknown => Some((String::from_utf8_lossy(name).into_owned(), 0)),
            _ => None,
        });
        of_script.collect()
    }

    /// The values of options that change what a script does, as on a command line.
    pub(crate) fn typed_for_script(&self) -> Vec<String> {
        let options = self.registry.iter().filter(|one| {
            matches!(one.group, OptionGroup::Rand | OptionGroup::Script | OptionGroup::Unknown)
        });
        options.map(|one| self.typed(&one.spec)).collect()
    }

    fn typed(&self, spec: &OptionSpec) -> String {
        let text = text_of(spec, &self.given).unwrap_or_default();
        format!("--{}={}", String::from_utf8_lossy(&spec.name), String::from_utf8_lossy(text))
    }

    fn lookup(&self) -> Lookup<'_> {
        Lookup { registry: &self.registry, given: &self.given, strict: true }
    }
}

/// For tests.
#[cfg(test)]
impl SysbenchOptions {
    /// truetps's own options that the script has declared as its own; their settings are defaults.
    pub(crate) fn redeclared_options(&self) -> impl Iterator<Item = &OptionSpec> {
        self.registry.group(OptionGroup::Script).filter(|spec| self.registry.is_taken(&spec.name))
    }

    pub(crate) fn bool(&self, name: &str) -> Option<bool> {
        if let OptionValue::Bool(on) = self.value(name)? { Some(*on) } else { None }
    }

    /// A whole number. Parts of a number with a fraction are cut off.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.double(name).map(|number| number as i64)
    }

    /// Bytes, exact where a Lua number is not.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        self.double(name)?;
        self.text(name).map(|text| super::number::size(&text))
    }

    pub(crate) fn double(&self, name: &str) -> Option<f64> {
        if let OptionValue::Number(number) = self.value(name)? { Some(*number) } else { None }
    }

    /// A text; bytes that are not UTF-8 are replaced.
    pub(crate) fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        self.bytes(name).map(String::from_utf8_lossy)
    }

    pub(crate) fn list(&self, name: &str) -> Option<&[Vec<u8>]> {
        if let OptionValue::List(list) = self.value(name)? { Some(list) } else { None }
    }

    /// The text that the value was read from, for any type: the given one, or the default. Empty if
    /// there is none.
    pub(crate) fn text(&self, name: &str) -> Option<Vec<u8>> {
        let spec = &self.registry.get(name.as_bytes())?.spec;
        Some(text_of(spec, &self.given).unwrap_or_default().to_vec())
    }

    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.given.get(name.as_bytes()).map_or(Origin::Default, |entry| entry.origin)
    }

    /// Whether it was typed on the command line.
    pub(crate) fn was_typed(&self, name: &str) -> bool {
        self.origin(name) == Origin::CommandLine
    }
}

/// Values in sysbench's order, so that the first refusal is the same: built-in options first, then
/// the script's by name. Unless `strict`, a wrong value of a truetps option is skipped: the script
/// may declare that name.
fn read_all(
    registry: &Registry,
    given: &GivenOptions,
    strict: bool,
) -> Result<BTreeMap<Vec<u8>, OptionValue>, OptionRefusal> {
    let (mut scripts, builtin): (Vec<_>, Vec<_>) = registry
        .iter()
        .partition(|one| matches!(one.group, OptionGroup::Script | OptionGroup::Unknown));
    let mut values = BTreeMap::new();
    for one in builtin {
        match read_one(&one.spec, given) {
            Err(_) if !strict && one.group == OptionGroup::Ours => None,
            value => values.insert(one.spec.key(), value?),
        };
    }
    scripts.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
    for one in scripts {
        values.insert(one.spec.key(), read_one(&one.spec, given)?);
    }
    Ok(values)
}

fn read_one(spec: &OptionSpec, given: &GivenOptions) -> Result<OptionValue, OptionRefusal> {
    let text = text_of(spec, given);
    value::read(spec.kind, text).map_err(|bad| match (bad, text.unwrap_or_default()) {
        (BadText::Number, text) => OptionRefusal::invalid_value(&spec.key(), text),
        (BadText::Switch, text) => {
            OptionRefusal::usage([b"invalid option: --", spec.name.as_slice(), b"=", text].concat())
        }
    })
}

fn text_of<'a>(spec: &'a OptionSpec, given: &'a GivenOptions) -> Option<&'a [u8]> {
    given.get(&spec.name).map_or(spec.default.as_deref(), |entry| entry.text.as_deref())
}
