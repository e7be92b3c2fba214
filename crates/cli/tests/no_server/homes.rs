//! Folders of private servers: what was left in them, and homes where little can be done.

use std::fs::{self, File};
use std::process::Stdio;

use crate::common::{Place, wait_until};

/// Makes what a killed truetps leaves in a server's folder.
fn leave(place: &Place, id: &str) -> std::path::PathBuf {
    place.good(&["server", "list"]);
    let folder = place.home().join("servers").join(id);
    fs::create_dir_all(folder.join("data")).unwrap();
    let owner = r#"{"schema_version":1,"owner_pid":4194305,"flavour":"mysql","version":"8.0.36"}"#;
    fs::write(folder.join("owner.json"), owner).unwrap();
    File::create(folder.join("lock")).unwrap();
    folder
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands for a server that was started by hand")]
fn a_leftover_that_is_kept_is_named() {
    let place = Place::new();
    let folder = leave(&place, "4194305-1");
    let mut by_hand = std::process::Command::new("/bin/sh");
    by_hand.args(["-c", "read line", "mysqld"]).arg(format!("--datadir={}", folder.join("data").display()));
    // It ends with its input.
    let mut child = by_hand.stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    wait_until("its arguments", || !fs::read(format!("/proc/{pid}/cmdline")).unwrap().is_empty());
    let kept = place.good(&["server", "clean"]);
    drop(child.stdin.take());
    child.wait().unwrap();
    for expect in [format!("kept {}: process {pid} runs", folder.display()), format!("hint: end it (`kill {pid}`")] {
        assert!(kept.stderr.contains(&expect), "{}should contain\n{expect}", kept.stderr);
    }
    assert!(!kept.stderr.contains("nothing to clean") && folder.join("owner.json").is_file());
}
