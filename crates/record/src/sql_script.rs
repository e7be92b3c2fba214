//! SQL text of several statements, and the little that must be known of what it says: where each statement ends, and
//! which tables it makes.
//!
//! Nothing here parses SQL. Quotes and comments are told from the rest, so that a delimiter inside them is text, as it is
//! for the server; everything else is the server's to judge.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SqlScriptError {
    #[error("a delimiter has at least one character")]
    NoDelimiter,
    #[error("the quote {quote} is not closed in: {text}")]
    OpenQuote { quote: char, text: String },
    #[error("the comment /* is not closed in: {text}")]
    OpenComment { text: String },
    #[error("no table's name after CREATE TABLE in: {text}")]
    NoTableName { text: String },
    #[error("a table is made in the experiment's own schema: write its name without `{schema}.` in: {text}")]
    Qualified { schema: String, text: String },
    #[error("a temporary table is seen by one client alone: {text}")]
    Temporary { text: String },
}

/// The statements of a text, in order, without the white space and comments around them. A delimiter inside quotes or
/// comments does not end a statement; comments inside a statement are sent with it. Statements of nothing but comments
/// are dropped; `/*! … */` and `/*M! … */` are no comments for the servers that read them, and stay.
pub fn split_sql(text: &str, delimiter: &str) -> Result<Vec<String>, SqlScriptError> {
    if delimiter.is_empty() {
        return Err(SqlScriptError::NoDelimiter);
    }
    let mut statements = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (statement, after) = first_statement(rest, delimiter)?;
        if !statement.is_empty() {
            statements.push(statement.to_owned());
        }
        rest = after;
    }
    Ok(statements)
}

/// The first statement, and what follows its delimiter.
fn first_statement<'a>(text: &'a str, delimiter: &str) -> Result<(&'a str, &'a str), SqlScriptError> {
    // Where the statement begins and ends, once something of it was seen.
    let mut span: Option<(usize, usize)> = None;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(after) = rest.strip_prefix(delimiter) {
            return Ok((span.map_or("", |(from, to)| &text[from..to]), after));
        }
        let piece = Piece::of(rest, text)?;
        at += piece.bytes;
        if !piece.is_blank {
            span = Some((span.map_or(at - piece.bytes, |(from, _)| from), at));
        }
    }
    Ok((span.map_or("", |(from, to)| &text[from..to]), ""))
}

/// What a text begins with: quoted text, a comment, or one character.
struct Piece {
    bytes: usize,
    /// White space, or a comment that no server reads.
    is_blank: bool,
}

impl Piece {
    /// `whole` is what an error quotes.
    fn of(rest: &str, whole: &str) -> Result<Self, SqlScriptError> {
        let Some(first) = rest.chars().next() else { return Ok(Self { bytes: 0, is_blank: true }) };
        if matches!(first, '\'' | '"' | '`') {
            let bytes = quoted_bytes(rest, first)
                .ok_or_else(|| SqlScriptError::OpenQuote { quote: first, text: excerpt(whole) })?;
            return Ok(Self { bytes, is_blank: false });
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            let Some(end) = inside.find("*/") else {
                return Err(SqlScriptError::OpenComment { text: excerpt(whole) });
            };
            let is_read = inside.starts_with('!') || inside.starts_with("M!");
            return Ok(Self { bytes: end + 4, is_blank: !is_read });
        }
        if first == '#' || is_dash_comment(rest) {
            // The end of the line is not part of it: it may be the delimiter.
            return Ok(Self { bytes: rest.find('\n').unwrap_or(rest.len()), is_blank: true });
        }
        Ok(Self { bytes: first.len_utf8(), is_blank: first.is_whitespace() })
    }
}

/// As in MySQL: two dashes alone subtract a negative number.
fn is_dash_comment(rest: &str) -> bool {
    rest.strip_prefix("--").is_some_and(|after| after.chars().next().is_none_or(char::is_whitespace))
}

/// Bytes up to the closing quote and with it; `None` where there is none. A quote that is doubled closes and opens again,
/// which comes to the same.
fn quoted_bytes(rest: &str, quote: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote != '`' {
            chars.next();
        } else if c == quote {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

/// Enough of a statement to know it again.
fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let text = text.trim();
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The first word of a statement, in capitals; empty where it begins with something else.
pub fn first_word(sql: &str) -> String {
    let end = sql.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(sql.len());
    sql[..end].to_ascii_uppercase()
}

/// The name of the table that a statement makes, without its quotes; `None` where it is no CREATE TABLE.
pub fn created_table(sql: &str) -> Result<Option<String>, SqlScriptError> {
    let mut tokens = Tokens { rest: sql };
    if !tokens.takes("CREATE") {
        return Ok(None);
    }
    if tokens.takes("OR") {
        tokens.takes("REPLACE");
    }
    let is_temporary = tokens.takes("TEMPORARY") || tokens.takes("TEMP");
    tokens.takes("UNLOGGED");
    if !tokens.takes("TABLE") {
        return Ok(None);
    }
    if is_temporary {
        return Err(SqlScriptError::Temporary { text: excerpt(sql) });
    }
    if tokens.takes("IF") {
        tokens.takes("NOT");
        tokens.takes("EXISTS");
    }
    let name = tokens.name().ok_or_else(|| SqlScriptError::NoTableName { text: excerpt(sql) })?;
    tokens.skip_blank();
    if tokens.rest.starts_with('.') {
        return Err(SqlScriptError::Qualified { schema: name, text: excerpt(sql) });
    }
    Ok(Some(name))
}

/// Names of the tables that these texts make, in order; `;` ends each statement.
pub(crate) fn created_tables(texts: &[String]) -> Result<Vec<String>, SqlScriptError> {
    let mut names = Vec::new();
    for text in texts {
        for sql in split_sql(text, ";")? {
            names.extend(created_table(&sql)?);
        }
    }
    Ok(names)
}

/// The beginning of a statement, word by word.
struct Tokens<'a> {
    rest: &'a str,
}

impl Tokens<'_> {
    fn skip_blank(&mut self) {
        while let Ok(Piece { bytes: bytes @ 1.., is_blank: true }) = Piece::of(self.rest, "") {
            self.rest = &self.rest[bytes..];
        }
    }

    /// Goes past this word, if it is the next one.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_blank();
        let end = self.rest.find(|c: char| !is_name_character(c)).unwrap_or(self.rest.len());
        let is_next = self.rest[..end].eq_ignore_ascii_case(word);
        if is_next {
            self.rest = &self.rest[end..];
        }
        is_next
    }

    fn name(&mut self) -> Option<String> {
        self.skip_blank();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '`' | '"'));
        let (bytes, name) = if let Some(quote) = quote {
            let bytes = quoted_bytes(self.rest, quote)?;
            (bytes, &self.rest[1..bytes - 1])
        } else {
            let bytes = self.rest.find(|c: char| !is_name_character(c)).unwrap_or(self.rest.len());
            (bytes, &self.rest[..bytes])
        };
        let name = name.to_owned();
        self.rest = &self.rest[bytes..];
        (!name.is_empty()).then_some(name)
    }
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_split_outside_of_quotes_and_comments() {
        let check = |text: &str, delimiter: &str, expect: &[&str]| {
            assert_eq!(split_sql(text, delimiter).as_deref(), Ok(expect.map_owned().as_slice()), "{text:?}");
        };
        check("a; b ;c", ";", &["a", "b", "c"]);
        check(";; a;\n\n;;", ";", &["a"]);
        check("", ";", &[]);
        check(
            "insert into t values ('a;b', \"c;d\", `e;f`);x",
            ";",
            &["insert into t values ('a;b', \"c;d\", `e;f`)", "x"],
        );
        check(r"select 'it''s;', 'it\'s;', '\\'; x", ";", &[r"select 'it''s;', 'it\'s;', '\\'", "x"]);
        check(r"select `a\`; x", ";", &[r"select `a\`", "x"]);
        check("select 1 -- ; no\n+ 1; x", ";", &["select 1 -- ; no\n+ 1", "x"]);
        check("select 1 # it's ; no\n; x", ";", &["select 1", "x"]);
        check("select 1--1; x", ";", &["select 1--1", "x"]);
        check("select /* ' ; */ 2; x", ";", &["select /* ' ; */ 2", "x"]);
        check("-- first\n/* only */ ; # words\n", ";", &[]);
        check("-- about\nx; --", ";", &["x"]);
        check("/*!40101 SET a = 1; */; x /*+ hint */", ";", &["/*!40101 SET a = 1; */", "x"]);
        check("a//b; c // d/", "//", &["a", "b; c", "d/"]);
        check("/* // */ a //", "//", &["a"]);
        check("a\n\nb -- it's\nc", "\n", &["a", "b", "c"]);
        check("ä 'ö;ü';ß…", ";", &["ä 'ö;ü'", "ß…"]);
        check("select 'a END b' END x END ", "END", &["select 'a END b'", "x"]);
    }

    trait Owned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl Owned for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    #[test]
    fn what_is_not_closed_is_named() {
        let check = |text: &str, expect: &str| {
            let error = split_sql(text, ";").unwrap_err().to_string();
            assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
        };
        check("x; select 'it\\'", "the quote ' is not closed in: select 'it\\'");
        check("select \"", "the quote \" is not closed");
        check("select `a;b", "the quote ` is not closed");
        check("select 'a\\", "the quote ' is not closed");
        check("select 1 /* ;", "the comment /* is not closed in: select 1 /* ;");
        check(&format!("select '{}", "ä".repeat(100)), "ä…");
        assert_eq!(split_sql("x", ""), Err(SqlScriptError::NoDelimiter));
    }

    /// All texts of five pieces: nothing panics, and what was split once is not split or cut again.
    #[test]
    fn statements_stay_as_they_are() {
        const PIECES: [&str; 9] = ["'", "\\", ";", "/*", "*/", "-- ", "\n", "ä", "`!"];
        for number in 0..PIECES.len().pow(5) {
            let piece = |place: u32| PIECES[number / PIECES.len().pow(place) % PIECES.len()];
            let text: String = (0..5).map(piece).collect();
            let Ok(statements) = split_sql(&text, ";") else { continue };
            assert_eq!(split_sql(&statements.join("\n;"), ";"), Ok(statements), "{text:?}");
            let _ = (created_table(&text), first_word(&text), split_sql(&text, "/*"), split_sql(&text, "\n"));
        }
    }

    #[test]
    fn created_tables_have_a_name() {
        let check = |sql: &str, expect: Option<&str>| assert_eq!(created_table(sql), Ok(expect.map(str::to_owned)));
        check("create table t (a int)", Some("t"));
        check("CREATE TABLE IF NOT EXISTS `goods`(id int)", Some("goods"));
        check("Create /* it's */ Table -- a\n \"Goods_2\" (id int)", Some("Goods_2"));
        check("CREATE OR REPLACE TABLE t2 LIKE t", Some("t2"));
        check("CREATE UNLOGGED TABLE u AS SELECT 1", Some("u"));
        check("create table `if` (a int)", Some("if"));
        check("CREATE INDEX i ON t (a)", None);
        check("INSERT INTO t VALUES ('create table x')", None);
        check("", None);
        let error = |sql: &str| created_table(sql).unwrap_err().to_string();
        assert!(error("create table shop.goods (a int)").contains("without `shop.` in: create table shop.goods"));
        assert!(error("create table `shop` . `goods` (a int)").contains("without `shop.`"));
        assert!(error("create table (a int)").contains("no table's name"));
        assert!(error("create table `t").contains("no table's name"));
        assert!(error("create temporary table t (a int)").contains("temporary"));
    }
}
