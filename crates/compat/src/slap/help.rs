//! `--help` and `--version`.

use super::specs::{FIRST_OF_OURS, GROUPS, NAME, SPECS};
use crate::mysql_words::{Spec, WordKind};

const COLUMN: usize = 46;

pub(super) fn version() -> String {
    format!("{NAME}  Ver 1.0 Distrib truetps-{}\n", env!("CARGO_PKG_VERSION"))
}

pub(super) fn page() -> String {
    let mut text = format!(
        "{}Sends queries from many clients at once and says how long that took: the command line \
         of mysqlslap, and\n\
         behind its report what that leaves out.\n\n\
         Usage: truetps slap [OPTIONS]\n\n\
         Option files: /etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf, groups {}.\n\
         As the first words: --print-defaults, --no-defaults, --defaults-file=FILE, \
         --defaults-extra-file=FILE,\n\
         --defaults-group-suffix=TEXT.\n\n",
        version(),
        GROUPS.join(" ")
    );
    for spec in &SPECS {
        if spec.name == FIRST_OF_OURS {
            text += "\nOptions that mysqlslap does not have:\n";
        }
        text += &line(spec);
    }
    text + "\nA schema is made for --create and --auto-generate-sql, and dropped after the test. \
            One that is there already\n\
            is never dropped: the test does not begin.\n\n\
            Exit status: 0 all queries were acknowledged; 1 some were not, or the test failed; 2 \
            to 13 the command line\n\
            is wrong; 130 interrupted.\n"
}

fn line(spec: &Spec) -> String {
    let short = spec.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let value = match spec.kind {
        WordKind::Switch | WordKind::Count => "",
        WordKind::Text => "=TEXT",
        WordKind::OptionalText | WordKind::Secret => "[=TEXT]",
        WordKind::Number => "=N",
    };
    let left = format!("  {short}--{}{value}", spec.name);
    format!("{left:<COLUMN$} {}\n", spec.about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_on_the_page() {
        let page = page();
        for spec in &SPECS {
            assert!(page.contains(&format!("--{}", spec.name)), "{}", spec.name);
        }
        assert!(page.lines().all(|line| line.chars().count() <= 130));
    }
}
