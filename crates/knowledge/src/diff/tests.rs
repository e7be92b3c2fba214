use truetps_record::{Family, Flavour};

use super::folded::{AT_DEFAULT, NO_VARIABLE, ONE_SIDED, REDO_CAPACITY, RENAMED};
use super::*;
use crate::side::{SettingsSide, SideValue};

fn side(flavour: Option<Flavour>, version: &str, settings: &[(&str, &str)]) -> SettingsSide {
    let value = |text: &str| SideValue { value: text.to_owned(), ..SideValue::default() };
    SettingsSide {
        name: "x".to_owned(),
        kind: "capture".to_owned(),
        flavour,
        version: flavour.map(|_| version.to_owned()),
        family: None,
        is_complete: flavour.is_some(),
        settings: settings.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect(),
        notes: Vec::new(),
    }
}

fn shown(diff: &Diff) -> Vec<&str> {
    diff.shown().map(|difference| difference.name.as_str()).collect()
}

#[test]
fn most_likely_to_matter_first() {
    let one = [
        ("server_uuid", "a"),
        ("unheard_of", "1"),
        ("max_connections", "151"),
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("binlog_cache_size", "32768"),
        ("innodb_buffer_pool_size", "1G"),
        ("autocommit", "ON"),
    ];
    let other = [
        ("server_uuid", "b"),
        ("unheard_of", "2"),
        ("max_connections", "200"),
        ("sync_binlog", "0"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("binlog_cache_size", "65536"),
        ("innodb_buffer_pool_size", "1073741824"),
        ("autocommit", "1"),
    ];
    let mysql = Some(Flavour::Mysql);
    let found = diff(&side(mysql, "8.0.36", &one), &side(mysql, "8.0.36", &other));
    let expected = [
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "binlog_cache_size",
        "max_connections",
        "unheard_of",
    ];
    assert_eq!(shown(&found), expected);
    assert_eq!((found.same, found.folded().values().sum::<usize>()), (2, 1));
    let first = &found.differences[0];
    assert_eq!(first.b.default.as_deref(), Some("1"));
    assert!(first.b.power_cut.as_deref().unwrap().contains("last second"), "{first:?}");
    assert!(found.b.durability.unwrap().sentence.contains("innodb_flush_log_at_trx_commit=2"));
}

/// The settings of an Aurora cluster beside an ordinary server.
#[test]
fn settings_without_a_meaning_on_a_platform_say_so() {
    let flush = ("innodb_flush_log_at_trx_commit", "1");
    let a = side(Some(Flavour::Mysql), "8.0.39", &[("innodb_doublewrite", "ON"), flush]);
    let aurora = [("innodb_doublewrite", "OFF"), ("aurora_version", "3.08.0"), flush];
    let found = diff(&a, &side(Some(Flavour::Mysql), "8.0.39", &aurora));
    let one = found.differences.iter().find(|one| one.name == "innodb_doublewrite").unwrap();
    assert!(
        one.b.without_effect.as_deref().unwrap().contains("no meaning on Amazon Aurora MySQL"),
        "{one:?}"
    );
    assert_eq!((&one.b.power_cut, &one.a.without_effect), (&None, &None));
    assert!(
        found.b.notes[0].starts_with("the server is Amazon Aurora MySQL"),
        "{:?}",
        found.b.notes
    );
    assert!(found.a.notes.is_empty());
}

#[test]
fn the_same_value_with_the_switch_on_in_one() {
    let mysql = Some(Flavour::Mysql);
    let sync = ("sync_binlog", "1");
    let old = side(mysql, "5.7.22", &[sync, ("log_bin", "OFF"), ("innodb_flush_method", "")]);
    let new = side(mysql, "8.0.15", &[sync, ("log_bin", "ON"), ("innodb_flush_method", "fsync")]);
    let found = diff(&old, &new);
    assert_eq!((shown(&found), found.same), (vec!["log_bin", "sync_binlog"], 1));
    let second = &found.differences[1];
    assert_eq!(second.a.without_effect.as_deref(), Some("log_bin is OFF"));
    assert_eq!((second.a.power_cut.as_deref(), second.b.without_effect.as_deref()), (None, None));
    assert!(second.b.power_cut.as_deref().unwrap().starts_with("loses no acknowledged event"));
    assert_eq!(diff(&new, &new).same, 3);
}

#[test]
fn where_files_are() {
    let mysql = Some(Flavour::Mysql);
    let at = |data: &str, redo: &str| {
        side(
            mysql,
            "8.0.36",
            &[("datadir", data), ("innodb_log_group_home_dir", redo), ("tmpdir", "/tmp")],
        )
    };
    for (one, other, differences) in [
        (at("/a/", "./"), at("/b/", "/b/redo"), 0),
        (at("/a/", "./"), at("/b/", "/bb"), 1),
        (at("/a/", "/fast"), at("/b/", "/quick"), 0),
    ] {
        assert_eq!(shown(&diff(&one, &other)).len(), differences);
    }
}

#[test]
fn a_setting_of_one_version_has_its_counterpart() {
    let new = side(
        Some(Flavour::Mysql),
        "9.7.4",
        &[("innodb_redo_log_capacity", "104857600"), ("odd_new", "1")],
    );
    let old = side(Some(Flavour::Mariadb), "10.11.19", &[("innodb_log_file_size", "100663296")]);
    let found = diff(&new, &old);
    assert_eq!(shown(&found), ["innodb_log_file_size", "innodb_redo_log_capacity"]);
    let capacity = &found.differences[1];
    assert_eq!(capacity.b.value, None);
    assert_eq!(
        capacity.b.counterparts,
        [("innodb_log_file_size".to_owned(), "100663296".to_owned())]
    );
    assert_eq!(found.folded().get(ONE_SIDED), Some(&1));
}

#[test]
fn an_option_file_is_no_whole_server() {
    let server = side(
        Some(Flavour::Mysql),
        "8.0.36",
        &[("sync_binlog", "1"), ("port", "1"), ("log_bin", "ON")],
    );
    let file = side(None, "", &[("sync_binlog", "0"), ("log_bin", "/var/binlog")]);
    let found = diff(&file, &server);
    assert_eq!(shown(&found), ["sync_binlog"]);
    assert_eq!((found.same, found.not_compared), (1, 1));
    assert!(found.a.durability.as_ref().unwrap().sentence.contains("sync_binlog=0"));
    let two = diff(&file, &side(None, "", &[("max_connections", "9")]));
    assert_eq!(shown(&two).len(), 3);
    assert_eq!(two.a.durability, None);
}

#[test]
fn what_a_file_leaves_unset_has_its_default() {
    let file =
        |family, settings: &[(&str, &str)]| SettingsSide { family, ..side(None, "", settings) };
    let mysql = |settings: &[(&str, &str)]| file(Some(Family::Mysql), settings);
    let flush = "innodb_flush_log_at_trx_commit";
    let found = diff(
        &mysql(&[(flush, "1"), ("sync_binlog", "0")]),
        &mysql(&[("innodb_doublewrite", "ON")]),
    );
    assert_eq!(shown(&found), ["sync_binlog"], "each version has its own default of it");
    assert_eq!(found.folded()[AT_DEFAULT], 2);
    let found = diff(&mysql(&[(flush, "2")]), &mysql(&[("sync_binlog", "0")]));
    let first = &found.differences[0];
    assert_eq!(
        (first.name.as_str(), first.b.is_left_to_server, first.b.default.as_deref()),
        (flush, true, Some("1"))
    );
    let postgres = |settings: &[(&str, &str)]| file(Some(Family::Postgresql), settings);
    let one = [
        ("shared_buffers", "1GB"),
        ("checkpoint_timeout", "15min"),
        ("fsync", "on"),
        ("work_mem", "64MB"),
    ];
    let other =
        [("shared_buffers", "1024MB"), ("checkpoint_timeout", "900"), ("work_mem", "65536")];
    let found = diff(&postgres(&one), &postgres(&other));
    assert_eq!((shown(&found), found.same), (vec![], 3));
    let pages = diff(
        &postgres(&[("shared_buffers", "1GB")]),
        &postgres(&[("shared_buffers", "1073741824")]),
    );
    assert_eq!(shown(&pages), ["shared_buffers"], "a number alone counts pages");
}

#[test]
fn options_that_a_server_shows_nothing_of() {
    let server = |flavour, version: &str| {
        side(Some(flavour), version, &[("have_symlink", "YES"), ("key_buffer_size", "8")])
    };
    let names =
        ["user", "symbolic_links", "default_time_zone", "plugin_load_add", "skip_host_cache"];
    let file = side(None, "", &names.map(|name| (name, "x")));
    for (flavour, version) in [(Flavour::Mysql, "8.0.36"), (Flavour::Mariadb, "10.11.19")] {
        let found = diff(&file, &server(flavour, version));
        assert_eq!((shown(&found), found.folded()[NO_VARIABLE]), (vec![], 5));
        assert!(found.a.notes.is_empty(), "{:?}", found.a.notes);
    }
    assert_eq!(
        shown(&diff(&file, &server(Flavour::Mysql, "9.7.0"))),
        ["skip_host_cache"],
        "it is gone there"
    );
    let short = side(None, "", &[("key_buffer", "8M")]);
    let note = |flavour, version: &str| diff(&short, &server(flavour, version)).a.notes.join(" ");
    assert!(note(Flavour::Mariadb, "11.8.6").contains("short for key_buffer_size"));
    assert!(
        note(Flavour::Mysql, "8.0.36")
            .contains("did you mean key_buffer_size? A server does not start")
    );
}

#[test]
fn weight_counts_across_groups() {
    let of = |pool: &str, shutdown: &str, xa: &[(&str, &str)]| {
        let known = [("innodb_buffer_pool_size", pool), ("innodb_fast_shutdown", shutdown)];
        side(
            Some(Flavour::Mysql),
            if xa.is_empty() { "8.0.36" } else { "5.7.44" },
            &[&known[..], xa].concat(),
        )
    };
    let found = diff(&of("128M", "0", &[]), &of("64G", "1", &[("innodb_support_xa", "ON")]));
    assert_eq!(
        shown(&found),
        ["innodb_buffer_pool_size", "innodb_fast_shutdown", "innodb_support_xa"]
    );
}

#[test]
fn a_setting_does_not_promise_what_the_others_break() {
    let flush = "innodb_flush_log_at_trx_commit";
    let of = |level: &str, more: &[(&str, &str)]| {
        let all = [&[(flush, level), ("log_bin", "ON")], more].concat();
        side(Some(Flavour::Mariadb), "10.11.19", &all)
    };
    let power = |more: &[(&str, &str)]| {
        let found = diff(&of("1", more), &of("2", more));
        let first = found.differences.iter().find(|one| one.name == flush).unwrap();
        first.a.power_cut.clone().unwrap()
    };
    assert!(
        power(&[("sync_binlog", "1")])
            .starts_with("loses no committed transaction if the disk honours")
    );
    assert!(power(&[("sync_binlog", "0")]).starts_with("can lose the last group"));
    let broken = power(&[("sync_binlog", "1"), ("innodb_doublewrite", "OFF")]);
    assert!(
        broken.starts_with("can damage the data for good, by all settings together"),
        "{broken}"
    );
    // MySQL makes 2 of a 3.
    let three = [(flush, "3"), ("log_bin", "ON")];
    let mysql = |level| side(Some(Flavour::Mysql), "8.0.36", &[(flush, level), three[1]]);
    let found = diff(&mysql("3"), &mysql("1"));
    assert!(found.differences[0].a.power_cut.as_deref().unwrap().contains("last second"));
}

#[test]
fn redo_logs_of_the_same_size() {
    let old = |size: &str, files: &[(&str, &str)]| {
        side(Some(Flavour::Mysql), "5.7.44", &[&[("innodb_log_file_size", size)], files].concat())
    };
    let new = side(Some(Flavour::Mysql), "9.7.4", &[("innodb_redo_log_capacity", "1G")]);
    let files = [("innodb_log_files_in_group", "2")];
    assert_eq!(diff(&old("1G", &files), &new).shown().count(), 3, "2 GiB are not 1 GiB");
    let found = diff(&old("512M", &files), &new);
    assert_eq!((found.shown().count(), found.folded()[RENAMED]), (0, 3));
    assert_eq!(diff(&old("512M", &[]), &new).shown().count(), 0, "two files by default");
    let maria = side(Some(Flavour::Mariadb), "10.11.19", &[("innodb_log_file_size", "1G")]);
    assert_eq!(diff(&maria, &new).shown().count(), 0);
    let found = diff(&new, &old("1G", &files));
    let counterparts =
        &found.differences.iter().find(|one| one.name == REDO_CAPACITY).unwrap().b.counterparts;
    assert_eq!(counterparts.len(), 2, "one alone is not the size: {counterparts:?}");
}

#[test]
fn what_a_user_has_chosen_is_not_folded_away() {
    let from = |origin: Option<&str>, default: Option<&str>| {
        let mut one =
            side(Some(Flavour::Mariadb), "10.11.19", &[("rocksdb_flush_log_at_trx_commit", "0")]);
        let found = one.settings.values_mut().next().unwrap();
        (found.origin, found.default) = (origin.map(str::to_owned), default.map(str::to_owned));
        one
    };
    let mysql = side(Some(Flavour::Mysql), "8.0.36", &[("innodb_flush_log_at_trx_commit", "1")]);
    let count = |one: &SettingsSide| {
        diff(one, &mysql).shown().filter(|one| one.name.starts_with("rocksdb")).count()
    };
    assert_eq!(count(&from(Some("config"), Some("1"))), 1);
    assert_eq!(count(&from(Some("/etc/my.cnf"), None)), 1);
    for (origin, default) in
        [(None, None), (Some("compile-time"), Some("0")), (Some("auto"), Some("1"))]
    {
        assert_eq!(count(&from(origin, default)), 0, "{origin:?}");
    }
    assert_eq!(count(&from(Some("config"), Some("0"))), 0, "its default was written down");
    let file = side(None, "", &[("innodb_flush_log_at_trx_comit", "2")]);
    let found = diff(&file, &mysql);
    assert_eq!(shown(&found), ["innodb_flush_log_at_trx_comit"]);
    let note =
        "did you mean innodb_flush_log_at_trx_commit? A server does not start with an unknown name";
    assert!(found.a.notes[0].contains(note), "{:?}", found.a.notes);
    assert_eq!(diff(&mysql, &file).b.notes.len(), 1);
    let mut loose = file;
    loose.settings.values_mut().for_each(|found| found.is_loose = true);
    assert!(diff(&loose, &mysql).a.notes.is_empty(), "a server passes over it");
}
