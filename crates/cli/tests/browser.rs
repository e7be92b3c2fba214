//! The HTML report in a real browser: its charts are drawn, nothing fails, and nothing is asked of the network.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{Place, SMALL, has_server};

/// A browser of this machine; CI must have one.
fn browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found =
        std::env::split_paths(&paths).flat_map(|dir| names.map(|name| dir.join(name))).find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("TRUETPS_REQUIRE_BROWSER").is_none(),
            "TRUETPS_REQUIRE_BROWSER is set and there is none"
        );
        eprintln!("SKIPPED: no browser on this machine");
    }
    found
}

#[test]
fn the_report_draws_its_charts_offline() {
    let Some(browser) = browser() else { return };
    if !has_server() {
        return;
    }
    let place = Place::new();
    place.write("page.toml", &SMALL.replace("a test", "a test <b>with</b> marks"));
    let ran = place.run(&["sweep", "./page.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let page = place.latest().join("report.html");
    let profile = place.path().join("profile");
    #[expect(clippy::disallowed_methods, reason = "a real browser")]
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(dom.matches("<canvas").count() >= 3, "charts are drawn: {}\n{log}", dom.len());
    let complaints: Vec<_> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(dom.contains("&lt;b&gt;with&lt;/b&gt;") && !dom.contains("<b>with</b>"), "the plan's words are text");
}
