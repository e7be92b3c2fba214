//! The formats of answers: one table for the command line, its help, and the answers themselves.

use crate::{ReportAnswer, TextScreen, json, prometheus, sysbench};

/// A format that an answer can be printed in.
#[derive(Debug)]
pub struct AnswerFormat {
    /// As after `--format`.
    pub name: &'static str,
    /// What it is, for the help.
    pub about: &'static str,
    /// What it can show.
    subjects: &'static [AnswerSubject],
    /// Whether the answer itself names files that could not be read.
    pub names_unread: bool,
    /// Whether the answer itself says that its figures are of a part of the load.
    pub names_parts: bool,
    draw: fn(&dyn ReportAnswer, TextScreen) -> Option<String>,
}

/// What an answer is about, as far as formats depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSubject {
    /// The trials of an experiment.
    Trials,
    /// Two runs side by side.
    Comparison,
    /// Figures or stalls, one in a line.
    List,
    /// Words and tables of several kinds.
    Document,
}

const ALL: &[AnswerSubject] = &[
    AnswerSubject::Trials,
    AnswerSubject::Comparison,
    AnswerSubject::List,
    AnswerSubject::Document,
];

/// All formats. The first one is for people at a terminal, and the default.
pub static FORMATS: [AnswerFormat; 8] = [
    AnswerFormat {
        name: "text",
        about: "For the terminal",
        subjects: ALL,
        names_unread: true,
        names_parts: true,
        draw: |answer, screen| Some(answer.text(screen)),
    },
    AnswerFormat {
        name: "json",
        about: "One valid JSON document (`truetps help run-folder`)",
        subjects: ALL,
        names_unread: true,
        names_parts: true,
        draw: |answer, _| Some(answer.json()),
    },
    AnswerFormat {
        name: "csv",
        about: "One row for each configuration, figure or stall",
        subjects: &[AnswerSubject::Trials, AnswerSubject::Comparison, AnswerSubject::List],
        names_unread: false,
        names_parts: true,
        draw: |answer, _| answer.csv(),
    },
    AnswerFormat {
        name: "md",
        about: "Markdown",
        subjects: ALL,
        names_unread: true,
        names_parts: true,
        draw: |answer, _| Some(answer.markdown()),
    },
    AnswerFormat {
        name: "jsonl",
        about: "One JSON object a trial, each on a line of its own",
        subjects: &[AnswerSubject::Trials],
        names_unread: false,
        names_parts: false,
        draw: |answer, _| answer.report_input().map(json::jsonl),
    },
    AnswerFormat {
        name: "sysbench",
        about: "The block of lines at the end of a sysbench run, for each trial",
        subjects: &[AnswerSubject::Trials],
        names_unread: false,
        names_parts: false,
        draw: |answer, _| answer.report_input().map(sysbench::sysbench),
    },
    AnswerFormat {
        name: "junit",
        about: "JUnit's XML for CI servers: configurations and comparisons are test cases",
        subjects: &[AnswerSubject::Trials, AnswerSubject::Comparison],
        names_unread: false,
        names_parts: true,
        draw: |answer, _| answer.junit(),
    },
    AnswerFormat {
        name: "prometheus",
        about: "Metrics in the text format of Prometheus, also for node_exporter's textfile \
                collector",
        subjects: &[AnswerSubject::Trials],
        names_unread: false,
        names_parts: true,
        draw: |answer, _| answer.report_input().map(prometheus::prometheus),
    },
];

impl AnswerFormat {
    /// The formats that can show a subject.
    pub fn all_for(subject: AnswerSubject) -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().filter(move |format| format.shows(subject))
    }

    pub fn shows(&self, subject: AnswerSubject) -> bool {
        self.subjects.contains(&subject)
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// For people at a terminal, who get one screen unless they ask for everything.
    pub fn is_text(&self) -> bool {
        self.name == FORMATS[0].name
    }

    /// The whole answer; `None` if this format cannot show it.
    pub fn draw(&self, answer: &dyn ReportAnswer, screen: TextScreen) -> Option<String> {
        (self.draw)(answer, screen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::{RunComparison, StallList};

    #[test]
    fn each_format_draws_what_it_is_for() {
        let fixture = Fixture::durability();
        let input = fixture.input();
        let compared = Vec::<RunComparison<'_>>::new();
        let stalls = StallList { name: "x", run: &fixture.run };
        let answers: [&dyn ReportAnswer; 3] = [&input, &compared, &stalls];
        let subjects = [AnswerSubject::Trials, AnswerSubject::Comparison, AnswerSubject::List];
        for (answer, subject) in answers.into_iter().zip(subjects) {
            for format in &FORMATS {
                let is_drawn = format.draw(answer, TextScreen::PLAIN).is_some();
                assert_eq!(is_drawn, format.shows(subject), "{subject:?} as {}", format.name);
            }
        }
    }

    #[test]
    fn each_format_is_documented() {
        let page = include_str!("../../../docs/reference/run-folder.md");
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
        for format in &FORMATS {
            let name = format!("`{}`", format.name);
            let is_there = rows.iter().any(|row| row.split('|').nth(1).unwrap().contains(&name));
            assert!(is_there, "run-folder.md has no row for {name}");
        }
    }
}
