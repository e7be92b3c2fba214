//! Scripts that fail, and where.

use super::{CASE, Case};

pub(crate) const CASES: &[Case] = &[
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
        script: "n = 0 function event() n = n + 1 print(n) if n == 3 then return \
                 tonumber(os.getenv('X') or 0) end end",
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
    Case {
        name: "nil is called",
        script: "function event() nothing() end",
        args: &["test.lua run"],
        ..CASE
    },
    Case {
        name: "an error in init()",
        script: "function init() error('in init') end function event() end function done() \
                 print('done') end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an error in thread_init()",
        script: "function thread_init() error('in thread_init') end function event() end function \
                 done() print('done') end",
        args: &["test.lua --events=1 run", "test.lua --threads=4 --events=4 run"],
        ..CASE
    },
    Case {
        name: "an error in event()",
        script: "n = 0 function event() n = n + 1 if n == 2 then error('in event') end end \
                 function thread_done() print('td') end function done() print('done') end",
        args: &["test.lua --events=5 run", "test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "an error in thread_done() or done()",
        script: "function event() end function thread_done() error('in thread_done') end function \
                 done() error('in done') end",
        args: &["test.lua --events=1 run"],
        ..CASE
    },
    Case {
        name: "errors that are no text",
        script: "what = {t = {}, n = 7, b = true} sysbench.cmdline.options = {kind = \
            {'which', 't'}} function event() error(what[sysbench.opt.kind]) end function prepare() \
            error(what[sysbench.opt.kind]) end",
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
        script: "function prepare() error('in prepare') end function help() local x = nil .. 'a' \
                 end function cleanup() return false end",
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
        script: "sysbench.cmdline.commands = {one = 'text', two = {}, three = {function() return \
                 false end}, four = {function() error('x') end}}",
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
];
