//! Trees that another user may have created: root works below the datadirs of a server's user, who
//! could create a link, or a pipe, there at any moment.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use truetps_files::{OpenFolder, open_no_link};

/// A server's state files have a hundredth of this.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The text of a small file. `None`: it does not exist, or is something else.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = open_no_link(File::options().read(true), path).ok()?;
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

pub(crate) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Passes everything below a folder to `each`, except folders, with its relative path.
pub(crate) fn walk(path: &Path, each: &mut dyn FnMut(PathBuf, &Stat)) -> io::Result<()> {
    walk_below(&OpenFolder::open(path)?, Path::new(""), each)
}

fn walk_below(
    folder: &OpenFolder,
    at: &Path,
    each: &mut dyn FnMut(PathBuf, &Stat),
) -> io::Result<()> {
    for (name, stat) in folder.entries()? {
        if kind_of(&stat) != FileType::Directory {
            each(at.join(&name), &stat);
            continue;
        }
        match folder.folder(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            below => walk_below(&below?, &at.join(&name), each)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode};

    #[test]
    fn no_link_is_followed_and_no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        let data = dir.path().join("data");
        for folder in [&outside, &data] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("file"), "secret").unwrap();
        symlink(&outside, data.join("folder")).unwrap();
        symlink(outside.join("file"), data.join("file")).unwrap();
        rustix::fs::mknodat(CWD, data.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let open = OpenFolder::open(&data).unwrap();
        assert!(
            open.folder("folder".as_ref()).is_err()
                && OpenFolder::open(&data.join("folder")).is_err()
        );
        for name in ["file", "pipe", "folder"] {
            assert!(
                open.file(name.as_ref()).is_err() && read_text(&data.join(name)).is_none(),
                "{name}"
            );
            assert!(
                open.make_file(name.as_ref()).is_err() && open.make_folder(name.as_ref()).is_err(),
                "{name}"
            );
        }
        let mut found = Vec::new();
        walk(&data, &mut |path, _| found.push(path)).unwrap();
        found.sort();
        assert_eq!(found, ["file", "folder", "pipe"].map(PathBuf::from));
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "secret");
    }
}
