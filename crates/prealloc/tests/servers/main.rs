//! Real servers with the library preloaded: each server of `scripts/servers.toml` that has
//! `preallocation`.
//!
//! `TRUETPS_TEST_KILLS` is the number of kills under load for each server; 4 without it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says what it skips"
)]

use truetps_testkit::for_each_preallocation_server;
use truetps_testkit::mysql_family::chosen_server;

mod common;
mod load;
mod loop_disk;

mod crash;
mod flushes;
mod names;
mod paths;
mod pool;
mod readers;
mod refusal;
mod replica;
mod space;
mod switch;

/// Servers of `make test`; `make test-servers` has all.
const USUAL: [&str; 2] = ["mariadb-10.11", "mysql-9.7"];

/// The tests of the files below, on one server.
macro_rules! on_server {
    ($module:ident $server:literal $($file:ident: $($test:ident)+;)+) => {
        mod $module {
            $($(
                #[test]
                fn $test() {
                    let name = stringify!($test);
                    if let Some(server) = crate::chosen_server(name, $server, &crate::USUAL) {
                        super::$file::$test(&server);
                    }
                }
            )+)+
        }
    };
}

for_each_preallocation_server! {
    on_server
    readers: files_have_their_logical_sizes a_large_transaction_grows_the_file closed_active_and_remote_files_are_read;
    crash: no_acknowledged_row_is_lost_by_kills torn_tails_are_cut_and_kept
        prepared_transactions_survive_rotations_and_kills groups_end_where_the_server_begins_the_next
        a_stock_server_starts_on_an_untrimmed_tail;
    flushes: a_commit_flushes_the_disk_once;
    names: a_new_binlog_is_durable_before_its_first_commit a_new_binlog_is_durable_with_its_index_elsewhere;
    switch: the_switch_is_safe_under_load;
    pool: prepared_files_are_used_and_survive_kills;
    refusal: files_without_checksums_are_left_alone encrypted_files_are_left_alone
        a_bad_configuration_and_a_busy_state_file_are_reported;
    paths: a_link_to_the_folder_and_an_index_elsewhere the_log_of_aria_is_as_without;
    space: the_fill_leaves_free_space a_full_disk_loses_nothing a_limit_of_file_sizes_stops_the_fill_only;
    replica: a_replica_follows_over_rotations_and_kills a_semi_synchronous_replica_has_all_acknowledged_rows;
}
