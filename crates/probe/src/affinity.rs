//! Which cores a process may run on.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores that the calling thread may run on.
pub fn own_cores() -> Vec<u32> {
    sched_getaffinity(None).map(|set| list(&set)).unwrap_or_default()
}

/// Cores that the first thread of a process may run on; `None` if the process is gone.
pub fn cores_of(pid: u32) -> Option<Vec<u32>> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    sched_getaffinity(Some(pid)).ok().map(|set| list(&set))
}

/// Calls `what` while the calling thread is bound to these cores: a process started by it inherits
/// them, with all its threads. An empty list changes nothing.
pub fn bound_to<T>(cores: &[u32], what: impl FnOnce() -> T) -> io::Result<T> {
    if cores.is_empty() {
        return Ok(what());
    }
    let before = sched_getaffinity(None)?;
    let mut wanted = CpuSet::new();
    for core in cores.iter().map(|core| *core as usize).filter(|core| *core < CpuSet::MAX_CPU) {
        wanted.set(core);
    }
    sched_setaffinity(None, &wanted)?;
    let result = what();
    sched_setaffinity(None, &before)?;
    Ok(result)
}

fn list(set: &CpuSet) -> Vec<u32> {
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).map(|core| core as u32).collect()
}

/// How many cores this process may use.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Threads of a load generator, unless the user names a number: half of the cores are left to the
/// server.
pub fn worker_count(named: Option<u32>, cores: u32) -> u32 {
    named.unwrap_or((cores / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_for_as_long_as_it_is_asked_to() {
        let all = own_cores();
        assert!(!all.is_empty());
        let last = *all.last().unwrap();
        assert_eq!(bound_to(&[last], own_cores).unwrap(), [last]);
        assert_eq!(own_cores(), all);
        assert_eq!(bound_to(&[], own_cores).unwrap(), all);
        assert_eq!(cores_of(std::process::id()), Some(all));
    }
}
