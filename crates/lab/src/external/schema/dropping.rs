//! The statements that drop the schema, or tables in it.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;

use super::super::mark::TABLE;
use super::super::relations::{self, RelationKind};
use super::name::SchemaName;

pub(super) fn drop_schema_sql(schema: &SchemaName) -> String {
    // Sessions of the load may still be ending.
    let force = if schema.dialect == SqlDialect::Postgres { " WITH (FORCE)" } else { "" };
    format!("DROP DATABASE {}{force}", schema.quoted())
}

pub(super) fn drop_schema(schema: &SchemaName, client: &mut Client) -> Result<(), DriverError> {
    let dropped = match client.execute(&drop_schema_sql(schema)) {
        // PostgreSQL before 13 does not know the option.
        Err(DriverError::Server(_)) if schema.dialect == SqlDialect::Postgres => {
            client.execute(&format!("DROP DATABASE {}", schema.quoted()))
        }
        other => other,
    };
    dropped.map(drop)
}

/// The mark is dropped last: without it nothing would prove that the rest belongs to the run.
pub(super) fn drop_relations_sql(
    schema: &SchemaName,
    relations: &[(RelationKind, String)],
) -> Vec<String> {
    let others = relations
        .iter()
        .filter(|(_, name)| *name != TABLE)
        .map(|(kind, name)| (*kind, schema.whole(name)));
    let others = relations::drop_sql(&others.collect::<Vec<_>>());
    let checks = (schema.dialect == SqlDialect::Mysql)
        .then(|| "SET SESSION foreign_key_checks = 0".to_owned());
    let mark = relations
        .iter()
        .any(|(_, name)| name == TABLE)
        .then(|| format!("DROP TABLE {}", schema.whole(TABLE)));
    checks.into_iter().chain(others).chain(mark).collect()
}

pub(super) fn drop_relations(
    schema: &SchemaName,
    inside: &mut Client,
    relations: &[(RelationKind, String)],
) -> Result<(), DriverError> {
    drop_relations_sql(schema, relations).iter().try_for_each(|sql| inside.execute(sql).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_dropped_last() {
        let schema = SchemaName::new(SqlDialect::Mysql, "s", None);
        let relations =
            [(RelationKind::Table, TABLE.to_owned()), (RelationKind::Table, "`t`".to_owned())];
        assert_eq!(
            drop_relations_sql(&schema, &relations),
            [
                "SET SESSION foreign_key_checks = 0",
                "DROP TABLE IF EXISTS `s`.`t`",
                "DROP TABLE `s`.truetps_owner"
            ]
        );
    }
}
