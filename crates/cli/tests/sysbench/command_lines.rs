//! Wrong and unusual command lines, and scripts that fail: output and exit code to the letter.

use crate::cases::{CASES, Case};
use crate::common::Place;
use crate::pair::{Look, Verdict, difference, facts};
use crate::program::Program;

/// The case's script is `test.lua` in the current folder.
const SCRIPT: &str = "test.lua";

impl Case {
    fn add_to(&self, verdict: &mut Verdict, reference: &Program, ours: &Program) {
        let place = Place::new();
        place.write(SCRIPT, self.script);
        for (name, text) in self.files {
            place.write(name, text);
        }
        for args in self.args {
            let words: Vec<&str> = args.split_whitespace().collect();
            let run = |program| facts(program, place.path(), &words, self.stdin, None, Look::EXACT);
            let found = difference(&run(reference), &run(ours), Look::EXACT);
            verdict.add(&format!("{}: sysbench {args}", self.name), found, self.deviation);
        }
    }
}

#[test]
fn wrong_command_lines_and_scripts() {
    let (reference, ours) = (Program::reference(), Program::ours());
    let mut verdict = Verdict::default();
    for case in CASES {
        case.add_to(&mut verdict, &reference, &ours);
    }
    verdict.check();
}
