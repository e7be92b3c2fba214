//! Option files with the files that they include, in the order in which a server reads them: the
//! last line wins.

use std::collections::BTreeMap;
use std::path::Path;

use truetps_files::{OptionReader, OptionStyle, OptionVisitor, OptionWalk};
use truetps_knowledge::{
    GroupUse, SettingsSide, SideValue, Version, added_line, group_use, is_loose, option_family,
    server_setting, setting_note,
};
use truetps_record::{Flavour, is_secret};

use crate::error::InspectError;

/// Settings of this text of a file and of the files that it includes, as a server of this family
/// and version reads them. The notes are of groups and files that were left out.
pub(crate) fn read(
    path: &Path,
    text: &[u8],
    flavour: Option<Flavour>,
    version: Option<&Version>,
) -> Result<SettingsSide, InspectError> {
    let style = OptionStyle::of(text);
    // A program that reads groups is not PostgreSQL.
    let (flavour, version) =
        if flavour == Some(Flavour::Postgresql) { (None, None) } else { (flavour, version) };
    let (name, kind) = (path.display().to_string(), "option file".to_owned());
    let side = SettingsSide { name, kind, ..SettingsSide::default() };
    let mut reader = OptionSideReader { style, flavour, version, side };
    OptionWalk::new(style, OptionReader::Server, &mut reader).bytes(path, text)?;
    let mut side = reader.side;
    if side.settings.is_empty() {
        return Err(InspectError::NoSettings { path: path.to_owned(), notes: side.notes });
    }
    side.family =
        Some(option_family(style, &side.settings.keys().map(String::as_str).collect::<Vec<_>>()));
    Ok(side)
}

/// An option that may be there many times, each for another part of a server, and that a command
/// line cannot join.
const LAST_ALONE: &str = "performance_schema_instrument";

/// The last line of a name holds, but for options whose lines add up.
pub(crate) fn insert_line(
    settings: &mut BTreeMap<String, SideValue>,
    name: String,
    mut found: SideValue,
) {
    if let Some(added) =
        settings.get(&name).and_then(|before| added_line(&name, &before.value, &found.value))
    {
        found.value = added;
    }
    settings.insert(name, found);
}

struct OptionSideReader<'a> {
    style: OptionStyle,
    flavour: Option<Flavour>,
    version: Option<&'a Version>,
    side: SettingsSide,
}

impl OptionVisitor for OptionSideReader<'_> {
    fn reads(&mut self, group: &str) -> bool {
        let used = group_use(group, self.flavour, self.version);
        if let Some(note) = used.note(group) {
            self.note(note);
        }
        used == GroupUse::Server
    }

    fn setting(&mut self, file: &Path, name: &str, value: Option<&str>) -> bool {
        if let Some(note) = setting_note(self.style, name, value) {
            self.note(note);
        }
        let (is_loose, is_bare) = (is_loose(self.style, name), value.is_none());
        // Of names that no server knows, a loose one is passed over.
        let Some((name, value)) = server_setting(self.style, self.flavour, name, value) else {
            return is_loose;
        };
        if is_secret(&name, &value) {
            self.note(format!("{name} is left out: it may hold a secret"));
            return true;
        }
        if name == LAST_ALONE && self.side.settings.contains_key(&name) {
            self.note(format!(
                "a server takes each line of {name}: only the last one is taken here"
            ));
        }
        let origin = Some(file.display().to_string());
        let found = SideValue { value, origin, is_loose, is_bare, ..SideValue::default() };
        insert_line(&mut self.side.settings, name, found);
        true
    }

    fn note(&mut self, note: String) {
        if !self.side.notes.contains(&note) {
            self.side.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_file(path: &Path, version: Option<&str>) -> Result<SettingsSide, InspectError> {
        read(path, &fs::read(path).unwrap(), None, version.and_then(Version::parse).as_ref())
    }

    fn values(path: &Path, version: Option<&str>) -> BTreeMap<String, String> {
        read_file(path, version)
            .unwrap()
            .settings
            .into_iter()
            .map(|(name, found)| (name, found.value))
            .collect()
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
            "[mysqld]\nsync_binlog=1\nmax_connections=7\n!includedir \
             conf.d\n[mysqld]\nmax_connections=8\n",
        );
        let found = read_file(&dir.path().join("my.cnf"), None).unwrap().settings;
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found["sync_binlog"].value.as_str(), found["max_connections"].value.as_str()),
            ("0", "8")
        );
        assert!(found["sync_binlog"].origin.as_deref().unwrap().ends_with("b.cnf"));
        write("loop.cnf", "[mysqld]\n!include loop.cnf\n");
        let error = read_file(&dir.path().join("loop.cnf"), None).err().unwrap().to_string();
        assert!(error.contains("too deeply"), "{error}");
        write("odd.cnf", "[mysqld]\n<html>\n");
        let error = read_file(&dir.path().join("odd.cnf"), None).err().unwrap().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    /// As a server makes it of such lines, by a test with servers.
    #[test]
    fn lines_that_add_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        let text = "[mysqld]\noptimizer_switch='mrr=off'\nreplicate-do-db=a\nreplicate-do-db=b\nsync_binlog=1\n\
                    optimizer-switch=index_merge=off\nsync-binlog=7\nreplicate-same-server-id=0\nreplicate-same-server-id=1\n\
                    performance-schema-instrument='a=ON'\nperformance-schema-instrument='b=ON'\n\
                    innodb_ft_min_token_size=2\nwsrep_sst_auth=a:b\n";
        fs::write(&path, text).unwrap();
        let found = values(&path, None);
        let of = |name: &str| found[name].as_str();
        assert_eq!(
            (of("optimizer_switch"), of("replicate_do_db")),
            ("mrr=off,index_merge=off", "a,b")
        );
        assert_eq!(
            (of("sync_binlog"), of("replicate_same_server_id"), of("innodb_ft_min_token_size")),
            ("7", "1", "2")
        );
        let notes = read_file(&path, None).unwrap().notes;
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("each line of performance_schema_instrument"), "{notes:?}");
        assert_eq!(notes[1], "wsrep_sst_auth is left out: it may hold a secret");
    }

    #[test]
    fn groups_of_one_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        let text = "[mysqld]\nsync_binlog=1\n[mysqld1]\nsync_binlog=2\n[mysqld-5.7]\nsync_binlog=3\n[mysqld-8.0]\n\
                    skip-networking\n";
        fs::write(&path, text).unwrap();
        let found = |version| values(&path, version)["sync_binlog"].clone();
        assert_eq!(
            (found(None), found(Some("8.0.36")), found(Some("5.7.22"))),
            ("1".into(), "1".into(), "3".into())
        );
        assert_eq!(values(&path, Some("8.0.36"))["skip_networking"], "ON");
        let notes = read_file(&path, None).unwrap().notes;
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
        let text = "fsync = on\nwal_level = logical\ninclude_dir 'conf.d'\ninclude_if_exists \
                    'nowhere.conf'\n\
                    include 'more.conf'\nwal_level = replica # the last one\n";
        write("postgresql.conf", text);
        let found = values(&dir.path().join("postgresql.conf"), None);
        let of = |name: &str| found[name].as_str();
        assert_eq!((of("fsync"), of("wal_level"), of("max_connections")), ("off", "replica", "7"));
        write("copied.conf", "fsync = on\ninclude_dir 'nowhere.d'\n");
        let copied = read_file(&dir.path().join("copied.conf"), None).unwrap();
        assert!(
            copied.settings.len() == 1 && copied.notes[0].contains("nowhere.d"),
            "{:?}",
            copied.notes
        );
    }

    /// The main file of Ubuntu's and Debian's packages.
    #[test]
    fn a_file_that_only_includes() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("conf.d")).unwrap();
        fs::write(dir.path().join("conf.d/mysqld.cnf"), "[mysqld]\nsync_binlog=0\n").unwrap();
        let path = dir.path().join("my.cnf");
        let text = format!(
            "# Includes\n!includedir {}/\n!includedir /nowhere/\n",
            dir.path().join("conf.d").display()
        );
        fs::write(&path, text).unwrap();
        let read = read_file(&path, None).unwrap();
        assert_eq!(read.settings["sync_binlog"].value, "0");
        assert!(read.notes.len() == 1 && read.notes[0].contains("/nowhere"), "{:?}", read.notes);
    }
}
