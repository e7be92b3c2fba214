//! `TRUETPS_PREALLOC`: `basename=/var/lib/mysql/binlog;mode=ahead;ahead_mib=32`.

use std::ffi::CString;

const MEBI: u64 = 1 << 20;

/// How files are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillMode {
    /// Zeros ahead of the writes, in the active file.
    Ahead,
    /// Whole files that are renamed when the server makes a new one.
    Pool { files: u64, file_bytes: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreallocConfig {
    /// The folder of the binlogs, absolute.
    pub(crate) folder: CString,
    /// The name before `.000001`.
    pub(crate) base: Vec<u8>,
    pub(crate) mode: FillMode,
    pub(crate) ahead_bytes: u64,
    /// Nothing is filled while the file system has less.
    pub(crate) free_floor_bytes: u64,
    /// Bytes of zeros in a second.
    pub(crate) rate_bytes: u64,
    pub(crate) is_forced: bool,
    pub(crate) starts_on: bool,
}

impl PreallocConfig {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut config = Self {
            folder: CString::default(),
            base: Vec::new(),
            mode: FillMode::Ahead,
            ahead_bytes: 32 * MEBI,
            free_floor_bytes: 1024 * MEBI,
            rate_bytes: 256 * MEBI,
            is_forced: false,
            starts_on: true,
        };
        let (mut is_pool, mut files, mut file_bytes) = (false, 2, 64 * MEBI);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=VALUE"))?;
            match key.trim() {
                "basename" => (config.folder, config.base) = split_basename(value)?,
                "mode" if value == "ahead" || value == "pool" => is_pool = value == "pool",
                "mode" => return Err(format!("mode=`{value}` is neither `ahead` nor `pool`")),
                "ahead_mib" => config.ahead_bytes = mebi(key, value, 1, 1024)?,
                "free_floor_mib" => config.free_floor_bytes = mebi(key, value, 0, 1 << 30)?,
                "rate_mib" => config.rate_bytes = mebi(key, value, 1, 1 << 20)?,
                "files" => files = number(key, value, 1, 64)?,
                "file_mib" => file_bytes = mebi(key, value, 1, 4096)?,
                "force" => config.is_forced = number(key, value, 0, 1)? == 1,
                "start" => config.starts_on = number(key, value, 0, 1)? == 1,
                other => return Err(format!("`{other}` is unknown")),
            }
        }
        if config.base.is_empty() {
            return Err("`basename` is missing".to_owned());
        }
        if is_pool {
            config.mode = FillMode::Pool { files, file_bytes };
        }
        Ok(config)
    }

    /// A file beside the binlogs: the basename and this ending.
    pub(crate) fn beside(&self, ending: &str) -> CString {
        let mut path = self.folder.as_bytes().to_vec();
        path.push(b'/');
        path.extend(&self.base);
        path.extend(ending.as_bytes());
        CString::new(path).unwrap_or_default()
    }

    /// A file of the binlogs' folder.
    pub(crate) fn in_folder(&self, name: &[u8]) -> CString {
        let mut path = self.folder.as_bytes().to_vec();
        path.push(b'/');
        path.extend(name);
        CString::new(path).unwrap_or_default()
    }
}

fn split_basename(path: &str) -> Result<(CString, Vec<u8>), String> {
    let (folder, base) = path.rsplit_once('/').unwrap_or_default();
    if !path.starts_with('/') || base.is_empty() {
        return Err(format!("basename=`{path}` is not absolute"));
    }
    let folder = if folder.is_empty() { "/" } else { folder };
    let folder = CString::new(folder).map_err(|_| "basename has a zero byte".to_owned())?;
    Ok((folder, base.as_bytes().to_vec()))
}

fn mebi(key: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    Ok(number(key, value, least, most)?.saturating_mul(MEBI))
}

fn number(key: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = value.trim().parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{key}=`{value}` is not a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_read() {
        let text = "basename=/data/log/binlog; mode=pool; files=3; \
                    file_mib=16;free_floor_mib=7;rate_mib=5;force=1;";
        let config = PreallocConfig::parse(text).unwrap();
        assert_eq!(
            (config.folder.as_bytes(), &config.base[..]),
            (&b"/data/log"[..], &b"binlog"[..])
        );
        assert_eq!(config.mode, FillMode::Pool { files: 3, file_bytes: 16 * MEBI });
        assert_eq!(
            (config.free_floor_bytes, config.rate_bytes, config.is_forced),
            (7 * MEBI, 5 * MEBI, true)
        );
        assert_eq!(config.beside(".prealloc").as_bytes(), b"/data/log/binlog.prealloc");
        assert_eq!(PreallocConfig::parse("basename=/binlog").unwrap().folder.as_bytes(), b"/");
    }

    #[test]
    fn wrong_words_are_named() {
        let check = |text: &str, words: &str| {
            let problem = PreallocConfig::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        };
        check("", "`basename` is missing");
        check("basename=binlog", "is not absolute");
        check("basename=/data/", "is not absolute");
        check("basename=/b;mode=fast", "neither");
        check("basename=/b;ahead_mib=0", "from 1 to 1024");
        check("basename=/b;ahead=32", "unknown");
        check("basename=/b;force", "NAME=VALUE");
    }
}
