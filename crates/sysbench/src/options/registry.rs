//! All options: the built-in ones from the start, a script's as it declares them.

use std::collections::BTreeMap;

use super::{OptionGroup, OptionSpec, OptionType, SysbenchRelease, builtin, key};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) spec: OptionSpec,
    pub(crate) group: OptionGroup,
    /// The declaration that the script's one hides.
    pub(crate) hidden: Option<(OptionGroup, OptionSpec)>,
}

/// Options by name; `-` and `_` are equal in names.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    all: Vec<Registered>,
    indexes: BTreeMap<Vec<u8>, usize>,
}

impl Registry {
    /// The options known before a script is read.
    pub(crate) fn new(compat: SysbenchRelease) -> Self {
        let all: Vec<_> = builtin::options(compat)
            .map(|(group, spec)| Registered { spec, group, hidden: None })
            .collect();
        let indexes = all.iter().enumerate().map(|(index, one)| (one.spec.key(), index)).collect();
        Self { all, indexes }
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Registered> {
        self.indexes.get(&key(name)).map(|index| &self.all[*index])
    }

    /// All of them, in the order of declaration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.all.iter()
    }

    pub(crate) fn group(&self, group: OptionGroup) -> impl Iterator<Item = &OptionSpec> {
        self.all.iter().filter(move |one| one.group == group).map(|one| &one.spec)
    }

    /// Declares a script's option. If a name is declared twice, the second declaration applies.
    pub(crate) fn declare(&mut self, spec: OptionSpec) {
        let Some(index) = self.indexes.get(&spec.key()) else {
            self.add(OptionGroup::Script, spec);
            return;
        };
        let one = &mut self.all[*index];
        let before = std::mem::replace(&mut one.spec, spec);
        if one.group != OptionGroup::Script {
            one.hidden = Some((one.group, before));
            one.group = OptionGroup::Script;
        }
    }

    /// Adds an undeclared option, as text.
    pub(super) fn add_unknown(&mut self, name: &[u8]) {
        self.add(OptionGroup::Unknown, OptionSpec::new(name, "", None, OptionType::String));
    }

    pub(super) fn set_kind(&mut self, name: &[u8], kind: OptionType) {
        if let Some(index) = self.indexes.get(&key(name)) {
            self.all[*index].spec.kind = kind;
        }
    }

    /// truetps's or sysbench's declaration, even if a script has hidden it.
    pub(super) fn original(&self, name: &[u8]) -> Option<&OptionSpec> {
        let one = self.get(name)?;
        Some(one.hidden.as_ref().map_or(&one.spec, |(_, spec)| spec))
    }

    /// Whether a script has taken one of truetps's names.
    pub(crate) fn is_taken(&self, name: &[u8]) -> bool {
        self.get(name).is_some_and(|one| matches!(one.hidden, Some((OptionGroup::Ours, _))))
    }

    fn add(&mut self, group: OptionGroup, spec: OptionSpec) {
        self.indexes.insert(spec.key(), self.all.len());
        self.all.push(Registered { spec, group, hidden: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> OptionSpec {
        OptionSpec::new(name, "text", Some(b"8"), OptionType::Int)
    }

    #[test]
    fn names_are_found_with_dashes_and_with_underscores() {
        let registry = Registry::new(SysbenchRelease::V1_0);
        for name in ["mysql-ignore-errors", "mysql_ignore_errors", "mysql-ignore_errors"] {
            assert_eq!(registry.get(name.as_bytes()).unwrap().group, OptionGroup::Mysql, "{name}");
        }
        assert!(registry.get(b"mysql").is_none(), "names are not abbreviated");
        assert!(registry.get(b"").is_none());
    }

    #[test]
    fn every_name_is_there_once_and_has_a_description() {
        let registry = Registry::new(SysbenchRelease::V1_1);
        assert_eq!(registry.all.len(), registry.indexes.len());
        assert!(registry.iter().all(|one| !one.spec.description.is_empty()));
    }

    #[test]
    fn defaults_that_differ_are_decided_by_the_version() {
        let default = |compat, name: &[u8]| {
            let spec = Registry::new(compat).get(name).unwrap().spec.clone();
            (spec.kind, String::from_utf8(spec.default.unwrap()).unwrap())
        };
        assert_eq!(
            default(SysbenchRelease::V1_0, b"rand-type"),
            (OptionType::String, "special".into())
        );
        assert_eq!(
            default(SysbenchRelease::V1_1, b"rand-type"),
            (OptionType::String, "uniform".into())
        );
        assert_eq!(default(SysbenchRelease::V1_0, b"mysql-ssl"), (OptionType::Bool, "off".into()));
        assert_eq!(
            default(SysbenchRelease::V1_1, b"mysql-ssl"),
            (OptionType::String, "disabled".into())
        );
    }

    #[test]
    fn a_script_declares_redefines_and_takes() {
        let mut registry = Registry::new(SysbenchRelease::V1_0);
        registry.declare(spec("table-size"));
        registry.declare(spec("table_size"));
        registry.declare(spec("threads"));
        registry.declare(spec("workers"));
        registry.declare(spec("workers"));
        let hidden =
            |name: &[u8]| registry.get(name).unwrap().hidden.as_ref().map(|(group, _)| *group);
        assert_eq!(hidden(b"table-size"), None);
        assert_eq!(hidden(b"threads"), Some(OptionGroup::General));
        assert_eq!(hidden(b"workers"), Some(OptionGroup::Ours));
        assert!(registry.is_taken(b"workers") && !registry.is_taken(b"threads"));
        assert_eq!(registry.original(b"workers").unwrap().default.as_deref(), Some(&b"0"[..]));
        let names: Vec<_> =
            registry.group(OptionGroup::Script).map(|spec| spec.name.clone()).collect();
        assert_eq!(names, [b"threads".to_vec(), b"workers".to_vec(), b"table_size".to_vec()]);
    }
}
