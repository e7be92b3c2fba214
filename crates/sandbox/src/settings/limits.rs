//! Whether this host can carry the requested load, checked before anything starts.

use std::net::IpAddr;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use truetps_driver::Endpoint;
use truetps_record::{Family, SettingValue};

use crate::error::LimitError;
use crate::settings::server_settings::Settings;
use crate::system::host_limits::HostLimits;

/// Open files of a server besides its connections and tables: logs, system tables, libraries.
const OPEN_FILES_SPARE: u64 = 1024;
/// Open files of truetps besides the sockets of its clients: records, logs, two for each worker.
const CLIENT_FILES_SPARE: u64 = 128;
/// MariaDB reserves two files for each table object of each of its eight table caches; with less it
/// shrinks them.
const FILES_PER_TABLE_OBJECT: u64 = 16;
/// A server of either family with no connection and an empty buffer pool, with room.
const SERVER_BASE_BYTES: u64 = 400 << 20;
/// Measured growth of the resident size, in kB for each of 1,000 connections that were idle, had
/// run an INSERT, had run a sorted SELECT: MariaDB 10.11 59, 90, 107 (with 5,000: 61, 92, 105);
/// MySQL 5.7 51, 108, 111; MySQL 9.7 65, 171, 216.
const BYTES_PER_CONNECTION: u64 = 256 << 10;
/// Memory of a connection of PostgreSQL 15, whose sessions are processes: 1.5 MB each of 1,000
/// under a load of INSERTs, counting private memory and page tables.
const BYTES_PER_PROCESS: u64 = 2 << 20;
/// Threads besides one for each connection: of the server and of truetps.
const THREADS_SPARE: u64 = 256;
/// A thread's stack and the guard page below it are two mappings of memory.
const MAPS_PER_THREAD: u64 = 2;
const MAPS_SPARE: u64 = 4096;

/// The maximum that an experiment needs at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    pub connections: u64,
    /// Open files besides one for each connection.
    pub other_files: u64,
    /// Number of connections for which the server reserves tables; see `table_open_cache`.
    pub table_objects: u64,
    pub buffer_pool_bytes: u64,
    /// Memory of the server for each connection.
    pub connection_bytes: u64,
}

impl Needs {
    /// For a server with these settings.
    pub fn of(settings: &Settings) -> Self {
        let connections = number_of(settings, "max_connections", 151);
        let buffer_pool_bytes = settings.buffer_pool_bytes();
        let (table_objects, connection_bytes) = match settings.family() {
            Family::Mysql => (number_of(settings, "table_open_cache", 2000), BYTES_PER_CONNECTION),
            Family::Postgresql => (0, BYTES_PER_PROCESS),
        };
        let other_files = OPEN_FILES_SPARE;
        Self { connections, other_files, table_objects, buffer_pool_bytes, connection_bytes }
    }

    /// For clients alone: their server has limits of its own.
    pub fn of_clients(clients: u32) -> Self {
        Self { connections: clients.into(), other_files: CLIENT_FILES_SPARE, ..Self::default() }
    }

    /// Without these, connections would fail.
    fn open_files_least(&self) -> u64 {
        self.connections + self.other_files
    }

    /// With these, the server does not reduce its table caches.
    fn open_files_best(&self) -> u64 {
        self.open_files_least() + self.table_objects * FILES_PER_TABLE_OBJECT
    }

    fn threads(&self) -> u64 {
        self.connections + THREADS_SPARE
    }

    fn memory_bytes(&self) -> u64 {
        // A page of the buffer pool has a control block and a share of the hash tables, about a
        // tenth.
        SERVER_BASE_BYTES
            + self.buffer_pool_bytes / 10 * 11
            + self.connections * self.connection_bytes
    }
}

fn number_of(settings: &Settings, name: &str, otherwise: u64) -> u64 {
    let number = settings.get(name).and_then(SettingValue::as_int);
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(otherwise)
}

/// The first limit that would be exceeded. Open files are handled by [`raise_open_files`].
pub fn check_limits(needs: &Needs, host: &HostLimits) -> Result<(), LimitError> {
    let (connections, threads) = (needs.connections, needs.threads());
    let now = host.threads_now;
    for (name, limit) in
        [("kernel.threads-max", host.threads_max), ("kernel.pid_max", host.pid_max)]
    {
        let left = limit.map(|limit| limit.saturating_sub(now)).filter(|left| *left < threads);
        if let Some(left) = left {
            return Err(LimitError::Threads { connections, needed: threads, name, left });
        }
    }
    if let Some((file, left)) = host.control_group_left.clone().filter(|(_, left)| *left < threads)
    {
        return Err(LimitError::ControlGroup { connections, needed: threads, file, left });
    }
    // Child processes of root count, too, once they run as another user.
    if let Some(limit) = host.processes.0.filter(|limit| *limit < threads) {
        return Err(LimitError::Processes { connections, needed: threads, limit });
    }
    let maps = threads * MAPS_PER_THREAD + MAPS_SPARE;
    if let Some(limit) = host.max_map_count.filter(|limit| *limit < maps) {
        return Err(LimitError::Maps { connections, needed: maps, limit });
    }
    let needed = needs.memory_bytes();
    if let Some(available) = host.memory_available_bytes.filter(|available| *available < needed) {
        let buffer_pool_bytes = needs.buffer_pool_bytes;
        return Err(LimitError::Memory { connections, buffer_pool_bytes, needed, available });
    }
    Ok(())
}

/// Whether there are local ports for this many clients of all endpoints together. Each endpoint can
/// have a connection from every port; with [sources](truetps_driver::Target::sources), each source
/// has its ports once.
pub fn check_ports(
    clients: u32,
    endpoints: &[Endpoint],
    sources: &[IpAddr],
    host: &HostLimits,
) -> Result<(), LimitError> {
    let by_tcp =
        endpoints.iter().filter(|endpoint| matches!(endpoint, Endpoint::Tcp { .. })).count();
    let ranges = if sources.is_empty() { by_tcp } else { sources.len() } as u64;
    let connections = u64::from(clients) * by_tcp as u64 / endpoints.len().max(1) as u64;
    match host.local_ports.filter(|limit| connections > ranges * limit) {
        Some(limit) => Err(LimitError::Ports { connections, limit }),
        None => Ok(()),
    }
}

/// Raises this process's soft limit of open files to the hard one, for an unknown number of
/// clients.
pub fn raise_open_files_to_hard() {
    let limit = getrlimit(Resource::Nofile);
    // If that is refused, the step that needs more files reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Raises this process's limit of open files to what clients and server need; servers started later
/// inherit it. Returns the resulting limit.
pub fn raise_open_files(needs: &Needs) -> Result<u64, LimitError> {
    let host = HostLimits::read();
    let (soft, hard) =
        (host.open_files.0.unwrap_or(u64::MAX), host.open_files.1.unwrap_or(u64::MAX));
    let (least, best) = (needs.open_files_least(), needs.open_files_best());
    if soft >= best {
        return Ok(soft);
    }
    // Only root may raise the hard limit, and in a container often not even root.
    if best > hard && host.is_root && set_open_files(best, best) {
        return Ok(best);
    }
    let reachable = best.min(hard);
    let limit = if reachable > soft && set_open_files(reachable, hard) { reachable } else { soft };
    if limit >= least {
        return Ok(limit);
    }
    Err(LimitError::OpenFiles { connections: needs.connections, needed: least, limit })
}

/// Returns whether the limits are these now; the largest number: no limit.
fn set_open_files(current: u64, maximum: u64) -> bool {
    let [current, maximum] = [current, maximum].map(|limit| Some(limit).filter(|n| *n < u64::MAX));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use truetps_driver::Target;

    use super::*;

    const NEEDS: Needs = Needs {
        connections: 1000,
        other_files: OPEN_FILES_SPARE,
        table_objects: 2000,
        buffer_pool_bytes: 1 << 30,
        connection_bytes: BYTES_PER_CONNECTION,
    };

    fn roomy() -> HostLimits {
        HostLimits {
            memory_available_bytes: Some(8 << 30),
            threads_now: 200,
            threads_max: Some(190_000),
            pid_max: Some(4_194_304),
            max_map_count: Some(65_530),
            processes: (Some(95_000), Some(95_000)),
            ..HostLimits::default()
        }
    }

    #[test]
    fn a_roomy_host_carries_it() {
        assert_eq!(check_limits(&NEEDS, &roomy()), Ok(()));
        assert_eq!(
            check_limits(&NEEDS, &HostLimits::default()),
            Ok(()),
            "what cannot be read is no limit"
        );
    }

    #[test]
    fn each_limit_is_named_with_need_and_remedy() {
        let check = |host: HostLimits, message: &str, remedy: &str| {
            let error = check_limits(&NEEDS, &host).unwrap_err();
            assert!(error.to_string().contains(message), "{error}\nshould contain\n{message}");
            assert!(error.hint().contains(remedy), "{}\nshould contain\n{remedy}", error.hint());
        };
        check(
            HostLimits { threads_max: Some(1000), ..roomy() },
            "kernel.threads-max leaves 800",
            "sysctl",
        );
        check(
            HostLimits { pid_max: Some(1024), ..roomy() },
            "kernel.pid_max leaves 824",
            "sysctl kernel.pid_max",
        );
        check(
            HostLimits { max_map_count: Some(4000), ..roomy() },
            "6608 mappings",
            "vm.max_map_count=6608",
        );
        check(
            HostLimits { processes: (Some(500), None), ..roomy() },
            "`ulimit -u`) is 500",
            "nproc",
        );
        let group = Some((PathBuf::from("/sys/fs/cgroup/x/pids.max"), 100));
        check(
            HostLimits { control_group_left: group, ..roomy() },
            "x/pids.max leaves 100",
            "TasksMax",
        );
        let little = HostLimits { memory_available_bytes: Some(1 << 30), ..roomy() };
        check(little, "a buffer pool of 1074 MB", "innodb_buffer_pool_size");
    }

    #[test]
    fn clients_by_tcp_have_a_port_each() {
        let host = HostLimits { local_ports: Some(28_232), ..HostLimits::default() };
        let check = |dsn: &str, clients| {
            let Target { endpoints, sources, .. } = Target::parse(dsn).unwrap();
            check_ports(clients, &endpoints, &sources, &host)
        };
        assert_eq!(check("mysql://db", 28_232), Ok(()));
        let error = check("mysql://db", 50_000).unwrap_err();
        assert_eq!(error, LimitError::Ports { connections: 50_000, limit: 28_232 });
        assert!(
            error.hint().contains("from 2 addresses of this host, source="),
            "{}",
            error.hint()
        );
        assert_eq!(check("mysql://a,b", 50_000), Ok(()));
        assert_eq!(check("mysql://db?source=127.0.0.1,127.0.0.2", 50_000), Ok(()));
        let error = check("mysql://a,b,c?source=127.0.0.1", 50_000).unwrap_err();
        assert!(
            error.hint().contains("from 2 addresses"),
            "sources have one range each: {}",
            error.hint()
        );
        assert_eq!(check("mysql:///?socket=/s", 50_000), Ok(()));
        assert_eq!(
            check_ports(u32::MAX, &[], &[], &HostLimits::default()),
            Ok(()),
            "nothing is known"
        );
    }

    #[test]
    fn open_files_are_raised_or_refused() {
        let small = Needs { other_files: OPEN_FILES_SPARE, ..Needs::of_clients(1) };
        assert!(raise_open_files(&small).unwrap() >= 1025);
        let huge = Needs { connections: u64::from(u32::MAX), ..small };
        let error = raise_open_files(&huge).unwrap_err();
        assert!(error.hint().contains("limits.conf"), "{error}");
    }
}
