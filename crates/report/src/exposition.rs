//! The text format of Prometheus, version 0.0.4: what a server scrapes, and what the textfile
//! collector of node_exporter reads.

use std::collections::BTreeMap;

use truetps_record::{MetricFamily, MetricKind, MetricLabel};

/// Metrics by name. The samples of a metric stay together and in order, however they were added.
#[derive(Debug, Default)]
pub(crate) struct ExpositionText(BTreeMap<String, MetricFamily>);

impl ExpositionText {
    /// Adds a sample; a value that is not finite is absent. Metric and labels have valid names.
    pub(crate) fn add(
        &mut self,
        (name, kind): (&str, MetricKind),
        help: &str,
        labels: &[MetricLabel<'_>],
        value: f64,
    ) {
        if value.is_finite() {
            let family = self.0.entry(name.to_owned());
            let family = family.or_insert_with(|| MetricFamily::new(name, kind, help));
            family.sample("", labels, value);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0.values().map(MetricFamily::lines).collect()
    }
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
