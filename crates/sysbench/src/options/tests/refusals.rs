use super::*;

/// Words, stream and text of the refusal; every one of these was seen to leave with exit status 1.
fn assert_refused(
    refused: impl Fn(&[&str]) -> Option<OptionRefusal>,
    table: &[(&[&str], OutputStream, &str)],
) {
    for (words, stream, expected) in table {
        let refusal = refused(words).unwrap_or_else(|| panic!("{words:?} is taken"));
        assert_eq!(
            (text(&refusal.text).as_str(), refusal.stream, refusal.exit),
            (*expected, *stream, 1),
            "{words:?}"
        );
    }
}

#[test]
fn wrong_values_of_general_options_are_refused_before_the_script_is_read() {
    use OutputStream::{Stderr, Stdout};
    let table: &[(&[&str], OutputStream, &str)] = &[
        (&["--threads=x"], Stderr, "Invalid value for the 'threads' option: 'x'\n"),
        (&["--threads=5 "], Stderr, "Invalid value for the 'threads' option: '5 '\n"),
        (&["--threads=0x10"], Stderr, "Invalid value for the 'threads' option: '0x10'\n"),
        (
            &["--threads=99999999999999"],
            Stderr,
            "Invalid value for the 'threads' option: '99999999999999'\n",
        ),
        (&["--num_threads=x"], Stderr, "Invalid value for the 'num_threads' option: 'x'\n"),
        (&["--rand-seed=x"], Stderr, "Invalid value for the 'rand_seed' option: 'x'\n"),
        (&["--rand-spec-iter=x"], Stderr, "Invalid value for the 'rand_spec_iter' option: 'x'\n"),
        (&["--report-interval=x"], Stderr, "Invalid value for the 'report_interval' option: 'x'\n"),
        (&["--rate=1.5"], Stderr, "Invalid value for the 'rate' option: '1.5'\n"),
        (&["--percentile=99.9"], Stderr, "Invalid value for the 'percentile' option: '99.9'\n"),
        (&["--verbosity=x"], Stderr, "Invalid value for the 'verbosity' option: 'x'\n"),
        (&["--threads=0"], Stdout, "FATAL: Invalid value for --threads: 0.\n\n"),
        (&["--threads="], Stdout, "FATAL: Invalid value for --threads: 0.\n\n"),
        (&["--threads"], Stdout, "FATAL: Invalid value for --threads: 0.\n\n"),
        (&["--threads=2", "--threads"], Stdout, "FATAL: Invalid value for --threads: 0.\n\n"),
        (&["--thread-stack-size=x"], Stdout, "FATAL: Invalid value for thread-stack-size: 0.\n\n"),
        (&["--thread-stack-size=-1"], Stdout, "FATAL: Invalid value for thread-stack-size: 0.\n\n"),
        (&["--warmup-time=-1"], Stdout, "FATAL: Invalid value for --warmup-time: -1.\n\n"),
        (&["--percentile=101"], Stdout, "FATAL: Invalid value for --percentile: 101\n"),
        (&["--percentile=-1"], Stdout, "FATAL: Invalid value for --percentile: -1\n"),
        (
            &["--histogram", "--percentile=0"],
            Stdout,
            "FATAL: --histogram cannot be used with --percentile=0\n",
        ),
        (&["--verbosity=6"], Stdout, "Invalid value for verbosity: 6\n"),
        (&["--rand-type=x"], Stdout, "FATAL: Invalid random numbers distribution: x.\n"),
        (&["--forced-shutdown=x"], Stdout, "FATAL: Invalid value for --forced-shutdown: 'x'\n"),
        (
            &["--report-checkpoints=1,x"],
            Stdout,
            "FATAL: Invalid value for --report-checkpoints: 'x'\n",
        ),
        (&["a", "b", "c"], Stderr, "Unrecognized command line argument: c\n"),
    ];
    assert_refused(|words| pass(words).err(), table);
}

#[test]
fn of_several_wrong_values_the_one_that_sysbench_meets_first_is_reported() {
    let table = [
        ("--rate=x --threads=y", "'threads'"),
        ("--threads=0 --rate=x", "--threads: 0"),
        ("--events=x --time=y", "'events'"),
        ("--rate=x --time=y", "'time'"),
        ("--time=x --forced-shutdown=y", "'time'"),
        ("--rate=x --forced-shutdown=y", "--forced-shutdown"),
        ("--thread-stack-size=x --forced-shutdown=y", "--forced-shutdown"),
        ("--rate=x --report-interval=y", "'rate'"),
        ("--rand-type=x --thread-stack-size=y", "thread-stack-size"),
        ("--rand-type=y --rand-seed=x", "distribution: y"),
        ("--rand-seed=x --rand-spec-iter=y", "'rand_seed'"),
        ("--report-interval=x --report-checkpoints=y", "'report_interval'"),
        ("--report-checkpoints=x --rand-type=y", "distribution: y"),
        ("--report-checkpoints=x --percentile=200", "--report-checkpoints"),
        ("--verbosity=9 --report-checkpoints=y", "--report-checkpoints"),
        ("--verbosity=9 --percentile=x", "verbosity: 9"),
    ];
    for (words, part) in table {
        let words: Vec<_> = words.split(' ').collect();
        let told = pass(&words).unwrap_err().to_string();
        assert!(told.contains(part), "{words:?}: {told}");
    }
}

#[test]
fn unknown_names_and_wrong_values_of_the_rest_are_refused_after_the_script_is_read() {
    use OutputStream::Stderr;
    let table: &[(&[&str], OutputStream, &str)] = &[
        (&["--nope"], Stderr, "invalid option: --nope\n"),
        (&["--nope="], Stderr, "invalid option: --nope=\n"),
        (&["--no-pe_x=1=2"], Stderr, "invalid option: --no-pe_x=1=2\n"),
        (&["--"], Stderr, "invalid option: --\n"),
        (&["--=3"], Stderr, "invalid option: --=3\n"),
        (&["--nope1", "--nope2"], Stderr, "invalid option: --nope1\n"),
        (&["--i=x", "--nope"], Stderr, "invalid option: --nope\n"),
        (&["--i=x", "--b=y"], Stderr, "invalid option: --b=y\n"),
        (&["--debug=x", "--nope"], Stderr, "invalid option: --debug=x\n"),
        (&["--nope", "--debug=x"], Stderr, "invalid option: --nope\n"),
        (&["--debug="], Stderr, "invalid option: --debug=\n"),
        (&["--help=x"], Stderr, "invalid option: --help=x\n"),
        (&["--version=TRUE"], Stderr, "invalid option: --version=TRUE\n"),
        (&["--db-debug=x"], Stderr, "invalid option: --db-debug=x\n"),
        (&["--mysql-ssl=x"], Stderr, "invalid option: --mysql-ssl=x\n"),
        (&["--pgsql-port=x"], Stderr, "Invalid value for the 'pgsql_port' option: 'x'\n"),
        (&["--i=x", "--pgsql-port=y"], Stderr, "Invalid value for the 'pgsql_port' option: 'y'\n"),
        (&["--i=4294967296"], Stderr, "Invalid value for the 'i' option: '4294967296'\n"),
    ];
    assert_refused(|words| options(words, &each_kind()).err(), table);
    for (words, ..) in table {
        assert!(pass(words).is_ok(), "{words:?} is no matter of the first pass");
    }
}

#[test]
fn wrong_values_of_a_script_are_reported_in_the_order_of_names() {
    let specs = [
        spec("z", OptionType::Int, None),
        spec("y", OptionType::Int, None),
        spec("a-b", OptionType::Int, Some("1")),
    ];
    let told = |words: &[&str]| options(words, &specs).unwrap_err().to_string();
    assert_eq!(told(&["--z=p", "--y=q", "--a-b=r"]), "Invalid value for the 'a_b' option: 'r'");
    assert_eq!(told(&["--z=p", "--y=q"]), "Invalid value for the 'y' option: 'q'");
    let wrong = [spec("ii", OptionType::Int, Some("abc"))];
    assert_eq!(
        options(&[], &wrong).unwrap_err().to_string(),
        "Invalid value for the 'ii' option: 'abc'"
    );
    let wrong = [spec("bb", OptionType::Bool, Some("abc"))];
    assert_eq!(options(&[], &wrong).unwrap_err().to_string(), "invalid option: --bb=abc");
}

#[test]
fn names_can_be_checked_before_values_are() {
    // `<script> help`, and a command that is not there, come between the two.
    let mut first = pass(&["--i=x"]).unwrap();
    first.declare(spec("i", OptionType::Int, None));
    assert_eq!(first.check_names(true), Ok(()));
    assert!(first.clone().finish(true).is_err());
    assert!(pass(&["--i=x"]).unwrap().check_names(true).is_err());
}

#[test]
fn warnings_are_printed_before_the_refusal() {
    let refusal =
        pass(&["--test=a", "--max-requests=5", "--num-threads=2", "--percentile=200"]).unwrap_err();
    assert_eq!(
        said(&refusal.notices),
        [
            "WARNING: the --test option is deprecated. You can pass a script name or path on the \
             command line without any options.\n",
            "WARNING: --num-threads is deprecated, use --threads instead\n",
            "WARNING: --max-requests is deprecated, use --events instead\n",
        ]
    );
    assert_eq!(
        refusal.notices.iter().map(|one| one.stream).collect::<Vec<_>>(),
        [OutputStream::Stderr, OutputStream::Stdout, OutputStream::Stdout]
    );
}

#[test]
fn help_and_version_go_before_every_value() {
    for (words, wish) in [
        (&["--help"][..], FirstRequest::Help),
        (&["--help=on", "--threads=x"], FirstRequest::Help),
        (&["--version", "--help", "--percentile=200"], FirstRequest::Help),
        (&["a", "b", "--help=1", "--nope"], FirstRequest::Help),
        (&["--version", "--verbosity=9"], FirstRequest::Version),
        (&["--version=off", "--version"], FirstRequest::Version),
        (&["--version", "--version=off"], FirstRequest::Script),
        (&["--help=x"], FirstRequest::Script),
        (&["-h"], FirstRequest::Script),
        (&["--he"], FirstRequest::Script),
        (&[], FirstRequest::Script),
    ] {
        let pass = pass(words).unwrap();
        assert_eq!(pass.wish, wish, "{words:?}");
        assert_eq!(pass.settings.is_some(), wish == FirstRequest::Script);
    }
    assert!(pass(&["--help", "a", "b", "c"]).is_err());
}

#[test]
fn a_test_that_is_built_in_needs_a_command() {
    let preliminary = |words: &[&str]| pass(words).unwrap().preliminary();
    let refusal = preliminary(&["cpu", "--threads=2"]).unwrap_err();
    assert_eq!((refusal.stream, refusal.exit), (OutputStream::Stderr, 1));
    assert_eq!(
        text(&refusal.text),
        "the test 'cpu' needs a command, such as run: sysbench cpu run\n"
    );
    for words in [&["cpu", "run"][..], &["cpu.lua"], &[]] {
        assert!(preliminary(words).is_ok(), "{words:?}");
    }
}
