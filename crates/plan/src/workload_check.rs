//! What makes a plan's workload wrong. The SQL itself is looked at where it is taken apart, when
//! the workload is built.

use std::collections::BTreeSet;

use crate::plan_error::{unknown_word, wrong_value};
use crate::ranges::check_range;
use crate::sections::unknown_key;
use crate::table_spec::{ROWS_PER_INSERT_MAX, TABLE_ROWS_MAX, TABLES_MAX, check_table_name};
use crate::workload_spec::{TABLE_WORKLOAD, all_workload_keys, implied_name};
use crate::{
    CustomSpec, CustomTable, Generator, GeneratorKind, PlanError, ReadWriteMix, ScriptSpec,
    SqlSpec, WORKLOADS, WorkloadKind, WorkloadSpec,
};
use truetps_record::{SqlDialect, did_you_mean, near_matches};

pub(crate) const HOT_ROWS_MAX: u32 = 100_000;
/// Statements in one transaction.
const STATEMENTS_MAX: usize = 1_000;
/// What a server that is asked to sort and send that many rows in each transaction still does in
/// bounded time.
const RANGE_SIZE_MAX: u32 = 1_000_000;

/// Keys of the section as they are written: whether they exist, and whether the workload has each
/// of them.
pub(crate) fn check_section(section: &toml::Table) -> Result<(), PlanError> {
    let common = ["name", "protocol"].into_iter();
    let known: BTreeSet<_> =
        common.chain(all_workload_keys().flat_map(|(_, keys)| keys).copied()).collect();
    let known: Vec<_> = known.into_iter().collect();
    let unknown = section.keys().filter(|key| !known.contains(&key.as_str()));
    let of_workload = match section.get("name") {
        Some(toml::Value::String(name)) => check_keys_of(name, section),
        // Another type than a text is named, with its line, where the section is read.
        Some(_) => Ok(()),
        None => {
            implied_name(section).ok_or_else(no_name).and_then(|name| check_keys_of(name, section))
        }
    };
    PlanError::all(
        unknown.map(|key| Err(unknown_key("workload", key, &known))).chain([of_workload]),
    )
}

fn check_keys_of(name: &str, section: &toml::Table) -> Result<(), PlanError> {
    check_used(name, section.keys().map(String::as_str))?;
    match (name, section.get("table")) {
        ("custom", Some(toml::Value::Table(_))) => Err(no_custom_table()),
        (TABLE_WORKLOAD, table) if !matches!(table, Some(toml::Value::Table(_))) => {
            let problem = "the workload `table` has one table, by its numbers of columns: `table = \
                           { ints = 4 }`";
            Err(wrong_value("workload.table", problem))
        }
        _ => Ok(()),
    }
}

/// Whether there is a workload of this name, and whether it has each of these keys. Keys that no
/// workload has are ignored.
fn check_used<'a>(name: &str, keys: impl Iterator<Item = &'a str>) -> Result<(), PlanError> {
    let Some((_, has)) = all_workload_keys().find(|(known, _)| *known == name) else {
        return Err(PlanError::Unknown {
            key: "workload.name".into(),
            text: unknown_word("workload", name, &WORKLOADS),
        });
    };
    let foreign = keys
        .into_iter()
        .find(|key| !has.contains(key) && all_workload_keys().any(|(_, keys)| keys.contains(key)));
    foreign.map_or(Ok(()), |key| Err(unused_key(&format!("workload.{key}"), key, name)))
}

impl WorkloadKind {
    /// The workload of this name with all keys at their defaults, if it has each of `keys`.
    pub fn with_keys<'a>(
        name: &str,
        keys: impl Iterator<Item = &'a str>,
    ) -> Result<Self, PlanError> {
        check_used(name, keys)?;
        Ok(Self::named(name).expect("the name was checked"))
    }
}

fn no_name() -> PlanError {
    let known = WORKLOADS.join("`, `");
    wrong_value(
        "workload.name",
        format!(
            "is missing: write one of `{known}`, or `sql = \"…\"`, or `table = {{ ints = 4 }}`"
        ),
    )
}

pub(crate) fn unused_key(path: &str, key: &str, workload: &str) -> PlanError {
    let used_by =
        all_workload_keys().filter(|(_, has)| has.contains(&key)).map(|(name, _)| name.to_owned());
    PlanError::UnusedKey {
        key: path.into(),
        workload: workload.to_owned(),
        used_by: used_by.collect(),
    }
}

pub(crate) fn check_workload(spec: &WorkloadSpec) -> Result<(), PlanError> {
    if spec.own_tables().is_none() {
        check_range("workload.tables", spec.tables, 1..=TABLES_MAX as u32)?;
        check_range("workload.table_rows", spec.table_rows, 1..=TABLE_ROWS_MAX)?;
    }
    match &spec.kind {
        WorkloadKind::BulkInsert(spec) => check_range(
            "workload.rows_per_insert",
            spec.rows_per_insert.unwrap_or(1),
            1..=ROWS_PER_INSERT_MAX,
        ),
        WorkloadKind::HotRow(spec) => {
            check_range("workload.hot_rows", spec.hot_rows.unwrap_or(1), 1..=HOT_ROWS_MAX)
        }
        WorkloadKind::ReadWrite(spec) => spec.mix.as_ref().map_or(Ok(()), check_mix),
        WorkloadKind::Custom(spec) => check_custom(spec),
        WorkloadKind::Sql(spec) => check_sql_of_any(spec),
        WorkloadKind::Table(spec) => spec.table.check(spec.rows_per_insert.unwrap_or(1)),
        WorkloadKind::Sysbench(spec) => check_script(spec),
        WorkloadKind::Insert
        | WorkloadKind::UpdateIndex(_)
        | WorkloadKind::UpdateNonIndex(_)
        | WorkloadKind::DeleteInsert(_)
        | WorkloadKind::Verify(_) => Ok(()),
    }
}

fn check_mix(mix: &ReadWriteMix) -> Result<(), PlanError> {
    check_range("workload.mix.range_size", mix.range_size, 1..=RANGE_SIZE_MAX)?;
    let statements: u64 = mix.counts().iter().map(|(_, count)| u64::from(*count)).sum();
    if statements == 0 || statements > STATEMENTS_MAX as u64 {
        return Err(wrong_value(
            "workload.mix",
            format!("{statements} statements are not between 1 and {STATEMENTS_MAX}"),
        ));
    }
    Ok(())
}

pub(crate) fn check_script(spec: &ScriptSpec) -> Result<(), PlanError> {
    if spec.script.is_empty() {
        return Err(wrong_value("workload.script", "is missing: which script was run"));
    }
    Ok(())
}

fn check_custom(spec: &CustomSpec) -> Result<(), PlanError> {
    let count = spec.statements.len();
    if count == 0 || count > STATEMENTS_MAX {
        let problem = format!(
            "a `custom` workload has 1 to {STATEMENTS_MAX} `[[workload.statements]]`, this one \
             {count}"
        );
        return Err(wrong_value("workload.statements", problem));
    }
    if count > 1 && spec.transaction == Some(false) {
        let problem = "several statements are one transaction: leave it out, or keep one statement";
        return Err(wrong_value("workload.transaction", problem));
    }
    if !(1..=TABLES_MAX).contains(&spec.tables.len()) {
        return Err(no_custom_table());
    }
    let mut named = BTreeSet::new();
    for (n, statement) in spec.statements.iter().enumerate() {
        check_names(&format!("workload.statements[{n}]"), statement.params.iter(), &mut named)?;
    }
    let mut names = BTreeSet::new();
    for table in &spec.tables {
        check_table(table)?;
        if !names.insert(table.name.to_lowercase()) {
            return Err(wrong_value("workload.table", format!("`{}` is listed twice", table.name)));
        }
    }
    Ok(())
}

fn no_custom_table() -> PlanError {
    let problem = format!(
        "a `custom` workload names its 1 to {TABLES_MAX} tables, each as a `[[workload.table]]`, \
         in two brackets"
    );
    wrong_value("workload.table", problem)
}

fn check_table(table: &CustomTable) -> Result<(), PlanError> {
    let key = format!("workload.table `{}`", table.name);
    check_table_name(&key, &table.name)?;
    if table.create.is_empty() {
        return Err(wrong_value(key, "`create` has no statement"));
    }
    if table.rows > TABLE_ROWS_MAX {
        return Err(wrong_value(
            key,
            format!("{} rows are more than {TABLE_ROWS_MAX}", table.rows),
        ));
    }
    if (table.rows == 0) != table.columns.is_empty() {
        return Err(wrong_value(
            key,
            "`rows` and `columns` go together: so many rows, and what is in each",
        ));
    }
    check_names(&key, table.columns.values(), &mut BTreeSet::new())
}

/// Whose quotes and comments the texts have is known when there is a server: here they must make
/// sense to one of them.
fn check_sql_of_any(spec: &SqlSpec) -> Result<(), PlanError> {
    let of_mysql = spec.parts(SqlDialect::Mysql);
    of_mysql.or_else(|error| spec.parts(SqlDialect::Postgres).map_err(|_| error)).map(drop)
}

/// Each name is given once, and before it is used.
fn check_names<'a>(
    key: &str,
    generators: impl Iterator<Item = &'a Generator>,
    named: &mut BTreeSet<&'a str>,
) -> Result<(), PlanError> {
    for generator in generators {
        if let GeneratorKind::Same(name) = &generator.kind
            && !named.contains(name.as_str())
        {
            let near = near_matches(name, named.iter().copied());
            let hint = did_you_mean(&near);
            return Err(wrong_value(
                key,
                format!("`as = \"{name}\"`: no generator before it has this `name`{hint}"),
            ));
        }
        if let Some(name) = &generator.name
            && !named.insert(name)
        {
            return Err(wrong_value(key, format!("two generators have the `name` `{name}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{
        DeleteInsertSpec, KeyDistribution, KeyMode, Plan, PlanError, ReadWriteMix, ReadWriteSpec,
        SqlSpec, UpdateSpec, WORKLOADS, WorkloadKind, WorkloadSpec,
    };
    use truetps_record::{Protocol, SqlDialect};

    fn parse(workload: &str) -> Result<WorkloadSpec, PlanError> {
        let text = format!(
            "name = 'p'\nabout = 'a test'\n[factors]\nconnections = [1]\n[workload]\n{workload}\n"
        );
        Plan::parse(&text).map(|plan| {
            assert_eq!(
                Plan::parse(&plan.to_toml()).unwrap(),
                plan,
                "a plan survives being written"
            );
            plan.workload
        })
    }

    fn check(workload: &str, expect: &str) {
        let error = parse(workload).expect_err(workload).to_string();
        assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
    }

    const CUSTOM: &str = "name = 'custom'\n\
        [[workload.statements]]\nsql = 'INSERT INTO t VALUES (?)'\nparams = [{ kind = 'sequence', \
        name = 'id' }]\n\
        [[workload.statements]]\nsql = 'UPDATE t SET a = ?'\nparams = [{ kind = 'same', as = 'id' \
        }]\n\
        [[workload.table]]\nname = 't'\ncreate = ['CREATE TABLE t (a BIGINT)']\nrows = 10\n\
        columns = { a = { kind = 'sequence' } }\n";

    #[test]
    fn every_workload_has_defaults() {
        for name in WORKLOADS {
            let kind = WorkloadKind::named(name).unwrap();
            assert_eq!(kind.name(), name);
            if !["custom", "sql", "table"].contains(&name) {
                let defaults = WorkloadSpec::new(kind).with_own_tables();
                assert_eq!(parse(&format!("name = '{name}'")).unwrap(), defaults);
            }
        }
        let hot = parse("name = 'hot-row'\nhot_rows = 5").unwrap();
        assert_eq!((hot.tables, hot.table_rows), (1, 5));
        let mix = Some(ReadWriteMix { point_selects: 0, ..ReadWriteMix::default() });
        assert_eq!(
            parse("name = 'read-write'\nmix = { point_selects = 0 }").unwrap().kind,
            WorkloadKind::ReadWrite(ReadWriteSpec { mix, ..ReadWriteSpec::default() })
        );
        let custom = parse(CUSTOM).unwrap();
        assert_eq!((custom.tables, custom.table_rows), (1, 10));
        let WorkloadKind::Custom(custom) = custom.kind else { panic!("{custom:?}") };
        assert_eq!((custom.statements.len(), custom.tables.len()), (2, 1));
        let script = parse("name = 'sysbench'\nscript = './my test.lua'").unwrap();
        assert!(
            script.script() == Some("./my test.lua") && !WORKLOADS.contains(&script.kind.name())
        );
        assert_eq!(
            (script.tables, script.table_rows),
            (0, 0),
            "the contents of a script are unknown"
        );
        let skewed =
            parse("name = 'update-index'\ndistribution = { kind = 'pareto', h = 0.1 }").unwrap();
        let distribution = Some(KeyDistribution::Pareto { h: 0.1, scrambled: false });
        assert_eq!(skewed.kind, WorkloadKind::UpdateIndex(UpdateSpec { distribution }));
    }

    const SQL: &str = "sql = 'insert into t values (?); delete from t'\n\
        create = ['CREATE TABLE t (a int)', \"INSERT INTO t VALUES (';')\"]\n";

    #[test]
    fn sql_and_table_need_no_name() {
        let sql = parse(SQL).unwrap();
        assert_eq!(
            (sql.kind.name(), sql.protocol, sql.tables, sql.table_rows),
            ("sql", Protocol::Text, 1, 0)
        );
        let WorkloadKind::Sql(spec) = &sql.kind else { panic!("{sql:?}") };
        assert_eq!((spec.sql.len(), spec.create.len(), spec.commit_every), (1, 2, None));
        assert_eq!(parse(&format!("name = 'sql'\n{SQL}")).unwrap(), sql);
        let prepared = parse(&format!("{SQL}commit_every = 7\nprotocol = 'prepared'")).unwrap();
        let every_7 = WorkloadKind::Sql(SqlSpec { commit_every: Some(7), ..spec.clone() });
        assert_eq!((prepared.protocol, prepared.kind), (Protocol::Prepared, every_7));

        let table =
            parse("table = { ints = 4, floats = 2, varchars = 2, rows = 9 }\nrows_per_insert = 3")
                .unwrap();
        assert_eq!(
            (table.kind.name(), table.protocol, table.table_rows),
            ("table", Protocol::Prepared, 9)
        );
        let generated = |spec: WorkloadSpec| match spec.kind {
            WorkloadKind::Table(spec) => spec,
            other => panic!("{other:?}"),
        };
        let columns = generated(table).table;
        assert_eq!((columns.ints, columns.value_columns(), columns.auto_primary_key), (4, 8, true));
        let section = "explicit_commit = true\n[workload.table]\ndecimals = 1\ndecimal_scale = \
                       0\nname = 'prices'";
        assert_eq!(generated(parse(section).unwrap()).explicit_commit, Some(true));
    }

    #[test]
    fn sql_may_be_of_either_dialect() {
        let check = |sql: &str, dialect, expect: &[&str]| {
            let spec =
                parse(&format!("sql = \"{sql}\"\ncreate = 'create table t (a int)'")).unwrap();
            assert_eq!(spec.tables, 1);
            let WorkloadKind::Sql(spec) = spec.kind else { panic!("{spec:?}") };
            assert_eq!(spec.parts(dialect).unwrap().statements, expect);
            spec
        };
        let (mysql, postgres) = (SqlDialect::Mysql, SqlDialect::Postgres);
        check("UPDATE t SET a = a # 5\\n; x", mysql, &["UPDATE t SET a = a # 5", "x"]);
        check("UPDATE t SET a = a # 5; x", postgres, &["UPDATE t SET a = a # 5", "x"]);
        let spec = check("UPDATE t SET a = '\\\\'; x", postgres, &["UPDATE t SET a = '\\'", "x"]);
        let error = spec.parts(mysql).unwrap_err().to_string();
        assert!(error.contains("`workload.sql`: the quote ' is not closed"), "{error}");
        let spec = check("SELECT `;`", mysql, &["SELECT `;`"]);
        assert_eq!(spec.parts(postgres).unwrap().statements, ["SELECT `", "`"]);
    }

    #[test]
    fn wrong_sql_workloads_are_named() {
        let with = |from: &str, to: &str, expect: &str| check(&SQL.replace(from, to), expect);
        check("protocol = 'text'", "`workload.name`: is missing: write one of `insert`");
        check("name = 7", "invalid type: integer `7`");
        check("name = 'sql'", "`workload.sql`: has 0 statements");
        with(
            "insert into t values (?); delete from t",
            " ; -- x",
            "`workload.sql`: has 0 statements",
        );
        with(
            "values (?)",
            "values (\"?)",
            "`workload.sql`: the quote \" is not closed in: insert into t",
        );
        with("delete from t'", "COMMIT'", "`COMMIT` is not for a statement");
        with("VALUES (';')", "VALUES (';)", "`workload.create`: the quote ' is not closed");
        with(
            "CREATE TABLE t (a int)",
            "CREATE INDEX t ON t (a)",
            "`workload.create`: makes 0 tables",
        );
        with("TABLE t (a int)", "TABLE shop.t (a int)", "without `shop.` in: CREATE TABLE shop.t");
        with(
            "TABLE t (a int)",
            "TABLE `a b` (a int)",
            "`workload.create: table `a b``: a table's name is",
        );
        with("(a int)'", "(a int); create table T (b int)'", "makes the table `T` twice");
        with(
            "create = ['CREATE TABLE t (a int)', \"INSERT INTO t VALUES (';')\"]",
            "create = 7",
            "a text of SQL",
        );
        with(
            "sql =",
            "commit_every = 0\nsql =",
            "`workload.commit_every`: 0 is not between 1 and 10000",
        );
        with(
            "sql =",
            "commit_evry = 2\nsql =",
            "unknown key `commit_evry` in `workload` (did you mean `commit_every`",
        );
        with("sql =", "tables = 2\nsql =", "`workload.tables` means nothing to `sql`");
        with("sql =", "table = { ints = 1 }\nsql =", "`workload.table` means nothing to `sql`");
        with("delete from t'", "/* c */ commit'", "`/* c */ commit` is not for a statement");
        check(
            &format!("name = 'insert'\n{SQL}"),
            "`workload.sql` means nothing to `insert`: it is for `sql`",
        );
    }

    #[test]
    fn wrong_generated_tables_are_named() {
        check("table = {}", "`workload.table`: has no column");
        check("table = { int = 4 }", "unknown key `int` in `workload.table` (did you mean `ints`");
        check("table = { ints = 'four' }", "invalid type: string \"four\"");
        check(
            "table = { ints = 999, texts = 2 }",
            "`workload.table`: 1001 columns are more than 1000",
        );
        check("table = { ints = 1, name = 'a.b' }", "`workload.table.name`: a table's name is");
        check(
            "table = { varchars = 1, varchar_length = 20, value_length = 21 }",
            "`workload.table.value_length`: 21",
        );
        check(
            "table = { decimals = 1, decimal_precision = 5, decimal_scale = 6 }",
            "6 is not between 0 and 5",
        );
        check("table = { decimals = 1, decimal_precision = 66 }", "66 is not between 1 and 65");
        check(
            "table = { ints = 70 }\nrows_per_insert = 1000",
            "1000 rows of 70 values are more than 65535",
        );
        check(
            "table = { ints = 1 }\nrows_per_insert = 0",
            "`workload.rows_per_insert`: 0 is not between",
        );
        check("name = 'table'", "has one table, by its numbers of columns");
        check(
            "name = 'table'\ntable = [{ name = 't', create = ['x'] }]",
            "has one table, by its numbers of columns",
        );
        check(
            "name = 'custom'\n[[workload.statements]]\nsql = 'x'\n[workload.table]\nints = 1",
            "in two brackets",
        );
        check("table = 4", "`workload.name`: is missing");
        check("name = 'table'\ntable = 4", "has one table, by its numbers of columns");
    }

    #[test]
    fn flags_and_files_know_the_same_words() {
        for (word, mode) in
            [("deleted", KeyMode::Deleted), ("random", KeyMode::Random), ("auto", KeyMode::Auto)]
        {
            assert_eq!(word.parse(), Ok(mode));
            let read = parse(&format!("name = 'delete-insert'\nkey = '{word}'")).unwrap().kind;
            assert_eq!(
                read,
                WorkloadKind::DeleteInsert(DeleteInsertSpec {
                    key: Some(mode),
                    ..Default::default()
                })
            );
        }
        let mut mix = ReadWriteMix::default();
        for (name, _) in ReadWriteMix::default().counts() {
            mix.set(name, 7).unwrap();
        }
        mix.set("range_size", 7).unwrap();
        assert!(mix.counts().iter().all(|(_, count)| *count == 7) && mix.range_size == 7);
        assert!(mix.set("point_select", 1).unwrap_err().contains("did you mean `point_selects`"));
    }

    #[test]
    fn wrong_workloads_are_named() {
        check(
            "name = 'update-indx'",
            "unknown workload `update-indx` (did you mean `update-index`",
        );
        check("name = 'xyz'", "unknown workload `xyz` (known: `insert`, `bulk-insert`");
        check(
            "name = 'insert'\nhot_rows = 1",
            "`workload.hot_rows` means nothing to `insert`: it is for `hot-row`",
        );
        check(
            "name = 'hot-row'\ntables = 1",
            "`workload.tables` means nothing to `hot-row`: it is for `insert`, `bulk",
        );
        check(
            "name = 'insert'\nhotrows = 1",
            "unknown key `hotrows` in `workload` (did you mean `hot_rows`",
        );
        check(
            "name = 'insert'\ntables = 1001",
            "`workload.tables`: 1001 is not between 1 and 1000",
        );
        check(
            "name = 'bulk-insert'\nrows_per_insert = 10001",
            "`workload.rows_per_insert`: 10001 is not between",
        );
        check("name = 'hot-row'\nhot_rows = 0", "`workload.hot_rows`: 0 is not between");
        check("name = 'read-write'\nmix = { range_size = 0 }", "`workload.mix.range_size`: 0");
        check("name = 'read-write'\nmix = { selects = 0 }", "unknown field `selects`");
        check("name = 'delete-insert'\nkey = 'other'", "unknown variant `other`");
        check("name = 'update-index'\ndistribution = 'zipfan'", "did you mean `zipfian`?");
        check("name = 'update-index'\ndistribution = 7", "a distribution is a name");
        check("name = 'sysbench'", "`workload.script`: is missing");
        check(
            "name = 'insert'\nscript = 'x'",
            "`workload.script` means nothing to `insert`: it is for `sysbench`",
        );
        check(
            "name = 'hot-row'\n[quick]\ntable_rows = 7",
            "`quick.table_rows` means nothing to `hot-row`",
        );
    }

    #[test]
    fn wrong_custom_workloads_are_named() {
        let with = |from: &str, to: &str, expect: &str| check(&CUSTOM.replace(from, to), expect);
        check("name = 'custom'", "`workload.statements`: a `custom` workload has 1 to 1000");
        with(
            "as = 'id'",
            "as = 'idd'",
            "no generator before it has this `name` (did you mean `id`?)",
        );
        with(
            "kind = 'same', as = 'id'",
            "kind = 'uuid', name = 'id'",
            "two generators have the `name` `id`",
        );
        with(
            "name = 'custom'",
            "name = 'custom'\ntransaction = false",
            "several statements are one transaction",
        );
        with("name = 't'", "name = 't`'", "a table's name is");
        with("['CREATE TABLE t (a BIGINT)']", "[]", "`create` has no statement");
        with("rows = 10\n", "", "`rows` and `columns` go together");
        with("sql = 'UPDATE", "sqll = 'UPDATE", "unknown field `sqll`");
        with("kind = 'sequence'", "kind = 'sequense'", "did you mean `sequence`");
        with(
            "name = 'custom'",
            "name = 'custom'\ntables = 1",
            "`workload.tables` means nothing to `custom`",
        );
    }
}
