//! Whether the threads of the clients had no time left.

use truetps_measure::ThreadTime;

/// A thread that ran or waited for a core for this share of the time was never short of work.
const FULL_MIN: f64 = 0.9;

/// Words for the user where more threads may give a higher throughput: the clients share `workers`, one of which was full,
/// and there are more cores.
pub(super) fn full_workers(workers: &[ThreadTime], length_ns: u64, clients: u32, cores: u32) -> Option<String> {
    let count = workers.len() as u32;
    let useful = cores.min(clients);
    if length_ns == 0 || count >= useful {
        return None;
    }
    let taken_ns = |one: &ThreadTime| one.cpu_ns + one.wait_ns.unwrap_or(0);
    let share = workers.iter().map(taken_ns).max()? as f64 / length_ns as f64;
    if share < FULL_MIN {
        return None;
    }
    let which = if count == 1 { "the one thread".to_owned() } else { format!("one of the {count} threads") };
    let percent = (share * 100.0).min(100.0);
    Some(format!(
        "generator-limited: {which} that runs the clients was full ({percent:.0} % of its time running or waiting for a \
         core), and this host has {cores} cores; the server may be faster: use --workers={useful}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH_NS: u64 = 1_000;

    fn said(workers: &[(u64, u64)], clients: u32, cores: u32) -> Option<String> {
        let time =
            |(cpu_ns, wait_ns): &(u64, u64)| ThreadTime { cpu_ns: *cpu_ns, wait_ns: Some(*wait_ns), switches: None };
        full_workers(&workers.iter().map(time).collect::<Vec<_>>(), LENGTH_NS, clients, cores)
    }

    #[test]
    fn a_full_thread_among_more_cores_is_named_with_what_helps() {
        let one = said(&[(600, 380)], 16, 2).unwrap();
        assert!(
            one.contains("the one thread that runs the clients was full (98 % ") && one.contains("2 cores"),
            "{one}"
        );
        assert!(one.ends_with("use --workers=2"), "{one}");
        let many = said(&[(100, 0), (950, 0)], 3, 64).unwrap();
        assert!(many.contains("one of the 2 threads") && many.ends_with("use --workers=3"), "{many}");
    }

    #[test]
    fn more_threads_help_no_thread_that_had_time_or_no_core() {
        assert_eq!(said(&[(600, 200)], 16, 2), None);
        assert_eq!(said(&[(990, 0), (990, 0)], 16, 2), None, "a thread for each core");
        assert_eq!(said(&[(990, 0)], 1, 8), None, "a thread for each client");
        assert_eq!(full_workers(&[], LENGTH_NS, 4, 8), None);
    }
}
