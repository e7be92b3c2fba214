//! Generators: how a plan describes the values of a `custom` workload.

use serde::{Deserialize, Serialize};

use crate::KeyDistribution;
use crate::plan_error::unknown_word;
use truetps_record::parse_time;

/// One column or parameter: `{ kind = "int", min = 1, max = 100, null_share = 0.1 }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenGenerator")]
pub struct Generator {
    #[serde(skip)]
    pub kind: GeneratorKind,
    /// Probability of NULL in place of a value.
    #[serde(skip)]
    pub null_share: f64,
    /// Later statements of the transaction may use the value again by this name.
    #[serde(skip)]
    pub name: Option<String>,
    /// Its form in a plan, with all defaults.
    #[serde(flatten)]
    written: toml::Table,
}

impl Generator {
    /// A generator of values that is in no plan, and has no form there.
    pub fn unwritten(kind: GeneratorKind) -> Self {
        Self { kind, null_share: 0.0, name: None, written: toml::Table::new() }
    }
}

/// Lengths are in characters of `text` and bytes of `bytes`; both ends of a range belong to it.
#[derive(Debug, Clone, PartialEq)]
pub enum GeneratorKind {
    /// A number that no other transaction of any client has: `start + step × position`.
    Sequence {
        start: i64,
        step: i64,
    },
    Int {
        min: i64,
        max: i64,
        distribution: KeyDistribution,
    },
    /// Uniform in `min..max`.
    Double {
        min: f64,
        max: f64,
    },
    /// A number of `precision` digits, `scale` of them behind the point, sent as text: what a
    /// DECIMAL column holds.
    Decimal {
        precision: u32,
        scale: u32,
    },
    Text {
        min_length: u32,
        max_length: u32,
        alphabet: Alphabet,
    },
    Bytes {
        min_length: u32,
        max_length: u32,
    },
    Uuid {
        version: UuidVersion,
        form: UuidForm,
    },
    /// A day; both ends in seconds since 1970-01-01.
    Date(TimeRange),
    /// A second.
    Datetime(TimeRange),
    /// A second that a TIMESTAMP column holds.
    Timestamp(TimeRange),
    /// One of `values`, in proportion to its weight.
    Choice {
        values: Vec<Scalar>,
        weights: Vec<f64>,
    },
    Constant(Scalar),
    /// The value of the generator with this name, from the same transaction.
    Same(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alphabet {
    /// `a` to `z`.
    Letters,
    Digits,
    /// `a` to `z` and digits.
    Alphanumeric,
    /// Groups of 11 digits, joined by `-`.
    DigitGroups,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidVersion {
    /// 122 random bits.
    V4,
    /// Milliseconds first, so that a client's values rise. The time is not the clock's but grows by
    /// one millisecond a transaction, from a fixed start.
    V7,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UuidForm {
    /// 36 characters.
    Text,
    /// 16 bytes.
    Bytes,
}

/// Both ends belong to it; in seconds since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    pub min_s: i64,
    pub max_s: i64,
}

/// Seconds between these where a plan names no others.
const DATETIMES: (&str, &str) = ("2000-01-01 00:00:00", "2029-12-31 23:59:59");

impl TimeRange {
    /// The default range of `datetime`.
    pub fn datetimes() -> Self {
        let [min_s, max_s] = [DATETIMES.0, DATETIMES.1]
            .map(|text| parse_time(text).expect("a constant that a test has read"));
        Self { min_s, max_s }
    }
}

/// A value that a plan spells out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a whole number, a number or a text")]
pub enum Scalar {
    Int(i64),
    Float(f64),
    Text(String),
}

/// All keys that a plan may write, of any kind. Each kind then takes its own keys and reports the
/// others.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGenerator {
    kind: String,
    name: Option<String>,
    null_share: Option<f64>,
    start: Option<i64>,
    step: Option<i64>,
    min: Option<Scalar>,
    max: Option<Scalar>,
    precision: Option<u32>,
    scale: Option<u32>,
    length: Option<u32>,
    min_length: Option<u32>,
    max_length: Option<u32>,
    alphabet: Option<Alphabet>,
    version: Option<u32>,
    form: Option<UuidForm>,
    values: Option<Vec<Scalar>>,
    weights: Option<Vec<f64>>,
    value: Option<Scalar>,
    #[serde(rename = "as")]
    same_as: Option<String>,
    distribution: Option<KeyDistribution>,
}

const COMMON_KEYS: [&str; 3] = ["kind", "name", "null_share"];

/// Each kind of generator and its other keys.
const KINDS: [(&str, &[&str]); 13] = [
    ("sequence", &["start", "step"]),
    ("int", &["min", "max", "distribution"]),
    ("double", &["min", "max"]),
    ("decimal", &["precision", "scale"]),
    ("text", &["length", "min_length", "max_length", "alphabet"]),
    ("bytes", &["length", "min_length", "max_length"]),
    ("uuid", &["version", "form"]),
    ("date", &["min", "max"]),
    ("datetime", &["min", "max"]),
    ("timestamp", &["min", "max"]),
    ("choice", &["values", "weights"]),
    ("constant", &["value"]),
    ("same", &["as"]),
];

/// A value of more bytes does not belong in a benchmark of transactions.
const LENGTH_MAX: u32 = 1 << 20;
const STEP_MAX: i64 = 10_000;
/// Numbers of so many digits fit into 64 bits.
const PRECISION_MAX: u32 = 18;

impl WrittenGenerator {
    fn check_keys(&self) -> Result<(), String> {
        let Some((kind, has)) = KINDS.iter().find(|(kind, _)| *kind == self.kind) else {
            return Err(unknown_word("generator", &self.kind, &KINDS.map(|(kind, _)| kind)));
        };
        let written = self.table()?;
        let mut keys = written.keys().map(String::as_str);
        match keys.find(|key| !COMMON_KEYS.contains(key) && !has.contains(key)) {
            Some(key) => Err(format!(
                "generator `{kind}` has no key `{key}` (it has `{}`)",
                has.join("`, `")
            )),
            None => Ok(()),
        }
    }

    /// The keys that are written.
    fn table(&self) -> Result<toml::Table, String> {
        toml::Table::try_from(self).map_err(|error| error.to_string())
    }

    /// What the keys mean. Fills in the defaults of keys that are not written.
    fn read(&mut self) -> Result<GeneratorKind, String> {
        match self.kind.as_str() {
            "sequence" => self.sequence(),
            "int" => self.int(),
            "double" => self.double(),
            "decimal" => self.decimal(),
            "text" => {
                let (min_length, max_length) = self.lengths()?;
                let alphabet = *self.alphabet.get_or_insert(Alphabet::Letters);
                Ok(GeneratorKind::Text { min_length, max_length, alphabet })
            }
            "bytes" => self
                .lengths()
                .map(|(min_length, max_length)| GeneratorKind::Bytes { min_length, max_length }),
            "uuid" => {
                let version = match *self.version.get_or_insert(4) {
                    4 => UuidVersion::V4,
                    7 => UuidVersion::V7,
                    other => return Err(format!("`version`: {other} is neither 4 nor 7")),
                };
                Ok(GeneratorKind::Uuid { version, form: *self.form.get_or_insert(UuidForm::Text) })
            }
            "date" => self.times("2000-01-01", "2029-12-31").map(GeneratorKind::Date),
            "datetime" => self.times(DATETIMES.0, DATETIMES.1).map(GeneratorKind::Datetime),
            "timestamp" => {
                let range = self.times(DATETIMES.0, DATETIMES.1)?;
                // What a TIMESTAMP column of every server holds, in every time zone.
                let fine = range.min_s >= 86_400 && range.max_s < i64::from(i32::MAX) - 86_400;
                let problem = "a timestamp lies between 1970-01-02 and 2038-01-18";
                if fine { Ok(GeneratorKind::Timestamp(range)) } else { Err(problem.to_owned()) }
            }
            "choice" => self.choice(),
            "constant" => Ok(GeneratorKind::Constant(
                self.value.clone().ok_or("generator `constant` needs `value`")?,
            )),
            _ => {
                Ok(GeneratorKind::Same(self.same_as.clone().ok_or("generator `same` needs `as`")?))
            }
        }
    }

    fn sequence(&mut self) -> Result<GeneratorKind, String> {
        let (start, step) = (*self.start.get_or_insert(1), *self.step.get_or_insert(1));
        if !(1..=STEP_MAX).contains(&step) {
            return Err(format!("`step`: {step} is not between 1 and {STEP_MAX}"));
        }
        // Positions reach 2^46 (17 bits of client, 29 of transaction); steps of ten thousand keep
        // that below 2^60.
        if start.unsigned_abs() > 1 << 60 {
            return Err(format!("`start`: {start} is beyond 2^60"));
        }
        Ok(GeneratorKind::Sequence { start, step })
    }

    fn int(&mut self) -> Result<GeneratorKind, String> {
        let (min, max) = (whole("min", self.min.as_ref())?, whole("max", self.max.as_ref())?);
        if max < min || max.checked_sub(min).is_none_or(|span| span == i64::MAX) {
            return Err(format!("the range {min} to {max} is empty or has more than 2^63 numbers"));
        }
        Ok(GeneratorKind::Int {
            min,
            max,
            distribution: *self.distribution.get_or_insert_default(),
        })
    }

    fn double(&mut self) -> Result<GeneratorKind, String> {
        let (min, max) = (number("min", self.min.as_ref())?, number("max", self.max.as_ref())?);
        (self.min, self.max) = (Some(Scalar::Float(min)), Some(Scalar::Float(max)));
        let fine = min < max && (max - min).is_finite();
        if fine {
            Ok(GeneratorKind::Double { min, max })
        } else {
            Err(format!("the range {min} to {max} is empty"))
        }
    }

    fn decimal(&mut self) -> Result<GeneratorKind, String> {
        let precision = self.precision.ok_or("generator `decimal` needs `precision`")?;
        let scale = *self.scale.get_or_insert(0);
        if !(1..=PRECISION_MAX).contains(&precision) {
            return Err(format!("`precision`: {precision} is not between 1 and {PRECISION_MAX}"));
        }
        if scale > precision {
            return Err(format!(
                "`scale`: {scale} digits behind the point are more than the {precision} there are"
            ));
        }
        Ok(GeneratorKind::Decimal { precision, scale })
    }

    fn lengths(&mut self) -> Result<(u32, u32), String> {
        let (min, max) = match (self.length, self.min_length, self.max_length) {
            (Some(length), None, None) => (length, length),
            (None, min, Some(max)) => (min.unwrap_or(0), max),
            (Some(_), _, _) => {
                return Err("`length` does not go with `min_length` or `max_length`".to_owned());
            }
            (None, _, None) => {
                return Err(format!("generator `{}` needs `length` or `max_length`", self.kind));
            }
        };
        if max < min {
            return Err(format!("the range of lengths {min} to {max} is empty"));
        }
        if max > LENGTH_MAX {
            return Err(format!("a length of {max} is more than {LENGTH_MAX}"));
        }
        (self.length, self.min_length, self.max_length) = (None, Some(min), Some(max));
        Ok((min, max))
    }

    fn times(&mut self, first: &str, last: &str) -> Result<TimeRange, String> {
        let mut texts = [first.to_owned(), last.to_owned()];
        for (text, (key, value)) in texts.iter_mut().zip([("min", &self.min), ("max", &self.max)]) {
            match value {
                None => {}
                Some(Scalar::Text(written)) => text.clone_from(written),
                Some(_) => {
                    return Err(format!(
                        "`{key}` of a `{}` is a text such as \"{first}\"",
                        self.kind
                    ));
                }
            }
        }
        let [min, max] = texts;
        let (min_s, max_s) = (seconds(&min, first)?, seconds(&max, first)?);
        if max_s < min_s {
            return Err(format!("the range {min} to {max} is empty"));
        }
        (self.min, self.max) = (Some(Scalar::Text(min)), Some(Scalar::Text(max)));
        Ok(TimeRange { min_s, max_s })
    }

    fn choice(&mut self) -> Result<GeneratorKind, String> {
        let values = self.values.clone().ok_or("generator `choice` needs `values`")?;
        let weights = self.weights.get_or_insert_with(|| vec![1.0; values.len()]).clone();
        if values.is_empty() {
            return Err("`values` is empty".to_owned());
        }
        if weights.len() != values.len() {
            return Err(format!("{} `weights` for {} `values`", weights.len(), values.len()));
        }
        if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err("a weight is a number of at least 0".to_owned());
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err(format!("the weights sum up to {sum}"));
        }
        Ok(GeneratorKind::Choice { values, weights })
    }
}

fn whole(key: &str, value: Option<&Scalar>) -> Result<i64, String> {
    match value {
        Some(Scalar::Int(number)) => Ok(*number),
        Some(_) => Err(format!("`{key}` of an `int` is not a whole number")),
        None => Err(format!("generator `int` needs `{key}`")),
    }
}

fn number(key: &str, value: Option<&Scalar>) -> Result<f64, String> {
    match value {
        Some(Scalar::Int(number)) => Ok(*number as f64),
        Some(Scalar::Float(number)) if number.is_finite() => Ok(*number),
        Some(_) => Err(format!("`{key}` of a `double` is not a number")),
        None => Err(format!("generator `double` needs `{key}`")),
    }
}

fn seconds(text: &str, example: &str) -> Result<i64, String> {
    parse_time(text).ok_or_else(|| format!("`{text}` is not a time such as `{example}`"))
}

impl TryFrom<WrittenGenerator> for Generator {
    type Error = String;

    fn try_from(mut written: WrittenGenerator) -> Result<Self, String> {
        written.check_keys()?;
        let kind = written.read()?;
        let null_share = written.null_share.take().unwrap_or(0.0);
        if !(0.0..=1.0).contains(&null_share) {
            return Err(format!("`null_share`: {null_share} is not between 0 and 1"));
        }
        written.null_share = (null_share > 0.0).then_some(null_share);
        Ok(Self { kind, null_share, written: written.table()?, name: written.name })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn parse(text: &str) -> Result<Generator, String> {
        read(&format!("g = {{ {text} }}")).map_err(|e| e.to_string())
    }

    fn read(table: &str) -> Result<Generator, toml::de::Error> {
        toml::from_str::<BTreeMap<String, Generator>>(table).map(|table| table["g"].clone())
    }

    fn write(generator: &Generator) -> String {
        toml::to_string(&BTreeMap::from([("g", generator)])).unwrap()
    }

    #[test]
    fn every_kind_survives_being_written() {
        for text in [
            "kind = 'sequence'",
            "kind = 'sequence', start = 7, step = 2",
            "kind = 'int', min = -5, max = 5, distribution = 'zipfian'",
            "kind = 'double', min = 0, max = 1.5",
            "kind = 'decimal', precision = 12",
            "kind = 'decimal', precision = 2, scale = 2",
            "kind = 'text', length = 20",
            "kind = 'text', min_length = 1, max_length = 9, alphabet = 'digit_groups', null_share \
             = 0.25",
            "kind = 'bytes', length = 16",
            "kind = 'uuid'",
            "kind = 'uuid', version = 7, form = 'bytes'",
            "kind = 'date'",
            "kind = 'datetime', min = '2024-01-01', max = '2024-12-31 12:00:00'",
            "kind = 'timestamp'",
            "kind = 'choice', values = ['a', 1, 2.5], weights = [1, 2, 0.5]",
            "kind = 'constant', value = 'x', name = 'it'",
            "kind = 'same', as = 'it'",
        ] {
            let g = parse(text).unwrap();
            assert_eq!(read(&write(&g)).unwrap(), g, "{text}");
        }
        let written = write(&parse("kind = 'text', length = 20").unwrap());
        assert_eq!(
            written,
            "[g]\nkind = \"text\"\nmin_length = 20\nmax_length = 20\nalphabet = \"letters\"\n"
        );
    }

    #[test]
    fn wrong_generators_are_named() {
        let check = |text: &str, expect: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
        };
        check("kind = 'sequenc'", "unknown generator `sequenc` (did you mean `sequence`");
        check("kind = 'xyz'", "known: `sequence`, `int`");
        check(
            "kind = 'int', min = 1, max = 2, alphabet = 'digits'",
            "generator `int` has no key `alphabet` (it has `min`",
        );
        check("kind = 'int', min = 1", "generator `int` needs `max`");
        check("kind = 'int', min = 3, max = 2", "the range 3 to 2 is empty");
        check(
            "kind = 'int', min = -9223372036854775808, max = 9223372036854775807",
            "more than 2^63",
        );
        check("kind = 'int', min = 1.5, max = 2", "`min` of an `int` is not a whole number");
        check("kind = 'double', min = 1, max = 1", "is empty");
        check("kind = 'double', min = 1, max = inf", "`max` of a `double` is not a number");
        check("kind = 'decimal'", "generator `decimal` needs `precision`");
        check("kind = 'decimal', precision = 19", "`precision`: 19 is not between 1 and 18");
        check(
            "kind = 'decimal', precision = 2, scale = 3",
            "`scale`: 3 digits behind the point are more than the 2",
        );
        check("kind = 'text'", "needs `length` or `max_length`");
        check("kind = 'text', min_length = 3, max_length = 2", "range of lengths 3 to 2 is empty");
        check("kind = 'text', length = 3, max_length = 2", "does not go with");
        check("kind = 'bytes', length = 99999999", "is more than 1048576");
        check("kind = 'uuid', version = 5", "neither 4 nor 7");
        check("kind = 'date', min = '2023-02-29'", "`2023-02-29` is not a time");
        check("kind = 'datetime', min = '2024-01-02', max = '2024-01-01'", "is empty");
        check("kind = 'timestamp', max = '2040-01-01'", "between 1970-01-02 and 2038-01-18");
        check("kind = 'choice', values = []", "`values` is empty");
        check("kind = 'choice', values = [1, 2], weights = [0, 0]", "the weights sum up to 0");
        check("kind = 'choice', values = [1], weights = [-1]", "at least 0");
        check("kind = 'choice', values = [1, 2], weights = [1]", "1 `weights` for 2 `values`");
        check("kind = 'constant'", "needs `value`");
        check("kind = 'constant', value = 1, null_share = 2", "`null_share`: 2 is not between");
        check("kind = 'int', minimum = 1", "unknown field `minimum`");
        check("kind = 'sequence', step = 0", "`step`: 0 is not between");
    }
}
