//! The name of a schema in statements, and the names of its tables.

use truetps_record::SqlDialect;

use super::super::error::ForeignError;
use crate::setting::quoted;

#[derive(Debug, Clone)]
pub(super) struct SchemaName {
    dialect: SqlDialect,
    name: String,
    /// The PostgreSQL schema for tables in the user's database.
    namespace: Option<String>,
}

impl SchemaName {
    pub(super) fn new(dialect: SqlDialect, name: &str, namespace: Option<String>) -> Self {
        Self { dialect, name: name.to_owned(), namespace }
    }

    pub(super) fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    pub(super) fn text(&self) -> &str {
        &self.name
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    pub(super) fn set_namespace(&mut self, namespace: String) {
        self.namespace = Some(namespace);
    }

    /// As an identifier.
    pub(super) fn quoted(&self) -> String {
        self.quote(&self.name)
    }

    pub(super) fn quote(&self, name: &str) -> String {
        match self.dialect {
            SqlDialect::Mysql => format!("`{}`", name.replace('`', "``")),
            SqlDialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// As a string literal.
    pub(super) fn literal(&self) -> String {
        match self.dialect {
            SqlDialect::Mysql => quoted(&self.name),
            SqlDialect::Postgres => format!("'{}'", self.name.replace('\'', "''")),
        }
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

/// Refuses the server's own schemas. Tables created in a template are copied into each database made from it.
pub fn refuse_system_schema(name: &str, dialect: SqlDialect) -> Result<(), ForeignError> {
    const MYSQL: [&str; 5] = ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
    const POSTGRES: [&str; 3] = ["information_schema", "template0", "template1"];
    let plain = name.to_lowercase();
    let is_system = match dialect {
        SqlDialect::Mysql => MYSQL.contains(&plain.as_str()),
        SqlDialect::Postgres => POSTGRES.contains(&plain.as_str()) || plain.starts_with("pg_"),
    };
    if is_system { Err(ForeignError::SystemSchema { schema: name.to_owned() }) } else { Ok(()) }
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
        postgres.set_namespace("a\"b".to_owned());
        assert_eq!(postgres.whole("t"), "\"a\"\"b\".t");
    }
}
