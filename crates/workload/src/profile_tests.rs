//! Profiles against values computed by hand.

use truetps_plan::{HotRowSpec, KeyMode, ReadWriteMix, ReadWriteSpec, WorkloadKind, WorkloadSpec};
use truetps_record::{SqlDialect, WorkloadProfile};

use crate::stream_tests::{CUSTOM, SQL_BATCHES, bulk_insert, custom, delete_insert, named, specs};
use crate::{build, profile};

fn hot_row(rows: u32) -> WorkloadSpec {
    WorkloadSpec::new(WorkloadKind::HotRow(HotRowSpec { hot_rows: Some(rows), distribution: None }))
}

fn of(spec: &WorkloadSpec) -> WorkloadProfile {
    profile(&*build(spec, SqlDialect::Mysql, 42).unwrap())
}

fn of_delete_insert(key: KeyMode) -> WorkloadProfile {
    of(&delete_insert(key))
}

/// Statements, those that write, and rows inserted by a transaction; shares of explicit keys and of
/// those just deleted.
fn counts(profile: &WorkloadProfile) -> [Option<f64>; 5] {
    let WorkloadProfile {
        writes_per_tx,
        inserted_rows_per_tx,
        explicit_key_share,
        deleted_key_share,
        ..
    } = *profile;
    [
        Some(profile.statements_per_tx),
        writes_per_tx,
        inserted_rows_per_tx,
        explicit_key_share,
        deleted_key_share,
    ]
}

fn near(found: Option<f64>, expect: f64, tolerance: f64) {
    let found = found.expect("it is known");
    assert!((found - expect).abs() <= tolerance, "{found} is not {expect} ± {tolerance}");
}

/// Pages that `writes` scattered over so many are expected to touch: each is missed by all of them
/// with (1 - 1/n)^writes.
fn touched(pages: f64, writes: i32) -> f64 {
    pages * (1.0 - (1.0 - 1.0 / pages).powi(writes))
}

/// The share of writes whose key, uniform among so many, was written within the last 1,000
/// transactions.
fn recent(keys: f64) -> f64 {
    1.0 - (1.0 - 1.0 / keys).powi(1_000)
}

#[test]
fn what_a_transaction_sends_is_counted() {
    let check = |spec: &WorkloadSpec, expect: [f64; 5]| {
        let of_inserted = |share| (expect[2] > 0.0).then_some(share);
        let [sent, writes, rows, explicit, deleted] = expect;
        let expect =
            [Some(sent), Some(writes), Some(rows), of_inserted(explicit), of_inserted(deleted)];
        assert_eq!(counts(&of(spec)), expect, "{}", spec.kind.name());
    };
    let new = named;
    check(&new("insert"), [1.0, 1.0, 1.0, 0.0, 0.0]);
    check(&new("bulk-insert"), [1.0, 1.0, 100.0, 0.0, 0.0]);
    check(&new("update-index"), [1.0, 1.0, 0.0, 0.0, 0.0]);
    check(&new("update-non-index"), [1.0, 1.0, 0.0, 0.0, 0.0]);
    check(&new("hot-row"), [1.0, 1.0, 0.0, 0.0, 0.0]);
    check(&new("read-write"), [18.0, 4.0, 1.0, 1.0, 1.0]);
    let mix = ReadWriteMix {
        point_selects: 2,
        index_updates: 3,
        delete_inserts: 0,
        ..ReadWriteMix::default()
    };
    let mixed = WorkloadKind::ReadWrite(ReadWriteSpec { mix: Some(mix), distribution: None });
    check(&WorkloadSpec::new(mixed), [10.0, 4.0, 0.0, 0.0, 0.0]);
    let key = delete_insert;
    check(&key(KeyMode::Deleted), [2.0, 2.0, 1.0, 1.0, 1.0]);
    check(&key(KeyMode::Random), [2.0, 2.0, 1.0, 1.0, 0.0]);
    check(&key(KeyMode::Auto), [2.0, 2.0, 1.0, 0.0, 0.0]);
    let table =
        custom("[workload]\nrows_per_insert = 3\ntable = { ints = 4 }\nexplicit_commit = true");
    check(&table, [1.0, 1.0, 3.0, 0.0, 0.0]);
}

#[test]
fn keys_that_come_back_are_found() {
    // The same key in each transaction; one of ten: 1 - 0.9^6 < 0.5 < 1 - 0.9^7.
    let hot = |rows| of(&hot_row(rows));
    assert_eq!((hot(1).key_reuse_tx_p50, hot(1).recent_key_share), (Some(1.0), Some(1.0)));
    assert_eq!(hot(10).key_reuse_tx_p50, Some(7.0));
    // One of 1,000, 1 - 0.999^693 = 0.5; of 20,000 transactions of four clients half are followed.
    let update = |rows| of(&WorkloadSpec { table_rows: rows, ..named("update-index") });
    near(update(1_000).key_reuse_tx_p50, 693.0, 50.0);
    near(update(1_000).recent_key_share, recent(1e3), 0.02);
    // 13,863 transactions are more than are followed.
    assert_eq!((update(20_000).key_reuse_tx_p50, update(20_000).key_reuse_tx_max), (None, 2_500));
    near(update(20_000).recent_key_share, recent(2e4), 0.007);

    // The DELETE of 200,000 keys, and the INSERT: of a key of this transaction, of any key, of a
    // key never used before.
    assert_eq!(of_delete_insert(KeyMode::Deleted).key_reuse_tx_p50, Some(0.0));
    near(of_delete_insert(KeyMode::Deleted).recent_key_share, 0.5 + recent(2e5) / 2.0, 0.002);
    for key in [KeyMode::Random, KeyMode::Auto] {
        assert_eq!(of_delete_insert(key).key_reuse_tx_p50, None);
        near(of_delete_insert(key).recent_key_share, recent(2e5) / 2.0, 0.002);
    }
    // Four writes, of which the INSERT is of a key just deleted.
    let read_write = of(&named("read-write"));
    near(
        read_write.recent_key_share,
        0.25 + 0.75 * (1.0 - (1.0 - 1.0 / 2e5_f64).powi(3_000)),
        0.006,
    );
    assert_eq!(
        (of(&named("insert")).recent_key_share, hot(10).recent_key_share),
        (Some(0.0), Some(1.0))
    );
}

#[test]
fn pages_match_the_keys() {
    // 200,000 rows, 73 on a page: 2,740 pages. With 64-bit keys 71: 2,817.
    let update = of(&named("update-non-index"));
    near(update.rows_per_page, 1e3 / touched(2_740.0, 1_000), 0.02);
    assert_eq!(update.new_pages_per_1000_tx, Some(0.0));
    let [deleted, random, auto] =
        [KeyMode::Deleted, KeyMode::Random, KeyMode::Auto].map(of_delete_insert);
    near(deleted.rows_per_page, 2e3 / touched(2_817.0, 1_000), 0.03);
    near(random.rows_per_page, 2e3 / touched(2_817.0, 2_000), 0.03);
    // And 1,000 rows at the end, which begin and end within a page.
    near(auto.rows_per_page, 2e3 / (touched(2_817.0, 1_000) + 1e3 / 71.0 + 1.0), 0.03);
    near(auto.new_pages_per_1000_tx, 1_000.0 / 71.0, 1e-9);
    assert_eq!(
        (deleted.new_pages_per_1000_tx, random.new_pages_per_1000_tx),
        (Some(0.0), Some(0.0))
    );

    assert_eq!(of(&named("hot-row")).rows_per_page, Some(1_000.0));
    let small = WorkloadSpec { table_rows: 100, ..named("update-index") };
    assert_eq!(of(&small).rows_per_page, Some(500.0), "two pages");
    let bulk = of(&named("bulk-insert"));
    near(bulk.rows_per_page, 1e5 / (1e5 / 73.0 + 1.0), 0.1);
    near(bulk.new_pages_per_1000_tx, 1e5 / 73.0, 1e-6);
    // Two tables of half the rows each have as many pages.
    let two = of(&WorkloadSpec { tables: 2, table_rows: 100_000, ..named("update-index") });
    near(two.rows_per_page, 1e3 / touched(2_740.0, 1_000), 0.02);
}

#[test]
fn pages_of_a_generated_table_follow_from_its_columns() {
    let new_pages =
        |table: &str| of(&custom(&format!("[workload]\n{table}"))).new_pages_per_1000_tx;
    let check = |table: &str, row: u64| near(new_pages(table), 1e3 / (15_232 / row) as f64, 1e-9);
    check("table = { ints = 4, floats = 2, varchars = 2 }", 18 + 4 + 16 + 8 + 130);
    check("table = { ints = 1, auto_primary_key = false }", 18 + 6 + 4);
    // decimal(12,2): ten digits are 4 + 1 bytes, two are 1.
    check(
        "table = { decimals = 1, bigints = 1, datetimes = 1, doubles = 1 }",
        18 + 4 + 6 + 8 + 5 + 8,
    );
    check("table = { texts = 1, blobs = 1, value_length = 200 }", 18 + 4 + 404);
    assert_eq!(
        new_pages("table = { texts = 1, value_length = 9000 }"),
        None,
        "which is kept on pages of its own"
    );
}

#[test]
fn what_is_not_known_is_absent() {
    let sql = of(&custom(SQL_BATCHES));
    assert_eq!(
        sql,
        WorkloadProfile { transactions: 20_000, statements_per_tx: 2.0, ..nothing(2_500) }
    );
    let custom = of(&custom(CUSTOM));
    assert_eq!(
        (custom.statements_per_tx, custom.writes_per_tx, custom.rows_per_page),
        (2.0, None, None)
    );
    // PostgreSQL keeps rows in a heap.
    let postgres = profile(&*build(&named("delete-insert"), SqlDialect::Postgres, 42).unwrap());
    let mysql = of_delete_insert(KeyMode::Deleted);
    assert_eq!(
        postgres,
        WorkloadProfile { rows_per_page: None, new_pages_per_1000_tx: None, ..mysql }
    );
}

fn nothing(key_reuse_tx_max: u64) -> WorkloadProfile {
    WorkloadProfile { key_reuse_tx_max, ..WorkloadProfile::default() }
}

/// A number to three digits; a dash where it is absent.
fn cell(number: Option<f64>) -> String {
    let Some(number) = number else { return "–".to_owned() };
    let whole_digits = if number < 1.0 { 0 } else { number.log10() as usize + 1 };
    let text = format!("{number:.*}", 3_usize.saturating_sub(whole_digits));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn row(name: &str, spec: &WorkloadSpec) -> String {
    let profile = of(spec);
    let [_, writes, inserted, explicit, deleted] = counts(&profile);
    let WorkloadProfile {
        key_reuse_tx_p50,
        recent_key_share,
        rows_per_page,
        new_pages_per_1000_tx,
        ..
    } = profile;
    let rest = [key_reuse_tx_p50, recent_key_share, rows_per_page, new_pages_per_1000_tx];
    let cells: Vec<_> =
        [writes, inserted, explicit, deleted].into_iter().chain(rest).map(cell).collect();
    format!("| {name} | {} |\n", cells.join(" | "))
}

#[test]
fn the_documented_table_is_the_programs() {
    let document = include_str!("../../../docs/reference/workloads.md");
    let new = named;
    let rows = ["insert", "bulk-insert", "update-index", "update-non-index"]
        .map(|name| row(&format!("`{name}`"), &new(name)));
    let modes =
        [("deleted", KeyMode::Deleted), ("random", KeyMode::Random), ("auto", KeyMode::Auto)].map(
            |(word, key)| row(&format!("`delete-insert`, `key = \"{word}\"`"), &delete_insert(key)),
        );
    let hot = [1, 100].map(|rows| row(&format!("`hot-row`, `hot_rows = {rows}`"), &hot_row(rows)));
    let table = custom("[workload]\ntable = { ints = 4, floats = 2, varchars = 2 }");
    let last =
        [row("`read-write`", &new("read-write")), row("`table`, of the plan `mtls`", &table)];
    let expect = [&rows[..], &modes, &hot, &last].concat().concat();
    assert!(document.contains(&expect), "docs/reference/workloads.md should have\n{expect}");
}

#[test]
fn one_seed_has_one_profile() {
    for spec in specs() {
        assert_eq!(of(&spec), of(&spec), "{}", spec.kind.name());
    }
    let other = |seed| profile(&*build(&named("update-index"), SqlDialect::Mysql, seed).unwrap());
    assert_ne!(other(1), other(2));
}

/// What is drawn is bounded, however much a transaction has.
#[test]
fn large_transactions_are_drawn_less_often() {
    let bulk = of(&bulk_insert(10_000));
    assert_eq!((bulk.transactions, bulk.inserted_rows_per_tx), (8, Some(10_000.0)));
    near(bulk.rows_per_page, 73.0, 0.1);
    let text = CUSTOM.replace("max_length = 20", "length = 1000000");
    assert_eq!(of(&custom(&text)).transactions, 8, "of 1.4 MB each");
}
