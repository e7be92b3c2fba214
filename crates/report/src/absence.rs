//! Why a figure is absent, in words.

use truetps_analysis::{Absent, TooFewOf};

pub(crate) fn absence(absent: &Absent) -> String {
    match absent {
        Absent::Damaged { file } => return format!("{file} is missing or damaged"),
        Absent::Refused { answer } => return answer.clone(),
        Absent::SyncWithoutCall { setting, value } => {
            return format!(
                "with {setting}={value} each write is a sync, without a call that could be counted"
            );
        }
        Absent::NotWatched => "probe was off",
        Absent::NotCounted => "the server does not count it",
        Absent::NoRowsChanged => "no rows changed, or not counted",
        Absent::NotReadThroughout => "not read for all of the measure phase",
        Absent::NoTransaction => "no transaction ended",
        Absent::TooFew { of } => too_few(*of),
        Absent::SecondsOnly => "the record has whole seconds only (an older version)",
        Absent::TooShort => "the measure phase is shorter than a second",
        Absent::PartOfLoad => "it counts the work of all parts: `truetps merge` has it",
        Absent::Suspended => "the load generator was suspended: an apparent stall may be its own",
    }
    .to_owned()
}

fn too_few(of: TooFewOf) -> &'static str {
    match of {
        TooFewOf::CpuTicks => "too little CPU time: less than ten of the server's 10 ms ticks",
        TooFewOf::PageSteps => {
            "this version reports pages written by sessions in steps of half of shared_buffers: \
             too few steps"
        }
        TooFewOf::WaitingSessions => {
            "MariaDB cuts each wait to whole milliseconds, and these waits were shorter than a \
             few; too few waiting sessions were seen to estimate them"
        }
        TooFewOf::Transactions => "there are too few transactions to tell a standstill from chance",
    }
}
