//! Private servers: find a program, initialise a datadir, choose settings, start the server, verify that the answering
//! server is the started one, stop it, remove it.
//!
//! A [`Sandbox`] is a folder of truetps with a datadir in it; a [`RunningServer`] is a server that was started on it.
//!
//! Each folder is a floor, and imports only those above it in this list (`cargo xtask tidy` checks that):
//!
//! 1. `error`: all errors, with their hints.
//! 2. `system`: users, files, locks, free space, programs, processes and the servers on a datadir, from `/proc`.
//! 3. `settings`: [`Settings`], those that truetps chooses (`chosen`) and those that a plan may not set (`reserved`),
//!    as arguments and as an option file (`options`), and what they need of the host (`limits`).
//! 4. `program`: its search, its version ([`ServerBinary`]), the settings that it knows ([`Catalogue`]), what is taken
//!    of a user's own option file (`base_settings`), and the settings of the running server (`variables`).
//! 5. `home`: the layout of the folders (`home_folder`), the proof that one is ours (`proof`), the owners of private
//!    servers (`owners`), the paths of a server, and the emulated disk below its data (`sandbox_disk`).
//! 6. `data`: initialised datadirs (`template`), what a killed PostgreSQL leaves (`postgres_state`), and redo logs that
//!    are written once before they are measured (`wear`, `lap`, `postgres_wal`).
//! 7. `server`: the differences between the families (`family`), the folder of a private server, its start
//!    ([`RunningServer`]) and its end.
//! 8. `named` ([`NamedServers`]): servers with a name: their registrations, folders, locks and disks.
//! 9. `instance` ([`Instance`]): the process of a named server, which outlives truetps: its files, the note about its
//!    process, what is found out about both at one moment (`finding`), its start and end.
//! 10. `housekeeping`: opening a home, adding and removing named servers, and removing leftovers.
//!
//! *Invariants:*
//!
//! - A server that truetps did not start is never touched: a process is only signalled through the handle of its start,
//!   or, for leftovers of a killed run and for instances, if it runs on a datadir that provably belongs to truetps; see
//!   `home/proof.rs`.
//! - A server never outlives truetps, not even after `kill -9` of truetps: see `system/spawn.rs`, which has the only `unsafe`
//!   code of this crate. The one exception is an [`Instance`], which runs until it is stopped.
//! - This crate prints nothing and judges nothing: failures are errors with a [`hint`](SandboxError::hint).

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
pub use housekeeping::adding::{Add, NamedOptionFileReader};
pub use housekeeping::leftovers::{Cleaned, Cleaning, Kept, clean};
pub use housekeeping::unfinished::{UnfinishedFolder, clean_unfinished, unfinished};
pub use instance::{
    DiskReady, DiskStatus, Ended, Instance, InstanceOptions, InstanceState, Status,
};
pub use named::{
    Listed, NamedServer, NamedServers, ServerOptionFile, Use, check_server_name, server_names_in,
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
