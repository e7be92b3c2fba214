//! English pages and their Chinese versions say the same: headings, code, tables, numbers, names
//! and links are compared, section by section. The words are for a reader to compare.

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::numbers;
use super::page::{MarkdownPage, PageCode, PageLink, PageSection, PageTable};

/// The pages that have a Chinese version, which is beside them.
const TRANSLATED: [&str; 13] = [
    "README.md",
    "docs/README.md",
    "docs/guides/ci.md",
    "docs/guides/clients-1000.md",
    "docs/guides/crash.md",
    "docs/guides/first-run.md",
    "docs/guides/flush-settings.md",
    "docs/guides/hot-row.md",
    "docs/guides/open-loop.md",
    "docs/guides/primary-key.md",
    "docs/guides/slow-disk.md",
    "docs/guides/sysbench.md",
    "docs/guides/two-servers.md",
];
/// Its Chinese page is shorter: how the terms are translated.
const GLOSSARY: &str = "docs/glossary.md";
const CHINESE_ENDING: &str = ".zh-CN.md";

/// Problems of all pages of the tree, by their names.
pub(super) fn problems(pages: &BTreeMap<String, MarkdownPage>) -> Vec<String> {
    let mut found = Vec::new();
    for english in TRANSLATED {
        let chinese = chinese_name(english);
        match (pages.get(english), pages.get(&chinese)) {
            (Some(a), Some(b)) => {
                found.extend(PagePair { english, chinese: &chinese }.differences(a, b));
            }
            (Some(_), None) => {
                found.push(format!("{english}: its Chinese version {chinese} is missing"));
            }
            (None, _) => found.push(format!(
                "{english}: missing, and in `TRANSLATED` of xtask/src/tidy/languages.rs"
            )),
        }
    }
    for name in pages.keys().filter(|name| is_chinese(name)) {
        let english = english_name(name);
        if !has_chinese(&english) {
            found.push(format!(
                "{name}: {english} is not in `TRANSLATED` of xtask/src/tidy/languages.rs"
            ));
        }
    }
    if let (Some(english), Some(chinese)) =
        (pages.get(GLOSSARY), pages.get(&chinese_name(GLOSSARY)))
    {
        found.extend(unknown_terms(english, chinese));
    }
    found
}

pub(super) fn is_chinese(name: &str) -> bool {
    name.ends_with(CHINESE_ENDING)
}

fn chinese_name(english: &str) -> String {
    format!("{}{CHINESE_ENDING}", english.trim_end_matches(".md"))
}

fn english_name(chinese: &str) -> String {
    format!("{}.md", chinese.trim_end_matches(CHINESE_ENDING))
}

fn has_chinese(english: &str) -> bool {
    english == GLOSSARY || TRANSLATED.contains(&english)
}

/// The names of two pages that say the same.
struct PagePair<'a> {
    english: &'a str,
    chinese: &'a str,
}

impl PagePair<'_> {
    fn differences(&self, english: &MarkdownPage, chinese: &MarkdownPage) -> Vec<String> {
        let mut found = Vec::new();
        for (name, page, other) in
            [(self.english, english, self.chinese), (self.chinese, chinese, self.english)]
        {
            let file = other.rsplit('/').next().unwrap_or_default();
            let switch = page
                .sections
                .iter()
                .find(|section| section.level == 1)
                .and_then(|title| title.links.first());
            if switch.is_none_or(|link| link.target != file) {
                found.push(format!("{name}: its first link is not to the other language, {file}"));
            }
        }
        let mut pairs = english.sections.iter().zip(&chinese.sections);
        if let Some((a, b)) = pairs.find(|(a, b)| a.level != b.level) {
            let (a_level, b_level) = (a.level, b.level);
            found.push(self.at(
                b.line,
                &format!("a heading of level {b_level}, where line {} has {a_level}", a.line),
            ));
        } else if english.sections.len() != chinese.sections.len() {
            let counts = (english.sections.len() - 1, chinese.sections.len() - 1);
            found.push(format!(
                "{}: {} headings, {} in {}",
                self.chinese, counts.1, counts.0, self.english
            ));
        } else {
            let pairs = english.sections.iter().zip(&chinese.sections);
            found.extend(pairs.flat_map(|(a, b)| self.section_differences(a, b)));
        }
        found
    }

    fn section_differences(&self, english: &PageSection, chinese: &PageSection) -> Vec<String> {
        let mut found = self.code_differences(english, chinese);
        if english.tables.len() == chinese.tables.len() {
            let pairs = english.tables.iter().zip(&chinese.tables);
            found.extend(pairs.flat_map(|(a, b)| self.table_differences(a, b)));
        } else {
            let counts = (english.tables.len(), chinese.tables.len());
            found.push(self.at(
                chinese.line,
                &format!("{} tables in this section, {} there", counts.1, counts.0),
            ));
        }
        found.extend(self.missing(chinese.line, "code span", &english.spans, &chinese.spans));
        found.extend(self.missing(
            chinese.line,
            "link",
            &self.english_links(english),
            &self.chinese_links(chinese),
        ));
        found.extend(self.number_differences(english, chinese));
        found.extend(chinese.links.iter().filter_map(|link| self.untranslated_link(link)));
        found
    }

    fn code_differences(&self, english: &PageSection, chinese: &PageSection) -> Vec<String> {
        if english.code.len() != chinese.code.len() {
            let counts = (english.code.len(), chinese.code.len());
            return vec![self.at(
                chinese.line,
                &format!("{} code blocks in this section, {} there", counts.1, counts.0),
            )];
        }
        let pairs = english.code.iter().zip(&chinese.code);
        pairs.filter_map(|(a, b)| self.code_difference(a, b)).collect()
    }

    /// The first one of two blocks.
    fn code_difference(&self, english: &PageCode, chinese: &PageCode) -> Option<String> {
        if english.language != chinese.language {
            let words =
                format!("code of `{}`, where it is of `{}`", chinese.language, english.language);
            return Some(self.at(chinese.line, &words));
        }
        let (a, b) = (compared_lines(english), compared_lines(chinese));
        let at = (0..a.len().max(b.len())).find(|at| a.get(*at) != b.get(*at))?;
        let expected = english.text.lines().nth(at).unwrap_or("the end of the block");
        let words = format!("code differs from line {}: `{expected}`", english.line + at + 1);
        Some(self.at(chinese.line + at + 1, &words))
    }

    fn table_differences(&self, english: &PageTable, chinese: &PageTable) -> Vec<String> {
        let (a_rows, b_rows) = (&english.rows, &chinese.rows);
        if a_rows.len() != b_rows.len() {
            let words = format!(
                "{} rows of the table, {} at line {}",
                b_rows.len(),
                a_rows.len(),
                a_rows[0].line
            );
            return vec![self.at(b_rows[0].line, &words)];
        }
        let mut found = Vec::new();
        for (a, b) in a_rows.iter().zip(b_rows) {
            if !a
                .cells
                .iter()
                .map(|cell| sorted_numbers(cell))
                .eq(b.cells.iter().map(|cell| sorted_numbers(cell)))
            {
                found.push(
                    self.at(b.line, &format!("numbers of the row differ from line {}", a.line)),
                );
            }
        }
        found
    }

    /// English words for small numbers are figures in Chinese. So each number of the English text
    /// must be in the Chinese one, and there only one with a point, a comma or a sign must be in
    /// the English text, too.
    fn number_differences(&self, english: &PageSection, chinese: &PageSection) -> Vec<String> {
        let (a, b) = (text_numbers(english), text_numbers(chinese));
        let mut b_measured = b.clone();
        b_measured.retain(|number| !number.chars().all(|c| c.is_ascii_digit()));
        let lost = a
            .difference(&b)
            .map(|number| format!("the number {number} is missing in this section"));
        let new = b_measured
            .difference(&a)
            .map(|number| format!("the number {number} is not in the English section"));
        lost.chain(new).map(|words| self.at(chinese.line, &words)).collect()
    }

    fn missing(
        &self,
        line: usize,
        what: &str,
        a: &BTreeSet<String>,
        b: &BTreeSet<String>,
    ) -> Vec<String> {
        let lost =
            a.difference(b).map(|one| format!("the {what} `{one}` is missing in this section"));
        let new =
            b.difference(a).map(|one| format!("the {what} `{one}` is not in the English section"));
        lost.chain(new).map(|words| self.at(line, &words)).collect()
    }

    fn english_links(&self, section: &PageSection) -> BTreeSet<String> {
        let chinese = self.chinese.rsplit('/').next().unwrap_or_default();
        let targets =
            section.links.iter().map(|link| &link.target).filter(|target| *target != chinese);
        targets.map(|target| self.compared_target(target)).collect()
    }

    fn chinese_links(&self, section: &PageSection) -> BTreeSet<String> {
        let english = self.english.rsplit('/').next().unwrap_or_default();
        let targets =
            section.links.iter().map(|link| &link.target).filter(|target| *target != english);
        targets
            .map(|target| self.compared_target(&target.replacen(CHINESE_ENDING, ".md", 1)))
            .collect()
    }

    /// The headings of a translated page have other anchors.
    fn compared_target(&self, target: &str) -> String {
        match target.split_once('#') {
            Some((page, _)) if page.is_empty() || has_chinese(&self.resolved(page)) => {
                page.to_owned()
            }
            _ => target.to_owned(),
        }
    }

    fn untranslated_link(&self, link: &PageLink) -> Option<String> {
        let page = link.target.split('#').next().unwrap_or_default();
        let english = self.resolved(page);
        if !has_chinese(&english) || english == self.english {
            return None;
        }
        Some(self.at(
            link.line,
            &format!("link to {page}: its Chinese version is {}", chinese_name(page)),
        ))
    }

    /// A link of these pages, from the root of the tree.
    fn resolved(&self, target: &str) -> String {
        super::links::resolve(self.english, target).display().to_string()
    }

    fn at(&self, line: usize, words: &str) -> String {
        format!("{}:{line}: {words} ({})", self.chinese, self.english)
    }
}

/// The lines of a block, and which of them have a comment: its words may be translated. Output has
/// no comments.
fn compared_lines(code: &PageCode) -> Vec<(&str, bool)> {
    let is_output = code.language == "text";
    code.text
        .lines()
        .map(|line| if is_output { (line, false) } else { without_comment(line) })
        .collect()
}

fn without_comment(line: &str) -> (&str, bool) {
    let mut signs = line.match_indices("# ").map(|(at, _)| at);
    match signs.find(|at| *at == 0 || line[..*at].ends_with(' ')) {
        Some(at) => (&line[..at], true),
        None => (line, false),
    }
}

fn sorted_numbers(cell: &str) -> Vec<String> {
    let mut found = numbers(cell);
    found.sort();
    found
}

fn text_numbers(section: &PageSection) -> BTreeSet<String> {
    let all = section.texts.iter().flat_map(|text| numbers(&text.text));
    // "28 to 39 %" has one sign in English and two in Chinese; "×2" is 2 倍.
    all.map(|number| number.trim_end_matches('%').trim_start_matches('×').to_owned()).collect()
}

/// Terms of the first table of the Chinese glossary that the English one does not have.
fn unknown_terms(english: &MarkdownPage, chinese: &MarkdownPage) -> Vec<String> {
    let known: BTreeSet<_> = terms(english).into_iter().map(|(_, term)| term).collect();
    let unknown = terms(chinese).into_iter().filter(|(_, term)| !known.contains(term));
    unknown
        .map(|(line, term)| {
            format!("{}:{line}: {GLOSSARY} has no term `{term}`", chinese_name(GLOSSARY))
        })
        .collect()
}

/// The first column of the first table, with lines.
fn terms(page: &MarkdownPage) -> Vec<(usize, String)> {
    let table = page.sections.iter().flat_map(|section| &section.tables).next();
    let rows = table.into_iter().flat_map(|table| table.rows.iter().skip(1));
    let first = rows.filter_map(|row| Some((row.line, row.cells.first()?)));
    first
        .flat_map(|(line, cell)| cell.split(", ").map(move |term| (line, term.to_owned())))
        .collect()
}

#[cfg(test)]
#[path = "languages_tests.rs"]
mod tests;
