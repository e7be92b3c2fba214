//! `--debug-info`: what the process has used, in the words of MySQL's library.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// An empty line, and five lines. Sizes are in KiB, blocks are of 512 bytes.
pub(super) fn text() -> String {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return String::new() };
    format!(
        "\nUser time {:.2}, System time {:.2}\nMaximum resident set size {}, Integral resident set \
         size {}\n\
         Non-physical pagefaults {}, Physical pagefaults {}, Swaps {}\nBlocks in {} out {}, \
         Messages in {} out {}, Signals {}\nVoluntary context switches {}, Involuntary context \
         switches {}\n",
        seconds(used.user_time()),
        seconds(used.system_time()),
        used.max_rss(),
        used.unshared_data_integral(),
        used.minor_page_faults(),
        used.major_page_faults(),
        used.full_swaps(),
        used.block_reads(),
        used.block_writes(),
        used.ipc_sends(),
        used.ipc_receives(),
        used.signals(),
        used.voluntary_context_switches(),
        used.involuntary_context_switches(),
    )
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}
