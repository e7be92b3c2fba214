use super::*;

#[test]
fn a_script_without_options_gets_what_was_typed_as_texts() {
    let words =
        ["n.lua", "cmd", "--zed=1", "--zot", "--z-a_b=3", "--zed=2", "--=5", "--", "--threads=4"];
    let options = old_options(&words).unwrap();
    let text_of = |name| options.bytes(name).map(text);
    assert_eq!(text_of("zed").as_deref(), Some("2"));
    assert_eq!((text_of("zot").as_deref(), text_of("z_a_b").as_deref()), (Some(""), Some("3")));
    assert_eq!(options.int("threads"), Some(4));
    assert!(options.export().any(|(name, _)| name == b"z_a_b"));
    assert_eq!(old_options(&["--debug=x"]).unwrap_err().to_string(), "invalid option: --debug=x");
}

#[test]
fn unknown_options_are_refused_by_1_1_and_beside_an_empty_table() {
    assert_eq!(
        old_options(&["--compat=1.1", "--zed=1"]).unwrap_err().to_string(),
        "invalid option: --zed=1"
    );
    assert_eq!(options(&["--zed=1"], &[]).unwrap_err().to_string(), "invalid option: --zed=1");
}

#[test]
fn the_user_goes_before_the_default_of_a_script() {
    let specs = [
        spec("threads", OptionType::Double, Some("8")),
        spec("time", OptionType::String, Some("5")),
        spec("mysql_db", OptionType::String, Some("foo")),
        spec("rate", OptionType::Int, Some("7")),
    ];
    let options = options(&["--rate=9", "--mysql-db=bar"], &specs).unwrap();
    assert_eq!((options.settings.threads, options.int("threads")), (8, Some(8)));
    assert_eq!(options.settings.time.unwrap().as_secs(), 5);
    assert_eq!(options.bytes("time"), Some(&b"5"[..]), "the type is the script's");
    assert_eq!((options.settings.rate, options.int("rate")), (Some(9), Some(9)));
    let database = options.mysql().unwrap().login.database;
    assert_eq!((database.as_deref(), options.bytes("mysql-db")), (Some("bar"), Some(&b"bar"[..])));
}

#[test]
fn defaults_of_a_script_are_checked_as_what_is_typed() {
    let told = |name: &str, kind, default| {
        options(&[], &[spec(name, kind, Some(default))]).unwrap_err().to_string()
    };
    assert_eq!(told("threads", OptionType::Int, "0"), "FATAL: Invalid value for --threads: 0.");
    assert_eq!(
        told("time", OptionType::String, "long"),
        "Invalid value for the 'time' option: 'long'"
    );
    let options = options(&[], &[spec("time", OptionType::Int, Some("0"))]).unwrap();
    assert_eq!(
        said(&options.notices),
        ["WARNING: Both event and time limits are disabled, running an endless test\n"]
    );
}

#[test]
fn a_script_may_take_our_names() {
    let mut pass =
        pass(&["--report-format=yaml", "--workers=many", "--runs=none", "--percentiles=50"])
            .unwrap();
    assert_eq!(
        pass.settings.as_ref().unwrap().ours.percentiles,
        [50.0],
        "one that is wrong leaves the others"
    );
    assert!(pass.preliminary().is_ok(), "the script's body runs before its names are known");
    for (name, kind, default, hidden) in [
        ("report-format", OptionType::String, Some("csv"), Some(OptionGroup::Ours)),
        ("workers", OptionType::String, None, Some(OptionGroup::Ours)),
        ("threads", OptionType::Int, None, Some(OptionGroup::General)),
        ("mine", OptionType::Int, None, None),
    ] {
        pass.declare(spec(name, kind, default));
        let declared = pass.registry.get(name.as_bytes()).unwrap();
        assert_eq!(declared.hidden.as_ref().map(|(group, _)| *group), hidden, "{name}");
    }
    pass.declare(spec("threads", OptionType::Int, Some("1")));
    let options = pass.finish(true).unwrap();
    assert_eq!(
        (options.bytes("report-format"), options.bytes("workers")),
        (Some(&b"yaml"[..]), Some(&b"many"[..]))
    );
    let ours = &options.settings.ours;
    assert_eq!(
        (ours.format, ours.workers, ours.runs.as_deref()),
        (SysbenchFormat::Text, None, None)
    );
    assert_eq!(
        options.redeclared_options().map(|spec| text(&spec.name)).collect::<Vec<_>>(),
        ["workers", "report-format"]
    );
    assert!(options.export().any(|(name, _)| name == b"report_format"));
}

#[test]
fn a_script_without_options_sees_our_options_only_where_they_were_typed() {
    let options = old_options(&["--report-format=json"]).unwrap();
    let ours: Vec<_> = options
        .export()
        .filter(|(name, _)| [&b"report_format"[..], b"runs"].contains(name))
        .collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(
        (text(ours[0].0), ours[0].1.as_ref()),
        ("report_format".to_owned(), &OptionValue::Text(b"json".to_vec()))
    );
    assert_eq!(options.settings.ours.format, SysbenchFormat::Json);
    assert!(
        !super::options(&["--report-format=json"], &[])
            .unwrap()
            .export()
            .any(|(name, _)| name == b"report_format")
    );
}
