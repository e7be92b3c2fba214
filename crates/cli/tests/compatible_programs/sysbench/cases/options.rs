//! Options and arguments, wrong ones and unusual ones.

use super::{CASE, Case, EMPTY_EVENT, TALKATIVE, WITH_OPTIONS};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "no test",
        args: &["", "-", "--threads=2"],
        stdin: "print('from stdin', sysbench.tid)",
        ..CASE
    },
    Case {
        name: "a command for stdin",
        args: &["- prepare", "- run", "- nonsense"],
        stdin: TALKATIVE,
        ..CASE
    },
    Case { name: "an error in stdin", args: &[""], stdin: "print(1)\nlocal a = nil + 1", ..CASE },
    Case { name: "a syntax error in stdin", args: &[""], stdin: "x = = 1", ..CASE },
    Case {
        name: "version",
        args: &["--version", "--version=on nothing at", "--version run"],
        ..CASE
    },
    Case {
        name: "nothing of this name",
        args: &["absent.lua run", "absent run", "./absent.lua", "version"],
        ..CASE
    },
    Case { name: "a folder", files: &[], args: &[". run", "/ prepare"], ..CASE },
    Case {
        name: "arguments that are too many",
        script: EMPTY_EVENT,
        args: &["test.lua run more", "a b c d", "test.lua run --threads 2", "-x test.lua run"],
        ..CASE
    },
    Case {
        name: "unknown options",
        script: WITH_OPTIONS,
        args: &[
            "test.lua --nonsense=1 run",
            "--nonsense test.lua prepare",
            "test.lua prepare --no-such_thing=a=b",
        ],
        ..CASE
    },
    Case {
        name: "unknown options, and a script without options",
        script: "function prepare() print(sysbench.opt.nonsense, sysbench.opt.word, nonsense, \
                 word) end",
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
            "test.lua --events=1.5 run",
            "test.lua --events=1 --time=soon run",
            "test.lua --events=1 --rate=fast run",
            "test.lua --events=1 --report-interval=x run",
            "test.lua --events=1 --verbosity=9 run",
            "test.lua --events=1 --thread-stack-size=1X run",
            "test.lua --events=1 --thread-stack-size=128K run",
            "test.lua --events=1 --rand-seed=x run",
        ],
        ..CASE
    },
    Case {
        name: "a number of threads below zero",
        script: EMPTY_EVENT,
        args: &["test.lua --threads=-1 run"],
        deviations: &[("", "the value is named, where sysbench runs out of memory")],
        ..CASE
    },
    Case {
        name: "a verbosity below zero",
        script: EMPTY_EVENT,
        args: &["test.lua --verbosity=-1 run"],
        deviations: &[("", "the value is shown as it was typed")],
        ..CASE
    },
    Case {
        name: "times below zero",
        script: EMPTY_EVENT,
        args: &[
            "test.lua --events=1 --report-interval=-1 run",
            "test.lua --events=1 --forced-shutdown=-1 run",
            "test.lua --events=1 --time=-1 run",
        ],
        deviations: &[("report-interval", "a time below zero is refused")],
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
            "test.lua --events=8 --threads=3 --validate --rand-seed=1 --report-interval=5 \
             --forced-shutdown=9 run",
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
        ],
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
        deviations: &[
            ("fileio", "only cpu is built in, since the others measure no database"),
            ("memory", "only cpu is built in, since the others measure no database"),
            ("threads", "only cpu is built in, since the others measure no database"),
            ("mutex", "only cpu is built in, since the others measure no database"),
            ("cpu help", "in the words of truetps"),
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
        name: "no server answers",
        script: "function prepare() local d = sysbench.sql.driver() local c = d:connect() print(c) \
            end function thread_init() prepare() end function event() end function done() \
            print('done') end",
        args: &[
            "--mysql-host=127.0.0.1 --mysql-port=1 test.lua prepare",
            "--mysql-host=127.0.0.1 --mysql-port=1 test.lua --events=1 run",
            "--mysql-socket=/nowhere/x.sock test.lua prepare",
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 test.lua prepare",
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1 test.lua --events=1 run",
        ],
        deviations: &[(
            "mysql-port=1",
            "the system's error number is 111, connection refused, where the client library \
             reports 115",
        )],
        ..CASE
    },
    Case {
        name: "a file of options",
        script: "function prepare() print(sysbench.opt.threads, sysbench.opt.events) end",
        files: &[("some.cnf", "# a comment\nthreads=3\n\nevents=12\n")],
        args: &[
            "--config-file=some.cnf test.lua prepare",
            "--config-file=absent.cnf test.lua prepare",
            "--config-file= test.lua prepare",
        ],
        ..CASE
    },
    Case {
        name: "a file of options that is odd",
        script: "function prepare() print(sysbench.opt.threads, sysbench.opt.events) end",
        files: &[
            ("spaced.cnf", "# a comment\nthreads=3\nevents = 12\n"),
            ("bad.cnf", "threads\n=4\nnonsense=1\n"),
        ],
        args: &[
            "--config-file=spaced.cnf test.lua prepare",
            "--config-file=bad.cnf test.lua prepare",
        ],
        deviations: &[
            ("spaced", "spaces around the sign are allowed"),
            ("bad", "a name and its value are on one line"),
        ],
        ..CASE
    },
    Case {
        name: "help",
        args: &["--help", "--help=on nothing", "--help prepare"],
        deviations: &[("", "options of sysbench's head and of truetps are listed too")],
        ..CASE
    },
];
