//! Several owners: two at once, a killed one, leftovers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use truetps_sandbox::{Cleaning, Home, Kept, clean, list};

use crate::common::{Killed, home, is_gone, names_in, sandbox, server, start_options, wait_until};

const SOON: Duration = Duration::from_mins(1);
const OWNER_HOME: &str = "TRUETPS_TEST_OWNER_HOME";

#[test]
fn two_at_once_share_a_template_and_nothing_else() {
    let Some(binary) = server("two_at_once_share_a_template_and_nothing_else") else { return };
    let (_dir, home) = home();
    let run = || {
        let sandbox = sandbox(&home, &binary);
        let server = sandbox.start(&start_options(&binary)).unwrap();
        server.connect(SOON).unwrap().execute("CREATE DATABASE mine").unwrap();
        (sandbox, server)
    };
    let (one, two) = std::thread::scope(|scope| {
        let handle = scope.spawn(run);
        (run(), handle.join().unwrap())
    });
    assert_ne!((one.1.pid(), one.1.socket()), (two.1.pid(), two.1.socket()));
    let entries = list(&home).unwrap();
    assert_eq!(
        entries.iter().filter(|entry| entry.owner_alive && entry.server_alive).count(),
        2,
        "{entries:?}"
    );
    assert_eq!(clean(&home).unwrap(), Cleaning::default(), "nothing that is in use is a leftover");
    assert_eq!(names_in(&home.path().join("templates")).len(), 2, "one template and its lock");
}

/// Not a test: the process that the tests below kill. It owns a running server until then.
#[test]
fn owner_process() {
    let Some(path) = std::env::var_os(OWNER_HOME).map(PathBuf::from) else { return };
    let binary = server("owner_process").unwrap();
    let home = Home::open(Some(&path)).unwrap();
    let (sandbox, server) = {
        let sandbox = sandbox(&home, &binary);
        // From a thread that ends: the server must not end with it.
        let server = std::thread::scope(|scope| {
            scope.spawn(|| sandbox.start(&start_options(&binary))).join()
        });
        (sandbox, server.unwrap().unwrap())
    };
    fs::write(path.join("ready.tmp"), format!("{} {}", server.pid(), sandbox.path().display()))
        .unwrap();
    fs::rename(path.join("ready.tmp"), path.join("ready")).unwrap();
    std::thread::sleep(Duration::from_mins(5));
}

/// Starts an owner and waits for its server. Returns the owner, the server's pid and its folder.
fn owner(home: &Home) -> (Killed, u32, PathBuf) {
    #[allow(clippy::disallowed_methods, reason = "the process that is killed")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["owners::owner_process", "--exact"]).env(OWNER_HOME, home.path());
    let child = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let ready = home.path().join("ready");
    wait_until("the owner's server", || ready.exists());
    let text = fs::read_to_string(&ready).unwrap();
    let (pid, folder) = text.split_once(' ').unwrap();
    (child, pid.parse().unwrap(), PathBuf::from(folder))
}

#[test]
fn a_server_never_outlives_a_killed_owner() {
    if server("a_server_never_outlives_a_killed_owner").is_none() {
        return;
    }
    let (_dir, home) = home();
    let (mut owner, pid, folder) = owner(&home);
    assert!(!is_gone(pid), "it lives on after the thread that started it");
    let entry = list(&home).unwrap().remove(0);
    assert!(entry.owner_alive && entry.server_alive && entry.server_pid == Some(pid), "{entry:?}");
    assert_eq!(entry.owner_pid, Some(owner.0.id()));
    assert_eq!(clean(&home).unwrap(), Cleaning::default(), "its owner lives");

    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    wait_until("the server of a killed owner is gone", || is_gone(pid));
    let entry = list(&home).unwrap().remove(0);
    assert!(!entry.owner_alive && !entry.server_alive && entry.size_bytes > 1 << 20, "{entry:?}");
    assert_eq!(entry.server_pid, None, "the number of a dead process");
    assert!(entry.created.is_some() && entry.version.is_some());

    let cleaned = clean(&home).unwrap().removed;
    assert_eq!((cleaned.len(), cleaned[0].servers_killed), (1, 0));
    assert_eq!(cleaned[0].entry.path, folder);
    assert!(!folder.exists());
    assert_eq!(list(&home).unwrap(), []);
}

/// With the write end of its input, whose closing would wake it.
struct Stray(Killed, #[allow(dead_code, reason = "its end would be read")] Option<ChildStdin>);

/// A process with the argument of servers on these data; with this one, too, if truetps has started
/// it.
fn stray(datadir: &Path, pid_file: Option<&Path>) -> Stray {
    #[allow(clippy::disallowed_methods, reason = "stands for a server whose owner is dead")]
    let mut command = Command::new("/bin/sh");
    // It waits for a line that never comes, and starts no process that would be counted, too.
    command.args(["-c", "read line", "mysqld"]).arg(format!("--datadir={}", datadir.display()));
    command.args(pid_file.map(|path| format!("--pid-file={}", path.display())));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let input = child.stdin.take();
    let pid = child.id();
    let stray = Stray(Killed(child), input);
    // A new process exists before its arguments, by which it is found, are visible.
    wait_until("the stray's arguments", || {
        !fs::read(format!("/proc/{pid}/cmdline")).unwrap().is_empty()
    });
    stray
}

#[test]
fn cleaning_kills_what_runs_on_a_leftover_and_nothing_else() {
    let (dir, home) = home();
    let leftover = home.path().join("servers/999999-1");
    let outside = dir.path().join("outside");
    for folder in [leftover.join("data"), outside.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(outside.join("file"), "precious").unwrap();
    std::os::unix::fs::symlink(&outside, leftover.join("data/link")).unwrap();
    own(&leftover);
    let mut on_leftover = stray(&leftover.join("data"), Some(&leftover.join("run/pid")));
    let mut on_its_neighbour = stray(&leftover.join("data2"), Some(&leftover.join("run/pid")));
    let entry = list(&home).unwrap().remove(0);
    assert!(
        entry.server_alive && !entry.owner_alive && entry.version.as_deref() == Some("8.0.36"),
        "{entry:?}"
    );

    // The stray is a child of this process, which must wait for it.
    let reaper = std::thread::spawn(move || on_leftover.0.0.wait().unwrap());
    let cleaned = clean(&home).unwrap().removed;
    assert_eq!((cleaned.len(), cleaned[0].servers_killed), (1, 1));
    assert!(!reaper.join().unwrap().success());
    assert!(!leftover.exists());
    assert_eq!(
        fs::read_to_string(outside.join("file")).unwrap(),
        "precious",
        "links are not followed"
    );
    assert!(
        on_its_neighbour.0.0.try_wait().unwrap().is_none(),
        "another folder's process was killed"
    );
}

/// What a killed truetps leaves in a server's folder.
fn own(folder: &Path) {
    let owner = r#"{"schema_version":1,"owner_pid":999999,"flavour":"mysql","version":"8.0.36"}"#;
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("owner.json"), owner).unwrap();
    File::create(folder.join("lock")).unwrap();
}

#[test]
fn only_what_proves_to_be_of_truetps_is_removed_or_ended() {
    let (_dir, home) = home();
    let servers = home.path().join("servers");
    let foreign = ["prod", "1-2-3", "4711-1", "4711-2", "x.making", "4711-1.bak"]
        .map(|name| servers.join(name));
    for folder in &foreign {
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("data/file"), "precious").unwrap();
    }
    fs::write(foreign[3].join("owner.json"), "{").unwrap();
    for folder in [&foreign[0], &foreign[5]] {
        own(folder);
    }
    std::os::unix::fs::symlink(&foreign[0], servers.join("4711-3")).unwrap();
    let mut theirs = stray(&foreign[0].join("data"), Some(&foreign[0].join("run/pid")));
    // A server that was started by hand on the leftovers of a killed run.
    let by_hand = servers.join("999999-1");
    own(&by_hand);
    let mut started_by_hand = stray(&by_hand.join("data"), None);
    // Folders that a killed run was creating, or removing.
    for folder in [servers.join("999999-2"), servers.join(".999999-3.making")] {
        fs::create_dir(&folder).unwrap();
    }
    fs::write(servers.join(".999999-3.making/owner.json.tmp"), "").unwrap();
    // One of an older version killed between its lock and its owner, and three that only look like
    // it.
    let only_a_lock =
        ["4194305-1", "4194305-2", "4194305-3", "4194305-4"].map(|name| servers.join(name));
    for (folder, lock) in only_a_lock.iter().zip(["lock", "lock", "lock", "lock2"]) {
        fs::create_dir(folder).unwrap();
        File::create(folder.join(lock)).unwrap();
    }
    fs::hard_link(only_a_lock[1].join("lock"), servers.join("link")).unwrap();
    fs::write(only_a_lock[2].join("lock"), "precious").unwrap();

    let ids = |entries: Vec<truetps_sandbox::RegistryEntry>| {
        entries.into_iter().map(|entry| entry.id).collect::<Vec<_>>()
    };
    let mut listed = ids(list(&home).unwrap());
    listed.sort();
    assert_eq!(listed, ["4194305-1", "999999-1", "999999-2"]);
    let cleaning = clean(&home).unwrap();
    assert_eq!(
        ids(cleaning.removed.into_iter().map(|one| one.entry).collect()),
        ["4194305-1", "999999-2"]
    );
    assert_eq!(only_a_lock.map(|folder| folder.exists()), [false, true, true, true]);
    assert_eq!(
        cleaning.kept,
        [Kept { path: by_hand.clone(), server_pid: started_by_hand.0.0.id() }]
    );
    assert!(
        foreign
            .iter()
            .all(|folder| fs::read_to_string(folder.join("data/file")).unwrap() == "precious")
    );
    assert!(
        by_hand.join("owner.json").is_file() && servers.join("4711-3").symlink_metadata().is_ok()
    );
    assert!(!servers.join(".999999-3.making").exists());
    for process in [&mut theirs, &mut started_by_hand] {
        assert!(process.0.0.try_wait().unwrap().is_none(), "a foreign process was ended");
    }
}

#[test]
fn a_pipe_in_a_data_folder_is_not_waited_for() {
    let (_dir, home) = home();
    let folder = home.path().join("servers/999999-1");
    own(&folder);
    fs::create_dir(folder.join("data")).unwrap();
    let (pipe, mode) = (folder.join("data/postmaster.pid"), rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(clean(&home).unwrap().removed.len()));
    assert_eq!(ended.recv_timeout(SOON).unwrap(), 1);
    assert!(!folder.exists());
}

#[test]
fn a_folder_in_the_making_is_not_a_leftover_but_one_without_a_lock_is() {
    let (_dir, home) = home();
    let folder = home.path().join("servers/999999-2");
    own(&folder);
    let lock = File::open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(clean(&home).unwrap(), Cleaning::default());
    fs::remove_file(folder.join("lock")).unwrap();
    assert_eq!(clean(&home).unwrap().removed.len(), 1);
}
