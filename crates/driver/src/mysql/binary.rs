//! Values of the binary protocol as the text that the same server would send for them.

use std::io::Write as _;

use super::wire::PayloadReader;
use crate::DriverError;
use crate::result_sets::{BinaryColumn, ResultSets};

mod kind {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const NEWDATE: u8 = 14;
}

/// The decimals of a floating point column without fixed decimals.
const DECIMALS_NOT_FIXED: u8 = 31;
/// The digits of a FLOAT that servers print.
const FLOAT_DIGITS: usize = 6;
const MICROSECOND_DIGITS: u8 = 6;

/// Reads a value that is not NULL and appends its text.
pub(super) fn put_value(
    sets: &mut ResultSets,
    column: BinaryColumn,
    reader: &mut PayloadReader<'_>,
) -> Result<(), DriverError> {
    match column.kind {
        kind::TINY => put_integer(sets, column, reader, 1)?,
        kind::SHORT => put_integer(sets, column, reader, 2)?,
        // Three bytes of data in four.
        kind::LONG | kind::INT24 => put_integer(sets, column, reader, 4)?,
        kind::LONGLONG => put_integer(sets, column, reader, 8)?,
        kind::YEAR => {
            let year = reader.uint(2)?;
            sets.value_with(|out| put(out, format_args!("{year:04}")));
        }
        kind::FLOAT => {
            let number = f32::from_bits(reader.uint(4)? as u32);
            put_real(sets, column, f64::from(number), Some(FLOAT_DIGITS));
        }
        kind::DOUBLE => put_real(sets, column, f64::from_bits(reader.uint(8)?), None),
        kind::DATE | kind::NEWDATE => put_date(sets, column, reader, false)?,
        kind::DATETIME | kind::TIMESTAMP => put_date(sets, column, reader, true)?,
        kind::TIME => put_time(sets, column, reader)?,
        kind::NULL => {
            return Err(DriverError::Protocol("a value of the type NULL that is not NULL"));
        }
        // DECIMAL, strings, BIT, JSON, ENUM, GEOMETRY...: bytes with a length, the same as in text.
        _ => {
            let bytes = reader.lenenc_bytes()?;
            sets.value(Some(bytes.ok_or(DriverError::Protocol("NULL where a value is expected"))?));
        }
    }
    Ok(())
}

/// Writing to a vector cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn put_integer(
    sets: &mut ResultSets,
    column: BinaryColumn,
    reader: &mut PayloadReader<'_>,
    bytes: usize,
) -> Result<(), DriverError> {
    let value = reader.uint(bytes)?;
    let width = usize::from(column.zerofill);
    sets.value_with(|out| {
        if column.is_unsigned {
            put(out, format_args!("{value:0width$}"));
        } else {
            let unused = 64 - 8 * bytes as u32;
            put(out, format_args!("{:0width$}", (value << unused) as i64 >> unused));
        }
    });
    Ok(())
}

/// `digits`: the maximum of significant ones; `None` for as many as are needed to read the same
/// number back.
fn put_real(sets: &mut ResultSets, column: BinaryColumn, number: f64, digits: Option<usize>) {
    let BinaryColumn { decimals, zerofill, .. } = column;
    sets.value_with(|out| {
        let start = out.len();
        if decimals < DECIMALS_NOT_FIXED {
            put(out, format_args!("{number:.*}", usize::from(decimals)));
        } else {
            put_shortest(out, number, digits);
        }
        let missing = usize::from(zerofill).saturating_sub(out.len() - start);
        if missing > 0 {
            out.splice(start..start, std::iter::repeat_n(b'0', missing));
        }
    });
}

/// Without an exponent if there are digits after the point, or at most 15 before it; and at most 14
/// trailing zeros.
fn put_shortest(out: &mut Vec<u8>, number: f64, digits: Option<usize>) {
    /// From this length on, there may be two shortest texts, equally near.
    const TIE_BYTES: usize = 17;
    let number = digits.map_or(number, |digits| rounded(number, digits));
    let (start, size) = (out.len(), number.abs());
    let is_plain =
        size == 0.0 || (1e-15..1e15).contains(&size) || (size >= 1e15 && number.fract() != 0.0);
    if is_plain {
        put(out, format_args!("{number}"));
    } else {
        put(out, format_args!("{number:e}"));
    }
    // Of two, servers choose the even one, as rounding to a number of digits does.
    let text = &out[start..];
    if text.len() >= TIE_BYTES
        && let Some(point) = text.iter().position(|byte| *byte == b'.')
    {
        let behind = text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        out.truncate(start);
        if is_plain {
            put(out, format_args!("{number:.behind$}"));
        } else {
            put(out, format_args!("{number:.behind$e}"));
        }
    }
}

/// The number of so many digits that is next to this one.
fn rounded(number: f64, digits: usize) -> f64 {
    let mut text = [0_u8; 32];
    let mut rest = &mut text[..];
    let written = write!(rest, "{number:.*e}", digits - 1);
    let length = 32 - rest.len();
    let parsed =
        written.ok().and_then(|()| std::str::from_utf8(&text[..length]).ok()?.parse().ok());
    parsed.unwrap_or(number)
}

/// Year, month, day, hour, minute, second and microseconds. Trailing parts that are zero are not
/// sent.
fn put_date(
    sets: &mut ResultSets,
    column: BinaryColumn,
    reader: &mut PayloadReader<'_>,
    has_time: bool,
) -> Result<(), DriverError> {
    let length = reader.u8()?;
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(DriverError::Protocol("a date with an impossible length"));
    }
    let (year, month, day) =
        if length >= 4 { (reader.uint(2)?, reader.u8()?, reader.u8()?) } else { (0, 0, 0) };
    let (hour, minute, second) =
        if length >= 7 { (reader.u8()?, reader.u8()?, reader.u8()?) } else { (0, 0, 0) };
    let microseconds = if length == 11 { reader.uint(4)? } else { 0 };
    sets.value_with(|out| {
        put(out, format_args!("{year:04}-{month:02}-{day:02}"));
        if has_time {
            put(out, format_args!(" {hour:02}:{minute:02}:{second:02}"));
            put_fraction(out, microseconds, column.decimals);
        }
    });
    Ok(())
}

/// Sign, days, hours, minutes, seconds and microseconds; the hours of the text go on beyond 24.
fn put_time(
    sets: &mut ResultSets,
    column: BinaryColumn,
    reader: &mut PayloadReader<'_>,
) -> Result<(), DriverError> {
    let length = reader.u8()?;
    if !matches!(length, 0 | 8 | 12) {
        return Err(DriverError::Protocol("a time with an impossible length"));
    }
    let (is_negative, days) =
        if length > 0 { (reader.u8()? != 0, reader.uint(4)?) } else { (false, 0) };
    let (hour, minute, second) =
        if length > 0 { (reader.u8()?, reader.u8()?, reader.u8()?) } else { (0, 0, 0) };
    let microseconds = if length == 12 { reader.uint(4)? } else { 0 };
    let hours = days * 24 + u64::from(hour);
    sets.value_with(|out| {
        let sign = if is_negative { "-" } else { "" };
        put(out, format_args!("{sign}{hours:02}:{minute:02}:{second:02}"));
        put_fraction(out, microseconds, column.decimals);
    });
    Ok(())
}

/// As many digits of the second as the column has. If that is not fixed: all digits, or none if
/// they are zero.
fn put_fraction(out: &mut Vec<u8>, microseconds: u64, decimals: u8) {
    let digits = match decimals {
        0 => return,
        1..=MICROSECOND_DIGITS => u32::from(decimals),
        _ if microseconds == 0 => return,
        _ => u32::from(MICROSECOND_DIGITS),
    };
    let fraction = microseconds / 10_u64.pow(u32::from(MICROSECOND_DIGITS) - digits);
    put(out, format_args!(".{fraction:0width$}", width = digits as usize));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a value; `decimals` and `zerofill` as the column has them.
    fn read(
        kind: u8,
        is_unsigned: bool,
        decimals: u8,
        zerofill: u8,
        bytes: &[u8],
    ) -> Result<String, DriverError> {
        let column = BinaryColumn { kind, decimals, is_unsigned, zerofill };
        let (mut sets, mut reader) = (ResultSets::default(), PayloadReader::new(bytes));
        sets.open(1);
        put_value(&mut sets, column, &mut reader)?;
        assert!(reader.rest().is_empty());
        let value = sets.get(0).unwrap().values().next().unwrap().unwrap();
        Ok(String::from_utf8(value.to_vec()).unwrap())
    }

    #[test]
    fn integers() {
        let check = |kind, bytes: &[u8], signed: &str, unsigned: &str| {
            assert_eq!(read(kind, false, 0, 0, bytes).unwrap(), signed);
            assert_eq!(read(kind, true, 0, 0, bytes).unwrap(), unsigned);
        };
        check(kind::TINY, &[0x80], "-128", "128");
        check(kind::SHORT, &[0xff, 0x7f], "32767", "32767");
        check(kind::INT24, &[0, 0, 0x80, 0xff], "-8388608", "4286578688");
        check(kind::LONG, &[0xff; 4], "-1", "4294967295");
        check(kind::LONGLONG, &[0xff; 8], "-1", "18446744073709551615");
        assert_eq!(read(kind::LONG, true, 0, 6, &[42, 0, 0, 0]).unwrap(), "000042");
        assert_eq!(read(kind::YEAR, true, 0, 4, &[0, 0]).unwrap(), "0000");
    }

    #[test]
    fn floating_point() {
        let double = |number: f64, decimals, zerofill| {
            read(kind::DOUBLE, false, decimals, zerofill, &number.to_le_bytes()).unwrap()
        };
        let check = |number: f64, expect: &str| assert_eq!(double(number, 31, 0), expect);
        check(0.1, "0.1");
        check(-0.0, "-0");
        check(1e14, "100000000000000");
        check(1e15, "1e15");
        check(1.5e-15, "0.0000000000000015");
        check(1e-16, "1e-16");
        check(1.797_693_134_862_315_7e308, "1.7976931348623157e308");
        // As near to the one below as to the one above.
        check(7_205_759_403_792_794.0 / 8.0, "900719925474099.2");
        check(1_234_567_890_123_456.8, "1234567890123456.8");
        assert_eq!(double(-0.005, 2, 0), "-0.01");
        assert_eq!(double(1.5, 31, 6), "0001.5");
        let float = |number: f32, decimals| {
            read(kind::FLOAT, false, decimals, 0, &number.to_le_bytes()).unwrap()
        };
        assert_eq!(
            (float(0.1, 31), float(16_777_216.0, 31)),
            ("0.1".to_owned(), "16777200".to_owned())
        );
        assert_eq!((float(3.4e38, 39), float(1.25, 3)), ("3.4e38".to_owned(), "1.250".to_owned()));
        // No server has these; any text will do.
        assert_eq!(
            (double(f64::NAN, 31, 0), double(f64::INFINITY, 2, 0)),
            ("NaN".to_owned(), "inf".to_owned())
        );
    }

    #[test]
    fn dates_and_times() {
        let check = |kind, decimals, bytes: &[u8], expect: &str| {
            assert_eq!(read(kind, false, decimals, 0, bytes).unwrap(), expect);
        };
        check(kind::DATE, 0, &[0], "0000-00-00");
        check(kind::DATE, 0, &[4, 0xe8, 7, 2, 29], "2024-02-29");
        check(kind::DATETIME, 0, &[4, 0xe8, 7, 2, 29], "2024-02-29 00:00:00");
        check(kind::DATETIME, 3, &[0], "0000-00-00 00:00:00.000");
        check(
            kind::TIMESTAMP,
            3,
            &[11, 0xe8, 7, 2, 29, 1, 2, 3, 0x40, 0xe2, 1, 0],
            "2024-02-29 01:02:03.123",
        );
        check(kind::DATETIME, 6, &[7, 0xe8, 7, 2, 29, 1, 2, 3], "2024-02-29 01:02:03.000000");
        check(kind::TIME, 0, &[0], "00:00:00");
        check(kind::TIME, 0, &[8, 1, 34, 0, 0, 0, 22, 59, 59], "-838:59:59");
        check(kind::TIME, 39, &[12, 0, 0, 0, 0, 0, 1, 2, 3, 1, 0, 0, 0], "01:02:03.000001");
        check(
            kind::TIME,
            6,
            &[12, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            "103079215335:255:255.4294967295",
        );
    }

    #[test]
    fn hostile_values_are_errors() {
        for (kind, bytes) in [
            (kind::TINY, &b""[..]),
            (kind::LONG, &[0; 3]),
            (kind::DOUBLE, &[0; 7]),
            (kind::DATE, &[1, 0]),
            (kind::DATE, &[4, 0, 0, 0]),
            (kind::DATETIME, &[11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (kind::TIME, &[12, 0, 0, 0]),
            (kind::TIME, &[7, 0, 0, 0, 0, 0, 0, 0]),
            (kind::NULL, b""),
            (253, &[5, b'a']),
            (253, &[0xfb]),
            (253, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        ] {
            assert!(read(kind, false, 0, 0, bytes).is_err(), "{kind} {bytes:?}");
        }
    }
}
