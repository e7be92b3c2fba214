//! How the SQL of two plans differs: the statements of `custom` and `sql`, and the statements that
//! create their tables.

use std::fmt::Write;

use serde::Serialize;
use truetps_plan::{CustomStatement, CustomTable, Generator, WorkloadKind};

use super::line_diff::{LineDiff, line_diff};
use super::run_comparison::RunComparison;
use crate::document::Block;

/// One key of the plans with different SQL.
#[derive(Debug, Serialize)]
pub(super) struct SqlDiffers {
    pub(super) key: &'static str,
    pub(super) diff: LineDiff,
}

/// Keys that both sides have. A key of one side only is among the keys of the plans.
pub(super) fn differ(input: &RunComparison<'_>) -> Vec<SqlDiffers> {
    let texts = [&input.a, &input.b].map(|side| texts(&side.workload().kind));
    let [a, b] = texts;
    let both = a
        .into_iter()
        .zip(b)
        .filter(|((key, a), (other, b))| key == other && a != b && !a.is_empty() && !b.is_empty());
    both.map(|((key, a), (_, b))| SqlDiffers { key, diff: line_diff(&a, &b) }).collect()
}

/// The SQL of a workload by the plan's keys. Two kinds of workload have no key in common.
fn texts(workload: &WorkloadKind) -> Vec<(&'static str, String)> {
    match workload {
        WorkloadKind::Custom(spec) => vec![
            ("workload.statements", spec.statements.iter().map(statement).collect()),
            ("workload.table", spec.tables.iter().map(table).collect()),
        ],
        WorkloadKind::Sql(spec) => {
            vec![("workload.sql", lines(&spec.sql)), ("workload.create", lines(&spec.create))]
        }
        _ => Vec::new(),
    }
}

fn lines(texts: &[String]) -> String {
    texts.iter().flat_map(|text| [text, "\n"]).collect()
}

fn statement(statement: &CustomStatement) -> String {
    let mut text = format!("{}\n", statement.sql);
    for generator in &statement.params {
        line(&mut text, "? =", &json(generator));
    }
    text
}

fn table(table: &CustomTable) -> String {
    let mut text = format!("{}\n", table.name);
    table.create.iter().for_each(|sql| line(&mut text, "create", sql));
    line(&mut text, "rows =", &table.rows.to_string());
    table
        .columns
        .iter()
        .for_each(|(name, generator)| line(&mut text, &format!("{name} ="), &json(generator)));
    table.after_load.iter().for_each(|sql| line(&mut text, "after_load", sql));
    text
}

fn line(text: &mut String, what: &str, value: &str) {
    writeln!(text, "  {what} {value}").expect("a string takes any text");
}

fn json(generator: &Generator) -> String {
    serde_json::to_string(generator).expect("every generator has a JSON form")
}

/// The first part of the differences.
pub(super) fn blocks(differ: &[SqlDiffers]) -> Vec<Block> {
    let blocks = differ.iter().flat_map(|one| {
        let is_behind = one.diff.lines.is_empty();
        let said =
            if is_behind { "the texts differ after the compared lines." } else { "- A, + B" };
        let head = format!("{}: {said}", one.key);
        [Some(Block::Paragraph(head)), one.diff.block()].into_iter().flatten()
    });
    blocks.collect()
}
