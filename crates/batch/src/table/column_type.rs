//! What a column keeps exactly, and the one form in which a sent and a stored value are compared.
//!
//! A value that a column would round, cut, pad, fold or read in another way than it was meant is
//! refused before it is sent. What is left is stored as it was sent, up to the spelling: `1.50` and
//! `1.5` are one number, and `2026-11-28T10:00` and `2026-11-28 10:00:00` are one moment.
//! `docs/reference/gateway.md` has the rules as a table.

use std::borrow::Cow;

use truetps_record::SqlDialect;

use super::decimal::Decimal;
use super::json_form::JsonForm;
use super::moment::SentMoment;

/// The type of a column, as far as it decides about values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    Integer,
    /// Digits after the point; `None`: as many as there are.
    Decimal {
        scale: Option<u32>,
    },
    /// Binary floating point with 24 or 53 bits.
    Float {
        is_single: bool,
    },
    /// PostgreSQL's own type.
    Boolean,
    /// MySQL's BIT, as a number.
    Bits,
    /// Text of all kinds. `keeps_blanks`: also at the end.
    Text {
        chars_max: Option<u64>,
        bytes_max: Option<u64>,
        keeps_blanks: bool,
    },
    /// One of these.
    Enum {
        labels: Vec<String>,
    },
    /// Some of these, in their order, with commas between them.
    Set {
        labels: Vec<String>,
    },
    /// Bytes: of a JSON string, its UTF-8. `fixed`: the column pads shorter values.
    Binary {
        fixed: Option<u64>,
    },
    /// 16 bytes in a column of bytes, or a type of its own.
    Uuid {
        is_binary: bool,
    },
    Date,
    Time {
        fraction_digits: u32,
    },
    /// `has_zone`: each value has one, which the server reads.
    DateTime {
        fraction_digits: u32,
        has_zone: bool,
    },
    Year,
    /// Documents that the server takes apart. `has_doubles`: it keeps numbers as such.
    Json {
        has_doubles: bool,
    },
    /// Any other type: what the server makes of the text is the value. `reads_clock`: of `now`, it
    /// makes the time.
    Other {
        reads_clock: bool,
    },
}

/// How a value was written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Text,
    Number,
    Boolean,
    /// A list or an object.
    Nested,
}

impl ColumnType {
    pub(crate) fn text(chars_max: Option<u64>, bytes_max: Option<u64>, keeps_blanks: bool) -> Self {
        Self::Text { chars_max, bytes_max, keeps_blanks }
    }

    /// Whether the server's own form of the sent text is needed for a comparison.
    pub(crate) fn compares_by_server(&self) -> bool {
        matches!(self, Self::Other { .. } | Self::DateTime { has_zone: true, .. })
    }

    /// Whether MySQL takes its values as numbers.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Integer | Self::Decimal { .. } | Self::Float { .. } | Self::Bits | Self::Year
        )
    }

    /// Why the column would not keep this value exactly.
    pub(super) fn problem(
        &self,
        dialect: SqlDialect,
        kind: JsonKind,
        text: &str,
    ) -> Option<String> {
        if kind == JsonKind::Number && self.keeps_short_number(text) {
            return None;
        }
        let is_postgres = dialect == SqlDialect::Postgres;
        let (is_text, is_boolean) = (kind == JsonKind::Text, kind == JsonKind::Boolean);
        match self {
            Self::Integer if is_boolean => is_postgres.then(|| "it takes whole numbers".to_owned()),
            Self::Integer => (!is_integer(text))
                .then(|| "it takes whole numbers, without point or exponent".to_owned()),
            Self::Bits if is_boolean => None,
            Self::Bits => (is_text || !are_digits(text))
                .then(|| "it takes its bits as a whole number without a sign".to_owned()),
            Self::Decimal { .. } | Self::Float { .. } if is_boolean && !is_postgres => None,
            Self::Decimal { .. } | Self::Float { .. }
                if is_postgres && NO_NUMBERS.contains(&text) =>
            {
                None
            }
            Self::Decimal { scale } => decimal_problem(text, *scale),
            Self::Float { is_single } => float_problem(text, *is_single, is_postgres),
            Self::Boolean => {
                boolean(text.as_bytes()).is_none().then(|| "it takes true or false".to_owned())
            }
            Self::Text { chars_max, bytes_max, keeps_blanks } => {
                text_problem(text, *chars_max, *bytes_max, *keeps_blanks)
            }
            Self::Enum { labels } => (!(is_text && labels.iter().any(|label| label == text)))
                .then(|| "it has no such value".to_owned()),
            Self::Set { labels } => (!(is_text && is_set(labels, text))).then(|| {
                "it takes some of its values, in their order, with commas between them".to_owned()
            }),
            Self::Binary { fixed } => fixed
                .filter(|bytes| text.len() as u64 != *bytes)
                .map(|bytes| format!("it takes {bytes} bytes: shorter values would be padded")),
            Self::Uuid { is_binary } => {
                let is_uuid =
                    uuid_digits(text.as_bytes()).is_some() || *is_binary && text.len() == 16;
                (!is_uuid).then(|| "it takes a UUID".to_owned())
            }
            Self::Date | Self::Time { .. } | Self::DateTime { .. } => {
                (!(is_text && self.keeps_moment(text, is_postgres))).then(|| self.moment_rule())
            }
            Self::Year => (!is_year(text)).then(|| "it takes a year of four digits".to_owned()),
            Self::Json { has_doubles } => json_problem(text, *has_doubles),
            Self::Other { reads_clock } => (*reads_clock && has_clock_word(text))
                .then(|| format!("it takes none of {}", CLOCK_WORDS.join(", "))),
        }
    }

    /// Most numbers need no arithmetic.
    fn keeps_short_number(&self, text: &str) -> bool {
        let is_short = match self {
            Self::Float { is_single } => text.len() <= if *is_single { 6 } else { 15 },
            Self::Decimal { scale: Some(scale) } => {
                let fraction = text.find('.').map_or(0, |point| text.len() - point - 1);
                fraction <= *scale as usize
            }
            _ => false,
        };
        is_short && !text.bytes().any(|byte| matches!(byte, b'e' | b'E'))
    }

    fn keeps_moment(&self, text: &str, is_postgres: bool) -> bool {
        // PostgreSQL's largest and smallest moments; servers name no others that stay the same.
        if is_postgres
            && !matches!(self, Self::Time { .. })
            && matches!(text, "infinity" | "-infinity")
        {
            return true;
        }
        let Some(moment) = SentMoment::parse(text.as_bytes()) else { return false };
        match *self {
            Self::Date => moment.has_date() && !moment.has_clock(),
            Self::Time { fraction_digits } => {
                !moment.has_date()
                    && !moment.has_zone()
                    && moment.fraction_digits() <= fraction_digits as usize
            }
            Self::DateTime { fraction_digits, has_zone } => {
                moment.has_date()
                    && (has_zone || !moment.has_zone())
                    && moment.fraction_digits() <= fraction_digits as usize
            }
            _ => false,
        }
    }

    fn moment_rule(&self) -> String {
        match self {
            Self::Date => "it takes a date as YYYY-MM-DD".to_owned(),
            Self::Time { fraction_digits } => {
                format!(
                    "it takes a time as HH:MM:SS, with up to {fraction_digits} digits of a second"
                )
            }
            Self::DateTime { fraction_digits, has_zone } => {
                let zone = if *has_zone {
                    ", and a time zone as Z or +HH:MM"
                } else {
                    ", without a time zone"
                };
                format!(
                    "it takes YYYY-MM-DD HH:MM:SS, with up to {fraction_digits} digits of a \
                     second{zone}"
                )
            }
            _ => String::new(),
        }
    }

    /// The form in which a sent and a stored value are equal byte by byte. `text`: as it was sent,
    /// or as the server writes it.
    pub(crate) fn normal_form<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out = Vec::new();
        let is_read = match self {
            Self::Integer | Self::Bits | Self::Decimal { .. } | Self::Year => {
                put_decimal(text, &mut out)
            }
            Self::Float { is_single } => put_float(text, *is_single, &mut out),
            Self::Boolean => boolean(text).map(|value| out.push(if value { b't' } else { b'f' })),
            Self::Uuid { is_binary: false } => uuid_digits(text).map(|digits| out = digits),
            Self::Uuid { is_binary: true } if text.len() == 16 => None,
            Self::Uuid { is_binary: true } => {
                uuid_digits(text).map(|digits| out = bytes_of(&digits))
            }
            Self::Date => SentMoment::parse(text).map(|moment| moment.put(false, &mut out)),
            Self::Time { .. } | Self::DateTime { has_zone: false, .. } => {
                SentMoment::parse(text).map(|moment| moment.put(true, &mut out))
            }
            Self::Json { .. } => JsonForm::parse(text).map(|form| form.put(&mut out)),
            Self::Text { keeps_blanks: false, .. } => {
                return Cow::Borrowed(text.trim_ascii_end_blanks());
            }
            _ => None,
        };
        if is_read.is_some() { Cow::Owned(out) } else { Cow::Borrowed(text) }
    }
}

/// Blanks only: other white space at the end is kept by every column.
trait TrimBlanks {
    fn trim_ascii_end_blanks(&self) -> &Self;
}

impl TrimBlanks for [u8] {
    fn trim_ascii_end_blanks(&self) -> &Self {
        let kept = self.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        &self[..kept]
    }
}

/// What PostgreSQL's numbers may be besides numbers.
const NO_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Words that PostgreSQL replaces by the time of the statement: sent again, the row would be
/// another one.
const CLOCK_WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Whether one of the words is in the text, in any case, once the quotes of lists and ranges are
/// taken away.
fn has_clock_word(text: &str) -> bool {
    let bare = text.replace(['"', '\\'], "");
    let mut words = bare.split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| CLOCK_WORDS.iter().any(|clock| clock.eq_ignore_ascii_case(word)))
}

fn is_integer(text: &str) -> bool {
    are_digits(text.strip_prefix('-').unwrap_or(text))
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Four digits; MySQL would make 2026 of `0026`.
fn is_year(text: &str) -> bool {
    are_digits(text) && text.len() == 4 && (text == "0000" || !text.starts_with('0'))
}

fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"t" | b"TRUE" => Some(true),
        b"false" | b"f" | b"FALSE" => Some(false),
        _ => None,
    }
}

fn decimal_problem(text: &str, scale: Option<u32>) -> Option<String> {
    let Some(number) = Decimal::parse(text.as_bytes()) else {
        return Some("it takes numbers".to_owned());
    };
    let scale = scale.filter(|scale| number.scale() > u64::from(*scale))?;
    Some(format!("it keeps {scale} digits after the point, and the number has {}", number.scale()))
}

/// A number is kept if its digits come back in the shortest text that stands for the stored number.
fn float_problem(text: &str, is_single: bool, is_postgres: bool) -> Option<String> {
    let Some(number) = Decimal::parse(text.as_bytes()) else {
        return Some("it takes numbers".to_owned());
    };
    // With so few digits each number comes back, unless it is beyond the range of normal numbers.
    let (digits, magnitude) = if is_single { (6, 37) } else { (15, 300) };
    if number.digits() <= digits && number.magnitude().abs() <= magnitude {
        return None;
    }
    let mut stored = Vec::new();
    let rounded = if is_single && is_postgres { put_single(text, &mut stored) } else { None };
    if rounded.is_none() && put_float(text.as_bytes(), is_single, &mut stored).is_none() {
        return Some("the number is beyond its range".to_owned());
    }
    let mut sent = Vec::new();
    number.put(&mut sent);
    (sent != stored).then(|| {
        format!(
            "it would round the number to {} digits",
            if is_single { "6 to 9" } else { "15 to 17" }
        )
    })
}

fn put_single(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let single: f32 = text.parse().ok().filter(|single: &f32| single.is_finite())?;
    put_decimal(format!("{single:e}").as_bytes(), out)
}

fn put_decimal(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    Decimal::parse(text).map(|number| number.put(out))
}

/// The shortest digits of the floating-point number; MySQL makes a double of the text first, also
/// for FLOAT.
fn put_float(text: &[u8], is_single: bool, out: &mut Vec<u8>) -> Option<()> {
    let double: f64 = str::from_utf8(text).ok()?.parse().ok()?;
    let shortest = if is_single {
        let single = double as f32;
        single.is_finite().then(|| format!("{single:e}"))
    } else {
        double.is_finite().then(|| format!("{double:e}"))
    };
    put_decimal(shortest?.as_bytes(), out)
}

fn text_problem(
    text: &str,
    chars_max: Option<u64>,
    bytes_max: Option<u64>,
    keeps_blanks: bool,
) -> Option<String> {
    if !keeps_blanks && text.ends_with(' ') {
        return Some("it does not keep blanks at the end".to_owned());
    }
    let bytes = text.len() as u64;
    let (most, unit) = match (chars_max, bytes_max) {
        (Some(most), _) if bytes > most && text.chars().count() as u64 > most => {
            (most, "characters")
        }
        (_, Some(most)) if bytes > most => (most, "bytes"),
        _ => return None,
    };
    Some(format!("the text is longer than {most} {unit}"))
}

/// Whether the text has values of the set, in their order, each once.
fn is_set(labels: &[String], text: &str) -> bool {
    let mut rest = labels.iter();
    text.is_empty() || text.split(',').all(|part| rest.any(|label| label == part))
}

fn json_problem(text: &str, has_doubles: bool) -> Option<String> {
    let Some(form) = JsonForm::parse(text.as_bytes()) else {
        return Some("it takes JSON without a field twice, nested up to 100 deep".to_owned());
    };
    (has_doubles && !form.all_numbers(&is_kept_in_json))
        .then(|| "it would round a number in the document".to_owned())
}

/// MySQL keeps whole numbers of 64 bits, and doubles.
fn is_kept_in_json(number: &[u8]) -> bool {
    let text = str::from_utf8(number).unwrap_or_default();
    let is_whole = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    is_whole || float_problem(text, false, false).is_none()
}

/// The 32 digits of `018f2c3d-…`, with or without its hyphens, in lower case.
fn uuid_digits(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.iter().filter(|byte| **byte != b'-').map(u8::to_ascii_lowercase).collect();
    let is_uuid = digits.len() == 32
        && matches!(text.len(), 32 | 36)
        && digits.iter().all(u8::is_ascii_hexdigit);
    is_uuid.then_some(digits)
}

fn bytes_of(digits: &[u8]) -> Vec<u8> {
    digits.chunks_exact(2).map(|pair| digit_value(pair[0]) << 4 | digit_value(pair[1])).collect()
}

fn digit_value(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 }
}

/// The bytes of a UUID's text.
pub(super) fn uuid_bytes(text: &str) -> Option<Vec<u8>> {
    uuid_digits(text.as_bytes()).map(|digits| bytes_of(&digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: SqlDialect = SqlDialect::Mysql;

    fn keeps(kind: &ColumnType, json_kind: JsonKind, text: &str) -> bool {
        kind.problem(MYSQL, json_kind, text).is_none()
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of values")]
    fn what_a_column_would_change_is_refused() {
        use JsonKind::{Boolean, Number, Text};
        let text =
            |chars_max, keeps_blanks| ColumnType::Text { chars_max, bytes_max: None, keeps_blanks };
        let labels = || vec!["a".to_owned(), "B".to_owned()];
        let datetime = ColumnType::DateTime { fraction_digits: 3, has_zone: false };
        let check = |kind: &ColumnType, json_kind, kept: &[&str], refused: &[&str]| {
            for value in kept {
                assert!(keeps(kind, json_kind, value), "{kind:?} refuses {value}");
            }
            for value in refused {
                assert!(!keeps(kind, json_kind, value), "{kind:?} takes {value}");
            }
        };
        check(
            &ColumnType::Integer,
            Number,
            &["0", "-7", "18446744073709551615"],
            &["0.6", "1e3", "1.0"],
        );
        check(&ColumnType::Integer, Text, &["12", "007"], &["", "-", " 1", "1 ", "0x1", "1e1"]);
        check(
            &ColumnType::Decimal { scale: Some(2) },
            Number,
            &["1.50", "150e-2", "1.500"],
            &["1.005", "1e-3"],
        );
        check(
            &ColumnType::Float { is_single: true },
            Number,
            &["0.1", "16777216", "1e38"],
            &["16777217", "0.123456789", "1e39"],
        );
        check(
            &ColumnType::Float { is_single: false },
            Number,
            &["0.1", "0.30000000000000004", "9007199254740992", "5e-324", "1.7976931348623157e308"],
            &["9007199254740993", "0.1000000000000000055", "1e309", "1e-400"],
        );
        check(&ColumnType::Bits, Number, &["5"], &["5.0", "-1", "-0"]);
        check(&ColumnType::Bits, Text, &[], &["5"]);
        check(&text(Some(3), true), Text, &["abc", "éèà", "a  "], &["abcd", "abc "]);
        check(&text(Some(3), false), Text, &["ab"], &["ab ", " "]);
        check(
            &ColumnType::Enum { labels: labels() },
            Text,
            &["a", "B"],
            &["A", "b", "a ", "1", ""],
        );
        check(&ColumnType::Enum { labels: labels() }, Number, &[], &["1"]);
        check(
            &ColumnType::Set { labels: labels() },
            Text,
            &["", "a", "a,B"],
            &["B,a", "a,a", "A", "a,"],
        );
        check(&ColumnType::Binary { fixed: Some(2) }, Text, &["ab", "é"], &["a", "abc"]);
        check(
            &ColumnType::Date,
            Text,
            &["2026-11-28"],
            &["2026-11-28 10:00:00", "20261128", "26-11-28"],
        );
        check(
            &datetime,
            Text,
            &["2026-11-28", "2026-11-28T10:00:00.120"],
            &["2026-11-28 10:00:00.1234", "2026-11-28T10:00:00Z"],
        );
        check(&ColumnType::Year, Number, &["2026"], &["26", "0"]);
        check(&ColumnType::Year, Text, &["0000"], &["0026", "-026", "true"]);
        check(&ColumnType::Year, Boolean, &[], &["true", "false"]);
        check(
            &ColumnType::Json { has_doubles: true },
            Text,
            &["[1.5,18446744073709551615]"],
            &["[18446744073709551617]", "{", r#"{"a":1,"a":2}"#],
        );
        check(&ColumnType::Integer, Boolean, &["true"], &[]);
        check(
            &ColumnType::Other { reads_clock: true },
            Text,
            &["10:00+01", "[2026-01-01,infinity)", "{NULL}", "nowhere"],
            &["now", "{Today}", "[\"tomorrow\",)", "{n\\ow}", "yesterday10:00"],
        );
        check(&ColumnType::Other { reads_clock: false }, Text, &["now"], &[]);
    }

    #[test]
    fn sent_and_stored_values_have_one_form() {
        let same = |kind: &ColumnType, sent: &str, stored: &[u8]| {
            assert_eq!(
                kind.normal_form(sent.as_bytes()),
                kind.normal_form(stored),
                "{kind:?} {sent}"
            );
        };
        same(&ColumnType::Integer, "7", b"0000000007");
        same(&ColumnType::Decimal { scale: Some(3) }, "1.5", b"1.500");
        same(&ColumnType::Float { is_single: true }, "0.1", b"0.10000000149011612");
        same(&ColumnType::Boolean, "true", b"t");
        same(
            &ColumnType::Uuid { is_binary: false },
            "018F2C3D00007000800001234567 89AB".replace(' ', "").as_str(),
            b"018f2c3d-0000-7000-8000-0123456789ab",
        );
        same(
            &ColumnType::Uuid { is_binary: true },
            "00000000-0000-0000-0000-0000000000ff",
            b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff",
        );
        same(
            &ColumnType::DateTime { fraction_digits: 3, has_zone: false },
            "2026-11-28T10:00:00.1",
            b"2026-11-28 10:00:00.100",
        );
        same(
            &ColumnType::Json { has_doubles: true },
            r#"{"b":1.0,"a":[]}"#,
            br#"{"a": [], "b": 1}"#,
        );
        let text = ColumnType::Text { chars_max: None, bytes_max: None, keeps_blanks: true };
        assert_ne!(text.normal_form(b"jose"), text.normal_form("JOSÉ".as_bytes()));
        assert_ne!(text.normal_form(b"jose"), text.normal_form(b"jose "));
    }
}
