//! Passwords on the command line are kept out of records.

use std::ffi::OsString;
use std::fmt::Write;

use serde_json::Value;
use truetps_driver::Target;
use truetps_record::{HIDDEN, without_login};

const DSN: &str = "dsn";
/// An option whose name has one of these in it may hold a password.
const SECRET_PARTS: [&str; 8] =
    ["passw", "passphrase", "secret", "token", "pwd", "credential", "apikey", "api-key"];
/// An option whose name has one of these between dashes may hold a password.
const SECRET_WORDS: [&str; 4] = ["pass", "pw", "pswd", "psw"];

/// Whether the value of an option of this name may hold a password.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    name == DSN
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.split('-').any(|word| SECRET_WORDS.contains(&word))
}

/// The replacement of each argument in the process list, if it differs.
pub fn masked(arguments: &[OsString]) -> Vec<Option<OsString>> {
    let words = arguments.iter().map(|argument| argument.to_string_lossy());
    words
        .map(|word| Some(without_secret(&word)).filter(|shown| *shown != word).map(Into::into))
        .collect()
}

/// Whether a password was typed, in one of sysbench's options or one of the script's.
pub(crate) fn has_typed_password(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| {
        let word = argument.to_string_lossy();
        match word.strip_prefix("--").and_then(|option| option.split_once('=')) {
            Some((name, value)) if name.eq_ignore_ascii_case(DSN) => {
                Target::parse(value).is_ok_and(|target| target.login.password.is_some())
            }
            Some((name, value)) if is_secret(name) => !value.is_empty(),
            _ => without_user_info(&word) != word,
        }
    })
}

/// The words of a command line with passwords replaced.
pub(crate) fn words_without_secrets<'a>(
    words: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Vec<String> {
    words.into_iter().map(|word| without_secret(&String::from_utf8_lossy(word))).collect()
}

fn without_secret(word: &str) -> String {
    let option = word.strip_prefix("--").and_then(|option| option.split_once('='));
    let Some((name, value)) = option.filter(|(name, _)| is_secret(name)) else {
        return without_user_info(word);
    };
    // A DSN is shown without its password.
    let shown = if name.eq_ignore_ascii_case(DSN) { Target::parse(value).ok() } else { None };
    let mut text = format!("--{name}=");
    match shown {
        Some(target) => write!(text, "{target}").expect("a string takes every text"),
        None => text.push_str(HIDDEN),
    }
    text
}

/// `scheme://user:password@host` without user and password, and a connection string of libpq without its password.
fn without_user_info(word: &str) -> String {
    if word.starts_with("--pgsql")
        && let Some((before, after)) = word.split_once("password")
        && let Some(value) = after.trim_start().strip_prefix('=')
    {
        // Where it ends depends on quotes: nothing that follows is shown.
        return if value.is_empty() {
            word.to_owned()
        } else {
            format!("{before}password={HIDDEN}")
        };
    }
    without_login(word).into_owned()
}

/// The value of an option as records have it: `None` where it may be a password itself.
pub(crate) fn recorded_value(name: &str, value: &Value) -> Option<Value> {
    if is_secret(name) {
        return None;
    }
    Some(match value {
        Value::String(text) => {
            let word = without_user_info(&format!("--{name}={text}"));
            Value::String(word[name.len() + 3..].to_owned())
        }
        Value::Array(values) => {
            values.iter().map(|value| recorded_value(name, value).unwrap_or_default()).collect()
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_password_is_found() {
        let typed = |word: &str| has_typed_password(&["sysbench", word, "run"].map(OsString::from));
        for word in [
            "--mysql-password=x",
            "--pgsql_password=x",
            "--redis_pass=x",
            "--dsn=mysql://me:x@h",
            "--at=a://b:c@d",
        ] {
            assert!(typed(word), "{word}");
        }
        for word in [
            "--mysql-password=",
            "--mysql-user=me",
            "--dsn=mysql://h",
            "--dsn=mysql://me@h:3306/db",
            "--passes=3",
        ] {
            assert!(!typed(word), "{word}");
        }
    }

    #[test]
    fn no_password_is_left() {
        let check = |word: &str, expect: &str| {
            assert_eq!(words_without_secrets(&[word.as_bytes().to_vec()]), [expect], "{word}");
        };
        check("--mysql-password=hidden", "--mysql-password=***");
        check("--pgsql_password=a=b", "--pgsql_password=***");
        check("--my-secret=x", "--my-secret=***");
        check(
            "--dsn=mysql://me:hidden@127.0.0.1:3306/sbtest",
            "--dsn=mysql://me@127.0.0.1:3306/sbtest",
        );
        check("--dsn=mysql://me:hid/den@[", "--dsn=***");
        check("--DSN=nothing of the kind", "--DSN=***");
        check("--target=http://me:hid:den@there/@", "--target=http://me:***@");
        check("--target=http://me@there", "--target=http://me@there");
        for name in
            ["pass", "pwd", "pw", "redis_pass", "db-pw", "PGPWD", "ssl_passphrase", "api_key"]
        {
            check(&format!("--{name}=tops3cret"), &format!("--{name}=***"));
        }
        for harmless in ["--passes=3", "--bypass=on", "--powers=2", "--tables=4"] {
            check(harmless, harmless);
        }
        let words = ["sysbench", "--mysql-password=tops3cret", "run"].map(OsString::from);
        assert_eq!(masked(&words), [None, Some("--mysql-password=***".into()), None]);
        check("--pgsql-db=dbname=a password='hid den' host=b", "--pgsql-db=dbname=a password=***");
        check("--pgsql-db=dbname=a password  =  hidden", "--pgsql-db=dbname=a password=***");
        check("--pgsql_db=postgres://me:hidden@there/a", "--pgsql_db=postgres://me:***@there/a");
        check(
            "--pgsql-db=postgres://there/a?user=me&password=hidden",
            "--pgsql-db=postgres://there/a?user=me&password=***",
        );
        check("--mysql-user=me", "--mysql-user=me");
        check("oltp_read_write", "oltp_read_write");
        check("--mysql-password", "--mysql-password");
    }
}
