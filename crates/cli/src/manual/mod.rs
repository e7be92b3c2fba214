//! `truetps help`: the help of a command, or a page of the documentation, which the program brings
//! along.

mod markdown;
mod pager;
mod pages;

use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};
use truetps_record::{did_you_mean, near_matches};

use self::markdown::{MarkdownScreen, rendered};
pub(crate) use self::pages::{ManualPage, pages};
use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::settings;
use crate::terminal::print_made;
use crate::terminal::terminal_columns;

/// The word that lists the pages.
const TOPICS: &str = "topics";

/// `words`: none, a command (`run`, `server add`), a page, or `topics`.
pub(crate) fn help(words: &[String]) -> Result<Exit, CommandFailure> {
    let mut cli = Cli::command();
    cli.build();
    if let Some(command) = command_of(&mut cli, words) {
        return Ok(print_command(command, words));
    }
    let [word] = words else {
        return Err(CommandFailure::usage(format!(
            "`truetps {}`: there is no such command",
            words.join(" ")
        ))
        .hint(
            "`truetps help` lists the commands, `truetps help topics` the pages of the \
                   documentation",
        ));
    };
    if word == TOPICS {
        return Ok(print_made(&topics()));
    }
    match &ManualPage::named(word)[..] {
        [page] => Ok(show(page)),
        [] => Err(unknown(&cli, word)),
        several => {
            let names: Vec<_> =
                several.iter().map(|page| format!("`truetps help {}`", page.name)).collect();
            Err(CommandFailure::usage(format!("`{word}` is the name of several pages"))
                .hint(names.join(", ")))
        }
    }
}

fn command_of<'a>(cli: &'a mut Command, words: &[String]) -> Option<&'a mut Command> {
    words.iter().try_fold(cli, |command, word| command.find_subcommand_mut(word))
}

/// As `truetps COMMAND --help` does. `truetps sysbench --help` is sysbench's own help, so its entry
/// is shown here.
fn print_command(command: &mut Command, words: &[String]) -> Exit {
    let line = ["truetps"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    // A closed pipe is not a failure.
    let _ = match Cli::try_parse_from(line) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => error.print(),
        _ => command.print_long_help(),
    };
    Exit::Good
}

fn topics() -> String {
    let width = pages().map(|page| page.shortest_name().len()).max().unwrap_or(0);
    let mut lines = String::new();
    for page in pages() {
        let _ = writeln!(lines, "  {:<width$}  {}", page.shortest_name(), page.title());
    }
    format!("Pages of the documentation, for `truetps help TOPIC`:\n\n{lines}")
}

fn unknown(cli: &Command, word: &str) -> CommandFailure {
    let commands =
        cli.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let names: Vec<_> = commands.chain(pages().map(|page| page.shortest_name())).collect();
    let near = did_you_mean(&near_matches(word, names));
    CommandFailure::usage(format!("unknown command or topic `{word}`{near}")).hint(
        "`truetps help` lists the commands, `truetps help topics` the pages of the documentation",
    )
}

fn show(page: &ManualPage) -> Exit {
    const USUAL_COLUMNS: usize = 80;
    let is_terminal = stdout().is_terminal();
    let columns =
        terminal_columns(stdout()).or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
    let columns = columns.filter(|columns| *columns > 0).unwrap_or(USUAL_COLUMNS);
    let screen = MarkdownScreen { columns, has_color: settings::has_color(is_terminal) };
    let text = rendered(page.text, page.name, screen);
    if is_terminal && pager::paged(&text) { Exit::Good } else { print_made(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_before_pages_of_the_same_name() {
        let mut cli = Cli::command();
        cli.build();
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in ["probe", "server add", "sysbench", "config show"] {
            assert!(command_of(&mut cli, &words(line)).is_some(), "{line}");
        }
        assert!(command_of(&mut cli, &words("method")).is_none());
        assert_eq!(help(&[]).unwrap(), Exit::Good);
    }

    /// All help texts of a command and of those below it.
    fn texts(command: &Command, texts: &mut Vec<String>) {
        let after = command
            .get_after_help()
            .into_iter()
            .chain(command.get_about())
            .map(ToString::to_string);
        texts.extend(after.chain(
            command.get_arguments().filter_map(|arg| arg.get_help()).map(ToString::to_string),
        ));
        command.get_subcommands().for_each(|inner| self::texts(inner, texts));
    }

    /// A binary brings no folder `docs`: its texts name pages that `truetps help` has.
    #[test]
    fn help_texts_name_pages_that_there_are() {
        let (mut cli, mut found) = (Cli::command(), Vec::new());
        texts(&cli, &mut found);
        cli.build();
        let mut names = 0;
        for text in &found {
            assert!(!text.contains("docs/"), "{text}");
            for part in text.split("`truetps help ").skip(1) {
                let word = part.split('`').next().unwrap_or_default();
                let is_known = word == TOPICS || command_of(&mut cli, &[word.to_owned()]).is_some();
                assert!(is_known || ManualPage::named(word).len() == 1, "{word}: {text}");
                names += 1;
            }
        }
        assert!(names > 8, "{names}");
    }

    #[test]
    fn an_unknown_word_has_a_hint() {
        let refused = help(&["metod".to_owned()]).unwrap_err().to_string();
        assert!(
            refused.contains("unknown command or topic `metod` (did you mean `method`?)"),
            "{refused}"
        );
        let refused = help(&["server".to_owned(), "ad".to_owned()]).unwrap_err().to_string();
        assert!(refused.contains("`truetps server ad`: there is no such command"), "{refused}");
    }
}
