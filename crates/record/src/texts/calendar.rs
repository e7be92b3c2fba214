//! Dates as numbers, without a clock: the proleptic Gregorian calendar, in UTC, without leap
//! seconds.

const DAY_S: i64 = 86_400;

/// Days since 1970-01-01. By counting years from March, so that the leap day is the last of its
/// year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// Year, month and day, of days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Seconds since 1970-01-01 of `2024-02-29` or `2024-02-29 12:30:00`; `None` where the text is no
/// such time. The years 1000 to 9999, which is what servers promise to hold.
pub fn parse_time(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(digits);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let days = days_of(year, month, day);
    let is_date = (1000..=9999).contains(&year) && date_of(days) == (year, month, day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    (is_date && is_time).then_some(days * DAY_S + hour * 3_600 + minute * 60 + second)
}

fn digits(text: &str) -> Option<i64> {
    let fine = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if fine { text.parse().ok() } else { None }
}

/// Appends `2024-02-29` to `out`. `time_s` must lie in the years 1000 to 9999.
pub fn put_date(time_s: i64, out: &mut Vec<u8>) {
    let (year, month, day) = date_of(time_s.div_euclid(DAY_S));
    put_two(year / 100, out);
    put_two(year % 100, out);
    out.push(b'-');
    put_two(month, out);
    out.push(b'-');
    put_two(day, out);
}

/// Appends `2024-02-29 12:30:00` to `out`.
pub fn put_time(time_s: i64, out: &mut Vec<u8>) {
    put_date(time_s, out);
    let second = time_s.rem_euclid(DAY_S);
    for (mark, number) in [(b' ', second / 3_600), (b':', second / 60 % 60), (b':', second % 60)] {
        out.push(mark);
        put_two(number, out);
    }
}

fn put_two(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(time_s: i64) -> String {
        let mut out = Vec::new();
        put_time(time_s, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn known_times() {
        assert_eq!(parse_time("1970-01-01"), Some(0));
        assert_eq!(parse_time("2001-09-09 01:46:40"), Some(1_000_000_000));
        assert_eq!(parse_time("2024-02-29T00:00:01"), Some(1_709_164_801));
        assert_eq!(text(-1), "1969-12-31 23:59:59");
        assert_eq!(text(1_709_164_801), "2024-02-29 00:00:01");
    }

    #[test]
    fn every_day_comes_back() {
        let (first, last) = (parse_time("1000-01-01").unwrap(), parse_time("9999-12-31").unwrap());
        for day in (first / DAY_S..=last / DAY_S).step_by(13) {
            assert_eq!(parse_time(&text(day * DAY_S)), Some(day * DAY_S));
        }
    }

    #[test]
    fn what_is_no_time() {
        for wrong in [
            "",
            "2024",
            "2023-02-29",
            "2024-13-01",
            "2024-01-01 24:00:00",
            "2024-01-01 1:2",
            "0-1-1",
            "a-b-c",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}
