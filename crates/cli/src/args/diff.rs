//! `truetps diff`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use truetps_report::{AnswerFormat, AnswerSubject};

use crate::args::SandboxPlace;
use crate::args::Words;
use crate::args::answer::{AnswerForm, format_of};
use crate::login::LoginArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps diff prod.json test.json                   two captures (truetps server capture)\n  \
    truetps diff prod.json 'mysql://root@?socket=/run/mysqld/mysqld.sock'\n  \
    truetps diff old new                               two servers of `truetps server start`\n  \
    truetps diff /etc/mysql/my.cnf prod.json           does the server have the settings of its \
    file?\n  \
    truetps diff runs/first/trial-0001 runs/latest --format md\n  \
    TRUETPS_PASSWORD_A=… TRUETPS_PASSWORD_B=… truetps diff mysql://me@db1 mysql://me@db2\n\n\
    TRUETPS_PASSWORD is for the one server without its own password; it is never sent to the other \
    server.\n\
    Exit code: 0 whether or not something differs. `truetps help settings`")]
pub(crate) struct DiffArgs {
    /// A capture, an option file, a run folder, a server as mysql://… or postgresql://…, or the
    /// name of a running server (`truetps server list`); a file or folder of that name has
    /// precedence
    #[arg(add = ArgValueCompleter::new(Words::SettingsSources))]
    pub(crate) a: String,
    /// What A is compared with, named in one of the same ways
    #[arg(add = ArgValueCompleter::new(Words::SettingsSources))]
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// The option file of --defaults-file, for A only
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file_a: Option<PathBuf>,
    /// The option file of --defaults-file, for B only
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file_b: Option<PathBuf>,
    /// Format of the answer on stdout
    #[arg(long, value_parser = format_of(AnswerSubject::Document), default_value = "text")]
    pub(crate) format: &'static AnswerFormat,
    /// Print all settings that differ, with what each means, in place of the top ten
    #[arg(long)]
    pub(crate) full: bool,
    /// As --full, and also show what is folded away: identities, positions, and unknown variables
    /// of only one version. JSON always has them
    #[arg(long)]
    pub(crate) all: bool,
}

impl DiffArgs {
    pub(crate) fn form(&self) -> AnswerForm {
        AnswerForm { format: self.format, full: self.full || self.all }
    }
}
