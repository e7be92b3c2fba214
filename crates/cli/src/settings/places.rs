//! Where the files of settings are.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::owner::is_ours;
use crate::terminal::print_line;

/// A project's file.
pub(crate) const PROJECT_FILE: &str = "truetps.toml";
/// The user's file, in the folder of configurations.
const USER_FILE: &str = "truetps/config.toml";
/// The one file to read in place of both; empty: none.
const CONFIG: &str = "TRUETPS_CONFIG";

/// Files to read, and where others would be.
#[derive(Debug, Default)]
pub(crate) struct ConfigPlaces {
    /// Those that are there, the one that decides first.
    pub(super) found: Vec<PathBuf>,
    /// Where the user's file is or would be; `None`: no folder of configurations is known, or a
    /// variable names the file.
    pub(crate) of_user: Option<PathBuf>,
}

impl ConfigPlaces {
    pub(crate) fn of(here: Option<&Path>, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        if let Some(named) = variable(CONFIG) {
            let found = if named.is_empty() { Vec::new() } else { vec![PathBuf::from(named)] };
            return Self { found, of_user: None };
        }
        let folder = absolute_path(variable("XDG_CONFIG_HOME"))
            .or_else(|| absolute_path(variable("HOME")).map(|home| home.join(".config")));
        let of_user = folder.map(|folder| folder.join(USER_FILE));
        let project = here.and_then(|here| project_file(here, of_user.as_deref()));
        let own = of_user.clone().filter(|path| !is_absent(path));
        let found = project.into_iter().chain(own).collect();
        Self { found, of_user }
    }
}

impl ConfigPlaces {
    pub(crate) fn found(&self) -> &[PathBuf] {
        &self.found
    }
}

fn absolute_path(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The nearest one, in this folder or above it.
fn project_file(here: &Path, of_user: Option<&Path>) -> Option<PathBuf> {
    let mut files = here.ancestors().map(|folder| folder.join(PROJECT_FILE));
    files.find(|path| Some(&**path) != of_user && !is_absent(path) && is_trusted(path))
}

/// Also in a folder that may not be searched: `sudo -u mysql` keeps the HOME of another user.
fn is_absent(path: &Path) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    path.metadata()
        .is_err_and(|error| [NotFound, NotADirectory, PermissionDenied].contains(&error.kind()))
}

/// A file names a server's program, which is then run: in a folder that others may write to, such
/// as /tmp, theirs is not obeyed.
fn is_trusted(path: &Path) -> bool {
    let is_trusted = is_ours(path);
    if !is_trusted {
        print_line(&format!("warning: {}: ignored, belongs to another user", path.display()));
    }
    is_trusted
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_project_file_comes_before_the_users() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir_all(path("home/truetps")).unwrap();
        let variable =
            |name: &str| (name == "XDG_CONFIG_HOME").then(|| path("home").into_os_string());
        let found = |here: &str| ConfigPlaces::of(Some(&path(here)), &variable).found;
        assert_eq!(found("a/b"), Vec::<PathBuf>::new());
        fs::write(path("truetps.toml"), "").unwrap();
        fs::write(path("home/truetps/config.toml"), "").unwrap();
        assert_eq!(found("a/b"), [path("truetps.toml"), path("home/truetps/config.toml")]);
        fs::write(path("a/truetps.toml"), "").unwrap();
        assert_eq!(found("a/b"), [path("a/truetps.toml"), path("home/truetps/config.toml")]);
        let named = |name: &str| (name == CONFIG).then(|| OsString::from("x.toml"));
        assert_eq!(ConfigPlaces::of(Some(&path("a")), &named).found, [PathBuf::from("x.toml")]);
        let none = |name: &str| (name == CONFIG).then(OsString::new);
        assert_eq!(ConfigPlaces::of(Some(&path("a")), &none).found, Vec::<PathBuf>::new());
    }
}
