use super::*;

fn from_file(file: &str, words: &[&str]) -> Result<SysbenchOptions, OptionRefusal> {
    let mut pass = TestEnv { file, ..TestEnv::default() }.pass(words)?;
    for spec in each_kind() {
        pass.declare(spec);
    }
    pass.finish(true)
}

#[test]
fn the_file_gives_every_kind_of_option() {
    let file = "threads = 3\ndebug\nmysql-host = h1,h2\ni=42\ns = 'a b'\nl = p, q\n--sz=1M\n";
    let options = from_file(file, &["--config-file=file"]).unwrap();
    assert_eq!((options.settings.threads, options.settings.debug), (3, true));
    assert_eq!(options.mysql().unwrap().hosts, ["h1", "h2"]);
    assert_eq!(
        (options.int("i"), options.bytes("s"), options.size("sz")),
        (Some(42), Some(&b"a b"[..]), Some(1 << 20))
    );
    assert_eq!(options.list("l").unwrap().len(), 2);
    assert_eq!((options.origin("i"), options.was_typed("i")), (Origin::ConfigFile, false));
}

#[test]
fn the_command_line_goes_before_the_file() {
    for words in [
        ["--config-file=file", "--threads=2", "--i=9"],
        ["--threads=2", "--i=9", "--config_file=file"],
    ] {
        let options = from_file("threads=3\ni=42\n", &words).unwrap();
        assert_eq!((options.settings.threads, options.int("i")), (2, Some(9)), "{words:?}");
    }
}

#[test]
fn the_file_is_checked_as_the_command_line_is() {
    let told = |file| from_file(file, &["--config-file=file"]).unwrap_err().to_string();
    assert_eq!(told("threads=x"), "Invalid value for the 'threads' option: 'x'");
    assert_eq!(told("zed = 5"), "invalid option: --zed=5");
    assert_eq!(told("no such line"), "invalid option: --no such line");
    assert!(
        TestEnv { file: "threads=x", ..TestEnv::default() }
            .pass(&["--config-file=file", "--threads=4"])
            .is_ok()
    );
    let old = TestEnv { file: "zed=5", ..TestEnv::default() }
        .pass(&["--config-file=file"])
        .unwrap()
        .finish(false)
        .unwrap();
    assert_eq!(old.bytes("zed"), Some(&b"5"[..]));
}

#[test]
fn without_the_file_the_run_goes_on() {
    let pass = pass(&["--config-file=nope"]).unwrap();
    assert_eq!(pass.notices.len(), 1);
    assert_eq!(
        (text(&pass.notices[0].text).as_str(), pass.notices[0].stream),
        ("nope: No such file or directory\n", OutputStream::Stderr)
    );
    for words in ["--config-file=", "--config-file"] {
        assert_eq!(super::pass(&[words]).unwrap().notices, []);
    }
}
