//! A random table: its key, its columns, and what changes rows on their way.

use truetps_random::RandomStream;
use truetps_record::Flavour;

use super::kinds::{DOMAIN, INTEGER, KINDS, Kind, PARENT};

const COLUMNS_MAX: u64 = 7;
/// Partitions by range end here: there is none for a larger number in the first column.
const RANGE_END: i64 = 9_000;

/// How rows are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Partitions {
    None,
    Hash,
    /// By a whole number, the first column.
    Range,
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct RandomColumn {
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) struct RandomTable {
    pub(super) flavour: Flavour,
    pub(super) name: String,
    /// The first ones are the key.
    pub(super) columns: Vec<RandomColumn>,
    pub(super) key_parts: usize,
    /// A trigger changes the last column of rows whose first column after the key is its trap.
    pub(super) has_trigger: bool,
    partitions: Partitions,
    /// The last column refers to another table.
    has_parent: bool,
}

impl RandomTable {
    pub(super) fn new(flavour: Flavour, name: &str, random: &mut RandomStream) -> Self {
        let kinds: Vec<Kind> = KINDS
            .iter()
            .chain([&DOMAIN])
            .filter(|kind| (kind.sql)(flavour).is_some())
            .copied()
            .collect();
        let keys: Vec<Kind> = kinds.iter().filter(|kind| (kind.is_key)(flavour)).copied().collect();
        let mut one_of = |kinds: &[Kind]| kinds[random.below(kinds.len() as u64) as usize];
        let first = one_of(&keys);
        let others = [one_of(&keys), one_of(&keys)];
        let rest: Vec<_> = (0..COLUMNS_MAX).map(|_| one_of(&kinds)).collect();
        let key_parts = 1 + random.below(3) as usize;
        let count = 1 + random.below(COLUMNS_MAX) as usize;
        let kinds =
            [first].into_iter().chain(others).take(key_parts).chain(rest.into_iter().take(count));
        let mut kinds: Vec<_> = kinds.collect();
        let partitions = match random.below(10) {
            0 | 1 => Partitions::Hash,
            2 => Partitions::Range,
            _ => Partitions::None,
        };
        if partitions == Partitions::Range {
            kinds[0] = INTEGER;
        }
        let has_trigger = random.below(5) == 0;
        // Partitions of the MySQL family have no foreign keys, and a trigger sets the last column
        // to NULL.
        let has_parent = random.below(4) == 0
            && (flavour == Flavour::Postgresql || partitions == Partitions::None)
            && !has_trigger;
        kinds.extend(has_parent.then_some(PARENT));
        let columns = kinds
            .into_iter()
            .enumerate()
            .map(|(n, kind)| RandomColumn { name: format!("c{n}"), kind });
        let columns = columns.collect();
        Self {
            flavour,
            name: name.to_owned(),
            columns,
            key_parts,
            has_trigger,
            partitions,
            has_parent,
        }
    }

    /// Whether the first column, as it is stored, has no partition.
    pub(super) fn has_no_partition(&self, first: &str) -> bool {
        self.partitions == Partitions::Range
            && first.parse::<i64>().expect("a whole number") >= RANGE_END
    }

    fn is_postgres(&self) -> bool {
        self.flavour == Flavour::Postgresql
    }

    pub(super) fn key(&self) -> Vec<String> {
        self.columns[..self.key_parts].iter().map(|column| column.name.clone()).collect()
    }

    /// The statements that make it.
    pub(super) fn create(&self) -> Vec<String> {
        let mut parts: Vec<_> =
            self.columns.iter().enumerate().map(|(n, column)| self.declare(n, column)).collect();
        parts.push(format!("PRIMARY KEY ({})", self.key().join(", ")));
        if self.has_parent {
            let last = self.columns.len() - 1;
            parts.push(format!("FOREIGN KEY (c{last}) REFERENCES parents (id)"));
        }
        let partitions = match (self.partitions, self.is_postgres()) {
            (Partitions::None, _) => String::new(),
            (Partitions::Hash, true) => " PARTITION BY HASH (c0)".to_owned(),
            (Partitions::Hash, false) => " PARTITION BY KEY (c0) PARTITIONS 3".to_owned(),
            (Partitions::Range, true) => " PARTITION BY RANGE (c0)".to_owned(),
            (Partitions::Range, false) => format!(
                " PARTITION BY RANGE (c0) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES \
                 LESS THAN ({RANGE_END}))"
            ),
        };
        let name = &self.name;
        let engine = if self.is_postgres() { "" } else { " ENGINE=InnoDB" };
        let mut all =
            vec![format!("CREATE TABLE {name} ({}){engine}{partitions}", parts.join(", "))];
        if self.is_postgres() {
            let of = match self.partitions {
                Partitions::None => vec![],
                Partitions::Hash => {
                    (0..2).map(|n| format!("WITH (MODULUS 2, REMAINDER {n})")).collect()
                }
                Partitions::Range => {
                    vec!["FROM (MINVALUE) TO (0)".to_owned(), format!("FROM (0) TO ({RANGE_END})")]
                }
            };
            let part = |(n, values)| {
                format!("CREATE TABLE {name}_{n} PARTITION OF {name} FOR VALUES {values}")
            };
            all.extend(of.into_iter().enumerate().map(part));
        }
        if self.has_trigger {
            all.extend(self.trigger());
        }
        all
    }

    fn declare(&self, n: usize, column: &RandomColumn) -> String {
        let sql = (column.kind.sql)(self.flavour).expect("a kind of this server");
        let is_key = n < self.key_parts;
        let null = if is_key { " NOT NULL" } else { "" };
        format!("{} {sql}{null}", column.name)
    }

    /// Every third row, by a counter that is a column of its own, has another last column, if it
    /// was sent.
    fn trigger(&self) -> Vec<String> {
        let (name, last) = (&self.name, &self.columns.last().expect("a column").name);
        if self.is_postgres() {
            return vec![
                format!(
                    "CREATE FUNCTION change_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     IF random() < 0.3 THEN NEW.{last} := NULL; END IF; RETURN NEW; END $$"
                ),
                format!(
                    "CREATE TRIGGER change BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION \
                     change_{name}()"
                ),
            ];
        }
        vec![format!(
            "CREATE TRIGGER change_{name} BEFORE INSERT ON {name} FOR EACH ROW \
             BEGIN IF RAND() < 0.3 THEN SET NEW.{last} = NULL; END IF; END"
        )]
    }

    /// All rows: for each column what the server shows.
    pub(super) fn select(&self) -> String {
        let shown = self
            .columns
            .iter()
            .map(|column| (column.kind.shown)(self.flavour).replace("{}", &column.name));
        format!("SELECT {} FROM {}", shown.collect::<Vec<_>>().join(", "), self.name)
    }

    /// A change while rows come; each leaves what is stored as it is.
    pub(super) fn alter(&self, random: &mut RandomStream) -> String {
        let name = &self.name;
        match random.below(3) {
            0 => format!("ALTER TABLE {name} ADD COLUMN extra INT NULL"),
            1 => format!("ALTER TABLE {name} ADD COLUMN extra_text VARCHAR(20) DEFAULT 'x'"),
            _ => format!("CREATE INDEX i_{name} ON {name} (c0)"),
        }
    }

    pub(super) fn drop_sql(&self) -> String {
        format!("DROP TABLE {}", self.name)
    }
}
