use super::*;

fn page() -> String {
    text(&help_page(&pass(&["--help"]).unwrap().registry))
}

#[test]
fn the_page_has_the_parts_of_sysbench_in_its_order() {
    let page = page();
    let mut rest = page.as_str();
    for part in [
        "Usage:\n  sysbench [options]... [testname] [command]\n\n",
        "Commands implemented by most tests: prepare run cleanup help\n\nGeneral options:\n  \
         --threads=N  ",
        "\n\nPseudo-Random Numbers Generator options:\n  --rand-type=STRING ",
        "\n\nLog options:\n  --verbosity=N ",
        "\n\n  --percentile=N       ",
        "\n  --histogram[=on|off] ",
        "\n\nGeneral database options:\n\n  --db-driver=STRING  ",
        "\n\n\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL \
         driver\n\nmysql options:\n",
        "\n\npgsql options:\n  --pgsql-host=STRING     ",
        "\n\ntruetps options (",
        "\n\nCompiled-in tests:\n  cpu - a few prime numbers: for trying options\n\n",
        "See 'sysbench <testname> help' for a list of options for each test.\n\n",
    ] {
        let (before, after) =
            rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is not in its place"));
        assert!(part.starts_with('\n') || before.is_empty() || before.ends_with('\n'));
        rest = after;
    }
    assert_eq!(rest, "");
}

#[test]
fn descriptions_stand_in_a_column_and_defaults_behind_them() {
    let page = page();
    let general: Vec<_> = page
        .split_once("General options:\n")
        .unwrap()
        .1
        .split("\n\n")
        .next()
        .unwrap()
        .lines()
        .collect();
    // The longest head is `  --report-checkpoints=[LIST,...]`.
    for line in &general {
        assert!(
            line.starts_with("  --") && &line[33..34] == " " && &line[34..35] != " ",
            "{line:?}"
        );
    }
    let line =
        |start: &str| page.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
    assert!(line("--threads=N ").ends_with(" [1]"));
    assert!(line("--mysql-password=STRING").ends_with(" []"));
    assert!(!line("--mysql-socket=[LIST,...]").ends_with(']'));
    assert!(!line("--config-file=FILENAME").ends_with(']'));
    assert!(line("--rand-type=STRING").ends_with(" [special]"));
    assert!(line("--mysql-ssl[=on|off]").ends_with(" [off]"));
    assert!(line("--thread-stack-size=SIZE").ends_with(" [64K]"));
    assert!(page.lines().all(|line| line == line.trim_end()));
}

#[test]
fn options_of_a_script_are_listed_by_name() {
    let mut pass = pass(&[]).unwrap();
    for spec in each_kind() {
        pass.declare(spec);
    }
    pass.declare(OptionSpec::new("threads", "", Some(b"8"), OptionType::Double));
    let expected = "  --a_b-c=N      a_b-c text [1]
  --b[=on|off]   b text [on]
  --d=N          d text [1.5]
  --f=FILENAME   f text []
  --i=N          i text [7]
  --l=[LIST,...] l text [a,b]
  --n=STRING     n text
  --s=STRING     s text [x]
  --sz=SIZE      sz text [1K]
  --threads=N     [8]

";
    assert_eq!(text(&test_help(&pass.registry, b"o.lua")), format!("o.lua options:\n{expected}"));
    assert_eq!(print_test_options(&[]), b"\n");
}

#[test]
fn the_version_is_in_the_second_word() {
    assert_eq!(version_line(SysbenchRelease::V1_0), "sysbench 1.0.20\n");
    assert_eq!(version_line(SysbenchRelease::V1_1).trim_end().split(' ').nth(1), Some("1.1.0"));
}
