//! What `truetps sysbench` does beyond sysbench: one document, one address, an end on Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, signal};
use crate::support::{Owned, PASSWORD, assert_secret, run_with_password};

const NAME_OF_DRIVER: &str = "function prepare() print('driver', sysbench.sql.driver():name()) end";
const CONNECT: &str = "
function prepare() print('asked', sysbench.sql.driver():connect():query_row('SELECT 7')) end
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query('SELECT SLEEP(30)') end
function done() print('done') end
";

#[test]
fn a_json_document_is_alone_on_the_standard_output() {
    let place = Place::new();
    let script = "
        ffi.cdef('int puts(const char *);')
        print('body')
        function event() print('event') ffi.C.puts('from C') io.stdout:write('by a file\\n') end
        function done() io.write('done\\n') end";
    place.write("talks.lua", script);
    let ran = place.run(&[
        "sysbench",
        "./talks.lua",
        "--events=1",
        "--report-format=json",
        "--runs=none",
        "run",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["totals"]["transactions"], 1, "{document}");
    for text in ["body", "event", "from C", "by a file", "done", "Threads started!"] {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
}

/// In the style of sysbench 0.5: no options are declared, and those that were typed are texts.
const OF_THE_OLDER_API: &str = "
function event()
  assert(type(old_rows) == 'string' and old_rows == '20')
  for _, draw in ipairs({ sb_rand, sb_rand_uniform, sb_rand_gaussian, sb_rand_special }) do
    local drawn = draw('1', old_rows)
    assert(drawn >= 1 and drawn <= 20, drawn)
  end
  assert(sb_rand_uniq('0', '4294967295') >= 0)
  assert(not pcall(sb_rand, 1, 'many'))
end
";

#[test]
fn scripts_of_the_older_api_give_numbers_as_texts() {
    let place = Place::new();
    place.write("old.lua", OF_THE_OLDER_API);
    let ran = place.run(&[
        "sysbench",
        "--test=./old.lua",
        "--old-rows=20",
        "--events=50",
        "--runs=none",
        "run",
    ]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.lines().find(|line| line.starts_with("sysbench")), Some(FIRST_LINE));
    assert!(!ran.stderr.contains("truetps"), "{}", ran.stderr);
}

/// LuaJIT converts the arguments of C functions before the call. 0.5 had no `ffi`, and 1.0.20
/// raises the same error.
#[test]
fn texts_as_numbers_of_c_functions_are_refused_with_a_hint() {
    let place = Place::new();
    for (call, named) in [
        ("require('ffi').C.sb_rand_uniform(1, '10')", "bad argument #2 to 'sb_rand_uniform'"),
        ("sysbench.rand.uniform(1, '10')", "bad argument #2 to 'uniform'"),
    ] {
        place.write("text.lua", &format!("function event() {call} end"));
        let ran = place.run(&["sysbench", "./text.lua", "--events=1", "--runs=none", "run"]);
        let expect = format!(
            "{named} (cannot convert 'string' to 'unsigned int'); a C function takes no text as a \
             number: use tonumber()"
        );
        assert!(
            ran.code == Some(1) && ran.stdout.contains(&expect),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        place.write(
            "number.lua",
            &format!("function event() {} end", call.replace("'10'", "tonumber('10')")),
        );
        assert_eq!(
            place.run(&["sysbench", "./number.lua", "--events=1", "--runs=none", "run"]).code,
            Some(0)
        );
    }
}

/// As programs that read sysbench's output expect it: a version of three numbers, and of LuaJIT's
/// with its beta.
const FIRST_LINE: &str = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta3)";

#[test]
fn options_that_a_script_never_reads_are_named_at_the_end() {
    let place = Place::new();
    place.write("old.lua", &format!("-- tables\nlocal n = oltp_tables_count {OF_THE_OLDER_API}"));
    let given = [
        "--old-rows=20",
        "--tables=8",
        "--table-size=9",
        "--old-raws=3",
        "--mysql-user=x",
        "--rand-type=uniform",
    ];
    let flags =
        [&["sysbench", "./old.lua"], &given[..], &["--events=5", "--runs=none", "run"]].concat();
    let ran = place.run(&flags);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let expect = [
        "truetps: the script never reads --old-raws; did you mean --old-rows?",
        "truetps: the script never reads --table-size",
        "truetps: the script never reads --tables; did you mean --oltp-tables-count?",
    ];
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    for (line, expect) in lines.iter().zip(expect) {
        assert!(line.starts_with(expect), "{line}\n{expect}");
    }
}

#[test]
fn a_password_is_not_in_the_list_of_processes() {
    let place = Place::new();
    let password = format!("--mysql-password={PASSWORD}");
    // One that declares no option takes all.
    place.write("idle.lua", "print('begun') function event() end");
    let words = [
        "sysbench",
        "./idle.lua",
        &password,
        "--redis_pw=h1dden-too",
        "--time=60",
        "--runs=none",
        "run",
    ];
    let mut child = place.start(&words);
    // It is masked before the script is read.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "begun" {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    let shown = std::fs::read_to_string(format!("/proc/{}/cmdline", child.id()))
        .unwrap()
        .replace('\0', " ");
    assert!(shown.contains(" --mysql-password=*** --redis_pw=*** --time=60 "), "{shown}");
    assert!(!shown.contains("h1dden"), "{shown}");
    signal(child.id(), Signal::INT);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("h1dden"), "{rest}");
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert!(
        ran.stderr.contains("warning: a password on the command line"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert_secret(&place, &ran);
}

/// A script is a program like any other, and so are those that it starts: the password of the
/// environment is for truetps.
#[test]
fn secrets_of_the_environment_are_in_no_script() {
    let place = Place::new();
    place.write(
        "looks.sh",
        "tr '\\0' '\\n' </proc/$PPID/environ; env
        for file in /proc/$PPID/fd/*; do case $(readlink $file) in *TRUETPS*) cat $file; echo read;; esac; done",
    );
    let script = "
        print('the script has', os.getenv('TRUETPS_PASSWORD'), os.getenv('TRUETPS_GATEWAY_TOKENS'))
        os.execute('exec sh ./looks.sh')
        function event() end";
    place.write("looks.lua", script);
    let mut command =
        place.command(&["sysbench", "./looks.lua", "--events=1", "--mysql-password=h1dden-typed"]);
    command.args(["--runs=none", "run"]).env("TRUETPS_PASSWORD", PASSWORD).env("HARMLESS", "kept");
    command.env("TRUETPS_DSN", "mysql://me:h1dden-dsn@127.0.0.1/");
    let ran: Ran = command.env("TRUETPS_GATEWAY_TOKENS", "h1dden-token").output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("the script has\tnil\tnil") && ran.stdout.contains("HARMLESS=kept"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("\nread\n"),
        "the file that handed them over is empty: {}",
        ran.stdout
    );
    for secret in [PASSWORD, "h1dden", "TRUETPS_PASSWORD", "TRUETPS_GATEWAY_TOKENS"] {
        assert!(!ran.stdout.contains(secret), "{secret}: {}", ran.stdout);
    }
}

#[test]
fn buffers_and_histograms_may_be_used_as_in_c() {
    let place = Place::new();
    let script = "
        function event()
          local both = ffi.new('char[?]', 8, '##-@@@')
          ffi.C.sb_rand_str(both, both)
          assert(ffi.string(both):match('^%d%d%-%l%l%l$'), ffi.string(both))
          local behind = ffi.new('char[?]', 16, '#@@@')
          ffi.C.sb_rand_str(behind, behind + 2)
          assert(ffi.string(behind, 6):match('^#@%d%l%l%l$'), ffi.string(behind, 6))
          local histogram = sysbench.histogram.new(10, 1, 100)
          histogram:update(5)
        end";
    place.write("buffers.lua", script);
    let ran = place.run(&[
        "sysbench",
        "./buffers.lua",
        "--threads=4",
        "--events=100",
        "--runs=none",
        "run",
    ]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// What was decided for some clients of a script, more than this machine has cores, the notes of
/// its run, and what it printed.
fn isolation(place: &Place, script: &str, flags: &[&str]) -> (String, String, Ran) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = format!("--threads={}", cores + 2);
    let ran = place.run(&[&["sysbench", script, &threads, "--events=4"], flags, &["run"]].concat());
    assert_eq!(ran.code, Some(0), "{script}: {}{}", ran.stdout, ran.stderr);
    let document = std::fs::read(place.latest().join("trial-0001/sysbench.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    (document["lua_isolation"].as_str().unwrap().to_owned(), document["notes"].to_string(), ran)
}

#[test]
fn scripts_that_need_states_of_their_own_get_them() {
    let place = Place::new();
    let waits = "which stops all clients of its thread";
    let shares = "which all clients of a state share";
    for (text, found) in [
        (
            "ffi.cdef('int poll(void *, unsigned long, int);') function event() ffi.C.poll(nil, 0, \
             1) end",
            "poll",
        ),
        (
            "ffi.cdef('int sem_wait(void *);') local C = ffi.C function never() C.sem_wait(nil) end",
            "sem_wait",
        ),
        ("local o = os function event() o.execute('true') end", "execute"),
        ("function event() local run = os.execute run('true') end", "execute"),
    ] {
        place.write("needs.lua", &with_event(text));
        let (chosen, notes, _) = isolation(&place, "./needs.lua", &[]);
        assert!(
            chosen == "client" && notes.contains(&format!("may wait in `{found}`, {waits}")),
            "{text}: {notes}"
        );
    }
    for (text, found) in [
        (
            "function thread_init(id) math.randomseed(id) end",
            "may call `math.randomseed`, whose effect",
        ),
        ("function thread_init() io.output('/dev/null') end", "may call `io.output`, whose effect"),
        ("function thread_init() io.input('/dev/null') end", "may call `io.input`, whose effect"),
        ("function thread_init() math.mine = 1 end", &format!("changes math.mine, {shares}")),
        (
            "function thread_init(id) string['x' .. id] = 1 end",
            &format!("changes string, {shares}"),
        ),
        (
            "local rand = sysbench.rand function thread_init() rand.mine = 1 end",
            "changes sysbench.rand.mine, ",
        ),
        ("function event() sysbench.error.MINE = 1 end", "changes sysbench.error.MINE, "),
        (
            "function event() function sysbench.sql.type.mine() end end",
            "changes sysbench.sql.type.mine, ",
        ),
        ("table.mine = 1", "changes table.mine, "),
    ] {
        place.write("needs.lua", &with_event(text));
        let (chosen, notes, _) = isolation(&place, "./needs.lua", &[]);
        assert!(chosen == "client" && notes.contains(found), "{text}: {notes}");
    }
}

#[test]
fn scripts_that_may_hold_their_thread_get_threads_for_few_clients() {
    const SPIN: &str = "for n = 1, rounds do sysbench.rand.uniform(1, 9) end";
    let place = Place::new();
    let in_loop = "may compute for long without a statement (the loop at doubt.lua:1)";
    for (text, found) in [
        (&*format!("local function spin(rounds) {SPIN} end function event() spin(9) end"), in_loop),
        ("function event() repeat until sysbench.rand.uniform(1, 2) == 2 end", in_loop),
        (
            "function event() ::again:: if sysbench.rand.uniform(1, 2) == 2 then goto again end end",
            in_loop,
        ),
        (
            "function event() for i = 1, 1000 do for j = 1, 200 do sysbench.rand.uniform(i, j) end \
             end end",
            in_loop,
        ),
        (
            "local t = {} function t.set() end function event(id) for i = 1, id do t.set(i) end end",
            in_loop,
        ),
        (
            "function event() local n = 0 for _ in function() n = n + 1 return n < 2 or nil end do \
             end end",
            in_loop,
        ),
        (
            "local function f(n) return n > 0 and f(n - 1) end function event() f(1) end",
            "in `f`, which calls itself",
        ),
        (
            "function f(n) return n > 0 and f(n - 1) end function event() f(1) end",
            "in `f`, which calls itself",
        ),
        (
            "ffi.cdef('long syscall(long, ...);') function event() ffi.C.syscall(39) end",
            "calls the C function `syscall`",
        ),
        (
            "ffi.cdef('int getpid();') function event(id) ffi.C[id < 0 and 'x' or 'getpid']() end",
            "functions of `ffi.C` by",
        ),
        ("function event() io.open('/dev/null'):close() end", "may wait in `io.open`"),
        ("function event() table.sort({ 1 }) end", "may send statements from inside of `sort`"),
        ("function event() loadstring('return')() end", "may load code with `loadstring`"),
    ] {
        place.write("doubt.lua", &with_event(text));
        let (chosen, notes, _) = isolation(&place, "./doubt.lua", &[]);
        assert!(chosen == "client" && notes.contains(found), "{text}: {notes}");
        let (chosen, notes, _) = isolation(&place, "./doubt.lua", &["--workers=1"]);
        assert!(
            chosen == "worker" && notes.contains(found),
            "the user has chosen. {text}: {notes}"
        );
    }
    place.write("many.lua", "function event() repeat until sysbench.rand.uniform(1, 2) == 2 end");
    let (chosen, notes, _) = isolation(&place, "./many.lua", &["--threads=300"]);
    assert!(
        chosen == "worker" && notes.contains("clients share threads, and the script may compute"),
        "{notes}"
    );
    for text in [
        "function event() while os.time() < 0 do end end",
        "function event() for i = 1, 1000000 do sysbench.rand.uniform(1, i) end end",
    ] {
        place.write("waits.lua", text);
        let (chosen, _, _) = isolation(&place, "./waits.lua", &["--threads=300"]);
        assert_eq!(chosen, "client", "nothing but a wait looks like that: {text}");
    }
}

#[test]
fn a_shared_thread_that_an_event_holds_is_reported() {
    let place = Place::new();
    place.write(
        "holds.lua",
        "function event() local start = os.clock() while os.clock() < start + 0.1 do end end",
    );
    let (chosen, notes, ran) =
        isolation(&place, "./holds.lua", &["--lua-isolation=worker", "--workers=1"]);
    let note = "events hold their thread for more than 20 ms without a statement";
    assert!(chosen == "worker" && notes.contains(note), "{notes}");
    assert!(!ran.stdout.contains(note), "the user has chosen: {}", ran.stdout);
    place.write(
        "holds.lua",
        "function event() for n = 1, 100 do long = ('x'):rep(10000000 + n) end end",
    );
    let (chosen, notes, ran) = isolation(&place, "./holds.lua", &[]);
    assert!(chosen == "worker" && notes.contains(note), "{chosen}: {notes}");
    assert_eq!(ran.stdout.matches(note).count(), 1, "{}", ran.stdout);
}

#[test]
fn a_thread_without_time_left_is_named_with_what_helps() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return;
    }
    let place = Place::new();
    place.write("busy.lua", "function event() end");
    let threads = format!("--threads={}", cores + 2);
    let full = "the one thread that runs the clients had no time left: ";
    let line = format!("truetps: generator-limited, the server may be faster: {full}");
    for (flags, expect) in
        [(&["--workers=1", "--runs=none"][..], true), (&["--workers=1"], true), (&[], false)]
    {
        let ran = place
            .run(&[&["sysbench", "./busy.lua", &threads, "--time=1"], flags, &["run"]].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stderr.contains(&line), expect, "{flags:?}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.contains(&format!("use --workers={cores}\n")),
            expect,
            "{flags:?}: {}",
            ran.stderr
        );
        if flags == ["--workers=1"] {
            let answer = place.run(&["report"]).stdout.replace("\n          ", " ");
            for part in [
                format!("Bound     The load generator is the limit, not the server: {full}"),
                "† generator-limited".to_owned(),
            ] {
                assert!(answer.contains(&part), "{answer}\nshould contain\n{part}");
            }
        }
    }
    let document = std::fs::read(place.latest().join("trial-0001/sysbench.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["workers"], cores, "a thread for each core");
}

/// A script has an event.
fn with_event(text: &str) -> String {
    if text.contains("function event(") {
        text.to_owned()
    } else {
        format!("{text} function event() end")
    }
}

#[test]
fn other_scripts_share_states() {
    let place = Place::new();
    for text in [
        // Methods and fields of scripts may have the names of C functions.
        "local mine = {} function mine:sleep() end function mine:execute() end \
         function event() mine:sleep() mine:execute() end",
        "local texts = { select = 'SELECT (1)', poll = 2 } function event() return texts.select == \
         texts.poll end",
        "function event() return select('#') == 1 end",
        "math = { randomseed = type } function thread_init() math.randomseed(1) math.mine = 1 end",
        "function event() local s = os.clock() for n = 1, 100 do s = s + n end for k in ('a \
         b'):gmatch('%S') do s = k end end",
        "function event() for _, n in ipairs({ 1 }) do for k in pairs({ n }) do s = k end end \
         return ffi.C.SB_CNT_ERROR < 0 end",
        "function send(n) connection:query('DO ' .. n) end function event(id) for n = 2, id - 1000 \
         do send(n) end end",
        "function event() for n = 1, sysbench.opt.threads do s = n end end",
        "function thread_init() sysbench.opt.mine = 1 sysbench.hooks.mine = print local t = {} \
         t.randomseed = 1 end",
    ] {
        place.write("shares.lua", &with_event(text));
        let (chosen, notes, _) = isolation(&place, "./shares.lua", &[]);
        assert_eq!((chosen.as_str(), notes.as_str()), ("worker", "[]"), "{text}");
    }
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let folders = [repository, "/usr/share/sysbench".into()];
    let scripts =
        folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let scripts = scripts.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|extension| extension == "lua")
            && std::fs::read_to_string(path).unwrap().contains("function event(")
    });
    for path in scripts {
        let (chosen, notes, _) = isolation(&place, path.to_str().unwrap(), &["--mysql-dry-run"]);
        assert_eq!((chosen.as_str(), notes.as_str()), ("worker", "[]"), "{}", path.display());
    }
}

#[test]
fn calls_too_late_for_separate_states_are_reported_once() {
    let place = Place::new();
    place.write(
        "late_one.lua",
        "ffi.cdef('int usleep(unsigned int);') return function() ffi.C.usleep(1) end",
    );
    for (text, found) in [
        (
            "function thread_init() pause = require('late_one') end function event() pause() end",
            "may wait in `usleep`",
        ),
        ("function event() loadstring('math.mine = 1')() end", "changes math.mine"),
        (
            "ffi.cdef('struct one { int n; };') function thread_init() ffi.metatype('struct one', \
             {}) end",
            "gives methods",
        ),
    ] {
        place.write("late.lua", &with_event(text));
        let (chosen, notes, ran) = isolation(&place, "./late.lua", &["--workers=1"]);
        let note = format!("code that was loaded after the script's body {found}");
        assert!(chosen == "worker" && notes.contains(&note), "{text}: {notes}");
        assert_eq!(ran.stdout.matches(&note).count(), 1, "{text}: {}", ran.stdout);
        assert!(
            ran.stdout.contains("WARNING: ") && ran.stdout.contains("--lua-isolation=client"),
            "{}",
            ran.stdout
        );
        // With the option given, there is no note.
        let (_, notes, _) = isolation(&place, "./late.lua", &["--lua-isolation=worker"]);
        assert_eq!(notes, "[]", "{text}");
    }
}

#[test]
fn what_a_script_has_in_the_place_of_a_function_is_called() {
    let place = Place::new();
    for (text, message) in [
        ("init = 5", "FATAL: `init' function failed: attempt to call a number value"),
        ("done = 5", "FATAL: `done' function failed: attempt to call a number value"),
        (
            "sysbench.cmdline.commands = { run = { 5 } }",
            "FATAL: `sysbench.cmdline.call_command' function failed: ",
        ),
        (
            "sysbench.cmdline.commands = { run = 5 }",
            "attempt to index local 'command' (a number value)",
        ),
    ] {
        place.write("wrong.lua", &with_event(text));
        let ran = place.run(&["sysbench", "./wrong.lua", "--events=1", "--runs=none", "run"]);
        assert!(ran.stdout.contains(message), "{text}: {}", ran.stdout);
        // As in sysbench, a run that is over is not changed by what done() does.
        assert_eq!(ran.code, Some(i32::from(!text.starts_with("done"))), "{text}");
    }
    let ran = place.run(&["sysbench", "cpu"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), "the test 'cpu' needs a command, such as run: sysbench cpu run\n")
    );
}

#[test]
fn an_address_names_the_driver() {
    let place = Place::new();
    place.write("names.lua", NAME_OF_DRIVER);
    let run =
        |flags: &[&str]| place.run(&[&["sysbench", "./names.lua", "prepare"], flags].concat());
    for (flags, driver) in [
        (&["--dsn=postgresql://me@nowhere/mine"][..], "pgsql"),
        (&["--dsn=mysql://me@nowhere/mine"], "mysql"),
        (&["--dsn=postgresql://me@nowhere/mine", "--db-driver=pgsql"], "pgsql"),
    ] {
        let ran = run(flags);
        assert!(ran.stdout.ends_with(&format!("driver\t{driver}\n")), "{flags:?}: {}", ran.stdout);
    }
    // It never connects to a server that was not named.
    let ran = run(&["--dsn=postgresql://me@nowhere/mine", "--db-driver=mysql"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("FATAL: --dsn is not an address for the driver 'mysql': postgresql://"),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_password_of_an_address_comes_from_the_environment() {
    let Some(binary) = mariadb("the_password_of_an_address_comes_from_the_environment") else {
        return;
    };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("asks.lua", CONNECT);
    let dsn = format!("--dsn={}/", owned.tcp_dsn());
    let args = ["sysbench", "./asks.lua", &dsn, "prepare"];
    let ran = run_with_password(&place, &args);
    assert!(
        ran.code == Some(0) && ran.stdout.ends_with("asked\t7\n"),
        "{PASSWORD}: {}",
        ran.stdout
    );
    assert_secret(&place, &ran);
    assert_eq!(place.run(&args).code, Some(1), "there is no other way in");
}

#[test]
fn ctrl_c_ends_a_run_whose_statements_do_not_end() {
    let Some(binary) = mariadb("ctrl_c_ends_a_run_whose_statements_do_not_end") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("hangs.lua", CONNECT);
    let dsn = format!("--dsn={}", owned.socket_dsn());
    let child = place.start(&[
        "sysbench",
        "./hangs.lua",
        &dsn,
        "--runs=none",
        "--threads=3",
        "--time=100",
        "run",
    ]);
    crate::common::wait_until("three statements that hang", || {
        let sql =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(30)'";
        owned.admin().query_value(sql).unwrap().as_deref() == Some("3")
    });
    let began = std::time::Instant::now();
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(
        ran.stdout.contains("total number of events:              0")
            && ran.stdout.ends_with("done\n")
    );
}

/// What a script raises, and names of options that it declares.
#[test]
fn a_terminal_obeys_no_message_of_a_script() {
    let place = Place::new();
    let raised = r"'a\27[2J\13\7\194\15531m\226\128\174b'";
    place.write("raises.lua", &format!("function event() error({raised}) end"));
    place.write(
        "declares.lua",
        &format!("sysbench.cmdline.options = {{ rows = {{{raised}, 1}} }} function event() end"),
    );
    for (script, command) in [("./raises.lua", "run"), ("./declares.lua", "help")] {
        let ran = place.run(&["sysbench", script, "--events=1", "--runs=none", command]);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains("a [2J   31m b"), "{all:?}");
        assert!(
            !all.chars().any(|c| truetps_record::is_obeyed(c) && !matches!(c, '\n' | '\t')),
            "{all:?}"
        );
    }
}

/// A turn of 5 ms after each answer.
const LONG_TURNS: &str = "
function thread_init() connection = sysbench.sql.driver():connect() end
function event()
  connection:query('DO 1')
  local start = os.clock()
  while os.clock() - start < 0.005 do end
end
";

#[test]
fn the_wait_of_an_answer_for_its_clients_turn_is_recorded() {
    let Some(binary) = mariadb("the_wait_of_an_answer_for_its_clients_turn_is_recorded") else {
        return;
    };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("long.lua", LONG_TURNS);
    let run = |flags: &[&str]| {
        let dsn = format!("--dsn={}", owned.socket_dsn());
        let words = [&["sysbench", "./long.lua", &dsn, "--threads=4", "--time=1"], flags, &["run"]]
            .concat();
        let ran = place.run(&words);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let trial = std::fs::read(place.latest().join("trial-0001/run.json")).unwrap();
        let trial: Value = serde_json::from_slice(&trial).unwrap();
        (trial, place.run(&["report"]).stdout)
    };
    let (trial, answer) = run(&["--lua-isolation=worker", "--workers=1"]);
    // Of four clients on one thread, each answer waits for the turns of the other three: 15 of 20
    // ms.
    let us = |name: &str| {
        trial["script"]["answers_ready"][name].as_f64().unwrap_or_else(|| panic!("{name}: {trial}"))
    };
    let response_us = trial["measured"]["response_us_mean"].as_f64().unwrap();
    let (least, most) = (us("us_least"), us("us_most"));
    assert!(
        0.2 * response_us < least && least < most && most < response_us,
        "{least} {most} {response_us}"
    );
    assert!(most > 0.6 * response_us, "{most} {response_us}");
    assert!(answer.contains("answers lay ready for "), "{answer}");
    let (trial, answer) = run(&["--lua-isolation=client"]);
    assert_eq!(trial["script"]["answers_ready"], Value::Null, "each client has a thread");
    assert!(!answer.contains("answers lay ready"), "{answer}");
}
