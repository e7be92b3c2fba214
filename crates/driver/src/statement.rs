//! A statement with parameters, and the values for one execution of it.

use thiserror::Error;

/// One SQL statement with `?` for each parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    sql: String,
    /// The text between the parameters: one more than there are parameters.
    parts: Vec<String>,
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
        Ok(Self { sql, parts })
    }

    pub fn sql(&self) -> &str {
        &self.sql
    }

    pub fn param_count(&self) -> usize {
        self.parts.len() - 1
    }

    pub(crate) fn parts(&self) -> &[String] {
        &self.parts
    }
}

/// One parameter's value; text lives in the [`Params`] that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Null,
    Int(i64),
    Text { start: u32, end: u32 },
}

/// Values for one execution, reused from one to the next so that nothing is allocated on the way.
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

    /// `fill` appends the text.
    pub fn push_text(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len() as u32;
        fill(&mut self.text);
        self.values.push(Value::Text { start, end: self.text.len() as u32 });
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The bytes of a [`Value::Text`] of these parameters.
    pub fn text(&self, start: u32, end: u32) -> &[u8] {
        &self.text[start as usize..end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_in_quotes_are_text() {
        let check = |sql: &str, expect: &[&str]| assert_eq!(Statement::new(sql).unwrap().parts(), expect, "{sql}");
        check("INSERT INTO t VALUES (0, ?, ?)", &["INSERT INTO t VALUES (0, ", ", ", ")"]);
        check("SELECT '?', \"a?\", `b?`, ?", &["SELECT '?', \"a?\", `b?`, ", ""]);
        check(r"SELECT 'it\'s ?', ?", &[r"SELECT 'it\'s ?', ", ""]);
        check("SELECT 1", &["SELECT 1"]);
        assert!(Statement::new("SELECT 'open").is_err());
    }
}
