//! JUnit's XML, as CI servers show it: a check is a test case, and a check that could not be
//! decided is skipped.

use askama::Template;
use truetps_analysis::{Analysis, Cell, Contrast, Figure, Judgement, ThresholdState, Verdict};

use crate::comparison::{self, RunComparison, threshold_word};
use crate::{ReportInput, format, printable_lines, verdicts};

#[derive(Template)]
#[template(path = "junit.xml", escape = "xml")]
struct JunitDocument {
    suites: Vec<JunitSuite>,
}

struct JunitSuite {
    name: String,
    cases: Vec<JunitCase>,
    /// What all of its cases are about; a failure shows it, too.
    output: String,
}

struct JunitCase {
    class: &'static str,
    name: String,
    outcome: JunitOutcome,
    output: String,
}

/// What became of a check, with the reason.
enum JunitOutcome {
    Passed,
    Failed(String),
    /// A trial is no evidence.
    Lost(String),
    Undecided(String),
}

impl JunitOutcome {
    /// The element of a case that did not pass.
    fn element(&self) -> Option<&'static str> {
        match self {
            Self::Passed => None,
            Self::Failed(_) => Some("failure"),
            Self::Lost(_) => Some("error"),
            Self::Undecided(_) => Some("skipped"),
        }
    }
}

impl JunitSuite {
    /// Cases with this element; all for `None`.
    fn number(&self, element: Option<&str>) -> usize {
        self.cases
            .iter()
            .filter(|case| element.is_none() || case.outcome.element() == element)
            .count()
    }
}

impl JunitDocument {
    fn number(&self, element: Option<&str>) -> usize {
        self.suites.iter().map(|suite| suite.number(element)).sum()
    }

    /// XML has no control characters, not even escaped, and neither U+FFFE nor U+FFFF.
    fn into_text(self) -> String {
        let text = self.render();
        let text = text.expect(
            "templates are checked when they are compiled, and a String takes all that is written",
        );
        printable_lines(&text).replace(['\u{fffe}', '\u{ffff}'], " ") + "\n"
    }
}

/// Each threshold of each comparison is a case; without thresholds, whether throughput could be
/// compared.
pub(crate) fn comparison_junit(inputs: &[RunComparison<'_>]) -> String {
    JunitDocument { suites: inputs.iter().map(comparison_suite).collect() }.into_text()
}

fn comparison_suite(input: &RunComparison<'_>) -> JunitSuite {
    let (name, output) = comparison::answer(input);
    let mut cases: Vec<_> = input
        .thresholds
        .iter()
        .map(|(threshold, state)| JunitCase {
            class: "truetps.compare",
            name: threshold.to_string(),
            outcome: threshold_outcome(*state, &format!("{threshold}: {}", threshold_word(*state))),
            output: String::new(),
        })
        .collect();
    if cases.is_empty() {
        let line = input.comparison.line(Figure::Tps);
        let is_decided =
            line.is_some_and(|line| !matches!(line.change, Judgement::NotEnoughData { .. }));
        let outcome = if is_decided {
            JunitOutcome::Passed
        } else {
            JunitOutcome::Undecided("tps: not enough data".to_owned())
        };
        let name = Figure::Tps.key().to_owned();
        cases.push(JunitCase { class: "truetps.compare", name, outcome, output: String::new() });
    }
    JunitSuite { name, cases, output }
}

fn threshold_outcome(state: ThresholdState, words: &str) -> JunitOutcome {
    match state {
        ThresholdState::Kept => JunitOutcome::Passed,
        ThresholdState::Crossed => JunitOutcome::Failed(words.to_owned()),
        ThresholdState::Unsure
        | ThresholdState::NoFigure
        | ThresholdState::Bound
        | ThresholdState::DurabilityUnknown => JunitOutcome::Undecided(words.to_owned()),
    }
}

/// Each configuration is a case, which is an error if it lost a trial; and so is each comparison
/// with the baseline, which passes with any verdict.
pub(crate) fn junit(input: &ReportInput<'_>) -> String {
    let analysis = input.analysis;
    let configurations = analysis.cells.iter().map(|cell| configuration_case(analysis, cell));
    let comparisons = analysis.contrasts.iter().map(|contrast| contrast_case(analysis, contrast));
    let cases = configurations.chain(comparisons).collect();
    let suite = JunitSuite {
        name: input.run.experiment.name.clone(),
        cases,
        output: verdicts(input).join("\n"),
    };
    JunitDocument { suites: vec![suite] }.into_text()
}

fn configuration_case(analysis: &Analysis, cell: &Cell) -> JunitCase {
    let lost = analysis
        .invalid
        .iter()
        .filter(|one| one.configuration == cell.configuration && !one.partial);
    let reasons: Vec<_> = lost.map(|one| format!("{}: {}", one.name, one.reason)).collect();
    let outcome = match cell.tps {
        _ if !reasons.is_empty() => JunitOutcome::Lost(reasons.join("; ")),
        None => JunitOutcome::Undecided("no valid trial yet".to_owned()),
        Some(_) => JunitOutcome::Passed,
    };
    let tps = cell.tps.map(|tps| format!("tps {}", format::tps_estimate(&tps)));
    JunitCase {
        class: "truetps.configuration",
        name: cell.configuration.to_string(),
        outcome,
        output: tps.unwrap_or_default(),
    }
}

fn contrast_case(analysis: &Analysis, contrast: &Contrast) -> JunitCase {
    let [cell, baseline] =
        [contrast.cell, contrast.baseline_cell].map(|at| &analysis.cells[at].configuration);
    let verdict = format::verdict(contrast.verdict);
    let outcome = match contrast.verdict {
        Verdict::NotEnoughData { .. } => JunitOutcome::Undecided(verdict.clone()),
        Verdict::Faster | Verdict::Slower | Verdict::Equivalent => JunitOutcome::Passed,
    };
    JunitCase {
        class: "truetps.comparison",
        name: format!("{cell} against {baseline}"),
        outcome,
        output: format!("{verdict}: {} tps", format::ratio_estimate(&contrast.tps_ratio)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use truetps_record::{Reason, Validity};

    use super::*;
    use crate::fixture::Fixture;

    /// Elements and attributes of a document that this crate may write, with the rules of the usual
    /// schema: what is inside of what, required attributes, and counts that agree.
    pub(crate) struct CheckedXml {
        pub(crate) tests: usize,
        elements: Vec<(String, Vec<(String, String)>)>,
    }

    const HAS_TEXT: [&str; 2] = ["failure", "system-out"];

    pub(crate) fn checked(text: &str) -> CheckedXml {
        let mut rest =
            text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect(text);
        let (mut open, mut elements): (Vec<String>, _) = (Vec::new(), Vec::new());
        while let Some(at) = rest.find('<') {
            let (between, tag) = rest.split_at(at);
            is_text(between);
            assert!(
                between.trim().is_empty()
                    || open.last().is_some_and(|last| HAS_TEXT.contains(&&**last)),
                "{between}"
            );
            let (tag, after) = tag[1..].split_once('>').expect(rest);
            rest = after;
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
                continue;
            }
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let parent = open.last().map_or("", String::as_str);
            let is_known = match name {
                "testsuites" => parent.is_empty(),
                "testsuite" => parent == "testsuites",
                "testcase" => parent == "testsuite",
                "failure" | "error" | "skipped" => parent == "testcase",
                // Behind the cases.
                "system-out" => ["testcase", "testsuite"].contains(&parent),
                _ => false,
            };
            assert!(is_known, "{name} in {parent}");
            elements.push((name.to_owned(), self::attributes(attributes)));
            if !is_empty {
                open.push(name.to_owned());
            }
        }
        assert!(open.is_empty() && rest == "\n", "{open:?} {rest}");
        let of = |wanted: &'static str| elements.iter().filter(move |(name, _)| name == wanted);
        let total = |name: &str| {
            of("testsuites").map(|(_, all)| value(all, name).parse::<usize>().unwrap()).sum()
        };
        for (attribute, element) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error")]
        {
            let number: usize = total(attribute);
            assert_eq!(
                number,
                elements.iter().filter(|(name, _)| name == element).count(),
                "{attribute}"
            );
            let suites =
                of("testsuite").map(|(_, all)| value(all, attribute).parse::<usize>().unwrap());
            assert_eq!(number, suites.sum::<usize>(), "{attribute} of suites");
        }
        for (_, all) in of("testcase") {
            assert!(
                !value(all, "classname").is_empty() && !value(all, "name").is_empty(),
                "{all:?}"
            );
        }
        CheckedXml { tests: total("tests"), elements }
    }

    fn value<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
        &attributes
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("{name}: {attributes:?}"))
            .1
    }

    fn attributes(mut text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        while let Some((name, after)) = text.split_once("=\"") {
            let (value, after) = after.split_once('"').expect(text);
            is_text(value);
            found.push((name.trim().to_owned(), value.to_owned()));
            text = after;
        }
        assert!(text.trim().is_empty(), "{text}");
        found
    }

    /// Characters of XML, and entities that it has without a declaration.
    fn is_text(text: &str) {
        assert!(
            text.chars()
                .all(|c| c == '\n' || (c >= ' ' && !matches!(c, '<' | '\u{fffe}' | '\u{ffff}'))),
            "{text:?}"
        );
        for (at, _) in text.match_indices('&') {
            let entity = text[at + 1..].split_once(';').expect(text).0;
            let is_number =
                entity.strip_prefix('#').is_some_and(|number| number.parse::<u32>().is_ok());
            assert!(is_number || ["amp", "lt", "gt", "quot", "apos"].contains(&entity), "{entity}");
        }
    }

    impl CheckedXml {
        pub(crate) fn number(&self, element: &str) -> usize {
            self.elements.iter().filter(|(name, _)| name == element).count()
        }
    }

    #[test]
    fn configurations_and_comparisons_are_cases() {
        let fixture = Fixture::durability();
        let found = checked(&junit(&fixture.input()));
        assert_eq!((found.tests, found.number("error"), found.number("failure")), (9 + 6, 0, 0));
        let undecided =
            fixture.analysis.contrasts.iter().filter(|one| one.verdict.more_blocks().is_some());
        assert_eq!(found.number("skipped"), undecided.count());
        assert_eq!(checked(&junit(&Fixture::connections_only().input())).tests, 2);
    }

    #[test]
    fn a_lost_trial_is_an_error_with_its_reason_and_hostile_texts_stay_text() {
        let fixture = Fixture::durability().with(|trials| {
            let reason = Reason::Text("<a href=\"x\"> & ]]> \u{1b}[2J\u{0}\n\u{fffe}".to_owned());
            trials[0].validity = Validity::Invalid(reason);
        });
        let text = junit(&fixture.input());
        let found = checked(&text);
        assert_eq!(found.number("error"), 1, "{text}");
        assert!(text.contains("&#60;a href="), "{text}");
    }
}
