//! The statements of a test: from the command line, from files, or generated.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use truetps_files::{read_text, split_sql};
use truetps_record::SqlDialect;
use truetps_workload::SqlStatement;

use super::auto::Query;
use super::settings::{Engine, SlapSettings, StatementSource};

/// A file of statements is read as a whole.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct SlapScript {
    /// Make the tables.
    pub(super) create: Vec<String>,
    /// The statements that clients send, in this order, repeatedly.
    pub(super) queries: Vec<Query>,
    /// Before and after each run, over the connection that prepares.
    pub(super) pre: Vec<String>,
    pub(super) post: Vec<String>,
}

impl SlapScript {
    pub(super) fn load(settings: &SlapSettings) -> Result<Self, String> {
        let delimiter = &settings.delimiter;
        let pre = statements("pre-query", settings.pre_query.as_ref(), delimiter)?;
        let post = statements("post-query", settings.post_query.as_ref(), delimiter)?;
        let (create, queries) = match &settings.source {
            StatementSource::Generated(auto) => (vec![auto.create()], auto.queries(settings.seed)),
            StatementSource::Given { query, create } => {
                let queries = needed_statements("query", Some(query), delimiter)?.into_iter();
                (
                    needed_statements("create", create.as_ref(), delimiter)?,
                    queries.map(|sql| Query { sql, takes_key: false }).collect(),
                )
            }
        };
        Ok(Self { create, queries, pre, post })
    }

    /// The statements that create the tables. As in the original, the engine is appended to the
    /// first one, which has the CREATE TABLE.
    pub(super) fn create_with(&self, engine: Option<&Engine>) -> Vec<String> {
        let mut create = self.create.clone();
        if let (Some(first), Some(engine)) = (create.first_mut(), engine) {
            // A comment may extend to the end of the line.
            let last = first.lines().last().unwrap_or_default();
            let gap = if last.contains("--") || last.contains('#') { "\n" } else { " " };
            let words = ["Engine =", &engine.name, &engine.options].join(" ");
            *first = [first.as_str(), words.trim_end()].join(gap);
        }
        create
    }

    pub(super) fn takes_keys(&self) -> bool {
        self.queries.iter().any(|query| query.takes_key)
    }

    pub(super) fn list(&self) -> Vec<SqlStatement> {
        let queries = self.queries.iter();
        queries
            .map(|query| {
                if query.takes_key {
                    SqlStatement::Keyed(format!("{} WHERE id = ?", query.sql))
                } else {
                    SqlStatement::Fixed(query.sql.clone())
                }
            })
            .collect()
    }
}

/// The statements of a flag, if it was given.
fn statements(flag: &str, text: Option<&String>, delimiter: &str) -> Result<Vec<String>, String> {
    let Some(text) = text else { return Ok(Vec::new()) };
    split_sql(&text_or_file(flag, text)?, delimiter, SqlDialect::Mysql)
        .map_err(|error| format!("--{flag}: {error}"))
}

/// The statements of a flag, of which there must be one if it was given.
fn needed_statements(
    flag: &str,
    text: Option<&String>,
    delimiter: &str,
) -> Result<Vec<String>, String> {
    match (statements(flag, text, delimiter)?, text) {
        (none, Some(text)) if none.is_empty() => {
            Err(format!("--{flag}={text}: there is no statement in it"))
        }
        (statements, _) => Ok(statements),
    }
}

/// The value of a flag, or the contents of the file with that name.
fn text_or_file(flag: &str, text: &str) -> Result<Arc<str>, String> {
    let path = Path::new(text);
    let problem = match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => "that is a folder, not a file".to_owned(),
        // A pipe works, too: a shell makes one of `<(…)`.
        Ok(_) => match read_text(path, FILE_BYTES_MAX) {
            Ok(read) => return Ok(read.trim_start_matches('\u{feff}').into()),
            Err(error) => error.to_string(),
        },
        Err(_) if !looks_like_a_path(text) => return Ok(text.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => "there is no such file".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("--{flag}={text}: {problem}"))
}

/// A single word with a `/` in it, or ending in `.sql`, is not a statement.
fn looks_like_a_path(text: &str) -> bool {
    let text = text.trim();
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    is_word && (text.contains('/') || text.to_ascii_lowercase().ends_with(".sql"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.sql");
        fs::write(&path, "\u{feff}select 1").unwrap();
        assert_eq!(&*text_or_file("query", path.to_str().unwrap()).unwrap(), "select 1");
        assert_eq!(&*text_or_file("query", "select 1/2").unwrap(), "select 1/2");
        assert!(
            text_or_file("query", "/nowhere/q.sql").unwrap_err().ends_with("there is no such file")
        );
        assert!(text_or_file("query", "q.SQL").is_err());
        assert!(
            text_or_file("query", folder.path().to_str().unwrap())
                .unwrap_err()
                .contains("a folder")
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_called_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loop.sql");
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let error = text_or_file("query", path.to_str().unwrap()).unwrap_err();
        assert!(error.contains("symbolic links") && !error.contains("no such file"), "{error}");
        let path = folder.path().join("bytes.sql");
        fs::write(&path, [0xff]).unwrap();
        assert!(
            text_or_file("query", path.to_str().unwrap())
                .unwrap_err()
                .ends_with("is not valid UTF-8")
        );
    }

    #[test]
    fn a_pipe_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let text = path.to_str().unwrap().to_owned();
        let reader = std::thread::spawn(move || text_or_file("query", &text));
        fs::write(&path, "select 1;").unwrap();
        assert_eq!(&*reader.join().unwrap().unwrap(), "select 1;");
    }
}
