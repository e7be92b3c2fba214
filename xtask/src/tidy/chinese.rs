//! How Chinese is set: full-width punctuation, a space between Chinese and Latin words, and line
//! breaks that do not become a space inside a sentence.

use unicode_width::UnicodeWidthChar;

use super::page::{CODE_SPAN, MarkdownPage};

/// Characters that have full-width forms in Chinese.
const HALF_WIDTH: [char; 9] = [',', '.', ';', ':', '!', '?', '(', ')', '"'];

/// Problems of one page, with their lines.
pub(super) fn problems(name: &str, page: &MarkdownPage) -> Vec<String> {
    let mut found = Vec::new();
    for (line, text) in page.texts() {
        let in_text = text_problems(text).into_iter();
        found.extend(in_text.map(|(below, words)| format!("{name}:{}: {words}", line + below)));
    }
    found
}

/// Each with the number of lines above it.
fn text_problems(text: &str) -> Vec<(usize, String)> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut line) = (Vec::new(), 0);
    for (at, pair) in chars.windows(2).enumerate() {
        let after = chars.get(at + 2).copied();
        if let Some(words) = problem(pair[0], pair[1], after) {
            let near: String =
                chars[at.saturating_sub(6)..chars.len().min(at + 8)].iter().collect();
            found.push((line, format!("{words}: \"{}\"", near.replace('\n', " "))));
        }
        line += usize::from(pair[0] == '\n');
    }
    found
}

fn problem(left: char, right: char, after: Option<char>) -> Option<&'static str> {
    let is_next_to_chinese =
        |is: fn(char) -> bool| (is(left) && is_han(right)) || (is_han(left) && is(right));
    if is_next_to_chinese(is_latin) {
        return Some("no space between Chinese and Latin");
    }
    if is_next_to_chinese(|c| HALF_WIDTH.contains(&c)) {
        return Some("punctuation of half the width beside Chinese");
    }
    if (left == ' ' && is_full_width_sign(right)) || (is_full_width_sign(left) && right == ' ') {
        return Some("a space beside punctuation of full width");
    }
    if is_han(left) && right == ' ' && after.is_some_and(is_han) {
        return Some("a space between Chinese words");
    }
    if is_han(left) && right == '\n' && after.is_some_and(is_han) {
        return Some(
            "the line ends inside a sentence, which shows as a space: end it after punctuation",
        );
    }
    (left == '*' && right == '*')
        .then_some("`**` that Markdown does not read as bold: no punctuation inside of its end")
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == CODE_SPAN
}

fn is_han(c: char) -> bool {
    c.is_alphabetic() && c.width() == Some(2)
}

fn is_full_width_sign(c: char) -> bool {
    c.width() == Some(2) && !c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        problems("a.zh-CN.md", &MarkdownPage::parse(text))
    }

    #[test]
    fn good_chinese_has_no_problem() {
        let good = "# 刷盘参数 0、1、2\n\n**结论**：取值 2 是 `a` 的 ×1.9 [1.7, \
                    2.1]，*快*了（95%）。\n\
                    换行，\n在标点之后；用 `SET GLOBAL`\n也可以。[链接](a.md)在句中\n\n| 连接数 | \
                    tps, p99 |\n|---|---|\n| 1 | (a) |\n\n\
                    ```\n程序output,原样\n```\n";
        assert_eq!(found(good), <[String; 0]>::default());
    }

    #[test]
    fn each_kind_of_problem_is_found() {
        for (text, expect) in [
            ("每次commit", "no space between"),
            ("用`a`", "no space between"),
            ("| 每次commit |\n|---|", "no space between"),
            ("刷盘,提交", "punctuation of half the width"),
            ("刷盘(提交)", "punctuation of half the width"),
            ("刷盘， 提交", "a space beside"),
            ("`a` ，提交", "a space beside"),
            ("刷盘 提交", "a space between Chinese words"),
            ("刷盘\n提交", "the line ends inside"),
            ("**结论。**取值", "`**` that Markdown"),
        ] {
            let found = found(text);
            assert!(found[0].starts_with(&format!("a.zh-CN.md:1: {expect}")), "{text}: {found:?}");
        }
        assert!(found("一，\n二，\n刷盘 提交")[0].starts_with("a.zh-CN.md:3: "));
    }
}
