//! SQL text of several statements, and the little that truetps needs from it: where each statement
//! ends, and which tables it creates.
//!
//! This is no SQL parser. It recognizes quotes and comments, so that a delimiter inside them is
//! plain text, as it is for the server. Everything else is left to the server.

use thiserror::Error;

use truetps_record::SqlDialect;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SqlScriptError {
    #[error("a delimiter has at least one character")]
    NoDelimiter,
    #[error("the quote {quote} is not closed in: {text}")]
    OpenQuote { quote: String, text: String },
    #[error("the comment /* is not closed in: {text}")]
    OpenComment { text: String },
    #[error("no table's name after CREATE TABLE in: {text}")]
    NoTableName { text: String },
    #[error(
        "tables are created in the experiment's own schema: write its name without `{schema}.` in: \
         {text}"
    )]
    Qualified { schema: String, text: String },
    #[error("a temporary table is visible to only one client: {text}")]
    Temporary { text: String },
}

/// The statements of a text, in order, without surrounding white space. A delimiter inside quotes
/// or comments does not end a statement. Comments are sent with the statement that they precede,
/// follow or are part of: they may be hints for a proxy. A statement that has only comments is
/// dropped; `/*! … */` and `/*M! … */` are not comments for the servers that execute them.
pub fn split_sql(
    text: &str,
    delimiter: &str,
    dialect: SqlDialect,
) -> Result<Vec<String>, SqlScriptError> {
    if delimiter.is_empty() {
        return Err(SqlScriptError::NoDelimiter);
    }
    let mut statements = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let (end, is_statement) = first_statement(&text[from..], delimiter, dialect)?;
        if is_statement {
            statements.push(text[from..from + end].trim().to_owned());
        }
        from += end + delimiter.len();
    }
    Ok(statements)
}

/// Where the first statement ends, and whether there is more in it than comments.
fn first_statement(
    text: &str,
    delimiter: &str,
    dialect: SqlDialect,
) -> Result<(usize, bool), SqlScriptError> {
    let (mut at, mut is_statement) = (0, false);
    while at < text.len() && !text[at..].starts_with(delimiter) {
        let piece = Piece::of(text, at, dialect)?;
        at += piece.bytes;
        is_statement |= !piece.is_blank;
    }
    Ok((at, is_statement))
}

/// What stands at a place of a text: quoted text, a comment, or one character.
struct Piece {
    bytes: usize,
    /// White space, or a comment that no server reads.
    is_blank: bool,
}

impl Piece {
    fn of(text: &str, at: usize, dialect: SqlDialect) -> Result<Self, SqlScriptError> {
        let (before, rest) = text.split_at(at);
        let Some(first) = rest.chars().next() else { return Ok(Self { bytes: 0, is_blank: true }) };
        if let Some(quote) = Quote::of(before, rest, dialect) {
            let bytes = quote.bytes_of(rest).ok_or_else(|| quote.not_closed(text))?;
            return Ok(Self { bytes, is_blank: false });
        }
        if rest.starts_with("/*") {
            let bytes = block_comment_bytes(rest, dialect)
                .ok_or_else(|| SqlScriptError::OpenComment { text: excerpt(text) })?;
            let is_read = dialect == SqlDialect::Mysql
                && (rest.starts_with("/*!") || rest.starts_with("/*M!"));
            return Ok(Self { bytes, is_blank: !is_read });
        }
        if is_line_comment(rest, dialect) {
            // The end of the line is not part of it: it may be the delimiter.
            return Ok(Self { bytes: rest.find('\n').unwrap_or(rest.len()), is_blank: true });
        }
        Ok(Self { bytes: first.len_utf8(), is_blank: first.is_whitespace() })
    }
}

/// MySQL wants a blank behind two dashes: without it they subtract a negative number.
fn is_line_comment(rest: &str, dialect: SqlDialect) -> bool {
    match dialect {
        SqlDialect::Mysql => {
            let behind = rest.strip_prefix("--").map(|behind| behind.chars().next());
            rest.starts_with('#')
                || behind.is_some_and(|first| first.is_none_or(char::is_whitespace))
        }
        SqlDialect::Postgres => rest.starts_with("--"),
    }
}

/// Bytes up to the end of the comment that a text begins with; `None` where there is none.
fn block_comment_bytes(rest: &str, dialect: SqlDialect) -> Option<usize> {
    if dialect == SqlDialect::Mysql {
        return rest[2..].find("*/").map(|end| end + 4);
    }
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let after = &rest[at..];
        if after.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if after.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += after.chars().next()?.len_utf8();
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// What a quoted text begins with.
#[derive(Clone, Copy)]
enum Quote<'a> {
    /// One character, which ends it as well.
    Mark { mark: char, has_backslashes: bool },
    /// `$tag$`, which ends it as well.
    Dollar(&'a str),
}

impl<'a> Quote<'a> {
    fn of(before: &str, rest: &'a str, dialect: SqlDialect) -> Option<Self> {
        let first = rest.chars().next()?;
        match (dialect, first) {
            (SqlDialect::Mysql, '\'' | '"' | '`') => {
                Some(Self::Mark { mark: first, has_backslashes: first != '`' })
            }
            (SqlDialect::Postgres, '\'') => {
                let prefix = before.strip_suffix(['e', 'E']);
                let has_backslashes =
                    prefix.is_some_and(|before| !before.ends_with(is_name_character));
                Some(Self::Mark { mark: first, has_backslashes })
            }
            (SqlDialect::Postgres, '"') => Some(Self::Mark { mark: first, has_backslashes: false }),
            (SqlDialect::Postgres, '$') if !before.ends_with(is_name_character) => {
                let tag = &rest[1..];
                let end = tag.find(|c: char| !c.is_alphanumeric() && c != '_')?;
                let is_tag =
                    tag[end..].starts_with('$') && !tag.starts_with(|c: char| c.is_ascii_digit());
                is_tag.then(|| Self::Dollar(&rest[..end + 2]))
            }
            _ => None,
        }
    }

    fn bytes_of(self, rest: &str) -> Option<usize> {
        match self {
            Self::Mark { mark, has_backslashes } => quoted_bytes(rest, mark, has_backslashes),
            Self::Dollar(tag) => rest[tag.len()..].find(tag).map(|end| end + 2 * tag.len()),
        }
    }

    fn not_closed(self, text: &str) -> SqlScriptError {
        let quote = match self {
            Self::Mark { mark, .. } => mark.to_string(),
            Self::Dollar(tag) => tag.to_owned(),
        };
        SqlScriptError::OpenQuote { quote, text: excerpt(text) }
    }
}

/// Bytes up to the closing quote and with it; `None` where there is none. A quote that is doubled
/// closes and opens again, which comes to the same.
fn quoted_bytes(rest: &str, quote: char, has_backslashes: bool) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' && has_backslashes {
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
pub fn first_word(sql: &str, dialect: SqlDialect) -> String {
    let mut tokens = Tokens { sql, at: 0, dialect };
    tokens.skip_blank();
    tokens.word().to_ascii_uppercase()
}

/// The name of the table that a statement makes, without its quotes; `None` where it is no CREATE
/// TABLE.
pub fn created_table(sql: &str, dialect: SqlDialect) -> Result<Option<String>, SqlScriptError> {
    let mut tokens = Tokens { sql, at: 0, dialect };
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
    if tokens.rest().starts_with('.') {
        return Err(SqlScriptError::Qualified { schema: name, text: excerpt(sql) });
    }
    Ok(Some(name))
}

/// The beginning of a statement, word by word.
struct Tokens<'a> {
    sql: &'a str,
    at: usize,
    dialect: SqlDialect,
}

impl<'a> Tokens<'a> {
    fn rest(&self) -> &'a str {
        &self.sql[self.at..]
    }

    fn skip_blank(&mut self) {
        while let Ok(Piece { bytes: bytes @ 1.., is_blank: true }) =
            Piece::of(self.sql, self.at, self.dialect)
        {
            self.at += bytes;
        }
    }

    fn word(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c: char| !is_name_character(c)).unwrap_or(rest.len())]
    }

    /// Goes past this word, if it is the next one.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_blank();
        let next = self.word();
        let is_next = next.eq_ignore_ascii_case(word);
        if is_next {
            self.at += next.len();
        }
        is_next
    }

    fn name(&mut self) -> Option<String> {
        self.skip_blank();
        let rest = self.rest();
        let quote = rest.chars().next().filter(|c| matches!(c, '`' | '"'));
        let (bytes, name) = if let Some(quote) = quote {
            let bytes = quoted_bytes(rest, quote, false)?;
            (bytes, &rest[1..bytes - 1])
        } else {
            let word = self.word();
            (word.len(), word)
        };
        self.at += bytes;
        (!name.is_empty()).then(|| name.to_owned())
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
            let statements = split_sql(text, delimiter, SqlDialect::Mysql);
            assert_eq!(statements.as_deref(), Ok(expect.map_owned().as_slice()), "{text:?}");
        };
        check("a; b ;c", ";", &["a", "b", "c"]);
        check(";; a;\n\n;;", ";", &["a"]);
        check("", ";", &[]);
        check(
            "insert into t values ('a;b', \"c;d\", `e;f`);x",
            ";",
            &["insert into t values ('a;b', \"c;d\", `e;f`)", "x"],
        );
        check(
            r"select 'it''s;', 'it\'s;', '\\'; x",
            ";",
            &[r"select 'it''s;', 'it\'s;', '\\'", "x"],
        );
        check(r"select `a\`; x", ";", &[r"select `a\`", "x"]);
        check("select 1 -- ; no\n+ 1; x", ";", &["select 1 -- ; no\n+ 1", "x"]);
        check("select 1 # it's ; no\n; x", ";", &["select 1 # it's ; no", "x"]);
        check("select 1--1; x", ";", &["select 1--1", "x"]);
        check("select /* ' ; */ 2; x", ";", &["select /* ' ; */ 2", "x"]);
        check("-- first\n/* only */ ; # words\n", ";", &[]);
        check("-- about\nx; --", ";", &["-- about\nx"]);
        check(
            "/*!40101 SET a = 1; */; x /*+ hint */",
            ";",
            &["/*!40101 SET a = 1; */", "x /*+ hint */"],
        );
        check("/* group=1 */ x; y -- slave\n;", ";", &["/* group=1 */ x", "y -- slave"]);
        check("a//b; c // d/", "//", &["a", "b; c", "d/"]);
        check("/* // */ a //", "//", &["/* // */ a"]);
        check("a\n\nb -- it's\nc", "\n", &["a", "b -- it's", "c"]);
        check("ä 'ö;ü';ß…", ";", &["ä 'ö;ü'", "ß…"]);
        check("select 'a END b' END x END ", "END", &["select 'a END b'", "x"]);
    }

    #[test]
    fn postgres_has_other_quotes_and_comments() {
        let check = |text: &str, expect: &[&str]| {
            let statements = split_sql(text, ";", SqlDialect::Postgres);
            assert_eq!(statements.as_deref(), Ok(expect.map_owned().as_slice()), "{text:?}");
        };
        check("UPDATE t SET v = v # 5; x", &["UPDATE t SET v = v # 5", "x"]);
        check(r"select '\'; x", &[r"select '\'", "x"]);
        check(r"select E'\';', e'\\', name'\'; x", &[r"select E'\';', e'\\', name'\'", "x"]);
        check(r#"select "a\"; x"#, &[r#"select "a\""#, "x"]);
        check("select 1 --x;\n+ 1; y", &["select 1 --x;\n+ 1", "y"]);
        check("select ` ; x", &["select `", "x"]);
        check("select /* a /* b; */ ; */ 1; x", &["select /* a /* b; */ ; */ 1", "x"]);
        check("/*! x */; y", &["y"]);
        check(
            "do $$ begin; end $$; do $f_1$ '; $$ $f_1$; x",
            &["do $$ begin; end $$", "do $f_1$ '; $$ $f_1$", "x"],
        );
        check("select $1; select a$b$; x", &["select $1", "select a$b$", "x"]);
        check("select 1 $ ; x", &["select 1 $", "x"]);
        let error =
            |text: &str| split_sql(text, ";", SqlDialect::Postgres).unwrap_err().to_string();
        assert_eq!(error("do $q$ ;"), "the quote $q$ is not closed in: do $q$ ;");
        assert!(error("select '\\'';").contains("the quote ' is not closed"));
        assert!(error("/* /* */").contains("the comment /* is not closed"));
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
            let error = split_sql(text, ";", SqlDialect::Mysql).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
        };
        check("x; select 'it\\'", "the quote ' is not closed in: select 'it\\'");
        check("select \"", "the quote \" is not closed");
        check("select `a;b", "the quote ` is not closed");
        check("select 'a\\", "the quote ' is not closed");
        check("select 1 /* ;", "the comment /* is not closed in: select 1 /* ;");
        check(&format!("select '{}", "ä".repeat(100)), "ä…");
        assert_eq!(split_sql("x", "", SqlDialect::Mysql), Err(SqlScriptError::NoDelimiter));
    }

    /// All texts of five pieces: nothing panics, and what was split once is not split or cut again.
    #[test]
    fn statements_stay_as_they_are() {
        const PIECES: [&str; 10] = ["'", "\\", ";", "/*", "*/", "-- ", "\n", "ä", "`!", "$$"];
        for (number, dialect) in (0..PIECES.len().pow(5))
            .flat_map(|n| [SqlDialect::Mysql, SqlDialect::Postgres].map(|dialect| (n, dialect)))
        {
            let piece = |place: u32| PIECES[number / PIECES.len().pow(place) % PIECES.len()];
            let text: String = (0..5).map(piece).collect();
            let split = |text: &str, delimiter| split_sql(text, delimiter, dialect);
            let Ok(statements) = split(&text, ";") else { continue };
            assert_eq!(split(&statements.join("\n;"), ";"), Ok(statements), "{text:?}");
            let _ = (
                created_table(&text, dialect),
                first_word(&text, dialect),
                split(&text, "/*"),
                split(&text, "\n"),
            );
        }
    }

    #[test]
    fn created_tables_have_a_name() {
        let check = |sql: &str, expect: Option<&str>| {
            assert_eq!(created_table(sql, SqlDialect::Mysql), Ok(expect.map(str::to_owned)));
        };
        check("create table t (a int)", Some("t"));
        check("CREATE TABLE IF NOT EXISTS `goods`(id int)", Some("goods"));
        check("Create /* it's */ Table -- a\n \"Goods_2\" (id int)", Some("Goods_2"));
        check("CREATE OR REPLACE TABLE t2 LIKE t", Some("t2"));
        check("CREATE UNLOGGED TABLE u AS SELECT 1", Some("u"));
        check("create table `if` (a int)", Some("if"));
        check("CREATE INDEX i ON t (a)", None);
        check("INSERT INTO t VALUES ('create table x')", None);
        check("", None);
        check("/* for a proxy */ create table t (a int)", Some("t"));
        assert_eq!(first_word("# a\n/* b */ Commit /* c */", SqlDialect::Mysql), "COMMIT");
        assert_eq!(first_word("# a", SqlDialect::Postgres), "");
        let error = |sql: &str| created_table(sql, SqlDialect::Mysql).unwrap_err().to_string();
        assert!(
            error("create table shop.goods (a int)")
                .contains("without `shop.` in: create table shop.goods")
        );
        assert!(error("create table `shop` . `goods` (a int)").contains("without `shop.`"));
        assert!(error("create table (a int)").contains("no table's name"));
        assert!(error("create table `t").contains("no table's name"));
        assert!(error("create temporary table t (a int)").contains("temporary"));
    }
}
