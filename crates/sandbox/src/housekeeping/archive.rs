//! Unpacks the archive of a server; the archive is untrusted.
//!
//! Files are only created new, in folders created here. Links are created last, and none below
//! another link, so that nothing is created through one; their targets are checked when all exist.
//! The disk's free space limits the bytes, constants limit the memory. After a failure the caller
//! removes the folder.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use tar::{Archive, Entry, EntryType};

use crate::error::{BinaryError, NamedError, SandboxError};
use crate::program::binary::ServerBinary;
use crate::program::binary_search::find;
use crate::system::folders::make_all;
use crate::system::server_user::ServerUser;
use crate::system::space::{SPARE_BYTES, check_free, free_bytes};

/// The largest server trees have 20,000.
const ENTRIES_MAX: usize = 200_000;
/// Limit of bytes between the contents of two files: headers with long names. All of it is kept in
/// memory.
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Memory limit of the decompressor; `xz -9` needs 65 MB.
const XZ_MEMORY_KIB: u32 = 128 << 10;
/// Limit of bytes after the last entry: padding.
const PADDING_BYTES_MAX: u64 = 64 << 20;
/// Block size of a tar file; two blocks of zeros end it.
const BLOCK: usize = 512;
/// Folders above the tree of the server: `mysql-8.0.36-linux/`, `mysql-8.0/usr/`.
const DEPTH_MAX: usize = 3;

const READ: [&str; 5] = [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz"];
/// Suffixes of other archives, which are refused as archives and not as programs.
const NOT_READ: [&str; 8] = [".zip", ".jar", ".zst", ".bz2", ".deb", ".rpm", ".7z", ".gz"];

fn ends_with_any(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether the file has the suffix of an archive.
pub(crate) fn is_archive(path: &Path) -> bool {
    ends_with_any(path, &READ) || ends_with_any(path, &NOT_READ)
}

/// Limits of unpacking.
#[derive(Debug, Clone, Copy)]
struct Limits {
    entries: usize,
    bytes: u64,
}

/// Unpacks into `tree`, which must not exist. Setting `stop` ends it with an error.
pub(crate) fn unpack(path: &Path, tree: &Path, stop: &AtomicBool) -> Result<(), SandboxError> {
    let free = free_bytes(tree.parent().unwrap_or(tree))?;
    unpack_within(
        path,
        tree,
        Limits { entries: ENTRIES_MAX, bytes: free.saturating_sub(SPARE_BYTES) },
        stop,
    )
}

fn unpack_within(
    path: &Path,
    tree: &Path,
    limits: Limits,
    stop: &AtomicBool,
) -> Result<(), SandboxError> {
    if !ends_with_any(path, &READ) {
        return Err(refused(path, "truetps does not read archives of this kind"));
    }
    let file = File::open(path).map_err(SandboxError::io("open", path))?;
    let packed = file.metadata().map_err(SandboxError::io("look at", path))?.len();
    check_free(tree.parent().unwrap_or(tree), "the server's tree", packed)?;
    make_folder(tree)?;
    let file = BufReader::new(file);
    let reader: Box<dyn Read> = if ends_with_any(path, &[".gz", ".tgz"]) {
        Box::new(MultiGzDecoder::new(file))
    } else if ends_with_any(path, &["xz"]) {
        Box::new(XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB))
    } else {
        Box::new(file)
    };
    let between = Rc::new(Cell::new(HEADER_BYTES_MAX));
    let mut unpacking = Unpacking {
        path,
        tree,
        links: Vec::new(),
        left: limits.bytes,
        between: Rc::clone(&between),
        stop,
    };
    let reader = Stoppable { inner: reader, stop };
    let mut archive = Archive::new(BoundedReader { inner: reader, zeros: 0, between });
    let entries = archive.entries().map_err(|error| refused(path, broken(&error)))?;
    for (n, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| refused(path, broken(&error)))?;
        if n >= limits.entries {
            return Err(refused(path, format!("it has more than {} entries", limits.entries)));
        }
        unpacking.entry(&mut entry)?;
        unpacking.between.set(HEADER_BYTES_MAX);
    }
    unpacking.between.set(PADDING_BYTES_MAX);
    let mut rest = archive.into_inner();
    let has_end = rest.zeros >= BLOCK;
    // Reads to the end: only there a compressed file shows whether it is complete.
    io::copy(&mut rest, &mut io::sink()).map_err(|error| refused(path, broken(&error)))?;
    if rest.zeros < BLOCK {
        let problem = if has_end {
            "it has data after its end"
        } else {
            "it is truncated: the end is missing"
        };
        return Err(refused(path, problem));
    }
    unpacking.make_links()
}

/// An entry's name for messages, without control characters.
fn shown(name: &Path) -> String {
    let name = name.to_string_lossy();
    name.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

fn refused(path: &Path, problem: impl Into<String>) -> SandboxError {
    NamedError::Archive { path: path.to_owned(), problem: problem.into() }.into()
}

fn broken(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "it is truncated".to_owned();
    }
    format!("it is truncated, damaged, or not an archive of the kind in its name ({error})")
}

/// Counts the zeros at the end of a stream, and limits the bytes read outside file contents.
struct BoundedReader<R> {
    inner: R,
    zeros: usize,
    /// Bytes that may still be read.
    between: Rc<Cell<u64>>,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let Some(left) = self.between.get().checked_sub(n as u64) else {
            return Err(io::Error::other("the headers between its files are too long"));
        };
        self.between.set(left);
        let zeros = buffer[..n].iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros = if zeros == n { self.zeros + n } else { zeros };
        Ok(n)
    }
}

/// Returns an error once `stop` is set.
struct Stoppable<'a, R> {
    inner: R,
    stop: &'a AtomicBool,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.inner.read(buffer)
    }
}

struct Unpacking<'a> {
    path: &'a Path,
    tree: &'a Path,
    /// Created after all files, so that no file is written through one.
    links: Vec<(PathBuf, PathBuf)>,
    /// Bytes that may still be written.
    left: u64,
    /// Shared with [`BoundedReader`]: unlimited while a file is written, which `left` limits.
    between: Rc<Cell<u64>>,
    stop: &'a AtomicBool,
}

impl Unpacking<'_> {
    fn entry(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<(), SandboxError> {
        let name = entry.path().map_err(|error| refused(self.path, broken(&error)))?.into_owned();
        let Some(below) = inside(&name) else {
            return Err(refused(self.path, format!("`{}` leads out of the tree", shown(&name))));
        };
        let to = self.tree.join(below);
        match entry.header().entry_type() {
            EntryType::Directory => make_folder(&to).map_err(|error| self.cannot_be(&name, error)),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.file(entry, &to, &name)
            }
            EntryType::Symlink => {
                let target = self.target(entry, &name)?;
                let folder = name.parent().unwrap_or(Path::new(""));
                if target.is_absolute() || !stays_inside(&folder.join(&target)) {
                    return Err(self.leads_out(&name, &target));
                }
                self.links.push((to, target));
                Ok(())
            }
            EntryType::Link => {
                let target = self.target(entry, &name)?;
                let Some(below) = inside(&target) else {
                    return Err(self.leads_out(&name, &target));
                };
                let linked = make_parent(&to).and_then(|()| {
                    fs::hard_link(self.tree.join(below), &to).map_err(SandboxError::io("make", &to))
                });
                linked.map_err(|error| self.cannot_be(&name, error))
            }
            EntryType::XGlobalHeader => Ok(()),
            _ => Err(refused(
                self.path,
                format!("`{}` is neither a file, a folder nor a link", shown(&name)),
            )),
        }
    }

    fn target(&self, entry: &Entry<'_, impl Read>, name: &Path) -> Result<PathBuf, SandboxError> {
        let target = entry.link_name().map_err(|error| refused(self.path, broken(&error)))?;
        target.map(std::borrow::Cow::into_owned).ok_or_else(|| self.leads_out(name, Path::new("")))
    }

    /// Errors caused by the archive itself are reported with the entry's name.
    fn cannot_be(&self, name: &Path, error: SandboxError) -> SandboxError {
        use io::ErrorKind::{
            AlreadyExists, InvalidFilename, IsADirectory, NotADirectory, NotFound,
        };
        let SandboxError::Io { source, .. } = &error else { return error };
        let problem = match source.kind() {
            AlreadyExists | IsADirectory | NotADirectory => "occurs twice, or is below a file",
            InvalidFilename => "has a name that is too long",
            NotFound => "is a link to a missing file",
            _ => return error,
        };
        refused(self.path, format!("`{}` {problem}", shown(name)))
    }

    fn leads_out(&self, name: &Path, target: &Path) -> SandboxError {
        refused(
            self.path,
            format!("the link `{}` leads out of the tree, to `{}`", shown(name), shown(target)),
        )
    }

    fn file(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        to: &Path,
        name: &Path,
    ) -> Result<(), SandboxError> {
        let needed = entry.size();
        if needed > self.left {
            let (what, free) = ("the server's tree", self.left);
            return Err(SandboxError::DiskFull { what, path: self.tree.to_owned(), needed, free });
        }
        make_parent(to).map_err(|error| self.cannot_be(name, error))?;
        self.between.set(u64::MAX);
        let is_program = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
        let mode = if is_program { 0o755 } else { 0o644 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(to);
        let mut file = file
            .map_err(SandboxError::io("make", to))
            .map_err(|error| self.cannot_be(name, error))?;
        // The umask may have removed permissions that the server's user needs.
        file.set_permissions(Permissions::from_mode(mode)).map_err(SandboxError::io("open", to))?;
        // The holes of a sparse file are not read from the archive: nothing else would check `stop`
        // during a long hole.
        let mut content = Stoppable { inner: entry.take(needed), stop: self.stop };
        let copied = io::copy(&mut content, &mut file).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => SandboxError::io("write", to)(error),
            _ => refused(self.path, format!("`{}`: {}", shown(name), broken(&error))),
        })?;
        if copied < needed {
            return Err(refused(self.path, format!("it is truncated in `{}`", shown(name))));
        }
        self.left -= copied;
        Ok(())
    }

    /// A link to a link may resolve outside the tree: each is resolved when all exist. A link below
    /// another one would be created at its target, which is unknown until then.
    fn make_links(self) -> Result<(), SandboxError> {
        let all: BTreeSet<&Path> = self.links.iter().map(|(link, _)| link.as_path()).collect();
        for (link, _) in &self.links {
            if link.ancestors().skip(1).any(|folder| all.contains(folder)) {
                let name = link.strip_prefix(self.tree).unwrap_or(link);
                return Err(refused(self.path, format!("`{}` is below a link", shown(name))));
            }
        }
        for (link, target) in &self.links {
            let made = make_parent(link)
                .and_then(|()| symlink(target, link).map_err(SandboxError::io("make", link)));
            made.map_err(|error| {
                self.cannot_be(link.strip_prefix(self.tree).unwrap_or(link), error)
            })?;
        }
        let tree = self.tree.canonicalize().map_err(SandboxError::io("find", self.tree))?;
        for (link, target) in &self.links {
            match link.canonicalize() {
                Ok(found) if found.starts_with(&tree) => {}
                Ok(_) => {
                    return Err(
                        self.leads_out(link.strip_prefix(self.tree).unwrap_or(link), target)
                    );
                }
                // It has no target now, and must not get one later.
                Err(_) => fs::remove_file(link).map_err(SandboxError::io("remove", link))?,
            }
        }
        Ok(())
    }
}

/// The path below the tree; `None` if it is not below it.
fn inside(path: &Path) -> Option<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect()
}

/// Whether a path with `..` in it stays below its start.
fn stays_inside(path: &Path) -> bool {
    let depth = path.components().try_fold(0_usize, |depth, part| match part {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        Component::ParentDir => depth.checked_sub(1),
        Component::RootDir | Component::Prefix(_) => None,
    });
    depth.is_some()
}

/// Makes it readable for the server's own user.
fn make_folder(path: &Path) -> Result<(), SandboxError> {
    make_all(path, 0o755).map_err(SandboxError::io("make", path))
}

fn make_parent(path: &Path) -> Result<(), SandboxError> {
    path.parent().map_or(Ok(()), make_folder)
}

/// Finds the server in an unpacked tree: archives have a folder or two above it.
pub(crate) fn find_server(
    archive: &Path,
    tree: &Path,
    user: &ServerUser,
) -> Result<ServerBinary, SandboxError> {
    let mut level = vec![tree.to_owned()];
    for _ in 0..=DEPTH_MAX {
        for folder in &level {
            match find(Some(folder), None, user) {
                Ok(binary) => return Ok(binary),
                Err(BinaryError::NotFound { .. }) => {}
                Err(error) => return Err(NamedError::Program(error).into()),
            }
        }
        let entries = level
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
            .filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        level = folders.map(|entry| entry.path()).collect();
        level.sort();
    }
    Err(refused(
        archive,
        "it contains no server (bin/mysqld, sbin/mysqld, bin/mariadbd, bin/postgres)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with any name, also one that the builder refuses to write.
    fn header(name: &str, kind: EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(size);
        header
    }

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let is_file = *kind == EntryType::Regular;
            let mut header = header(name, *kind, if is_file { content.len() as u64 } else { 0 });
            if !is_file && !content.is_empty() {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            header.set_cksum();
            builder.append(&header, if is_file { content.as_bytes() } else { &[] }).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(bytes: &[u8], name: &str) -> (tempfile::TempDir, Result<(), SandboxError>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let result = unpack(&path, &dir.path().join("tree"), &AtomicBool::new(false));
        (dir, result)
    }

    #[test]
    fn files_folders_and_links_inside() {
        use EntryType::{Directory, Link, Regular, Symlink};
        let bytes = archive(&[
            ("s/", Directory, ""),
            ("s/bin/mysqld", Regular, "program"),
            ("s/bin/mariadbd", Symlink, "mysqld"),
            ("s/lib/x", Symlink, "../bin/mysqld"),
            ("s/gone", Symlink, "nothing"),
            ("s/bin/again", Link, "s/bin/mysqld"),
        ]);
        let (dir, result) = unpacked(&bytes, "s.tar");
        result.unwrap();
        let tree = dir.path().join("tree/s");
        assert_eq!(fs::read_to_string(tree.join("lib/x")).unwrap(), "program");
        assert_eq!(fs::read_to_string(tree.join("bin/again")).unwrap(), "program");
        assert!(tree.join("gone").symlink_metadata().is_err(), "a link to nowhere is left out");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::copy(&mut bytes.as_slice(), &mut gz).unwrap();
        let gz = gz.finish().unwrap();
        unpacked(&gz, "s.tgz").1.unwrap();
        let mut xz =
            lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        io::copy(&mut bytes.as_slice(), &mut xz).unwrap();
        let xz = xz.finish().unwrap();
        let (dir, result) = unpacked(&xz, "s.tar.xz");
        result.unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("tree/s/bin/mysqld")).unwrap(), "program");
        let problem = unpacked(&xz[..xz.len() - 5], "s.txz").1.unwrap_err().to_string();
        assert!(problem.contains("truncated"), "{problem}");
        let problem = unpacked(&gz[..gz.len() - 5], "s.tar.gz").1.unwrap_err().to_string();
        assert!(problem.contains("truncated"), "{problem}");
    }

    #[test]
    fn what_leads_out_is_refused_by_name() {
        use EntryType::{Fifo, Link, Regular, Symlink};
        let check = |entries: &[(&str, EntryType, &str)], expect: &str| {
            let (dir, result) = unpacked(&archive(entries), "s.tar");
            let problem = result.unwrap_err().to_string();
            assert!(problem.contains(expect), "{problem}\nshould contain\n{expect}");
            let beside = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let beside: Vec<_> = beside.filter(|name| name != "s.tar" && name != "tree").collect();
            assert_eq!(beside, [""; 0], "{entries:?}");
        };
        check(&[("../x", Regular, "x")], "`../x` leads out");
        check(&[("/etc/x", Regular, "x")], "leads out");
        check(&[("a", Symlink, "/etc")], "the link `a` leads out of the tree, to `/etc`");
        check(&[("a", Symlink, "../x")], "leads out");
        check(&[("a", Link, "/etc/passwd")], "leads out");
        check(&[("a", Fifo, "")], "neither a file");
        // Each link stays inside by its text, but together they do not.
        check(&[("a/b/e", Symlink, "../.."), ("x/y", Symlink, "../a/b/e/../..")], "leads out");
        // Nothing is written or created through a link.
        check(&[("a", Symlink, "b"), ("a/x", Regular, "x")], "`a` occurs twice");
        // Errors of the archive name the entry; control characters are not printed.
        check(&[("a", Regular, "1"), ("a", Regular, "2")], "s.tar: `a` occurs twice");
        check(
            &[("a", Regular, "1"), ("a/b", Regular, "2")],
            "`a/b` occurs twice, or is below a file",
        );
        check(&[("a", Link, "b")], "`a` is a link to a missing file");
        check(&[("\x1b[31mred\nx", Fifo, "")], "`\\u{1b}[31mred\\nx` is neither");
        let two = [("a/b/e", Symlink, "../.."), ("x/y", Symlink, "../a/b/e/../..")];
        let through = |name| [two.as_slice(), &[(name, Symlink, "anything")]].concat();
        check(&through("x/y/new"), "`x/y/new` is below a link");
        check(&through("x/y/new/evil"), "`x/y/new/evil` is below a link");
    }

    #[test]
    fn limits() {
        use EntryType::{GNULongName, Regular};
        let within = |entries: &[(&str, EntryType, &str)], limits: Limits| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.tar");
            fs::write(&path, archive(entries)).unwrap();
            unpack_within(&path, &dir.path().join("tree"), limits, &AtomicBool::new(false))
                .map_err(|error| error.to_string())
        };
        let files = [("a", Regular, "12345"), ("b", Regular, "12345")];
        assert_eq!(within(&files, Limits { entries: 2, bytes: 10 }), Ok(()));
        let problem = within(&files, Limits { entries: 1, bytes: 10 }).unwrap_err();
        assert!(problem.contains("more than 1 entries"), "{problem}");
        let problem = within(&files, Limits { entries: 2, bytes: 9 }).unwrap_err();
        assert!(problem.contains("not enough disk space"), "{problem}");

        // A name that would fill the memory, and one that is only long.
        let long = |bytes: usize| {
            let mut builder = tar::Builder::new(Vec::new());
            let mut name = header("././@LongLink", GNULongName, bytes as u64);
            name.set_cksum();
            builder.append(&name, io::repeat(b'x').take(bytes as u64)).unwrap();
            let mut file = header("short", Regular, 0);
            file.set_cksum();
            builder.append(&file, io::empty()).unwrap();
            unpacked(&builder.into_inner().unwrap(), "s.tar").1.map_err(|error| error.to_string())
        };
        assert_eq!(long(200), Ok(()));
        let problem = long(2 << 20).unwrap_err();
        assert!(problem.contains("between its files are too long"), "{problem}");
    }

    #[test]
    fn a_hole_ends_with_the_stop() {
        const HOLE: u64 = 4 << 30;
        let mut header = tar::Header::new_gnu();
        header.set_path("s/hole").unwrap();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_mode(0o644);
        header.set_size(BLOCK as u64);
        let gnu = header.as_gnu_mut().unwrap();
        // Everything except its last block.
        let octal = |field: &mut [u8; 12], number: u64| {
            field.copy_from_slice(format!("{number:011o}\0").as_bytes());
        };
        octal(&mut gnu.sparse[0].offset, HOLE);
        octal(&mut gnu.sparse[0].numbytes, BLOCK as u64);
        octal(&mut gnu.realsize, HOLE + BLOCK as u64);
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, [7; BLOCK].as_slice()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (path, tree) = (dir.path().join("s.tar"), dir.path().join("tree"));
        fs::write(&path, builder.into_inner().unwrap()).unwrap();
        let stop = AtomicBool::new(false);
        let limits = Limits { entries: 9, bytes: 2 * HOLE };
        let error = std::thread::scope(|scope| {
            let unpacking = scope.spawn(|| unpack_within(&path, &tree, limits, &stop));
            while !tree.join("s/hole").exists() && !unpacking.is_finished() {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            unpacking.join().unwrap().unwrap_err()
        });
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert!(fs::metadata(tree.join("s/hole")).unwrap().len() < HOLE);
    }

    #[test]
    fn what_is_cut_short_or_something_else_is_refused() {
        let bytes = archive(&[
            ("s/a", EntryType::Regular, &"x".repeat(2000)),
            ("s/b", EntryType::Regular, "y"),
        ]);
        for end in [700, 1200, 2560, 3000, 3584] {
            let problem = unpacked(&bytes[..end], "s.tar").1.unwrap_err().to_string();
            assert!(problem.contains("truncated"), "{end}: {problem}");
        }
        let more = [bytes.as_slice(), b"and more"].concat();
        let problem = unpacked(&more, "s.tar").1.unwrap_err().to_string();
        assert!(problem.contains("it has data after its end"), "{problem}");
        let (dir, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(true));
        let path = dir.path().join("s.tar");
        fs::write(&path, &bytes).unwrap();
        unpack(&path, &dir.path().join("tree"), &stop).unwrap_err();
        for (name, expect) in [
            ("s.zip", "does not read"),
            ("s.tar.xz", "not an archive of"),
            ("s.tar.gz", "not an archive of"),
        ] {
            let problem = unpacked(&bytes, name).1.unwrap_err().to_string();
            assert!(problem.contains(expect), "{problem}");
        }
        assert!(unpacked(b"no archive at all, but a text", "s.tar").1.is_err());
    }
}
