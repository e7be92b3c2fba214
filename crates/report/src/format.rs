//! Numbers in readable form. All conversions of figures to text, with their units, are here.

use std::time::Duration;

use truetps_analysis::{Figure, FigureUnit, Judgement, Verdict};
use truetps_record::Estimate;

/// The sign for an absent value.
pub const NOTHING: &str = "–";

/// Intervals narrower than this are shown as `±4.2 %`, wider ones by their ends: a wide interval of
/// a ratio is not symmetric, and `±80 %` would claim that it is.
const SYMMETRIC_UP_TO: f64 = 0.2;

/// A word of a command as a shell reads it: in single quotes, unless it is plain.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
    {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `2159`→`2 159`: a plain space between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for at in (first..digits.len()).step_by(3) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&digits[at..at + 3]);
    }
    text
}

/// A larger number cannot be a figure of a run, and most of its digits would be invented.
const WHOLE_MAX: f64 = 1e15;

/// A figure without decimals: `2 159`, `-12`.
pub fn whole(value: f64) -> String {
    if value.is_nan() {
        return NOTHING.to_owned();
    }
    let rounded = value.round();
    let sign = if rounded < 0.0 { "-" } else { "" };
    let size = rounded.abs();
    if size > WHOLE_MAX {
        format!("{sign}over {}", count(WHOLE_MAX as u64))
    } else {
        format!("{sign}{}", count(size as u64))
    }
}

/// Four significant digits: `17.61`, `802.3`, `5 230`, `12 350`; at most three decimals.
pub fn tps(value: f64) -> String {
    const DIGITS: i32 = 4;
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0" } else { NOTHING }.to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(DIGITS - 1 - magnitude);
    let rounded = (value * scale).round() / scale;
    // 999.96 becomes 1000: one digit more before the point, one less after it.
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 3) as usize;
    if decimals == 0 { whole(rounded) } else { format!("{rounded:.decimals$}") }
}

/// Throughput with its interval: `5 230 ±4.2 %`, `5 230 [3 900, 7 010]`; one observation is called
/// that.
pub fn tps_estimate(estimate: &Estimate) -> String {
    let value = tps(estimate.value);
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            let half = (estimate.value - low).max(high - estimate.value) / estimate.value;
            if half <= SYMMETRIC_UP_TO {
                format!("{value} ±{}", percent(half))
            } else {
                format!("{value} [{}, {}]", tps(low), tps(high))
            }
        }
        _ => format!("{value} ({})", without_interval(estimate, "trial")),
    }
}

/// Why an estimate has no interval: `1 trial`, `3 trials, too far apart for an interval`.
fn without_interval(estimate: &Estimate, what: &str) -> String {
    let n = plural(estimate.n as u64, what);
    if estimate.n > 1 && estimate.value > 0.0 {
        format!("{n}, too far apart for an interval")
    } else {
        n
    }
}

/// `1 trial`, `3 trials`.
pub fn trials(n: usize) -> String {
    plural(n as u64, "trial")
}

/// `1 block`, `1 200 rows`.
pub fn plural(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{} {word}s", count(n)) }
}

/// A rate or a number chosen by the user: all of its digits, `1 000`, `2.5`.
pub fn rate(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < WHOLE_MAX { whole(value) } else { value.to_string() }
}

/// `1 retry`, `10 retries`.
pub fn retries(n: u32) -> String {
    if n == 1 { "1 retry".to_owned() } else { format!("{} retries", count(n.into())) }
}

/// A time with the unit that suits it, three significant digits: `812 µs`, `4.12 ms`, `2.30 s`.
pub fn duration_us(us: f64) -> String {
    // The bounds are where three digits would round up to the next unit.
    if us < 999.5 {
        format!("{} µs", three_digits(us))
    } else if us < 999_500.0 {
        format!("{} ms", three_digits(us / 1e3))
    } else {
        format!("{} s", three_digits(us / 1e6))
    }
}

/// How long something takes, in two units at most: `8 s`, `2 min 5 s`, `1 h 20 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => two_units((seconds / 60, "min"), (seconds % 60, "s")),
        _ => two_units((seconds / 3600, "h"), (seconds % 3600 / 60, "min")),
    }
}

fn two_units((large, large_unit): (u64, &str), (small, small_unit): (u64, &str)) -> String {
    match small {
        0 => format!("{} {large_unit}", count(large)),
        _ => format!("{} {large_unit} {small} {small_unit}", count(large)),
    }
}

/// A figure of the table with its unit: `4.12 ms`, `512 B`, `0.0102`.
pub fn figure(figure: Figure, value: f64) -> String {
    match figure.unit() {
        FigureUnit::Us if figure.is_cost() && value == 0.0 => "0 µs".to_owned(),
        FigureUnit::Us => duration_us(value),
        FigureUnit::Ms => duration_us(value * 1e3),
        FigureUnit::Bytes if value < 99.5 => format!("{value:.1} B"),
        FigureUnit::Bytes => bytes(value.round() as u64),
        FigureUnit::Count if !figure.is_cost() => whole(value),
        FigureUnit::Count if value > 0.0 && value < 0.001 => format!("{value:.1e}"),
        FigureUnit::Count | FigureUnit::PerSecond => tps(value),
        FigureUnit::Share => percent(value),
        FigureUnit::Ratio if figure == Figure::BoundFreeGenerator => bound(value),
        FigureUnit::Ratio => ratio(value),
    }
}

/// One ratio with its interval, or the smallest and the largest of several; `None` for none.
pub(crate) fn ratio_range(ratios: &[Estimate]) -> Option<String> {
    let values = ratios.iter().map(|one| one.value);
    let (low, high) = (values.clone().reduce(f64::min)?, values.reduce(f64::max)?);
    Some(match ratios {
        [one] => ratio_estimate(one),
        _ => format!("{} to {}", ratio(low), ratio(high)),
    })
}

/// A figure with its unit, or the sign for an absent value.
pub fn figure_or_nothing(which: Figure, value: Option<f64>) -> String {
    or_nothing(value, |value| figure(which, value))
}

/// Heads of columns beside each other: a kind of time (`response`, `service`) is named once.
pub(crate) fn column_heads(figures: &[Figure]) -> Vec<&'static str> {
    let heads = figures.iter().enumerate().map(|(index, figure)| {
        let before = index.checked_sub(1).and_then(|before| kind_of_time(figures[before]));
        if before.is_some() && before == kind_of_time(*figure) {
            short_name(*figure)
        } else {
            figure.name()
        }
    });
    heads.collect()
}

/// `response` of `response p99`.
fn kind_of_time(figure: Figure) -> Option<&'static str> {
    figure.name().split_once(' ').map(|(kind, _)| kind)
}

/// Head of a column of the main table, where a time is a response time.
pub(crate) fn main_head(figure: Figure) -> &'static str {
    figure.name().strip_prefix("response ").unwrap_or(figure.name())
}

/// The name without its first word: `p99` of `response p99`.
pub(crate) fn short_name(figure: Figure) -> &'static str {
    figure.name().split_once(' ').map_or(figure.name(), |(_, name)| name)
}

/// Larger values are shown as more than this: an interval of two trials may have any end.
const RATIO_MAX: f64 = 1e6;

/// `×2.31`, `×1.012`: three decimals near 1, where they matter.
pub fn ratio(value: f64) -> String {
    if value > RATIO_MAX {
        format!("over ×{}", ratio_digits(RATIO_MAX))
    } else {
        format!("×{}", ratio_digits(value))
    }
}

/// `×1.43`: not more digits than trials of one configuration have in common.
pub(crate) fn bound(value: f64) -> String {
    format!("×{value:.2}")
}

/// The first letters of a hash, enough to distinguish texts.
pub fn short_hash(hash: &str) -> &str {
    const SHOWN: usize = 12;
    hash.get(..SHOWN).unwrap_or(hash)
}

/// How often something happens in a transaction, three significant digits and no more than three
/// decimals: `2.00`, `0.031`, `0.000`.
pub fn per_tx(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 {
        whole(value)
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// `×2.31 [2.10, 2.54]`; `×2.31 (1 block)` where there is no interval.
pub fn ratio_estimate(estimate: &Estimate) -> String {
    ratio_estimate_of(estimate, "block")
}

/// A ratio with its interval, or with a count of `trial`s or another noun: `×2.31 (1 trial)`.
pub fn ratio_estimate_of(estimate: &Estimate, what: &str) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", ratio(estimate.value), ratio_digits(low), ratio_digits(high))
        }
        _ => format!("{} ({})", ratio(estimate.value), without_interval(estimate, what)),
    }
}

/// A ratio as a difference, with its sign: 0.988 → `-1.2 %`. From a thousand times on it is a
/// factor, not a percentage.
pub fn difference(ratio: f64) -> String {
    const MANY: f64 = 1000.0;
    if ratio > MANY {
        return format!("over ×{}", ratio_digits(MANY));
    }
    let change = ratio - 1.0;
    let sign = if change < 0.0 { '-' } else { '+' };
    format!("{sign}{}", percent(change.abs()))
}

/// `-1.2 % [-3.0 %, +0.7 %]`; the value alone where there is one trial.
pub fn difference_estimate(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", difference(estimate.value), difference(low), difference(high))
        }
        _ if estimate.n > 1 => {
            format!("{} ({})", difference(estimate.value), without_interval(estimate, "trial"))
        }
        _ => difference(estimate.value),
    }
}

/// The smallest detectable effect: `4.2 %`, `a factor of 1 000`.
pub fn effect(share: f64) -> String {
    const FACTOR: f64 = 1000.0;
    if share + 1.0 >= FACTOR * 0.999 {
        format!("a factor of {}", whole(FACTOR))
    } else {
        percent(share)
    }
}

/// A smallest detectable effect, in both directions, which are equally far on logarithms:
/// `+27 % or −21 %`.
pub fn detectable(share: f64) -> String {
    const FACTOR: f64 = 10.0;
    let factor = share + 1.0;
    if factor >= FACTOR {
        return format!("a factor of {}", whole(factor));
    }
    format!("+{} or −{}", percent(share), percent(1.0 - 1.0 / factor))
}

/// The standard deviation of the logarithm of one trial: `±6.2 %`, and from a quarter on
/// `a factor of 2.44`, as no trial falls by 144 %.
pub fn scatter(sd: f64) -> String {
    const FACTOR: f64 = 1.25;
    let factor = sd.exp();
    if factor < FACTOR {
        format!("±{}", percent(factor - 1.0))
    } else {
        format!("a factor of {factor:.2}")
    }
}

/// What may be claimed of a figure.
pub fn change_word(change: Judgement) -> &'static str {
    match change {
        Judgement::Higher => "higher",
        Judgement::Lower => "lower",
        Judgement::Equivalent => "equivalent",
        Judgement::NotEnoughData { .. } => "not enough data",
    }
}

/// A share in percent, two significant digits: `0.42 %`, `4.2 %`, `12 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        NOTHING.to_owned()
    } else if percent >= 9.95 {
        format!("{} %", whole(percent))
    } else if percent >= 0.995 || percent == 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// `4.0 GiB`.
pub fn bytes(value: u64) -> String {
    let mut size = value as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or("B");
    for larger in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if unit == "B" { format!("{value} B") } else { format!("{size:.1} {unit}") }
}

/// The verdict in words: `faster`, `not enough data (about 4 more blocks)`.
pub fn verdict(verdict: Verdict) -> String {
    let word = verdict_word(verdict);
    verdict
        .more_blocks()
        .map_or_else(|| word.to_owned(), |more| format!("{word} ({})", more_blocks(more)))
}

pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::NotEnoughData { .. } => "not enough data",
    }
}

/// How many more blocks a comparison needs: `about 4 more blocks`. Beyond a feasible number of
/// blocks the number itself is useless.
pub fn more_blocks(more: u32) -> String {
    const WORTH_SAYING_MAX: u32 = 100;
    if more > WORTH_SAYING_MAX {
        return format!("more than {WORTH_SAYING_MAX} more blocks");
    }
    format!("about {}", plural(more.into(), "more block"))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// The text of a value, or the sign for an absent one.
pub fn or_nothing<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), text)
}

/// The text, or the sign for an absent value.
pub(crate) fn text_or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| NOTHING.to_owned())
}

/// The end of a list that is cut off.
pub(crate) fn and_more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(" and {n} more") }
}

/// The parts with `separator` between them; `None` where there is none.
pub(crate) fn joined(parts: impl IntoIterator<Item = String>, separator: &str) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().collect();
    (!parts.is_empty()).then(|| parts.join(separator))
}

/// The arithmetic mean; `None` where there is no value.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn three_digits(value: f64) -> String {
    if value >= 99.95 {
        whole(value)
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn ratio_digits(value: f64) -> String {
    if value > RATIO_MAX {
        format!("over {}", count(RATIO_MAX as u64))
    } else if value >= 99.95 {
        whole(value)
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else if value >= 1.9995 {
        format!("{value:.2}")
    } else if value >= 0.01 || value == 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell reads each word as it was.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a shell is asked")]
    fn a_shell_reads_a_word_as_it_is() {
        for word in
            ["plain/a-b_c.1=2", "", "it's", "a b", "$(id)", "a;b", "-n\n`x`", "~", "*", "数"]
        {
            let echo = format!("printf %s {}", shell_word(word));
            let said = std::process::Command::new("sh").args(["-c", &echo]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }

    /// e^0.06 = 1.062, e^0.22 = 1.246 and e^0.892 = 2.44.
    #[test]
    fn scatter_of_one_trial() {
        let said = [0.06, 0.22, 0.892].map(|sd| scatter(sd).replace('\u{a0}', " "));
        assert_eq!(said, ["±6.2 %", "±25 %", "a factor of 2.44"]);
    }

    #[test]
    fn throughput() {
        let check = |value, expect| assert_eq!(tps(value), expect);
        check(0.0, "0");
        check(0.05, "0.050");
        check(1.7, "1.700");
        check(17.614, "17.61");
        check(802.34, "802.3");
        check(999.96, "1 000");
        check(5230.4, "5 230");
        check(12_345.0, "12 350");
        check(1_234_567.0, "1 235 000");
    }

    #[test]
    fn intervals() {
        let check = |value, low, high, expect| {
            assert_eq!(tps_estimate(&Estimate { value, low, high, n: 3 }), expect);
        };
        check(5230.0, Some(5030.0), Some(5450.0), "5 230 ±4.2 %");
        check(5230.0, Some(2000.0), Some(13_700.0), "5 230 [2 000, 13 700]");
        check(5230.0, None, None, "5 230 (3 trials, too far apart for an interval)");
        check(0.0, None, None, "0 (3 trials)");
    }

    #[test]
    fn no_integer_is_saturated() {
        assert_eq!(
            (whole(2159.4), whole(-12.0), whole(-0.2)),
            ("2 159".into(), "-12".into(), "0".into())
        );
        let most = "over 1 000 000 000 000 000";
        assert_eq!(
            (tps(4.5e21), percent(1e30), per_tx(1e40)),
            (most.into(), format!("{most} %"), most.into())
        );
        assert_eq!((duration_us(1e40), rate(-5.0)), (format!("{most} s"), "-5".to_owned()));
        assert_eq!(tps(-1234.0), "-1 234");
        for figure in [f64::NAN, f64::INFINITY] {
            assert_eq!((tps(figure).as_str(), percent(figure).as_str()), (NOTHING, NOTHING));
        }
        assert_eq!(
            (effect(0.042), effect(999.0)),
            ("4.2 %".to_owned(), "a factor of 1 000".to_owned())
        );
        let apart = Estimate { value: 1.25, low: None, high: None, n: 2 };
        assert_eq!(difference_estimate(&apart), "+25 % (2 trials, too far apart for an interval)");
    }

    #[test]
    fn times() {
        let check = |us, expect| assert_eq!(duration_us(us), expect);
        check(0.256, "0.26 µs");
        check(84.0, "84.0 µs");
        check(812.0, "812 µs");
        check(999.7, "1.00 ms");
        check(4123.0, "4.12 ms");
        check(836_000.0, "836 ms");
        check(2_300_000.0, "2.30 s");
        check(3_600_000_000.0, "3 600 s");
    }

    #[test]
    fn ratios_and_shares() {
        let check = |value, expect| assert_eq!(ratio(value), expect);
        check(1.0123, "×1.012");
        check(0.4567, "×0.457");
        check(2.3149, "×2.31");
        check(28.44, "×28.4");
        check(432.5, "×433");
        check(0.000_31, "×3.1e-4");
        let check = |share, expect| assert_eq!(percent(share), expect);
        check(0.0, "0.0 %");
        check(0.0042, "0.42 %");
        check(0.042, "4.2 %");
        check(0.0999, "10 %");
        check(12.3, "1 230 %");
        assert_eq!(difference(0.988), "-1.2 %");
        assert_eq!(difference(1.25), "+25 %");
        assert_eq!(
            (difference(90.0).as_str(), difference(1e16).as_str()),
            ("+8 900 %", "over ×1 000")
        );
        assert_eq!(ratio(1e16), "over ×1 000 000");
    }

    #[test]
    fn words() {
        assert_eq!(count(1_000), "1 000");
        assert_eq!(count(100), "100");
        assert_eq!((rate(12_345.0), rate(0.5)), ("12 345".to_owned(), "0.5".to_owned()));
        assert_eq!(bytes(4 << 30), "4.0 GiB");
        assert_eq!(bytes(100), "100 B");
        assert_eq!(
            verdict(Verdict::NotEnoughData { more_blocks: Some(1) }),
            "not enough data (about 1 more block)"
        );
        assert_eq!(
            verdict(Verdict::NotEnoughData { more_blocks: Some(4) }),
            "not enough data (about 4 more blocks)"
        );
        assert_eq!(more_blocks(486), "more than 100 more blocks");
        assert_eq!(list(&["1", "8", "50"]), "1, 8 and 50");
    }

    #[test]
    fn figures_have_their_unit() {
        let check = |of, value, expect: &str| assert_eq!(figure(of, value), expect);
        check(Figure::RowLockTime, 61.0, "61.0 µs");
        check(Figure::RowLockTime, 0.0, "0 µs");
        check(Figure::RedoBytes, 512.3, "512 B");
        check(Figure::RedoBytes, 3.25, "3.2 B");
        check(Figure::RedoSyncs, 1.0213, "1.021");
        check(Figure::RedoSyncs, 0.0, "0");
        check(Figure::RedoSyncs, 0.000_12, "1.2e-4");
        check(Figure::Queued, 1200.0, "1 200");
        check(Figure::MaxGap, 1800.0, "1.80 s");
        check(Figure::Steal, 0.042, "4.2 %");
    }

    #[test]
    fn a_kind_of_time_is_named_once() {
        let heads = column_heads(&[
            Figure::ServiceP50,
            Figure::ServiceMax,
            Figure::LagP50,
            Figure::Skipped,
        ]);
        assert_eq!(heads, ["service p50", "max", "lag p50", "skipped"]);
    }
}
