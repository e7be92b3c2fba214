//! A comparison of settings as text, Markdown and JSON.

use std::fmt::Write;

use truetps_knowledge::{Diff, Difference, Placed, SideFacts};

use crate::printable;

/// Values that are longer are cut: `optimizer_switch` has 500 characters.
const VALUE_CHARS_MAX: usize = 100;
const UNKNOWN: &str = "others";
const KNOWN: &str = "most likely to matter first";

pub(crate) fn diff_text(diff: &Diff, all: bool) -> String {
    let mut out = String::new();
    let sides = [("A", &diff.a), ("B", &diff.b)];
    for (letter, side) in sides {
        let _ = writeln!(out, "{letter}  {}", title(side));
        for note in &side.notes {
            let _ = writeln!(out, "   note: {}", printable(note));
        }
    }
    out.push('\n');
    for (letter, side) in sides {
        if let Some(durability) = &side.durability {
            let _ = writeln!(
                out,
                "Durability {letter}{}  {}",
                assumed(side),
                printable(&durability.sentence)
            );
        }
    }
    let mut group = None;
    for difference in visible(diff, all) {
        let heading = section(difference);
        if group.as_ref() != Some(&heading) {
            let _ = writeln!(out, "\n{heading}");
            group = Some(heading);
        }
        put_difference(&mut out, difference);
    }
    out.push('\n');
    out.push_str(&summary(diff, all));
    out
}

pub(crate) fn diff_markdown(diff: &Diff, all: bool) -> String {
    let mut out = String::from("# Settings that differ\n\n");
    for (letter, side) in [("A", &diff.a), ("B", &diff.b)] {
        let _ = writeln!(out, "- **{letter}** {}", escaped(&title(side)));
        if let Some(durability) = &side.durability {
            let _ = writeln!(
                out,
                "  - durability{}: {}",
                assumed(side),
                escaped(&printable(&durability.sentence))
            );
        }
        for note in &side.notes {
            let _ = writeln!(out, "  - note: {}", escaped(&printable(note)));
        }
    }
    out.push_str(
        "\n| group | setting | A | B | default A | default B | meaning | more \
         |\n|---|---|---|---|---|---|---|---|\n",
    );
    for difference in visible(diff, all) {
        let (of_a, of_b) = both(difference);
        let cells = [
            heading(difference),
            code(&difference.name),
            escaped(&of_a),
            escaped(&of_b),
            escaped(&default_of(&difference.a)),
            escaped(&default_of(&difference.b)),
            escaped(difference.meaning.as_deref().unwrap_or("")),
            escaped(&more(difference)),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
    out.push_str(&summary(diff, all));
    out
}

/// Where the values come from, what changing it takes, and what each side means for a crash.
fn more(difference: &Difference) -> String {
    let mut parts = origins(difference);
    parts.extend(crash_lines(difference).map(|(letter, line)| format!("{letter}: {line}")));
    parts.join("; ")
}

fn visible(diff: &Diff, all: bool) -> impl Iterator<Item = &Difference> {
    diff.differences.iter().filter(move |difference| all || difference.folded.is_none())
}

fn heading(difference: &Difference) -> String {
    match (&difference.folded, difference.group) {
        (Some(reason), _) => format!("folded: {reason}"),
        (None, Some(group)) => group.to_string(),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The heading of a difference in the text: settings that are known stand in one list, most likely
/// to matter first, and not by their groups.
fn section(difference: &Difference) -> String {
    match (&difference.folded, difference.group) {
        (None, Some(_)) => KNOWN.to_owned(),
        _ => heading(difference),
    }
}

pub(crate) fn title(side: &SideFacts) -> String {
    let server = match (side.flavour, &side.version) {
        (Some(flavour), Some(version)) => format!("{flavour} {}, ", printable(version)),
        _ => String::new(),
    };
    format!("{}  ({server}{})", printable(&side.name), side.kind)
}

/// What an option file is judged by beside what it says.
fn assumed(side: &SideFacts) -> &'static str {
    if side.kind == "option file" {
        " (settings that the file lacks have their defaults)"
    } else {
        ""
    }
}

fn put_difference(out: &mut String, difference: &Difference) {
    let (of_a, of_b) = both(difference);
    let _ = writeln!(out, "  {}   A {of_a}   B {of_b}", printable(&difference.name));
    if let (Some(meaning), Some(group)) = (&difference.meaning, difference.group) {
        let _ = writeln!(out, "      {group}: {meaning}");
    }
    let facts = facts(difference);
    if !facts.is_empty() {
        let _ = writeln!(out, "      {}", facts.join("; "));
    }
    for (letter, line) in crash_lines(difference) {
        let _ = writeln!(out, "      {letter}: {line}");
    }
}

fn crash_lines(difference: &Difference) -> impl Iterator<Item = (&'static str, String)> {
    [("A", &difference.a), ("B", &difference.b)]
        .into_iter()
        .filter_map(|(letter, placed)| Some((letter, crash_line(placed)?)))
}

/// Defaults, where the values come from, and what changing it takes.
fn facts(difference: &Difference) -> Vec<String> {
    let Difference { a, b, .. } = difference;
    let mut facts = Vec::new();
    match (&a.default, &b.default) {
        (None, None) => {}
        (one, other) if one == other => facts.push(format!("default {}", default_of(a))),
        _ => facts.push(format!("default A {}, B {}", default_of(a), default_of(b))),
    }
    facts.extend(origins(difference));
    facts
}

fn default_of(placed: &Placed) -> String {
    placed.default.as_deref().map_or_else(|| "-".to_owned(), quoted)
}

fn origins(difference: &Difference) -> Vec<String> {
    let Difference { a, b, change, belongs_with, .. } = difference;
    let mut facts = Vec::new();
    for (letter, placed) in [("A", a), ("B", b)] {
        let origin = placed.origin.as_ref();
        facts.extend(origin.map(|origin| format!("{letter} from {}", printable(origin))));
    }
    facts.extend(change.map(|change| change.to_string()));
    facts.extend(
        (!belongs_with.is_empty()).then(|| format!("goes with {}", belongs_with.join(", "))),
    );
    facts
}

/// One sentence where both crashes mean the same.
fn crash_line(placed: &Placed) -> Option<String> {
    if let Some(reason) = &placed.without_effect {
        return Some(format!("without effect, as {}", printable(reason)));
    }
    let (process, power) = (placed.process_crash.as_ref()?, placed.power_cut.as_ref()?);
    Some(if process == power {
        format!("a crash {process}")
    } else {
        format!("a process crash {process}; a power cut {power}")
    })
}

/// Both values; for two long lists, such as `optimizer_switch`, only the parts that are not in
/// both.
pub(crate) fn both(difference: &Difference) -> (String, String) {
    let Difference { a, b, .. } = difference;
    if let (Some(one), Some(other)) = (&a.value, &b.value)
        && one.contains(',')
        && other.contains(',')
        && one.chars().count().max(other.chars().count()) > VALUE_CHARS_MAX
    {
        return (parts_alone(one, other), parts_alone(other, one));
    }
    (shown(a), shown(b))
}

/// The parts of a list that another one has not.
fn parts_alone(text: &str, than: &str) -> String {
    let parts: Vec<_> =
        text.split(',').filter(|part| !than.split(',').any(|other| other == *part)).collect();
    if parts.is_empty() {
        "… (nothing else)".to_owned()
    } else {
        format!("… {}", quoted(&parts.join(",")))
    }
}

fn shown(placed: &Placed) -> String {
    match (&placed.value, &placed.counterparts[..]) {
        (Some(value), _) => quoted(value),
        (None, []) if placed.is_left_to_server => match &placed.default {
            Some(default) => format!("not set (default {})", quoted(default)),
            None => "not set".to_owned(),
        },
        (None, []) => "not there".to_owned(),
        (None, others) => {
            let others: Vec<_> =
                others.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
            format!("not there ({})", others.join(", "))
        }
    }
}

fn quoted(value: &str) -> String {
    let mut short: String = printable(value).chars().take(VALUE_CHARS_MAX).collect();
    if short.chars().count() < value.chars().count() {
        short.push('…');
    }
    if short.is_empty() { "\"\"".to_owned() } else { short }
}

/// A name as code, which has no other end than its own.
fn code(name: &str) -> String {
    format!("`{}`", escaped(&printable(name).replace('`', "'")))
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

pub(crate) fn summary(diff: &Diff, all: bool) -> String {
    let (differing, same) = diff.counts();
    let more = match same {
        0 => String::new(),
        1 => ", and 1 with the same value has no effect on one side".to_owned(),
        _ => format!(", and {same} with the same value have no effect on one side"),
    };
    let mut text = match differing {
        0 => format!("nothing that could matter differs; {} settings are the same\n", diff.same),
        1 => format!("1 setting differs{more}; {} are the same\n", diff.same),
        _ => format!("{differing} settings differ{more}; {} are the same\n", diff.same),
    };
    for (reason, count) in diff.folded() {
        let _ = writeln!(
            text,
            "{} {count}: {reason}",
            if all { "of the folded ones" } else { "folded away" }
        );
    }
    if diff.not_compared > 0 {
        let _ = writeln!(
            text,
            "not compared {}: the option file does not have them",
            diff.not_compared
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use truetps_knowledge::{SettingsSide, SideValue, diff};
    use truetps_record::Flavour;

    use super::*;
    use crate::{ReportAnswer, SettingsDiff};

    fn side(name: &str, version: &str, settings: &[(&str, &str)]) -> SettingsSide {
        let value = |text: &str| SideValue {
            value: text.to_owned(),
            origin: Some("/etc/my.cnf".to_owned()),
            ..SideValue::default()
        };
        SettingsSide {
            name: name.to_owned(),
            kind: "capture".to_owned(),
            flavour: Some(Flavour::Mysql),
            version: Some(version.to_owned()),
            family: None,
            is_complete: true,
            settings: settings
                .iter()
                .map(|(name, text)| ((*name).to_owned(), value(text)))
                .collect(),
            notes: Vec::new(),
        }
    }

    fn sample() -> Diff {
        let one = [
            ("sync_binlog", "1"),
            ("server_uuid", "x"),
            ("innodb_redo_log_capacity", "1G"),
            ("odd|one", "1"),
        ];
        let other = [
            ("sync_binlog", "0"),
            ("server_uuid", "y"),
            ("innodb_log_file_size", "48M"),
            ("odd|one", "2"),
        ];
        diff(&side("a.json", "9.7.4", &one), &side("b.json", "5.6.24", &other))
    }

    #[test]
    fn text() {
        let text = diff_text(&sample(), false);
        assert!(
            text.starts_with(
                "A  a.json  (mysql 9.7.4, capture)\nB  b.json  (mysql 5.6.24, capture)\n"
            ),
            "{text}"
        );
        for expected in [
            "\nmost likely to matter first\n  sync_binlog   A 1   B 0\n      durability: After how \
             many groups",
            "default A 1, B 0; A from /etc/my.cnf; B from /etc/my.cnf; dynamic; goes with",
            "B: a process crash loses nothing; a power cut can lose the end of the binlog",
            "innodb_redo_log_capacity   A 1G   B not there (innodb_log_file_size=48M)",
            "\nothers\n  odd|one   A 1   B 2\n",
            "4 settings differ; 0 are the same\nfolded away 1: who the server is",
        ] {
            assert!(text.contains(expected), "{expected}\n---\n{text}");
        }
        assert!(!text.contains("server_uuid"));
        assert!(diff_text(&sample(), true).contains("server_uuid   A x   B y"));
    }

    #[test]
    fn markdown_and_json() {
        let markdown = diff_markdown(&sample(), false);
        assert!(
            markdown.contains("| durability | `sync_binlog` | 1 | 0 | 1 | 0 | After how many"),
            "{markdown}"
        );
        let expected = "| A from /etc/my.cnf; B from /etc/my.cnf; dynamic; goes with";
        assert!(
            markdown.contains(expected)
                && markdown.contains("; B: a process crash loses nothing; a power cut can")
        );
        assert!(markdown.contains("| others | `odd\\|one` | 1 | 2 |"), "{markdown}");
        let json: serde_json::Value =
            serde_json::from_str(&SettingsDiff { diff: &sample(), all: false }.json()).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["differences"][0]["name"], "sync_binlog");
        assert_eq!(json["b"]["durability"]["replica"], "none");
        let folded = json["differences"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["folded"].is_string())
            .count();
        assert_eq!(folded, 1);
    }

    #[test]
    fn notes_and_what_is_assumed_have_lines_of_their_own() {
        let mut file =
            side("my.cnf", "8.0.36", &[("innodb_redo_log_capacity", "1G"), ("sync_binlog", "0")]);
        (file.kind, file.is_complete, file.flavour, file.version) =
            ("option file".to_owned(), false, None, None);
        file.notes = vec!["one".to_owned(), "two".to_owned()];
        let found = diff(&file, &side("b.json", "8.0.36", &[("sync_binlog", "1")]));
        let markdown = diff_markdown(&found, false);
        assert!(
            markdown.contains(
                "- **A** my.cnf  (option file)\n  - durability (settings that the file lacks"
            ),
            "{markdown}"
        );
        assert!(markdown.contains("\n  - note: one\n  - note: two\n- **B** b.json"), "{markdown}");
        let text = diff_text(&found, false);
        assert!(
            text.starts_with("A  my.cnf  (option file)\n   note: one\n   note: two\nB  "),
            "{text}"
        );
        assert!(
            text.contains(
                "Durability A (settings that the file lacks have their defaults)  a commit"
            ),
            "{text}"
        );
    }

    #[test]
    fn what_a_switch_takes_away_is_listed_under_it_and_not_counted() {
        let of = |name: &str, log_bin: &str| {
            side(name, "8.0.36", &[("log_bin", log_bin), ("sync_binlog", "1")])
        };
        let text = diff_text(&diff(&of("a", "OFF"), &of("b", "ON")), false);
        assert!(
            text.find("\n  log_bin ").unwrap() < text.find("\n  sync_binlog ").unwrap(),
            "{text}"
        );
        let counted = "1 setting differs, and 1 with the same value has no effect on one side; 0 \
                       are the same";
        assert!(text.contains(counted), "{text}");
    }

    #[test]
    fn nothing_of_a_capture_reaches_the_terminal_as_it_is() {
        let mut one = side(
            "a\u{1b}[2J",
            "9.7.4\u{7}",
            &[("odd\u{1b}one", "1\u{1b}"), ("innodb_log_file_size", "\u{1b}")],
        );
        one.notes.push("note\u{1b}\u{202e}".to_owned());
        for value in one.settings.values_mut() {
            value.origin = Some("/etc\u{1b}\u{9b}".to_owned());
        }
        let other =
            side("b", "8.0.36", &[("odd\u{1b}one", "2"), ("innodb_redo_log_capacity", "7")]);
        for text in [diff_text(&diff(&one, &other), true), diff_markdown(&diff(&other, &one), true)]
        {
            let is_odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(is_odd), "{text:?}");
        }
    }

    #[test]
    fn of_long_lists_only_what_differs() {
        let long = "part_of_a_list=on,".repeat(20);
        let (one, other) = (format!("{long}mrr=on"), format!("{long}mrr=off,new=on"));
        let found = diff(
            &side("a", "9.7.4", &[("optimizer_switch", &one)]),
            &side("b", "9.7.4", &[("optimizer_switch", &other)]),
        );
        assert_eq!(
            both(&found.differences[0]),
            ("… mrr=on".to_owned(), "… mrr=off,new=on".to_owned())
        );
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(quoted(&"x".repeat(300)).chars().count(), VALUE_CHARS_MAX + 1);
        assert_eq!((quoted("").as_str(), quoted("a\nb").as_str()), ("\"\"", "a b"));
    }
}
