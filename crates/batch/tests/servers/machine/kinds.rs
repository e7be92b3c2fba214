//! Kinds of columns, and values with the text that the server must show for them.

use std::fmt::{self, Write as _};

use truetps_random::RandomStream;
use truetps_record::Flavour;

/// A value as JSON, and as the server shows it; `None`: no server stores it as it was sent, so it
/// must be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MadeValue {
    pub(super) json: String,
    pub(super) stored: Option<String>,
}

/// A kind of column.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its type; `None`: this server has none.
    pub(super) sql: fn(Flavour) -> Option<&'static str>,
    /// The expression whose text is compared; `{}` is the column.
    pub(super) shown: fn(Flavour) -> &'static str,
    /// A value with this number.
    make: fn(Flavour, u64) -> MadeValue,
    /// A value that the column would change.
    spoil: fn(Flavour, u64) -> Option<&'static str>,
    /// Whether it may be a part of a key.
    pub(super) is_key: fn(Flavour) -> bool,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Kind {
    pub(super) fn value(&self, flavour: Flavour, number: u64) -> MadeValue {
        (self.make)(flavour, number)
    }

    pub(super) fn spoiled(&self, flavour: Flavour, random: &mut RandomStream) -> Option<MadeValue> {
        let json = (self.spoil)(flavour, random.next_u64())?;
        Some(MadeValue { json: json.to_owned(), stored: None })
    }
}

const fn is_postgres(flavour: Flavour) -> bool {
    matches!(flavour, Flavour::Postgresql)
}

const fn is_mariadb(flavour: Flavour) -> bool {
    matches!(flavour, Flavour::Mariadb)
}

fn by_family(
    flavour: Flavour,
    mysql: Option<&'static str>,
    postgres: Option<&'static str>,
) -> Option<&'static str> {
    if is_postgres(flavour) { postgres } else { mysql }
}

fn value(json: impl Into<String>, stored: impl Into<String>) -> MadeValue {
    MadeValue { json: json.into(), stored: Some(stored.into()) }
}

fn text(text: &str) -> MadeValue {
    value(format!("\"{text}\""), text)
}

fn choose(choices: &[&'static str], number: u64) -> Option<&'static str> {
    choices.get((number % choices.len() as u64) as usize).copied()
}

/// As it is.
fn plain(_: Flavour) -> &'static str {
    "{}"
}

fn always(_: Flavour) -> bool {
    true
}

fn never(_: Flavour) -> bool {
    false
}

fn shows_bytes(flavour: Flavour) -> &'static str {
    if is_postgres(flavour) { "upper(encode({}, 'hex'))" } else { "HEX({})" }
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes {
        write!(digits, "{byte:02X}").expect("a String takes all texts");
    }
    digits
}

fn integer(_: Flavour, n: u64) -> MadeValue {
    let number = (n % 30_000) as i64 - 15_000;
    if n.is_multiple_of(3) {
        value(format!("\"{number}\""), number.to_string())
    } else {
        value(number.to_string(), number.to_string())
    }
}

fn spoiled_integer(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["1.5", "0.6", "1e2", "\"1e2\"", "\" 1\"", "99999999999999999999", "\"0x1\"", "1.0"], n)
}

fn decimal(_: Flavour, n: u64) -> MadeValue {
    let (whole, thousandths) = (n / 1000 % 1_000_000, n % 1000);
    let shown = format!("{whole}.{thousandths:03}");
    let json = match n % 4 {
        0 => format!("\"{shown}000\""),
        1 => format!("{}e-3", whole * 1000 + thousandths),
        2 => format!("{shown}0"),
        _ => shown.clone(),
    };
    value(json, shown)
}

fn spoiled_decimal(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["1.0005", "0.00049", "1e-4", "\"1.00000001\"", "1e20", "\"x\""], n)
}

fn double(_: Flavour, n: u64) -> MadeValue {
    let number = (n % 1_000_000) as f64 / 8.0;
    value(format!("{number}"), format!("{number}"))
}

fn spoiled_double(_: Flavour, n: u64) -> Option<&'static str> {
    choose(
        &[
            "9007199254740993",
            "0.10000000000000000555",
            "1e400",
            "123456789.123456789123",
            "\"1,5\"",
        ],
        n,
    )
}

fn single(_: Flavour, n: u64) -> MadeValue {
    let number = (n % 4000) as f64 / 4.0;
    value(format!("{number}"), format!("{number}"))
}

fn spoiled_single(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["16777217", "0.123456789", "1e39", "3.14159265358979"], n)
}

const WORDS: [&str; 10] =
    ["", "a", "A", "jose", "jos\u{e9}", "JOS\u{c9}", "it's", "漢字", "😀", "a b"];

fn words(_: Flavour, n: u64) -> MadeValue {
    let word = choose(&WORDS, n).unwrap_or_default();
    let number = n / 10 % 50;
    if number < 25 { text(word) } else { text(&format!("{word}{number}")) }
}

fn padded_words(flavour: Flavour, n: u64) -> MadeValue {
    if n.is_multiple_of(5) { text(&format!("w{}  ", n % 7)) } else { words(flavour, n) }
}

fn spoiled_text(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"longer than twenty characters\"", "\"twenty characters!!!   \""], n)
}

fn spoiled_char(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"blank \"", "\"longer than twenty characters\"", "\" \""], n)
}

fn latin(_: Flavour, n: u64) -> MadeValue {
    text(&format!("é{}", n % 100))
}

fn spoiled_latin(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"漢\"", "\"😀\""], n)
}

fn bytes(_: Flavour, n: u64) -> MadeValue {
    let word = choose(&["", "a", "é\\u0000b", "\\\\x41", "it's"], n).unwrap_or_default();
    let raw: &[u8] = match n % 5 {
        0 => b"",
        1 => b"a",
        2 => "é\0b".as_bytes(),
        3 => b"\\x41",
        _ => b"it's",
    };
    let number = (n % 60).to_string();
    value(format!("\"{word}{number}\""), hex(&[raw, number.as_bytes()].concat()))
}

fn uuid_digits(n: u64) -> String {
    format!("018f2c3d{:024x}", n % 40)
}

fn spelled_uuid(n: u64) -> String {
    let digits = uuid_digits(n);
    let hyphens =
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
    match n % 3 {
        0 => format!("\"{}\"", hyphens.to_uppercase()),
        1 => format!("\"{digits}\""),
        _ => format!("\"{hyphens}\""),
    }
}

fn binary_uuid(_: Flavour, n: u64) -> MadeValue {
    value(spelled_uuid(n), uuid_digits(n).to_uppercase())
}

fn own_uuid(_: Flavour, n: u64) -> MadeValue {
    let digits = uuid_digits(n);
    let shown =
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
    value(spelled_uuid(n), shown)
}

fn spoiled_uuid(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"no uuid\"", "5", "\"018f2c3d\""], n)
}

fn day(n: u64) -> String {
    format!("2026-{:02}-{:02}", 1 + n % 12, 1 + n / 12 % 28)
}

fn date(_: Flavour, n: u64) -> MadeValue {
    text(&day(n))
}

fn spoiled_date(_: Flavour, n: u64) -> Option<&'static str> {
    choose(
        &[
            "\"2026-11-28 10:00:00\"",
            "20261128",
            "\"26-11-28\"",
            "\"2026-02-30\"",
            "\"2026-11-28T10:00\"",
        ],
        n,
    )
}

fn moment(flavour: Flavour, n: u64) -> MadeValue {
    let (date, hour, fraction) = (day(n), 10 + n % 10, n % 1000);
    let shown = match is_postgres(flavour) {
        // PostgreSQL shows no zeros at the end.
        true if fraction == 0 => format!("{date} {hour}:30:05"),
        true => format!("{date} {hour}:30:05.{}", format!("{fraction:03}").trim_end_matches('0')),
        false => format!("{date} {hour}:30:05.{fraction:03}"),
    };
    let separator = if n.is_multiple_of(2) { "T" } else { " " };
    value(format!("\"{date}{separator}{hour}:30:05.{fraction:03}00\""), shown)
}

fn spoiled_moment(_: Flavour, n: u64) -> Option<&'static str> {
    choose(
        &[
            "\"2026-11-28 10:00:00.0005\"",
            "\"2026-11-28 10:00:00+05:00\"",
            "20261128100000",
            "\"2026-11-28 25:00:00\"",
            "\"2026-11-28T10:00:00.1239Z\"",
            "\"2026-11-28 23:59:60\"",
            "\"2026-11-28 24:00:00\"",
        ],
        n,
    )
}

fn zoned(_: Flavour, n: u64) -> MadeValue {
    let (date, hour) = (day(n), 10 + n % 10);
    value(format!("\"{date}T{}:30:05+01:00\"", hour + 1), format!("{date} {hour}:30:05"))
}

fn spoiled_zoned(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"2026-11-28 10:00:00.0000005Z\"", "5", "\"now\"", "\"2026-02-30 10:00:00Z\""], n)
}

fn clock(_: Flavour, n: u64) -> MadeValue {
    let shown = format!("{:02}:{:02}:05", n % 24, n / 24 % 60);
    value(format!("\"{shown}.0\""), shown)
}

fn spoiled_clock(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"10:00:00.5\"", "\"100000\"", "\"2026-11-28 10:00:00\"", "5", "\"23:59:60\""], n)
}

fn year(_: Flavour, n: u64) -> MadeValue {
    let year = 1950 + n % 120;
    value(year.to_string(), year.to_string())
}

fn spoiled_year(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["26", "\"26\"", "0", "1800", "true", "\"0026\""], n)
}

fn label(_: Flavour, n: u64) -> MadeValue {
    text(choose(&["a", "B", "it's"], n).unwrap_or_default())
}

fn spoiled_label(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"A\"", "\"b\"", "1", "\"1\"", "\"c\"", "\"a \""], n)
}

fn labels(_: Flavour, n: u64) -> MadeValue {
    text(choose(&["", "x", "y", "x,y"], n).unwrap_or_default())
}

fn spoiled_labels(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"y,x\"", "\"X\"", "3", "\"x,x\""], n)
}

fn bits(_: Flavour, n: u64) -> MadeValue {
    value((n % 256).to_string(), (n % 256).to_string())
}

fn spoiled_bits(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"5\"", "1.5", "256", "-1"], n)
}

fn boolean(flavour: Flavour, n: u64) -> MadeValue {
    let is_true = n.is_multiple_of(2);
    let shown =
        if is_postgres(flavour) { is_true.to_string() } else { u8::from(is_true).to_string() };
    value(is_true.to_string(), shown)
}

fn spoiled_boolean(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"maybe\"", "1.5"], n)
}

fn document(flavour: Flavour, n: u64) -> MadeValue {
    let number = n % 90;
    // MariaDB keeps the text.
    let shown = if is_mariadb(flavour) {
        format!("{{\"a\":{number}}}")
    } else {
        format!("{{\"a\": {number}}}")
    };
    value(format!("{{\"a\":{number}}}"), shown)
}

fn spoiled_document(flavour: Flavour, n: u64) -> Option<&'static str> {
    let choices: &[&str] = match flavour {
        Flavour::Mariadb => &["\"no json\""],
        Flavour::Postgresql => &["\"no json\"", "\"{\\\"a\\\":1,\\\"a\\\":2}\""],
        _ => &["\"no json\"", "\"{\\\"a\\\":1,\\\"a\\\":2}\"", "[18446744073709551617]"],
    };
    choose(choices, n)
}

fn list(_: Flavour, n: u64) -> MadeValue {
    value(format!("\"{{ {}, 2 }}\"", n % 50), format!("{{{},2}}", n % 50))
}

fn address(_: Flavour, n: u64) -> MadeValue {
    text(&format!("10.0.0.{}", n % 200))
}

fn short_list(_: Flavour, n: u64) -> MadeValue {
    text(&format!("{{w{}}}", n % 10))
}

fn spoiled_short_list(_: Flavour, n: u64) -> Option<&'static str> {
    choose(&["\"{\\\"abc   \\\"}\"", "\"{longer}\""], n)
}

fn nothing(_: Flavour, _: u64) -> Option<&'static str> {
    None
}

/// All kinds.
pub(super) const INTEGER: Kind = Kind {
    name: "integer",
    sql: |f| by_family(f, Some("INT"), Some("INT")),
    shown: plain,
    make: integer,
    spoil: spoiled_integer,
    is_key: always,
};

/// A foreign key; there are ten parents.
pub(super) const PARENT: Kind = Kind {
    name: "parent",
    sql: |f| by_family(f, Some("INT"), Some("INT")),
    shown: plain,
    make: |_, n| value((n % 10).to_string(), (n % 10).to_string()),
    spoil: |_, n| choose(&["10", "-1", "2147483647"], n),
    is_key: never,
};

pub(super) const KINDS: [Kind; 29] = [
    INTEGER,
    Kind {
        name: "small",
        sql: |f| by_family(f, Some("SMALLINT"), Some("SMALLINT")),
        shown: plain,
        make: integer,
        spoil: spoiled_integer,
        is_key: always,
    },
    Kind {
        name: "big",
        sql: |f| by_family(f, Some("BIGINT"), Some("BIGINT")),
        shown: plain,
        make: integer,
        spoil: spoiled_integer,
        is_key: always,
    },
    Kind {
        name: "decimal",
        sql: |f| by_family(f, Some("DECIMAL(12,3)"), Some("NUMERIC(12,3)")),
        shown: plain,
        make: decimal,
        spoil: spoiled_decimal,
        is_key: always,
    },
    Kind {
        name: "double",
        sql: |f| by_family(f, Some("DOUBLE"), Some("DOUBLE PRECISION")),
        shown: plain,
        make: double,
        spoil: spoiled_double,
        is_key: always,
    },
    Kind {
        name: "single",
        sql: |f| by_family(f, Some("FLOAT"), Some("REAL")),
        shown: plain,
        make: single,
        spoil: spoiled_single,
        is_key: is_postgres,
    },
    Kind {
        name: "varchar",
        sql: |f| {
            by_family(
                f,
                Some("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
                Some("VARCHAR(20)"),
            )
        },
        shown: plain,
        make: words,
        spoil: spoiled_text,
        is_key: always,
    },
    Kind {
        name: "padded",
        sql: |f| {
            by_family(
                f,
                Some("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
                Some("VARCHAR(20)"),
            )
        },
        shown: plain,
        make: padded_words,
        spoil: spoiled_text,
        is_key: always,
    },
    Kind {
        name: "folded",
        sql: |f| {
            by_family(
                f,
                Some("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"),
                Some("VARCHAR(20) COLLATE folds"),
            )
        },
        shown: plain,
        make: words,
        spoil: spoiled_text,
        is_key: always,
    },
    Kind {
        name: "text",
        sql: |f| by_family(f, Some("TEXT CHARACTER SET utf8mb4"), Some("TEXT")),
        shown: plain,
        make: padded_words,
        spoil: nothing,
        is_key: is_postgres,
    },
    Kind {
        name: "char",
        sql: |f| by_family(f, Some("CHAR(20) CHARACTER SET utf8mb4"), Some("CHAR(20)")),
        shown: |f| if is_postgres(f) { "rtrim({})" } else { "{}" },
        make: words,
        spoil: spoiled_char,
        is_key: always,
    },
    Kind {
        name: "latin",
        sql: |f| by_family(f, Some("VARCHAR(20) CHARACTER SET latin1"), None),
        shown: plain,
        make: latin,
        spoil: spoiled_latin,
        is_key: always,
    },
    Kind {
        name: "gbk",
        sql: |f| by_family(f, Some("VARCHAR(20) CHARACTER SET gbk"), None),
        shown: plain,
        make: |_, n| text(&format!("漢{}", n % 50)),
        spoil: |_, n| choose(&["\"😀\""], n),
        is_key: never,
    },
    Kind {
        name: "bytes",
        sql: |f| by_family(f, Some("VARBINARY(60)"), Some("BYTEA")),
        shown: shows_bytes,
        make: bytes,
        spoil: nothing,
        is_key: always,
    },
    Kind {
        name: "binary uuid",
        sql: |f| by_family(f, Some("BINARY(16)"), None),
        shown: shows_bytes,
        make: binary_uuid,
        spoil: spoiled_uuid,
        is_key: always,
    },
    Kind {
        name: "uuid",
        sql: |f| match f {
            Flavour::Mariadb | Flavour::Postgresql => Some("UUID"),
            _ => None,
        },
        shown: plain,
        make: own_uuid,
        spoil: spoiled_uuid,
        is_key: always,
    },
    Kind {
        name: "date",
        sql: |f| by_family(f, Some("DATE"), Some("DATE")),
        shown: plain,
        make: date,
        spoil: spoiled_date,
        is_key: always,
    },
    Kind {
        name: "moment",
        sql: |f| by_family(f, Some("DATETIME(3)"), Some("TIMESTAMP(3)")),
        shown: plain,
        make: moment,
        spoil: spoiled_moment,
        is_key: always,
    },
    Kind {
        name: "stamp",
        sql: |f| by_family(f, Some("TIMESTAMP(3) NULL"), None),
        shown: |_| "CONVERT_TZ({}, @@time_zone, '+00:00')",
        make: moment,
        spoil: spoiled_moment,
        is_key: never,
    },
    Kind {
        name: "zoned",
        sql: |f| by_family(f, None, Some("TIMESTAMPTZ")),
        shown: |_| "{} AT TIME ZONE 'UTC'",
        make: zoned,
        spoil: spoiled_zoned,
        is_key: always,
    },
    Kind {
        name: "clock",
        sql: |f| by_family(f, Some("TIME"), Some("TIME(0)")),
        shown: plain,
        make: clock,
        spoil: spoiled_clock,
        is_key: always,
    },
    Kind {
        name: "year",
        sql: |f| by_family(f, Some("YEAR"), None),
        shown: plain,
        make: year,
        spoil: spoiled_year,
        is_key: always,
    },
    Kind {
        name: "label",
        sql: |f| by_family(f, Some("ENUM('a','B','it''s')"), Some("label")),
        shown: plain,
        make: label,
        spoil: |f, n| {
            if is_postgres(f) { choose(&["\"A\"", "\"c\""], n) } else { spoiled_label(f, n) }
        },
        is_key: always,
    },
    Kind {
        name: "labels",
        sql: |f| by_family(f, Some("SET('x','y')"), None),
        shown: plain,
        make: labels,
        spoil: spoiled_labels,
        is_key: always,
    },
    Kind {
        name: "bits",
        sql: |f| by_family(f, Some("BIT(8)"), None),
        shown: |_| "{}+0",
        make: bits,
        spoil: spoiled_bits,
        is_key: always,
    },
    Kind {
        name: "boolean",
        sql: |f| by_family(f, Some("TINYINT(1)"), Some("BOOLEAN")),
        shown: |f| if is_postgres(f) { "{}::text" } else { "{}" },
        make: boolean,
        spoil: spoiled_boolean,
        is_key: always,
    },
    Kind {
        name: "document",
        sql: |f| by_family(f, Some("JSON"), Some("JSONB")),
        shown: plain,
        make: document,
        spoil: spoiled_document,
        is_key: is_postgres,
    },
    Kind {
        name: "list",
        sql: |f| by_family(f, None, Some("INT[]")),
        shown: plain,
        make: list,
        spoil: nothing,
        is_key: always,
    },
    Kind {
        name: "address or short list",
        sql: |f| by_family(f, None, Some("VARCHAR(3)[]")),
        shown: plain,
        make: short_list,
        spoil: spoiled_short_list,
        is_key: never,
    },
];

/// Used where a column has a domain over another type.
pub(super) const DOMAIN: Kind = Kind {
    name: "domain",
    sql: |f| by_family(f, None, Some("addresses")),
    shown: plain,
    make: address,
    spoil: nothing,
    is_key: always,
};
