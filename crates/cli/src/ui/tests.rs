//! Pictures of made-up runs, letter by letter, and the terminal before and after.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use truetps_analysis::StallsSoFar;
use truetps_lab::ExperimentEvent;
use truetps_record::{
    Configuration, Counts, Family, Interval, LatencyFigures, Phase, ProbeHeader, ProbeSample,
    ProbeSource, ScheduledTrial, SettingValue, Trial, TrialRole, new_histogram,
};
use truetps_recording::{TrialEvent, TrialPlace};

use super::look::Palette;
use super::model::{FinishedTrial, LiveWatch, Subject};
use super::picture::{Moment, PictureView, draw};
use super::screen::TerminalScreen;

fn scheduled() -> ScheduledTrial {
    let levels = IndexMap::from([
        ("innodb_flush_log_at_trx_commit".to_owned(), SettingValue::Int(1)),
        ("connections".to_owned(), SettingValue::Int(50)),
    ]);
    let configuration = Configuration { levels };
    ScheduledTrial {
        name: "trial-0003".to_owned(),
        block: 0,
        position: 2,
        role: TrialRole::Cell,
        configuration,
        mixture: None,
    }
}

fn interval(second: u32, bucket: impl Fn(usize) -> u32) -> Interval {
    let buckets: Vec<u32> = (0..10).map(bucket).collect();
    let ok: u32 = buckets.iter().sum();
    let p99 = (ok > 0).then_some(2100.0 + f64::from(second));
    let phase = if second < 2 { Phase::WarmUp } else { Phase::Measure };
    let counts = Counts { ok: ok.into(), failed: u64::from(second == 4), ..Counts::default() };
    Interval {
        response: LatencyFigures {
            response_us_p50: p99.map(|us| us / 7.0),
            response_us_p95: p99.map(|us| us / 2.0),
            response_us_p99: p99,
            response_us_max: p99.map(|us| us * 4.0),
            ..LatencyFigures::default()
        },
        buckets,
        ..Interval::of_counts(phase, f64::from(second) * 1e3, 1e3, counts)
    }
}

fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
}

/// Two seconds of warm-up, three of 1,000 transactions, a stall of 1.5 s, and a second of what was
/// before.
fn with_stall() -> LiveWatch {
    let mut watch = LiveWatch::new("sync-sweep");
    let trial = scheduled();
    let place =
        TrialPlace { trial: &trial, index: 2, of: Some(64), left: Some(Duration::from_secs(250)) };
    watch.event(&ExperimentEvent::Trial(place, TrialEvent::Begins));
    for second in 0..8 {
        let interval = interval(second, |bucket| match (second, bucket) {
            (5, 5..) | (6, _) => 0,
            _ => 100,
        });
        watch.event(&ExperimentEvent::Trial(
            place,
            TrialEvent::Interval(&interval, &new_histogram()),
        ));
    }
    let values = [
        ("session.Commit", 12.0),
        ("session.Waiting for table metadata lock", 3.0),
        ("status.Innodb_checkpoint_age", 61.0),
        ("status.Innodb_checkpoint_max_age", 100.0),
        ("wait.wait/io/file/sql/binlog.us", 0.0),
    ];
    let header = ProbeHeader::of_version_1(1e3, Some(Family::Mysql));
    watch.event(&ExperimentEvent::Trial(
        place,
        TrialEvent::Sample(&header, &sample(7000.0, &values)),
    ));
    let waited = [("wait.wait/io/file/sql/binlog.us", 2.5e6)];
    watch.event(&ExperimentEvent::Trial(
        place,
        TrialEvent::Sample(&header, &sample(8000.0, &waited)),
    ));
    watch.event(&ExperimentEvent::Warning("the disk is nearly full".to_owned()));
    watch
}

fn picture(watch: &LiveWatch, columns: u16, rows: u16, view: PictureView) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    let now = Moment { at: watch.model.begun, stopping: false };
    draw(&watch.model, view, Palette { colour: true }, now, &mut buffer);
    buffer
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let columns = usize::from(buffer.area().width);
    let rows = buffer.content().chunks(columns);
    rows.map(|row| {
        row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    })
    .collect()
}

fn check(buffer: &Buffer, expect: &str) {
    let seen = lines(buffer).join("\n");
    assert_eq!(seen, expect.trim_matches('\n'), "\n{seen}\n");
}

const KEYS: PictureView = PictureView { keys: true, ..NO_KEYS };
const NO_KEYS: PictureView =
    PictureView { frozen: false, help: false, zoom: super::chart::Zoom::Whole, keys: false };

#[test]
fn before_the_first_interval() {
    let mut watch = LiveWatch::new("sync-sweep");
    watch.event(&ExperimentEvent::Loading { rows: 1000, of: 200_000 });
    check(&picture(&watch, 60, 16, KEYS), include_str!("pictures/before.txt"));
}

/// A probe has no trial, no stall and no result.
#[test]
fn a_server_that_is_only_watched() {
    let mut watch = with_stall();
    watch.model.subject = Subject::Server;
    let shown = lines(&picture(&watch, 80, 24, KEYS)).join("\n");
    for part in [
        "watched without a load",
        "── commits/s  1 000 now, mean 750.0",
        "── states, sessions",
        "Commit",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    for part in ["trial", "── stalls", "results", "measuring", "── tps"] {
        assert!(!shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn a_step_is_timed_from_its_start_whatever_is_in_its_text() {
    let mut watch = LiveWatch::new("sync-sweep");
    let mut since = |event: ExperimentEvent<'_>| {
        watch.event(&event);
        watch.model.doing.as_ref().unwrap().since
    };
    let first = since(ExperimentEvent::Loading { rows: 1000, of: 200_000 });
    assert_eq!(since(ExperimentEvent::Loading { rows: 2000, of: 200_000 }), first);
    let login = since(ExperimentEvent::Preparing("logging in to mysql://a".to_owned()));
    assert!(since(ExperimentEvent::Preparing("logging in to mysql://b".to_owned())) > login);
    since(ExperimentEvent::RateTried { rate: 900.0, broken: Some("p99 12 ms") });
    assert_eq!(watch.model.doing.as_ref().unwrap().step, "900/s did not hold: p99 12 ms");
}

#[test]
fn a_small_terminal() {
    check(&picture(&with_stall(), 60, 16, KEYS), include_str!("pictures/small.txt"));
}

#[test]
fn a_usual_terminal() {
    check(&picture(&with_stall(), 80, 24, NO_KEYS), include_str!("pictures/usual.txt"));
}

#[test]
fn a_large_terminal() {
    let mut watch = with_stall();
    let judged = StallsSoFar { judged: true, ..StallsSoFar::default() };
    let outcome = FinishedTrial {
        number: 1,
        configuration: "innodb_flush_log_at_trx_commit=2 connections=50".to_owned(),
        is_twin: false,
        tps: Some(12_345.0),
        p99_us: Some(836_000.0),
        failed: 0,
        stalls: StallsSoFar { count: 3, longest_ms: 500.0, ..judged },
        not_valid: None,
    };
    let not_judged = FinishedTrial {
        number: 2,
        is_twin: true,
        stalls: StallsSoFar::default(),
        ..outcome.clone()
    };
    let invalid = FinishedTrial {
        number: 3,
        not_valid: Some("the server died".to_owned()),
        ..outcome.clone()
    };
    watch.model.outcomes.extend([outcome, not_judged, invalid]);
    check(&picture(&watch, 130, 34, KEYS), include_str!("pictures/large.txt"));
}

#[test]
fn a_trial_that_ends_has_the_stalls_of_its_report() {
    let mut watch = LiveWatch::new("sync-sweep");
    let trial = scheduled();
    let place = TrialPlace { trial: &trial, index: 2, of: Some(64), left: None };
    watch.event(&ExperimentEvent::Trial(place, TrialEvent::Begins));
    // It stands still from the beginning of the measure phase on: there is no level to be below.
    for second in 2..6 {
        let mut interval = interval(second, |_| 0);
        interval.counts.in_flight = 4;
        watch.event(&ExperimentEvent::Trial(
            place,
            TrialEvent::Interval(&interval, &new_histogram()),
        ));
    }
    let text = include_str!("../../../report/testdata/before-probe/trial-0001/run.json");
    let ended: Trial = serde_json::from_str(text).unwrap();
    watch.event(&ExperimentEvent::Trial(place, TrialEvent::Ends(&ended)));
    let stalls = watch.model.outcomes.iter().next().unwrap().stalls;
    assert_eq!((stalls.count, stalls.longest_ms), (1, 4000.0));
}

#[test]
fn any_size_is_drawn() {
    let watch = with_stall();
    let help = PictureView { help: true, ..KEYS };
    for columns in [1, 2, 7, 9, 29, 30, 31, 45, 59, 79, 119, 120, 121, 300] {
        for rows in [1, 2, 3, 7, 8, 9, 11, 15, 23, 24, 25, 29, 30, 80] {
            for view in [KEYS, help] {
                picture(&watch, columns, rows, view);
                picture(&LiveWatch::new("x"), columns, rows, view);
            }
        }
    }
}

#[test]
fn without_colour_the_text_is_the_same() {
    let watch = with_stall();
    let coloured = picture(&watch, 80, 24, KEYS);
    let mut plain = Buffer::empty(*coloured.area());
    let now = Moment { at: watch.model.begun, stopping: false };
    draw(&watch.model, KEYS, Palette { colour: false }, now, &mut plain);
    assert_eq!(lines(&plain), lines(&coloured));
    assert!(plain.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let mark = plain.content().iter().find(|cell| cell.symbol() == "▲").unwrap();
    assert!(mark.modifier.contains(Modifier::BOLD));
}

#[test]
fn a_request_to_end_and_a_frozen_picture_are_words() {
    let watch = with_stall();
    let frozen = PictureView { frozen: true, ..KEYS };
    assert!(lines(&picture(&watch, 80, 24, frozen))[0].ends_with("FROZEN"));
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    let now = Moment { at: Instant::now(), stopping: true };
    draw(&watch.model, frozen, Palette { colour: true }, now, &mut buffer);
    let lines = lines(&buffer);
    assert!(
        lines[0].ends_with("STOPPING") && lines[23].contains("again exits at once"),
        "{lines:?}"
    );
}

/// Both ends of a terminal that no process controls.
fn terminal() -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = rustix::fs::open(
        name,
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    );
    (File::from(ours), theirs.unwrap())
}

fn is_raw(terminal: &OwnedFd) -> bool {
    !tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

/// Everything up to these bytes: what was written at once need not arrive at once.
fn received(ours: &mut File, up_to: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.ends_with(up_to) {
        let count = ours.read(&mut bytes).unwrap();
        text += &String::from_utf8_lossy(&bytes[..count]);
    }
    text
}

/// The rest, of a terminal that is closed at the other end.
fn rest(ours: &mut File) -> String {
    let mut bytes = Vec::new();
    // The kernel says that with an error, when all is read.
    let _ = ours.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_terminal_may_claim_any_size() {
    let (_ours, theirs) = terminal();
    let size = Winsize { ws_row: u16::MAX, ws_col: u16::MAX, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    assert_eq!(TerminalScreen::on(theirs).unwrap().size(), Rect::new(0, 0, 1000, 300));
}

#[test]
fn a_terminal_is_left_once_and_nothing_is_written_after() {
    let (mut ours, theirs) = terminal();
    let watched = theirs.try_clone().unwrap();
    let screen = TerminalScreen::on(theirs).unwrap();
    assert!(screen.show() && is_raw(&watched));
    screen.write(b"one").unwrap();
    assert_eq!(received(&mut ours, "one"), "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H\x1b[?25lone");
    screen.hide();
    assert!(!is_raw(&watched) && screen.show() && is_raw(&watched));
    screen.leave();
    screen.leave();
    screen.write(b"two").unwrap();
    assert!(!is_raw(&watched) && !screen.show());
    drop((screen, watched));
    let rest = rest(&mut ours);
    assert_eq!(
        (rest.matches("\x1b[?1049l").count(), rest.matches("\x1b[?1049h").count()),
        (2, 1),
        "{rest:?}"
    );
    assert!(rest.ends_with("\x1b[0m\x1b[?25h\x1b[?1049l"), "{rest:?}");
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_the_end() {
    let (_ours, theirs) = terminal();
    let watched = theirs.try_clone().unwrap();
    let screen = TerminalScreen::on(theirs).unwrap();
    assert!(screen.show());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        // Nothing reads the other end.
        scope.spawn(|| screen.write(&vec![b'x'; 10_000_000]).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        screen.leave();
    });
    assert!(begun.elapsed() < Duration::from_secs(5) && !is_raw(&watched));
}

#[test]
fn a_panic_leaves_the_terminal_before_its_message() {
    let (mut ours, theirs) = terminal();
    let watched = theirs.try_clone().unwrap();
    let screen = TerminalScreen::on(theirs).unwrap();
    let shared = std::sync::Arc::new(super::SharedPicture {
        screen,
        watch: std::sync::Mutex::new(LiveWatch::new("x")),
        kept: std::sync::Mutex::default(),
        output: super::HeldOutput::default(),
    });
    assert!(shared.screen.show());
    super::leave_on_panic(&shared);
    let died = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(died.is_err() && !is_raw(&watched) && shared.screen.is_gone());
    assert!(received(&mut ours, "\x1b[?1049l").contains("\x1b[?1049h"));
    ours.flush().unwrap();
}
