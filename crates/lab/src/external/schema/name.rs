//! The name of a schema in statements, and the names of its tables.

use truetps_record::SqlDialect;

use super::super::error::ExternalError;
use crate::trial::sql_names::{identifier, text_literal};

#[derive(Debug, Clone)]
pub(crate) struct SchemaName {
    pub(super) dialect: SqlDialect,
    pub(super) text: String,
    /// The PostgreSQL schema for tables in the user's database.
    pub(super) namespace: Option<String>,
}

impl SchemaName {
    pub(super) fn new(dialect: SqlDialect, name: &str, namespace: Option<String>) -> Self {
        Self { dialect, text: name.to_owned(), namespace }
    }

    /// As an identifier.
    pub(crate) fn quoted(&self) -> String {
        self.quote(&self.text)
    }

    pub(super) fn quote(&self, name: &str) -> String {
        identifier(self.dialect, name)
    }

    /// As a string literal.
    pub(super) fn literal(&self) -> String {
        text_literal(self.dialect, &self.text)
    }

    /// `"public".`, where tables of the user's database are emptied by their qualified names.
    pub(super) fn prefix(&self) -> String {
        self.namespace.as_ref().map_or_else(String::new, |name| format!("{}.", self.quote(name)))
    }

    /// A table by a qualified name, whatever the session's database or search path is.
    pub(super) fn whole(&self, table: &str) -> String {
        match self.dialect {
            SqlDialect::Mysql => format!("{}.{table}", self.quoted()),
            SqlDialect::Postgres => format!("{}{table}", self.prefix()),
        }
    }
}

/// Refuses the server's own schemas. Tables created in a template are copied into each database
/// made from it.
pub fn refuse_system_schema(name: &str, dialect: SqlDialect) -> Result<(), ExternalError> {
    const MYSQL: [&str; 5] =
        ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
    const POSTGRES: [&str; 3] = ["information_schema", "template0", "template1"];
    let plain = name.to_lowercase();
    let is_system = match dialect {
        SqlDialect::Mysql => MYSQL.contains(&plain.as_str()),
        SqlDialect::Postgres => POSTGRES.contains(&plain.as_str()) || plain.starts_with("pg_"),
    };
    if is_system { Err(ExternalError::SystemSchema { schema: name.to_owned() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_tables_are_found_from_everywhere() {
        let mysql = SchemaName::new(SqlDialect::Mysql, "a`b", None);
        assert_eq!(
            (mysql.quoted(), mysql.whole("t"), mysql.prefix()),
            ("`a``b`".into(), "`a``b`.t".into(), String::new())
        );
        let mut postgres = SchemaName::new(SqlDialect::Postgres, "it's", None);
        assert_eq!((postgres.literal(), postgres.whole("t")), ("'it''s'".into(), "t".into()));
        postgres.namespace = Some("a\"b".to_owned());
        assert_eq!(postgres.whole("t"), "\"a\"\"b\".t");
    }
}
