//! Option files: `[group]`, `name=value`, `!include`, and which files are read.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use truetps_files::{OptionFileError, OptionReader, OptionStyle, OptionVisitor, OptionWalk};

use super::spec::WordRefusal;

const NO_FILE: u8 = 1;

/// The option files and groups requested by a command line.
#[derive(Debug)]
pub(crate) struct OptionFiles {
    files: Vec<NamedFile>,
    groups: Vec<String>,
    /// `--print-defaults`.
    pub(crate) prints: bool,
}

#[derive(Debug)]
struct NamedFile {
    path: PathBuf,
    /// The user has named it.
    must_exist: bool,
}

impl NamedFile {
    /// One that programs read without being told.
    fn usual(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), must_exist: false }
    }
}

/// Words of option files, in the form of command-line words.
#[derive(Debug, Default)]
pub(crate) struct FileWords {
    pub(crate) words: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Files that are ignored because every user may write to them; each has its warning, too.
    pub(crate) open_to_all: Vec<PathBuf>,
}

impl OptionFiles {
    /// Removes the words that choose the files: they count only at the beginning.
    pub(crate) fn take_options(
        words: &mut VecDeque<String>,
        groups: &[&str],
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        let (mut only, mut extra, mut suffix, mut none, mut prints) =
            (None, None, None, false, false);
        while let Some(word) = words.front() {
            if word == "--no-defaults" {
                none = true;
            } else if word == "--print-defaults" {
                prints = true;
            } else if let Some(path) = word.strip_prefix("--defaults-file=") {
                only = Some(PathBuf::from(path));
            } else if let Some(path) = word.strip_prefix("--defaults-extra-file=") {
                extra = Some(PathBuf::from(path));
            } else if let Some(text) = word.strip_prefix("--defaults-group-suffix=") {
                suffix = Some(text.to_owned());
            } else {
                break;
            }
            words.pop_front();
        }
        // MariaDB's clients know both names, in this order.
        let suffix = suffix.or_else(|| {
            let variables = ["MARIADB_GROUP_SUFFIX", "MYSQL_GROUP_SUFFIX"];
            variables.into_iter().find_map(environment)?.into_string().ok()
        });
        let mut all: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        if let Some(suffix) = suffix {
            all.extend(groups.iter().map(|group| format!("{group}{suffix}")));
        }
        let extra = extra.map(|path| NamedFile { path, must_exist: true });
        let files = match (none, only) {
            (true, _) => extra.into_iter().collect(),
            (false, Some(path)) => vec![NamedFile { path, must_exist: true }],
            (false, None) => {
                let global = ["/etc/my.cnf", "/etc/mysql/my.cnf"].map(NamedFile::usual);
                let program = ["MARIADB_HOME", "MYSQL_HOME"].into_iter().find_map(environment);
                let program =
                    program.map(|folder| NamedFile::usual(Path::new(&folder).join("my.cnf")));
                let home = environment("HOME");
                let home = home.map(|home| NamedFile::usual(Path::new(&home).join(".my.cnf")));
                global.into_iter().chain(program).chain(extra).chain(home).collect()
            }
        };
        Self { files, groups: all, prints }
    }

    /// The contents of the files.
    pub(crate) fn read(&self) -> Result<FileWords, WordRefusal> {
        let mut reader = OptionFileReader { groups: &self.groups, read: FileWords::default() };
        for file in &self.files {
            let walk = OptionWalk::new(OptionStyle::Groups, OptionReader::Program, &mut reader)
                .file(&file.path);
            let source = match walk {
                Err(OptionFileError::Read { source, .. }) => source,
                Ok(()) => continue,
                Err(error) => {
                    reader.read.warnings.push(format!("{error}: the rest of the file is not used"));
                    continue;
                }
            };
            if file.must_exist {
                let text = format!(
                    "Could not open required defaults file: {} ({source})",
                    file.path.display()
                );
                return Err(WordRefusal::new(NO_FILE, text));
            }
            // Most of the default paths do not exist. A file that exists is meant to be used:
            // without it the login would use another account.
            if !source.is_not_found() {
                reader
                    .read
                    .warnings
                    .push(format!("'{}' is not used: {source}", file.path.display()));
            }
        }
        Ok(reader.read)
    }
}

struct OptionFileReader<'a> {
    groups: &'a [String],
    read: FileWords,
}

impl OptionVisitor for OptionFileReader<'_> {
    fn reads(&mut self, group: &str) -> bool {
        self.groups.iter().any(|ours| ours.eq_ignore_ascii_case(group))
    }

    fn setting(&mut self, _: &Path, name: &str, value: Option<&str>) -> bool {
        self.read
            .words
            .push(value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}")));
        true
    }

    fn note(&mut self, note: String) {
        self.read.warnings.push(note);
    }

    fn open_to_all(&mut self, file: &Path) {
        self.read
            .warnings
            .push(format!("World-writable config file '{}' is ignored", file.display()));
        self.read.open_to_all.push(file.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn deque(words: &[&str]) -> VecDeque<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    #[test]
    fn words_of_the_groups_that_are_ours() {
        let folder = tempfile::tempdir().unwrap();
        let inner = write(folder.path(), "z.cnf", "[mysqlslap]\nno-drop\n");
        let text = format!(
            "[mysqld]\nport=1\n# c\n[Client ] # x\nuser = me # who\npassword='a b # \
             c'\n;x\nsocket=/a\\sb\nskip-ssl\n\
             !include {}\n[client-x]\nport = 7\n!includedir /nowhere\n",
            inner.display()
        );
        let main = write(folder.path(), "my.cnf", &text);
        let file = format!("--defaults-file={}", main.display());
        let mut words = deque(&[&file, "--defaults-group-suffix=-x", "-a", "--no-defaults"]);
        let files = OptionFiles::take_options(&mut words, &["mysqlslap", "client"], &|_| None);
        assert_eq!(words, ["-a", "--no-defaults"], "only the first words are taken");
        let read = files.read().unwrap();
        assert_eq!(
            read.words,
            [
                "--user=me",
                "--password=a b # c",
                "--socket=/a b",
                "--skip-ssl",
                "--no-drop",
                "--port=7"
            ]
        );
        assert_eq!(read.warnings.len(), 1);
    }

    #[test]
    fn which_files_are_read() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().as_os_str().to_owned();
        let environment = move |name: &str| (name == "HOME").then(|| place.clone());
        write(home.path(), ".my.cnf", "[client]\nuser=home\n");
        let read = |first: &[&str]| {
            OptionFiles::take_options(&mut deque(first), &["client"], &environment)
                .read()
                .map(|read| read.words)
        };
        assert_eq!(read(&[]).unwrap().last().unwrap(), "--user=home");
        assert_eq!(read(&["--no-defaults"]).unwrap(), [""; 0]);
        let refusal = read(&["--defaults-file=/nowhere/my.cnf"]).unwrap_err();
        assert!(refusal.text.starts_with("Could not open required defaults file: /nowhere/my.cnf"));
        let open = write(home.path(), "open.cnf", "[client]\nuser=x\n");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(read(&[&format!("--defaults-file={}", open.display())]).unwrap(), [""; 0]);
    }

    #[test]
    fn a_file_of_the_usual_places_that_cannot_be_used_is_named() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().as_os_str().to_owned();
        let environment = move |name: &str| (name == "HOME").then(|| place.clone());
        let warnings = || {
            let warnings = OptionFiles::take_options(&mut deque(&[]), &["client"], &environment)
                .read()
                .unwrap()
                .warnings;
            warnings.into_iter().filter(|warning| warning.contains("/.my.cnf")).collect::<Vec<_>>()
        };
        assert_eq!(warnings(), [""; 0], "none is there");
        let path = home.path().join(".my.cnf");
        for (bytes, expect) in [
            (b"[client]\nuser = \xff\n".to_vec(), "line 2 is not valid UTF-8"),
            (vec![b'#'; (1 << 20) + 1], "is larger than"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert!(warnings()[0].contains(expect), "{:?}", warnings());
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(warnings().len(), 1, "what is no file");
    }

    #[test]
    fn files_that_include_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cnf");
        write(folder.path(), "a.cnf", &format!("[client]\nssl\n!include {}\n", path.display()));
        let mut words = deque(&[&format!("--defaults-file={}", path.display())]);
        let read = OptionFiles::take_options(&mut words, &["client"], &|_| None).read().unwrap();
        assert_eq!(read.words.len(), 11);
    }
}
