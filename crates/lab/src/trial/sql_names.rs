//! Names and texts in statements of both dialects.

use truetps_record::SqlDialect;

use crate::trial::setting::quoted;

/// A name as an identifier.
pub(crate) fn identifier(dialect: SqlDialect, name: &str) -> String {
    match dialect {
        SqlDialect::Mysql => format!("`{}`", name.replace('`', "``")),
        SqlDialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A text as a literal.
pub(crate) fn text_literal(dialect: SqlDialect, text: &str) -> String {
    match dialect {
        SqlDialect::Mysql => quoted(text),
        SqlDialect::Postgres => format!("'{}'", text.replace('\'', "''")),
    }
}
