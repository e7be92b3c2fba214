//! Option files with the files that they include, in the order in which a server reads them: the last line holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use truetps_knowledge::{GroupUse, SideValue, Version, group_use, server_setting, setting_note};
use truetps_record::{Flavour, OptionLine, OptionStyle, is_secret_name};

use crate::error::InspectError;
use crate::sides::read_text;

/// Files that include each other go no deeper.
const DEPTH_MAX: u32 = 10;

/// What a server that reads these files is told.
pub(crate) struct Read {
    pub(crate) settings: BTreeMap<String, SideValue>,
    /// Groups that were left out.
    pub(crate) notes: Vec<String>,
}

/// Settings of the file and of those that it includes, as a server of this family and version reads them.
pub(crate) fn read(path: &Path, flavour: Option<Flavour>, version: Option<&Version>) -> Result<Read, InspectError> {
    let text = read_text(path)?;
    let read = Read { settings: BTreeMap::new(), notes: Vec::new() };
    let mut reader = Reader { style: OptionStyle::of(&text), flavour, version, read };
    reader.add(path, &text, 0)?;
    if reader.read.settings.is_empty() {
        return Err(InspectError::NoSettings { path: path.to_owned() });
    }
    Ok(reader.read)
}

struct Reader<'a> {
    style: OptionStyle,
    flavour: Option<Flavour>,
    version: Option<&'a Version>,
    read: Read,
}

impl Reader<'_> {
    fn add(&mut self, path: &Path, text: &str, depth: u32) -> Result<(), InspectError> {
        if depth > DEPTH_MAX {
            return Err(InspectError::Depth { path: path.to_owned() });
        }
        let mut is_ours = self.style == OptionStyle::Plain;
        for (line, what) in self.style.lines(text) {
            match what {
                OptionLine::Group(group) => is_ours = self.reads(&group),
                OptionLine::Setting { name, value } if is_ours => {
                    self.note(setting_note(self.style, &name, value.as_deref()));
                    let Some((name, value)) = server_setting(self.style, &name, value.as_deref()) else {
                        return Err(InspectError::Options { path: path.to_owned(), line });
                    };
                    self.set(path, name, value);
                }
                OptionLine::Setting { .. } => {}
                OptionLine::Include { how, path: named } => self.include(path, &how, &named, depth)?,
            }
        }
        Ok(())
    }

    fn reads(&mut self, group: &str) -> bool {
        let used = group_use(group, self.flavour, self.version);
        self.note(used.note(group));
        used == GroupUse::Server
    }

    fn note(&mut self, note: Option<String>) {
        self.read.notes.extend(note.filter(|note| !self.read.notes.contains(note)));
    }

    fn set(&mut self, path: &Path, name: String, value: String) {
        if !is_secret_name(&name) {
            let origin = Some(path.display().to_string());
            self.read.settings.insert(name, SideValue { value, origin, ..SideValue::default() });
        }
    }

    fn include(&mut self, from: &Path, how: &str, named: &str, depth: u32) -> Result<(), InspectError> {
        let named = from.parent().unwrap_or(Path::new(".")).join(named);
        let files = match how {
            "includedir" => files_in(&named, "cnf")?,
            "include_dir" => files_in(&named, "conf")?,
            "include_if_exists" if !named.exists() => Vec::new(),
            _ => vec![named],
        };
        files.iter().try_for_each(|file| self.add(file, &read_text(file)?, depth + 1))
    }
}

/// What servers read of a folder: files that end so and are not hidden, in the order of their names.
fn files_in(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, InspectError> {
    let failed = |source| InspectError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.path().extension().is_some_and(|extension| extension == ending) && !is_hidden {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(path: &Path, version: Option<&str>) -> BTreeMap<String, String> {
        let read = read(path, None, version.and_then(Version::parse).as_ref()).unwrap();
        read.settings.into_iter().map(|(name, found)| (name, found.value)).collect()
    }

    #[test]
    fn the_last_line_holds_whichever_file_it_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("conf.d")).unwrap();
        write("conf.d/b.cnf", "[mysqld]\nsync_binlog=0\npassword=x\n");
        write("conf.d/a.cnf", "[mysqld]\nsync_binlog=7\nmax_connections=9\n");
        write("conf.d/c.txt", "[mysqld]\nsync_binlog=8\n");
        write(
            "my.cnf",
            "[mysqld]\nsync_binlog=1\nmax_connections=7\n!includedir conf.d\n[mysqld]\nmax_connections=8\n",
        );
        let found = read(&dir.path().join("my.cnf"), None, None).unwrap().settings;
        assert_eq!(found.len(), 2);
        assert_eq!((found["sync_binlog"].value.as_str(), found["max_connections"].value.as_str()), ("0", "8"));
        assert!(found["sync_binlog"].origin.as_deref().unwrap().ends_with("b.cnf"));
        write("loop.cnf", "[mysqld]\n!include loop.cnf\n");
        let error = read(&dir.path().join("loop.cnf"), None, None).err().unwrap().to_string();
        assert!(error.contains("too deeply"), "{error}");
        write("odd.cnf", "[mysqld]\n<html>\n");
        let error = read(&dir.path().join("odd.cnf"), None, None).err().unwrap().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn groups_of_one_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        let text = "[mysqld]\nsync_binlog=1\n[mysqld1]\nsync_binlog=2\n[mysqld-5.7]\nsync_binlog=3\n[mysqld-8.0]\n\
                    skip-networking\n";
        fs::write(&path, text).unwrap();
        let found = |version| values(&path, version)["sync_binlog"].clone();
        assert_eq!((found(None), found(Some("8.0.36")), found(Some("5.7.22"))), ("1".into(), "1".into(), "3".into()));
        assert_eq!(values(&path, Some("8.0.36"))["skip_networking"], "ON");
        let notes = read(&path, None, None).unwrap().notes;
        assert!(notes.len() == 2 && notes[0].contains("[mysqld-5.7]"), "{notes:?}");
    }

    #[test]
    fn files_of_postgresql() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("conf.d")).unwrap();
        write("conf.d/a.conf", "fsync = off\nwal_level minimal\n");
        write("conf.d/.b.conf", "fsync = on\n");
        write("conf.d/c.cnf", "fsync = on\n");
        write("more.conf", "max_connections = 7\n");
        let text = "fsync = on\nwal_level = logical\ninclude_dir 'conf.d'\ninclude_if_exists 'nowhere.conf'\n\
                    include 'more.conf'\nwal_level = replica # the last one\n";
        write("postgresql.conf", text);
        let found = values(&dir.path().join("postgresql.conf"), None);
        let of = |name: &str| found[name].as_str();
        assert_eq!((of("fsync"), of("wal_level"), of("max_connections")), ("off", "replica", "7"));
        write("wrong.conf", "include 'nowhere.conf'\n");
        assert!(read(&dir.path().join("wrong.conf"), None, None).is_err());
    }
}
