//! The options that exist before any script is read: those of sysbench 1.0.20 and of 1.1 together, and ours.
//!
//! Names, types and defaults are sysbench's, as a command line has to find them; descriptions are our own.

use super::OptionType::{self, Bool, Double, File, Int, List, Size, String};
use super::{OptionGroup, OptionSpec, SysbenchRelease};

/// Name, type, default, description.
type BuiltinOption = (&'static str, OptionType, Option<&'static str>, &'static str);

const GENERAL: [BuiltinOption; 20] = [
    ("threads", Int, Some("1"), "clients that run events at the same time"),
    ("events", Int, Some("0"), "end after so many events in all; 0 is no limit"),
    ("time", Int, Some("10"), "end after so many seconds; 0 is no limit"),
    ("warmup-time", Int, Some("0"), "seconds of the same load before the counted ones"),
    (
        "forced-shutdown",
        String,
        Some("off"),
        "give up on running events so many seconds after --time, or N% of it; empty is 5%, 'off' waits",
    ),
    ("thread-stack-size", Size, Some("64K"), "stack of a thread; accepted, our threads choose their own"),
    ("thread-init-timeout", Int, Some("30"), "seconds in which all clients have to be ready"),
    ("rate", Int, Some("0"), "start so many events each second, at random distances; 0 is as many as possible"),
    ("report-interval", Double, Some("0"), "seconds between reports of the run, such as 10 or 0.5; 0 is none"),
    (
        "report-checkpoints",
        List,
        Some(""),
        "seconds after the start, with commas between them, at which a full report is printed and counting starts anew",
    ),
    ("debug", Bool, Some("off"), "print what helps to find mistakes"),
    ("validate", Bool, Some("off"), "check results where a test can"),
    ("help", Bool, Some("off"), "print this page"),
    ("version", Bool, Some("off"), "print the version"),
    ("config-file", File, None, "file with a line 'name = value' for each option; the command line goes first"),
    ("luajit-cmd", String, None, "what 'luajit -j' takes, such as off, for every Lua state"),
    ("tx-rate", Int, Some("0"), "old name of --rate"),
    ("max-requests", Int, Some("0"), "old name of --events"),
    ("max-time", Int, Some("0"), "old name of --time"),
    ("num-threads", Int, Some("1"), "old name of --threads"),
];

const RAND: [BuiltinOption; 7] = [
    ("rand-type", String, None, "how sysbench.rand.default() chooses {uniform, gaussian, special, pareto, zipfian}"),
    ("rand-seed", Int, Some("0"), "start of the random numbers; 0 takes the time of day"),
    ("rand-spec-iter", Int, Some("12"), "numbers that one of 'special' or 'gaussian' is the mean of"),
    ("rand-spec-pct", Int, Some("1"), "percentage of the range that is special in 'special'"),
    ("rand-spec-res", Int, Some("75"), "percentage of the numbers that fall into the special part"),
    ("rand-pareto-h", Double, Some("0.2"), "the parameter h of 'pareto'"),
    ("rand-zipfian-exp", Double, Some("0.8"), "the exponent of 'zipfian'"),
];

const LOG: [BuiltinOption; 1] = [("verbosity", Int, Some("3"), "how much is said {0: what is fatal, 5: everything}")];

const LATENCY: [BuiltinOption; 2] = [
    ("percentile", Int, Some("95"), "percentile of the latency that is reported (1-100); 0 is none"),
    ("histogram", Bool, Some("off"), "print how the latency is distributed"),
];

const DATABASE: [BuiltinOption; 3] = [
    ("db-driver", String, Some("mysql"), "the server's protocol {mysql, pgsql}"),
    ("db-ps-mode", String, Some("auto"), "whether statements are prepared by the server {auto, disable}"),
    ("db-debug", Bool, Some("off"), "taken, and prints nothing"),
];

const MYSQL: [BuiltinOption; 16] = [
    ("mysql-host", List, Some("localhost"), "hosts; connections take them in turn"),
    ("mysql-port", List, Some("3306"), "ports; each host is tried with each"),
    ("mysql-socket", List, None, "paths of sockets, in place of hosts and ports"),
    ("mysql-user", String, Some("sbtest"), "user"),
    ("mysql-password", String, Some(""), "password"),
    ("mysql-db", String, Some("sbtest"), "database"),
    ("mysql-ssl", String, None, "TLS {disabled, preferred, required, verify_ca, verify_identity}; 'on' is required"),
    ("mysql-ssl-key", String, None, "file with the client's key"),
    ("mysql-ssl-ca", String, None, "file with the certificates that the server's is checked against"),
    ("mysql-ssl-cert", String, None, "file with the client's certificate"),
    ("mysql-ssl-cipher", String, Some(""), "taken; the TLS library chooses ciphers"),
    ("mysql-compression", Bool, Some("off"), "'on' is refused: there is no compression"),
    ("mysql-compression-algorithms", String, Some("zlib"), "taken; there is no compression"),
    ("mysql-debug", Bool, Some("off"), "taken, and prints nothing"),
    (
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "numbers of errors after which an event is started again, or 'all'",
    ),
    ("mysql-dry-run", Bool, Some("off"), "send nothing: measures the script alone"),
];

const PGSQL: [BuiltinOption; 6] = [
    ("pgsql-host", String, Some("localhost"), "host, or the folder of a socket"),
    ("pgsql-port", Int, Some("5432"), "port"),
    ("pgsql-user", String, Some("sbtest"), "user"),
    ("pgsql-password", String, Some(""), "password"),
    ("pgsql-db", String, Some("sbtest"), "database"),
    ("pgsql-sslmode", String, Some("prefer"), "TLS {disable, allow, prefer, require, verify-ca, verify-full}"),
];

const OURS: [BuiltinOption; 13] = [
    ("compat", String, Some("1.0"), "the sysbench whose defaults are taken {1.0, 1.1}"),
    ("lua-isolation", String, Some("auto"), "a Lua state for each {worker, client}; 'auto' chooses"),
    ("workers", Int, Some("0"), "threads of the system that carry the clients; 0 chooses"),
    ("percentiles", List, Some(""), "further percentiles of the latency, such as 50,95,99,99.9"),
    ("latency-by", String, Some(""), "report latency of each {statement} as well"),
    ("errors-by-class", Bool, Some("off"), "report how often each error was met"),
    ("report-format", String, Some("text"), "what is printed {text, json}; json is one document"),
    ("drain-timeout", Double, Some("60"), "seconds after --time in which running events may end; 0 waits for ever"),
    ("connect-timeout", Double, Some("10"), "seconds that making a connection may take"),
    (
        "pgsql-ignore-errors",
        List,
        Some("40P01,23505,40001"),
        "states of errors after which an event is started again, or 'all'",
    ),
    ("runs", String, Some("runs"), "folder that the run is kept in, or 'none'; also TRUETPS_RUNS in the environment"),
    ("dsn", String, Some(""), "a server in one text, in place of mysql-* and pgsql-*"),
    ("lua-memory-limit", Size, Some("0"), "most memory of one Lua state; 0 is half of the machine's"),
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
    groups.into_iter().flat_map(move |(group, rows)| rows.iter().map(move |row| (group, spec(*row, compat))))
}

fn spec((name, kind, default, description): BuiltinOption, compat: SysbenchRelease) -> OptionSpec {
    let (kind, default) = match (name, compat) {
        ("rand-type", SysbenchRelease::V1_0) => (kind, Some("special")),
        ("rand-type", SysbenchRelease::V1_1) => (kind, Some("uniform")),
        // Scripts see a boolean in one and the mode's name in the other.
        ("mysql-ssl", SysbenchRelease::V1_0) => (Bool, Some("off")),
        ("mysql-ssl", SysbenchRelease::V1_1) => (kind, Some("disabled")),
        _ => (kind, default),
    };
    OptionSpec::new(name, description, default.map(str::as_bytes), kind)
}
