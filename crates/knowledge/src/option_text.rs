//! Settings of an option file's text: `my.cnf` with its groups, or `postgresql.conf` without any.

use std::collections::BTreeMap;

/// What one text says; other files that it names are for the caller to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionText {
    /// The last line of a name holds. Names have `_`, and no prefix `loose_`.
    pub settings: BTreeMap<String, String>,
    /// `include` or `includedir`, and what they name, in their order.
    pub includes: Vec<(String, String)>,
    /// Number of the first line that is neither a group, a setting nor a comment.
    pub odd_line: Option<usize>,
}

/// Groups that a server of the MySQL family reads, as far as they are told by their front.
const SERVER_GROUPS: [&str; 5] = ["mysqld", "mariadbd", "server", "mariadb", "galera"];

/// Reads a text. Lines before any group count where there is no group at all: that is PostgreSQL's form.
pub fn parse_options(text: &str) -> OptionText {
    let has_groups = text.lines().any(|line| line.trim_start().starts_with('['));
    let mut read = OptionText::default();
    let mut is_ours = !has_groups;
    for (n, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            let (what, path) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
            read.includes.push((what.to_owned(), path.trim().to_owned()));
        } else if let Some(group) = line.strip_prefix('[') {
            is_ours = is_server_group(group.split(']').next().unwrap_or_default().trim());
        } else if is_ours {
            match setting_of(line, has_groups) {
                Some((name, value)) => drop(read.settings.insert(name, value)),
                None => read.odd_line = read.odd_line.or(Some(n + 1)),
            }
        }
    }
    read
}

/// `[mysqld]`, `[mysqld-8.0]`, `[mariadb-10.11]`, `[server]`; and not `[mysqld_safe]`.
fn is_server_group(group: &str) -> bool {
    SERVER_GROUPS.iter().any(|name| {
        group
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']) || rest.parse::<u32>().is_ok())
    })
}

fn setting_of(line: &str, has_groups: bool) -> Option<(String, String)> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        // PostgreSQL takes a space for the sign.
        None if !has_groups => line.split_once(char::is_whitespace).map(|(name, value)| (name, Some(value)))?,
        None => (line, None),
    };
    let name = name.trim().to_lowercase().replace('-', "_");
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(fine) {
        return None;
    }
    let name = name.strip_prefix("loose_").unwrap_or(&name).to_owned();
    let value = value.map(|value| unquoted(value, has_groups));
    Some(match (value, name.strip_prefix("skip_"), name.strip_prefix("disable_")) {
        // `skip-name-resolve` is a variable of that name.
        (None, Some(rest), _) if crate::known(&name).is_none() => (rest.to_owned(), "OFF".to_owned()),
        (None, _, Some(rest)) => (rest.to_owned(), "OFF".to_owned()),
        (value, ..) => (name, value.unwrap_or_else(|| "ON".to_owned())),
    })
}

/// The value without quotes, and without what a comment adds.
fn unquoted(value: &str, has_groups: bool) -> String {
    let value = value.trim();
    for quote in ['\'', '"'] {
        if let Some(rest) = value.strip_prefix(quote)
            && let Some((inside, _)) = rest.split_once(quote)
        {
            return inside.to_owned();
        }
    }
    // MySQL's comments in a line begin with `#` behind a space.
    let comment = if has_groups { value.find(" #") } else { value.find('#') };
    comment.map_or(value, |at| &value[..at]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(read: &OptionText) -> Vec<(&str, &str)> {
        read.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn my_cnf() {
        let text = "# head\nignored = 1\n[client]\nport=1\n[mysqld]\ninnodb-buffer-pool-size = 1G # memory\n\
                    skip-log-bin\nskip-name-resolve\nsync_binlog=0\nsync_binlog='1'\nlog-bin\n[mysqld_safe]\nnice=1\n\
                    !includedir /etc/conf.d\n[mysqld-8.0]\nloose-x.y=\"a b\"\n";
        let read = parse_options(text);
        let expected = [
            ("innodb_buffer_pool_size", "1G"),
            ("log_bin", "ON"),
            ("skip_name_resolve", "ON"),
            ("sync_binlog", "1"),
            ("x.y", "a b"),
        ];
        assert_eq!(pairs(&read), expected);
        assert_eq!(read.includes, [("includedir".to_owned(), "/etc/conf.d".to_owned())]);
        assert_eq!(read.odd_line, None);
    }

    #[test]
    fn postgresql_conf() {
        let read = parse_options("fsync = off # never\nshared_buffers 128MB\n#x = 1\nlog_line_prefix = '%m # '\n");
        assert_eq!(pairs(&read), [("fsync", "off"), ("log_line_prefix", "%m # "), ("shared_buffers", "128MB")]);
    }

    #[test]
    fn odd_lines_are_told() {
        assert_eq!(parse_options("[mysqld]\n<html>\n").odd_line, Some(2));
        assert_eq!(parse_options("one\n").odd_line, Some(1));
    }
}
