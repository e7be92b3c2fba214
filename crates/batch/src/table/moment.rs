//! Dates and times as text, in the one form that no server reads in two ways:
//! `2026-11-28 10:00:00.5`.

/// A date, a time of day, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentMoment<'a> {
    /// `2026-11-28`
    date: Option<&'a [u8]>,
    is_negative: bool,
    /// `10:00:00`; without seconds, they are zero.
    clock: Option<&'a [u8]>,
    /// Without zeros at the end.
    fraction: &'a [u8],
    /// `Z`, `+01:00`: it is for the server to read.
    zone: &'a [u8],
}

impl<'a> SentMoment<'a> {
    /// Reads `2026-11-28`, `10:00:00.5`, or both with a blank or a `T` between them, and a time
    /// zone at the end.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let (date, rest) = match take_date(text) {
            Some((date, rest)) => (Some(date), rest),
            None => (None, text),
        };
        let none = Self { date, is_negative: false, clock: None, fraction: &[], zone: &[] };
        match (date, rest) {
            (Some(_), []) => Some(none),
            (Some(_), [b' ' | b'T' | b't', clock @ ..]) => none.with_clock(clock, 2),
            (None, [b'-', clock @ ..]) => Self { is_negative: true, ..none }.with_clock(clock, 3),
            (None, clock) => none.with_clock(clock, 3),
            _ => None,
        }
    }

    fn with_clock(self, text: &'a [u8], hour_digits_max: usize) -> Option<Self> {
        let end =
            text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b':')).unwrap_or(text.len());
        let (clock, rest) = text.split_at(end);
        let mut parts = clock.split(|byte| *byte == b':');
        let hours = parts.next()?;
        let others: Vec<_> = parts.collect();
        // PostgreSQL takes 24:00:00 of a day, and a second 60, for the next day or minute.
        let is_clock = (1..=2).contains(&others.len())
            && others.iter().all(|part| part.len() == 2 && **part < b"60"[..]);
        let is_of_day = self.date.is_none() || *hours < b"24"[..];
        if !is_clock || !is_of_day || !(2..=hour_digits_max).contains(&hours.len()) {
            return None;
        }
        let (fraction, zone) = match rest {
            [b'.', rest @ ..] => rest.split_at(
                rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len()),
            ),
            rest => (&[][..], rest),
        };
        let kept = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        is_zone(zone).then_some(Self {
            clock: Some(clock),
            fraction: &fraction[..kept],
            zone,
            ..self
        })
    }

    pub(super) fn has_date(&self) -> bool {
        self.date.is_some()
    }

    pub(super) fn has_clock(&self) -> bool {
        self.clock.is_some()
    }

    pub(super) fn has_zone(&self) -> bool {
        !self.zone.is_empty()
    }

    pub(super) fn fraction_digits(&self) -> usize {
        self.fraction.len()
    }

    /// Appends the normal form; `with_clock`: a date alone is its midnight.
    pub(super) fn put(&self, with_clock: bool, out: &mut Vec<u8>) {
        let clock = self.clock.or(with_clock.then_some(b"00:00:00"));
        out.extend_from_slice(self.date.unwrap_or_default());
        let Some(clock) = clock else { return };
        if self.date.is_some() {
            out.push(b' ');
        }
        let is_zero =
            self.fraction.is_empty() && clock.iter().all(|byte| matches!(byte, b'0' | b':'));
        if self.is_negative && !is_zero {
            out.push(b'-');
        }
        // Hours of three digits may begin with a zero.
        out.extend_from_slice(if clock.first() == Some(&b'0') && clock.get(3) == Some(&b':') {
            &clock[1..]
        } else {
            clock
        });
        if clock.split(|byte| *byte == b':').count() == 2 {
            out.extend_from_slice(b":00");
        }
        if !self.fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(self.fraction);
        }
        out.extend_from_slice(self.zone);
    }
}

fn take_date(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (date, rest) = text.split_at_checked(b"2026-11-28".len())?;
    let is_date = date.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then_some((date, rest))
}

/// Nothing, `Z`, `+01`, `-01:30`, up to 15:59:59, which is the most that a server takes
fn is_zone(text: &[u8]) -> bool {
    match text {
        [] | [b'Z' | b'z'] => true,
        [b'+' | b'-', rest @ ..] => {
            let mut parts = rest.split(|byte| *byte == b':');
            (2..=8).contains(&rest.len())
                && *rest < b"16"[..]
                && parts.all(|part| {
                    part.len() == 2 && *part < b"60"[..] && part.iter().all(u8::is_ascii_digit)
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let mut out = Vec::new();
        SentMoment::parse(text.as_bytes()).map_or_else(
            || "none".to_owned(),
            |moment| {
                moment.put(true, &mut out);
                String::from_utf8(out).unwrap()
            },
        )
    }

    #[test]
    fn one_moment_has_one_form() {
        for text in
            ["2026-11-28 00:00:00", "2026-11-28", "2026-11-28T00:00", "2026-11-28 00:00:00.000"]
        {
            assert_eq!(normal(text), "2026-11-28 00:00:00", "{text}");
        }
        assert_eq!(normal("2026-11-28T10:00:00.120Z"), "2026-11-28 10:00:00.12Z");
        assert_eq!(normal("-012:30:00.50"), "-12:30:00.5");
        assert_eq!(normal("-00:00:00"), "00:00:00");
        assert_eq!(normal("838:59:59"), "838:59:59");
        assert_eq!(normal("24:00:00"), "24:00:00");
    }

    #[test]
    fn what_servers_read_in_several_ways_is_no_moment() {
        for text in [
            "",
            "20261128",
            "26-11-28",
            "2026-11-28x",
            "2026/11/28",
            "2026-11-28 ",
            "2026-11-28 1",
            "10",
            "10:0",
            "1:00",
            "2026-11-28 100:00:00",
            "10:00:00:00",
            "10:00:00 PM",
            "2026-11-28 10:00:00+1",
            "now",
            "2026-11-28 10:00:00.x",
            "10:00:60",
            "10:60",
            "2026-11-28 23:59:60",
            "2026-11-28 24:00:00",
            "2026-11-28 10:00:00+16",
            "2026-11-28 10:00:00+01:60",
        ] {
            assert_eq!(normal(text), "none", "{text}");
        }
    }
}
