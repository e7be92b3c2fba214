//! Command lines beside an installed `sysbench`, if there is one: refusals and every exported value.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use super::*;

/// What 1.0.20 does not have.
const NOT_IN_1_0: [&str; 9] = [
    "warmup_time",
    "thread_init_timeout",
    "luajit_cmd",
    "rand_zipfian_exp",
    "mysql_ssl_key",
    "mysql_ssl_ca",
    "mysql_ssl_cert",
    "mysql_compression_algorithms",
    "pgsql_sslmode",
];

/// Prints every option that the script is given.
const PRINT: &str = r#"
sysbench.cmdline.commands = { cmd = { function()
  for name, value in pairs(sysbench.opt) do
    local shown = tostring(value)
    if type(value) == "number" then shown = string.format("%.17g", value) end
    if type(value) == "table" then shown = table.concat(value, "|") end
    io.write("@", name, " ", type(value), " ", shown, "\n")
  end
end } }
"#;

const DECLARE: &str = r#"
local c = sysbench.cmdline
c.options = {
  i = {"i text", 7, c.ARG_INT},
  sz = {"sz text", "1K", c.ARG_SIZE},
  d = {"d text", 1.5},
  s = {"s text", "x"},
  n = {"n text"},
  b = {"b text", true},
  l = {"l text", {"a", "b"}},
  f = {"f text", "", c.ARG_FILE},
  ["a_b-c"] = {"a_b-c text", 1},
}
"#;

struct Answer {
    exit: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// None where there is no sysbench 1.0.20.
struct Sysbench(tempfile::TempDir);

impl Sysbench {
    fn find() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("new.lua"), format!("{DECLARE}{PRINT}")).unwrap();
        std::fs::write(folder.path().join("old.lua"), PRINT).unwrap();
        let found = Self(folder);
        let version = found.run(&[b"--version".to_vec()])?;
        if version.stdout == b"sysbench 1.0.20\n" {
            return Some(found);
        }
        None
    }

    #[expect(clippy::disallowed_methods, reason = "a test of what another program says")]
    fn run(&self, words: &[Vec<u8>]) -> Option<Answer> {
        let words = words.iter().map(|word| std::ffi::OsStr::from_bytes(word));
        let output = Command::new("sysbench")
            .args(words)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .output()
            .ok()?;
        Some(Answer { exit: output.status.code(), stdout: output.stdout, stderr: output.stderr })
    }
}

/// The output and exit status of truetps, with lines for its values in the script's format.
fn ours(words: &[Vec<u8>], is_new: bool) -> Answer {
    let pass = match TestEnv::default().pass_bytes(words) {
        Ok(pass) => pass,
        Err(refusal) => return refused(&[], &refusal),
    };
    let mut pass = pass;
    if is_new {
        for spec in each_kind() {
            pass.declare(spec);
        }
    }
    let notices = pass.notices.clone();
    match pass.finish(is_new) {
        Err(refusal) => refused(&notices, &refusal),
        Ok(options) => {
            let mut answer = Answer { exit: Some(0), stdout: Vec::new(), stderr: Vec::new() };
            say(&mut answer, &notices);
            for (name, value) in options.export() {
                answer.stdout.extend(shown(name, &value));
            }
            answer
        }
    }
}

fn refused(before: &[Notice], refusal: &OptionRefusal) -> Answer {
    let mut answer =
        Answer { exit: Some(refusal.exit.into()), stdout: Vec::new(), stderr: Vec::new() };
    say(&mut answer, before);
    say(&mut answer, &refusal.notices);
    say(&mut answer, &[Notice { text: refusal.text.clone(), stream: refusal.stream }]);
    answer
}

fn say(answer: &mut Answer, notices: &[Notice]) {
    for notice in notices {
        match notice.stream {
            OutputStream::Stdout => answer.stdout.extend(&notice.text),
            OutputStream::Stderr => answer.stderr.extend(&notice.text),
        }
    }
}

fn shown(name: &[u8], value: &OptionValue) -> Vec<u8> {
    let (kind, text) = match value {
        OptionValue::Bool(on) => ("boolean", on.to_string().into_bytes()),
        OptionValue::Number(number) => ("number", number.to_string().into_bytes()),
        OptionValue::Text(text) => ("string", text.clone()),
        OptionValue::List(parts) => ("table", parts.join(&b'|')),
        OptionValue::Nil => return Vec::new(),
    };
    [b"@", name, b" ", kind.as_bytes(), b" ", &text, b"\n"].concat()
}

/// Lines of values by name, and the rest: without the line with the version, which others print.
fn apart(stdout: &[u8]) -> (BTreeMap<String, String>, String) {
    let (mut values, mut rest) = (BTreeMap::new(), String::new());
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        let line = text(line);
        match line.strip_prefix('@').and_then(|line| line.split_once(' ')) {
            Some((name, _)) if NOT_IN_1_0.contains(&name) => {}
            Some((name, value)) => _ = values.insert(name.to_owned(), normal(value)),
            None if line.starts_with("sysbench 1.0.20 (") => rest.push_str("VERSION"),
            None => rest.push_str(&line),
        }
    }
    (values, rest.replace("VERSION\n", ""))
}

/// Numbers by their value, as two libraries write them.
fn normal(value: &str) -> String {
    let number = value.strip_prefix("number ").and_then(|number| number.trim().parse::<f64>().ok());
    number.map_or_else(
        || value.to_owned(),
        |number| format!("number {number:?}").replace("-NaN", "NaN"),
    )
}

#[test]
fn ours_says_what_sysbench_says() {
    let Some(sysbench) = Sysbench::find() else {
        // Not installed: the tables of the other tests contain its observed output.
        _ = writeln!(std::io::stderr(), "SKIPPED: there is no sysbench 1.0.20 to compare with");
        return;
    };
    let mut differences = Vec::new();
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        let words: Vec<Vec<u8>> =
            line.split(' ').map(|word| word.replace('~', " ").into_bytes()).collect();
        compare(&sysbench, &words, &mut differences);
    }
    for word in [&b"--s=a\xff\xfeb"[..], b"--x\xff=\xfe"] {
        compare(
            &sysbench,
            &[b"new.lua".to_vec(), b"cmd".to_vec(), word.to_vec()],
            &mut differences,
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn ours_lists_options_as_sysbench_does() {
    let Some(sysbench) = Sysbench::find() else { return };
    let theirs = sysbench.run(&[b"new.lua".to_vec(), b"help".to_vec()]).unwrap();
    let mut pass = pass(&[]).unwrap();
    for spec in each_kind() {
        pass.declare(spec);
    }
    let (_, listed) = apart(&theirs.stdout);
    assert_eq!(listed, text(&test_help(&pass.registry, b"new.lua")));
}

fn compare(sysbench: &Sysbench, words: &[Vec<u8>], differences: &mut Vec<String>) {
    let theirs = sysbench.run(words).unwrap();
    let ours = ours(words, words[0] == b"new.lua");
    let (their_values, their_text) = apart(&theirs.stdout);
    let (our_values, our_text) = apart(&ours.stdout);
    let shown: Vec<_> = words.iter().map(|word| text(word)).collect();
    let mut differ = |what: &str, theirs: &dyn std::fmt::Debug, ours: &dyn std::fmt::Debug| {
        differences.push(format!("{shown:?}: {what}: {theirs:?}, ours {ours:?}"));
    };
    if theirs.exit != ours.exit {
        differ("exit", &theirs.exit, &ours.exit);
    }
    if theirs.stderr != ours.stderr {
        differ("stderr", &text(&theirs.stderr), &text(&ours.stderr));
    }
    if their_text != our_text {
        differ("stdout", &their_text, &our_text);
    }
    for name in their_values.keys().chain(our_values.keys()) {
        if their_values.get(name) != our_values.get(name) {
            differ(name, &their_values.get(name), &our_values.get(name));
        }
    }
}

/// A command line in each line; `~` is a blank inside a word.
const LINES: &str = "
new.lua cmd
old.lua cmd
new.lua cmd --threads=x
new.lua cmd --threads=
new.lua cmd --threads
new.lua cmd --threads=0
new.lua cmd --threads=0x10
new.lua cmd --threads=010
new.lua cmd --threads=~5
new.lua cmd --threads=5~
new.lua cmd --threads=+3
new.lua cmd --threads=1.5
new.lua cmd --threads=2 --threads=3
new.lua cmd --threads=2 --threads
new.lua cmd --threads=x --threads=2
new.lua cmd --threads=99999999999999
new.lua cmd --time=0
new.lua cmd --time=
new.lua cmd --time=0 --events=5
new.lua cmd --time=0 --percentile=200
new.lua cmd --time=0 --forced-shutdown=x
new.lua cmd --debug
new.lua cmd --debug=x
new.lua cmd --debug=ON
new.lua cmd --debug=
new.lua cmd --debug=x --debug=on
new.lua cmd --validate=1 --histogram=true
new.lua cmd --thread-stack-size=x
new.lua cmd --thread-stack-size=64Kb
new.lua cmd --thread-stack-size=1.5K
new.lua cmd --percentile=0 --histogram
new.lua cmd --percentile=101
new.lua cmd --percentile=-1
new.lua cmd --percentile=x
new.lua cmd --percentile=
new.lua cmd --verbosity=6
new.lua cmd --verbosity=x
new.lua cmd --rand-type=x
new.lua cmd --rand-type=uniform --rand-seed=-1 --rand-pareto-h=x
new.lua cmd --rand-seed=x
new.lua cmd --rand-spec-iter=x
new.lua cmd --report-interval=x
new.lua cmd --report-checkpoints=x
new.lua cmd --report-checkpoints=2,1
new.lua cmd --report-checkpoints=-1
new.lua cmd --report-checkpoints
new.lua cmd --forced-shutdown=x
new.lua cmd --forced-shutdown=
new.lua cmd --forced-shutdown
new.lua cmd --forced-shutdown=5s
new.lua cmd --forced-shutdown=5%%
new.lua cmd --forced-shutdown=OFF
new.lua cmd --rate=x
new.lua cmd --rate=1.5
new.lua cmd --config-file=
new.lua cmd --config-file=nope
new.lua cmd --help=off --version=off
new.lua cmd --help=x
new.lua cmd --version=TRUE
new.lua cmd --nope
new.lua cmd --nope=
new.lua cmd --no-pe_x=1=2
new.lua cmd --
new.lua cmd --=3
new.lua cmd -h
new.lua cmd -
new.lua cmd --nope 3
new.lua cmd --i=x --nope
new.lua cmd --i=x --b=y
new.lua cmd --b=y --i=x
new.lua cmd --i=x --pgsql-port=y
new.lua cmd --i=x
new.lua cmd --i=
new.lua cmd --i
new.lua cmd --i=2147483647
new.lua cmd --i=2147483648
new.lua cmd --i=-2147483648
new.lua cmd --i=-2147483649
new.lua cmd --i=+
new.lua cmd --i=-~5
new.lua cmd --i=~-5
new.lua cmd --i=~
new.lua cmd --sz=x
new.lua cmd --sz=2T
new.lua cmd --sz=2g
new.lua cmd --sz=1KK
new.lua cmd --sz=5X
new.lua cmd --sz=-3
new.lua cmd --sz=~5
new.lua cmd --d=0x10
new.lua cmd --d=0x1.8p3
new.lua cmd --d=1e
new.lua cmd --d=1,5
new.lua cmd --d=.5
new.lua cmd --d=.
new.lua cmd --d=-x
new.lua cmd --d=~-2e-3z
new.lua cmd --d=inf
new.lua cmd --d=-INFINITY
new.lua cmd --d=nan
new.lua cmd --d=1e999
new.lua cmd --b
new.lua cmd --b=0
new.lua cmd --b=On
new.lua cmd --l=
new.lua cmd --l=,a,,b,
new.lua cmd --l=a,~b
new.lua cmd --l=x --l=y
new.lua cmd --s= --n=a=b
new.lua cmd --s --n
new.lua cmd --a-b-c=5
new.lua cmd --a_b_c=x
new.lua cmd --db-debug=x
new.lua cmd --db-ps-mode=x --db-driver=y
new.lua cmd --mysql-ssl
new.lua cmd --mysql-port=x --mysql-host=a,b
new.lua cmd --pgsql-port=x
new.lua cmd --num-threads=2 --max-time=3 --max-requests=4 --tx-rate=5
new.lua cmd --num-threads=1 --max-time=0
new.lua cmd --num-threads=x
new.lua cmd --num_threads=2 --threads=x
new.lua cmd --max-time=1 --time=0
new.lua cmd --max-time=-2
new.lua cmd --max-requests=-2
new.lua cmd --b=x --b=on
new.lua cmd --nope --debug=x --debug
old.lua cmd --zed=1 --zot --zif= --zed=2
old.lua cmd --z-a_b=3 --=5 --
old.lua cmd --debug=x
old.lua cmd --pgsql-port=x
old.lua cmd --nope 3
old.lua cmd --i=x
old.lua cmd --threads=4 --num-threads=3
";
