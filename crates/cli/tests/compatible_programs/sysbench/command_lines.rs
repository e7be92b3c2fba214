//! Wrong and unusual command lines, and scripts that fail: output and exit code to the letter.

use crate::common::Place;
use crate::sysbench::cases::{self, Case};
use crate::sysbench::pair::{Look, Verdict, difference, facts, reason};
use crate::sysbench::program::Program;

/// The case's script is `test.lua` in the current folder.
const SCRIPT: &str = "test.lua";

impl Case {
    fn add_to(&self, verdict: &mut Verdict, reference: &Program, ours: &Program) {
        let place = Place::new();
        place.write(SCRIPT, self.script);
        for (name, text) in self.files {
            place.write(name, text);
        }
        let look = if self.timed { Look::ANY_NUMBERS } else { Look::EXACT };
        for args in self.args {
            let words: Vec<&str> = args.split_whitespace().collect();
            let run = |program| facts(program, place.path(), &words, self.stdin, None, look);
            let found = difference(&run(reference), &run(ours), look);
            verdict.add(
                &format!("{}: sysbench {args}", self.name),
                found,
                reason(self.deviations, args),
            );
        }
    }
}

fn compare_all(cases: &[Case]) {
    let (reference, ours) = (Program::reference(), Program::ours());
    let mut verdict = Verdict::default();
    for case in cases {
        case.add_to(&mut verdict, &reference, &ours);
    }
    verdict.check();
}

#[test]
fn options_and_arguments() {
    compare_all(cases::OPTIONS);
}

#[test]
fn scripts_that_fail() {
    compare_all(cases::SCRIPTS);
}

#[test]
fn reports_and_ends_of_runs() {
    compare_all(cases::REPORTS);
}
