//! Tables, views and other relations in a schema: their kinds, and how they are dropped.

use std::collections::BTreeMap;

/// Kinds with their own DROP statement, in the order of dropping: views depend on tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RelationKind {
    MaterializedView,
    View,
    ForeignTable,
    Table,
    /// Tables of MariaDB take default values from them.
    Sequence,
}

impl RelationKind {
    const ALL: [Self; 5] =
        [Self::MaterializedView, Self::View, Self::ForeignTable, Self::Table, Self::Sequence];

    /// From `table_type` of the MySQL family, or `relkind` of PostgreSQL.
    fn of(name: &str) -> Self {
        match name {
            "m" => Self::MaterializedView,
            "v" | "VIEW" => Self::View,
            "f" => Self::ForeignTable,
            "SEQUENCE" => Self::Sequence,
            _ => Self::Table,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::View => "VIEW",
            Self::ForeignTable => "FOREIGN TABLE",
            Self::Table => "TABLE",
            Self::Sequence => "SEQUENCE",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    pub(crate) kind: RelationKind,
    pub(crate) comment: String,
}

/// Relations by name, from rows with name, comment and kind.
pub(crate) fn of_rows(rows: Vec<Vec<Option<String>>>) -> BTreeMap<String, Relation> {
    let relations = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, comment) = (cells.next()??, cells.next().flatten().unwrap_or_default());
        let kind = RelationKind::of(&cells.next().flatten().unwrap_or_default());
        Some((name, Relation { kind, comment }))
    });
    relations.collect()
}

/// One statement for each kind present. Names are quoted for the server.
pub(crate) fn drop_sql(relations: &[(RelationKind, String)]) -> Vec<String> {
    let statements = RelationKind::ALL.into_iter().filter_map(|kind| {
        let names: Vec<_> =
            relations.iter().filter(|(of, _)| *of == kind).map(|(_, name)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("DROP {} IF EXISTS {}", kind.words(), names.join(", ")))
    });
    statements.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_dropped_by_its_own_words() {
        let rows = [
            ("t", "BASE TABLE"),
            ("v", "VIEW"),
            ("s", "SEQUENCE"),
            ("h", "SYSTEM VERSIONED"),
            ("m", "m"),
        ];
        let rows =
            rows.map(|(name, kind)| vec![Some(name.to_owned()), None, Some(kind.to_owned())]);
        let found =
            of_rows(rows.to_vec()).into_iter().map(|(name, relation)| (relation.kind, name));
        assert_eq!(
            drop_sql(&found.collect::<Vec<_>>()),
            [
                "DROP MATERIALIZED VIEW IF EXISTS m",
                "DROP VIEW IF EXISTS v",
                "DROP TABLE IF EXISTS h, t",
                "DROP SEQUENCE IF EXISTS s"
            ]
        );
    }
}
