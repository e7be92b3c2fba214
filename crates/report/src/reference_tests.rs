//! The schemas and the reference have all figures of the table and all wait classes, and no others.
//!
//! With `UPDATE_REFERENCE=1` these tests write what they would check.

use std::collections::BTreeSet;
use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use truetps_analysis::{
    Better, Figure, FigureGroup, FigurePlace, FigureUnit, OverTrials, WaitClass,
};

use crate::ReportAnswer;
use crate::fixture::Fixture;

const UPDATE: &str = "UPDATE_REFERENCE";

/// Compares a file below `docs/reference` with what the table makes of it.
fn check(name: &str, made_from: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let made = made_from(&text);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &made).unwrap();
    } else {
        assert!(
            text == made,
            "docs/reference/{name} is not as the table of figures: set {UPDATE}=1 and test again"
        );
    }
}

/// A JSON document whose fields keep their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Ordered {
    Object(IndexMap<String, Ordered>),
    List(Vec<Ordered>),
    Other(Value),
}

impl Ordered {
    fn of(value: Value) -> Self {
        serde_json::from_value(value).unwrap()
    }

    fn at(&mut self, path: &[&str]) -> &mut Self {
        path.iter().fold(self, |value, name| match value {
            Self::Object(object) => &mut object[*name],
            _ => panic!("{name} is not in an object"),
        })
    }

    fn insert(&mut self, name: &str, value: Value) -> &mut Self {
        let Self::Object(object) = self else { panic!("{name} is not in an object") };
        object.insert(name.to_owned(), Self::of(value));
        &mut object[name]
    }

    fn require(&mut self, name: &str) {
        let Self::List(list) = self else { panic!("not a list of names") };
        if !list
            .iter()
            .any(|known| matches!(known, Self::Other(Value::String(known)) if known == name))
        {
            list.push(Self::of(json!(name)));
        }
    }
}

/// What the figures of an object in a document are of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Absent where nothing was measured.
    Trial,
    /// Known where the object is.
    Engine,
    Cell,
}

fn insert_figures(object: &mut Ordered, of: Of, is_wanted: impl Fn(Figure) -> bool) {
    for figure in Figure::ALL.iter().filter(|figure| is_wanted(**figure)) {
        let number = if figure.is_whole() { "integer" } else { "number" };
        let is_always_known = match of {
            Of::Trial => false,
            Of::Engine => figure.is_whole(),
            Of::Cell => figure.over_trials() == OverTrials::Sum,
        };
        let kind = if is_always_known { json!(number) } else { json!([number, "null"]) };
        let over = if of == Of::Cell {
            format!(" Over trials: {}.", over_trials(*figure))
        } else {
            String::new()
        };
        object.at(&["required"]).require(figure.key());
        let property = object.at(&["properties"]).insert(figure.key(), json!({}));
        property.insert("type", kind);
        property.insert("description", json!(format!("{}{over}", figure.about())));
    }
}

fn keys(figures: impl Iterator<Item = Figure>) -> Value {
    figures.map(Figure::key).collect()
}

fn schema(text: &str, change: impl Fn(&mut Ordered)) -> String {
    let mut schema = serde_json::from_str(text).unwrap();
    change(&mut schema);
    insert_wait_classes(&mut schema);
    let defs = schema.at(&["$defs"]);
    insert_figures(defs.at(&["cell_detail"]), Of::Cell, |figure| {
        figure.group() == FigureGroup::Stalls
    });
    defs.at(&["ledger", "properties", "lines", "items", "properties", "key"])
        .insert("enum", keys(Figure::costs()));
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_schema_of_a_report_has_all_figures() {
    let is_of = |group| move |figure: Figure| figure.group() == group;
    check("report.schema.json", |text| {
        schema(text, |schema| {
            let defs = schema.at(&["$defs"]);
            insert_figures(defs.at(&["trial"]), Of::Trial, is_of(FigureGroup::Own));
            insert_figures(defs.at(&["engine"]), Of::Engine, is_of(FigureGroup::Engine));
            insert_figures(defs.at(&["cell"]), Of::Cell, Figure::is_of_cell);
            insert_figures(defs.at(&["open_loop_cell"]), Of::Cell, is_of(FigureGroup::OpenLoop));
            insert_figures(defs.at(&["open_loop"]), Of::Trial, is_of(FigureGroup::OpenLoop));
            insert_figures(defs.at(&["stalls"]), Of::Trial, is_of(FigureGroup::Stalls));
        })
    });
}

#[test]
fn the_schema_of_a_comparison_has_all_figures() {
    check("comparison.schema.json", |text| {
        schema(text, |schema| {
            schema
                .at(&["$defs", "line", "properties", "figure"])
                .insert("enum", keys(Figure::compared()));
        })
    });
}

#[test]
fn the_schema_of_a_list_of_stalls_has_all_figures() {
    check("stalls.schema.json", |text| {
        let mut schema = serde_json::from_str(text).unwrap();
        let stalls = Ordered::at(&mut schema, &["$defs", "stalls"]);
        insert_figures(stalls, Of::Trial, |figure| figure.group() == FigureGroup::Stalls);
        insert_wait_classes(&mut schema);
        serde_json::to_string_pretty(&schema).unwrap() + "\n"
    });
}

/// Sets the list of wait classes wherever a schema has one.
fn insert_wait_classes(value: &mut Ordered) {
    match value {
        Ordered::Object(object) => {
            for (name, inside) in object.iter_mut() {
                match inside {
                    Ordered::Object(class) if name == "class" && class.contains_key("enum") => {
                        class.insert(
                            "enum".to_owned(),
                            Ordered::of(json!(WaitClass::NAMES.map(|(class, _)| class))),
                        );
                    }
                    _ => insert_wait_classes(inside),
                }
            }
        }
        Ordered::List(list) => list.iter_mut().for_each(insert_wait_classes),
        Ordered::Other(_) => {}
    }
}

#[test]
fn the_glossary_has_all_wait_classes() {
    let glossary = include_str!("../../../docs/glossary.md");
    let line = glossary.lines().find(|line| line.starts_with("| wait class |")).unwrap();
    for (_, name) in WaitClass::NAMES {
        assert!(line.contains(name), "{name}");
    }
}

fn over_trials(figure: Figure) -> &'static str {
    match figure.over_trials() {
        OverTrials::Estimate => "geometric mean with a 95 % interval",
        OverTrials::Mean => "geometric mean",
        OverTrials::Median => "median",
        OverTrials::Largest => "largest",
        OverTrials::Sum => "sum",
    }
}

fn line(figure: Figure) -> String {
    let unit = match figure.unit() {
        FigureUnit::Count => "",
        FigureUnit::PerSecond => "1/s",
        FigureUnit::Us => "µs",
        FigureUnit::Ms => "ms",
        FigureUnit::Bytes => "bytes",
        FigureUnit::Share => "0 to 1",
        FigureUnit::Ratio => "×",
    };
    let better = match figure.better() {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "",
    };
    let compared = match figure.short_key() {
        _ if !figure.is_compared() => String::new(),
        Some(short) => format!("yes, `{short}`"),
        None => "yes".to_owned(),
    };
    let over = over_trials(figure);
    format!("| `{}` | {unit} | {better} | {over} | {compared} | {} |", figure.key(), figure.about())
}

type IsOf = fn(Figure) -> bool;

/// The lines of each table of the page.
#[test]
fn the_reference_has_all_figures() {
    let tables: [(&str, IsOf); 5] = [
        ("own", |figure| figure.group() == FigureGroup::Own),
        ("engine", |figure| figure.group() == FigureGroup::Engine),
        ("open loop", |figure| figure.group() == FigureGroup::OpenLoop),
        ("stalls", |figure| figure.group() == FigureGroup::Stalls),
        ("cost", Figure::is_cost),
    ];
    let shown =
        tables.iter().flat_map(|(_, is_of)| Figure::ALL.iter().filter(|figure| is_of(**figure)));
    assert_eq!(shown.count(), Figure::ALL.len());
    check("figures.md", |text| {
        tables.iter().fold(text.to_owned(), |text, (name, is_of)| {
            let begin = format!("<!-- figures: {name} -->\n");
            let (front, back) = text.split_once(&begin).unwrap();
            let (_, back) = back.split_once("<!-- end -->").unwrap();
            let head =
                "| figure | unit | better | over trials | compared | |\n|---|---|---|---|---|---|";
            let lines =
                Figure::ALL.iter().filter(|figure| is_of(**figure)).map(|figure| line(*figure));
            let lines: Vec<_> = std::iter::once(head.to_owned()).chain(lines).collect();
            format!("{front}{begin}\n{}\n\n<!-- end -->{back}", lines.join("\n"))
        })
    });
}

/// A new figure of the table is in all documents without a further change.
#[test]
fn documents_have_all_figures() {
    let fixture = Fixture::watched();
    let csv = crate::csv::csv(&fixture.input());
    let columns: BTreeSet<_> = csv.lines().next().unwrap().split(',').collect();
    let json: Value = serde_json::from_str(&fixture.input().json()).unwrap();
    let open: Value = serde_json::from_str(&Fixture::rates().input().json()).unwrap();
    let lines = json.pointer("/cell_details/0/ledger/lines").unwrap().as_array().unwrap();
    for figure in Figure::ALL {
        let key = figure.key();
        assert_eq!(columns.contains(key), figure.is_shown(FigurePlace::Csv), "{key}");
        let has =
            |document: &Value, object: &str| document.pointer(object).unwrap().get(key).is_some();
        let is_there = match figure.group() {
            FigureGroup::Own => has(&json, "/trials/0") && has(&json, "/analysis/cells/0"),
            FigureGroup::Engine => {
                has(&json, "/trials/0/engine") && has(&json, "/analysis/cells/0")
            }
            FigureGroup::OpenLoop => {
                has(&open, "/trials/0/open_loop") && has(&open, "/analysis/cells/0/open_loop")
            }
            FigureGroup::Stalls => has(&json, "/trials/0/stalls") && has(&json, "/cell_details/0"),
            FigureGroup::Cpu | FigureGroup::Ledger => lines.iter().any(|line| line["key"] == key),
        };
        assert!(is_there, "{key}");
    }
}
