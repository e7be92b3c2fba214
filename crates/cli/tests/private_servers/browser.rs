//! The HTML report in a real browser: its charts are drawn, nothing fails, and nothing is asked of
//! the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, SMALL, has_server, with_small_redo};

/// A browser of this machine; CI must have one.
pub(crate) fn browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&paths)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("TRUETPS_REQUIRE_BROWSER").is_none(),
            "TRUETPS_REQUIRE_BROWSER is set and there is none"
        );
        eprintln!("SKIPPED: no browser on this machine");
    }
    found
}

/// A page as the browser rendered it, and the browser's messages.
struct Opened {
    dom: String,
    log: String,
}

impl Opened {
    fn new(browser: &Path, place: &Place, page: &Path, options: &[&str]) -> Self {
        let profile = place.path().join("profile");
        #[expect(clippy::disallowed_methods, reason = "a real browser")]
        let output = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"])
            .args(options)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let opened = Self { dom: text(output.stdout), log: text(output.stderr) };
        let complaints: Vec<_> =
            opened.log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(complaints.is_empty(), "{complaints:?}");
        opened
    }

    /// Every plot has its canvas.
    fn has_all_charts(&self, at_least: usize) {
        let plots = self.dom.matches("class=\"plot").count();
        let canvases = self.dom.matches("<canvas").count();
        assert!(plots >= at_least, "{plots} plots\n{}", self.log);
        assert_eq!(canvases, plots, "each plot is drawn\n{}", self.log);
    }
}

#[test]
fn the_report_draws_its_charts_offline() {
    let Some(browser) = browser() else { return };
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place
        .write("page.toml", &with_small_redo(&SMALL.replace("a test", "a test <b>with</b> marks")));
    let ran = place.run(&["sweep", "./page.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let opened = Opened::new(&browser, &place, &place.latest().join("report.html"), &[]);
    opened.has_all_charts(6);
    let dom = &opened.dom;
    assert!(
        dom.contains("&lt;b&gt;with&lt;/b&gt;") && !dom.contains("<b>with</b>"),
        "the plan's words are text"
    );
}

/// The page of text and tables in the newest folder, in a window and on a telephone: its
/// navigation, with a section of this heading, its theme, and the names of its rows beside their
/// pictures.
pub(crate) fn check_document_page(place: &Place, heading: &str) {
    const FRAME: &str = r#"<!doctype html><body><iframe id="page" width="400" height="800" src="report.html"></iframe>
        <script>page.onload = () => setTimeout(() => {
          const root = page.contentDocument.documentElement;
          document.body.dataset.width = `${root.scrollWidth} of ${root.clientWidth}`;
          const names = [...root.querySelectorAll(".named tbody th")].map((name) => name.getBoundingClientRect());
          const hidden = names.filter((name) => name.width < 1 || name.left < 0 || name.right > root.clientWidth);
          document.body.dataset.hidden = hidden.length;
        }, 1000)</script>"#;
    let Some(browser) = browser() else { return };
    let page = place.latest().join("report.html");
    let check = |setting: &str, button: &str| {
        let dom = Opened::new(&browser, place, &page, &[setting]).dom;
        assert!(dom.contains(&format!(">{button}</button>")), "{setting}: {dom}");
        let anchor =
            dom.split("<a href=\"#").find(|link| link.contains(&format!("\">{heading}</a>")));
        let anchor = anchor
            .and_then(|link| link.split('"').next())
            .unwrap_or_else(|| panic!("{heading}: {dom}"));
        assert!(dom.contains(&format!("<section id=\"{anchor}\">")), "{anchor}: {dom}");
    };
    check("--blink-settings=preferredColorScheme=0", "Light theme");
    check("--blink-settings=preferredColorScheme=1", "Dark theme");
    let frame = page.with_file_name("frame.html");
    fs::write(&frame, FRAME).unwrap();
    let dom = Opened::new(&browser, place, &frame, &["--allow-file-access-from-files"]).dom;
    fs::remove_file(&frame).unwrap();
    let width = dom
        .split("data-width=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default();
    assert!(width.split_once(" of ").is_some_and(|(width, of)| width == of), "{width}: {dom}");
    assert!(dom.contains("data-hidden=\"0\""), "names without their place: {dom}");
}

/// A page of a run that is kept in the tree: for what no server is needed.
fn kept_page(place: &Place) -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/testdata/before-probe");
    let folder = place.path().join("kept");
    for trial in ["trial-0001", "trial-0002"] {
        fs::create_dir_all(folder.join(trial)).unwrap();
        for file in ["run.json", "intervals.jsonl", "latency.hdr"] {
            fs::copy(kept.join(trial).join(file), folder.join(trial).join(file)).unwrap();
        }
    }
    for file in ["plan.toml", "experiment.json"] {
        fs::copy(kept.join(file), folder.join(file)).unwrap();
    }
    place.good(&["report", "kept"]);
    folder.join("report.html")
}

#[test]
fn the_dark_theme_follows_the_system_and_draws_the_same() {
    let Some(browser) = browser() else { return };
    let place = Place::with_templates();
    let page = kept_page(&place);
    let check = |setting: &str, button: &str| {
        let opened = Opened::new(&browser, &place, &page, &[setting]);
        opened.has_all_charts(6);
        assert!(opened.dom.contains(&format!(">{button}</button>")), "{setting}");
    };
    check("--blink-settings=preferredColorScheme=0", "Light theme");
    check("--blink-settings=preferredColorScheme=1", "Dark theme");
}

/// The page in a frame as wide as a telephone: it may scroll downwards alone, and so may all but
/// its tables.
#[test]
fn a_telephone_shows_the_page_without_scrolling_sideways() {
    const FRAME: &str = r#"<!doctype html><body><iframe id="page" width="360" height="800" src="report.html"></iframe>
        <script>page.onload = () => setTimeout(() => {
          const root = page.contentDocument.documentElement;
          document.body.dataset.chart = Math.round(root.querySelector(".plot").getBoundingClientRect().top);
          document.body.dataset.marked = root.querySelectorAll(".scroll.scrolls").length;
          for (const details of root.querySelectorAll("details")) details.open = true;
          document.body.dataset.width = `${root.scrollWidth} of ${root.clientWidth}`;
          const wide = [...root.querySelectorAll("main *")].filter((one) => !one.closest(".scroll, .u-wrap, .hidden"));
          const beyond = wide.filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1);
          document.body.dataset.beyond = beyond.map((one) => one.tagName + "." + one.className).join(" ") || "none";
        }, 1000)</script>"#;
    let Some(browser) = browser() else { return };
    let place = Place::with_templates();
    let page = kept_page(&place);
    let frame = page.with_file_name("frame.html");
    fs::write(&frame, FRAME).unwrap();
    let opened = Opened::new(&browser, &place, &frame, &["--allow-file-access-from-files"]);
    let dom = &opened.dom;
    let said = |name: &str| {
        let rest = dom
            .split(&format!("data-{name}=\""))
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {}", opened.log));
        rest.split('"').next().unwrap().to_owned()
    };
    let (width, of) = said("width")
        .split_once(" of ")
        .map(|(one, other)| (one.to_owned(), other.to_owned()))
        .unwrap();
    assert_eq!(width, of, "the page is as wide as its frame");
    assert_eq!(said("beyond"), "none");
    // The first chart is on the first screen, and tables that are cut at the right say that they
    // scroll.
    let top: u32 = said("chart").parse().unwrap();
    assert!(top < 700, "the first chart begins at {top} of 800");
    assert!(said("marked").parse::<u32>().unwrap() > 0, "{dom}");
}
