//! A table in columns, whose entries are wrapped where the terminal is too narrow.

use textwrap::core::display_width;
use textwrap::wrap;

use super::wrapping::whole_words;

const GAP: usize = 2;
/// Columns do not become narrower to make room for others.
const COLUMN_MIN: usize = 6;
/// A column is as wide as its longest word if that is not longer: a key or flag in two parts cannot
/// be copied.
const WORD_MAX: usize = 34;

#[derive(Debug, Default)]
pub(super) struct TextTable {
    /// The first one is the header.
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl TextTable {
    pub(super) fn add_entry(&mut self, text: &str) {
        self.row.push(text.trim().to_owned());
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn text(&self, columns: usize) -> String {
        let widths = self.widths(columns);
        let is_wrapped = self.natural_widths().iter().sum::<usize>() > widths.iter().sum();
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            // An empty line separates rows of several lines.
            if is_wrapped && number > 1 {
                text.push('\n');
            }
            add_row(&mut text, row, &widths);
            if number == 0 {
                let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
                text.push_str(&rule.join(&" ".repeat(GAP)));
                text.push('\n');
            }
        }
        text
    }

    fn natural_widths(&self) -> Vec<usize> {
        self.largest(display_width)
    }

    /// The largest size of an entry in each column.
    fn largest(&self, size: impl Fn(&str) -> usize) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut sizes = vec![1; columns];
        for row in &self.rows {
            for (largest, text) in sizes.iter_mut().zip(row) {
                *largest = size(text).max(*largest);
            }
        }
        sizes
    }

    /// The widest columns give way: first as far as their words stay whole, then as far as they
    /// can.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let whole: Vec<_> =
            self.largest(longest_word).into_iter().map(|longest| longest.max(COLUMN_MIN)).collect();
        let mut widths = self.natural_widths();
        let room = columns.saturating_sub(GAP * widths.len().saturating_sub(1));
        for least in [whole, vec![COLUMN_MIN; widths.len()]] {
            while widths.iter().sum::<usize>() > room {
                let can = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
                let Some((widest, _)) = can.max() else { break };
                *widest -= 1;
            }
        }
        widths
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(display_width).max().unwrap_or(0).min(WORD_MAX)
}

fn add_row(text: &mut String, row: &[String], widths: &[usize]) {
    let entries: Vec<Vec<_>> =
        row.iter().zip(widths).map(|(entry, width)| wrap(entry, whole_words(*width))).collect();
    let lines = entries.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..lines {
        let mut written = String::new();
        for (entry, width) in entries.iter().zip(widths) {
            let part = entry.get(line).map(|part| &**part).unwrap_or_default();
            written.push_str(part);
            written.push_str(&" ".repeat((width + GAP).saturating_sub(display_width(part))));
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 2]]) -> TextTable {
        let mut table = TextTable::default();
        for row in rows {
            for entry in row {
                table.add_entry(entry);
            }
            table.end_row();
        }
        table
    }

    /// Keys, flags and paths are copied from here.
    #[test]
    fn words_stay_whole_where_there_is_room_for_them() {
        let flags = table(&[
            ["key", "meaning"],
            [
                "`smallest_effect_percent`",
                "differences below this count as equivalent, see `--until-decided` and /var/cache/x",
            ],
        ]);
        assert_eq!(
            flags.text(48),
            "key                        meaning\n\
             -------------------------  ---------------------\n\
             `smallest_effect_percent`  differences below\n\
             \u{20}                          this count as\n\
             \u{20}                          equivalent, see\n\
             \u{20}                          `--until-decided` and\n\
             \u{20}                          /var/cache/x\n"
        );
    }

    #[test]
    fn the_widest_column_gives_way() {
        let wide = table(&[["name", "about"], ["a", "some words that are long"], ["b", "few"]]);
        assert_eq!(
            wide.text(80),
            "name  about\n----  ------------------------\na     some words that are long\nb     \
             few\n"
        );
        assert_eq!(
            wide.text(18),
            "name  about\n----  ------------\na     some words\n      that are\n      \
             long\n\nb     few\n"
        );
    }
}
