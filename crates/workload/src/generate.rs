//! Running generators: the values of one row or one statement of a `custom` workload, without
//! allocating.

use std::io::Write as _;

use truetps_driver::{Params, Value};
use truetps_plan::{Alphabet, Generator, GeneratorKind, Scalar, UuidForm, UuidVersion};
use truetps_random::{RandomStream, UnitSource};
use truetps_record::{put_date, put_time};

use crate::keys::Keys;

/// Position of a row or a transaction among all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowPosition {
    /// A unique number: see [`Self::of_transaction`].
    position: u64,
    /// Milliseconds since the start of all time-ordered values.
    age_ms: i64,
}

/// Loaded rows have positions below this, transactions have it and above.
const FIRST_TRANSACTION: u64 = 1 << 30;
/// A plan has fewer connections than two to this power.
const CLIENT_BITS: u32 = 17;

impl RowPosition {
    pub(crate) fn of_row(row: u64) -> Self {
        Self { position: row, age_ms: row as i64 - FIRST_TRANSACTION as i64 }
    }

    /// Clients take turns: the first transactions of all clients have the lowest positions,
    /// followed by all second ones. The number of clients need not be known, and while they run at
    /// the same pace, positions rise in time.
    pub(crate) fn of_transaction(client: u32, number: u64) -> Self {
        Self {
            position: FIRST_TRANSACTION + (number << CLIENT_BITS | u64::from(client)),
            age_ms: number as i64,
        }
    }
}

/// The value of a `sequence` with `start` and `step` at a position.
fn sequence(start: i64, step: i64, place: RowPosition) -> i64 {
    start.wrapping_add((place.position as i64).wrapping_mul(step))
}

/// Generators of one row or statement.
#[derive(Debug, Default)]
pub(crate) struct Generators {
    list: Vec<One>,
    /// The columns that they fill, if they fill a table.
    columns: Vec<String>,
}

#[derive(Debug)]
struct One {
    kind: ValueGenerator,
    null_share: f64,
    /// Where the value is kept for `same`.
    keep: Option<usize>,
}

#[derive(Debug)]
enum ValueGenerator {
    Sequence {
        start: i64,
        step: i64,
    },
    Int {
        min: i64,
        keys: Keys,
    },
    Double {
        min: f64,
        span: f64,
    },
    /// `whole` splits a number into the parts before and after the point.
    Decimal {
        below: u64,
        whole: u64,
        scale: usize,
    },
    Text {
        lengths: Lengths,
        alphabet: Alphabet,
    },
    Bytes(Lengths),
    Uuid {
        version: UuidVersion,
        form: UuidForm,
    },
    Day(NumberSpan),
    Second(NumberSpan),
    Choice {
        values: Vec<Scalar>,
        upto: Vec<f64>,
    },
    Constant(Scalar),
    Same(usize),
}

#[derive(Debug, Clone, Copy)]
struct Lengths {
    min: u32,
    max: u32,
}

/// `count` numbers from `first` on.
#[derive(Debug, Clone, Copy)]
struct NumberSpan {
    first: i64,
    count: u64,
}

/// A value that `same` uses again.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedValue {
    value: Value,
    text: Vec<u8>,
}

impl Generators {
    /// `names` holds the names given so far in the same transaction or row; each is the index of a
    /// kept value. The plan was checked: every `same` finds its name.
    pub(crate) fn new<'a>(
        generators: impl Iterator<Item = &'a Generator>,
        names: &mut Vec<String>,
    ) -> Self {
        let list = generators.map(|generator| One::new(generator, names)).collect();
        Self { list, columns: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with_columns<'a>(mut self, columns: impl Iterator<Item = &'a String>) -> Self {
        self.columns = columns.cloned().collect();
        self
    }

    pub(crate) fn columns(&self) -> String {
        self.columns.join(", ")
    }

    /// Bytes of an average row.
    pub(crate) fn bytes_mean(&self) -> u64 {
        self.list.iter().map(|one| one.kind.bytes_mean()).sum()
    }

    /// Appends a value of each.
    pub(crate) fn put(
        &self,
        place: RowPosition,
        stream: &mut RandomStream,
        params: &mut Params,
        kept: &mut Vec<RepeatedValue>,
    ) {
        for one in &self.list {
            one.put(place, stream, params, kept);
        }
    }
}

impl One {
    fn new(generator: &Generator, names: &mut Vec<String>) -> Self {
        let kind = ValueGenerator::new(&generator.kind, names);
        let keep = generator.name.as_ref().map(|name| {
            names.push(name.clone());
            names.len() - 1
        });
        Self { kind, null_share: generator.null_share, keep }
    }

    fn put(
        &self,
        place: RowPosition,
        stream: &mut RandomStream,
        params: &mut Params,
        kept: &mut Vec<RepeatedValue>,
    ) {
        if self.null_share > 0.0 && stream.unit() < self.null_share {
            params.push_null();
        } else {
            self.kind.put(place, stream, params, kept);
        }
        let Some(slot) = self.keep else { return };
        if kept.len() <= slot {
            kept.resize_with(slot + 1, || RepeatedValue { value: Value::Null, text: Vec::new() });
        }
        let value = *params.values().last().expect("one was appended just now");
        kept[slot].value = value;
        if let Value::Text { start, end } | Value::Bytes { start, end } = value {
            kept[slot].text.clear();
            kept[slot].text.extend_from_slice(params.text(start, end));
        }
    }
}

impl ValueGenerator {
    fn new(kind: &GeneratorKind, names: &[String]) -> Self {
        match kind {
            GeneratorKind::Sequence { start, step } => {
                Self::Sequence { start: *start, step: *step }
            }
            GeneratorKind::Int { min, max, distribution } => {
                Self::Int { min: *min, keys: Keys::new(*distribution, (max - min) as u64 + 1) }
            }
            GeneratorKind::Double { min, max } => Self::Double { min: *min, span: max - min },
            GeneratorKind::Decimal { precision, scale } => Self::Decimal {
                below: 10_u64.pow(*precision),
                whole: 10_u64.pow(*scale),
                scale: *scale as usize,
            },
            GeneratorKind::Text { min_length: min, max_length: max, alphabet } => {
                Self::Text { lengths: Lengths { min: *min, max: *max }, alphabet: *alphabet }
            }
            GeneratorKind::Bytes { min_length: min, max_length: max } => {
                Self::Bytes(Lengths { min: *min, max: *max })
            }
            GeneratorKind::Uuid { version, form } => Self::Uuid { version: *version, form: *form },
            GeneratorKind::Date(range) => Self::Day(NumberSpan::of(
                range.min_s.div_euclid(DAY_S),
                range.max_s.div_euclid(DAY_S),
            )),
            GeneratorKind::Datetime(range) | GeneratorKind::Timestamp(range) => {
                Self::Second(NumberSpan::of(range.min_s, range.max_s))
            }
            GeneratorKind::Choice { values, weights } => {
                let upto = weights.iter().scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                });
                Self::Choice { values: values.clone(), upto: upto.collect() }
            }
            GeneratorKind::Constant(value) => Self::Constant(value.clone()),
            GeneratorKind::Same(name) => Self::Same(
                names
                    .iter()
                    .position(|other| other == name)
                    .expect("a checked plan names it before"),
            ),
        }
    }

    fn put(
        &self,
        place: RowPosition,
        stream: &mut RandomStream,
        params: &mut Params,
        kept: &[RepeatedValue],
    ) {
        match self {
            Self::Sequence { start, step } => params.push_int(sequence(*start, *step, place)),
            Self::Int { min, keys } => params.push_int(min + (keys.draw(stream) - 1) as i64),
            Self::Double { min, span } => params.push_double(min + stream.unit() * span),
            Self::Decimal { below, whole, scale } => {
                let number = stream.below(*below);
                params
                    .push_text(|out| put_fixed_point(number / whole, number % whole, *scale, out));
            }
            Self::Text { lengths, alphabet } => {
                let length = lengths.draw(stream);
                params.push_text(|out| put_letters(*alphabet, length, stream, out));
            }
            Self::Bytes(lengths) => {
                let length = lengths.draw(stream);
                params.push_bytes(|out| put_bytes(length, stream, out));
            }
            Self::Uuid { version, form } => {
                let uuid = uuid(*version, place, stream);
                match form {
                    UuidForm::Bytes => {
                        params.push_bytes(|out| out.extend_from_slice(&uuid.to_be_bytes()));
                    }
                    UuidForm::Text => params.push_text(|out| put_uuid_text(uuid, out)),
                }
            }
            Self::Day(span) => params.push_text(|out| put_date(span.draw(stream) * DAY_S, out)),
            Self::Second(span) => params.push_text(|out| put_time(span.draw(stream), out)),
            Self::Choice { values, upto } => {
                let at = stream.unit() * upto.last().copied().unwrap_or_default();
                let chosen = upto.partition_point(|sum| *sum <= at).min(values.len() - 1);
                push_scalar(&values[chosen], params);
            }
            Self::Constant(value) => push_scalar(value, params),
            Self::Same(slot) => match &kept[*slot] {
                RepeatedValue { value: Value::Null, .. } => params.push_null(),
                RepeatedValue { value: Value::Int(number), .. } => params.push_int(*number),
                RepeatedValue { value: Value::Double(number), .. } => params.push_double(*number),
                RepeatedValue { value: Value::Text { .. }, text } => {
                    params.push_text(|out| out.extend_from_slice(text));
                }
                RepeatedValue { value: Value::Bytes { .. }, text } => {
                    params.push_bytes(|out| out.extend_from_slice(text));
                }
            },
        }
    }

    fn bytes_mean(&self) -> u64 {
        match self {
            Self::Sequence { .. }
            | Self::Int { .. }
            | Self::Double { .. }
            | Self::Day(_)
            | Self::Second(_) => 8,
            Self::Decimal { below, .. } => u64::from(below.ilog10()).div_ceil(2) + 1,
            Self::Text { lengths, .. } | Self::Bytes(lengths) => {
                u64::from(lengths.min + lengths.max).div_ceil(2)
            }
            Self::Uuid { form: UuidForm::Text, .. } => 36,
            Self::Choice { values, .. } => {
                values.iter().map(scalar_bytes).max().unwrap_or_default()
            }
            Self::Constant(value) => scalar_bytes(value),
            Self::Uuid { form: UuidForm::Bytes, .. } | Self::Same(_) => 16,
        }
    }
}

const DAY_S: i64 = 86_400;

impl Lengths {
    fn draw(self, stream: &mut RandomStream) -> usize {
        if self.min == self.max {
            return self.min as usize;
        }
        (u64::from(self.min) + stream.below(u64::from(self.max - self.min) + 1)) as usize
    }
}

impl NumberSpan {
    fn of(first: i64, last: i64) -> Self {
        Self { first, count: (last - first) as u64 + 1 }
    }

    fn draw(self, stream: &mut RandomStream) -> i64 {
        self.first + stream.below(self.count) as i64
    }
}

fn push_scalar(value: &Scalar, params: &mut Params) {
    match value {
        Scalar::Int(number) => params.push_int(*number),
        Scalar::Float(number) => params.push_double(*number),
        Scalar::Text(text) => params.push_text(|out| out.extend_from_slice(text.as_bytes())),
    }
}

fn scalar_bytes(value: &Scalar) -> u64 {
    if let Scalar::Text(text) = value { text.len() as u64 } else { 8 }
}

fn put_letters(alphabet: Alphabet, length: usize, stream: &mut RandomStream, out: &mut Vec<u8>) {
    let letters: &[u8] = match alphabet {
        Alphabet::Letters => b"abcdefghijklmnopqrstuvwxyz",
        Alphabet::Digits => b"0123456789",
        Alphabet::Alphanumeric => b"abcdefghijklmnopqrstuvwxyz0123456789",
        Alphabet::DigitGroups => {
            let start = out.len();
            stream.put_digit_groups(length.div_ceil(12), out);
            // A group and its dash are 12 characters, and the last group has no dash.
            out.resize(start + length, b'-');
            return;
        }
    };
    // Sixteen random bits a letter: no letter is more than 0.06 % more frequent than another.
    let mut left = length;
    while left > 0 {
        let mut supply = stream.next_u64();
        for _ in 0..left.min(4) {
            out.push(letters[((supply & 0xffff) as usize * letters.len()) >> 16]);
            supply >>= 16;
        }
        left = left.saturating_sub(4);
    }
}

/// `12.05`, or `12` where there is no scale.
fn put_fixed_point(whole: u64, fraction: u64, scale: usize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ =
        if scale == 0 { write!(out, "{whole}") } else { write!(out, "{whole}.{fraction:0scale$}") };
}

fn put_bytes(length: usize, stream: &mut RandomStream, out: &mut Vec<u8>) {
    let end = out.len() + length;
    while out.len() < end {
        let left = (end - out.len()).min(8);
        out.extend_from_slice(&stream.next_u64().to_le_bytes()[..left]);
    }
}

/// 2024-01-01 as milliseconds since 1970: the fixed start of version 7.
const FIRST_MS: i64 = 1_704_067_200_000;

/// The layouts of RFC 9562: 48 bits of time or random bits, the version, 12 random bits, the
/// variant, 62 random bits.
fn uuid(version: UuidVersion, place: RowPosition, stream: &mut RandomStream) -> u128 {
    const FIRST_48: u128 = !0 << 80;
    const RANDOM: u128 = (0xfff << 64) | ((1 << 62) - 1);
    const VARIANT: u128 = 0b10 << 62;
    let random = (u128::from(stream.next_u64()) << 64) | u128::from(stream.next_u64());
    let (first, number) = match version {
        UuidVersion::V4 => (random & FIRST_48, 4),
        UuidVersion::V7 => (((FIRST_MS + place.age_ms) as u128) << 80, 7),
    };
    first | (number << 76) | VARIANT | (random & RANDOM)
}

/// `00000000-0000-0000-0000-000000000000`.
fn put_uuid_text(uuid: u128, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (n, byte) in uuid.to_be_bytes().iter().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use truetps_record::parse_time;

    use super::*;

    fn generators(text: &str) -> Generators {
        let table: BTreeMap<String, Vec<Generator>> =
            toml::from_str(&format!("list = [{text}]")).unwrap();
        Generators::new(table["list"].iter(), &mut Vec::new())
    }

    /// Values of many transactions of a client, as text.
    fn draw(text: &str, count: u64) -> Vec<Vec<String>> {
        let generators = generators(text);
        let (mut stream, mut params, mut kept) =
            (RandomStream::new(1, 1), Params::default(), Vec::new());
        let row = |number| {
            params.clear();
            generators.put(
                RowPosition::of_transaction(3, number),
                &mut stream,
                &mut params,
                &mut kept,
            );
            let text = |value: &Value| match *value {
                Value::Null => "NULL".to_owned(),
                Value::Int(number) => number.to_string(),
                Value::Double(number) => number.to_string(),
                Value::Text { start, end } => {
                    String::from_utf8(params.text(start, end).to_vec()).unwrap()
                }
                Value::Bytes { start, end } => format!("{:02x?}", params.text(start, end)),
            };
            params.values().iter().map(text).collect()
        };
        (0..count).map(row).collect()
    }

    fn draw_one(text: &str, count: u64) -> Vec<String> {
        draw(text, count).into_iter().map(|mut row| row.remove(0)).collect()
    }

    #[test]
    fn a_sequence_never_repeats_in_any_client() {
        let mut seen = BTreeSet::new();
        let two = [(10, 2), (11, 2)];
        for place in (0..1_000).map(RowPosition::of_row) {
            assert!(two.iter().all(|(start, step)| seen.insert(sequence(*start, *step, place))));
        }
        assert_eq!((seen.first(), seen.last()), (Some(&10), Some(&2_009)));
        for client in [0, 1, 2, 99_999] {
            for number in (0..1_000).chain([1 << 29]) {
                let place = RowPosition::of_transaction(client, number);
                assert!(
                    two.iter().all(|(start, step)| seen.insert(sequence(*start, *step, place)))
                );
            }
        }
        assert!(*seen.first().unwrap() == 10, "nothing has wrapped around");
    }

    #[test]
    fn numbers_stay_in_their_range_and_have_its_ends() {
        let ints: BTreeSet<_> =
            draw_one("{ kind = 'int', min = -2, max = 2 }", 1_000).into_iter().collect();
        assert_eq!(ints.into_iter().collect::<Vec<_>>(), ["-1", "-2", "0", "1", "2"]);
        let whole = "{ kind = 'int', min = -9223372036854775806, max = 0 }";
        assert!(draw_one(whole, 1_000).iter().all(|text| text.starts_with('-')));
        let skewed = draw_one(
            "{ kind = 'int', min = 5, max = 500, distribution = 'zipfian:theta=2' }",
            1_000,
        );
        assert!(skewed.iter().filter(|text| *text == "5").count() > 500);
        let doubles = draw_one("{ kind = 'double', min = -1, max = 3 }", 1_000);
        let doubles: Vec<f64> = doubles.iter().map(|text| text.parse().unwrap()).collect();
        assert!(doubles.iter().all(|number| (-1.0..3.0).contains(number)));
        assert!((doubles.iter().sum::<f64>() / 1_000.0 - 1.0).abs() < 0.2);
    }

    #[test]
    fn decimals_have_their_digits() {
        let check = |text: &str, fine: fn(&str) -> bool| {
            let texts = draw_one(text, 2_000);
            assert!(texts.iter().all(|text| fine(text)), "{text}: {texts:?}");
            assert!(texts.iter().collect::<BTreeSet<_>>().len() > 9, "{text}");
        };
        check("{ kind = 'decimal', precision = 3, scale = 2 }", |text| {
            text.len() == 4 && &text[1..2] == "." && text.parse::<f64>().unwrap() < 10.0
        });
        check("{ kind = 'decimal', precision = 2, scale = 2 }", |text| {
            text.len() == 4 && text.starts_with("0.")
        });
        check("{ kind = 'decimal', precision = 18 }", |text| {
            !text.contains('.') && text.len() <= 18
        });
        check("{ kind = 'decimal', precision = 12, scale = 2 }", |text| {
            text.parse::<f64>().unwrap() < 1e10
        });
    }

    #[test]
    fn texts_have_their_lengths_and_letters() {
        let check = |text: &str, lengths: &[usize], fine: fn(char) -> bool| {
            let texts = draw_one(text, 2_000);
            let found: BTreeSet<_> = texts.iter().map(String::len).collect();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), lengths, "{text}");
            assert!(texts.iter().all(|text| text.chars().all(fine)), "{text}");
        };
        check("{ kind = 'text', length = 7 }", &[7], |c| c.is_ascii_lowercase());
        check("{ kind = 'text', max_length = 3, alphabet = 'digits' }", &[0, 1, 2, 3], |c| {
            c.is_ascii_digit()
        });
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        check(
            "{ kind = 'text', min_length = 8, max_length = 9, alphabet = 'alphanumeric' }",
            &[8, 9],
            fine,
        );
        let groups = |c: char| c == '-' || c.is_ascii_digit();
        for length in [1, 11, 12, 13, 23, 24, 119] {
            check(
                &format!("{{ kind = 'text', length = {length}, alphabet = 'digit_groups' }}"),
                &[length],
                groups,
            );
        }
        assert_eq!(generators("{ kind = 'bytes', length = 13 }").bytes_mean(), 13);
        assert_eq!(draw_one("{ kind = 'bytes', length = 13 }", 1)[0].matches(',').count(), 12);
    }

    #[test]
    fn uuids_have_their_version_and_variant() {
        for (version, texts) in [(4, "{ kind = 'uuid' }"), (7, "{ kind = 'uuid', version = 7 }")] {
            let uuids = draw_one(texts, 1_000);
            for uuid in &uuids {
                assert_eq!(uuid.len(), 36);
                assert_eq!(uuid.as_bytes()[14], b'0' + version, "{uuid}");
                assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
            }
            assert_eq!(uuids.iter().collect::<BTreeSet<_>>().len(), 1_000);
            assert_eq!(uuids.is_sorted(), version == 7, "only version 7 rises");
        }
        assert!(
            uuid(UuidVersion::V7, RowPosition::of_row(9), &mut RandomStream::new(1, 1))
                < 0x018d << 112,
            "loaded rows are older"
        );
    }

    #[test]
    fn times_are_times_of_their_range() {
        let days = draw_one("{ kind = 'date', min = '2024-02-28', max = '2024-03-01' }", 1_000);
        let days: BTreeSet<_> = days.into_iter().collect();
        assert_eq!(
            days.into_iter().collect::<Vec<_>>(),
            ["2024-02-28", "2024-02-29", "2024-03-01"]
        );
        let range = parse_time("2024-01-01").unwrap()..=parse_time("2024-01-02").unwrap();
        for text in draw_one("{ kind = 'datetime', min = '2024-01-01', max = '2024-01-02' }", 1_000)
        {
            assert!(text.len() == 19 && range.contains(&parse_time(&text).unwrap()), "{text}");
        }
    }

    #[test]
    fn choices_follow_their_weights_and_nulls_their_share() {
        let mut seen = BTreeMap::new();
        let text = "{ kind = 'choice', values = ['a', 2, 1.5, 'never'], weights = [1, 2, 5, 0], \
                    null_share = 0.2 }";
        for value in draw_one(text, 10_000) {
            *seen.entry(value).or_insert(0) += 1;
        }
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["1.5", "2", "NULL", "a"]);
        for (value, expect) in [("NULL", 2_000), ("a", 1_000), ("2", 2_000), ("1.5", 5_000)] {
            // The standard deviation is at most 50.
            assert!(i32::abs(seen[value] - expect) < 250, "{value}: {}", seen[value]);
        }
    }

    #[test]
    fn same_is_the_value_of_the_same_transaction() {
        let text = "{ kind = 'text', length = 5, name = 'a' }, { kind = 'int', min = 1, max = 99, \
                    name = 'b', null_share = 0.5 }, { kind = 'same', as = 'a' }, { kind = 'same', \
                    as = 'b' }";
        let rows = draw(text, 100);
        assert!(rows.iter().all(|row| row[0] == row[2] && row[1] == row[3]));
        assert!(rows.iter().any(|row| row[1] == "NULL") && rows[0][0] != rows[1][0]);
    }
}
