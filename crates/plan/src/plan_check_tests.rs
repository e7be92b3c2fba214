//! What is refused in a plan, and what is not.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde::de::value::Error as ValueError;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::sections::SECTIONS;
use crate::workload_spec::all_workload_keys;
use crate::{
    BulkInsertSpec, CustomSpec, DatadirState, DeleteInsertSpec, Design, ErrorPolicy,
    GeneratedTable, HotRowSpec, KeyMode, Load, Plan, ProbeSpec, QuickOverrides, ReadWriteSpec,
    ScriptSpec, ServerSpec, SqlSpec, TableInsertSpec, UpdateSpec, VerifySpec, WorkloadKind,
    WorkloadSpec,
};
use truetps_record::{Configuration, Personality, Protocol, SettingValue};

/// Keeps the names of the fields that a structure reads, and gives it none.
struct FieldNames<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = ValueError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ValueError> {
        self.0.set(fields);
        Err(Error::custom("only the names"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(Error::custom("only the names"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields_of<T: Deserialize<'static>>() -> BTreeSet<&'static str> {
    let fields = Cell::new(&[] as &[&str]);
    assert!(T::deserialize(FieldNames(&fields)).is_err());
    fields.get().iter().copied().collect()
}

#[test]
fn the_known_keys_of_sections_are_those_that_are_read() {
    let mut plan = fields_of::<Plan>();
    // Read apart from the rest.
    plan.insert("workload");
    let read = [
        ("", plan),
        ("server", fields_of::<ServerSpec>()),
        ("workload.table", fields_of::<GeneratedTable>()),
        ("load", fields_of::<Load>()),
        ("load.errors", fields_of::<ErrorPolicy>()),
        ("design", fields_of::<Design>()),
        ("probe", fields_of::<ProbeSpec>()),
        ("quick", fields_of::<QuickOverrides>()),
    ];
    assert_eq!(
        SECTIONS.map(|(section, keys)| (section, keys.iter().copied().collect::<BTreeSet<_>>())),
        read
    );
}

#[test]
fn the_known_keys_of_workloads_are_those_that_are_read() {
    let read = [
        ("insert", BTreeSet::new()),
        ("bulk-insert", fields_of::<BulkInsertSpec>()),
        ("update-index", fields_of::<UpdateSpec>()),
        ("update-non-index", fields_of::<UpdateSpec>()),
        ("delete-insert", fields_of::<DeleteInsertSpec>()),
        ("hot-row", fields_of::<HotRowSpec>()),
        ("read-write", fields_of::<ReadWriteSpec>()),
        ("custom", fields_of::<CustomSpec>()),
        ("sql", fields_of::<SqlSpec>()),
        ("table", fields_of::<TableInsertSpec>()),
        ("sysbench", fields_of::<ScriptSpec>()),
        ("verify", fields_of::<VerifySpec>()),
    ];
    let own = |key: &&str| !["tables", "table_rows"].contains(key);
    let known = all_workload_keys()
        .map(|(name, keys)| (name, keys.iter().copied().filter(own).collect::<BTreeSet<_>>()));
    assert_eq!(known.collect::<Vec<_>>(), read);
}

const SMALL: &str = r#"
    name = "small"
    about = "a test"
    [workload]
    name = "insert"
    [factors]
    innodb_flush_log_at_trx_commit = [1, 2]
    connections = [1, 8]
    [quick]
    blocks = 2
    factors = { connections = [4] }
"#;

fn error_of(text: &str) -> String {
    Plan::parse(text).expect_err("a wrong plan").to_string()
}

#[test]
fn defaults_and_product() {
    let plan = Plan::parse(SMALL).unwrap();
    assert_eq!((plan.workload.table_rows, plan.workload.protocol), (200_000, Protocol::Prepared));
    assert_eq!((plan.design.blocks, plan.design.datadir), (5, DatadirState::Refill));
    let labels: Vec<_> = plan.configurations().iter().map(ToString::to_string).collect();
    assert_eq!(
        labels,
        [
            "innodb_flush_log_at_trx_commit=1 connections=1",
            "innodb_flush_log_at_trx_commit=1 connections=8",
            "innodb_flush_log_at_trx_commit=2 connections=1",
            "innodb_flush_log_at_trx_commit=2 connections=8",
        ]
    );
    assert_eq!(plan.baseline()["innodb_flush_log_at_trx_commit"], SettingValue::Int(1));
    let quick = plan.into_quick();
    assert_eq!((quick.design.blocks, quick.configurations().len()), (2, 2));
}

#[test]
fn servers_by_name() {
    let named = |text: &str| {
        Plan::parse(&SMALL.replace("about =", &format!("{text}\n        about ="))).unwrap()
    };
    let short = named("server = 'mysql-8.0'");
    assert_eq!(short.server_names(), ["mysql-8.0"]);
    assert_eq!(Plan::parse(&short.to_toml()).unwrap(), short);
    let factor = SMALL.replace("[factors]", "[factors]\n        server = ['a', 'b']");
    let plan = Plan::parse(&factor).unwrap();
    assert_eq!(plan.server_names(), ["a", "b"]);
    assert_eq!(
        plan.setting_factors().into_keys().collect::<Vec<_>>(),
        ["innodb_flush_log_at_trx_commit"]
    );
    assert_eq!(plan.configurations()[0].server(), Some("a"));
    assert_eq!(plan.configurations()[0].settings().count(), 1);
    assert!(
        error_of(&factor.replace("about =", "server = 'c'\n        about ="))
            .contains("is a factor too")
    );
    assert!(error_of(&factor.replace("'a', 'b'", "5.7, 8.0")).contains("in quotes"));
    assert!(error_of(&format!("{SMALL}\n[server]\nnam = 'x'")).contains("did you mean `name`"));
}

#[test]
fn a_plan_survives_being_written() {
    let plan = Plan::parse(SMALL).unwrap();
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
}

#[test]
fn the_record_of_a_script_has_no_limits() {
    let text = "name = 's'\nabout = '?'\n[workload]\nname = 'sysbench'\nscript = \
                'oltp'\n[load]\nmeasure_s = 0\n\
                rate = 20000000\n[load.errors]\nretry = ['deadlock', 'other(HV000)']\n[factors]\n\
                connections = [1000000]\n";
    let plan = Plan::parse(text).unwrap();
    assert_eq!(plan.recorded_from, Some(Personality::Sysbench), "though it does not say so");
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
}

/// Whatever mysqlslap and mtls-perf-bench can be asked for.
#[test]
fn a_record_has_no_limits() {
    let slap = |text: &str| {
        let text = text.replace("WORKLOAD", "[workload]\nsql = 'select 1'\n");
        let text = format!("name = 's'\nabout = '?'\nrecorded_from = 'slap'\n{text}");
        let has_factors = text.contains("[factors]");
        let text = if has_factors { text } else { text + "\n[factors]\nconnections = [1]\n" };
        let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(plan.recorded_from, Some(Personality::Slap));
        assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan, "{text}");
        let wish = text.replace("recorded_from = 'slap'", "");
        assert!(Plan::parse(&wish).is_err(), "no plan may request it: {wish}");
    };
    slap("WORKLOAD");
    slap("WORKLOAD create = 'create table `a b` (i int); create table `a b` (i int)'");
    slap("WORKLOAD commit_every = 4000000000");
    slap("WORKLOAD [factors]\nconnections = [4, 4]");
    slap("WORKLOAD [design]\nblocks = 100000");
    slap("WORKLOAD [load]\nmeasure_s = 1e7");
    slap("WORKLOAD [load]\nmeasure_s = 0.001\nrate = 1e12");
    slap("[workload]\nsql = ['BEGIN', \"select 'a\", 'COMMIT']\n");
    slap(&format!("[workload]\nsql = '{}'\n", "select 1;".repeat(20_000)));
    slap(
        "[workload]\ntable = { ints = 5000, name = 'a-ä', decimal_scale = 60 }\nrows_per_insert = \
         70000\n",
    );
    let error = |text: &str| {
        let text = format!(
            "name = 's'\nabout = '?'\n{text}\n[workload]\nsql = 'x'\n[factors]\nconnections = []"
        );
        error_of(&text)
    };
    assert!(error("recorded_from = 'mtls'").contains("`factors.connections`: has no level"));
    assert!(
        error("recorded_from = 'a hand'")
            .contains("unknown variant `a hand`, expected one of `sysbench`")
    );
}

#[test]
fn numbers_that_toml_does_not_have() {
    let mut plan = Plan::parse(&SMALL.replace("'insert'", "'table'")).unwrap();
    plan.recorded_from = Some(Personality::Mtls);
    plan.design.seed = u64::MAX;
    plan.load.measure_transactions = Some(1 << 63);
    plan.workload.table_rows = u64::MAX;
    plan.quick.table_rows = Some(u64::MAX);
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    let table = GeneratedTable { rows: u64::MAX, ..GeneratedTable::default() };
    let table = WorkloadKind::Table(TableInsertSpec { table, ..TableInsertSpec::default() });
    let rows = Plan { workload: WorkloadSpec::new(table), ..plan.clone() };
    assert!(rows.to_toml().contains("rows = \"18446744073709551615\""), "{}", rows.to_toml());

    let refused = |change: &dyn Fn(&mut Plan), expect: &str| {
        let mut plan = Plan::parse(SMALL).unwrap();
        change(&mut plan);
        let error = error_of(&plan.to_toml());
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    let most = "is not between 1 and 9223372036854775807";
    refused(&|plan| plan.load.measure_transactions = Some(u64::MAX), most);
    refused(
        &|plan| plan.design.seed = 1 << 63,
        "`design.seed`: 9223372036854775808 is not between 0 and",
    );
    refused(
        &|plan| plan.workload.table_rows = u64::MAX,
        "`workload.table_rows`: 18446744073709551615 is not",
    );
    refused(
        &|plan| plan.quick.table_rows = Some(u64::MAX),
        "`quick.table_rows`: 18446744073709551615 is not",
    );
    let with = |seed: &str| error_of(&format!("{SMALL}\n[design]\nseed = {seed}"));
    assert!(with("'7'").contains("invalid type: string \"7\", expected a whole number from 0"));
    assert!(with("-7").contains("expected a whole number from 0"));
    assert!(
        with("9223372036854775808").contains("seed = 9223372036854775808"),
        "{}",
        with("9223372036854775808")
    );
}

#[test]
fn configurations_that_mean_nothing_are_left_out() {
    let with = |leave_out: &str| {
        let text = "[factors]\n        log_bin = [false, true]\n        sync_binlog = [0, 1]";
        let design = format!("connections = [1, 8]\n[design]\nleave_out = {leave_out}");
        Plan::parse(&SMALL.replace("[factors]", text).replace("connections = [1, 8]", &design))
    };
    let plan = with("[{ log_bin = false, sync_binlog = 1 }]").unwrap();
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    let labels: Vec<_> = plan.configurations().iter().map(ToString::to_string).collect();
    assert_eq!(labels.len(), 12, "of 16");
    assert!(
        !labels.iter().any(|label| label.starts_with("log_bin=false sync_binlog=1")),
        "{labels:?}"
    );
    let check = |leave_out: &str, expect: &str| {
        let error = with(leave_out).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    check(
        "[{ log_bn = false }]",
        "unknown key `log_bn` in `design.leave_out` (did you mean `log_bin`",
    );
    check(
        "[{ sync_binlog = 7 }]",
        "`design.leave_out.sync_binlog`: `7` is not one of the factor's levels",
    );
    check("[{ log_bin = false }]", "`design.leave_out`: leaves no configuration of the baseline");
    check("[{ connections = 4 }]", "leaves no configuration of the baseline with `--quick`");
    check("[{}]", "leaves no configuration");
    check("{ log_bin = false }", "expected a list in brackets");
}

#[test]
fn rows_per_insert_may_be_a_factor() {
    let plan = |workload: &str, levels: &str| {
        let factors = format!("[factors]\nconnections = [1]\nrows_per_insert = {levels}");
        Plan::parse(&format!("name = 'p'\nabout = 'a'\n[workload]\n{workload}\n{factors}\n"))
    };
    let bulk = plan("name = 'bulk-insert'", "[1, 10, 100]").unwrap();
    let rows = |one: &Configuration| match bulk.workload_of(one).kind {
        WorkloadKind::BulkInsert(spec) => spec.rows_per_insert,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        bulk.configurations().iter().map(rows).collect::<Vec<_>>(),
        [Some(1), Some(10), Some(100)]
    );
    assert_eq!(bulk.baseline().get("rows_per_insert"), Some(&SettingValue::Int(1)));
    assert!(!bulk.setting_factors().contains_key("rows_per_insert"));
    assert!(plan("table = { ints = 4 }", "[1, 1000]").is_ok());
    let check = |workload: &str, levels: &str, problem: &str| {
        let error = plan(workload, levels).unwrap_err().to_string();
        assert!(error.contains(problem), "{workload} {levels}: {error}");
    };
    check(
        "name = 'insert'",
        "[1]",
        "`factors.rows_per_insert` means nothing to `insert`: it is for `bulk-insert`",
    );
    check(
        "name = 'bulk-insert'\nrows_per_insert = 5",
        "[1]",
        "`workload.rows_per_insert`: is a factor too",
    );
    check(
        "name = 'bulk-insert'",
        "[10001]",
        "`factors.rows_per_insert`: 10001 is not between 1 and 10000",
    );
    check(
        "table = { ints = 70 }",
        "[1, 1000]",
        "`factors.rows_per_insert`: 1000 rows of 70 values are more than 65535",
    );
}

#[test]
fn hot_rows_may_be_a_factor() {
    let with = |workload: &str, levels: &str| {
        let factors = format!("[factors]\nhot_rows = {levels}");
        Plan::parse(&SMALL.replace("name = \"insert\"", workload).replace("[factors]", &factors))
    };
    let plan = with("name = 'hot-row'", "[1, 100]").unwrap();
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    let hot =
        |rows| WorkloadKind::HotRow(HotRowSpec { hot_rows: Some(rows), ..HotRowSpec::default() });
    assert_eq!((plan.workload.table_rows, plan.largest_workload().kind), (100, hot(100)));
    let first = &plan.configurations()[0];
    assert_eq!(
        (plan.workload_of(first).kind, plan.baseline().get("hot_rows")),
        (hot(1), Some(&SettingValue::Int(1)))
    );
    assert_eq!(first.settings_label(), "hot_rows=1 innodb_flush_log_at_trx_commit=1");
    assert_eq!(first.settings().count(), 1);
    assert!(!plan.setting_factors().contains_key("hot_rows"));
    let check = |workload, levels, expect: &str| {
        let error = with(workload, levels).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    check(
        "name = 'insert'",
        "[1]",
        "`factors.hot_rows` means nothing to `insert`: it is for `hot-row`",
    );
    check("name = 'hot-row'\nhot_rows = 1", "[1]", "`workload.hot_rows`: is a factor too");
    check("name = 'hot-row'", "[0]", "`factors.hot_rows`: 0 is not between 1 and 100000");
    check("name = 'hot-row'", "['1']", "`1` is not a whole number");
}

#[test]
fn the_key_may_be_a_factor() {
    let with = |workload: &str, levels: &str| {
        let factors = format!("[factors]\nkey = {levels}");
        Plan::parse(&SMALL.replace("name = \"insert\"", workload).replace("[factors]", &factors))
    };
    let plan = with("name = 'delete-insert'\ntable_rows = 70", "['random', 'auto']").unwrap();
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    assert_eq!((plan.workload.table_rows, plan.largest_workload().table_rows), (70, 70));
    let kinds: Vec<_> =
        plan.configurations().iter().map(|one| plan.workload_of(one).kind).collect();
    let key = |key| {
        WorkloadKind::DeleteInsert(DeleteInsertSpec {
            key: Some(key),
            ..DeleteInsertSpec::default()
        })
    };
    assert_eq!(
        (kinds.len(), &kinds[0], &kinds[7]),
        (8, &key(KeyMode::Random), &key(KeyMode::Auto))
    );
    assert_eq!(plan.baseline().get("key"), Some(&SettingValue::Text("random".to_owned())));
    let first = &plan.configurations()[0];
    assert_eq!(first.settings_label(), "key=random innodb_flush_log_at_trx_commit=1");
    assert_eq!(first.settings().count(), 1);
    assert!(!plan.setting_factors().contains_key("key"));
    let check = |workload, levels, expect: &str| {
        let error = with(workload, levels).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    check(
        "name = 'insert'",
        "['auto']",
        "`factors.key` means nothing to `insert`: it is for `delete-insert`",
    );
    check("name = 'delete-insert'\nkey = 'auto'", "['auto']", "`workload.key`: is a factor too");
    check(
        "name = 'delete-insert'",
        "['automatic']",
        "`factors.key`: unknown key `automatic` (known: `deleted`",
    );
    check("name = 'delete-insert'", "[1]", "`factors.key`: unknown key `1`");
}

#[test]
fn wrong_plans_are_named() {
    let check = |from: &str, to: &str, expect: &str| {
        let error = error_of(&SMALL.replace(from, to));
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    };
    check("[workload]", "[worklod]", "unknown key `worklod` in `plan` (did you mean `workload`");
    check("blocks = 2", "block = 2", "did you mean `blocks`?");
    check(
        "connections = [1, 8]",
        "connections = [0]",
        "`factors.connections`: 0 is not between 1 and 100000",
    );
    check("connections = [1, 8]", "connections = [1, 1]", "names a level twice");
    check("connections = [1, 8]", "connections = [\"many\"]", "`many` is not a whole number");
    check("commit = [1, 2]", "commit = []", "has no level");
    check("connections = [1, 8]", "", "`connections` is missing");
    check("name = \"small\"", "name = \"../up\"", "`../up` must be 1 to 64 letters");
    check("[quick]", "[load]\nmeasure_s = 0\n[quick]", "`load.measure_s`: 0 is not between 0.1");
    check("[quick]", "[load]\nmeasure_s = nan\n[quick]", "`load.measure_s`");
    check("[quick]", "[design.baseline]\nconnection = 1\n[quick]", "did you mean `connections`?");
    check(
        "[quick]",
        "[design.baseline]\nconnections = 9\n[quick]",
        "`9` is not one of the factor's levels",
    );
    check("about = \"a test\"", "about = 1", "line 3");
    check(
        "factors = { connections = [4] }",
        "factors = { conections = [4] }",
        "did you mean `connections`?",
    );
}

/// Serde takes a list for a structure: its values would be assigned to the keys, in order.
#[test]
fn a_list_is_no_section() {
    let check = |line: &str, key: &str, header: &str| {
        let error = error_of(&format!("name = 'p'\nabout = 'a test'\n{line}\n"));
        let expect = format!("`{key}`: is a list without keys: write");
        assert!(
            error.contains(&expect) && error.contains(&format!("`{header}`, with a line")),
            "{line}\n{error}"
        );
    };
    check("workload = ['insert', 3]", "workload", "[workload]");
    check("server = ['mariadb-10.11']", "server", "[server]");
    check("server = { settings = [1] }", "server.settings", "[server.settings]");
    check("load = [1, 2]", "load", "[load]");
    check("load = { errors = [['deadlock']] }", "load.errors", "[load.errors]");
    check("design = [5]", "design", "[design]");
    check("design = { baseline = [1] }", "design.baseline", "[design.baseline]");
    check("probe = [true, 1.0, true]", "probe", "[probe]");
    check("quick = [2]", "quick", "[quick]");
    check("factors = [1, 8]", "factors", "[factors]");
    check("quick = { factors = [4] }", "quick.factors", "[quick.factors]");
    check("workload = { name = 'read-write', mix = [1, 2] }", "workload.mix", "[workload.mix]");
    let custom = "workload = { name = 'custom', statements = [['SELECT 1']], table = [['t', \
                  ['CREATE TABLE t (a int)']]] }";
    check(custom, "workload.statements[0]", "[[workload.statements]]");
    check(custom, "workload.table[0]", "[[workload.table]]");
}

/// Nothing of the size of the product is made: these would take hours, or all memory.
#[test]
fn plans_that_are_too_large_are_refused_at_once() {
    let factor = |n: u32| format!("        f{n} = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n");
    let factors: String = (0..9).map(factor).collect();
    let product = "their product times `blocks` is more than 20000 trials";
    let large = SMALL.replace("[factors]", &format!("[factors]\n{factors}"));
    assert!(error_of(&large).contains(product));
    assert!(error_of(&large.replace("about", "recorded_from = 'slap'\nabout")).contains(product));
    let levels: Vec<_> = (1..2000).map(|n| n.to_string()).collect();
    let quick = SMALL.replace(
        "connections = [4]",
        &format!("connections = [{}], f = [{}]", levels.join(","), levels.join(",")),
    );
    let quick = quick.replace("[factors]", "[factors]\nf = [1]");
    assert!(error_of(&quick).contains("`quick.factors`: their product"), "{}", error_of(&quick));
    let many = (0..101).map(|n| format!("f{n} = [1]\n")).collect::<Vec<_>>().concat();
    assert!(
        error_of(&SMALL.replace("[factors]", &format!("[factors]\n{many}")))
            .contains("103 factors are more than 100")
    );
    let left_out = vec!["{ connections = 8 }"; 1001].join(",");
    let design = format!("{SMALL}\n[design]\nleave_out = [{left_out}]");
    assert!(error_of(&design).contains("1001 combinations are more than 1000"));
}

/// Every trial of the schedule has a copy of its levels.
#[test]
fn texts_that_are_too_long_are_refused_by_their_key() {
    let long = "x".repeat(4097);
    let with = |section: &str, line: &str| SMALL.replace(section, &format!("{section}\n{line}"));
    let level = with("[factors]", &format!("sql_mode = ['a', '{long}']"));
    assert_eq!(
        error_of(&level),
        "line 7: `factors.sql_mode`: a text of 4097 bytes is longer than 4096"
    );
    let fixed = format!("{SMALL}\n[server.settings]\nsql_mode = '{long}'\n");
    assert_eq!(
        error_of(&fixed),
        "line 14: `server.settings.sql_mode`: a text of 4097 bytes is longer than 4096"
    );
    Plan::parse(&with("[factors]", &format!("sql_mode = ['a', '{}']", &long[1..]))).unwrap();
    // At most 20,000 trials, of 4 KiB each.
    let levels = |name: &str, text: &str| {
        let levels: Vec<_> = (0..50).map(|n| format!("'{n}{text}'")).collect();
        format!("{name} = [{}]", levels.join(", "))
    };
    let factors = format!("{}\n{}", levels("f", ""), levels("sql_mode", &long[10..]));
    let error = error_of(&(with("[factors]", &factors) + "\n[design]\nblocks = 2\n"));
    let problem = "`factors`: names and levels of all trials have ";
    assert!(error.contains(problem) && error.contains("more than 32: write fewer"), "{error}");
}

#[test]
fn records_have_connections() {
    let record = SMALL.replace("about", "recorded_from = 'slap'\nabout");
    Plan::parse(&record).unwrap();
    assert!(
        error_of(&record.replace("connections = [1, 8]", "")).contains("`connections` is missing")
    );
    for level in ["0", "0.5", "-1", "true", "'many'", "4294967296"] {
        let error = error_of(&record.replace("[1, 8]", &format!("[{level}]")));
        assert!(error.contains("`factors.connections`: `"), "{error}");
    }
}

/// A first plan, as it is guessed: the answer says where each word belongs, and nothing of this
/// program's types.
#[test]
fn the_section_of_a_misplaced_key_is_named() {
    let guessed = "name = 'mine'\nabout = 'a'\nworkload = 'custom'\nconnections = [1, 8]\nblocks = \
                   3\nsql = 'x'\nload = 5\n\
                   [design]\nmeasure_s = 2\n[custom]\n[factors]\nsync_binlog = [0, 1]\n";
    let error = error_of(guessed);
    for expect in [
        "line 3: `workload`: is a section: write `[workload]`, and below it `name = \"custom\"`",
        "line 4: unknown key `connections` in `plan`: it is a key of `[factors]`",
        "line 5: unknown key `blocks` in `plan`: it is a key of `[design]`",
        "line 6: unknown key `sql` in `plan`: it is a key of `[workload]`",
        "line 7: `load`: is a section: write `[load]`",
        "line 9: unknown key `measure_s` in `design`: it is a key of `[load]`",
        "line 10: unknown key `custom` in `plan`: it is a workload: write `name = \"custom\"` \
         below `[workload]`",
    ] {
        assert!(error.contains(expect), "{expect}\n{error}");
    }
    assert!(!error.contains("struct") && !error.contains("missing field"), "{error}");
}

#[test]
fn all_problems_of_a_plan_are_reported() {
    let text = "nam = 'p'\n[workload]\nname = 'insert'\n[load]\nmesure_s = \
                1\n[factors]\nsync_binlog = 1\nconnectons = [[1]]";
    let error = error_of(text);
    let expect = [
        "7 problems:",
        "  `name`: is missing: a short name",
        "  `about`: is missing: one sentence",
        "  line 1: unknown key `nam` in `plan` (did you mean `name`?)",
        "  line 5: unknown key `mesure_s` in `load` (did you mean `measure_s`",
    ];
    for (line, expect) in error.lines().zip(expect) {
        assert!(line.starts_with(expect), "{error}");
    }
    assert!(
        error.contains("`factors.sync_binlog`: is not a list of levels: write `sync_binlog = [1]`"),
        "{error}"
    );
    assert!(error.contains("`factors.connectons`: `[1]` is not a level"), "{error}");
    let typo = SMALL
        .replace("connections = [1, 8]", "connectons = [1, 8]")
        .replace("name = \"small\"", "name = \"a b\"");
    let error = error_of(&typo);
    assert!(error.starts_with("2 problems:\n  line 2: `name`: `a b` must be"), "{error}");
    assert!(error.contains("at least one number of connections (is it `connectons`?)"), "{error}");
}

#[test]
fn all_errors_are_reported_at_once_with_their_lines() {
    let check = |text: &str, expect: &[&str]| {
        let error = error_of(text);
        let lines: Vec<_> = error.lines().map(str::trim).collect();
        assert_eq!(lines.len(), expect.len(), "{error}");
        for (line, expect) in lines.iter().zip(expect) {
            assert!(line.contains(expect), "{line}\nshould contain\n{expect}");
        }
    };
    // The typo below was hidden by the missing key.
    check(
        "name = 'p'\n[workload]\nname = 'insert'\n[factors]\nconnectons = [1]\n",
        &[
            "2 problems:",
            "`about`: is missing",
            "line 4: `factors`: `connections` is missing: name at least one number of connections \
             (is it `connectons`?)",
        ],
    );
    check(
        "name = 'p q'\nabout = 7\nabuot = 'x'\n[workload]\nname = 'insert'\ntabels = 3\ntables = \
         'x'\n[load]\n\
         measure_s = 'long'\nwarm_up_s = -1\n[factors]\nsync_binlog = 1\nconnections = [1, \
         0]\n[design]\nblocks = 0\n\
         baseline = { sync_binlog = 1 }\ndatadir = 'refil'\nseed = 2.5\n",
        &[
            "11 problems:",
            "line 1: `name`: `p q` must be",
            "line 2: `about`: invalid type: integer `7`, expected a text in quotes",
            "line 3: unknown key `abuot` in `plan` (did you mean `about`?)",
            "line 6: unknown key `tabels` in `workload` (did you mean `tables`",
            "line 9: `load.measure_s`: invalid type: string \"long\", expected a number",
            "line 10: `load.warm_up_s`: -1 is not between",
            "line 12: `factors.sync_binlog`: is not a list of levels: write `sync_binlog = [1]`",
            "line 13: `factors.connections`: 0 is not between",
            "line 15: `design.blocks`: 0 is not between",
            "line 17: `design.datadir`: unknown variant `refil`",
            "and 1 more",
        ],
    );
    // A single one has its line, too; a key of an inline table is taken out with its comma.
    check(
        &SMALL.replace("about = \"a test\"", "about = \"é\"\ndesign = { bloks = 1, seed = 2 }\n"),
        &["line 4: unknown key `bloks` in `design` (did you mean `blocks`?)"],
    );
    // What is left of a key with dots is no TOML: the rest is reported after it is mended.
    let dotted = "name = 'p'\nabout = 'a'\nload.measure_s = 'x'\nload.warm_up = \
                  2\n[workload]\nname = 'insert'\n\
                  [factors]\nconnections = [0]\n";
    check(dotted, &["line 4: unknown key `warm_up` in `load` (did you mean `warm_up_s`?)"]);
    check(
        &dotted.replace("load.warm_up = 2\n", ""),
        &["line 3: `load.measure_s`: invalid type: string \"x\", expected a number"],
    );
    check(
        "name = 'p\n",
        &["TOML parse error at line 1", "|", "1 | name = 'p", "|", "invalid literal"],
    );
}
