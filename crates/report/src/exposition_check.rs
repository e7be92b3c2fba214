//! A strict reader of the text format of Prometheus, version 0.0.4, for tests: it refuses what its
//! grammar does not have, and what a server or the textfile collector would refuse.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(crate) struct ParsedFamily {
    pub(crate) kind: String,
    pub(crate) samples: Vec<ParsedSample>,
}

#[derive(Debug)]
pub(crate) struct ParsedSample {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// Every line is `# HELP`, then `# TYPE`, then the samples of that family; no family comes twice,
/// and no sample of it.
pub(crate) fn parsed(text: &str) -> BTreeMap<String, ParsedFamily> {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no end");
    let mut families: BTreeMap<String, ParsedFamily> = BTreeMap::new();
    let mut lines = text.split_terminator('\n').peekable();
    while let Some(line) = lines.next() {
        let (name, help) =
            line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')).expect(line);
        assert!(is_metric_name(name) && !help.is_empty(), "{line}");
        assert_escapes(help, &['\\', 'n']);
        let kind_line = lines.next().expect("a type");
        let kind = kind_line.strip_prefix(&format!("# TYPE {name} ")).expect(kind_line);
        assert!(["gauge", "counter"].contains(&kind), "{kind_line}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{kind_line}");
        let (mut samples, mut known) = (Vec::new(), BTreeSet::new());
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (found, sample) = sample(line);
            assert_eq!(found, name, "a sample stands below another family");
            assert!(known.insert(sample.labels.clone()), "twice: {line}");
            samples.push(sample);
        }
        assert!(!samples.is_empty(), "{name} has no sample");
        assert!(
            families
                .insert(name.to_owned(), ParsedFamily { kind: kind.to_owned(), samples })
                .is_none(),
            "{name}"
        );
    }
    families
}

fn sample(line: &str) -> (&str, ParsedSample) {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_metric_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        let mut inside = inside;
        loop {
            let (label, after) = inside.split_once("=\"").expect(line);
            assert!(is_label_name(label), "{line}");
            let (value, after) = quoted(after);
            assert!(!labels.iter().any(|(known, _)| known == label), "{label} twice: {line}");
            labels.push((label.to_owned(), value));
            let Some(more) = after.strip_prefix(',') else {
                rest = after.strip_prefix('}').expect(line);
                break;
            };
            inside = more;
        }
    }
    // Without a time: the textfile collector refuses one.
    let number = rest.strip_prefix(' ').expect(line);
    assert!(number.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)), "{line}");
    (name, ParsedSample { labels, value: number.parse().expect(line) })
}

/// The text up to the closing quote, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, c @ ('\\' | '"'))) => c,
                other => panic!("unknown escape {other:?}: {text}"),
            }),
            _ => value.push(c),
        }
    }
    panic!("no closing quote: {text}");
}

fn assert_escapes(text: &str, known: &[char]) {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        assert!(c != '\\' || chars.next().is_some_and(|next| known.contains(&next)), "{text}");
    }
}

fn is_metric_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

fn is_label_name(name: &str) -> bool {
    is_metric_name(name) && !name.contains(':') && !name.starts_with("__")
}

#[test]
fn what_the_grammar_lacks_is_refused() {
    assert_eq!(parsed("# HELP a b\n# TYPE a gauge\na{x=\"1\",y=\"\"} 1e-7\n").len(), 1);
    for wrong in [
        "a 1\n",
        "# HELP a b\n# TYPE a gauge\na 1",
        "# HELP a b\n# TYPE a gauge\nb 1\n",
        "# HELP a b\n# TYPE a gauge\na 1 1700000000\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\",} 1\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"\\t\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na{x-y=\"1\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a b\n# TYPE a counter\na 1\n",
        "# HELP a b\n# TYPE a gauge\na NaN\n",
        "# HELP 1a b\n# TYPE 1a gauge\n1a 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| parsed(wrong)).is_err(), "{wrong}");
    }
}
