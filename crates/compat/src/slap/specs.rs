//! All options of mysqlslap: MySQL's, MariaDB's, and truetps's.

use crate::mysql_words::{Spec, WordKind};

/// The program's name in messages.
pub(super) const NAME: &str = "mysqlslap";

const fn spec(
    name: &'static str,
    short: Option<char>,
    kind: WordKind,
    about: &'static str,
) -> Spec {
    Spec { name, short, kind, is_original: true, about }
}

/// An option that `mysqlslap` has and `mariadb-slap` lacks, or an option of truetps.
const fn other(
    name: &'static str,
    short: Option<char>,
    kind: WordKind,
    about: &'static str,
) -> Spec {
    Spec { is_original: false, ..spec(name, short, kind, about) }
}

use WordKind::{Count, Number, OptionalText, Secret, Switch, Text};

/// In the order of the help page: options of both programs, then of one of them, then of truetps
/// alone.
pub(super) static SPECS: [Spec; 76] = [
    spec("help", Some('?'), Count, "this page"),
    spec("version", Some('V'), Count, "the version"),
    spec("auto-generate-sql", Some('a'), Switch, "make a table, its rows and the queries"),
    spec(
        "auto-generate-sql-add-autoincrement",
        None,
        Switch,
        "the key of the table is AUTO_INCREMENT",
    ),
    spec("auto-generate-sql-execute-number", None, Number, "queries of each client"),
    spec("auto-generate-sql-guid-primary", None, Switch, "its key is a UUID"),
    spec(
        "auto-generate-sql-load-type",
        None,
        Text,
        "queries {mixed, update, write, key, read}; default mixed",
    ),
    spec("auto-generate-sql-secondary-indexes", None, Number, "columns with a unique index"),
    spec("auto-generate-sql-unique-query-number", None, Number, "different queries; default 10"),
    spec(
        "auto-generate-sql-unique-write-number",
        None,
        Number,
        "different rows among those that fill the table; default 10",
    ),
    spec(
        "auto-generate-sql-write-number",
        None,
        Number,
        "rows that fill the table, plus 1; default 100",
    ),
    spec("commit", None, Number, "statements of a transaction; 0: each is one"),
    spec(
        "concurrency",
        Some('c'),
        Text,
        "clients; several numbers with commas are tested one after the other",
    ),
    spec("create", None, Text, "statements that make tables, or a file with them"),
    spec("create-schema", None, Text, "schema for the test; default mysqlslap"),
    spec(
        "csv",
        None,
        OptionalText,
        "a line of figures for each test, to a file or the standard output",
    ),
    spec("delimiter", Some('F'), Text, "text between statements, of any length; default newline"),
    spec("detach", None, Number, "statements of a client after which it connects again; 0: never"),
    spec(
        "engine",
        Some('e'),
        Text,
        "storage engines; 'memory:max_rows=9' gives one of them options",
    ),
    spec("iterations", Some('i'), Number, "how often each test is run; default 1"),
    spec("no-drop", None, Switch, "leave the schema behind"),
    spec(
        "number-char-cols",
        Some('x'),
        Text,
        "text columns; 'N:1' with an index on each; default 1",
    ),
    spec(
        "number-int-cols",
        Some('y'),
        Text,
        "number columns; 'N:1' with an index on each; default 1",
    ),
    spec(
        "number-of-queries",
        None,
        Number,
        "queries of all clients together; 0: each sends the list once",
    ),
    spec("only-print", None, Switch, "print the statements and send none"),
    spec("post-query", None, Text, "statements, or a file with them, after each run"),
    spec("post-system", None, Text, "command of the shell after each run"),
    spec("pre-query", None, Text, "statements, or a file with them, before each run"),
    spec("pre-system", None, Text, "command of the shell before each run"),
    spec("query", Some('q'), Text, "statements of the test, or a file with them"),
    spec("silent", Some('s'), Switch, "no report"),
    spec("verbose", Some('v'), Count, "say what is done; more often says more"),
    spec("host", Some('h'), Text, "host of the server"),
    spec("port", Some('P'), Number, "its port; default 3306"),
    spec("socket", Some('S'), Text, "path of its socket"),
    spec("protocol", None, Text, "how it is reached {tcp, socket}"),
    spec("user", Some('u'), Text, "user; default who runs this"),
    spec(
        "password",
        Some('p'),
        Secret,
        "password; without one it is asked for. Better in an option file",
    ),
    spec("ssl", None, Switch, "encrypt where the server can"),
    other("ssl-mode", None, Text, "{disabled, preferred, required, verify_ca, verify_identity}"),
    spec("ssl-ca", None, Text, "PEM file with authorities"),
    spec("ssl-cert", None, Text, "PEM file with the client's certificate"),
    spec("ssl-key", None, Text, "PEM file with its key"),
    spec("ssl-verify-server-cert", None, Switch, "check that the server is who it says"),
    spec("init-command", None, Text, "statement that each connection begins with"),
    other("sql-mode", None, Text, "sql_mode of each connection"),
    spec("default-auth", None, Text, "taken; the server says how to log in"),
    spec("plugin-dir", None, Text, "taken; there are no plugins"),
    spec("character-sets-dir", None, Text, "taken; texts are UTF-8"),
    spec("ssl-capath", None, Text, "refused: name a file with --ssl-ca"),
    spec("ssl-cipher", None, Text, "taken; the TLS library chooses ciphers"),
    other("tls-ciphersuites", None, Text, "taken; the TLS library chooses ciphers"),
    spec("tls-version", None, Text, "taken; TLS is 1.2 or 1.3"),
    spec("ssl-crl", None, Text, "refused: no lists of revoked certificates are read"),
    spec("ssl-crlpath", None, Text, "refused: no lists of revoked certificates are read"),
    other("ssl-fips-mode", None, Text, "taken, and changes nothing"),
    spec("compress", Some('C'), Switch, "refused: packets are sent as they are"),
    other("compression-algorithms", None, Text, "taken; there is no compression"),
    other("zstd-compression-level", None, Number, "taken; there is no compression"),
    other(
        "get-server-public-key",
        None,
        Switch,
        "without TLS, encrypt the password with the key that the server sends",
    ),
    other("server-public-key-path", None, Text, "taken; use TLS, or --get-server-public-key"),
    other(
        "enable-cleartext-plugin",
        None,
        Switch,
        "refused: a password is never sent in clear text",
    ),
    other("secure-auth", None, Switch, "taken, and changes nothing"),
    other("login-path", None, Text, "refused: use an option file"),
    spec("debug", Some('#'), OptionalText, "taken, and changes nothing"),
    spec("debug-check", None, Switch, "taken, and changes nothing"),
    spec(
        "debug-info",
        Some('T'),
        Switch,
        "prints at the end what the process has used, on the standard error",
    ),
    other("classic", None, Switch, "the original report alone"),
    other("seed", None, Number, "of generated rows and of chosen keys; default 1"),
    other("prepared", None, Switch, "statements are prepared, and not sent as text"),
    other("rate", None, Text, "queries a second of all clients, whatever the server does"),
    other("time", None, Text, "seconds after which a run ends, in place of a number of queries"),
    other("workers", None, Number, "threads that carry the clients; 0 chooses"),
    other(
        "runs",
        None,
        Text,
        "folder that runs are kept in, or 'none'; default TRUETPS_RUNS, or a state folder",
    ),
    other(
        "probe-interval",
        None,
        Text,
        "seconds between readings of server and host; 0 reads neither; default 1",
    ),
    other("ui", None, Switch, "show the runs live on the whole terminal"),
];

/// The first option that mysqlslap lacks.
pub(super) const FIRST_OF_OURS: &str = "classic";

/// Groups of option files that are read.
pub(super) const GROUPS: [&str; 5] =
    ["mysqlslap", "mariadb-slap", "client", "client-server", "client-mariadb"];
