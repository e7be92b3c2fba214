//! `truetps gateway --private`: the try, and its page in a real browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;

use rustix::process::Signal;

use crate::browser::browser;
use crate::common::{Place, has_server, signal};

#[test]
fn a_try_has_a_page_that_draws() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let mut child = place.start(&["gateway", "--private", "--page", "--listen", "127.0.0.1:0"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let page = loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the gateway ended");
        if let Some((_, page)) = line.split_once("Page: http://") {
            break page.trim().trim_end_matches('/').to_owned();
        }
    };
    let rest = thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        text
    });
    let body = r#"{"client":1,"seq":1,"value":0.5}"#;
    let mut stream = TcpStream::connect(&page).unwrap();
    let head = "POST /v1/readings HTTP/1.1\r\nhost: localhost\r\nconnection: \
                close\r\ncontent-type: application/json";
    stream
        .write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    if let Some(browser) = browser() {
        #[expect(clippy::disallowed_methods, reason = "a real browser")]
        let opened = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--enable-logging=stderr",
            ])
            .args(["--virtual-time-budget=4000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", place.path().join("profile").display()))
            .arg(format!("http://{page}/"))
            .output()
            .unwrap();
        let (dom, log) =
            (String::from_utf8_lossy(&opened.stdout), String::from_utf8_lossy(&opened.stderr));
        assert!(!log.contains("CONSOLE"), "{log}");
        assert!(
            dom.contains("<h2>readings</h2>") && dom.contains("X-Durability: commit-fsync"),
            "{dom}"
        );
        assert_eq!(dom.matches("<canvas").count(), 6, "{dom}");
        assert!(
            dom.contains(r#"data-figure="readings.rows">0/s"#),
            "two readings make a rate: {dom}"
        );
        assert!(
            dom.contains(r#"data-top="readings.rows">1/s at the upper line, at most 0<"#),
            "{dom}"
        );
        assert_eq!(dom.matches(" · 120 s ago</span><span>now</span>").count(), 6, "{dom}");
    }
    signal(child.id(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(rest.join().unwrap().contains("1 rows stored"));
    assert!(place.servers().is_empty());
}
