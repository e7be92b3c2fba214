//! The options that exist before any script is read: the options of sysbench 1.0.20 and of 1.1
//! together, and truetps's own.
//!
//! Names, types and defaults are sysbench's, which command lines rely on; the descriptions are
//! truetps's.

use super::OptionType::{self, Bool, Double, File, Int, List, Size, String};
use super::{OptionGroup, OptionSpec, SysbenchRelease};

/// Name, type, default, description.
type BuiltinOption = (&'static str, OptionType, Option<&'static str>, &'static str);

const GENERAL: [BuiltinOption; 20] = [
    ("threads", Int, Some("1"), "clients that run events at the same time"),
    ("events", Int, Some("0"), "stop after this number of events; 0 means no limit"),
    ("time", Int, Some("10"), "stop after this number of seconds; 0 means no limit"),
    ("warmup-time", Int, Some("0"), "seconds of warm-up, which are not counted"),
    (
        "forced-shutdown",
        String,
        Some("off"),
        "abort running events this many seconds after --time, or N% of it; empty means 5%, 'off' \
         waits",
    ),
    ("thread-stack-size", Size, Some("64K"), "stack size of a thread; accepted and ignored"),
    ("thread-init-timeout", Int, Some("30"), "seconds in which all clients have to be ready"),
    (
        "rate",
        Int,
        Some("0"),
        "average number of events started a second, at random intervals; 0 means no limit",
    ),
    (
        "report-interval",
        Double,
        Some("0"),
        "seconds between intermediate reports, such as 10 or 0.5; 0 means none",
    ),
    (
        "report-checkpoints",
        List,
        Some(""),
        "comma-separated seconds after the start at which a full report is printed and the \
         counters are reset",
    ),
    ("debug", Bool, Some("off"), "print debugging information"),
    ("validate", Bool, Some("off"), "check results where a test can"),
    ("help", Bool, Some("off"), "print this page"),
    ("version", Bool, Some("off"), "print the version"),
    (
        "config-file",
        File,
        None,
        "file with a line 'name = value' for each option; the command line takes precedence",
    ),
    (
        "luajit-cmd",
        String,
        None,
        "argument of 'luajit -j', such as off, applied to every Lua state",
    ),
    ("tx-rate", Int, Some("0"), "old name of --rate"),
    ("max-requests", Int, Some("0"), "old name of --events"),
    ("max-time", Int, Some("0"), "old name of --time"),
    ("num-threads", Int, Some("1"), "old name of --threads"),
];

const RAND: [BuiltinOption; 7] = [
    (
        "rand-type",
        String,
        None,
        "how sysbench.rand.default() chooses {uniform, gaussian, special, pareto, zipfian}",
    ),
    ("rand-seed", Int, Some("0"), "seed of the random numbers; 0 takes the time of day"),
    (
        "rand-spec-iter",
        Int,
        Some("12"),
        "numbers that one of 'special' or 'gaussian' is the mean of",
    ),
    ("rand-spec-pct", Int, Some("1"), "percentage of the range that is special in 'special'"),
    ("rand-spec-res", Int, Some("75"), "percentage of the numbers that fall into the special part"),
    ("rand-pareto-h", Double, Some("0.2"), "the parameter h of 'pareto'"),
    ("rand-zipfian-exp", Double, Some("0.8"), "the exponent of 'zipfian'"),
];

const LOG: [BuiltinOption; 1] =
    [("verbosity", Int, Some("3"), "log level {0: only fatal messages, 5: everything}")];

const LATENCY: [BuiltinOption; 2] = [
    ("percentile", Int, Some("95"), "reported percentile of the latency (1-100); 0 means none"),
    ("histogram", Bool, Some("off"), "print how the latency is distributed"),
];

const DATABASE: [BuiltinOption; 3] = [
    ("db-driver", String, Some("mysql"), "the server's protocol {mysql, pgsql}"),
    (
        "db-ps-mode",
        String,
        Some("auto"),
        "whether statements are prepared by the server {auto, disable}",
    ),
    ("db-debug", Bool, Some("off"), "accepted and ignored"),
];

const MYSQL: [BuiltinOption; 16] = [
    ("mysql-host", List, Some("localhost"), "hosts; connections take them in turn"),
    ("mysql-port", List, Some("3306"), "ports; each host is tried with each"),
    ("mysql-socket", List, None, "paths of sockets, instead of hosts and ports"),
    ("mysql-user", String, Some("sbtest"), "user"),
    ("mysql-password", String, Some(""), "password"),
    ("mysql-db", String, Some("sbtest"), "database"),
    (
        "mysql-ssl",
        String,
        None,
        "TLS {disabled, preferred, required, verify_ca, verify_identity}; 'on' is required",
    ),
    ("mysql-ssl-key", String, None, "file with the client's key"),
    ("mysql-ssl-ca", String, None, "file with the certificates to verify the server's with"),
    ("mysql-ssl-cert", String, None, "file with the client's certificate"),
    ("mysql-ssl-cipher", String, Some(""), "accepted and ignored; the TLS library chooses ciphers"),
    ("mysql-compression", Bool, Some("off"), "'on' is refused: compression is not supported"),
    (
        "mysql-compression-algorithms",
        String,
        Some("zlib"),
        "accepted and ignored; compression is not supported",
    ),
    ("mysql-debug", Bool, Some("off"), "accepted and ignored"),
    (
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "error numbers after which an event is restarted, or 'all'",
    ),
    ("mysql-dry-run", Bool, Some("off"), "send nothing: measures only the script"),
];

const PGSQL: [BuiltinOption; 6] = [
    ("pgsql-host", String, Some("localhost"), "host, or the folder of a socket"),
    ("pgsql-port", Int, Some("5432"), "port"),
    ("pgsql-user", String, Some("sbtest"), "user"),
    ("pgsql-password", String, Some(""), "password"),
    ("pgsql-db", String, Some("sbtest"), "database"),
    (
        "pgsql-sslmode",
        String,
        Some("prefer"),
        "TLS {disable, allow, prefer, require, verify-ca, verify-full}",
    ),
];

const OURS: [BuiltinOption; 17] = [
    ("compat", String, Some("1.0"), "sysbench version whose defaults apply {1.0, 1.1}"),
    ("lua-isolation", String, Some("auto"), "owner of a Lua state {auto, worker, client}"),
    ("workers", Int, Some("0"), "OS threads that run the clients; 0 means automatic"),
    ("percentiles", List, Some(""), "further percentiles of the latency, such as 50,95,99,99.9"),
    ("latency-by", String, Some(""), "report latency of each {statement} as well"),
    ("errors-by-class", Bool, Some("off"), "report the number of errors by class"),
    ("report-format", String, Some("text"), "what is printed {text, json}; json is one document"),
    (
        "drain-timeout",
        Double,
        Some("60"),
        "seconds after --time that running events have to end; 0 waits for ever",
    ),
    ("connect-timeout", Double, Some("10"), "time limit of a connection attempt in seconds"),
    (
        "pgsql-ignore-errors",
        List,
        Some("40P01,23505,40001"),
        "SQLSTATEs after which an event is restarted, or 'all'",
    ),
    (
        "runs",
        String,
        Some(""),
        "folder of the run's record, or 'none'; default TRUETPS_RUNS, or a state folder",
    ),
    (
        "probe-interval",
        Double,
        Some("1"),
        "seconds between readings of server and host during 'run'; 0 reads neither",
    ),
    ("ui", Bool, Some("off"), "show 'run' live on the whole terminal"),
    ("dsn", String, Some(""), "address of a server as one DSN, instead of mysql-* and pgsql-*"),
    (
        "part",
        String,
        Some(""),
        "make part I of N of the load of 'run', counted from 0, such as 0/4; auto, auto/N",
    ),
    (
        "part-wait",
        Double,
        Some("300"),
        "seconds that parts wait for each other before the first event",
    ),
    (
        "lua-memory-limit",
        Size,
        Some("0"),
        "memory limit of one Lua state; 0 means half of the machine's memory",
    ),
];

/// Everything that is known before a script is read, in the order of the help page.
pub(super) fn options(compat: SysbenchRelease) -> impl Iterator<Item = (OptionGroup, OptionSpec)> {
    let groups: [(OptionGroup, &[BuiltinOption]); 8] = [
        (OptionGroup::General, &GENERAL),
        (OptionGroup::Rand, &RAND),
        (OptionGroup::Log, &LOG),
        (OptionGroup::Latency, &LATENCY),
        (OptionGroup::Database, &DATABASE),
        (OptionGroup::Mysql, &MYSQL),
        (OptionGroup::Pgsql, &PGSQL),
        (OptionGroup::Ours, &OURS),
    ];
    groups
        .into_iter()
        .flat_map(move |(group, rows)| rows.iter().map(move |row| (group, spec(*row, compat))))
}

fn spec((name, kind, default, description): BuiltinOption, compat: SysbenchRelease) -> OptionSpec {
    let (kind, default) = match (name, compat) {
        ("rand-type", SysbenchRelease::V1_0) => (kind, Some("special")),
        ("rand-type", SysbenchRelease::V1_1) => (kind, Some("uniform")),
        // Scripts see a boolean in 1.0 and the mode's name in 1.1.
        ("mysql-ssl", SysbenchRelease::V1_0) => (Bool, Some("off")),
        ("mysql-ssl", SysbenchRelease::V1_1) => (kind, Some("disabled")),
        _ => (kind, default),
    };
    OptionSpec::new(name, description, default.map(str::as_bytes), kind)
}
