//! A private server with or without the library.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use truetps_binlog::state::{CONTROL_AT, StatePage, StatusWord, control_bytes};
use truetps_binlog::{BinlogAge, TailDecision, decide, file_number};
use truetps_driver::Client;
use truetps_record::{Flavour, SettingValue};
use truetps_sandbox::{
    HostLimits, RunningServer, Sandbox, SandboxOptions, ServerLoad, Settings, StartOptions,
    chosen_settings,
};
use truetps_testkit::TestHome;
use truetps_testkit::mysql_family::FetchedServer;

pub(crate) const SOON: Duration = Duration::from_mins(2);
pub(crate) const MEBI: u64 = 1 << 20;

/// Everything that a test needs of a server that it starts more than once.
pub(crate) struct Bench {
    pub(crate) sandbox: Sandbox,
    pub(crate) settings: Settings,
    /// The binlogs' folder and basename.
    pub(crate) basename: PathBuf,
    /// Options of `TRUETPS_PREALLOC`, besides the basename.
    pub(crate) options: &'static str,
    pub(crate) library: PathBuf,
    pub(crate) home: TestHome,
    pub(crate) is_mariadb: bool,
}

impl Bench {
    pub(crate) fn new(server: &FetchedServer) -> Self {
        let home = TestHome::new();
        let binary = &server.binary;
        let load = ServerLoad { connections_max: 20, statements_per_connection: 1 };
        let mut settings = Settings::new(
            binary.family(),
            &chosen_settings(HostLimits::read().memory_bytes, load, binary.flavour, binary.version),
        );
        let redo = if settings.get("innodb_redo_log_capacity").is_some() {
            "innodb_redo_log_capacity"
        } else {
            "innodb_log_file_size"
        };
        for (name, value) in [
            ("innodb_buffer_pool_size", "64M"),
            (redo, "32M"),
            ("log_bin", "binlog"),
            ("binlog_format", "STATEMENT"),
            ("sync_binlog", "1"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("max_binlog_size", "4M"),
            ("max_allowed_packet", "64M"),
        ] {
            settings.set(name, SettingValue::Text(value.to_owned()));
        }
        let sandbox = Sandbox::create(
            home.home(),
            binary,
            &SandboxOptions::new(Settings::empty(binary.family())),
        )
        .unwrap();
        let basename = sandbox.datadir().join("binlog");
        let library = copied_library(home.folder());
        let is_mariadb = binary.flavour == Flavour::Mariadb;
        Self {
            sandbox,
            settings,
            basename,
            options: "free_floor_mib=64",
            library,
            home,
            is_mariadb,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.settings.set(name, SettingValue::Text(value.to_owned()));
    }

    pub(crate) fn start(&self, has_library: bool) -> RunningServer {
        let mut options = StartOptions::new(self.settings.clone());
        if has_library {
            let value = format!("basename={};{}", self.basename.display(), self.options);
            options.environment.push(("TRUETPS_PREALLOC".into(), value.into()));
            options.environment.push(("LD_PRELOAD".into(), self.library.clone().into()));
        }
        self.sandbox.start(&options).unwrap_or_else(|error| {
            let log = fs::read_to_string(self.sandbox.error_log_path()).unwrap_or_default();
            panic!("{error}\n{log}")
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.basename.parent().unwrap()
    }

    pub(crate) fn page(&self) -> StatePage {
        let path = self.basename.with_extension("prealloc");
        let end = Instant::now() + SOON;
        loop {
            match StatePage::parse(&fs::read(&path).unwrap()) {
                Ok(page) => return page,
                Err(error) => assert!(Instant::now() < end, "{error:?}"),
            }
        }
    }

    pub(crate) fn word(&self, word: StatusWord) -> u64 {
        self.page().word(word)
    }

    /// Waits until a word of the page is as wanted.
    pub(crate) fn wait_for(&self, word: StatusWord, is_so: impl Fn(u64) -> bool) -> u64 {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let value = self.word(word);
            if is_so(value) {
                return value;
            }
            let log = || fs::read_to_string(self.sandbox.error_log_path()).unwrap_or_default();
            assert!(
                Instant::now() < end,
                "{} is {value}: {:?}\n{}",
                word.name(),
                self.page(),
                log()
            );
            sleep(Duration::from_millis(2));
        }
    }

    /// Until zeros are ahead of the active file.
    pub(crate) fn wait_until_ahead(&self) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let page = self.page();
            let active = page.word(StatusWord::active_file);
            let real = fs::metadata(self.file(active)).map_or(0, |facts| facts.len());
            if active > 0
                && real > page.word(StatusWord::logical_end) + MEBI / 2
                && real.is_multiple_of(4096)
            {
                return;
            }
            let log = || fs::read_to_string(self.sandbox.error_log_path()).unwrap_or_default();
            assert!(Instant::now() < end, "{page:?}\n{}", log());
            sleep(Duration::from_millis(2));
        }
    }

    /// Switches the library, and returns after how long it has obeyed.
    pub(crate) fn switch(&self, is_on: bool) -> Duration {
        use std::os::unix::fs::FileExt;
        let request = self.page().request + 1;
        let file =
            fs::File::options().write(true).open(self.basename.with_extension("prealloc")).unwrap();
        let started = Instant::now();
        file.write_all_at(&control_bytes(is_on.into(), request), CONTROL_AT).unwrap();
        self.wait_for(StatusWord::acted_request, |acted| acted == request);
        started.elapsed()
    }

    pub(crate) fn file(&self, number: u64) -> PathBuf {
        self.basename.with_extension(format!("{number:06}"))
    }

    /// All binlogs in the folder, in order.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let base = self.basename.file_name().unwrap().to_str().unwrap().as_bytes();
        let names = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = names
            .filter(|name| file_number(base, name.as_encoded_bytes()).is_some())
            .map(|name| self.folder().join(name))
            .collect();
        files.sort();
        files
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.sandbox.error_log_path()).unwrap()
    }

    /// Every file ends with a whole event.
    pub(crate) fn assert_all_sound(&self) {
        for file in self.files() {
            assert_eq!(
                decision_on(&file),
                TailDecision::Sound,
                "{}\n{}",
                file.display(),
                self.log()
            );
        }
    }

    /// As `truetps prealloc trim` does it: the same decision, by ordinary file functions.
    pub(crate) fn trim_offline(&self) {
        for path in self.files() {
            let file = fs::File::options().read(true).write(true).open(&path).unwrap();
            match decision_on(&path) {
                TailDecision::Sound => {}
                TailDecision::CutZeros { at } | TailDecision::CutAndKeep { at, .. } => {
                    file.set_len(at).unwrap();
                }
                TailDecision::LeaveAlone(why) => panic!("{}: {why:?}", path.display()),
            }
        }
    }

    pub(crate) fn assert_sizes_are_real(&self, client: &mut Client) {
        let rows = client.query("SHOW BINARY LOGS").unwrap().rows;
        let active = rows.len() - 1;
        for (at, row) in rows.iter().enumerate() {
            let (name, size) =
                (row[0].clone().unwrap(), row[1].clone().unwrap().parse::<u64>().unwrap());
            let path = self.folder().join(&name);
            let real = fs::metadata(&path).unwrap().len();
            assert!(
                real == size || (at == active && real > size),
                "{name}: shown {size}, real {real}"
            );
        }
    }
}

pub(crate) fn decision_on(path: &Path) -> TailDecision {
    let bytes = fs::read(path).unwrap();
    let Ok(decision) = decide(&mut &bytes[..], bytes.len() as u64, BinlogAge::Newest);
    decision
}

/// The library, where the server's user can read it.
fn copied_library(folder: &Path) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let built = program.parent().unwrap().join("libtruetps_prealloc.so");
    let copy = folder.join("libtruetps_prealloc.so");
    fs::copy(&built, &copy).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}
