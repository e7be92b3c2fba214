//! Where the keys of a plan stand in its text, and all that is wrong with it at once.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::PlanError;
use crate::plan_error::wrong_value;

/// Errors of types are found one by one.
const TYPE_ERRORS_MAX: usize = 20;

/// A key with its value.
struct Entry {
    path: String,
    key: Range<usize>,
    value: Range<usize>,
}

/// The text of a plan. Keys that are wrong are overwritten by spaces, so that the rest can be
/// checked, on the same lines.
pub(crate) struct PlanText {
    entries: Vec<Entry>,
    text: String,
}

impl PlanText {
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let table = DeTable::parse(text)?;
        let mut entries = Vec::new();
        collect(table.get_ref(), "", &mut entries);
        Ok(Self { entries, text: text.to_owned() })
    }

    /// The line of a key, or of the section that should have it.
    fn line(&self, path: &str) -> Option<usize> {
        // `workload.table `t``: the rest is no path.
        let mut path = path.split(' ').next().unwrap_or(path);
        loop {
            if let Some(entry) = self.entries.iter().find(|entry| entry.path == path) {
                return Some(1 + self.text[..entry.key.start].matches('\n').count());
            }
            path = path.rfind(['.', '[']).map(|end| &path[..end])?;
        }
    }

    /// The path of the innermost key that this part of the text belongs to.
    fn path_at(&self, span: &Range<usize>) -> Option<&str> {
        let around = self.entries.iter().filter(|entry| {
            [&entry.key, &entry.value]
                .into_iter()
                .any(|range| range.start <= span.start && span.end <= range.end)
        });
        around.min_by_key(|entry| entry.value.len()).map(|entry| entry.path.as_str())
    }

    /// Takes a key and its value out. `false`: there is no such key.
    pub(crate) fn remove(&mut self, path: &str) -> bool {
        let Some(entry) = self.entries.iter().find(|entry| entry.path == path) else {
            return false;
        };
        let (start, mut end) = (entry.key.start, entry.value.end.max(entry.key.end));
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        // A table's header is no line `key = value`, and is left.
        let is_pair = entry.value.start >= entry.key.end;
        if is_pair {
            let comma = bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace());
            if let Some(at) = comma.filter(|at| bytes[end + at] == b',') {
                end += at + 1;
            }
            bytes[start..end]
                .iter_mut()
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
        }
        self.text = String::from_utf8(bytes).expect("whole keys and values were overwritten");
        is_pair
    }

    /// A plan's part from this text. Each key of a wrong type is added to the errors and taken out.
    pub(crate) fn read<T>(
        &mut self,
        errors: &mut Vec<PlanError>,
        part: impl Fn(&str) -> Result<T, toml::de::Error>,
    ) -> Option<T> {
        DeTable::parse(&self.text).ok()?;
        for _ in 0..TYPE_ERRORS_MAX {
            let error = match part(&self.text) {
                Ok(read) => return Some(read),
                Err(error) => error,
            };
            let path = error.span().and_then(|span| self.path_at(&span)).map(str::to_owned);
            let Some(path) = path else {
                // The reader's own words name line and column.
                if errors.is_empty() {
                    errors.push(PlanError::Syntax(error.to_string()));
                }
                return None;
            };
            if !errors.iter().any(|known| known.path() == Some(&path)) {
                errors.push(wrong_value(path.clone(), plain_words(error.message())));
            }
            // What is left of a key with dots is no TOML.
            if !self.remove(&path) || DeTable::parse(&self.text).is_err() {
                return None;
            }
        }
        None
    }

    /// All errors in the order of their lines; a single one unwrapped.
    pub(crate) fn located(&self, errors: Vec<PlanError>) -> PlanError {
        let mut located: Vec<_> = errors
            .into_iter()
            .map(|error| (error.path().and_then(|path| self.line(path)), error))
            .collect();
        located.sort_by_key(|(line, _)| *line);
        let mut errors: Vec<_> = located
            .into_iter()
            .map(|(line, error)| match line {
                Some(line) => PlanError::AtLine { line, error: Box::new(error) },
                None => error,
            })
            .collect();
        if errors.len() == 1 { errors.remove(0) } else { PlanError::Several(errors) }
    }
}

fn collect(table: &DeTable<'_>, above: &str, entries: &mut Vec<Entry>) {
    for (key, found) in table {
        let name = key.get_ref();
        let path = if above.is_empty() { name.to_string() } else { format!("{above}.{name}") };
        entries.push(Entry { path: path.clone(), key: key.span(), value: found.span() });
        match found.get_ref() {
            DeValue::Table(inner) => collect(inner, &path, entries),
            DeValue::Array(list) => {
                for (n, one) in list.iter().enumerate() {
                    if let DeValue::Table(inner) = one.get_ref() {
                        collect(inner, &format!("{path}[{n}]"), entries);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Types of the reader in the words of a plan's author. No type of this program is a word of
/// theirs.
fn plain_words(message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    let Some((before, expected)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let plain = match expected {
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "f64" => "a number",
        number if number.starts_with(['u', 'i']) && number[1..].parse::<u32>().is_ok() => {
            "a whole number"
        }
        structure if structure.starts_with("struct ") => "a section with keys",
        known => known,
    };
    format!("{before}expected {plain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_plain_words() {
        for (message, expect) in [
            (
                "invalid type: string \"x\", expected f64",
                "invalid type: string \"x\", expected a number",
            ),
            (
                "invalid type: float `2.5`, expected u16",
                "invalid type: float `2.5`, expected a whole number",
            ),
            (
                "invalid type: integer `1`, expected struct CommonKeys",
                "invalid type: integer `1`, expected a section with keys",
            ),
            (
                "unknown variant `a`, expected `b` or `c`\nin a",
                "unknown variant `a`, expected `b` or `c`",
            ),
            ("missing field `a`", "missing field `a`"),
        ] {
            assert_eq!(plain_words(message), expect);
        }
    }
}
