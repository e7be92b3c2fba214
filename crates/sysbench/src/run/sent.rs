//! Statements by shape: the number sent of each, their outcomes, and how long they took.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use truetps_record::{SentShape, SentStatements, SqlDialect};

use super::shape_text::put_shape;
use super::statements::Counter;

/// Shapes that are distinguished in a run; statements of further ones are counted together.
const SHAPES_MAX: usize = 500;

/// Number of a shape in this run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShapeNumber(u32);

impl ShapeNumber {
    /// All shapes beyond [`SHAPES_MAX`].
    const LEFT_OUT: Self = Self(0);
}

type Numbers = HashMap<Arc<[u8]>, ShapeNumber>;

/// The shapes of all threads of a run.
#[derive(Debug, Default)]
pub(crate) struct KnownShapes(RwLock<Numbers>);

impl KnownShapes {
    fn number_of(&self, shape: &[u8]) -> Option<(Arc<[u8]>, ShapeNumber)> {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = read.get_key_value(shape).map(|(text, number)| (Arc::clone(text), *number));
        if found.is_some() || read.len() >= SHAPES_MAX {
            return found;
        }
        drop(read);
        let mut numbers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = ShapeNumber(numbers.len() as u32 + 1);
        if let Some((text, number)) = numbers.get_key_value(shape) {
            return Some((Arc::clone(text), *number));
        }
        if numbers.len() >= SHAPES_MAX {
            return None;
        }
        let text: Arc<[u8]> = shape.into();
        numbers.insert(Arc::clone(&text), next);
        Some((text, next))
    }
}

/// Finds the shapes of statements for one thread.
#[derive(Debug, Default)]
pub(crate) struct ShapeFinder {
    shape: Vec<u8>,
    /// Shapes that this thread has seen: looked up without other threads.
    seen: Numbers,
}

impl ShapeFinder {
    pub(crate) fn find(
        &mut self,
        sql: &[u8],
        dialect: SqlDialect,
        known: &KnownShapes,
    ) -> ShapeNumber {
        put_shape(sql, dialect, &mut self.shape);
        if let Some(number) = self.seen.get(&self.shape[..]) {
            return *number;
        }
        let Some((text, number)) = known.number_of(&self.shape) else {
            return ShapeNumber::LEFT_OUT;
        };
        self.seen.insert(text, number);
        number
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct ShapeCount {
    reads: u64,
    writes: u64,
    other: u64,
    errors: u64,
    time_ns: u64,
    max_ns: u64,
}

/// Statements by the numbers of their shapes.
#[derive(Debug, Default)]
pub(crate) struct SentCounts(Vec<ShapeCount>);

impl SentCounts {
    pub(crate) fn record(&mut self, shape: ShapeNumber, outcome: Counter, length_ns: u64) {
        let count = self.count_mut(shape.0 as usize);
        match outcome {
            Counter::Read => count.reads += 1,
            Counter::Write => count.writes += 1,
            Counter::Error => count.errors += 1,
            _ => count.other += 1,
        }
        count.time_ns += length_ns;
        count.max_ns = count.max_ns.max(length_ns);
    }

    fn count_mut(&mut self, number: usize) -> &mut ShapeCount {
        if self.0.len() <= number {
            self.0.resize(number + 1, ShapeCount::default());
        }
        &mut self.0[number]
    }

    /// Moves the contents of `other` here.
    pub(crate) fn drain_from(&mut self, other: &mut Self) {
        for (number, theirs) in other.0.drain(..).enumerate() {
            let ours = self.count_mut(number);
            ours.reads += theirs.reads;
            ours.writes += theirs.writes;
            ours.other += theirs.other;
            ours.errors += theirs.errors;
            ours.time_ns += theirs.time_ns;
            ours.max_ns = ours.max_ns.max(theirs.max_ns);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The counts with the texts of their shapes, most frequent first.
    pub(crate) fn record_of(&self, known: &KnownShapes) -> SentStatements {
        let numbers = known.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut shapes: Vec<SentShape> = numbers
            .iter()
            .filter_map(|(text, number)| Some(self.counted(*number)?.shape(text)))
            .collect();
        shapes.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.sql.cmp(&other.sql))
        });
        let left_out = self.counted(ShapeNumber::LEFT_OUT).map(|count| count.shape(b""));
        SentStatements { shapes, left_out }
    }

    /// `None`: no statement had this shape.
    fn counted(&self, number: ShapeNumber) -> Option<&ShapeCount> {
        self.0.get(number.0 as usize).filter(|count| count.total() > 0)
    }
}

impl ShapeCount {
    fn total(&self) -> u64 {
        self.reads + self.writes + self.other + self.errors
    }

    fn shape(&self, text: &[u8]) -> SentShape {
        SentShape {
            sql: String::from_utf8_lossy(text).into_owned(),
            count: self.total(),
            reads: self.reads,
            writes: self.writes,
            other: self.other,
            errors: self.errors,
            time_ms: self.time_ns as f64 / 1e6,
            time_ms_max: self.max_ns as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_one_shape_are_counted_together() {
        let (known, mut finder, mut other_thread) =
            (KnownShapes::default(), ShapeFinder::default(), ShapeFinder::default());
        let mut counts = SentCounts::default();
        for (sql, outcome) in [("SELECT 1", Counter::Read), ("UPDATE t SET a=1", Counter::Write)] {
            counts.record(
                finder.find(sql.as_bytes(), SqlDialect::Mysql, &known),
                outcome,
                1_000_000,
            );
        }
        let mut more = SentCounts::default();
        let number = other_thread.find(b"UPDATE t SET a=22", SqlDialect::Mysql, &known);
        more.record(number, Counter::Error, 3_000_000);
        counts.drain_from(&mut more);
        counts.drain_from(&mut more);
        let sent = counts.record_of(&known);
        let [update, select] = &sent.shapes[..] else { panic!("{sent:?}") };
        assert_eq!(
            (update.sql.as_str(), update.count, update.writes, update.errors),
            ("UPDATE t SET a=?", 2, 1, 1)
        );
        assert_eq!((update.time_ms, update.time_ms_max), (4.0, 3.0));
        assert_eq!((select.sql.as_str(), select.reads, sent.left_out), ("SELECT ?", 1, None));
        counts.clear();
        assert!(counts.record_of(&known).shapes.is_empty());
    }

    #[test]
    fn a_hundred_thousand_shapes_take_the_room_of_some() {
        let (known, mut finder, mut counts) =
            (KnownShapes::default(), ShapeFinder::default(), SentCounts::default());
        for n in 0..100_000 {
            let sql = format!("SELECT c{n}_ FROM t");
            counts.record(finder.find(sql.as_bytes(), SqlDialect::Mysql, &known), Counter::Read, 1);
        }
        let sent = counts.record_of(&known);
        assert_eq!(sent.shapes.len(), SHAPES_MAX);
        assert_eq!(sent.left_out.unwrap().count, 100_000 - SHAPES_MAX as u64);
        assert_eq!(finder.seen.len(), SHAPES_MAX);
    }
}
