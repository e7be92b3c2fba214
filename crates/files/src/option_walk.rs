//! Option files and the files that they include, in the order in which servers and programs read
//! them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::option_file::has_mark;
use crate::text_file::{TextError, read_bytes};
use crate::{OptionLine, OptionStyle};

/// Includes are followed no deeper.
const DEPTH_MAX: u32 = 10;
/// Without this limit, files that include each other twice would be read a thousand times.
const FILES_MAX: u32 = 1000;
/// A hand-written option file is a few kilobytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The program that would read the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionReader {
    /// A MySQL program on this host, in this working directory.
    Program,
    /// A server that may run elsewhere, in an unknown working directory.
    Server,
}

/// Receives the contents of option files.
pub trait OptionVisitor {
    /// Whether settings of this group apply.
    fn reads(&mut self, group: &str) -> bool;

    /// A setting of such a group, or of a file without groups. `false`: the setting is malformed.
    fn setting(&mut self, file: &Path, name: &str, value: Option<&str>) -> bool;

    /// What was ignored, and why.
    fn note(&mut self, note: String);

    /// A file that is not read because it is world-writable.
    fn open_to_all(&mut self, file: &Path) {
        self.note(format!("World-writable config file '{}' is ignored", file.display()));
    }
}

#[derive(Debug, Error)]
pub enum OptionFileError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: TextError },
    /// A server does not start with it.
    #[error("{}: line {line} {fault}", path.display())]
    Line { path: PathBuf, line: usize, fault: &'static str },
    /// A server reads a part of it.
    #[error("{}: line {line} {fault}", path.display())]
    Cut { path: PathBuf, line: usize, fault: &'static str },
    #[error("{}: line {line} sets something before the first group: servers do not start with it", path.display())]
    BeforeGroup { path: PathBuf, line: usize },
    #[error("{}: line {line} is not valid UTF-8", path.display())]
    Encoding { path: PathBuf, line: usize },
}

/// Reads files for one visitor.
pub struct OptionWalk<'a, V> {
    style: OptionStyle,
    reader: OptionReader,
    visitor: &'a mut V,
    files: u32,
}

impl<'a, V: OptionVisitor> OptionWalk<'a, V> {
    pub fn new(style: OptionStyle, reader: OptionReader, visitor: &'a mut V) -> Self {
        Self { style, reader, visitor, files: 0 }
    }

    /// This file, and what it includes.
    pub fn file(&mut self, path: &Path) -> Result<(), OptionFileError> {
        self.open(path, 0)
    }

    /// Walks a file whose bytes have been read.
    pub fn bytes(&mut self, path: &Path, text: &[u8]) -> Result<(), OptionFileError> {
        if let Ok(facts) = fs::metadata(path) {
            self.note_of_mode(path, &facts);
        }
        self.lines(path, text, 0)
    }

    /// Whether a program reads the file: not if anyone could have changed it. What is for a server
    /// may be a copy.
    fn note_of_mode(&mut self, path: &Path, facts: &fs::Metadata) -> bool {
        if self.style == OptionStyle::Plain
            || !facts.is_file()
            || facts.permissions().mode() & 0o002 == 0
        {
            return true;
        }
        if self.reader == OptionReader::Program {
            self.visitor.open_to_all(path);
            return false;
        }
        self.visitor
            .note(format!("'{}' is world-writable: a server would not read it", path.display()));
        true
    }

    fn open(&mut self, path: &Path, depth: u32) -> Result<(), OptionFileError> {
        let facts = fs::metadata(path).map_err(|error| unreadable(path, error))?;
        // A pipe is fine if the user has named it; reading one that a folder happens to contain
        // would block.
        if depth > 0 && !facts.is_file() {
            return Err(unreadable(path, io::Error::other("it is not a file")));
        }
        if !self.note_of_mode(path, &facts) {
            return Ok(());
        }
        // Comments may be of any encoding.
        let bytes = read_bytes(path, FILE_BYTES_MAX).map_err(|error| unreadable(path, error))?;
        self.lines(path, &bytes, depth)
    }

    fn lines(&mut self, path: &Path, text: &[u8], depth: u32) -> Result<(), OptionFileError> {
        if self.reader == OptionReader::Server && has_mark(text) {
            let shown = path.display();
            self.visitor.note(format!(
                "'{shown}' begins with a byte order mark: a server does not start with it"
            ));
        }
        let mut is_ours = self.style == OptionStyle::Plain;
        let mut is_grouped = is_ours || self.reader == OptionReader::Program;
        for (line, what) in self.style.lines(text) {
            match what {
                OptionLine::Group(group) => {
                    (is_ours, is_grouped) = (self.visitor.reads(&group), true);
                }
                OptionLine::Setting { .. } if !is_grouped => {
                    return Err(OptionFileError::BeforeGroup { path: path.to_owned(), line });
                }
                OptionLine::Setting { name, value } if is_ours => {
                    let mut texts = [Some(&name), value.as_ref()].into_iter().flatten();
                    if texts.any(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
                        return Err(OptionFileError::Encoding { path: path.to_owned(), line });
                    }
                    if !self.visitor.setting(path, &name, value.as_deref()) {
                        let fault = "is neither a group, a setting nor a comment of an option file";
                        return Err(OptionFileError::Line { path: path.to_owned(), line, fault });
                    }
                }
                OptionLine::Setting { .. } => {}
                OptionLine::Include { how, path: named } => {
                    self.include(path, &how, &named, depth)?;
                }
                OptionLine::Fault(fault) => {
                    return Err(OptionFileError::Line { path: path.to_owned(), line, fault });
                }
                OptionLine::Cut(fault) => {
                    return Err(OptionFileError::Cut { path: path.to_owned(), line, fault });
                }
            }
        }
        Ok(())
    }

    /// An unreadable file is reported and skipped: option files copied from another host include
    /// paths that exist only there.
    fn include(
        &mut self,
        from: &Path,
        how: &str,
        named: &str,
        depth: u32,
    ) -> Result<(), OptionFileError> {
        if depth >= DEPTH_MAX {
            self.visitor.note(format!("'{}' nests includes too deeply", from.display()));
            return Ok(());
        }
        let mark = if self.style == OptionStyle::Groups { "!" } else { "" };
        let line = format!("'{mark}{how} {named}' in '{}'", from.display());
        let path = self.place(from, Path::new(named));
        let files = match how {
            "include" => Ok(vec![path]),
            "includedir" => files_in(&path, "cnf", true),
            "include_dir" => files_in(&path, "conf", false),
            "include_if_exists" => Ok(if path.exists() { vec![path] } else { Vec::new() }),
            _ => Err(io::Error::other("wrong '!' directive")),
        };
        for file in files.unwrap_or_else(|error| {
            self.visitor.note(format!("{line}: {error}"));
            Vec::new()
        }) {
            self.files += 1;
            if self.files > FILES_MAX {
                if self.files == FILES_MAX + 1 {
                    self.visitor.note(format!(
                        "more than {FILES_MAX} files are included: the rest is ignored"
                    ));
                }
                return Ok(());
            }
            match self.open(&file, depth + 1) {
                Err(OptionFileError::Read { source, .. }) => {
                    self.visitor.note(format!("{line}: {source}"));
                }
                // Servers of the MySQL family say so, pass over the rest of that file, and go on.
                Err(
                    error @ (OptionFileError::Line { .. } | OptionFileError::BeforeGroup { .. }),
                ) if self.style == OptionStyle::Groups => {
                    self.visitor.note(format!("{error}: the rest of that file is not read"));
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// PostgreSQL resolves names relative to the including file. MySQL's programs and servers
    /// resolve them relative to their working directory; a server's is unknown.
    fn place(&mut self, from: &Path, named: &Path) -> PathBuf {
        let is_beside = self.style == OptionStyle::Plain || self.reader == OptionReader::Server;
        if named.is_absolute() || !is_beside {
            return named.to_owned();
        }
        if self.style == OptionStyle::Groups {
            let (named, from) = (named.display(), from.display());
            self.visitor.note(format!(
                "'{named}' is resolved relative to '{from}'; a server resolves it relative to its \
                 working directory"
            ));
        }
        from.parent().unwrap_or(Path::new("")).join(named)
    }
}

/// The files of a folder with this ending, in the order of their names. PostgreSQL ignores hidden
/// ones.
fn files_in(folder: &Path, ending: &str, with_hidden: bool) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.path().extension().is_some_and(|extension| extension == ending)
            && (with_hidden || !is_hidden)
        {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, source: impl Into<TextError>) -> OptionFileError {
    OptionFileError::Read { path: path.to_owned(), source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct All {
        settings: Vec<String>,
        notes: Vec<String>,
    }

    impl OptionVisitor for All {
        fn reads(&mut self, group: &str) -> bool {
            group == "mysqld"
        }

        fn setting(&mut self, _: &Path, name: &str, _: Option<&str>) -> bool {
            self.settings.push(name.to_owned());
            name != "<html>"
        }

        fn note(&mut self, note: String) {
            self.notes.push(note);
        }
    }

    fn read(
        path: &Path,
        style: OptionStyle,
        reader: OptionReader,
    ) -> (Result<(), OptionFileError>, All) {
        let mut all = All::default();
        let result = OptionWalk::new(style, reader, &mut all).file(path);
        (result, all)
    }

    #[test]
    fn includes_of_a_program_and_of_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("beside.cnf", "[mysqld]\nb\n[client]\nc\n");
        write("my.cnf", "[mysqld]\na\n!include beside.cnf\nd\n!includedir /nowhere\n!inc /x\n");
        let path = dir.path().join("my.cnf");
        let (result, server) = read(&path, OptionStyle::Groups, OptionReader::Server);
        assert!(result.is_ok());
        assert_eq!(server.settings, ["a", "b", "d"]);
        assert!(server.notes[0].contains("is resolved relative to"), "{:?}", server.notes);
        assert!(server.notes[1].starts_with("'!includedir /nowhere' in '"), "{:?}", server.notes);
        assert!(server.notes[2].ends_with("wrong '!' directive"), "{:?}", server.notes);
        let (_, program) = read(&path, OptionStyle::Groups, OptionReader::Program);
        assert_eq!(program.settings, ["a", "d"], "the working folder has no such file");
        assert_eq!(program.notes.len(), 3);
    }

    #[test]
    fn what_a_program_does_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open.cnf");
        fs::write(&path, "[mysqld]\na\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let (_, program) = read(&path, OptionStyle::Groups, OptionReader::Program);
        assert!(program.settings.is_empty() && program.notes[0].starts_with("World-writable"));
        let (_, server) = read(&path, OptionStyle::Groups, OptionReader::Server);
        assert!(server.settings == ["a"] && server.notes[0].contains("is world-writable"));
    }

    #[test]
    fn no_file_is_waited_for_and_none_is_read_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let twice =
            format!("[mysqld]\na\n!include {0}\n!include {0}\n", path("loop.cnf").display());
        fs::write(path("loop.cnf"), twice).unwrap();
        let (result, all) = read(&path("loop.cnf"), OptionStyle::Groups, OptionReader::Server);
        assert!(
            result.is_ok() && all.settings.len() == FILES_MAX as usize + 1,
            "{}",
            all.settings.len()
        );
        assert!(all.notes.iter().any(|note| note.contains("too deeply")));
        assert!(all.notes.iter().any(|note| note.contains("more than 1000 files")));
        fs::write(path("odd.cnf"), format!("[mysqld]\n!include {}\n", dir.path().display()))
            .unwrap();
        let (_, all) = read(&path("odd.cnf"), OptionStyle::Groups, OptionReader::Server);
        assert!(all.notes[0].ends_with("it is not a file"), "{:?}", all.notes);
        fs::write(path("wrong.cnf"), "[mysqld]\n<html>\n").unwrap();
        let (result, _) = read(&path("wrong.cnf"), OptionStyle::Groups, OptionReader::Server);
        assert!(matches!(result, Err(OptionFileError::Line { line: 2, .. })));
    }
}
