//! A table's definition as one number: it differs after ALTER TABLE, and after a trigger, a rule or
//! a policy was made.

use truetps_record::{SqlDialect, fnv1a};

use crate::table::quoted_name;

/// A literal for the catalogue's queries. Names come from the user's own configuration.
pub(super) fn text_literal(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
}

/// The statements whose values are the definition of the table with this name in the session's
/// schema. Of the MySQL family, the first shows how it was made, and the last whether its triggers
/// are seen.
pub(super) fn definition_sql(dialect: SqlDialect, table: &str) -> Vec<String> {
    let name = quoted_name(dialect, table);
    match dialect {
        SqlDialect::Mysql => vec![
            format!("SHOW CREATE TABLE {name}"),
            format!(
                "SELECT TRIGGER_NAME, ACTION_TIMING, EVENT_MANIPULATION, ACTION_STATEMENT FROM \
                 information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND \
                 EVENT_OBJECT_TABLE = {} ORDER BY TRIGGER_NAME",
                text_literal(table)
            ),
            trigger_grants_sql(&text_literal(table)),
        ],
        SqlDialect::Postgres => {
            let oid = format!("{}::regclass::oid", text_literal(&name));
            let tree = partition_tree_sql(&oid);
            vec![
                format!(
                    "SELECT attnum, attname, atttypid, atttypmod, attnotnull, attgenerated, \
                     attidentity, pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT \
                     JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = \
                     {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
                ),
                format!(
                    "SELECT pg_catalog.pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid \
                     = {oid} ORDER BY oid"
                ),
                format!(
                    "SELECT pg_catalog.pg_get_indexdef(indexrelid), indimmediate FROM pg_index \
                     WHERE indrelid = {oid} ORDER BY indexrelid"
                ),
                format!(
                    "SELECT pg_catalog.pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT \
                     tgisinternal AND tgrelid IN ({tree}) ORDER BY oid"
                ),
                format!(
                    "SELECT oid, relkind, relpersistence, relrowsecurity, relforcerowsecurity, \
                     relhasrules FROM pg_class WHERE oid IN ({tree}) ORDER BY oid"
                ),
                format!(
                    "SELECT attrelid, attname, attgenerated FROM pg_attribute WHERE attrelid IN \
                     ({tree}) AND attgenerated <> '' ORDER BY attrelid, attnum"
                ),
            ]
        }
    }
}

/// A query whose value is above 0 if this account sees the triggers of a table: otherwise the list
/// of its triggers is empty.
///
/// If the patterns of several grants fit a schema, MySQL takes only the most exact one. So one with
/// TRIGGER counts only if no other pattern fits, whatever the case of its letters.
fn trigger_grants_sql(literal: &str) -> String {
    let grantee = "GRANTEE = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - \
                   CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1), '''@''', \
                   SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";
    let is_trigger = "PRIVILEGE_TYPE = 'TRIGGER'";
    format!(
        "SELECT (SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE {grantee} AND \
         {is_trigger}) + (SELECT COUNT(DISTINCT BINARY TABLE_SCHEMA) = 1 AND \
         COALESCE(SUM({is_trigger} AND BINARY DATABASE() LIKE BINARY TABLE_SCHEMA), 0) > 0 FROM \
         information_schema.SCHEMA_PRIVILEGES WHERE {grantee} AND DATABASE() LIKE TABLE_SCHEMA) + \
         (SELECT COUNT(*) FROM information_schema.TABLE_PRIVILEGES WHERE {grantee} AND \
         {is_trigger} AND BINARY TABLE_SCHEMA = DATABASE() AND BINARY TABLE_NAME = {literal})"
    )
}

/// A query for a table and its partitions. `pg_partition_tree()` would wait for the locks of all of
/// them.
pub(super) fn partition_tree_sql(oid: &str) -> String {
    format!(
        "WITH RECURSIVE tree (id) AS (SELECT {oid} UNION ALL SELECT inhrelid FROM pg_inherits JOIN \
         tree ON inhparent = tree.id JOIN pg_class AS child ON child.oid = inhrelid WHERE \
         child.relispartition) SELECT id FROM tree"
    )
}

/// What the statements of [`definition_sql`] answered: for each its rows.
pub(super) struct TableDefinition {
    pub(super) answers: Vec<Vec<Vec<Option<String>>>>,
}

impl TableDefinition {
    pub(super) fn version(&self) -> u64 {
        definition_version(self.answers.iter().flatten().flatten().map(Option::as_deref))
    }

    /// Whether a temporary table of the session hides the table (MySQL family).
    pub(super) fn is_temporary(&self) -> bool {
        let created =
            self.answers.first().into_iter().flatten().filter_map(|row| row.get(1)?.as_deref());
        created.into_iter().any(|created| created.starts_with("CREATE TEMPORARY"))
    }

    /// Whether [`trigger_grants_sql`] has found one (MySQL family).
    pub(super) fn has_trigger_grant(&self) -> bool {
        let granted =
            self.answers.last().into_iter().flatten().filter_map(|row| row.first()?.as_deref());
        granted.into_iter().any(|count| count != "0")
    }
}

/// A number for the definition, from the values of its statements.
pub(super) fn definition_version<'a>(values: impl Iterator<Item = Option<&'a str>>) -> u64 {
    let mut text = String::new();
    for value in values {
        text.push_str(
            &value.map_or_else(|| "-".to_owned(), |value| format!("+{}", without_counter(value))),
        );
        text.push('\0');
    }
    fnv1a(text.as_bytes())
}

/// Without the next value of AUTO_INCREMENT, which each row changes.
fn without_counter(definition: &str) -> String {
    const COUNTER: &str = " AUTO_INCREMENT=";
    match definition.rsplit_once(COUNTER) {
        None => definition.to_owned(),
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_no_part_of_a_definition() {
        let version = |counter: &str| {
            let definition = format!("CREATE TABLE t (\n  a int\n) ENGINE=InnoDB{counter} X");
            definition_version([Some("t"), Some(&definition)].into_iter())
        };
        assert_eq!(version(" AUTO_INCREMENT=7"), version(" AUTO_INCREMENT=123"));
        assert_eq!(version(" AUTO_INCREMENT=7"), version(""));
        assert_ne!(version(" X"), version(""));
    }

    #[test]
    fn values_are_not_joined() {
        let version = |values: &[Option<&str>]| definition_version(values.iter().copied());
        assert_ne!(version(&[Some("ab"), Some("c")]), version(&[Some("a"), Some("bc")]));
        assert_ne!(version(&[None]), version(&[Some("")]));
    }
}
