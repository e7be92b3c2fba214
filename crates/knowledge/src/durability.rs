//! What a commit survives, judged by the settings together: no setting decides it alone.
//!
//! The judgement follows the documentation and code of the servers, for a disk that keeps flushed
//! data. It is not tested by crashes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use truetps_record::{Flavour, Version, amount_in, is_off, same_setting, setting_number};

use crate::platform::{Platform, PlatformDurability, platform_of};
use crate::setting::find_setting;

/// What a crash of one kind loses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "loss", rename_all = "snake_case")]
pub enum Loss {
    Nothing,
    /// Acknowledged transactions of about this many seconds.
    Seconds {
        seconds: f64,
    },
    /// The last group of commits that were flushed together: about one of each committing session.
    LastGroup,
    /// More than the last commits: data that cannot be read any more.
    Damage,
    Unknown,
}

/// What a replica has, compared with its source after the source's power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaFate {
    /// There is no log for a replica to follow.
    None,
    /// It can continue: it will receive what it lacks, and has nothing that its source lost.
    Follows,
    /// It can have other transactions than its source.
    Differs,
    /// A commit is acknowledged after the replica has received it, unless the wait timed out.
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
            Self::Damage => f.write_str("can damage the data for good"),
            Self::Unknown => f.write_str("may lose commits (not known)"),
            Self::Seconds { .. } | Self::LastGroup => write!(f, "can lose {}", self.amount()),
        }
    }
}

impl Loss {
    /// What is lost, for the column of a table: `nothing`, `about 1 s`.
    pub fn in_short(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Seconds { seconds } if seconds < 1.0 => format!("about {:.0} ms", seconds * 1e3),
            Self::Seconds { seconds } => format!("about {seconds} s"),
            Self::LastGroup => "last group".to_owned(),
            Self::Damage => "the data".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }

    /// What is lost: `up to about 1 s of acknowledged transactions`.
    pub(crate) fn amount(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Seconds { seconds } if seconds < 1.0 => {
                format!("up to about {:.0} ms of acknowledged transactions", seconds * 1e3)
            }
            Self::Seconds { seconds } => {
                format!("up to about {seconds} s of acknowledged transactions")
            }
            Self::LastGroup => "the last group of acknowledged transactions".to_owned(),
            Self::Damage => "the data itself".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }
}

/// File systems whose files are lost with the power.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

impl Durability {
    /// As it is where the datadir is on this file system.
    #[must_use]
    pub fn on_file_system(self, file_system: Option<&str>) -> Self {
        let Some(file_system) = file_system.filter(|name| IN_MEMORY.contains(name)) else {
            return self;
        };
        let replica = match self.replica {
            ReplicaFate::None | ReplicaFate::Unknown => self.replica,
            _ => ReplicaFate::Differs,
        };
        let sentence = format!(
            "a process crash {}; a power cut loses all data, whatever the settings: the datadir is \
             in memory ({file_system})",
            self.process_crash
        );
        Self { power_cut: Loss::Damage, replica, sentence, ..self }
    }
}

/// The settings of one server, with defaults where a setting is not given.
struct SettingsView<'a> {
    flavour: Flavour,
    version: &'a Version,
    given: &'a BTreeMap<String, String>,
    /// Where PostgreSQL says that `synchronous_commit` was set.
    commit_origin: Option<&'a str>,
    platform: Option<&'static Platform>,
}

impl<'a> SettingsView<'a> {
    fn new(
        flavour: Flavour,
        version: &'a Version,
        given: &'a BTreeMap<String, String>,
        commit_origin: Option<&'a str>,
    ) -> Self {
        let platform =
            platform_of(flavour, given.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Self { flavour, version, given, commit_origin, platform }
    }

    /// The platform that keeps pages and logs in a storage of its own.
    fn own_storage(&self) -> Option<&'static Platform> {
        self.platform.filter(|platform| platform.durability != PlatformDurability::Settings)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.given
            .get(name)
            .map(String::as_str)
            .or_else(|| find_setting(name)?.span(self.flavour, self.version)?.default.as_deref())
    }

    fn has_value(&self, name: &str, value: &str) -> bool {
        self.text(name).is_some_and(|found| same_setting(value, found))
    }

    fn number(&self, name: &str) -> Option<f64> {
        setting_number(self.text(name)?)
    }

    /// A default does not show whether a plugin is loaded.
    fn is_given_on(&self, name: &str) -> bool {
        self.given.get(name).is_some_and(|text| same_setting("ON", text))
    }

    fn is_before(&self, version: &str) -> bool {
        Version::parse(version).is_some_and(|until| *self.version < until)
    }
}

/// What is lost, and why.
#[derive(PartialEq)]
struct LossVerdict {
    loss: Loss,
    why: String,
}

impl LossVerdict {
    fn new(loss: Loss, why: impl Into<String>) -> Self {
        Self { loss, why: why.into() }
    }

    /// `a power cut can lose …: the reason`.
    fn sentence(&self, crash: &str) -> String {
        let Self { loss, why } = self;
        if why.is_empty() { format!("{crash} {loss}") } else { format!("{crash} {loss} ({why})") }
    }
}

/// What a commit on this server survives. `variables` are global variables (or settings of an
/// option file, where what is not given has its default), and, where known, the status variables
/// that decide, too: `innodb_redo_log_enabled`, `rpl_semi_sync_master_status`.
pub fn judge(
    flavour: Flavour,
    version: &Version,
    variables: &BTreeMap<String, String>,
) -> Durability {
    judge_view(&SettingsView::new(flavour, version, variables, None))
}

/// [`judge`] of what was read somewhere: name, value, and the server's word for where it was set.
/// `None` where the version is not known.
pub fn judge_text<'a>(
    flavour: Flavour,
    version: &str,
    settings: impl IntoIterator<Item = (&'a str, &'a str, Option<&'a str>)>,
) -> Option<Durability> {
    let version = Version::parse(version)?;
    let mut commit_origin = None;
    let mut given = BTreeMap::new();
    for (name, value, origin) in settings {
        if name == COMMIT {
            commit_origin = origin;
        }
        given.insert(name.to_owned(), value.to_owned());
    }
    Some(judge_view(&SettingsView::new(flavour, &version, &given, commit_origin)))
}

fn judge_view(view: &SettingsView<'_>) -> Durability {
    let flavour = view.flavour;
    if let Some(platform) =
        view.platform.filter(|platform| platform.durability == PlatformDurability::Own)
    {
        return not_judged(platform);
    }
    let (process, power, (replica, replica_text)) = match flavour {
        Flavour::Postgresql => {
            (postgres_process(view), postgres_power(view), postgres_replica(view))
        }
        _ => (process_crash(view), power_cut(view), mysql_replica(view)),
    };
    // Other engines have rules of their own, and Aria or MyISAM none.
    let commit =
        if flavour == Flavour::Postgresql { "a commit" } else { "a commit of InnoDB tables" };
    let crashes = match (process.loss, power.loss) {
        (Loss::Nothing, Loss::Nothing) => {
            format!("{commit} survives a process crash and a power cut, {}", condition(view))
        }
        (Loss::Nothing, _) => {
            format!("{commit} survives a process crash; {}", power.sentence("a power cut"))
        }
        _ if process == power => process.sentence("a process crash or a power cut"),
        _ => format!("{}; {}", process.sentence("a process crash"), power.sentence("a power cut")),
    };
    let whose = if flavour == Flavour::Postgresql { whose_commit(view) } else { "" };
    let sentence = format!("{crashes}{whose}; {replica_text}");
    Durability { process_crash: process.loss, power_cut: power.loss, replica, sentence }
}

/// What must hold for a power cut to lose nothing.
fn condition(view: &SettingsView<'_>) -> String {
    if let Some(storage) = view.own_storage() {
        return format!("as the documentation of {} says", storage.name);
    }
    let keeps = if copies_are_unflushed(view) {
        "all that it has accepted: with innodb_flush_method=O_DIRECT this server does not flush \
         its doublewrite files (with fsync it does)"
    } else {
        "what it has flushed"
    };
    format!("if the disk keeps {keeps}")
}

/// Whether the copies of pages, from which torn ones are repaired, are written and not flushed:
/// traced on 9.7.4, and so in the source from 8.0.20 on. Before that the copies are in the system
/// tablespace, which is flushed.
fn copies_are_unflushed(view: &SettingsView<'_>) -> bool {
    view.flavour == Flavour::Mysql
        && !view.is_before("8.0.20")
        && flush_method(view) == "o_direct"
        && !view.has_value("innodb_doublewrite", "OFF")
}

fn not_judged(platform: &Platform) -> Durability {
    let Platform { name, about, .. } = platform;
    Durability {
        process_crash: Loss::Unknown,
        power_cut: Loss::Unknown,
        replica: ReplicaFate::Unknown,
        sentence: format!(
            "what a commit survives is not judged: no setting of {name} decides it ({about})"
        ),
    }
}

const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const COMMIT: &str = "synchronous_commit";
/// Settings that decide about lost transactions together.
pub(crate) const DECIDE_TOGETHER: [&str; 2] = [FLUSH, COMMIT];

/// The value that the server uses: `innodb_flush_log_at_trx_commit=3` is 2 on MySQL, which has no
/// 3.
pub(crate) fn effective_value(flavour: Flavour, name: &str, value: &str) -> String {
    match setting_number(value) {
        Some(level) if name == FLUSH => flush_level_of(flavour, level).to_string(),
        _ => value.to_owned(),
    }
}

fn flush_level_of(flavour: Flavour, level: f64) -> u8 {
    (level as u8).min(if flavour == Flavour::Mariadb { 3 } else { 2 })
}

fn flush_level(view: &SettingsView<'_>) -> Option<u8> {
    view.number(FLUSH).map(|level| flush_level_of(view.flavour, level))
}

fn flush_source(view: &SettingsView<'_>, level: u8) -> String {
    match view.text(FLUSH) {
        Some(text) if !same_setting(text, &level.to_string()) => {
            format!("{FLUSH}={text}, taken as {level}")
        }
        _ => format!("{FLUSH}={level}"),
    }
}

/// Seconds between flushes that no commit asks for.
fn timeout_s(view: &SettingsView<'_>) -> f64 {
    view.number("innodb_flush_log_at_timeout").unwrap_or(1.0).max(1.0)
}

fn has_binlog(view: &SettingsView<'_>) -> bool {
    view.text("log_bin").is_some_and(|text| !is_off(text))
}

/// MariaDB 12.3 and later can write the binlog through the redo log: both are flushed together,
/// `sync_binlog` is ignored, and there is no semi-synchronous replication.
fn binlog_is_in_innodb(view: &SettingsView<'_>) -> bool {
    let engine = view.given.get("binlog_storage_engine");
    view.flavour == Flavour::Mariadb
        && engine.is_some_and(|engine| engine.trim().eq_ignore_ascii_case("innodb"))
}

/// A setting that makes all others irrelevant.
fn redo_is_off(view: &SettingsView<'_>) -> Option<LossVerdict> {
    let off =
        view.given.get("innodb_redo_log_enabled").is_some_and(|found| same_setting("OFF", found));
    off.then(|| {
        LossVerdict::new(
            Loss::Damage,
            "the redo log is switched off: the whole instance can be lost",
        )
    })
}

fn process_crash(view: &SettingsView<'_>) -> LossVerdict {
    if let Some(off) = redo_is_off(view) {
        return off;
    }
    match flush_level(view) {
        Some(0) => {
            LossVerdict::new(Loss::Seconds { seconds: timeout_s(view) }, flush_source(view, 0))
        }
        // No page cache of this machine keeps what was written.
        Some(2) if view.own_storage().is_some() => {
            LossVerdict::new(Loss::Seconds { seconds: timeout_s(view) }, flush_source(view, 2))
        }
        Some(_) => LossVerdict::new(Loss::Nothing, ""),
        None => LossVerdict::new(Loss::Unknown, format!("{FLUSH} is not known")),
    }
}

fn power_cut(view: &SettingsView<'_>) -> LossVerdict {
    if let Some(verdict) = redo_is_off(view).or_else(|| damage(view)) {
        return verdict;
    }
    let seconds = timeout_s(view);
    match flush_level(view) {
        Some(level @ (0 | 2)) => {
            LossVerdict::new(Loss::Seconds { seconds }, flush_source(view, level))
        }
        Some(level) => binlog_at_power_cut(view, level),
        None => LossVerdict::new(Loss::Unknown, format!("{FLUSH} is not known")),
    }
}

/// Names of `innodb_flush_method` by their numbers, which option files may have where the setting
/// is a list of names.
const FLUSH_METHODS: [&str; 6] =
    ["fsync", "o_dsync", "littlesync", "nosync", "o_direct", "o_direct_no_fsync"];

fn flush_method(view: &SettingsView<'_>) -> String {
    let text = view.text("innodb_flush_method").unwrap_or_default().to_lowercase();
    let has_numbers = view.flavour == Flavour::Mariadb || !view.is_before("8.0");
    let by_number = text
        .parse::<usize>()
        .ok()
        .filter(|_| has_numbers)
        .and_then(|number| FLUSH_METHODS.get(number));
    by_number.map_or(text, |name| (*name).to_owned())
}

/// Settings that let a power cut break data, and not only lose the end of it.
fn damage(view: &SettingsView<'_>) -> Option<LossVerdict> {
    if view.own_storage().is_some() {
        return None;
    }
    let whole_pages = view.platform.and_then(|platform| platform.whole_pages.as_deref());
    if let Some(why) = whole_pages.filter(|_| view.has_value("innodb_doublewrite", "OFF")) {
        return Some(LossVerdict::new(Loss::Unknown, format!("innodb_doublewrite=OFF: {why}")));
    }
    let is_mariadb = view.flavour == Flavour::Mariadb;
    let method = flush_method(view);
    let skips_fsync = method == "o_direct_no_fsync";
    let detects = view.has_value("innodb_doublewrite", "DETECT_ONLY")
        || view.has_value("innodb_doublewrite", "2");
    first_damage([
        (is_mariadb && view.is_given_on("debug_no_sync"), "debug_no_sync: nothing is flushed"),
        (method == "nosync", "innodb_flush_method=nosync does not flush"),
        (method == "littlesync", "innodb_flush_method=littlesync does not flush"),
        (
            skips_fsync && (is_mariadb || view.is_before("8.0.14")),
            "innodb_flush_method=O_DIRECT_NO_FSYNC does not flush the sizes of files",
        ),
        (
            skips_fsync,
            "innodb_flush_method=O_DIRECT_NO_FSYNC does not flush data files: a device must keep \
             what is in its cache",
        ),
        (
            view.has_value("innodb_doublewrite", "OFF"),
            "innodb_doublewrite=OFF: torn pages, unless the device writes pages whole",
        ),
        (
            detects && !is_mariadb && !view.is_before("8.0.30"),
            "innodb_doublewrite=DETECT_ONLY: torn pages are found and not repaired",
        ),
    ])
}

/// The first of these reasons that holds.
fn first_damage<const N: usize>(reasons: [(bool, &str); N]) -> Option<LossVerdict> {
    let (_, why) = reasons.into_iter().find(|(holds, _)| *holds)?;
    Some(LossVerdict::new(Loss::Damage, why))
}

/// The redo log is flushed at each commit. With a binlog the commit record itself is not: recovery
/// takes the last commits from the binlog, and one that was not flushed takes them along. The flush
/// for the next group makes that record durable, so that no more than one group is lost, however
/// much the binlog lacks. MySQL 5.5 flushes the commit record, and so does level 3 of MariaDB.
fn binlog_at_power_cut(view: &SettingsView<'_>, level: u8) -> LossVerdict {
    let flushes_commit = level == 3 || (view.flavour != Flavour::Mariadb && view.is_before("5.6"));
    if !has_binlog(view)
        || flushes_commit
        || binlog_is_in_innodb(view)
        || view.own_storage().is_some()
    {
        return LossVerdict::new(Loss::Nothing, "");
    }
    let which = match view.number("sync_binlog").map(|number| number as u64) {
        Some(1) => return LossVerdict::new(Loss::Nothing, ""),
        Some(0) => "sync_binlog=0 does not flush".to_owned(),
        Some(groups) => format!("is flushed every {groups} groups"),
        None => return LossVerdict::new(Loss::Unknown, "sync_binlog is not known"),
    };
    let why = format!(
        "{FLUSH}={level}, but recovery takes the last commits from the binlog, which {which}"
    );
    LossVerdict::new(Loss::LastGroup, why)
}

/// What a replica has, and the words for it.
type Fate = (ReplicaFate, String);

fn fate(fate: ReplicaFate, text: &str) -> Fate {
    (fate, text.to_owned())
}

fn mysql_replica(view: &SettingsView<'_>) -> Fate {
    if let Some(storage) = view.own_storage() {
        return replicas_of(storage);
    }
    if view.is_given_on("wsrep_on") {
        return fate(
            ReplicaFate::Unknown,
            "the other nodes of its cluster are not judged (wsrep_on=ON)",
        );
    }
    if view.given.get("group_replication_group_name").is_some_and(|name| !name.trim().is_empty()) {
        return fate(
            ReplicaFate::Unknown,
            "the other members of its group are not judged (group replication)",
        );
    }
    if !has_binlog(view) {
        return fate(ReplicaFate::None, "no binlog, so no replica");
    }
    let unhurried = asynchronous_replica(view);
    if binlog_is_in_innodb(view) {
        return unhurried;
    }
    let waits = ["rpl_semi_sync_master", "rpl_semi_sync_source"];
    let Some(who) = waits.into_iter().find(|name| view.is_given_on(&format!("{name}_enabled")))
    else {
        return unhurried;
    };
    if view.given.get(&format!("{who}_status")).is_some_and(|status| is_off(status)) {
        let (fate, text) = unhurried;
        return (
            fate,
            format!(
                "semi-synchronous replication is on, but waits for no replica at present; {text}"
            ),
        );
    }
    waited_for(
        unhurried,
        "a replica has each acknowledged commit while semi-synchronous replication is active",
    )
}

fn replicas_of(storage: &Platform) -> Fate {
    fate(
        ReplicaFate::Unknown,
        &format!("replicas are not judged ({} has its own storage)", storage.name),
    )
}

/// A replica that has all commits may have more than its source.
fn waited_for((fate, text): Fate, has_it: &str) -> Fate {
    if fate == ReplicaFate::Differs {
        (ReplicaFate::Differs, format!("{has_it}; {text}"))
    } else {
        (ReplicaFate::HasIt, has_it.to_owned())
    }
}

/// What replicas have that no commit waits for.
fn asynchronous_replica(view: &SettingsView<'_>) -> Fate {
    // Later versions accept the setting and ignore it.
    let heeds_xa = view.flavour != Flavour::Mariadb && view.is_before("5.7.10");
    if heeds_xa && view.has_value("innodb_support_xa", "OFF") {
        return fate(
            ReplicaFate::Differs,
            "replicas can differ after a crash (innodb_support_xa=OFF)",
        );
    }
    let (redo_off, level) = (redo_is_off(view), flush_level(view));
    let crash = if redo_off.is_some() || level == Some(0) { "a crash" } else { "a power cut" };
    // The reason is in the text about the crash.
    let has_more = differs(crash, "keep transactions that this server lost");
    let sync = if binlog_is_in_innodb(view) { Some(1.0) } else { view.number("sync_binlog") };
    match (sync.map(|sync| sync as u64), level) {
        (Some(1), Some(_)) if redo_off.is_some() || damage(view).is_some() => has_more,
        (Some(1), Some(1 | 3)) => {
            fate(ReplicaFate::Follows, "a replica would follow, a little behind")
        }
        (Some(1), Some(_)) => has_more,
        (Some(sync), Some(0)) => differs(crash, &format!("differ ({FLUSH}=0, sync_binlog={sync})")),
        (Some(0), Some(_)) => {
            differs(crash, "differ: the end of the binlog can be lost (sync_binlog=0)")
        }
        (Some(sync), Some(_)) => differs(
            crash,
            &format!(
                "differ: the last {sync} groups of the binlog can be lost (sync_binlog={sync})"
            ),
        ),
        _ => fate(ReplicaFate::Unknown, "the effect on replicas is not known"),
    }
}

fn differs(crash: &str, text: &str) -> Fate {
    (ReplicaFate::Differs, format!("after {crash} replicas can {text}"))
}

/// A login has its own `synchronous_commit` where a role or a database sets it, and only one
/// login's value is known.
fn whose_commit(view: &SettingsView<'_>) -> &'static str {
    match view.commit_origin {
        Some("user" | "database" | "database user" | "client" | "session") => {
            "; for this login's synchronous_commit"
        }
        _ => "; a role, a database or a session can have a synchronous_commit of its own",
    }
}

fn postgres_process(view: &SettingsView<'_>) -> LossVerdict {
    match view.text(COMMIT) {
        Some(text) if same_setting("off", text) => asynchronous(view),
        Some(_) => LossVerdict::new(Loss::Nothing, ""),
        None => LossVerdict::new(Loss::Unknown, "synchronous_commit is not known"),
    }
}

/// Three rounds of the WAL writer, as the manual says.
fn asynchronous(view: &SettingsView<'_>) -> LossVerdict {
    let why = "synchronous_commit=off, three times wal_writer_delay";
    // `1s` of an option file is what pg_settings shows as 1000.
    match amount_in(view.text("wal_writer_delay").unwrap_or("200"), "ms") {
        Some(delay_ms) => LossVerdict::new(Loss::Seconds { seconds: 3.0 * delay_ms / 1e3 }, why),
        None => LossVerdict::new(Loss::Unknown, why),
    }
}

fn postgres_power(view: &SettingsView<'_>) -> LossVerdict {
    postgres_damage(view).unwrap_or_else(|| postgres_process(view))
}

fn postgres_damage(view: &SettingsView<'_>) -> Option<LossVerdict> {
    if view.own_storage().is_some() {
        return None;
    }
    first_damage([
        (view.has_value("fsync", "off"), "fsync=off: nothing is flushed"),
        (
            view.has_value("full_page_writes", "off"),
            "full_page_writes=off: torn pages, unless the device writes pages whole",
        ),
    ])
}

fn postgres_replica(view: &SettingsView<'_>) -> Fate {
    if let Some(storage) = view.own_storage() {
        return replicas_of(storage);
    }
    if view.has_value("wal_level", "minimal") {
        return fate(ReplicaFate::None, "wal_level=minimal, so no standby");
    }
    let unhurried = if postgres_damage(view).is_some() {
        fate(
            ReplicaFate::Differs,
            "after a power cut standbys can keep transactions that this server lost",
        )
    } else {
        fate(ReplicaFate::Follows, "a standby would follow, a little behind")
    };
    let has_names =
        view.given.get("synchronous_standby_names").is_some_and(|names| !names.trim().is_empty());
    match view.text(COMMIT).unwrap_or_default().to_lowercase().as_str() {
        "remote_write" if has_names => waited_for(
            unhurried,
            "a synchronous standby was given each acknowledged commit, and may not have flushed it",
        ),
        "on" | "remote_apply" | "true" | "yes" | "1" if has_names => {
            waited_for(unhurried, "a synchronous standby has each acknowledged commit")
        }
        _ => unhurried,
    }
}

#[cfg(test)]
#[path = "durability_tests.rs"]
mod tests;
