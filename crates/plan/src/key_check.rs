//! What is wrong with a plan as TOML shows it: unknown keys, missing keys, and lists or texts in
//! place of sections.

use toml::Value;
use truetps_record::ErrorClass;

use crate::PlanError;
use crate::plan_error::wrong_value;
use crate::sections::{LISTS_OF_TABLES, OTHER_TABLES, SECTIONS, unknown_key};
use crate::workload_check::check_section;

const ERROR_CLASS_LISTS: [&str; 3] = ["retry", "ignore", "fatal"];

/// Errors that the TOML shows before it is parsed as a plan: first all unknown keys, then missing
/// keys, then malformed levels.
pub(crate) fn check_keys(table: &toml::Table) -> Result<(), PlanError> {
    let lists = lists_for_tables(table).into_iter().chain(texts_for_tables(table));
    let unknown = SECTIONS.iter().flat_map(|(section, keys)| unknown_keys(table, section, keys));
    let of_workload = table.get("workload").and_then(Value::as_table).map_or(Ok(()), check_section);
    let classes = ERROR_CLASS_LISTS.map(|list| check_error_classes(table, list));
    let missing = REQUIRED.iter().filter(|(key, _)| !table.contains_key(*key));
    let missing = missing.map(|(key, what)| Err(wrong_value(*key, format!("is missing: {what}"))));
    let factors = ["factors", "quick.factors"].into_iter();
    let levels = factors
        .filter_map(|section| Some(check_levels(section, value_at(table, section)?.as_table()?)));
    PlanError::all(
        lists
            .chain(unknown)
            .map(Err)
            .chain([of_workload])
            .chain(classes)
            .chain(missing)
            .chain(levels),
    )
}

/// What a plan has at this path.
fn value_at<'a>(plan: &'a toml::Table, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = plan.get(names.next()?)?;
    names.try_fold(first, |table, name| table.get(name))
}

/// Lists in place of tables: serde would assign their values to the table's keys, in order.
fn lists_for_tables(plan: &toml::Table) -> Vec<PlanError> {
    let sections = SECTIONS.iter().map(|(section, _)| *section).chain(OTHER_TABLES);
    let lists = sections.filter(|path| {
        !LISTS_OF_TABLES.contains(path) && value_at(plan, path).is_some_and(Value::is_array)
    });
    let sections = lists.map(|path| {
        wrong_value(
            path,
            format!(
                "is a list without keys: write the section `[{path}]`, with a line `KEY = VALUE` \
                 for each"
            ),
        )
    });
    let entries = LISTS_OF_TABLES.iter().flat_map(|list| {
        let entries =
            value_at(plan, list).and_then(Value::as_array).into_iter().flatten().enumerate();
        let problem = format!(
            "is a list without keys: write a `[[{list}]]`, with a line `KEY = VALUE` for each"
        );
        let lists = entries.filter(|(_, entry)| entry.is_array());
        lists.map(move |(n, _)| wrong_value(format!("{list}[{n}]"), &problem[..]))
    });
    sections.chain(entries).collect()
}

/// `workload = "insert"`: serde would name its own type of the section. A server may be its name
/// alone.
fn texts_for_tables(plan: &toml::Table) -> Vec<PlanError> {
    let sections = SECTIONS.iter().map(|(section, _)| *section).chain(OTHER_TABLES);
    let found = sections
        .filter(|path| !["", "server"].contains(path))
        .filter_map(|path| Some((path, value_at(plan, path)?)));
    let texts = found.filter(|(_, found)| !found.is_table() && !found.is_array());
    texts
        .map(|(path, found)| {
            let problem = match found {
                Value::String(name) if path == "workload" => {
                    format!("is a section: write `[workload]`, and below it `name = \"{name}\"`")
                }
                _ => format!("is a section: write `[{path}]`, with a line `KEY = VALUE` for each"),
            };
            wrong_value(path, problem)
        })
        .collect()
}

/// Keys that every plan has, and what they mean.
const REQUIRED: [(&str, &str); 4] = [
    ("name", "a short name, such as `my-plan`"),
    ("about", "one sentence, the question that the plan answers"),
    ("workload", "the section [workload], such as `name = \"insert\"`"),
    ("factors", "the section [factors], such as `connections = [1, 8]`"),
];

fn unknown_keys(table: &toml::Table, section: &str, known: &[&str]) -> Vec<PlanError> {
    let inside = if section.is_empty() {
        Some(table)
    } else {
        value_at(table, section).and_then(Value::as_table)
    };
    let unknown =
        inside.into_iter().flat_map(toml::Table::keys).filter(|key| !known.contains(&key.as_str()));
    unknown
        .map(|key| unknown_key(if section.is_empty() { "plan" } else { section }, key, known))
        .collect()
}

fn check_error_classes(table: &toml::Table, list: &str) -> Result<(), PlanError> {
    let classes = value_at(table, &format!("load.errors.{list}")).and_then(Value::as_array);
    let words = classes.into_iter().flatten().filter_map(Value::as_str);
    let unknown = words.filter_map(|word| word.parse::<ErrorClass>().err());
    PlanError::all(
        unknown.map(|error| Err(wrong_value(format!("load.errors.{list}"), error.to_string()))),
    )
}

/// Each factor has a list of levels.
fn check_levels(section: &str, factors: &toml::Table) -> Result<(), PlanError> {
    PlanError::all(factors.iter().map(|(name, levels)| {
        let problem = match levels {
            Value::Array(levels) => match levels.iter().find(|level| !is_level(level)) {
                None => return Ok(()),
                Some(level) => format!(
                    "`{level}` is not a level: write a number, a text in quotes, true or false"
                ),
            },
            other => format!(
                "is not a list of levels: write `{name} = [{other}]`; a setting of all trials is \
                 for [server.settings]"
            ),
        };
        Err(wrong_value(format!("{section}.{name}"), problem))
    }))
}

fn is_level(value: &Value) -> bool {
    value.is_integer() || value.is_float() || value.is_str() || value.is_bool()
}
