use truetps_record::SettingValue::{self, *};
use truetps_sandbox::*;
fn main() {
    let user = ServerUser::choose();
    let binary = find(std::env::args().nth(1).as_ref().map(|p| p.as_ref()), None, &user).unwrap();
    let c = Catalogue::ask(&binary, &user).unwrap();
    println!("=== {binary}");
    let t = |s: &str| Text(s.to_owned());
    let cases: Vec<(&str, SettingValue)> = vec![
        ("innodb_flush_log_at_trx_commit", Int(1)),
        ("innodb_flush_log_at_trx_commit", Int(2)),
        ("innodb_flush_log_at_trx_commit", Int(7)),
        ("innodb_flush_log_at_trx_commit", Bool(true)),
        ("innodb_flush_log_at_trx_commit", Int(-1)),
        ("innodb_flush_method", t("O_DIRECT")),
        ("innodb_flush_method", t("x")),
        ("innodb_doublewrite", Bool(false)),
        ("innodb_doublewrite", t("maybe")),
        ("sync_binlog", Int(1)),
        ("sync_binlog", t("abc")),
        ("sync_binlog", t("1K")),
        ("log_bin", Bool(true)),
        ("log_bin", Bool(false)),
        ("log_bin", t("a/b")),
        ("skip_log_bin", Bool(true)),
        ("innodb_flush_log", Int(1)),
        ("innodb_buffer_pool_size", t("300M")),
        ("innodb_buffer_pool_size", Int(1000)),
        ("innodb_max_dirty_pages_pct", Float(0.9)),
        ("innodb_max_dirty_pages_pct", Float(200.5)),
        ("innodb_max_dirty_pages_pct", t("abc")),
        ("autocommit", t("maybe")),
        ("autocommit", Bool(false)),
        ("innodb_log_file_size", t("512M")),
        ("innodb_log_file_size", t("512Q")),
        ("innodb_redo_log_capacity", Int(1)),
        ("max_connections", Int(5)),
        ("max_connections", Int(100_001)),
        ("sql_mode", t("ANSI")),
        ("sql_mode", t("FOO")),
        ("binlog_format", t("ROW")),
        ("binlog_format", t("rowx")),
        ("binlog_format", Int(7)),
        ("gtid_mode", t("foo")),
        ("open_files_limit", Int(0)),
        ("open_files_limit", Int(1_000_000)),
        ("datadir", t("/x")),
        ("flush_log_at_trx_commit", Int(1)),
        ("inodb_flush_method", t("x")),
        ("back_log", Int(-1)),
        ("thread_handling", t("pool-of-threads")),
        ("innodb_io_capacity", Int(0)),
        ("innodb_io_capacity", Int(100)),
        ("innodb_flush_log_at_timeout", Int(2)),
        ("innodb_page_size", t("8K")),
        ("performance_schema", Bool(true)),
        ("transaction_isolation", t("READ-COMMITTED")),
        ("transaction_isolation", t("READ COMMITTED")),
        ("tx_isolation", t("READ-COMMITTED")),
        ("innodb_use_native_aio", Bool(false)),
        ("binlog_commit_wait_count", Int(10)),
        ("binlog_group_commit_sync_delay", Int(100)),
        ("innodb_log_buffer_size", t("16M")),
        ("innodb_undo_log_truncate", t("ON")),
        ("character_set_server", t("utf8mb4")),
        ("character_set_server", t("foo")),
        ("query_cache_type", t("OFF")),
        ("innodb_checksum_algorithm", t("crc32")),
        ("thread_cache_size", Int(64)),
        ("table_open_cache", Int(2000)),
    ];
    for (name, value) in &cases {
        match c.check(name, value) {
            Ok(()) => println!("ok    {name} = {value}"),
            Err(e) => println!("ERROR {e}\n        hint: {}", e.hint().unwrap_or_default()),
        }
    }
}
