//! Values that are never stored: secrets, and texts that may contain one.

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

/// Variables of the environment that may hold passwords and tokens of truetps: no process that it starts gets them, but
/// for itself.
pub const SECRET_VARIABLES: [&str; 7] = [
    "TRUETPS_PASSWORD",
    "TRUETPS_PASSWORD_A",
    "TRUETPS_PASSWORD_B",
    "TRUETPS_PARTS_SECRET",
    "TRUETPS_GATEWAY_TOKENS",
    "TRUETPS_GATEWAY_METRICS_TOKENS",
    "TRUETPS_DSN",
];

/// Endings of the names of settings that an application or an extension defines: `app.encryption_key`.
const CUSTOM_ENDS: [&str; 9] = ["key", "keys", "url", "uri", "dsn", "pw", "pwd", "salt", "login"];

/// Whether a variable's value is left out of records. This includes switches with such a word in their name: they
/// explain no throughput.
pub fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    // Words of a full-text index.
    let words = name.replace("token_size", "");
    let is_key = name.ends_with("_key") && !name.ends_with("primary_key");
    let is_custom = name.contains('.') && CUSTOM_ENDS.iter().any(|end| name.ends_with(end));
    let by_name = SECRET_NAMES.contains(&name.as_str()) || SECRET_WORDS.iter().any(|word| words.contains(word));
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
        value.split(word).skip(1).any(|rest| rest.trim_start_matches([' ', '"', '\'']).starts_with(['=', ':']))
    });
    in_address || in_words
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
    fn by_value() {
        for value in [
            "postgres://app:h1dden@db/app",
            "kafka://a b mysql://u:p/w@h",
            "host=db PASSWORD = 'h1dden'",
            "{\"passwd\": \"h1dden\"}",
        ] {
            assert!(is_secret("some_setting", value), "{value}");
        }
        for value in ["gcomm://10.0.0.1:4567,10.0.0.2:4567", "http://host:80/x", "mysql://user@host:3306", "a:b@c", ""]
        {
            assert!(!is_secret("some_setting", value), "{value}");
        }
    }
}
