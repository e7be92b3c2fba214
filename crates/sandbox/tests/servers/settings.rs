//! Settings and levels, checked by a real server program.

use truetps_record::SettingValue;
use truetps_sandbox::{Catalogue, HostLimits, ServerLoad, ServerUser, chosen_settings};

use crate::common::server;

fn text(value: &str) -> SettingValue {
    SettingValue::Text(value.to_owned())
}

fn catalogue(test: &str) -> Option<Catalogue> {
    let binary = server(test)?;
    Some(Catalogue::ask(&binary, &ServerUser::choose()).unwrap())
}

/// MySQL up to 5.6 accepts only whole numbers.
fn takes_parts_of_percents(catalogue: &Catalogue) -> bool {
    catalogue.default_value("innodb_max_dirty_pages_pct").is_some_and(|value| value.contains('.'))
}

#[test]
fn good_settings_pass() {
    let Some(catalogue) = catalogue("good_settings_pass") else { return };
    let mut good = vec![
        ("innodb_flush_log_at_trx_commit", SettingValue::Int(2)),
        ("innodb-doublewrite", SettingValue::Bool(false)),
        ("sync_binlog", text("1K")),
        ("log_bin", SettingValue::Bool(false)),
        ("log_bin", SettingValue::Bool(true)),
        ("innodb_buffer_pool_size", text("512M")),
        // Servers ignore what follows the letter: the value that they make of it is compared.
        ("innodb_buffer_pool_size", text("512MB")),
        ("max_binlog_cache_size", text("10GiB")),
        ("innodb_flush_method", text("O_DIRECT")),
        ("sql_mode", text("ANSI")),
        ("open_files_limit", SettingValue::Int(0)),
    ];
    if takes_parts_of_percents(&catalogue) {
        good.push(("innodb_max_dirty_pages_pct", SettingValue::Float(0.5)));
    }
    for (name, value) in good {
        let result = catalogue.check(name, &value);
        assert!(result.is_ok(), "{name} = {value}: {result:?}");
    }
}

#[test]
fn bad_settings_are_named_with_the_server_s_words() {
    let Some(catalogue) = catalogue("bad_settings_are_named_with_the_server_s_words") else {
        return;
    };
    let check = |name: &str, value: SettingValue, expect: &str| {
        let error = catalogue.check(name, &value).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains(expect),
            "{error}\nshould contain\n{expect}"
        );
    };
    check("inodb_flush_method", text("fsync"), "did you mean `innodb_flush_method`");
    check("skip_log_bin", SettingValue::Bool(true), "(did you mean `log_bin`?)");
    check("no_such_thing_anywhere", SettingValue::Int(1), "has no setting");
    // A prefix is taken by servers, and would be recorded under a name that is not the setting's.
    check("innodb_flush_log", SettingValue::Int(1), "has no setting");
    check("datadir", text("/elsewhere"), "own folder");
    check("innodb_flush_log_at_trx_commit", SettingValue::Int(7), "7");
    check("innodb_flush_log_at_trx_commit", text("often"), "often");
    if takes_parts_of_percents(&catalogue) {
        check("innodb_max_dirty_pages_pct", SettingValue::Float(200.5), "99.999");
    }
    check("innodb_io_capacity", SettingValue::Int(0), "100");
    check("sync_binlog", text("12Q"), "12Q");
    check("innodb_file_per_table", text("maybe"), "neither true nor false");
    check("binlog_format", text("rowx"), "rowx");
    check("log_bin", text("/elsewhere/binlog"), "stays in the private server's folder");
    check("sql_mode", text("ANSI\nport=1"), "control character");
}

#[test]
fn what_truetps_chooses_is_known_and_taken_as_it_stands() {
    let Some(binary) = server("what_truetps_chooses_is_known_and_taken_as_it_stands") else {
        return;
    };
    let catalogue = Catalogue::ask(&binary, &ServerUser::choose()).unwrap();
    let memory = HostLimits::read().memory_bytes;
    let chosen = chosen_settings(
        memory,
        ServerLoad { connections_max: 200, statements_per_connection: 1 },
        binary.flavour,
        binary.version,
    );
    for (name, value) in &chosen {
        catalogue.check(name, &text(value)).unwrap();
    }
    assert_eq!(catalogue.keep_known(chosen.clone()), chosen);
    assert!(catalogue.description("sync_binlog").unwrap().contains("disk"));
}
