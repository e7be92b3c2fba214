//! Phrases that stand in the way of a reader, in code, messages and docs; and the width of Markdown.

use std::path::Path;

/// In two halves, so that this file does not have them.
/// (`nobody` is an account of the system.)
const BANNED: [(&str, &str); 8] = [
    ("some", "body"),
    ("who", "ever"),
    ("is ", "told"),
    ("are ", "told"),
    ("gone ", "on with"),
    ("as it ", "is there"),
    ("put", " back"),
    ("that ", "of"),
];
/// Of Markdown, in characters. Tables, code and links are not broken.
const COLUMNS_MAX: usize = 120;

/// Problems of one file, with their lines.
pub(super) fn problems(file: &str, text: &str) -> Vec<String> {
    let mut found = banned(file, text);
    if Path::new(file).extension().is_some_and(|ending| ending == "md") {
        found.extend(wide(file, text));
    }
    found
}

fn banned(file: &str, text: &str) -> Vec<String> {
    let words = BANNED.map(|(front, back)| format!("{front}{back}"));
    let lines = text.lines().enumerate();
    let in_line = |(number, line): (usize, &str)| {
        let lower = line.to_lowercase();
        let of_line: Vec<_> = words.iter().filter(|word| has_words(&lower, word)).cloned().collect();
        of_line.into_iter().map(move |word| format!("{file}:{}: \"{word}\"", number + 1))
    };
    lines.flat_map(in_line).collect()
}

/// Whether words stand in a line as whole words. Names have them with underscores, which is no text.
fn has_words(line: &str, words: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '\'');
    line.match_indices(words).any(|(at, found)| {
        !is_part(line[..at].chars().next_back()) && !is_part(line[at + found.len()..].chars().next())
    })
}

fn wide(file: &str, text: &str) -> Vec<String> {
    let (mut in_code, mut found) = (false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let starts = line.trim_start();
        in_code ^= starts.starts_with("```");
        let may_be_wide = in_code || starts.starts_with('|') || line.contains("](") || line.contains("://");
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !may_be_wide {
            found.push(format!("{file}:{}: {columns} columns, more than {COLUMNS_MAX}", number + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found_in_any_case() {
        let word = format!("{}{}", BANNED[0].0, BANNED[0].1);
        for (line, is_found) in [
            (format!("// {word} waits"), true),
            (format!("S{} waits.", &word[1..]), true),
            (format!("user={word}_else"), false),
            (format!("the account `{word}2`"), false),
        ] {
            assert_eq!(!problems("a.rs", &line).is_empty(), is_found, "{line}");
        }
    }

    #[test]
    fn lines_of_text_have_a_width() {
        let long = "a ".repeat(70);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\nsee [b](c) {long}\n");
        assert_eq!(problems("a.md", &text), ["a.md:1: 140 columns, more than 120"]);
        assert!(problems("a.rs", &text).is_empty());
    }
}
