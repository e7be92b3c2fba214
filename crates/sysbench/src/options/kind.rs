//! Types and groups of options, and the entry registered under a name.

/// The owner of an option; the help page has a section for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionGroup {
    General,
    Rand,
    Log,
    /// Shown together with the log's options, but kept separate.
    Latency,
    Database,
    Mysql,
    Pgsql,
    /// Options that sysbench does not have. Scripts do not see them in `sysbench.opt`, and may take
    /// their names.
    Ours,
    Script,
    /// Undeclared: given to a script of the old kind, which declares no options.
    Unknown,
}

/// The type of an option, with the number that scripts know it by (`sysbench.cmdline.ARG_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionType {
    Null = 0,
    Bool = 1,
    /// Whole number of 32 bits.
    Int = 2,
    /// Bytes, with the suffixes K, M, G and T of 1024.
    Size = 3,
    Double = 4,
    String = 5,
    /// Texts with commas between them.
    List = 6,
    File = 7,
}

/// `sysbench.cmdline.ARG_MAX`: one more than the last type.
pub(crate) const KIND_MAX: u8 = 8;

impl OptionType {
    pub(crate) const ALL: [Self; KIND_MAX as usize] = [
        Self::Null,
        Self::Bool,
        Self::Int,
        Self::Size,
        Self::Double,
        Self::String,
        Self::List,
        Self::File,
    ];

    /// The name after `sysbench.cmdline.ARG_`.
    #[cfg(test)]
    pub(crate) fn lua_name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool => "BOOL",
            Self::Int => "INT",
            Self::Size => "SIZE",
            Self::Double => "DOUBLE",
            Self::String => "STRING",
            Self::List => "LIST",
            Self::File => "FILE",
        }
    }

    /// The type of a number that a script gives; none for a number that is no type.
    pub(crate) fn from_number(number: i64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number).copied())
    }

    /// What help shows after the name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Null => "",
            Self::Bool => "[=on|off]",
            Self::Int | Self::Double => "=N",
            Self::Size => "=SIZE",
            Self::String => "=STRING",
            Self::List => "=[LIST,...]",
            Self::File => "=FILENAME",
        }
    }
}

/// One option as declared, by truetps or by a script. Names and texts of scripts are bytes, like
/// Lua's strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionSpec {
    /// As declared: `-` and `_` are kept for help, but are equal when names are compared.
    pub(crate) name: Vec<u8>,
    pub(crate) description: Vec<u8>,
    /// The text of the default value. None is an empty value that help does not show.
    pub(crate) default: Option<Vec<u8>>,
    pub(crate) kind: OptionType,
}

impl OptionSpec {
    pub(crate) fn new(
        name: impl Into<Vec<u8>>,
        description: impl Into<Vec<u8>>,
        default: Option<&[u8]>,
        kind: OptionType,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            default: default.map(<[u8]>::to_vec),
            kind,
        }
    }

    /// The name that it is found by.
    pub(crate) fn key(&self) -> Vec<u8> {
        key(&self.name)
    }
}

/// A name with `_` for each `-`: how names are compared, shown in refusals and exported to scripts.
pub(crate) fn key(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| if *byte == b'-' { b'_' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_types_are_those_that_scripts_know() {
        for (number, kind) in OptionType::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(OptionType::from_number(number as i64), Some(kind));
        }
        assert_eq!(OptionType::from_number(KIND_MAX.into()), None);
        assert_eq!(OptionType::from_number(-1), None);
        assert_eq!(
            OptionType::ALL.map(OptionType::lua_name).join(" "),
            "NULL BOOL INT SIZE DOUBLE STRING LIST FILE"
        );
    }

    #[test]
    fn dashes_and_underscores_are_the_same() {
        assert_eq!(key(b"a-b_c"), b"a_b_c");
        assert_eq!(OptionSpec::new("x-y", "", None, OptionType::Int).key(), b"x_y");
    }
}
