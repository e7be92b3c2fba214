//! The script of a run: data that all its states share.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sources::LoadedSources;

/// The scripts' folder in sysbench's packages.
const DATA_DIR: &str = "/usr/share/sysbench";

/// The source of a script's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptSource {
    File(Vec<u8>),
    /// Found in `package.path`.
    Module(Vec<u8>),
    /// The standard input, or a built-in text.
    Text {
        name: &'static str,
        text: Vec<u8>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct LuaScript {
    pub(crate) source: ScriptSource,
    /// As typed.
    pub(crate) name: Vec<u8>,
    pub(crate) command: Option<Vec<u8>>,
    pub(crate) argv: Vec<Vec<u8>>,
    /// The sysbench version shown to the script: `1.0.20`.
    pub(crate) version: &'static str,
    /// Whether the API of 0.5 is available.
    pub(crate) has_legacy: bool,
    pub(crate) package_path: Vec<u8>,
    pub(crate) package_cpath: Vec<u8>,
    /// Limit of one state.
    pub(crate) memory_limit_bytes: usize,
    pub(crate) luajit_command: Vec<u8>,
    /// The texts loaded by its states.
    pub(crate) sources: Arc<LoadedSources>,
}

impl LuaScript {
    /// Whether it is the built-in test of the processor.
    pub(crate) fn is_cpu(&self) -> bool {
        matches!(self.source, ScriptSource::Text { name: "=cpu", .. })
    }

    /// The last part of the name, for messages.
    pub(crate) fn base_name(&self) -> String {
        let path = Path::new(OsStr::from_bytes(&self.name));
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Finds a script: a file of this name, or else a module.
pub(crate) fn find(name: &[u8], package_path: &[u8]) -> Option<ScriptSource> {
    let path = Path::new(OsStr::from_bytes(name));
    if std::fs::File::open(path).is_ok() && !path.is_dir() {
        return Some(ScriptSource::File(name.to_vec()));
    }
    let file_name: Vec<u8> =
        name.iter().map(|byte| if *byte == b'.' { b'/' } else { *byte }).collect();
    let is_there = package_path.split(|byte| *byte == b';').any(|template| {
        let parts: Vec<&[u8]> = template.split(|byte| *byte == b'?').collect();
        PathBuf::from(OsStr::from_bytes(&parts.join(&file_name[..]))).is_file()
    });
    is_there.then(|| ScriptSource::Module(name.to_vec()))
}

/// `package.path`: `LUA_PATH`, in which `;;` stands for the default, or the default.
pub(crate) fn package_path(env: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Vec<u8> {
    let home = env("HOME").map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let rocks = format!("{home}/.luarocks/share/lua");
    let default = format!(
        "./?.lua;./?/init.lua;./src/lua/?.lua;{rocks}/5.1/?.lua;{rocks}/5.1/?/init.lua;{rocks}/?.lua;{rocks}/?/init.lua;/usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua;{DATA_DIR}/?.lua"
    );
    or_given(env("LUA_PATH"), &default)
}

/// `package.cpath`, likewise from `LUA_CPATH`.
pub(crate) fn package_cpath(env: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Vec<u8> {
    let home = env("HOME").map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let default = format!(
        "./?.so;{home}/.luarocks/lib/lua/5.1/?.so;{home}/.luarocks/lib/lua/?.so;/usr/local/lib/lua/5.1/?.so;/usr/lib/lua/5.1/?.so"
    );
    or_given(env("LUA_CPATH"), &default)
}

fn or_given(given: Option<std::ffi::OsString>, default: &str) -> Vec<u8> {
    let Some(given) = given else { return default.as_bytes().to_vec() };
    let text = given.to_string_lossy().replace(";;", &format!(";{default};"));
    text.trim_matches(';').as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_semicolons_are_the_default() {
        let env = |name: &str| match name {
            "HOME" => Some("/home/me".into()),
            "LUA_PATH" => Some("/mine/?.lua;;".into()),
            _ => None,
        };
        let path = String::from_utf8(package_path(&env)).unwrap();
        assert!(
            path.starts_with(
                "/mine/?.lua;./?.lua;./?/init.lua;./src/lua/?.lua;/home/me/.luarocks/"
            ),
            "{path}"
        );
        assert!(path.ends_with("/usr/share/sysbench/?.lua"), "{path}");
        let plain = String::from_utf8(package_path(&|_| None)).unwrap();
        assert!(plain.starts_with("./?.lua;"), "{plain}");
    }

    #[test]
    fn a_file_comes_before_a_module() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("some.lua");
        std::fs::write(&file, "").unwrap();
        let path = format!("{}/?.lua", dir.path().display()).into_bytes();
        assert_eq!(find(b"some", &path), Some(ScriptSource::Module(b"some".to_vec())));
        let name = file.to_str().unwrap().as_bytes();
        assert_eq!(find(name, &path), Some(ScriptSource::File(name.to_vec())));
        assert_eq!(find(b"none", &path), None);
    }
}
