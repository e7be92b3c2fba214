//! A statement with parameters, and the values for one execution of it.

use thiserror::Error;

/// One SQL statement with `?` for each parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    sql: String,
    /// The text between the parameters: one more than there are parameters.
    pub(crate) parts: Vec<String>,
    /// Always sent as text: statements that servers do not prepare, such as BEGIN.
    text_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StatementError {
    #[error("a quote is not closed in: {0}")]
    OpenQuote(String),
}

impl Statement {
    /// Splits at each `?` that is not inside quotes.
    pub fn new(sql: impl Into<String>) -> Result<Self, StatementError> {
        let sql = sql.into();
        let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
        let mut chars = sql.chars();
        while let Some(c) = chars.next() {
            match quote {
                None if c == '?' => {
                    parts.push(std::mem::take(&mut part));
                    continue;
                }
                None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
                Some('\'' | '"') if c == '\\' => {
                    part.push(c);
                    part.extend(chars.next());
                    continue;
                }
                Some(open) if open == c => quote = None,
                _ => {}
            }
            part.push(c);
        }
        if quote.is_some() {
            return Err(StatementError::OpenQuote(sql));
        }
        parts.push(part);
        Ok(Self { sql, parts, text_only: false })
    }

    /// A statement without parameters: each `?` in it is text. It is prepared like any other
    /// statement.
    pub fn constant(sql: impl Into<String>) -> Self {
        let sql = sql.into();
        Self { parts: vec![sql.clone()], sql, text_only: false }
    }

    /// A statement without parameters that is never prepared: BEGIN, COMMIT.
    pub fn text_only(sql: impl Into<String>) -> Self {
        let sql = sql.into();
        Self { parts: vec![sql.clone()], sql, text_only: true }
    }

    pub fn is_text_only(&self) -> bool {
        self.text_only
    }

    pub fn sql(&self) -> &str {
        &self.sql
    }

    pub fn param_count(&self) -> usize {
        self.parts.len() - 1
    }
}

/// One parameter's value; text and bytes live in the [`Params`] that made them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    /// Finite.
    Double(f64),
    Text {
        start: u32,
        end: u32,
    },
    /// A value of a binary column: any bytes.
    Bytes {
        start: u32,
        end: u32,
    },
}

/// Values for one execution, reused to avoid allocations.
#[derive(Debug, Default)]
pub struct Params {
    values: Vec<Value>,
    text: Vec<u8>,
}

impl Params {
    pub fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
    }

    pub fn push_null(&mut self) {
        self.values.push(Value::Null);
    }

    pub fn push_int(&mut self, value: i64) {
        self.values.push(Value::Int(value));
    }

    /// `value` must be finite: SQL cannot express others.
    pub fn push_double(&mut self, value: f64) {
        debug_assert!(value.is_finite());
        self.values.push(Value::Double(value));
    }

    /// `fill` appends the text, as UTF-8.
    pub fn push_text(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let (start, end) = self.append(fill);
        self.values.push(Value::Text { start, end });
    }

    /// `fill` appends the bytes.
    pub fn push_bytes(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let (start, end) = self.append(fill);
        self.values.push(Value::Bytes { start, end });
    }

    fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> (u32, u32) {
        let start = self.text.len() as u32;
        fill(&mut self.text);
        (start, self.text.len() as u32)
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The bytes of a [`Value::Text`] or [`Value::Bytes`] of these parameters.
    pub fn text(&self, start: u32, end: u32) -> &[u8] {
        &self.text[start as usize..end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_in_quotes_are_text() {
        let check = |sql: &str, expect: &[&str]| {
            assert_eq!(Statement::new(sql).unwrap().parts, expect, "{sql}");
        };
        check("INSERT INTO t VALUES (0, ?, ?)", &["INSERT INTO t VALUES (0, ", ", ", ")"]);
        check("SELECT '?', \"a?\", `b?`, ?", &["SELECT '?', \"a?\", `b?`, ", ""]);
        check(r"SELECT 'it\'s ?', ?", &[r"SELECT 'it\'s ?', ", ""]);
        check("SELECT 1", &["SELECT 1"]);
        assert!(Statement::new("SELECT 'open").is_err());
        let constant = Statement::constant("SELECT a ? b, 'open");
        assert_eq!(
            (&constant.parts[..], constant.is_text_only()),
            (&["SELECT a ? b, 'open".to_owned()][..], false)
        );
    }
}
