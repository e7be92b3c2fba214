//! Parses the output of `--verbose --help`.

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::names::canonical_name;

/// Values after reading all options: the table at the end, `name   value`.
pub(crate) fn parse_values(stdout: &str) -> BTreeMap<String, String> {
    let mut lines = stdout.lines().skip_while(|line| !line.starts_with("-----"));
    lines.next();
    let rows = lines.take_while(|line| !line.trim().is_empty());
    rows.map(|line| {
        let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        (canonical_name(name), value.trim().to_owned())
    })
    .collect()
}

/// The server's own description of each option.
pub(crate) fn parse_descriptions(stdout: &str) -> BTreeMap<String, String> {
    let mut descriptions = BTreeMap::<String, String>::new();
    let mut current = None;
    for line in stdout.lines().take_while(|line| !line.starts_with("-----")) {
        let text = match option_head(line) {
            Some((name, rest)) => {
                descriptions.entry(name.clone()).or_default();
                current = Some(name);
                rest
            }
            // Descriptions are indented by 22 columns; anything else ends one.
            None if line.starts_with("          ") => line.trim(),
            None => {
                current = None;
                continue;
            }
        };
        if let Some(description) = current.as_ref().and_then(|name| descriptions.get_mut(name)) {
            if !description.is_empty() && !text.is_empty() {
                description.push(' ');
            }
            description.push_str(text);
        }
    }
    descriptions
}

/// `  -a, --ansi          Use ANSI` → `ansi`, `Use ANSI`; `  --log-bin[=name]` → `log_bin` and
/// nothing.
fn option_head(line: &str) -> Option<(String, &str)> {
    let option = line.strip_prefix("  ").filter(|rest| rest.starts_with('-'))?;
    let long = &option[option.find("--")? + 2..];
    let name_end = long
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(long.len());
    let rest = long[name_end..].split_once(' ').map_or("", |(_, rest)| rest.trim());
    Some((canonical_name(&long[..name_end]), rest))
}

/// Severity of a line of the server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogSeverity {
    Warning,
    Error,
}

/// A message of the server's log.
pub(crate) type LogMessage = (LogSeverity, String);

/// Warnings and errors among the lines, without time, code and program name, so that they can be
/// compared.
pub(crate) fn messages(text: &str) -> BTreeSet<LogMessage> {
    text.lines().filter_map(message).collect()
}

/// `2026-11-21 20:49:24 0 [Warning] option 'x': …` and `2026-11-21T21:02:06Z 0 [ERROR] [MY-000077]
/// [Server] …`
fn message(line: &str) -> Option<LogMessage> {
    let levels = [("[ERROR]", LogSeverity::Error), ("[Warning]", LogSeverity::Warning)];
    let (level, mut rest) =
        levels.into_iter().find_map(|(mark, level)| Some((level, line.split_once(mark)?.1)))?;
    rest = rest.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|tag| tag.split_once(']')) {
        rest = after.trim();
    }
    for prefix in ["Buffered error: ", "Buffered warning: "] {
        rest = rest.strip_prefix(prefix).unwrap_or(rest);
    }
    // The program's own path, `/usr/sbin/mariadbd: `.
    if rest.starts_with('/') {
        rest = rest.split_once(": ").map_or(rest, |(_, after)| after);
    }
    Some((level, rest.trim_end_matches('.').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
mariadbd  Ver 10.11.19-MariaDB
Starts the MariaDB database server.

  --alter-algorithm[=name] 
                      Specify the alter table algorithm. One of: DEFAULT, COPY,
                      INPLACE, NOCOPY, INSTANT
  -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax.
  --aria-block-size=# Block size to be used for Aria index pages.

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}                             Value (after reading options)
------------------------------------------------------------ -------------
allow-suspicious-udfs                                        FALSE
ft-boolean-syntax                                            + -><()~*:\"\"&|
log-bin                                                      (No default value)
wsrep-OSU-method                                             TOI

To see what variables a running server is using, type
";

    #[test]
    fn values_and_descriptions() {
        let values = parse_values(HELP);
        assert_eq!(values.len(), 4);
        assert_eq!(values["wsrep_osu_method"], "TOI");
        assert_eq!(values["ft_boolean_syntax"], "+ -><()~*:\"\"&|");
        let descriptions = parse_descriptions(HELP);
        assert!(
            descriptions["alter_algorithm"]
                .ends_with("One of: DEFAULT, COPY, INPLACE, NOCOPY, INSTANT")
        );
        assert!(descriptions["ansi"].starts_with("Use ANSI SQL"));
        assert_eq!(descriptions["aria_block_size"], "Block size to be used for Aria index pages.");
    }

    #[test]
    fn messages_of_both_families() {
        let check = |line: &str, level, expect: &str| {
            let found = messages(line);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), [(level, expect.to_owned())]);
        };
        check(
            "2026-11-21 20:49:24 0 [Warning] option 'x': unsigned value 7 adjusted to 3",
            LogSeverity::Warning,
            "option 'x': unsigned value 7 adjusted to 3",
        );
        check(
            "2026-11-21 20:49:39 0 [ERROR] Buffered error: /usr/sbin/mariadbd: Error while setting \
             value 'abc' to 'x'",
            LogSeverity::Error,
            "Error while setting value 'abc' to 'x'",
        );
        check(
            "2026-11-21T21:02:06.498561Z 0 [ERROR] [MY-000077] [Server] /a/mysqld: Error while \
             setting value 'x' to 'y'.",
            LogSeverity::Error,
            "Error while setting value 'x' to 'y'",
        );
        assert!(messages("2026-11-21 20:49:24 0 [Note] fine").is_empty());
    }
}
