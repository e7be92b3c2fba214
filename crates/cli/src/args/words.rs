//! What a shell may complete, which `completions` answers.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// What a word may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Words {
    Plans,
    Workloads,
    Servers,
    Disks,
    /// Recorded experiments, and `latest`.
    Runs,
    /// Servers, runs, and files of settings.
    SettingsSources,
    /// Commands and pages of the documentation.
    HelpTopics,
}
