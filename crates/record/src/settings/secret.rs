//! Values that are never stored: secrets, and texts that may contain one.

use std::borrow::Cow;

/// Words in the names of variables whose values may be, or contain, a secret.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "conninfo",
    "auth",
    "credential",
    "private",
    "token",
    "api_key",
    "proxy",
];
/// Whole names of such variables: keys, and free text in which users put logins.
const SECRET_NAMES: [&str; 14] = [
    "archive_command",
    "archive_cleanup_command",
    "restore_command",
    "recovery_end_command",
    "init_connect",
    "init_slave",
    "init_replica",
    "wsrep_provider_options",
    "wsrep_notify_cmd",
    "master_info",
    "session_preload_options",
    "ssl_key",
    "ssl_key_file",
    "file_key_management_filekey",
];

/// Variables of the environment that may hold passwords and tokens of truetps: no process that it
/// starts gets them, but for itself.
pub const SECRET_VARIABLES: [&str; 7] = [
    "TRUETPS_PASSWORD",
    "TRUETPS_PASSWORD_A",
    "TRUETPS_PASSWORD_B",
    "TRUETPS_PARTS_SECRET",
    "TRUETPS_GATEWAY_TOKENS",
    "TRUETPS_GATEWAY_METRICS_TOKENS",
    "TRUETPS_DSN",
];

/// Endings of the names of settings that an application or an extension defines:
/// `app.encryption_key`.
const CUSTOM_ENDS: [&str; 9] = ["key", "keys", "url", "uri", "dsn", "pw", "pwd", "salt", "login"];

/// Whether a variable's value is left out of records. This includes switches with such a word in
/// their name: they explain no throughput.
pub fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    // Words of a full-text index.
    let words = name.replace("token_size", "");
    let is_key = name.ends_with("_key") && !name.ends_with("primary_key");
    let is_custom = name.contains('.') && CUSTOM_ENDS.iter().any(|end| name.ends_with(end));
    let by_name = SECRET_NAMES.contains(&name.as_str())
        || SECRET_WORDS.iter().any(|word| words.contains(word));
    by_name || is_key || is_custom || has_login(value)
}

/// `scheme://user:password@host`, or `password=…` as in a connection string.
fn has_login(value: &str) -> bool {
    let value = value.to_lowercase();
    let in_address = value.split("://").skip(1).any(|rest| {
        let authority = rest.split([' ', '"', '\'']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
    });
    let in_words = ["password", "passwd", "pwd"].into_iter().any(|word| {
        value
            .split(word)
            .skip(1)
            .any(|rest| rest.trim_start_matches([' ', '"', '\'']).starts_with(['=', ':']))
    });
    in_address || in_words
}

/// What is shown in place of a password.
pub const HIDDEN: &str = "***";

/// A text in which addresses have no passwords: neither `scheme://user:password@host` nor
/// `user:password@tcp(host)`, nor a `password=` that follows in the same word. Users type them
/// where no address belongs.
pub fn without_logins(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "`\"'".contains(c)) {
        shown.push_str(&without_login(word));
    }
    if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
}

/// Like [`without_logins`], for a text that is one word though it may have blanks.
pub fn without_login(word: &str) -> Cow<'_, str> {
    let (before, rest) = match word.split_once("://") {
        Some((scheme, rest)) => (&word[..scheme.len() + 3], rest),
        None if word.contains("@tcp(") || word.contains("@unix(") => ("", word),
        None => return without_parameter(word),
    };
    let login =
        rest.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host)));
    match login {
        // A port may stand before such a sign, too.
        Some((user, host)) if !user.contains(['@', '/']) => {
            Cow::Owned(format!("{before}{user}:{HIDDEN}@{}", without_parameter(host)))
        }
        _ => without_parameter(word),
    }
}

/// Hides what follows `password=` as a parameter of an address or of a connection string.
fn without_parameter(word: &str) -> Cow<'_, str> {
    let lower = word.to_ascii_lowercase();
    let found = ["password=", "passwd=", "pwd="].into_iter().find_map(|name| {
        let at = lower.find(name)?;
        (at == 0 || word[..at].ends_with(['?', '&', ';'])).then_some(at + name.len())
    });
    let Some(start) = found else { return Cow::Borrowed(word) };
    let value = word[start..]
        .find(['&', ';', ' ', '\n', '\t', '`', '"', '\''])
        .unwrap_or(word.len() - start);
    if value == 0 {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("{}{HIDDEN}{}", &word[..start], &word[start + value..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        for name in [
            "primary_conninfo",
            "report_password",
            "wsrep_sst_auth",
            "archive_command",
            "INIT_CONNECT",
            "x_api_key",
            "sso_token",
            "https_proxy",
            "app.encryption_key",
            "App.Database_URL",
            "backup.dsn",
            "s3_access_key",
        ] {
            assert!(is_secret(name, "1"), "{name}");
        }
        for name in [
            "sync_binlog",
            "key_buffer_size",
            "innodb_adaptive_hash_index",
            "sql_require_primary_key",
            "pg_stat_statements.max",
            "hot.key_buffer_size",
            "innodb_ft_min_token_size",
        ] {
            assert!(!is_secret(name, "1"), "{name}");
        }
        assert!(is_secret("author_of_nothing", ""));
    }

    #[test]
    fn addresses_are_shown_without_passwords() {
        for (text, shown) in [
            ("mysql://me:h1dden@db:3306/x", "mysql://me:***@db:3306/x"),
            ("error: `mysql+x://me:h1d@/den@db`: no file", "error: `mysql+x://me:***@db`: no file"),
            ("mysql://:h1dden@db", "mysql://:***@db"),
            ("me:h1dden@tcp(127.0.0.1:3306)/x", "me:***@tcp(127.0.0.1:3306)/x"),
            (
                "jdbc:mysql://db/x?user=me&password=h1dden&a=b: no",
                "jdbc:mysql://db/x?user=me&password=***&a=b: no",
            ),
            ("host=db user=me password=h1dden", "host=db user=me password=***"),
            ("postgresql:///x?user=me&Password=h1dden\n", "postgresql:///x?user=me&Password=***\n"),
        ] {
            assert_eq!(without_logins(text), shown);
        }
        for text in [
            "mysql://me@db:3306/x",
            "mysql://me@db:3306/x?socket=/a@b",
            "see http://db:80/x, or me@db",
            "(using password: YES)",
            "--mysql-password= is empty",
            "a:b@c",
            "",
        ] {
            assert_eq!(without_logins(text), text);
        }
    }

    #[test]
    fn by_value() {
        for value in [
            "postgres://app:h1dden@db/app",
            "kafka://a b mysql://u:p/w@h",
            "host=db PASSWORD = 'h1dden'",
            "{\"passwd\": \"h1dden\"}",
        ] {
            assert!(is_secret("some_setting", value), "{value}");
        }
        for value in [
            "gcomm://10.0.0.1:4567,10.0.0.2:4567",
            "http://host:80/x",
            "mysql://user@host:3306",
            "a:b@c",
            "",
        ] {
            assert!(!is_secret("some_setting", value), "{value}");
        }
    }
}
