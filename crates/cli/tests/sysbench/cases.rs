//! The command lines of [`crate::command_lines`].

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// Besides the script.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) stdin: &'static str,
    /// One command line each.
    pub(crate) args: &'static [&'static str],
    /// Why ours differs on purpose; it says so in docs/reference/sysbench.md too.
    pub(crate) deviation: Option<&'static str>,
}

const CASE: Case = Case { name: "", script: "", files: &[], stdin: "", args: &[], deviation: None };

const EMPTY_EVENT: &str = "function event() end";
const WITH_OPTIONS: &str = "
sysbench.cmdline.options = { depth = {'how deep', 3}, word = {'a word', 'w'}, flag = {'a flag', false} }
function event() end
function prepare() print(sysbench.opt.depth, sysbench.opt.word, sysbench.opt.flag) end
";
const TALKATIVE: &str = "
print('loaded in', sysbench.tid, sysbench.opt == nil)
function init() print('init', sysbench.tid) end
function thread_init(id) print('thread_init', id) end
function event(id) print('event', id) end
function thread_done(id) print('thread_done', id) end
function done() print('done', sysbench.tid) end
function prepare() print('prepare') end
function cleanup() print('cleanup') end
function help() print('help') end
";

pub(crate) const CASES: &[Case] = &[
    Case { name: "no test", args: &["", "-", "--threads=2"], stdin: "print('from stdin', sysbench.tid)", ..CASE },
    Case { name: "a command for stdin", args: &["- prepare", "- run", "- nonsense"], stdin: TALKATIVE, ..CASE },
    Case { name: "an error in stdin", args: &[""], stdin: "print(1)\nlocal a = nil + 1", ..CASE },
    Case { name: "a syntax error in stdin", args: &[""], stdin: "x = = 1", ..CASE },
    Case { name: "version", args: &["--version", "--version=on nothing at", "--version run"], ..CASE },
    Case { name: "nothing of this name", args: &["absent.lua run", "absent run", "./absent.lua", "version"], ..CASE },
    Case { name: "a folder", files: &[], args: &[". run", "/ prepare"], ..CASE },
    Case {
        name: "arguments that are too many",
        script: EMPTY_EVENT,
        args: &["test.lua run more", "a b c d", "test.lua run --threads 2", "-x test.lua run"],
        ..CASE
    },
    Case {
        name: "options that nobody knows",
        script: WITH_OPTIONS,
        args: &["test.lua --nonsense=1 run", "--nonsense test.lua prepare", "test.lua prepare --no-such_thing=a=b"],
        ..CASE
    },
    Case {
        name: "options that nobody knows, and a script without any",
        script: "function prepare() print(sysbench.opt.nonsense, sysbench.opt.word, nonsense, word) end",
        args: &[
            "test.lua --nonsense=1 --word prepare",
            "test.lua --nonsense= prepare",
            "--nonsense --word=a=b test.lua prepare",
        ],
        ..CASE
    },
    Case {
        name: "options of a script",
        script: WITH_OPTIONS,
        args: &[
            "test.lua prepare",
            "--depth=7 --word=x --flag test.lua prepare",
            "test.lua prepare --depth=0x10 --flag=yes",
            "test.lua prepare --depth=deep",
            "test.lua prepare --depth=",
            "test.lua prepare --depth",
            "test.lua prepare --word= --flag=off",
            "test.lua prepare --word --flag=1",
            "test.lua prepare --flag=maybe",
            "test.lua prepare --depth=1 --depth=2",
            "test.lua help",
            "test.lua cleanup",
            "test.lua nonsense",
            "test.lua",
        ],
        ..CASE
    },
    Case {
        name: "numbers that are none",
        script: EMPTY_EVENT,
        args: &[
            "test.lua --threads=x run",
            "test.lua --threads=0 run",
            "test.lua --threads=-1 run",
            "test.lua --events=1.5 run",
            "test.lua --events=1 --time=soon run",
            "test.lua --events=1 --rate=-1 run",
            "test.lua --events=1 --rate=fast run",
            "test.lua --events=1 --report-interval=x run",
            "test.lua --events=1 --report-interval=-1 run",
            "test.lua --events=1 --verbosity=9 run",
            "test.lua --events=1 --verbosity=-1 run",
            "test.lua --events=1 --thread-stack-size=1X run",
            "test.lua --events=1 --thread-stack-size=128K run",
            "test.lua --events=1 --rand-seed=x run",
        ],
        ..CASE
    },
    Case {
        name: "percentiles",
        script: EMPTY_EVENT,
        args: &[
            "test.lua --events=3 --percentile=101 run",
            "test.lua --events=3 --percentile=-1 run",
            "test.lua --events=3 --percentile=99.9 run",
            "test.lua --events=3 --percentile=0 run",
            "test.lua --events=3 --percentile=100 run",
            "test.lua --events=3 --percentile=50 run",
            "test.lua --events=3 --percentile=0 --histogram run",
        ],
        ..CASE
    },
    Case {
        name: "switches that are none",
        script: EMPTY_EVENT,
        args: &[
            "test.lua --events=1 --debug=maybe run",
            "test.lua --events=1 --validate=2 run",
            "test.lua --events=1 --histogram=perhaps run",
            "test.lua --events=1 --forced-shutdown=x run",
            "test.lua --events=1 --forced-shutdown=-1 run",
            "test.lua --events=1 --report-checkpoints=x run",
            "test.lua --events=1 --report-checkpoints=0 run",
            "test.lua --events=1 --rand-type=nosuch run",
            "test.lua --events=1 --rand-pareto-h=2 run",
        ],
        ..CASE
    },
    Case {
        name: "switches of the banner",
        script: EMPTY_EVENT,
        args: &[
            "test.lua --events=1 --validate run",
            "test.lua --events=1 --rand-seed=5 run",
            "test.lua --events=1 --forced-shutdown run",
            "test.lua --events=1 --forced-shutdown=5% run",
            "test.lua --events=1 --forced-shutdown=7 run",
            "test.lua --events=1 --forced-shutdown=off run",
            "test.lua --events=1 --report-interval=3 run",
            "test.lua --events=1 --report-checkpoints=4,9 run",
            "test.lua --events=1 --rate=1000 run",
            "test.lua --events=8 --threads=3 --validate --rand-seed=1 --report-interval=5 --forced-shutdown=9 run",
        ],
        ..CASE
    },
    Case {
        name: "verbosity",
        script: TALKATIVE,
        args: &[
            "test.lua --events=2 --verbosity=0 run",
            "test.lua --events=2 --verbosity=1 run",
            "test.lua --events=2 --verbosity=2 run",
            "test.lua --events=2 --verbosity=4 run",
            "test.lua --verbosity=0 absent",
        ],
        ..CASE
    },
    Case {
        name: "functions and when they are called",
        script: TALKATIVE,
        args: &[
            "test.lua",
            "test.lua prepare",
            "test.lua cleanup",
            "test.lua help",
            "test.lua --events=3 run",
            "test.lua run --help",
        ],
        deviation: None,
        ..CASE
    },
    Case {
        name: "deprecated names",
        script: EMPTY_EVENT,
        args: &[
            "--test=test.lua --events=2 run",
            "--test=test.lua --max-requests=2 --num-threads=1 --max-time=5 run",
            "--max_requests=2 --tx-rate=900 test.lua run",
            "--test=test.lua test.lua --events=1 run",
            "--test=absent.lua run",
        ],
        ..CASE
    },
    Case {
        name: "underscores and dashes",
        script: EMPTY_EVENT,
        args: &[
            "--report_interval=2 --rand_seed=3 test.lua --events=1 run",
            "--report-checkpoints=7 --rand_type=uniform test.lua --events=1 run",
        ],
        ..CASE
    },
    Case {
        name: "no event()",
        script: "x = 1",
        args: &["test.lua run", "./test.lua run", "test run", "test.lua prepare"],
        ..CASE
    },
    Case { name: "event is no function", script: "event = 7", args: &["test.lua run"], ..CASE },
    Case {
        name: "no end of events",
        script: "function event() return true end",
        args: &["test.lua --time=0 --events=0 run", "test.lua --time=0 run"],
        ..CASE
    },
    Case {
        name: "what event() gives back",
        script: "n = 0 function event() n = n + 1 print(n) if n == 3 then return tonumber(os.getenv('X') or 0) end end",
        args: &["test.lua --events=9 run"],
        ..CASE
    },
    Case {
        name: "a shebang",
        script: "#!/usr/bin/env something\nprint('body')",
        args: &["test.lua", "test.lua prepare"],
        ..CASE
    },
    Case {
        name: "syntax errors",
        script: "function event()\n  if x then\nend",
        args: &["test.lua run", "test.lua", "test.lua prepare"],
        ..CASE
    },
    Case {
        name: "an error while loading",
        script: "print('a')\nerror('on purpose')",
        args: &["test.lua run", "test.lua", "test.lua help"],
        ..CASE
    },
    Case {
        name: "an error value while loading",
        script: "error({code = 3})",
        args: &["test.lua run", "test.lua"],
        ..CASE
    },
    Case { name: "nil is called", script: "function event() nothing() end", args: &["test.lua run"], ..CASE },
    Case {
        name: "an error in init()",
        script: "function init() error('in init') end function event() end function done() print('done') end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an error in thread_init()",
        script: "function thread_init() error('in thread_init') end function event() end function done() print('done') end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an error in event()",
        script: "n = 0 function event() n = n + 1 if n == 2 then error('in event') end end function thread_done() print('td') end function done() print('done') end",
        args: &["test.lua --events=5 run", "test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an error in thread_done() or done()",
        script: "function event() end function thread_done() error('in thread_done') end function done() error('in done') end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "errors that are no text",
        script: "what = {t = {}, n = 7, b = true} \
            sysbench.cmdline.options = {kind = {'which', 't'}} \
            function event() error(what[sysbench.opt.kind]) end function prepare() error(what[sysbench.opt.kind]) end",
        args: &[
            "test.lua run",
            "test.lua --kind=n run",
            "test.lua --kind=b run",
            "test.lua --kind=x run",
            "test.lua prepare",
            "test.lua --kind=n prepare",
        ],
        ..CASE
    },
    Case {
        name: "an error in prepare() or help()",
        script: "function prepare() error('in prepare') end function help() local x = nil .. 'a' end function cleanup() return false end",
        args: &["test.lua prepare", "test.lua help", "test.lua cleanup"],
        ..CASE
    },
    Case {
        name: "options of a wrong shape",
        script: "sysbench.cmdline.options = {'one', 'two'} function event() end",
        args: &["test.lua run", "test.lua help", "test.lua"],
        ..CASE
    },
    Case {
        name: "no table of options",
        script: "sysbench.cmdline.options = 5 function event() end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an option without a text",
        script: "sysbench.cmdline.options = {a = {}} function event() end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "commands of a wrong shape",
        script: "sysbench.cmdline.commands = {one = 'text', two = {}, three = {function() return false end}, four = {function() error('x') end}}",
        args: &[
            "test.lua one",
            "test.lua two",
            "test.lua three",
            "test.lua four",
            "test.lua five",
            "test.lua help",
            "test.lua run",
        ],
        ..CASE
    },
    Case {
        name: "a built-in test",
        script: EMPTY_EVENT,
        args: &[
            "fileio",
            "fileio nonsense",
            "cpu help",
            "cpu prepare",
            "cpu cleanup",
            "memory help",
            "threads help",
            "mutex help",
            "cpu --nonsense run",
        ],
        ..CASE
    },
    Case {
        name: "a module",
        files: &[("mine.lua", "print('module', ...) function prepare() print('p') end")],
        args: &["mine", "mine prepare", "mine run"],
        ..CASE
    },
    Case {
        name: "drivers",
        script: "function prepare() local d = sysbench.sql.driver() print(d:name()) end",
        args: &[
            "--db-driver=nosuch test.lua prepare",
            "--db-driver= test.lua prepare",
            "--db-driver=help test.lua prepare",
            "--db-driver=pgsql test.lua prepare",
            "--db-driver=mysql --db-ps-mode=nosuch test.lua prepare",
            "--db-ps-mode=disable test.lua prepare",
        ],
        ..CASE
    },
    Case {
        name: "nobody answers",
        script: "function prepare() local d = sysbench.sql.driver() local c = d:connect() print(c) end \
            function thread_init() prepare() end function event() end function done() print('done') end",
        args: &[
            "--mysql-host=127.0.0.1 --mysql-port=1 test.lua prepare",
            "--mysql-host=127.0.0.1 --mysql-port=1 test.lua --events=1 run",
            "--mysql-socket=/nowhere/x.sock test.lua prepare",
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 test.lua prepare",
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 test.lua --events=1 run",
        ],
        ..CASE
    },
    Case {
        name: "a file of options",
        script: "function prepare() print(sysbench.opt.threads, sysbench.opt.events) end",
        files: &[("some.cnf", "# a comment\nthreads=3\nevents = 12\n"), ("bad.cnf", "threads\n=4\nnonsense=1\n")],
        args: &[
            "--config-file=some.cnf test.lua prepare",
            "--config-file=absent.cnf test.lua prepare",
            "--config-file=bad.cnf test.lua prepare",
            "--config-file= test.lua prepare",
        ],
        ..CASE
    },
    Case { name: "help", args: &["--help", "--help=on nothing", "--help prepare"], ..CASE },
];
