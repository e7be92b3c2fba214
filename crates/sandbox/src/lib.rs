//! Private servers: find a program, initialise a datadir, choose settings, start the server, verify that the answering
//! server is the started one, stop it, remove it.
//!
//! A [`Sandbox`] is a folder of truetps with a datadir in it; a [`RunningServer`] is a server that was started on it.
//!
//! - The program: `binary_search`, `binary` ([`ServerBinary`]); `catalogue`: the settings that it knows; `family`: the
//!   differences between the MySQL family and PostgreSQL (how servers get their settings, how clients reach them, how
//!   they are stopped). `postgres/` has PostgreSQL's programs, settings, template and WAL, and what a killed server
//!   leaves. Where a program is examined, a template made or a setting checked, one line delegates to it.
//! - The data: `home` has the layout of the folders, `template` and `template_build` the initialised datadirs, `copy`
//!   their copies, `sandbox_disk` the emulated disk below them.
//! - The settings: `settings` (chosen by truetps, overridden by the plan), `base_settings` (what is taken of a user's
//!   own option file), ``settings/options` (as arguments and as an option file), `variables` (as the running server has them).
//! - The process: `spawn`, `server` ([`RunningServer`]), `readiness`, `processes`, `children`; `lap` and `wear`: redo
//!   logs that were written once before they are measured. `limits`: what the host allows.
//! - Removal: `proof` (is this folder ours?), `registry` (owners and leftovers), `unfinished`, `tree`.
//! - `named/` ([`NamedServers`]): servers with a name and their programs, which `archive` unpacks. `registry` has their
//!   names, `folder` what is in the folder of a name, `locks` the two locks of a name, `adding` and `removal` the two
//!   changes.
//! - `instance/` ([`Instance`]): the process of a named server, which outlives truetps: its `files`, the `note` about
//!   its process, what is found out about both at one moment (`finding`), its `start` and `end`, and its `disk`.
//!
//! *Invariants:*
//!
//! - A server that truetps did not start is never touched: a process is only signalled through the handle of its start,
//!   or, for leftovers of a killed run and for instances, if it runs on a datadir that provably belongs to truetps; see
//!   `proof.rs`.
//! - A server never outlives truetps, not even after `kill -9` of truetps: see `spawn.rs`, which has the only `unsafe`
//!   code of this crate. The one exception is an [`Instance`], which runs until it is stopped.
//! - This crate prints nothing and judges nothing: failures are errors with a [`hint`](SandboxError::hint).

mod archive;
mod data;
mod error;
mod home;
mod housekeeping;
mod instance;
mod named;
mod program;
mod server;
mod settings;
mod system;

pub use data::template::{remove_templates, templates_bytes};
pub use data::wear::{WornIn, wear_in_redo};
pub use error::{BinaryError, CatalogueError, LimitError, NamedError, Other, SandboxError};
pub use home::home_folder::Home;
pub use home::owners::{RegistryEntry, list};
pub use home::sandbox_disk::{DISK_HELPER, SandboxDisk};
pub use housekeeping::leftovers::{Cleaned, Cleaning, Kept, clean};
pub use housekeeping::unfinished::{UnfinishedFolder, clean_unfinished, unfinished};
pub use instance::{
    DiskReady, DiskStatus, Ended, Instance, InstanceOptions, InstanceState, Status,
};
pub use named::{
    Add, Listed, NamedOptionFileReader, NamedServer, NamedServers, ServerOptionFile, Use,
    check_server_name, server_names_in,
};
pub use program::base_settings::{BaseSettings, base_settings, base_settings_of};
pub use program::binary::ServerBinary;
pub use program::binary_search::find;
pub use program::catalogue::{COUNTERPARTS, Catalogue};
pub use program::postgres::values::found_instead;
pub use program::variables::{Mismatch, effective_variables, mismatches, taken_differently};
pub use server::running::{RunningServer, StartOptions, StoppedServer};
pub use server::sandbox::{Sandbox, SandboxOptions};
pub use settings::chosen::{ServerLoad, chosen_settings, with_waits};
pub use settings::limits::{
    Needs, check_limits, check_ports, raise_open_files, raise_open_files_to_hard,
};
pub use settings::options::FileSetting;
pub use settings::reserved::load_session_reason;
pub use settings::server_settings::{Settings, binds_data, binlog_name, decides};
pub use settings::version::ServerVersion;
pub use system::host_limits::HostLimits;
pub use system::server_user::ServerUser;
pub use system::space::free_bytes;
