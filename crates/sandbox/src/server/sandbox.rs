//! A private server's folder, from its creation to its removal.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use truetps_disk::{DiskCrash, EmulatedDisk, FlushTimes};
use truetps_record::Family;

use crate::data::template::copy_template;
use crate::data::wear::{WornIn, cache_redo, wear_in_redo};
use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::home::owners::{SOCKET_DIR_PREFIX, claim};
use crate::home::sandbox_disk::SandboxDisk;
use crate::home::server_paths::{DISK, ServerPaths, datadir_in, socket_name};
use crate::program::binary::ServerBinary;
use crate::server::folder::Folder;
use crate::server::running::{RunningServer, StartOptions};
use crate::settings::server_settings::Settings;
use crate::system::copy::copy_datadir;
use crate::system::folders::{make_private, remove_tree};
use crate::system::space::check_free;

/// Folder of sockets whose path below the home folder would be longer.
const SHORT_FOLDER: &str = "/tmp";

/// Options of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// Initial settings among them (`innodb_page_size`, …) choose the template; the size of the
    /// redo log counts for the disk space.
    pub settings: Settings,
    /// Bytes that the workload will write: tables, binlog. Checked against the free space first.
    pub data_bytes: u64,
    /// `None`: the datadir is on the host's own disk.
    pub disk: Option<SandboxDisk>,
}

impl SandboxOptions {
    /// On the host's own disk, with room for what a server needs by itself.
    pub fn new(settings: Settings) -> Self {
        Self { settings, data_bytes: 0, disk: None }
    }
}

/// A private server's folder with a datadir in it. Dropping it removes everything, once its server
/// is gone, too.
#[derive(Debug)]
pub struct Sandbox {
    folder: Arc<Folder>,
}

impl Sandbox {
    /// Creates a folder with a fresh datadir: a copy of the template, which is created first if
    /// missing.
    pub fn create(
        home: &Home,
        binary: &ServerBinary,
        options: &SandboxOptions,
    ) -> Result<Self, SandboxError> {
        let needed = options.data_bytes.saturating_add(options.settings.redo_bytes());
        check_free(home.path(), "the private server", needed)?;
        let mut folder = Self::make_folder(home, binary, options.settings.initial())?;
        if let Some(disk) = &options.disk {
            *folder.disk() = Some(disk.mount(&folder.path.join(DISK), needed, home.user())?);
            folder.paths.datadir = datadir_in(&folder.path);
        }
        copy_template(home, binary, &folder.initial, &folder.paths.datadir)?;
        Ok(Self { folder: Arc::new(folder) })
    }

    fn make_folder(
        home: &Home,
        binary: &ServerBinary,
        initial: Settings,
    ) -> Result<Folder, SandboxError> {
        let claim = claim(home, binary)?;
        let path = claim.path.clone();
        let mut folder = Folder {
            home: home.clone(),
            binary: binary.clone(),
            claim: Mutex::new(claim),
            paths: ServerPaths::in_folder(&path, binary.family(), None),
            path,
            initial,
            running: AtomicBool::new(false),
            keep: AtomicBool::new(false),
            disk: Mutex::new(None),
        };
        folder.paths.make_folders_and_logs(home.user())?;
        if folder.paths.is_socket_too_long() {
            folder.paths.socket =
                Self::make_short_socket_dir(&folder)?.join(socket_name(binary.family(), None));
        }
        Ok(folder)
    }

    /// A private folder with a short path. It is noted before it is created, so that the one of a
    /// killed run is found.
    fn make_short_socket_dir(folder: &Folder) -> Result<PathBuf, SandboxError> {
        const TRIES_MAX: u32 = 1000;
        let id = folder.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut claim = folder.claim.lock().unwrap_or_else(PoisonError::into_inner);
        for n in 1..=TRIES_MAX {
            let path = Path::new(SHORT_FOLDER).join(format!("{SOCKET_DIR_PREFIX}{id}-{n}"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            claim.owner.socket_dir = Some(path.clone());
            claim.owner.write(&folder.path)?;
            make_private(&path, folder.home.user())?;
            return Ok(path);
        }
        let problem =
            format!("its path is too long for a socket, and {SHORT_FOLDER} has no free name");
        Err(SandboxError::home(folder.home.path(), problem))
    }

    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    pub fn datadir(&self) -> PathBuf {
        self.folder.paths.datadir.clone()
    }

    pub fn socket(&self) -> &Path {
        &self.folder.paths.socket
    }

    /// The logs of all servers of this sandbox, in order.
    pub fn error_log_path(&self) -> PathBuf {
        self.folder.paths.error_log.clone()
    }

    /// Whether requests to its emulated disk take the time of the disk's profile; no effect without
    /// one. Before they do, the redo log is read into the page cache, where it is on a server that
    /// has run for long.
    pub fn set_disk_timed(&self, is_timed: bool) -> Result<(), SandboxError> {
        let mut disk = self.folder.disk();
        if disk.is_some() && is_timed {
            cache_redo(&self.folder.paths.datadir)?;
        }
        Ok(disk.as_mut().map_or(Ok(()), |disk| disk.set_timed(is_timed))?)
    }

    /// The machine of its emulated disk crashes and starts again; the server must be dead. Returns
    /// the blocks that the disk's cache lost.
    pub fn crash_disk(&self, crash: DiskCrash) -> Result<u64, SandboxError> {
        self.folder.check_stopped()?;
        let mut disk = self.folder.disk();
        Ok(disk.as_mut().map_or(Ok(0), |disk| disk.crash(crash))?)
    }

    /// Takes its emulated disk from a server that runs or starts: nothing that it writes from now
    /// on will be there after [`crash_disk`](Self::crash_disk). Returns the blocks of which the
    /// disk's cache lost something.
    pub fn cut_disk(&self, crash: DiskCrash) -> Result<u64, SandboxError> {
        Ok(self.folder.disk().as_mut().map_or(Ok(0), |disk| disk.cut(crash))?)
    }

    /// What a flush takes on its emulated disk; `None` without one.
    pub fn test_disk(&self) -> Result<Option<FlushTimes>, SandboxError> {
        let mut disk = self.folder.disk();
        Ok(disk.as_mut().map(EmulatedDisk::flush_times).transpose()?)
    }

    /// Starts a server on the datadir and waits until it answers.
    pub fn start(&self, options: &StartOptions) -> Result<RunningServer, SandboxError> {
        RunningServer::start(&self.folder, options)
    }

    /// Overwrites the redo log with itself; see `wear.rs`. The server must have been started once
    /// with the redo size to be measured, and stopped. For MySQL 8.0.30 and later,
    /// [`RunningServer::lap_redo`] does it instead; for PostgreSQL, [`RunningServer::wear_in_wal`].
    pub fn wear_in_redo(&self) -> Result<WornIn, SandboxError> {
        self.folder.check_stopped()?;
        match self.folder.binary.family() {
            Family::Mysql => wear_in_redo(&self.folder.paths.datadir),
            Family::Postgresql => Ok(WornIn::default()),
        }
    }

    /// Moves the datadir of the stopped server aside, for
    /// [`restore_prepared`](Self::restore_prepared) to copy from. Until then the sandbox has no
    /// datadir.
    pub fn keep_prepared(&self) -> Result<(), SandboxError> {
        self.folder.check_stopped()?;
        let (datadir, prepared) = (&self.folder.paths.datadir, self.folder.prepared());
        remove_tree(&prepared)?;
        std::fs::rename(datadir, &prepared).map_err(SandboxError::io("set aside", datadir))
    }

    /// Makes the datadir a fresh copy of the prepared one. Returns the bytes written.
    pub fn restore_prepared(&self) -> Result<u64, SandboxError> {
        self.folder.check_stopped()?;
        let (datadir, prepared) = (&self.folder.paths.datadir, self.folder.prepared());
        if !prepared.is_dir() {
            let problem = "has no prepared datadir: prepare one first".to_owned();
            return Err(SandboxError::Content { path: self.folder.path.clone(), problem });
        }
        self.folder.remove_data()?;
        copy_datadir(&prepared, datadir, self.folder.home.user())
    }

    /// Removes the folder and reports failures; dropping the sandbox does the same silently.
    pub fn remove(self) -> Result<(), SandboxError> {
        self.folder.check_stopped()?;
        self.folder.remove()
    }

    /// Leaves the folder on disk for inspection. It is a leftover from now on, and the next
    /// cleaning removes it.
    pub fn keep(self) -> PathBuf {
        self.folder.keep.store(true, Ordering::Release);
        self.folder.path.clone()
    }
}
