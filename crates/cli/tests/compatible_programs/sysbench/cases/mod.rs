//! The command lines of [`crate::sysbench::command_lines`], and the scripts that they are about.

mod options;
mod reports;
mod scripts;

pub(crate) use options::CASES as OPTIONS;
pub(crate) use reports::CASES as REPORTS;
pub(crate) use scripts::CASES as SCRIPTS;

use crate::sysbench::pair::Deviation;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// Besides the script.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) stdin: &'static str,
    /// One command line each.
    pub(crate) args: &'static [&'static str],
    /// Every number of the output depends on the clock.
    pub(crate) timed: bool,
    /// Command lines where ours differs on purpose.
    pub(crate) deviations: &'static [Deviation],
}

const CASE: Case =
    Case { name: "", script: "", files: &[], stdin: "", args: &[], timed: false, deviations: &[] };

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
