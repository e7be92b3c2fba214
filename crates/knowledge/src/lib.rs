//! What settings of servers mean, and what follows from them.
//!
//! - `setting` ([`Setting`]): the facts, in `data/*.toml`: a file for each group, each line with
//!   its source and the versions that it holds for. `kinds`: variables that explain nothing, or are
//!   never changed on an external server.
//! - `durability` derives from all settings together what a commit survives; `survival` compares
//!   two servers in this.
//! - `diff` ([`Diff`]): what differs between two servers, the most important differences first.
//!   `side`: the settings of a server, from any source, as they are compared. `unseen`: what a file
//!   does not show (defaults, options without a variable). `option_text`: what a line of an option
//!   file sets. `platform`: managed servers.
//! - `families`: which settings have a meaning only together, and which are the first suspects.
//!
//! *Invariant:* no clock, no file, no network. A test compares its statements with the servers
//! installed on the machine.

mod diff;
mod durability;
mod families;
mod kinds;
mod lists;
mod option_text;
mod platform;
mod server_fault;
mod setting;
mod side;
mod survival;
mod units;
mod unseen;

pub use diff::{Diff, Difference, Placed, SideFacts, diff};
pub use durability::{Durability, Loss, ReplicaFate, judge, judge_text};
pub use families::{SettingFamily, family_of, is_suspect, suspicion};
pub use kinds::{inert_reason, irreversible_reason, mariadb_privilege};
pub use lists::is_same_list;
pub use option_text::{
    GroupUse, added_line, group_use, is_loose, option_family, server_setting, setting_note,
};
pub use platform::{Platform, PlatformDurability, platform_named, platform_of};
pub use server_fault::known_fault;
pub use setting::{
    Changeability, Crash, Setting, SettingTopic, VersionSpan, find_setting, settings,
};
pub use side::{SettingsSide, SideValue};
pub use survival::{DurabilityPair, Survival};
pub use truetps_record::Version;
pub use units::{people_value, postgres_unit, postgres_units};
pub use unseen::{has_no_variable, options_without_variable};
