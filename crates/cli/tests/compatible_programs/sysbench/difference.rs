//! What two runs do not have in common, as text for people.

use std::fmt::Write;

use crate::sysbench::shapes::Shapes;

const LINES_SHOWN: usize = 14;

/// The lines between the common beginning and the common end.
pub(crate) fn of_lines(what: &str, reference: &[String], ours: &[String]) -> Option<String> {
    if reference == ours {
        return None;
    }
    let pairs = || reference.iter().zip(ours);
    let begin = pairs().take_while(|(a, b)| a == b).count();
    let longest_end = reference.len().min(ours.len()) - begin;
    let end = reference
        .iter()
        .rev()
        .zip(ours.iter().rev())
        .take(longest_end)
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = format!("  {what}, from line {}:\n", begin + 1);
    for (sign, lines) in [('-', reference), ('+', ours)] {
        for line in lines[begin..lines.len() - end].iter().take(LINES_SHOWN) {
            let _ = writeln!(text, "    {sign} {line}");
        }
    }
    Some(text)
}

/// Where counts vary, so does whether something had to be rolled back.
pub(crate) fn of_shapes(reference: &Shapes, ours: &Shapes, with_counts: bool) -> Option<String> {
    let mut text = String::new();
    let all = reference.keys().chain(ours.keys().filter(|shape| !reference.contains_key(*shape)));
    for shape in all {
        let [a, b] = [reference, ours].map(|shapes| shapes.get(shape).copied().unwrap_or_default());
        let is_chance = !with_counts && shape.ends_with(" ROLLBACK");
        let differs = if with_counts { a != b } else { (a == 0) != (b == 0) };
        if differs && !is_chance {
            let _ = writeln!(text, "    {a} times there, {b} times here: {shape}");
        }
    }
    (!text.is_empty()).then(|| format!("  statements:\n{text}"))
}

#[test]
fn the_common_ends_are_left_out() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of_lines("x", &lines("a b"), &lines("a b")), None);
    let text = of_lines("x", &lines("a b c d"), &lines("a e d")).unwrap();
    assert_eq!(text, "  x, from line 2:\n    - b\n    - c\n    + e\n");
    let text = of_lines("x", &lines("a a"), &lines("a a a")).unwrap();
    assert_eq!(text, "  x, from line 3:\n    + a\n");
}
