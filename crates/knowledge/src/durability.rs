//! What a commit survives, judged by the settings together: no single one of them decides it.
//!
//! It says what documentation and code of the servers promise, if the disk keeps what it has flushed. It has seen no crash.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use truetps_record::{Flavour, Version, same_setting, setting_number};

use crate::setting::known;
use crate::units::amount;

/// What is gone after a crash of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "loss", rename_all = "snake_case")]
pub enum Loss {
    Nothing,
    /// About so many seconds of acknowledged transactions.
    Seconds {
        seconds: f64,
    },
    /// Up to so many groups of commits.
    Groups {
        groups: u64,
    },
    /// The last commits, as far back as the operating system has not written by itself.
    LastCommits,
    /// More than the last commits: data that cannot be read any more.
    Damage,
    Unknown,
}

/// What a replica has, compared with its source after the source's power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaFate {
    /// There is no log that one could follow.
    None,
    /// It can go on: what it lacks will come, and it has nothing that its source has lost.
    Follows,
    /// It can have other transactions than its source.
    Differs,
    /// A commit was acknowledged only when it had it (as long as the wait was not given up).
    HasIt,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Durability {
    pub process_crash: Loss,
    pub power_cut: Loss,
    pub replica: ReplicaFate,
    /// All of it in one line, with the settings that decide it.
    pub sentence: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("loses nothing"),
            Self::Seconds { seconds } if *seconds < 1.0 => {
                write!(f, "can lose up to about {:.0} ms of acknowledged transactions", seconds * 1e3)
            }
            Self::Seconds { seconds } => write!(f, "can lose up to about {seconds} s of acknowledged transactions"),
            Self::Groups { groups } => write!(f, "can lose up to {groups} groups of acknowledged transactions"),
            Self::LastCommits => f.write_str("can lose the last acknowledged transactions"),
            Self::Damage => f.write_str("can damage the data for good"),
            Self::Unknown => f.write_str("loses nobody knows what"),
        }
    }
}

/// The settings of one server, with defaults where a setting is not given.
struct View<'a> {
    flavour: Flavour,
    version: &'a Version,
    given: &'a BTreeMap<String, String>,
}

impl View<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let default = || known(name)?.span(self.flavour, self.version)?.default.as_deref();
        self.given.get(name).map(String::as_str).or_else(default)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.text(name).is_some_and(|found| same_setting(value, found))
    }

    fn number(&self, name: &str) -> Option<f64> {
        setting_number(self.text(name)?)
    }
}

/// What is lost, and why.
struct Verdict {
    loss: Loss,
    why: String,
}

impl Verdict {
    fn new(loss: Loss, why: impl Into<String>) -> Self {
        Self { loss, why: why.into() }
    }

    /// `a power cut can lose …: the reason`.
    fn told(&self, crash: &str) -> String {
        let Self { loss, why } = self;
        if why.is_empty() { format!("{crash} {loss}") } else { format!("{crash} {loss} ({why})") }
    }
}

/// What a commit on this server survives. `variables` are global variables (or settings of an option file, where what is
/// not given has its default), and the status `innodb_redo_log_enabled` of MySQL where it is known.
pub fn judge(flavour: Flavour, version: &Version, variables: &BTreeMap<String, String>) -> Durability {
    let view = View { flavour, version, given: variables };
    let (process, power, (replica, replica_text)) = match flavour {
        Flavour::Postgresql => (postgres_process(&view), postgres_power(&view), postgres_replica(&view)),
        _ => (process_crash(&view), power_cut(&view), mysql_replica(&view)),
    };
    // Other engines have rules of their own, and Aria or MyISAM none.
    let commit = if flavour == Flavour::Postgresql { "a commit" } else { "a commit of InnoDB tables" };
    let crashes = match (&process, &power) {
        (Verdict { loss: Loss::Nothing, .. }, Verdict { loss: Loss::Nothing, .. }) => {
            format!("{commit} survives a process crash and a power cut, if the disk keeps what it has flushed")
        }
        (Verdict { loss: Loss::Nothing, .. }, power) => {
            format!("{commit} survives a process crash; {}", power.told("a power cut"))
        }
        (process, power) if process.loss == power.loss && process.why == power.why => {
            process.told("a process crash or a power cut")
        }
        (process, power) => format!("{}; {}", process.told("a process crash"), power.told("a power cut")),
    };
    let sentence = format!("{crashes}; {replica_text}");
    Durability { process_crash: process.loss, power_cut: power.loss, replica, sentence }
}

const FLUSH: &str = "innodb_flush_log_at_trx_commit";

fn flush_level(view: &View<'_>) -> Option<u8> {
    view.number(FLUSH).map(|level| level as u8)
}

/// Seconds between flushes that no commit asks for.
fn timeout_s(view: &View<'_>) -> f64 {
    view.number("innodb_flush_log_at_timeout").unwrap_or(1.0).max(1.0)
}

fn has_binlog(view: &View<'_>) -> bool {
    // `log_bin = /path/name` of an option file turns it on, too.
    view.text("log_bin").is_some_and(|text| !["off", "0", "false"].contains(&text.to_lowercase().as_str()))
}

/// What stops everything else from mattering.
fn redo_is_off(view: &View<'_>) -> Option<Verdict> {
    let off = view.given.get("innodb_redo_log_enabled").is_some_and(|found| same_setting("OFF", found));
    off.then(|| Verdict::new(Loss::Damage, "the redo log is switched off: the whole instance can be lost"))
}

fn process_crash(view: &View<'_>) -> Verdict {
    if let Some(off) = redo_is_off(view) {
        return off;
    }
    match flush_level(view) {
        Some(0) => Verdict::new(Loss::Seconds { seconds: timeout_s(view) }, format!("{FLUSH}=0")),
        Some(_) => Verdict::new(Loss::Nothing, ""),
        None => Verdict::new(Loss::Unknown, format!("{FLUSH} is not known")),
    }
}

fn power_cut(view: &View<'_>) -> Verdict {
    if let Some(verdict) = redo_is_off(view).or_else(|| damage(view)) {
        return verdict;
    }
    let seconds = timeout_s(view);
    match flush_level(view) {
        Some(level @ (0 | 2)) => Verdict::new(Loss::Seconds { seconds }, format!("{FLUSH}={level}")),
        Some(level) => binlog_at_power_cut(view, level),
        None => Verdict::new(Loss::Unknown, format!("{FLUSH} is not known")),
    }
}

/// Settings that let a power cut break data, and not only lose the end of it.
fn damage(view: &View<'_>) -> Option<Verdict> {
    let method = view.text("innodb_flush_method").unwrap_or_default().to_lowercase();
    let broken = |why: &str| Some(Verdict::new(Loss::Damage, why));
    if method == "nosync" || method == "littlesync" {
        return broken(&format!("innodb_flush_method={method} does not flush"));
    }
    let sizes_flushed = Version::parse("8.0.14").is_some_and(|since| *view.version >= since);
    if method == "o_direct_no_fsync" && !(sizes_flushed && view.flavour != Flavour::Mariadb) {
        return broken("innodb_flush_method=O_DIRECT_NO_FSYNC does not flush the sizes of files");
    }
    if view.is("innodb_doublewrite", "OFF") {
        return broken("innodb_doublewrite=OFF: torn pages, unless the device writes pages whole");
    }
    if view.is("innodb_doublewrite", "DETECT_ONLY") {
        return broken("innodb_doublewrite=DETECT_ONLY: torn pages are found and not repaired");
    }
    None
}

/// The redo log is flushed at each commit. With a binlog the commit record itself is not: recovery takes the last commits
/// from the binlog, and one that was not flushed takes them along. MySQL 5.5 flushes the commit record, and so does
/// level 3 of MariaDB.
fn binlog_at_power_cut(view: &View<'_>, level: u8) -> Verdict {
    let flushes_commit = level == 3
        || (view.flavour != Flavour::Mariadb && Version::parse("5.6").is_some_and(|since| *view.version < since));
    if !has_binlog(view) || flushes_commit {
        return Verdict::new(Loss::Nothing, "");
    }
    match view.number("sync_binlog").map(|number| number as u64) {
        Some(1) => Verdict::new(Loss::Nothing, ""),
        Some(0) => Verdict::new(
            Loss::LastCommits,
            format!(
                "{FLUSH}={level}, but recovery takes the last commits from the binlog, which sync_binlog=0 does not flush"
            ),
        ),
        Some(groups) => Verdict::new(
            Loss::Groups { groups },
            format!(
                "{FLUSH}={level}, but recovery takes the last commits from the binlog, which is flushed every {groups} groups"
            ),
        ),
        None => Verdict::new(Loss::Unknown, "sync_binlog is not known"),
    }
}

fn mysql_replica(view: &View<'_>) -> (ReplicaFate, String) {
    let say = |fate, text: &str| (fate, text.to_owned());
    if view.given.get("wsrep_on").is_some_and(|on| same_setting("ON", on)) {
        return say(ReplicaFate::Unknown, "the other nodes of its cluster are not judged (wsrep_on=ON)");
    }
    if !has_binlog(view) {
        return say(ReplicaFate::None, "no binlog, so no replica");
    }
    let waits = ["rpl_semi_sync_master", "rpl_semi_sync_source"].into_iter().find(|name| {
        // A default alone says nothing: the plugin may not even be there.
        view.given.get(&format!("{name}_enabled")).is_some_and(|on| same_setting("ON", on))
    });
    if waits.is_some() {
        return say(
            ReplicaFate::HasIt,
            "a replica has each acknowledged commit while semi-synchronous replication is active",
        );
    }
    // Later versions take the setting and do not heed it.
    let heeds_xa =
        view.flavour != Flavour::Mariadb && Version::parse("5.7.10").is_some_and(|until| *view.version < until);
    if heeds_xa && view.is("innodb_support_xa", "OFF") {
        return say(ReplicaFate::Differs, "replicas can differ after a crash (innodb_support_xa=OFF)");
    }
    let broken = redo_is_off(view).or_else(|| damage(view));
    match (view.number("sync_binlog").map(|sync| sync as u64), flush_level(view)) {
        (Some(1), Some(_)) if let Some(Verdict { why, .. }) = broken => {
            (ReplicaFate::Differs, format!("after a crash replicas can have what this server has lost ({why})"))
        }
        (Some(1), Some(1 | 3)) => say(ReplicaFate::Follows, "replicas follow, a little behind"),
        (Some(1), Some(level)) => (
            ReplicaFate::Differs,
            format!("after a crash replicas can have what this server has lost ({FLUSH}={level})"),
        ),
        (Some(sync), Some(_)) => {
            (ReplicaFate::Differs, format!("after a power cut replicas can differ (sync_binlog={sync})"))
        }
        _ => say(ReplicaFate::Unknown, "nothing is known of replicas"),
    }
}

fn postgres_process(view: &View<'_>) -> Verdict {
    match view.text("synchronous_commit") {
        Some(text) if same_setting("off", text) => asynchronous(view),
        Some(_) => Verdict::new(Loss::Nothing, ""),
        None => Verdict::new(Loss::Unknown, "synchronous_commit is not known"),
    }
}

/// Three rounds of the WAL writer, as the manual says.
fn asynchronous(view: &View<'_>) -> Verdict {
    let why = "synchronous_commit=off, three times wal_writer_delay";
    // `1s` of an option file is what pg_settings shows as 1000.
    match amount(view.text("wal_writer_delay").unwrap_or("200"), "ms") {
        Some(delay_us) => Verdict::new(Loss::Seconds { seconds: 3.0 * delay_us / 1e6 }, why),
        None => Verdict::new(Loss::Unknown, why),
    }
}

fn postgres_power(view: &View<'_>) -> Verdict {
    if view.is("fsync", "off") {
        return Verdict::new(Loss::Damage, "fsync=off: nothing is flushed");
    }
    if view.is("full_page_writes", "off") {
        return Verdict::new(Loss::Damage, "full_page_writes=off: torn pages, unless the device writes pages whole");
    }
    postgres_process(view)
}

fn postgres_replica(view: &View<'_>) -> (ReplicaFate, String) {
    let say = |fate, text: &str| (fate, text.to_owned());
    if view.is("wal_level", "minimal") {
        return say(ReplicaFate::None, "wal_level=minimal, so no standby");
    }
    let names = view.given.get("synchronous_standby_names").is_some_and(|names| !names.trim().is_empty());
    let commit = view.text("synchronous_commit").unwrap_or_default().to_lowercase();
    if names && ["on", "remote_write", "remote_apply", "true", "yes", "1"].contains(&commit.as_str()) {
        return say(ReplicaFate::HasIt, "a synchronous standby has each acknowledged commit");
    }
    if view.is("fsync", "off") {
        return say(ReplicaFate::Differs, "after a power cut standbys can differ (fsync=off)");
    }
    say(ReplicaFate::Follows, "standbys follow, a little behind")
}

#[cfg(test)]
#[path = "durability_tests.rs"]
mod tests;
