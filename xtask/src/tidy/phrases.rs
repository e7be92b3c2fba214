//! Phrases that stand in the way of a reader, in code, messages and docs; and the width of
//! Markdown.

use std::path::Path;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// In two halves, so that this file does not have them. A name in code is words, too: `_` is a
/// space. (`nobody` is an account of the system.)
const BANNED: [(&str, &str); 20] = [
    ("some", "body"),
    ("every", "body"),
    ("any", "body"),
    ("who", "ever"),
    ("is ", "told"),
    ("are ", "told"),
    ("was ", "told"),
    ("be ", "told"),
    ("is ", "said"),
    ("are ", "said"),
    ("was ", "said"),
    ("were ", "said"),
    ("be ", "said"),
    ("gone ", "on with"),
    ("as it ", "is there"),
    ("put", " back"),
    ("that ", "of"),
    ("those ", "of"),
    ("h", "e"),
    ("h", "im"),
];
/// Signs with which a line of a comment begins, the longer ones first.
const COMMENT_SIGNS: [&str; 5] = ["///", "//!", "//", "--", "#"];
/// Width of Markdown; a Chinese character takes two. Tables, code and links are not broken.
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
    let phrases = BANNED.map(|(front, back)| format!("{front}{back}"));
    let words = words(text);
    let mut found = Vec::new();
    for (n, word) in words.iter().enumerate() {
        let here = phrases.iter().filter(|phrase| begins_with(&words[n..], phrase));
        found.extend(here.map(|phrase| format!("{file}:{}: \"{phrase}\"", word.line)));
    }
    found
}

struct Word {
    /// In lower case.
    text: String,
    line: usize,
    /// Only a space, `_` or a line break is between it and the word before.
    is_next: bool,
    /// `--he` is an option.
    is_option: bool,
}

fn words(text: &str) -> Vec<Word> {
    let (mut found, mut word, mut between, mut line) =
        (Vec::new(), String::new(), String::new(), 1);
    for c in text.chars().chain(['\n']) {
        // Chinese has no spaces: an English word ends where a Chinese one begins.
        if c == '\'' || (c.is_alphanumeric() && c.width() == Some(1)) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            let text = std::mem::take(&mut word).to_lowercase();
            found.push(Word {
                text,
                line,
                is_next: is_space(&between),
                is_option: between.ends_with('-'),
            });
            between.clear();
        }
        between.push(c);
        line += usize::from(c == '\n');
    }
    found
}

/// Line breaks in comments and in literals are spaces.
fn is_space(between: &str) -> bool {
    let mut lines = between.split('\n');
    let first = lines.next().unwrap_or_default();
    is_blank(first.strip_suffix('\\').unwrap_or(first)) && lines.all(is_blank_line)
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '_')
}

fn is_blank_line(line: &str) -> bool {
    let line = line.trim_start();
    is_blank(COMMENT_SIGNS.iter().find_map(|sign| line.strip_prefix(sign)).unwrap_or(line))
}

fn begins_with(words: &[Word], phrase: &str) -> bool {
    let parts: Vec<_> = phrase.split(' ').collect();
    words.len() >= parts.len()
        && !words[0].is_option
        && words.iter().zip(&parts).all(|(word, part)| word.text == *part)
        && words[1..parts.len()].iter().all(|word| word.is_next)
}

fn wide(file: &str, text: &str) -> Vec<String> {
    let (mut in_code, mut found) = (false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let starts = line.trim_start();
        in_code ^= starts.starts_with("```");
        let may_be_wide =
            in_code || starts.starts_with('|') || line.contains("](") || line.contains("://");
        let columns = line.width();
        if columns > COLUMNS_MAX && !may_be_wide {
            found
                .push(format!("{file}:{}: {columns} columns, more than {COLUMNS_MAX}", number + 1));
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
            (format!("fn {word}_waits()"), true),
            (format!("the account `{word}2`"), false),
            (format!("--{word}"), false),
            (format!("等{word}应答"), true),
        ] {
            assert_eq!(!problems("a.rs", &line).is_empty(), is_found, "{line}");
        }
    }

    #[test]
    fn phrases_are_found_in_names_and_across_lines() {
        let (front, back) = BANNED[4];
        let front = front.trim();
        for (text, is_found) in [
            (format!("fn {front}_{back}()"), true),
            (format!("    /// It {front}\n    /// {back} once."), true),
            (format!("-- it {front}\n-- {back}"), true),
            (format!("\"it {front} \\\n     {back}\""), true),
            (format!("as it {front}\n{back} here"), true),
            (format!("{front}, {back}"), false),
            (format!("{front}\n- {back}"), false),
        ] {
            assert_eq!(!problems("a.md", &text).is_empty(), is_found, "{text}");
        }
    }

    #[test]
    fn lines_of_text_have_a_width() {
        let long = "a ".repeat(70);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\nsee [b](c) {long}\n");
        assert_eq!(problems("a.md", &text), ["a.md:1: 140 columns, more than 120"]);
        assert!(problems("a.rs", &text).is_empty());
        assert!(problems("a.md", &"行".repeat(60)).is_empty());
        assert_eq!(problems("a.md", &"行".repeat(61)), ["a.md:1: 122 columns, more than 120"]);
    }
}
