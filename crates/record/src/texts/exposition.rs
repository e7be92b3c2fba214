//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

use super::printable::{escaped_text, is_obeyed};

/// How the values of a metric behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    Counter,
    Histogram,
}

impl MetricKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }
}

/// Name and value of a label.
pub type MetricLabel<'a> = (&'a str, &'a str);

/// The lines of one metric: its head, then its samples in the order in which they were added.
#[derive(Debug)]
pub struct MetricFamily {
    name: String,
    lines: String,
}

impl MetricFamily {
    /// `name` is a valid name of a metric.
    pub fn new(name: &str, kind: MetricKind, help: &str) -> Self {
        let (help, kind) = (escaped(help, false), kind.name());
        let lines = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Self { name: name.to_owned(), lines }
    }

    /// The labels have valid names; their values may be any text. `suffix` is of a sample of a
    /// histogram.
    pub fn sample(&mut self, suffix: &str, labels: &[MetricLabel<'_>], value: f64) {
        self.lines.push_str(&self.name);
        self.lines.push_str(suffix);
        for (n, (label, text)) in labels.iter().enumerate() {
            let separator = if n == 0 { '{' } else { ',' };
            // Writing to a string does not fail.
            let _ = write!(self.lines, "{separator}{label}=\"{}\"", escaped(text, true));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        // An empty sum is -0.
        let _ = writeln!(self.lines, "{end} {}", value + 0.0);
    }

    pub fn lines(&self) -> &str {
        &self.lines
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_label() {
        let mut family = MetricFamily::new("x", MetricKind::Histogram, "a\nb \"c\" \\");
        family.sample("_bucket", &[("le", "+Inf")], 3.0);
        family.sample("", &[("a", "\"b\" \\ c\nd{e=\"f\"} 1\n# TYPE g counter"), ("h", "")], 0.25);
        family.sample("", &[("a", "\u{1b}[2J\r\u{202e}\0")], -0.0);
        family.sample("_sum", &[], f64::INFINITY);
        assert_eq!(
            family.lines().split('\n').collect::<Vec<_>>(),
            [
                "# HELP x a\\nb \"c\" \\\\",
                "# TYPE x histogram",
                "x_bucket{le=\"+Inf\"} 3",
                "x{a=\"\\\"b\\\" \\\\ c\\nd{e=\\\"f\\\"} 1\\n# TYPE g counter\",h=\"\"} 0.25",
                "x{a=\"\\\\x1b[2J\\\\x0d\\\\u202e\\\\x00\"} 0",
                "x_sum inf",
                "",
            ]
        );
    }
}
