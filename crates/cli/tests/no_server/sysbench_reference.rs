//! The pages of the reference of `truetps sysbench` beside the program: what is listed exists, and
//! what exists is listed.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::Place;

const PAGES: [&str; 3] = [
    include_str!("../../../../docs/reference/sysbench.md"),
    include_str!("../../../../docs/reference/sysbench-lua.md"),
    include_str!("../../../../docs/reference/sysbench-clients.md"),
];
const SYMBOLS: &str = include_str!("../../../sysbench/src/lua/symbols.rs");
const DECLARATIONS: &str = include_str!("../../../sysbench/src/lua/prelude/declarations.h");
const SQL: &str = include_str!("../../../sysbench/src/lua/prelude/sql.lua");
const HISTOGRAM: &str = include_str!("../../../sysbench/src/lua/prelude/histogram.lua");
const CLIENT: &str = include_str!("../../../sysbench/src/lua/prelude/client.lua");
const REPORTS: &str = include_str!("../../../sysbench/src/run/reports.rs");
/// The lists of what differs on purpose from Debian's sysbench.
const CASES: [&str; 5] = [
    include_str!("../compatible_programs/sysbench/cases/options.rs"),
    include_str!("../compatible_programs/sysbench/cases/reports.rs"),
    include_str!("../compatible_programs/sysbench/cases/scripts.rs"),
    include_str!("../compatible_programs/sysbench/api.rs"),
    include_str!("../compatible_programs/sysbench/variants.rs"),
];

const SUPPORTED: &str = "supported";
const DIFFERS: &str = "differs";
const NOT_SUPPORTED: &str = "not supported";

type Names = BTreeSet<String>;

/// What a section's tables list: what is there, and what is not.
#[derive(Default)]
struct Section {
    there: Names,
    absent: Names,
}

fn is_in_pages(text: &str) -> bool {
    PAGES.iter().any(|page| page.contains(text))
}

/// Sections by their headings. Rows count whose second column is a state; their first has names
/// between backticks.
fn sections() -> BTreeMap<String, Section> {
    let mut all: BTreeMap<String, Section> = BTreeMap::new();
    let mut heading = String::new();
    for line in PAGES.iter().flat_map(|page| page.lines()) {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim().replace('`', "");
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, names, state, ..] = cells[..] else { continue };
        let section = all.entry(heading.clone()).or_default();
        let list = match state {
            SUPPORTED | DIFFERS => &mut section.there,
            NOT_SUPPORTED => &mut section.absent,
            _ => continue,
        };
        for name in names.split('`').skip(1).step_by(2) {
            let name = name.split(['(', ' ']).next().unwrap_or_default().to_owned();
            assert!(list.insert(name.clone()), "{heading}: {name} is listed twice");
        }
    }
    all
}

fn words<'a>(text: impl IntoIterator<Item = &'a str>) -> Names {
    text.into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn assert_same(what: &str, listed: &Names, real: &Names) {
    let missing: Vec<_> = real.difference(listed).collect();
    let made_up: Vec<_> = listed.difference(real).collect();
    assert!(!real.is_empty(), "{what}: nothing was found in the program");
    assert!(
        missing.is_empty() && made_up.is_empty(),
        "{what}: docs/reference/sysbench*.md lack {missing:?}, and lists {made_up:?}, which do not \
         exist"
    );
}

/// The text between two marks, wherever they come.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    text.split(begin)
        .skip(1)
        .filter_map(|rest| rest.split_once(end))
        .map(|(inner, _)| inner)
        .collect()
}

/// Runs a script's command, and reads lines of `group name`.
fn reported(place: &Place, script: &str, flags: &[&str]) -> BTreeMap<String, Names> {
    place.write("reported.lua", script);
    let ran =
        place.run(&[&["sysbench", "./reported.lua", "--mysql-dry-run", "prepare"], flags].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let mut groups: BTreeMap<String, Names> = BTreeMap::new();
    for (group, name) in
        ran.stdout.lines().filter_map(|line| line.strip_prefix("> ")?.split_once(' '))
    {
        groups.entry(group.to_owned()).or_default().insert(name.to_owned());
    }
    groups
}

/// Prints what scripts find in their tables.
const TABLES: &str = r#"
function prepare()
  local function list(group, found) for name in pairs(found) do print("> " .. group .. " " .. tostring(name)) end end
  list("sysbench", sysbench)
  for _, name in ipairs({ "error", "cmdline", "rand", "histogram", "sql" }) do list("sysbench." .. name, sysbench[name]) end
  list("sysbench.sql.type", sysbench.sql.type)
  list("sysbench.sql.error", sysbench.sql.error)
  list("globals", getfenv(0))
end
"#;

#[test]
fn options() {
    let ran = Place::new().run(&["sysbench", "--help"]);
    let name =
        |line: &str| Some(line.strip_prefix("  --")?.split(['=', '[', ' ']).next()?.to_owned());
    let real: Names = ran.stdout.lines().filter_map(name).map(|name| format!("--{name}")).collect();
    let sections = sections();
    let listed =
        sections.values().flat_map(|section| &section.there).filter(|name| name.starts_with("--"));
    assert_same("options", &listed.cloned().collect(), &real);
}

#[test]
fn tables_of_scripts() {
    let (place, sections) = (Place::new(), sections());
    let mut real = reported(&place, TABLES, &[]);
    let without_legacy = reported(&place, TABLES, &["--compat=1.1"]).remove("globals").unwrap();
    let mut globals = real.remove("globals").unwrap();
    globals.retain(|name| !without_legacy.contains(name) && name != "prepare");
    // Options of a script that declares none are globals of it, as the page says.
    globals.retain(|name| !is_in_pages(&format!("| `--{}` |", name.replace('_', "-"))));
    real.insert("Globals of the older API".to_owned(), globals);
    // Those that are there when the script has set them.
    real.get_mut("sysbench.cmdline").unwrap().extend(["options", "commands"].map(str::to_owned));
    for (heading, real) in &real {
        let section =
            sections.get(heading).unwrap_or_else(|| panic!("there is no section {heading}"));
        assert_same(heading, &section.there, real);
    }
}

#[test]
fn methods_and_fields_of_objects() {
    let sections = sections();
    let methods =
        |source: &str, object: &str| words(between(source, &format!("\nfunction {object}:"), "("));
    for (heading, source, object, fields) in [
        ("Driver", SQL, "driver", &["sname", "lname"][..]),
        (
            "Connection",
            SQL,
            "connection",
            &["error", "sql_errno", "sql_state", "sql_errmsg", "driver"],
        ),
        ("Statement", SQL, "statement", &[]),
        ("Parameter", SQL, "methods", &["type", "buffer", "data_len", "is_null", "max_len"]),
        ("Result", SQL, "result", &["nrows", "nfields", "counter", "statement"]),
    ] {
        let mut real = methods(source, object);
        real.extend(words(fields.iter().copied()));
        assert_same(heading, &sections[heading].there, &real);
    }
    assert_same("Histogram", &sections["Histogram"].there, &methods(HISTOGRAM, "methods"));
    let script = r#"
function prepare()
  local function look(group, object, names)
    for name in names:gmatch("%S+") do
      assert(pcall(function() return object[name] end), group .. " has no " .. name)
    end
    print("> looked " .. group)
  end
  local driver = sysbench.sql.driver()
  local connection = driver:connect()
  local statement = connection:prepare("SELECT ?")
  look("Driver", driver, [[DRIVER]])
  look("Connection", connection, [[CONNECTION]])
  look("Statement", statement, [[STATEMENT]])
  look("Parameter", statement:bind_create(sysbench.sql.type.INT), [[PARAMETER]])
end
"#;
    let filled = ["Driver", "Connection", "Statement", "Parameter"].iter().fold(
        script.to_owned(),
        |text, heading| {
            let names: Vec<_> = sections[*heading].there.iter().map(String::as_str).collect();
            text.replace(&heading.to_uppercase(), &names.join(" "))
        },
    );
    assert_eq!(reported(&Place::new(), &filled, &[])["looked"].len(), 4);
}

#[test]
fn hooks_and_what_reports_get() {
    let sections = sections();
    let mut real = words(between(REPORTS, "\"report_", "\""))
        .iter()
        .map(|name| format!("report_{name}"))
        .collect();
    for source in [CLIENT, SQL] {
        for rest in source.split("hooks.").skip(1) {
            let name: String =
                rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            Names::insert(&mut real, name);
        }
    }
    real.extend(words(between(REPORTS, "stat.set(\"", "\"")));
    assert_same("sysbench.hooks", &sections["sysbench.hooks"].there, &real);
}

#[test]
fn c_functions_types_and_constants() {
    let sections = sections();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let exported: Names = SYMBOLS
        .lines()
        .filter_map(|line| line.split_once(" as *const ()"))
        .filter_map(|(before, _)| before.rsplit(|c| !is_name(c)).next())
        // What the prelude calls is no business of scripts.
        .filter(|name| !name.starts_with("truetps_"))
        .map(str::to_owned)
        .collect();
    assert_same("C functions", &sections["C functions"].there, &exported);
    let absent = &sections["C functions"].absent;
    assert!(!absent.is_empty() && absent.is_disjoint(&exported), "{absent:?}");

    let names = DECLARATIONS.split(|c| !is_name(c)).filter(|name| !name.is_empty());
    let is_type = |name: &&str| {
        name.starts_with("sql_") && !["sql_errno", "sql_errmsg", "sql_state"].contains(name)
    };
    let is_other_type =
        |name: &&str| name.starts_with("sb_") && name.ends_with("_t") || *name == "sb_counter_type";
    let is_constant = |name: &&str| {
        ["DB_ERROR_", "SB_CNT_", "SQL_TYPE_", "SB_ARG_TYPE_"].iter().any(|p| name.starts_with(p))
    };
    let declared =
        words(names.filter(|name| is_type(name) || is_other_type(name) || is_constant(name)));
    assert_same("C types and constants", &sections["C types and constants"].there, &declared);
    let absent = &sections["C types and constants"].absent;
    assert!(absent.is_disjoint(&declared), "{absent:?}");
}

#[test]
fn intended_differences_are_documented() {
    let mut found = 0;
    for cases in CASES {
        // A text may go on behind the end of a line.
        let cases: Vec<_> = cases.split("\\\n").map(str::trim_start).collect();
        let cases = cases.concat();
        for list in
            [between(&cases, "deviations: &[", "]"), between(&cases, "&[Deviation] =", "];")]
                .concat()
        {
            // Pairs of a part of the command line and a reason.
            for reason in list.split('"').skip(3).step_by(4) {
                assert!(is_in_pages(reason), "docs/reference/sysbench.md does not say: {reason}");
                found += 1;
            }
        }
    }
    assert!(found > 8, "{found}");
}

#[test]
fn every_row_has_a_state() {
    let with_names =
        |heading: &str| sections().get(heading).is_some_and(|section| !section.there.is_empty());
    assert!(with_names("General options") && with_names("Options of truetps"));
    let states = [SUPPORTED, DIFFERS, NOT_SUPPORTED];
    let mut in_list = false;
    for line in PAGES.iter().flat_map(|page| page.lines()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() < 4 {
            in_list = false;
        } else if cells[2] == "state" {
            in_list = true;
        } else if in_list && !cells[1].starts_with("---") {
            assert!(states.contains(&cells[2]), "no state: {line}");
        }
    }
}
