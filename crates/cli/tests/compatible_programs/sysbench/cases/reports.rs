//! Runs that last a while, for what is printed during and after them.

use super::{CASE, Case, EMPTY_EVENT};

const WAITING: &str = "
ffi.cdef('int usleep(unsigned int);')
function event() ffi.C.usleep(20000) end
function done() print('done') end
";
const STUCK: &str = "
ffi.cdef('int usleep(unsigned int);')
function event() for _ = 1, 60 do ffi.C.usleep(100000) end end
function done() print('done') end
";

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "intermediate reports",
        script: WAITING,
        args: &[
            "test.lua --time=2 --report-interval=1 run",
            "test.lua --time=2 --threads=2 --report-interval=1 --rate=20 run",
        ],
        timed: true,
        ..CASE
    },
    Case {
        name: "checkpoints",
        script: WAITING,
        args: &[
            "test.lua --time=2 --report-checkpoints=1 run",
            "test.lua --time=3 --report-checkpoints=0,2,1 run",
        ],
        timed: true,
        ..CASE
    },
    Case {
        name: "an end by force",
        script: STUCK,
        args: &["test.lua --time=1 --forced-shutdown=1 run"],
        timed: true,
        ..CASE
    },
    Case {
        name: "too high a rate",
        script: EMPTY_EVENT,
        args: &["test.lua --rate=2000000000 --time=5 run"],
        deviations: &[(
            "",
            "events that wait for a thread have no limit: the report shows how late they were",
        )],
        ..CASE
    },
    Case {
        name: "limits",
        script: WAITING,
        args: &[
            "test.lua --time=1 --verbosity=4 run",
            "test.lua --events=3 --threads=2 --verbosity=4 run",
        ],
        timed: true,
        ..CASE
    },
    Case {
        name: "debugging",
        script: EMPTY_EVENT,
        args: &["test.lua --events=2 --debug run", "test.lua --events=2 --verbosity=5 run"],
        timed: true,
        ..CASE
    },
];
