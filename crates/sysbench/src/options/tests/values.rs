use std::time::Duration;

use super::*;
use crate::rand::{DistributionName, Parameters};

#[test]
fn defaults_match_sysbench() {
    let settings = settings_of(&[]);
    let RunSettings {
        threads, events, time, warmup, forced_shutdown, rate, report_interval, ..
    } = settings;
    assert_eq!((threads, events, time), (1, None, Some(Duration::from_secs(10))));
    assert_eq!(
        (warmup, forced_shutdown, rate, report_interval),
        (Duration::ZERO, None, None, None)
    );
    assert_eq!(settings.thread_init_timeout.as_secs(), 30);
    assert_eq!((settings.percentile, settings.histogram, settings.verbosity), (Some(95), false, 3));
    assert_eq!(
        (settings.debug, settings.validate, settings.luajit_cmd),
        (false, false, Vec::new())
    );
    let parameters = Parameters { iter: 12, pct: 1, res: 75, pareto_h: 0.2, zipfian_exp: 0.8 };
    let rand = RandSettings { kind: DistributionName::Special, seed: None, parameters };
    assert_eq!(settings.rand, rand);
}

#[test]
fn settings_are_what_was_typed() {
    let all = settings_of(&[
        "--threads=8",
        "--events=100",
        "--time=20",
        "--warmup_time=3",
        "--forced-shutdown",
        "--rate=50",
        "--report-interval=0.5",
        "--report-checkpoints=9,3",
        "--validate",
        "--percentile=",
        "--luajit-cmd=off",
        "--rand-type=zipfian",
        "--rand-seed=-3",
        "--rand-pareto-h=x",
        "--thread-init-timeout=5",
    ]);
    assert_eq!((all.threads, all.events, all.time), (8, Some(100), Some(Duration::from_secs(20))));
    assert_eq!((all.warmup.as_secs(), all.forced_shutdown), (3, Some(Duration::from_secs(21))));
    assert_eq!((all.rate, all.report_interval), (Some(50), Some(Duration::from_millis(500))));
    assert_eq!((all.checkpoints, all.validate, all.percentile), (vec![3, 9], true, None));
    assert_eq!((all.luajit_cmd.as_slice(), all.thread_init_timeout.as_secs()), (&b"off"[..], 5));
    assert_eq!(
        (all.rand.kind, all.rand.seed, all.rand.parameters.pareto_h),
        (DistributionName::Zipfian, Some(-3), 0.0)
    );
    for name in ["uniform", "gaussian", "special", "pareto"] {
        let kind = format!("{:?}", settings_of(&[&format!("--rand-type={name}")]).rand.kind);
        assert_eq!(kind.to_lowercase(), name);
    }
}

#[test]
fn negative_limits_are_none_and_no_limit_is_warned_of() {
    let warning = "WARNING: Both event and time limits are disabled, running an endless test\n";
    for (words, warned) in [
        (&["--time=0"][..], true),
        (&["--time="], true),
        (&["--time=-1"], true),
        (&["--time=0", "--events=5"], false),
        (&["--events=-1"], false),
        (&["--max-time=0", "--max-requests=0"], false),
        (&["--max-time=1", "--time=0"], false),
    ] {
        let notices = said(&pass(words).unwrap().notices);
        assert_eq!(notices.contains(&warning.to_owned()), warned, "{words:?}: {notices:?}");
    }
    assert_eq!(settings_of(&["--time=-5", "--events=-1"]).events, None);
    assert_eq!(settings_of(&["--time=-5"]).time, None);
    // Nothing to count from, so that it is not looked at.
    assert_eq!(settings_of(&["--time=0", "--forced-shutdown=x"]).forced_shutdown, None);
}

#[test]
fn impossible_numbers_are_refused() {
    // sysbench takes these, and fails later or makes no sense of them.
    for words in [
        "--threads=-1",
        "--threads=1000001",
        "--num-threads=-2",
        "--rate=-1",
        "--report-interval=-1",
        "--report-interval=0.001",
        "--report-interval=1e99",
        "--report-interval=nan",
        "--thread-init-timeout=0",
        "--verbosity=-1",
        "--rand-type=",
    ] {
        assert!(pass(&[words]).is_err(), "{words}");
    }
    assert_eq!(settings_of(&["--threads=1000000"]).threads, 1_000_000);
    assert_eq!(
        settings_of(&["--report-interval=0.01"]).report_interval,
        Some(Duration::from_millis(10))
    );
}

#[test]
fn old_names_still_work() {
    let told = |words: &[&str]| said(&pass(words).unwrap().notices);
    let all = &["--tx-rate=5", "--max-time=2", "--max-requests=3", "--num-threads=4"];
    assert_eq!(
        told(all),
        [
            "WARNING: --num-threads is deprecated, use --threads instead\n",
            "WARNING: --max-requests is deprecated, use --events instead\n",
            "WARNING: --max-time is deprecated, use --time instead\n",
            "WARNING: --tx-rate is deprecated, use --rate instead\n",
        ]
    );
    let RunSettings { threads, events, time, rate, .. } = settings_of(all);
    assert_eq!((threads, events, time, rate), (4, Some(3), Some(Duration::from_secs(2)), Some(5)));
    // The old name goes first, and the value of the new one is not looked at then.
    assert_eq!(settings_of(&["--num-threads=2", "--threads=0"]).threads, 2);
    assert_eq!(settings_of(&["--num-threads=2", "--threads=3"]).threads, 2);
    // These are as if they were not there.
    for words in
        [&["--num-threads=1"][..], &["--num-threads="], &["--num-threads=0"], &["--max-time=-2"]]
    {
        assert_eq!(told(words), Vec::<String>::new(), "{words:?}");
    }
    assert_eq!(settings_of(&["--num-threads=1", "--threads=3"]).threads, 3);
    // 1.1 has none of them; ours has, as nothing else has these names.
    assert_eq!(settings_of(&["--compat=1.1", "--num-threads=2"]).threads, 2);
}

#[test]
fn scripts_see_what_is_in_force() {
    let options = options(&["--num-threads=2", "--max-time=5", "--debug"], &[]).unwrap();
    let number = |name| options.int(name).unwrap();
    assert_eq!(
        (number("threads"), number("num_threads"), number("time"), number("max_time")),
        (2, 2, 5, 5)
    );
    assert_eq!((number("verbosity"), options.settings.verbosity), (5, 5));
    assert_eq!(options.notices, [], "they were printed before");
}

#[test]
fn each_type_is_read_and_exported() {
    let words = [
        "--i=5",
        "--sz=3M",
        "--d=0x10",
        "--s=",
        "--n=foo",
        "--b=off",
        "--l=1,2,,3",
        "--f=zzz",
        "--a-b_c=9",
    ];
    let options = options(&words, &each_kind()).unwrap();
    assert_eq!(
        (options.int("i"), options.size("sz"), options.double("d")),
        (Some(5), Some(3 << 20), Some(16.0))
    );
    assert_eq!((options.string("n").as_deref(), options.bytes("s")), (Some("foo"), Some(&b""[..])));
    assert_eq!((options.bool("b"), options.double("a-b-c")), (Some(false), Some(9.0)));
    assert_eq!(options.list("l").unwrap(), [b"1".to_vec(), b"2".to_vec(), b"3".to_vec()]);
    assert_eq!(options.value("f"), Some(&OptionValue::Nil));
    assert_eq!(
        (options.bool("i"), options.int("s"), options.list("s"), options.bytes("l")),
        (None, None, None, None)
    );
    assert_eq!((options.bool("nope"), options.size("s"), options.text("nope")), (None, None, None));
    assert_eq!(options.text("d").as_deref(), Some(&b"0x10"[..]));

    let export: Vec<_> =
        options.export().map(|(name, value)| (text(name), value.into_owned())).collect();
    assert!(export.is_sorted_by_key(|(name, _)| name.clone()));
    let value =
        |name: &str| export.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    assert_eq!(value("a_b_c"), Some(OptionValue::Number(9.0)));
    assert_eq!(value("mysql_host"), Some(OptionValue::List(vec![b"localhost".to_vec()])));
    assert_eq!(value("rand_type"), Some(OptionValue::Text(b"special".to_vec())));
    assert_eq!(value("config_file"), Some(OptionValue::Nil));
    assert_eq!(value("thread_stack_size"), Some(OptionValue::Number(65536.0)));
    assert_eq!(value("workers"), None, "scripts do not see what is ours");
}

#[test]
fn options_without_a_value_are_on_0_or_empty() {
    let options = options(&["--i", "--sz", "--d", "--s", "--b", "--l"], &each_kind()).unwrap();
    assert_eq!(
        (options.int("i"), options.size("sz"), options.double("d")),
        (Some(0), Some(0), Some(0.0))
    );
    assert_eq!(
        (options.bytes("s"), options.bool("b"), options.list("l")),
        (Some(&b""[..]), Some(true), Some(&[][..]))
    );
    // And so is what has no default.
    let kinds = [
        OptionType::Bool,
        OptionType::Int,
        OptionType::Size,
        OptionType::Double,
        OptionType::List,
        OptionType::File,
        OptionType::String,
    ];
    let specs: Vec<_> = kinds.iter().map(|kind| spec(kind.lua_name(), *kind, None)).collect();
    let options = super::options(&[], &specs).unwrap();
    assert_eq!(
        (options.bool("BOOL"), options.int("INT"), options.list("LIST")),
        (Some(true), Some(0), Some(&[][..]))
    );
    assert_eq!(
        (options.bytes("STRING"), options.value("FILE")),
        (Some(&b""[..]), Some(&OptionValue::Nil))
    );
}

#[test]
fn bytes_survive() {
    let words = [
        b"--s=a\xff\xfeb".to_vec(),
        b"--l=\xc3,\xa4".to_vec(),
        [b"--n=".as_slice(), &[b'x'; 5000]].concat(),
    ];
    let mut pass = TestEnv::default().pass_bytes(&words).unwrap();
    for spec in each_kind() {
        pass.declare(spec);
    }
    let options = pass.finish(true).unwrap();
    assert_eq!(options.bytes("s").unwrap(), b"a\xff\xfeb");
    assert_eq!(options.string("s").unwrap(), "a\u{fffd}\u{fffd}b");
    assert_eq!(options.list("l").unwrap(), [b"\xc3".to_vec(), b"\xa4".to_vec()]);
    assert_eq!(options.bytes("n").unwrap().len(), 5000);
    let refusal = TestEnv::default()
        .pass_bytes(&[b"--x\xff=\xfe".to_vec()])
        .unwrap()
        .finish(true)
        .unwrap_err();
    assert_eq!(refusal.text, b"invalid option: --x\xff=\xfe\n");
}

#[test]
fn words_and_the_version_are_there_before_and_after() {
    let pass = pass(&["--compat=1.1", "a.lua", "run"]).unwrap();
    let line = CommandLine {
        argv: ["sysbench", "--compat=1.1", "a.lua", "run"].map(Into::into).to_vec(),
        test: Some("a.lua".into()),
        command: Some("run".into()),
    };
    assert_eq!(
        (&pass.command_line, pass.compat, pass.compat.version()),
        (&line, SysbenchRelease::V1_1, "1.1.0")
    );
    let options = pass.finish(true).unwrap();
    assert_eq!(options.compat, SysbenchRelease::V1_1);
    let threads = options.registry.get(b"threads").unwrap();
    assert_eq!((threads.group, &threads.hidden), (OptionGroup::General, &None));
}

#[test]
fn origins_are_known() {
    let options = options(&["--threads=2", "--config-file=nope"], &each_kind()).unwrap();
    assert!(options.was_typed("threads") && !options.was_typed("i") && !options.was_typed("nope"));
    assert_eq!(
        (options.origin("threads"), options.origin("i")),
        (Origin::CommandLine, Origin::Default)
    );
}

#[test]
fn whatever_is_typed_is_taken_or_refused() {
    let known = Registry::new(SysbenchRelease::V1_0);
    let names: Vec<_> = known.iter().map(|one| text(&one.spec.name)).collect();
    let values = [
        "",
        "x",
        "-1",
        "0",
        "1e308",
        "-2147483648",
        "99999999999999999999T",
        "%",
        "100%",
        ",",
        "\u{e9}",
        "nan",
    ];
    for name in &names {
        for value in values {
            for words in [
                vec![format!("--{name}={value}")],
                vec!["--compat=1.1".into(), format!("--{name}={value}")],
            ] {
                let words: Vec<_> = words.iter().map(String::as_str).collect();
                let Ok(options) = options(&words, &each_kind()) else { continue };
                _ = (
                    options.mysql(),
                    options.pgsql(),
                    options.emulates_prepared(),
                    options.export().count(),
                );
            }
        }
    }
    assert_eq!(OptionType::ALL.len(), usize::from(KIND_MAX));
}
