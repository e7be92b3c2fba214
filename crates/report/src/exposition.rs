//! The text format of Prometheus, version 0.0.4: what a server scrapes, and what the textfile collector of node_exporter
//! reads.

use std::collections::BTreeMap;
use std::fmt::Write;

use truetps_record::{escaped_text, is_obeyed};

/// How the values of a metric behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Gauge,
    Counter,
}

impl MetricKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// Name and value of a label.
pub(crate) type MetricLabel<'a> = (&'a str, &'a str);

/// Metrics by name. The samples of a metric stay together and in order, however they were added.
#[derive(Debug, Default)]
pub(crate) struct ExpositionText(BTreeMap<String, MetricFamily>);

#[derive(Debug)]
struct MetricFamily {
    kind: MetricKind,
    help: String,
    samples: String,
}

impl ExpositionText {
    /// Adds a sample; a value that is not finite is absent. `name` is a valid name of a metric, and the labels have valid names.
    pub(crate) fn add(
        &mut self,
        (name, kind): (&str, MetricKind),
        help: &str,
        labels: &[MetricLabel<'_>],
        value: f64,
    ) {
        if !value.is_finite() {
            return;
        }
        let family = self.0.entry(name.to_owned()).or_insert_with(|| MetricFamily {
            kind,
            help: escaped(help, false),
            samples: String::new(),
        });
        family.samples.push_str(name);
        if !labels.is_empty() {
            let pairs: Vec<_> = labels
                .iter()
                .map(|(label, text)| format!("{label}=\"{}\"", escaped(text, true)))
                .collect();
            let _ = write!(family.samples, "{{{}}}", pairs.join(","));
        }
        // An empty sum is -0.
        let _ = writeln!(family.samples, " {}", value + 0.0);
    }

    pub(crate) fn into_text(self) -> String {
        let mut text = String::new();
        for (name, MetricFamily { kind, help, samples }) in self.0 {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {}\n{samples}", kind.name());
        }
        text
    }
}

fn escaped(text: &str, is_quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if is_quoted => out.push_str("\\\""),
            // A terminal that shows the text must not obey it.
            _ if is_obeyed(c) => out.push_str(&escaped_text(&c.to_string()).replace('\\', "\\\\")),
            _ => out.push(c),
        }
    }
    out
}

/// The words of a text, joined to what a name of a metric or of a label may have, in lower case.
pub(crate) fn metric_words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition_check::parsed;

    #[test]
    fn any_text_is_one_label() {
        let hostile = "a \"b\" \\ c\nd{e=\"f\"} 1\n# TYPE g counter";
        let obeyed = "\u{1b}[2J\u{202e}";
        let mut text = ExpositionText::default();
        text.add(
            ("x", MetricKind::Gauge),
            "first\nsecond \\",
            &[("name", hostile), ("other", "")],
            0.25,
        );
        text.add(("a_total", MetricKind::Counter), "counted", &[], 3.0);
        text.add(("x", MetricKind::Gauge), "first\nsecond \\", &[("name", obeyed)], -0.0);
        text.add(("x", MetricKind::Gauge), "first\nsecond \\", &[("name", "none")], f64::NAN);
        let text = text.into_text();
        assert!(
            text.starts_with(
                "# HELP a_total counted\n# TYPE a_total counter\na_total 3\n# HELP x "
            ),
            "{text}"
        );
        let families = parsed(&text);
        assert_eq!((families["x"].kind.as_str(), families["x"].samples.len()), ("gauge", 2));
        assert_eq!(families["x"].samples[0].labels, [("name", hostile), ("other", "")].map(owned));
        assert_eq!(families["x"].samples[1].labels, [("name", "\\x1b[2J\\u202e")].map(owned));
        assert_eq!((families["x"].samples[0].value, families["x"].samples[1].value), (0.25, 0.0));
    }

    fn owned((label, text): (&str, &str)) -> (String, String) {
        (label.to_owned(), text.to_owned())
    }

    #[test]
    fn words_are_names() {
        let check = |text: &str, expect: &str| assert_eq!(metric_words(text), expect);
        check("status.Innodb_os_log_written", "status_innodb_os_log_written");
        check("wait.*.us", "wait_us");
        check(" a--b ", "a_b");
        check("é", "");
    }
}
