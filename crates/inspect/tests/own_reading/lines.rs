//! Which words a server makes of a file: a corpus by rule, and files in the manner of public ones.

use truetps_sandbox::ServerBinary;

use crate::programs::{check_all, compare, mysql_family, open_folder, servers_words};

/// Lines of a group, with each of the ends.
const LINES: [&str; 61] = [
    "a=1",
    "a = 1",
    "a\t=\t1",
    "  a=1  ",
    "a",
    "a =",
    "a=",
    "a==1",
    "a=b=c",
    "a b",
    "a b = c d",
    "a-b_c=1",
    "A=1",
    "a=1 # rest",
    "a=1# rest",
    "a=1 ; rest",
    "a # rest",
    "a=#1",
    "a='#1'",
    "a=\"#1\" # rest",
    "a='x\"#y' # it's",
    "a=it's # no comment",
    "a='it\\'s' # rest",
    "a=\"x\\\"#y\"",
    "a=x\\\"#y",
    "a='x",
    "a=x'",
    "a='",
    "a=\"\"",
    "a='\"x\"'",
    "a=''x''",
    "a=\"x\" y",
    "a=\" x \"",
    "a=\\n\\t\\r\\b\\s|",
    "a=\\\\|\\\"|\\'",
    "a=\\x\\0\\u",
    "a=C:\\data\\new",
    "a=x\\",
    "a='x\\'",
    "a=x\\\\",
    "# a=1",
    "; a=1",
    "  ;a=1",
    "#",
    "",
    " \t ",
    "a#b=1",
    "'a'=1",
    "a=10%",
    "a=/var/lib/mysql",
    "a=x,y, z",
    "a=é",
    "a=à",
    "a=\u{3000}x\u{3000}",
    "a=x\u{a0}",
    "a\u{2028}=x",
    "<html>",
    "a=1\n\n\nb=2\na=3",
    "a=1\\\nb=2",
    "!bogus x",
    "!",
];
const ENDS: [&str; 4] = ["\n", "\r\n", " \t\r\n# end\n", ""];

/// Heads of groups, each with a line before, and other groups behind.
const GROUPS: [&str; 43] = [
    "[mysqld]",
    "[MYSQLD]",
    "[MySqld]",
    "[ mysqld]",
    "[mysqld ]",
    "[mysqld\t]",
    " [mysqld]",
    "[mysqld] # rest",
    "[mysqld]x=5",
    "[mysqld]]",
    "[[mysqld]]",
    "[my sqld]",
    "[]",
    "[#mysqld]",
    "['mysqld']",
    "[server]",
    "[SERVER]",
    "[mysqld1]",
    "[mysqld-5.7]",
    "[mysqld-8.0]",
    "[mysqld-8.0.15]",
    "[mysqld-9.7]",
    "[mysqld-10.11]",
    "[mysqld-11.8]",
    "[mysqld-8]",
    "[mysqld-11]",
    "[mysqld-x]",
    "[mariadb]",
    "[MariaDB]",
    "[mariadb-10.11]",
    "[mariadb-10]",
    "[mariadb-11.8]",
    "[mariadb-11]",
    "[mariadbd]",
    "[mariadbd-10.11]",
    "[mariadbd-11]",
    "[client-server]",
    "[client]",
    "[mysqld_safe]",
    "[embedded]",
    "[galera]",
    "[mysql_cluster]",
    "[mysqldump]",
];

/// Small files of the kinds that are published, written anew; some are refused.
const FILES: [&[u8]; 26] = [
    // As in the field.
    b"[mysqld]\nautocommit=0\n",
    b"[mysqld]\ncharacter-set-server=utf8mb4\ncollation-server=utf8mb4_general_ci\n",
    b"[mysqld]\nserver-id=1\nlog-bin\ntransaction_write_set_extraction=XXHASH64\nbinlog_transaction_dependency_tracking=WRITESET\n",
    b"[mysqld]\nskip-external-locking\n",
    b"[mysqld]\ninnodb_buffer_pool_instances=8\ninnodb_log_files_in_group=2\n",
    b"[mysqld]\nkey_buffer=16M\n",
    b"[mysqld]\ninnodb_buffer_pool_size=512M\n",
    b"[mysqld]\ninnodb_buffer_pool_size=512MB\n",
    b"[mysqld]\ninnodb_buffer_pool_size=250M\n",
    b"[mysqld]\nopen_files_limit=65535\n",
    b"[mysqld]\n# \xc4\xda\xb4\xe6\ninnodb_buffer_pool_size=256M\n",
    b"innodb_flush_log_at_trx_commit=2\n[mysqld]\nmax_connections=200\n",
    b"[mysqld]\nsync_binlog=17\n",
    // A server's file of a distribution.
    b"#\n# These groups are read by MariaDB server.\n\n# this is read by the standalone daemon and \
      embedded servers\n\
      [server]\n\n# this is only for the mysqld standalone daemon\n[mysqld]\n\n#\n# * Basic \
      Settings\n#\n\npid-file = /run/mysqld/mysqld.pid\nbasedir                 = \
      /usr\n#datadir                 = /var/lib/mysql\n\
      bind-address            = 127.0.0.1\n#key_buffer_size        = 128M\nexpire_logs_days        \
      = 10\n\
      character-set-server     = utf8mb4\ncharacter-set-collations = \
      utf8mb4=uca1400_ai_ci\n\n[embedded]\nx=1\n[mariadb]\n\
      y=1\n[mariadb-10.11]\nz=1\n",
    // Of a hosting panel, with a client's part.
    b"[client]\nport = 3306\nsocket = /tmp/mysql.sock\n[mysqld]\nport\t\t= \
      3306\nskip-name-resolve\n#skip-networking\n\
      max_allowed_packet = \
      100G\nsql-mode=NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES\nlog-bin=mysql-bin\n\
      binlog_format=mixed\n[mysqldump]\nquick\n[myisamchk]\nkey_buffer_size = \
      20M\n[mysqlhotcopy]\ninteractive-timeout\n",
    // Of Windows.
    b"# Notes\r\n\r\n[mysqld]\r\nport=3306\r\n# Path\r\ndatadir=C:/ProgramData/MySQL/MySQL Server \
      8.0\\Data\r\n\
      default_authentication_plugin=caching_sha2_password\r\nsql-mode=\"STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION\"\r\n",
    b"\xef\xbb\xbf[mysqld]\nmax_connections=7\n",
    b"\xef\xbb\xbf# my.ini\n[mysqld]\nmax_connections=7\n",
    b"\xff\xfe[\0m\0y\0s\0q\0l\0d\0]\0\n\0a\0=\x001\0\n\0",
    // Of a container, of a tutorial, of a merge that went wrong.
    b"[mysqld]\nuser=mysql\nsecure-file-priv=NULL\nskip-host-cache\nskip-name-resolve\n!includedir /nowhere/conf.d/\n",
    b"[mysqld]\nplugin-load-add=auth_socket.so\nloose-group_replication_group_name=\"aaaa-bb\"\n\
      init_connect='SET NAMES utf8mb4; SET autocommit=1'\nlog_error_verbosity=2\n",
    b"[mysqld]\n<<<<<<< HEAD\nmax_connections=100\n=======\nmax_connections=200\n>>>>>>> tuning\n",
    b"  [mysqld]\n  # indented\n    max_connections   =   500   # for the pool\n    \
      wait_timeout=28800;\n",
    b"---\nmysqld:\n  max_connections: 7\n",
    b"[mysqld]\nmax_connections: 7\nmax_connections 7\n\"max_connections\"=7\n",
    b"",
];

/// Lines with which a server does not start.
const REFUSED: [&str; 8] =
    ["[mysqld", "[", "[mysqld\nb=1]", "!include", "! include ", "!includedir", " =1", "=1"];

#[test]
fn a_line_has_the_words_that_the_server_makes_of_it() {
    let cases = |end: &str| LINES.map(|line| format!("[mysqld]\n{line}{end}").into_bytes());
    let test = "a_line_has_the_words_that_the_server_makes_of_it";
    for end in &ENDS[..3] {
        check_joined(test, &cases(end));
    }
    check_words(&mysql_family(test)[..1], &cases(ENDS[3]));
    let refused = REFUSED.map(|line| format!("[mysqld]\na=1\n{line}\nc=1\n").into_bytes());
    check_words(&mysql_family(test), &refused);
}

#[test]
fn a_group_is_read_by_whom_it_is_for() {
    let cases = GROUPS.map(|group| {
        format!("[mysqld]\na=0\n{group}\nb=1\n[client]\nc=2\n{group}\nd=3\n").into_bytes()
    });
    let before = GROUPS.map(|group| format!("# first\n{group}\nb=1\n").into_bytes());
    check_joined("a_group_is_read_by_whom_it_is_for", &[cases, before].concat());
}

#[test]
fn a_file_as_they_are_published() {
    check_words(&mysql_family("a_file_as_they_are_published"), &FILES.map(<[u8]>::to_vec));
    assert!(LINES.len() * ENDS.len() + REFUSED.len() + GROUPS.len() * 2 + FILES.len() >= 300);
}

/// Longer than the part of a line that a server reads at once.
#[test]
fn a_line_may_have_so_many_bytes() {
    let long = [4090, 4091, 4092, 4093, 4094, 4095, 4200].map(|length| {
        let line = format!("a={}", "x".repeat(length - 2));
        [line.clone(), format!("# {line}"), format!("{line}\r")]
            .map(|line| format!("[mysqld]\n{line}\nb=1\n").into_bytes())
    });
    check_words(&mysql_family("a_line_may_have_so_many_bytes"), &long.concat());
}

fn check_words(servers: &[ServerBinary], cases: &[Vec<u8>]) {
    let all: Vec<_> =
        servers.iter().flat_map(|server| cases.iter().map(move |case| (server, case))).collect();
    check_all(&all, |(server, case), dir| compare(server, case, dir));
}

/// Files that servers take, as one file, since a process of a server takes longer than its reading;
/// each alone where that one differs.
fn check_joined(test: &str, cases: &[Vec<u8>]) {
    let dir = open_folder();
    let joined = cases.concat();
    let differs = |server: &ServerBinary| {
        let is_same = compare(server, &joined, dir.path()).is_ok();
        !is_same || servers_words(server, &dir.path().join("my.cnf")).is_none()
    };
    let other: Vec<_> = mysql_family(test).into_iter().filter(differs).collect();
    check_words(&other, cases);
}

/// Files that include others, in a folder.
#[test]
fn includes_are_followed_as_the_server_follows_them() {
    let servers = mysql_family("includes_are_followed_as_the_server_follows_them");
    let lines = [
        "!include DIR/one.cnf",
        "! include DIR/one.cnf",
        "!include\tDIR/one.cnf  ",
        "!includeDIR/one.cnf",
        "!include DIR/nowhere.cnf",
        "!include \"DIR/one.cnf\"",
        "!include DIR/one.cnf # one",
        "!include",
        "!include \t",
        "!includedir",
        "!includedir DIR/some",
        "!includedir DIR/some/",
        "!includedir DIR/nowhere",
        "!INCLUDE DIR/one.cnf",
        "!include DIR/before.cnf",
        "!include DIR/group.cnf",
        "!include DIR/nothing.cnf",
        "!include DIR/again.cnf",
        "!include DIR/my.cnf",
        "#!include DIR/one.cnf",
    ];
    let cases: Vec<_> =
        servers.iter().flat_map(|server| lines.map(|line| (server, line))).collect();
    check_all(&cases, |(server, line), dir| {
        let write =
            |name: &str, text: &str| crate::programs::write(&dir.join(name), text.as_bytes());
        write("one.cnf", "[mysqld]\none=1\n[client]\nno=1\n");
        write("before.cnf", "before=1\n[mysqld]\nno=1\n");
        write("group.cnf", "[mysqld]\ngroup=1\n[mysqld\nno=1\n");
        write("nothing.cnf", "[mysqld]\nnothing=1\n!include\nno=1\n");
        write(
            "again.cnf",
            &format!("[mysqld]\nagain=1\n!include {}/one.cnf\nlast=1\n", dir.display()),
        );
        std::fs::create_dir_all(dir.join("some")).unwrap();
        for name in
            ["some/b.cnf", "some/a.cnf", "some/c.conf", "some/.d.cnf", "some/e.ini", "some/f.CNF"]
        {
            write(name, &format!("[mysqld]\n{}=1\n", name.replace(['/', '.'], "_")));
        }
        let line = line.replace("DIR", dir.to_str().unwrap());
        compare(server, format!("[mysqld]\na=1\n{line}\nb=2\n").as_bytes(), dir)
    });
}
