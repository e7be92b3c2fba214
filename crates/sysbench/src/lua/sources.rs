//! The texts of a script: its own file and the files that it loads.
//!
//! The script and the modules that it requires are read once for all states: all clients run the
//! same text, even if a file is changed during the run, and the run folder has the text that ran.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use truetps_record::ScriptText;

use super::words::{ScriptWords, UnreadOption};
use crate::output::system_words;

/// Limit of recorded texts besides the script's own: a script may generate texts endlessly.
const MODULES_MAX: usize = 200;
/// Recorded bytes of one text, and of all together. Typical scripts have some kilobytes.
const TEXT_BYTES_MAX: usize = 256 << 10;
const TEXTS_BYTES_MAX: usize = 2 << 20;
/// First byte of LuaJIT's byte code.
const BYTE_CODE: u8 = 0x1b;

#[derive(Debug, Default)]
pub(crate) struct LoadedSources(Mutex<Loaded>);

#[derive(Debug, Default)]
struct Loaded {
    /// Texts that were read once for all states, by path.
    kept: HashMap<Vec<u8>, Arc<[u8]>>,
    script: Option<ScriptText>,
    modules: Vec<ScriptText>,
    modules_left_out: u64,
    texts_bytes: usize,
    words: ScriptWords,
}

impl LoadedSources {
    /// The text of a file. A named text is read once: the script, or a module. The first of all is
    /// the script.
    ///
    /// # Errors
    ///
    /// The error, in Lua's words.
    pub(crate) fn read(&self, path: &[u8], name: Option<&[u8]>) -> Result<Arc<[u8]>, String> {
        let mut loaded = self.lock();
        if let Some(text) = loaded.kept.get(path).filter(|_| name.is_some()) {
            return Ok(Arc::clone(text));
        }
        let text = read_file(path)?;
        if name.is_some() {
            loaded.kept.insert(path.to_owned(), Arc::clone(&text));
        }
        loaded.add(name.unwrap_or(path), Some(path), Some(&text));
        Ok(text)
    }

    /// A script that is not in a file.
    pub(crate) fn add_script(&self, name: &str, text: &[u8]) {
        self.lock().add(name.as_bytes(), None, Some(text));
    }

    /// A module that a script finds in a library, or in `package.preload`: the latter has no path.
    pub(crate) fn add_module(&self, name: &[u8], path: Option<&[u8]>) {
        let mut loaded = self.lock();
        if loaded.modules.iter().any(|module| module.name.as_bytes() == name) {
            return;
        }
        let bytes = path.and_then(|path| read_file(path).ok());
        loaded.add(name, path, bytes.as_deref());
    }

    /// The script, its loaded texts so far, and the number of texts beyond the limit.
    pub(crate) fn recorded(&self) -> (ScriptText, Vec<ScriptText>, u64) {
        let loaded = self.lock();
        (loaded.script.clone().unwrap_or_default(), loaded.modules.clone(), loaded.modules_left_out)
    }

    /// The given options that no text reads: see [`ScriptWords::unread`].
    pub(crate) fn unread(&self, given: &[(String, u32)]) -> Vec<UnreadOption> {
        self.lock().words.unread(given)
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Loaded {
    fn add(&mut self, name: &[u8], path: Option<&[u8]>, bytes: Option<&[u8]>) {
        let mut added = ScriptText {
            name: lossy(name),
            path: path.map(lossy),
            sha256: bytes.map(hash),
            bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
            text: None,
            is_cut: false,
        };
        let mut known = self.script.iter().chain(&self.modules);
        if path.is_some()
            && known.any(|one| (&one.path, &one.sha256) == (&added.path, &added.sha256))
        {
            return;
        }
        let is_script = self.script.is_none();
        // The content of `package.preload` is in a text that was loaded.
        if path.is_some() || bytes.is_some() {
            self.words.add(bytes.filter(|bytes| is_text(bytes)));
        }
        if !is_script && self.modules.len() >= MODULES_MAX {
            self.modules_left_out += 1;
            return;
        }
        if let Some(bytes) = bytes.filter(|bytes| is_text(bytes)) {
            let room = TEXT_BYTES_MAX.min(TEXTS_BYTES_MAX - self.texts_bytes);
            let kept = beginning(bytes, room);
            (added.text, added.is_cut) = (Some(lossy(kept)), kept.len() < bytes.len());
            self.texts_bytes += kept.len();
        }
        if is_script {
            self.script = Some(added);
        } else {
            self.modules.push(added);
        }
    }
}

/// The beginning that fits, cut at a line end if possible.
fn beginning(bytes: &[u8], room: usize) -> &[u8] {
    if bytes.len() <= room {
        return bytes;
    }
    let part = &bytes[..room];
    part.iter().rposition(|byte| *byte == b'\n').map_or(part, |end| &part[..=end])
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.first() != Some(&BYTE_CODE) && !bytes.contains(&0)
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn read_file(path: &[u8]) -> Result<Arc<[u8]>, String> {
    let name = String::from_utf8_lossy(path);
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(Path::new(OsStr::from_bytes(path)))
        .map_err(|error| format!("cannot open {name}: {}", system_words(&error)))?;
    file.read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read {name}: {}", system_words(&error)))?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, impl Fn(&str, &[u8]) -> Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let write = move |name: &str, text: &[u8]| {
            let path = root.join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string().into_encoded_bytes()
        };
        (dir, write)
    }

    #[test]
    fn the_text_that_ran_is_the_one_that_is_recorded() {
        let (_dir, write) = place();
        let path = write("a.lua", b"first");
        let sources = LoadedSources::default();
        assert_eq!(*sources.read(&path, Some(b"script")).unwrap(), *b"first");
        write("a.lua", b"second");
        assert_eq!(
            *sources.read(&path, Some(b"script")).unwrap(),
            *b"first",
            "all clients run one text"
        );
        let (script, modules, _) = sources.recorded();
        assert_eq!((script.text.as_deref(), script.bytes, modules.len()), (Some("first"), 5, 0));
        let sha = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
        assert_eq!(script.sha256.as_deref(), Some(sha));
    }

    #[test]
    fn files_that_are_read_again_are_recorded_in_each_version() {
        let (_dir, write) = place();
        let sources = LoadedSources::default();
        sources.add_script("stdin", b"");
        for text in ["one", "one", "two"] {
            let path = write("part.lua", text.as_bytes());
            assert_eq!(*sources.read(&path, None).unwrap(), *text.as_bytes());
        }
        let (_, modules, _) = sources.recorded();
        let texts: Vec<_> = modules.iter().map(|module| module.text.as_deref().unwrap()).collect();
        assert_eq!(texts, ["one", "two"]);
    }

    #[test]
    fn odd_texts_are_recorded_as_far_as_they_go() {
        let (_dir, write) = place();
        let sources = LoadedSources::default();
        let huge = "-- a line\n".repeat(1 << 20);
        sources.read(&write("huge.lua", huge.as_bytes()), Some(b"script")).unwrap();
        sources.read(&write("latin.lua", b"-- \xe9t\xe9\n"), Some(b"latin")).unwrap();
        sources.read(&write("code.lua", b"\x1bLJ\x02"), Some(b"code")).unwrap();
        sources.add_module(b"native", Some(&write("native.so", b"\x7fELF\0")));
        sources.add_module(b"made", None);
        sources.add_module(b"made", None);
        let (script, modules, _) = sources.recorded();
        assert!(
            script.is_cut
                && script.bytes == 10 << 20
                && script.text.unwrap().len() <= TEXT_BYTES_MAX
        );
        let names: Vec<_> =
            modules.iter().map(|module| (module.name.as_str(), module.text.as_deref())).collect();
        let latin = Some("-- \u{fffd}t\u{fffd}\n");
        assert_eq!(names, [("latin", latin), ("code", None), ("native", None), ("made", None)]);
        assert!(modules[2].sha256.is_some() && modules[3].sha256.is_none());
        for n in 0..1000 {
            sources.add_module(format!("m{n}").as_bytes(), None);
        }
        let (_, modules, left_out) = sources.recorded();
        assert_eq!((modules.len(), left_out), (MODULES_MAX, 1004 - MODULES_MAX as u64));
    }

    #[test]
    fn unreadable_files_are_reported_as_lua_does() {
        let problem = LoadedSources::default().read(b"/no/such.lua", Some(b"script")).unwrap_err();
        assert_eq!(problem, "cannot open /no/such.lua: No such file or directory");
        let problem = LoadedSources::default().read(b"/tmp", Some(b"script")).unwrap_err();
        assert_eq!(problem, "cannot read /tmp: Is a directory");
    }
}
