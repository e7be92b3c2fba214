//! Option files with the files that they include.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use truetps_knowledge::{SideValue, parse_options};
use truetps_record::is_secret_name;

use crate::error::InspectError;
use crate::sides::read_text;

/// Files that include each other go no deeper.
const DEPTH_MAX: u32 = 10;

/// Settings of the file and of those that it includes; the last one of a name holds.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, SideValue>, InspectError> {
    let mut settings = BTreeMap::new();
    add(path, &read_text(path)?, 0, &mut settings)?;
    if settings.is_empty() {
        return Err(InspectError::NoSettings { path: path.to_owned() });
    }
    Ok(settings)
}

fn add(path: &Path, text: &str, depth: u32, settings: &mut BTreeMap<String, SideValue>) -> Result<(), InspectError> {
    if depth > DEPTH_MAX {
        return Err(InspectError::Depth { path: path.to_owned() });
    }
    let read = parse_options(text);
    if let Some(line) = read.odd_line {
        return Err(InspectError::Options { path: path.to_owned(), line });
    }
    let origin = path.display().to_string();
    for (name, value) in read.settings {
        if !is_secret_name(&name) {
            settings.insert(name, SideValue { value, origin: Some(origin.clone()), ..SideValue::default() });
        }
    }
    for (what, named) in read.includes {
        let named = path.parent().unwrap_or(Path::new(".")).join(named);
        for file in if what == "includedir" { files_in(&named)? } else { vec![named] } {
            add(&file, &read_text(&file)?, depth + 1, settings)?;
        }
    }
    Ok(())
}

/// What servers read of a folder: files that end in `.cnf`, in the order of their names.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, InspectError> {
    let failed = |source| InspectError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "cnf") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_count() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("conf.d")).unwrap();
        write("conf.d/b.cnf", "[mysqld]\nsync_binlog=0\npassword=x\n");
        write("conf.d/a.cnf", "[mysqld]\nsync_binlog=7\nmax_connections=9\n");
        write("conf.d/c.txt", "[mysqld]\nsync_binlog=8\n");
        write("my.cnf", "[mysqld]\nsync_binlog=1\n!includedir conf.d\n");
        let found = read(&dir.path().join("my.cnf")).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found["sync_binlog"].value, "0");
        assert!(found["sync_binlog"].origin.as_deref().unwrap().ends_with("b.cnf"));
        write("loop.cnf", "!include loop.cnf\n");
        let error = read(&dir.path().join("loop.cnf")).unwrap_err().to_string();
        assert!(error.contains("too deeply"), "{error}");
    }
}
