//! Which sysbench version is followed where versions differ.

/// `--compat=1.0|1.1`. Options of both are known in either, including the old names that 1.1 has
/// dropped; the version decides defaults and the handling of unknown names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SysbenchRelease {
    /// 1.0.20, the last release: `--rand-type` is `special`, `--mysql-ssl` a switch, and a script
    /// that declares no options receives unknown ones as texts.
    #[default]
    V1_0,
    /// The head of development: `--rand-type` is `uniform`, `--mysql-ssl` names a mode, unknown
    /// options are refused.
    V1_1,
}

impl SysbenchRelease {
    /// None for a text that is neither version.
    pub(super) fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            b"1.0" => Some(Self::V1_0),
            b"1.1" => Some(Self::V1_1),
            _ => None,
        }
    }

    /// The version that scripts see (`sysbench.version`).
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0.20",
            Self::V1_1 => "1.1.0",
        }
    }
}
