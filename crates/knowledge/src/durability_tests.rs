use super::*;

fn judged(flavour: Flavour, version: &str, settings: &[(&str, &str)]) -> Durability {
    let variables =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    judge(flavour, &Version::parse(version).unwrap(), &variables)
}

fn check(
    flavour: Flavour,
    version: &str,
    settings: &[(&str, &str)],
    process: Loss,
    power: Loss,
    replica: ReplicaFate,
) {
    let found = judged(flavour, version, settings);
    let context = format!("{flavour} {version} {settings:?}: {}", found.sentence);
    assert_eq!(found.process_crash, process, "{context}");
    assert_eq!(found.power_cut, power, "{context}");
    assert_eq!(found.replica, replica, "{context}");
}

const SECOND: Loss = Loss::Seconds { seconds: 1.0 };

#[test]
fn mysql_by_default() {
    use Flavour::Mysql;
    check(Mysql, "9.7.4", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    check(Mysql, "8.0.15", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    check(Mysql, "5.7.29", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::None);
    check(Flavour::Percona, "8.0.36", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
}

/// As MariaDB's manual describes the "InnoDB-based binary log": no program of 12.3 could be had.
#[test]
fn a_binlog_in_innodb_is_as_durable_as_the_redo_log() {
    use Flavour::Mariadb;
    let flush = "innodb_flush_log_at_trx_commit";
    let in_innodb = [("log_bin", "ON"), ("binlog_storage_engine", "InnoDB")];
    let with = |more: &[(&'static str, &'static str)]| [&in_innodb[..], more].concat();
    // sync_binlog is 0 by default.
    check(Mariadb, "12.3.3", &in_innodb, Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    check(
        Mariadb,
        "12.3.3",
        &with(&[("sync_binlog", "100")]),
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::Follows,
    );
    check(Mariadb, "12.3.3", &with(&[(flush, "2")]), Loss::Nothing, SECOND, ReplicaFate::Differs);
    check(
        Mariadb,
        "12.3.3",
        &with(&[(flush, "0"), ("sync_binlog", "1")]),
        SECOND,
        SECOND,
        ReplicaFate::Differs,
    );
    let semi_sync = with(&[("rpl_semi_sync_master_enabled", "ON")]);
    check(Mariadb, "12.3.3", &semi_sync, Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    let as_before = [("log_bin", "ON"), ("binlog_storage_engine", "")];
    check(Mariadb, "12.3.3", &as_before, Loss::Nothing, Loss::LastGroup, ReplicaFate::Differs);
    // MySQL has no such setting.
    check(
        Flavour::Mysql,
        "26.7.0",
        &[("sync_binlog", "0"), in_innodb[1]],
        Loss::Nothing,
        Loss::LastGroup,
        ReplicaFate::Differs,
    );
}

#[test]
fn flush_level_and_binlog_together() {
    use Flavour::Mysql;
    let flush = "innodb_flush_log_at_trx_commit";
    check(Mysql, "9.7.4", &[(flush, "0")], SECOND, SECOND, ReplicaFate::Differs);
    check(Mysql, "9.7.4", &[(flush, "2")], Loss::Nothing, SECOND, ReplicaFate::Differs);
    check(
        Mysql,
        "9.7.4",
        &[(flush, "2"), ("log_bin", "OFF")],
        Loss::Nothing,
        SECOND,
        ReplicaFate::None,
    );
    let slow = Loss::Seconds { seconds: 10.0 };
    let timeout = ("innodb_flush_log_at_timeout", "10");
    check(Mysql, "9.7.4", &[(flush, "0"), timeout], slow, slow, ReplicaFate::Differs);
    check(
        Mysql,
        "8.0.36",
        &[("sync_binlog", "0")],
        Loss::Nothing,
        Loss::LastGroup,
        ReplicaFate::Differs,
    );
    // The server loses its last group, however much the binlog lacks.
    let groups = [("sync_binlog", "100")];
    check(Mysql, "8.0.36", &groups, Loss::Nothing, Loss::LastGroup, ReplicaFate::Differs);
    assert!(
        judged(Mysql, "8.0.36", &groups)
            .sentence
            .contains("the last 100 groups of the binlog can be lost")
    );
    check(
        Mysql,
        "8.0.36",
        &[("sync_binlog", "0"), ("log_bin", "0")],
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::None,
    );
    // A path in an option file turns the binlog on; 5.5 flushes the commit record, too.
    let old = [("log_bin", "/var/log/binlog")];
    check(Mysql, "5.6.24", &old, Loss::Nothing, Loss::LastGroup, ReplicaFate::Differs);
    check(Mysql, "5.5.9", &old, Loss::Nothing, Loss::Nothing, ReplicaFate::Differs);
}

#[test]
fn mariadb_with_a_binlog_that_is_not_flushed() {
    use Flavour::Mariadb;
    check(Mariadb, "10.11.19", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::None);
    let on = ("log_bin", "ON");
    check(Mariadb, "10.11.19", &[on], Loss::Nothing, Loss::LastGroup, ReplicaFate::Differs);
    check(
        Mariadb,
        "11.8.6",
        &[on, ("sync_binlog", "1")],
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::Follows,
    );
    let three = ("innodb_flush_log_at_trx_commit", "3");
    check(Mariadb, "11.8.6", &[on, three], Loss::Nothing, Loss::Nothing, ReplicaFate::Differs);
    let waits = ("rpl_semi_sync_master_enabled", "ON");
    check(
        Mariadb,
        "11.8.6",
        &[on, ("sync_binlog", "1"), waits],
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::HasIt,
    );
}

#[test]
fn what_can_break_data() {
    use Flavour::{Mariadb, Mysql};
    let damaged = |flavour, version: &str, settings: &[(&str, &str)]| {
        judged(flavour, version, settings).power_cut == Loss::Damage
    };
    assert!(damaged(Mysql, "9.7.4", &[("innodb_doublewrite", "OFF")]));
    assert!(damaged(Mysql, "9.7.4", &[("innodb_doublewrite", "0")]));
    assert!(damaged(Mysql, "8.0.36", &[("innodb_doublewrite", "DETECT_ONLY")]));
    assert!(!damaged(Mysql, "8.0.36", &[("innodb_doublewrite", "DETECT_AND_RECOVER")]));
    assert!(!damaged(Mariadb, "11.8.6", &[("innodb_doublewrite", "fast")]));
    assert!(damaged(Mariadb, "10.11.19", &[("innodb_flush_method", "nosync")]));
    assert!(damaged(Mariadb, "10.11.19", &[("innodb_flush_method", "littlesync")]));
    assert!(damaged(Mysql, "5.7.29", &[("innodb_flush_method", "O_DIRECT_NO_FSYNC")]));
    assert!(damaged(Mysql, "8.0.36", &[("innodb_flush_method", "O_DIRECT_NO_FSYNC")]));
    for (number, is_broken) in [("0", false), ("2", true), ("3", true), ("4", false), ("5", true)] {
        let method = [("innodb_flush_method", number)];
        assert_eq!(damaged(Mysql, "9.7.4", &method), is_broken, "{number}");
        assert_eq!(damaged(Mariadb, "11.8.6", &method), is_broken, "{number}");
        assert!(!damaged(Mysql, "5.7.29", &method), "{number}: before 8.0 it is a text");
    }
    assert!(damaged(Mysql, "9.7.4", &[("innodb_doublewrite", "2")]));
    assert!(!damaged(Mariadb, "11.8.6", &[("innodb_doublewrite", "2")]), "fast");
    assert!(damaged(Mariadb, "10.11.19", &[("debug_no_sync", "ON")]));
    let off = [("innodb_redo_log_enabled", "OFF")];
    check(Mysql, "8.0.36", &off, Loss::Damage, Loss::Damage, ReplicaFate::Differs);
    for lost in [
        ("innodb_doublewrite", "OFF"),
        ("innodb_flush_method", "nosync"),
        ("innodb_flush_method", "littlesync"),
    ] {
        let settings = [("log_bin", "ON"), ("sync_binlog", "1"), lost];
        check(Mariadb, "10.11.19", &settings, Loss::Nothing, Loss::Damage, ReplicaFate::Differs);
    }
    let diverges = [("log_bin", "ON"), ("sync_binlog", "1"), ("innodb_support_xa", "OFF")];
    check(Mysql, "5.7.9", &diverges, Loss::Nothing, Loss::Nothing, ReplicaFate::Differs);
    check(Mysql, "5.7.10", &diverges, Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    let cluster = [("wsrep_on", "ON")];
    check(Mariadb, "10.11.19", &cluster, Loss::Nothing, Loss::Nothing, ReplicaFate::Unknown);
}

/// Seen with `strace` on 9.7.4, and in a power cut that left it with a torn page and a torn copy.
#[test]
fn doublewrite_files_that_are_not_flushed_are_named() {
    use Flavour::{Mariadb, Mysql};
    let method = |name| [("innodb_flush_method", name)];
    let says = |flavour, version: &str, settings: &[(&str, &str)]| {
        judged(flavour, version, settings).sentence.contains("does not flush its doublewrite files")
    };
    assert!(says(Mysql, "9.7.4", &[]), "the default since 8.4");
    assert!(says(Mysql, "8.0.20", &method("O_DIRECT")));
    assert!(says(Mysql, "8.0.36", &method("4")));
    assert!(!says(Mysql, "8.0.36", &[]), "the default is fsync");
    assert!(!says(Mysql, "9.7.4", &method("fsync")));
    assert!(!says(Mysql, "8.0.19", &method("O_DIRECT")));
    assert!(!says(Mysql, "5.7.22", &method("O_DIRECT")));
    assert!(!says(Mariadb, "10.11.19", &method("O_DIRECT")));
}

#[test]
fn postgresql() {
    use Flavour::Postgresql;
    check(Postgresql, "15.8", &[], Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    let window = Loss::Seconds { seconds: 0.6 };
    let asynchronous = ("synchronous_commit", "off");
    check(Postgresql, "15.8", &[asynchronous], window, window, ReplicaFate::Follows);
    let longer = Loss::Seconds { seconds: 3.0 };
    for text in ["1000ms", "1s", "1000"] {
        let delay = ("wal_writer_delay", text);
        check(Postgresql, "15.8", &[asynchronous, delay], longer, longer, ReplicaFate::Follows);
    }
    check(
        Postgresql,
        "15.8",
        &[("fsync", "off")],
        Loss::Nothing,
        Loss::Damage,
        ReplicaFate::Differs,
    );
    check(
        Postgresql,
        "18.0",
        &[("full_page_writes", "off")],
        Loss::Nothing,
        Loss::Damage,
        ReplicaFate::Differs,
    );
    let standby = ("synchronous_standby_names", "s1");
    check(Postgresql, "15.8", &[standby], Loss::Nothing, Loss::Nothing, ReplicaFate::HasIt);
    let broken = [standby, ("fsync", "off")];
    check(Postgresql, "15.8", &broken, Loss::Nothing, Loss::Damage, ReplicaFate::Differs);
    assert!(
        judged(Postgresql, "15.8", &broken)
            .sentence
            .contains("has each acknowledged commit; after a power cut")
    );
    let written = [standby, ("synchronous_commit", "remote_write")];
    assert!(judged(Postgresql, "15.8", &written).sentence.contains("may not have flushed it"));
    let local = ("synchronous_commit", "local");
    check(
        Postgresql,
        "15.8",
        &[standby, local],
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::Follows,
    );
}

#[test]
fn sentences() {
    let said = |flavour, version: &str, settings: &[(&str, &str)]| {
        judged(flavour, version, settings).sentence
    };
    assert_eq!(
        said(Flavour::Mysql, "9.7.4", &[]),
        "a commit of InnoDB tables survives a process crash and a power cut, if the disk keeps \
         all that it has accepted: with innodb_flush_method=O_DIRECT this server does not flush \
         its doublewrite files (with fsync it does); a replica would follow, a little behind"
    );
    assert_eq!(
        said(Flavour::Mysql, "8.0.36", &[]),
        "a commit of InnoDB tables survives a process crash and a power cut, if the disk keeps \
         what it has flushed; a replica would follow, a little behind"
    );
    assert_eq!(
        said(Flavour::Mariadb, "10.11.19", &[("innodb_flush_log_at_trx_commit", "2")]),
        "a commit of InnoDB tables survives a process crash; a power cut can lose up to about 1 s \
         of acknowledged transactions (innodb_flush_log_at_trx_commit=2); no binlog, so no replica"
    );
    assert_eq!(
        said(Flavour::Postgresql, "15.8", &[("synchronous_commit", "off")]),
        "a process crash or a power cut can lose up to about 600 ms of acknowledged transactions \
         (synchronous_commit=off, three times wal_writer_delay); a role, a database or a session \
         can have a synchronous_commit of its own; a standby would follow, a little behind"
    );
}

#[test]
fn levels_that_mysql_does_not_know() {
    let three = [("innodb_flush_log_at_trx_commit", "3")];
    check(Flavour::Mysql, "8.0.15", &three, Loss::Nothing, SECOND, ReplicaFate::Differs);
    check(Flavour::Percona, "8.0.36", &three, Loss::Nothing, SECOND, ReplicaFate::Differs);
    let said = judged(Flavour::Mysql, "9.7.4", &three).sentence;
    assert!(said.contains("innodb_flush_log_at_trx_commit=3, taken as 2"), "{said}");
    let seven = [("innodb_flush_log_at_trx_commit", "7")];
    check(Flavour::Mariadb, "10.11.19", &seven, Loss::Nothing, Loss::Nothing, ReplicaFate::None);
}

#[test]
fn members_of_a_group() {
    let member = [("group_replication_group_name", "ce9be252-2b71-11e6-b8f4-00212844f856")];
    check(Flavour::Mysql, "8.0.36", &member, Loss::Nothing, Loss::Nothing, ReplicaFate::Unknown);
    let loaded = [("group_replication_group_name", "")];
    check(Flavour::Mysql, "8.0.36", &loaded, Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
}

#[test]
fn a_replica_that_is_waited_for_can_have_more() {
    let on = ("rpl_semi_sync_source_enabled", "ON");
    let said = |more: &[(&str, &str)]| judged(Flavour::Mysql, "8.0.36", &[&[on], more].concat());
    assert_eq!(said(&[]).replica, ReplicaFate::HasIt);
    for more in [
        ("sync_binlog", "0"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("innodb_doublewrite", "OFF"),
    ] {
        let found = said(&[more]);
        assert_eq!(found.replica, ReplicaFate::Differs, "{more:?}");
        let sentence = &found.sentence;
        assert!(
            sentence.contains("has each acknowledged commit while")
                && sentence.contains("after a power cut"),
            "{sentence}"
        );
    }
    let alone = said(&[("rpl_semi_sync_source_status", "OFF")]);
    assert_eq!(alone.replica, ReplicaFate::Follows);
    assert!(alone.sentence.contains("waits for no replica at present"), "{}", alone.sentence);
}

#[test]
fn replicas_after_a_crash_of_the_process_alone() {
    let settings = [("innodb_flush_log_at_trx_commit", "0"), ("sync_binlog", "0")];
    let said = judged(Flavour::Mysql, "8.0.36", &settings).sentence;
    assert!(
        said.ends_with(
            "after a crash replicas can differ (innodb_flush_log_at_trx_commit=0, sync_binlog=0)"
        ),
        "{said}"
    );
    let said =
        judged(Flavour::Mysql, "8.0.36", &[("innodb_flush_log_at_trx_commit", "2")]).sentence;
    assert!(
        said.contains("after a power cut replicas can keep transactions that this server lost"),
        "{said}"
    );
}

#[test]
fn one_login_of_postgresql() {
    let said = |origin| {
        let settings =
            [("synchronous_commit", "off", Some(origin)), ("fsync", "on", Some("default"))];
        judge_text(Flavour::Postgresql, "15.8", settings).unwrap().sentence
    };
    assert!(said("user").contains("for this login's synchronous_commit"), "{}", said("user"));
    assert!(said("/etc/postgresql.conf").contains("can have a synchronous_commit of its own"));
    assert_eq!(judge_text(Flavour::Postgresql, "devel", []), None);
}

#[test]
fn what_is_not_known() {
    let bad = [("innodb_flush_log_at_trx_commit", "often")];
    let said = judged(Flavour::Mysql, "9.7.4", &bad).sentence;
    assert!(
        said.starts_with("a process crash or a power cut may lose commits (not known)"),
        "{said}"
    );
}

/// Aurora shows `innodb_doublewrite=OFF` and `full_page_writes=off`, TiDB and OceanBase settings of
/// InnoDB: none of them says what is lost there.
#[test]
fn platforms_with_a_storage_of_their_own() {
    use Flavour::{Mysql, Postgresql};
    let flush = "innodb_flush_log_at_trx_commit";
    let aurora = [
        ("aurora_version", "3.08.0"),
        ("innodb_doublewrite", "OFF"),
        ("log_bin", "ON"),
        ("sync_binlog", "0"),
    ];
    let with = |more: &[(&'static str, &'static str)]| [&aurora[..], more].concat();
    check(
        Mysql,
        "8.0.39",
        &with(&[(flush, "1")]),
        Loss::Nothing,
        Loss::Nothing,
        ReplicaFate::Unknown,
    );
    check(Mysql, "8.0.39", &with(&[(flush, "0")]), SECOND, SECOND, ReplicaFate::Unknown);
    check(Mysql, "8.0.39", &with(&[(flush, "2")]), SECOND, SECOND, ReplicaFate::Unknown);
    let sentence = judged(Mysql, "8.0.39", &aurora).sentence;
    assert!(sentence.contains("as the documentation of Amazon Aurora MySQL says"), "{sentence}");
    let aurora = [("aurora_version", "present"), ("fsync", "off"), ("full_page_writes", "off")];
    check(Postgresql, "16.4", &aurora, Loss::Nothing, Loss::Nothing, ReplicaFate::Unknown);

    for version in ["8.0.11-TiDB-v8.5.0", "5.7.25-OceanBase-v4.2.1.0"] {
        let shown =
            [("version", version), ("innodb_flush_log_at_trx_commit", "0"), ("sync_binlog", "0")];
        check(Mysql, version, &shown, Loss::Unknown, Loss::Unknown, ReplicaFate::Unknown);
        let sentence = judged(Mysql, version, &shown).sentence;
        assert!(
            sentence.contains("is not judged") && !sentence.contains("innodb_flush"),
            "{sentence}"
        );
    }
    // RDS is an ordinary server, whose pages may be written whole.
    let rds = [("basedir", "/rdsdbbin/mysql-8.0.40.R3/"), ("sync_binlog", "1"), (flush, "1")];
    check(Mysql, "8.0.40", &rds, Loss::Nothing, Loss::Nothing, ReplicaFate::Follows);
    let optimized = [&rds[..], &[("innodb_doublewrite", "OFF")]].concat();
    let found = judged(Mysql, "8.0.40", &optimized);
    assert!(
        found.power_cut == Loss::Unknown && found.sentence.contains("Optimized Writes"),
        "{}",
        found.sentence
    );
    check(
        Mysql,
        "8.0.40",
        &[("innodb_doublewrite", "OFF")],
        Loss::Nothing,
        Loss::Damage,
        ReplicaFate::Differs,
    );
}

#[test]
fn a_datadir_in_memory_is_lost_at_a_power_cut() {
    let ordinary = judged(Flavour::Mysql, "9.7.4", &[]);
    assert_eq!(ordinary.clone().on_file_system(Some("ext4")), ordinary);
    assert_eq!(ordinary.clone().on_file_system(None), ordinary);
    let found = ordinary.on_file_system(Some("tmpfs"));
    assert_eq!((found.process_crash, found.power_cut), (Loss::Nothing, Loss::Damage));
    assert_eq!(
        found.sentence,
        "a process crash loses nothing; a power cut loses all data, whatever the settings: the \
         datadir is in memory (tmpfs)"
    );
    let off = judged(Flavour::Mysql, "9.7.4", &[("innodb_flush_log_at_trx_commit", "0")])
        .on_file_system(Some("tmpfs"));
    assert!(
        off.sentence
            .starts_with("a process crash can lose up to about 1 s of acknowledged transactions; "),
        "{}",
        off.sentence
    );
}

/// The releases after 9.7 have its rules.
#[test]
fn calendar_versions_are_judged_as_9_7() {
    let cases: [&[(&str, &str)]; 7] = [
        &[],
        &[("sync_binlog", "0")],
        &[("innodb_flush_log_at_trx_commit", "3"), ("log_bin", "OFF")],
        &[("innodb_flush_method", "O_DIRECT_NO_FSYNC")],
        &[("innodb_flush_method", "3")],
        &[("innodb_doublewrite", "DETECT_ONLY")],
        &[("innodb_support_xa", "OFF")],
    ];
    for settings in cases {
        for version in ["26.7.0", "26.10.0", "28.4.0-log"] {
            let found = judged(Flavour::Mysql, version, settings);
            assert_eq!(found, judged(Flavour::Mysql, "9.7.4", settings), "{version} {settings:?}");
        }
    }
}
