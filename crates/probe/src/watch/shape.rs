//! The queries of a server, and how the rows of an answer become values.

use truetps_driver::QueryResult;
use truetps_record::{ProbeSource, Signal, SignalGroup, SignalKind, SignalUnit};

use crate::watch::reading::ProbeValues;
use crate::watch::signals::{SignalTable, signal_groups};

/// A statement, the form of its answer, and what its values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeQuestion {
    /// The prefix of its values' names.
    pub(crate) what: &'static str,
    pub(crate) sql: String,
    pub(crate) shape: AnswerShape,
    signals: SignalTable,
}

/// How rows become values. Values that are not numbers are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerShape {
    /// Name and value: `what.name`.
    Pairs,
    /// `what.column`, summed over the rows; without these columns.
    Columns { without: Vec<&'static str> },
    /// This number of name columns, and value columns after them: `what.name.name.column`.
    Named { names: usize },
    /// This number of columns that describe a state, and one with its number of sessions:
    /// `what.state`, or `what.type:event`.
    States { columns: usize, none: &'static str },
    /// One number: its name is `what` itself.
    Single(SignalKind, SignalUnit),
    /// `what.column`, or `what.channel.column` if there are several rows.
    Channels { channel: [&'static str; 2], without: &'static [String] },
}

impl ProbeQuestion {
    pub(crate) fn new(
        what: &'static str,
        sql: impl Into<String>,
        shape: AnswerShape,
        signals: SignalTable,
    ) -> Self {
        Self { what, sql: sql.into(), shape, signals }
    }

    /// All values that an answer may have.
    pub(crate) fn signals(&self) -> impl Iterator<Item = SignalGroup> {
        let source = ProbeSource::Server;
        let single = match self.shape {
            AnswerShape::Single(kind, unit) => {
                Some(SignalGroup::new(Signal { source, kind, unit }, [self.what]))
            }
            _ => None,
        };
        single.into_iter().chain(signal_groups(source, self.what, self.signals))
    }

    /// Adds the values of an answer.
    pub(crate) fn read_values(&self, answer: &QueryResult, values: &mut ProbeValues) {
        for row in &answer.rows {
            self.take_row(answer, row, values);
        }
    }

    fn take_row(&self, answer: &QueryResult, row: &[Option<String>], values: &mut ProbeValues) {
        let what = self.what;
        let row = AnswerRow(row);
        match &self.shape {
            AnswerShape::Single(..) => put(values, what.to_owned(), row.number(0)),
            AnswerShape::Pairs => {
                put(values, format!("{what}.{}", row.cell(0).unwrap_or_default()), row.number(1));
            }
            AnswerShape::States { columns, none } => {
                let words: Vec<_> = (0..*columns)
                    .filter_map(|index| row.cell(index))
                    .map(str::trim)
                    .filter(|word| !word.is_empty())
                    .collect();
                let state = if words.is_empty() { (*none).to_owned() } else { words.join(":") };
                put(values, format!("{what}.{state}"), row.number(*columns));
            }
            AnswerShape::Named { names } => {
                let name: Vec<_> =
                    (0..*names).map(|index| row.cell(index).unwrap_or("(none)")).collect();
                let name = name.join(".");
                for (index, column) in answer.columns.iter().enumerate().skip(*names) {
                    put(values, format!("{what}.{name}.{column}"), row.number(index));
                }
            }
            AnswerShape::Columns { without } => {
                for (index, column) in answer.columns.iter().enumerate() {
                    let name = format!("{what}.{column}");
                    if let Some(value) =
                        row.number(index).filter(|_| !without.contains(&column.as_str()))
                    {
                        *values.entry(name).or_default() += value;
                    }
                }
            }
            AnswerShape::Channels { channel, without } => {
                let at =
                    answer.columns.iter().position(|column| channel.contains(&column.as_str()));
                let channel = at.and_then(|at| row.cell(at)).filter(|_| answer.rows.len() > 1);
                let prefix = channel.map_or(what.to_owned(), |channel| format!("{what}.{channel}"));
                for (index, column) in answer.columns.iter().enumerate() {
                    if Some(index) != at && !without.contains(column) {
                        put(values, format!("{prefix}.{column}"), row.number(index));
                    }
                }
            }
        }
    }
}

struct AnswerRow<'r>(&'r [Option<String>]);

impl<'r> AnswerRow<'r> {
    fn cell(&self, index: usize) -> Option<&'r str> {
        self.0.get(index)?.as_deref()
    }

    fn number(&self, index: usize) -> Option<f64> {
        self.cell(index)?.trim().parse::<f64>().ok().filter(|number| number.is_finite())
    }
}

fn put(values: &mut ProbeValues, name: String, value: Option<f64>) {
    if let Some(value) = value {
        values.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        shape: AnswerShape,
        columns: &[&str],
        rows: &[&[Option<&str>]],
        expect: &[(&str, f64)],
    ) {
        let answer = QueryResult {
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.map(str::to_owned)).collect())
                .collect(),
            ..QueryResult::default()
        };
        let mut values = ProbeValues::new();
        ProbeQuestion::new("x", "", shape, &[]).read_values(&answer, &mut values);
        let expect: ProbeValues =
            expect.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(values, expect);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let rows: &[&[_]] = &[
            &[Some("a"), Some("5")],
            &[Some("b"), Some("ON")],
            &[Some("c"), None],
            &[Some("d"), Some("inf")],
        ];
        check(AnswerShape::Pairs, &["n", "v"], rows, &[("x.a", 5.0)]);
        check(
            AnswerShape::Single(SignalKind::Gauge, SignalUnit::Count),
            &["n"],
            &[&[Some("3")]],
            &[("x", 3.0)],
        );
    }

    #[test]
    fn columns_are_added_up_over_rows() {
        let rows: &[&[_]] = &[&[Some("1"), Some("2"), Some("3.5")], &[Some("1"), Some("4"), None]];
        check(
            AnswerShape::Columns { without: vec!["id"] },
            &["id", "a", "b"],
            rows,
            &[("x.a", 6.0), ("x.b", 3.5)],
        );
    }

    #[test]
    fn names_and_states() {
        let columns = &["object", "context", "writes"];
        check(
            AnswerShape::Named { names: 2 },
            columns,
            &[&[Some("wal"), Some("init"), Some("7")]],
            &[("x.wal.init.writes", 7.0)],
        );
        let states = |columns| AnswerShape::States { columns, none: "(none)" };
        check(
            states(1),
            &["s", "n"],
            &[&[Some(" "), Some("2")], &[Some("Update"), Some("1")]],
            &[("x.(none)", 2.0), ("x.Update", 1.0)],
        );
        check(
            states(2),
            &["t", "e", "n"],
            &[&[Some("LWLock"), Some("WALWrite"), Some("2")], &[None, None, Some("3")]],
            &[("x.LWLock:WALWrite", 2.0), ("x.(none)", 3.0)],
        );
    }

    #[test]
    fn a_channel_is_named_where_there_are_several() {
        let without = vec!["Port".to_owned()].leak();
        let shape =
            || AnswerShape::Channels { channel: ["Channel_Name", "Connection_name"], without };
        let columns = &["Channel_Name", "Port", "Lag", "State"];
        let one: &[Option<&str>] = &[Some("c1"), Some("3306"), Some("4"), Some("waiting")];
        let two: &[Option<&str>] = &[Some("c2"), Some("3306"), None, Some("waiting")];
        check(shape(), columns, &[one], &[("x.Lag", 4.0)]);
        check(shape(), columns, &[one, two], &[("x.c1.Lag", 4.0)]);
    }
}
