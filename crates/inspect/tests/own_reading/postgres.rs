//! `postgresql.conf`, as a PostgreSQL itself reads it.

use std::path::{Path, PathBuf};

use truetps_files::{OptionFileError, OptionReader, OptionStyle, OptionVisitor, OptionWalk};
use truetps_inspect::server_options;
use truetps_random::RandomStream;
use truetps_sandbox::{FileSetting, ServerBinary, ServerUser, base_settings};
use truetps_testkit::every_postgres;

use crate::programs::{check_all, open_folder, output_of, write};

/// Lines with a setting that takes any text.
const LINES: [&str; 66] = [
    "x.y = 1",
    "x.y=1",
    "x.y 1",
    "  x.y\t=\t1  ",
    "x.y=1#c",
    "x.y = 1 # c",
    "X.Y = 1",
    "x.y",
    "x.y =",
    "= 1",
    "x.y == 1",
    "x.y = 1 2",
    "x.y 128 MB",
    "x.y = 128MB",
    "x.y = 1.5GB",
    "x.y = '1.5GB'",
    "x.y = 1.5",
    "x.y = .5",
    "x.y = 5.",
    "x.y = .",
    "x.y = 1e5",
    "x.y = 1.0e5",
    "x.y = 1.0e-5",
    "x.y = 1.e",
    "x.y = 0x1F",
    "x.y = 0x",
    "x.y = -1",
    "x.y = +1",
    "x.y = - 1",
    "x.y = 10%",
    "x.y = on",
    "x.y = a.b",
    "x.y = a.b.c",
    "x.y = a-b",
    "x.y = a_b:c/d",
    "x.y = /a",
    "x.y = a,b",
    "x.y = $user",
    "x.y = a b",
    "x.y = \"a\"",
    "x.y = 'a b'",
    "x.y = ''",
    "x.y = 'it''s'",
    "x.y = 'it\\'s'",
    "x.y = 'a\\n\\t\\\\b'",
    "x.y = 'a\\101\\7\\1234'",
    "x.y = 'a",
    "x.y = a'",
    "x.y = 'a''",
    "x.y = '''",
    "x.y = ''''",
    "x.y = 'a' 'b'",
    "x.y'a'",
    "x.y = 'a'b",
    "x.y = 'a # b' # c",
    "x.y = 'a'#c",
    "x.y = é",
    "x.y = 'é'",
    "x.y: 1",
    "x-y = 1",
    "x.y.z = 1",
    "#x.y = 1",
    ";x.y = 1",
    "x.y = 1;",
    "x.y = 1\\",
    "\u{feff}x.y = 1",
];
const ENDS: [&str; 3] = ["\n", "\r\n", ""];

/// Settings of each type and unit, and their values.
const SETTINGS: [&str; 8] = [
    "work_mem",
    "checkpoint_timeout",
    "commit_delay",
    "shared_buffers",
    "fsync",
    "wal_level",
    "checkpoint_completion_target",
    "application_name",
];
const VALUES: [&str; 24] = [
    "1", "0", "-1", "64", "64kB", "1MB", "1mb", "1M", "1GB", "'1.5GB'", "15min", "900s",
    "'15 min'", "0.5", "'0.5'", "on", "off", "of", "t", "yes", "replica", "REPLICA", "'x y'",
    "0x40",
];

/// Values by name, in the order of the file.
#[derive(Default)]
struct Values(Vec<(String, String)>);

impl OptionVisitor for Values {
    fn reads(&mut self, _: &str) -> bool {
        true
    }

    fn setting(&mut self, _: &Path, name: &str, value: Option<&str>) -> bool {
        self.0.extend(value.map(|value| (name.to_lowercase(), value.to_owned())));
        value.is_some()
    }

    fn note(&mut self, _: String) {}
}

/// Prints the setting as the server would have it, or says nothing where it refuses to start.
fn shown(binary: &ServerBinary, file: &Path, more: &[&str], name: &str) -> Option<String> {
    let file = format!("--config-file={}", file.display());
    let output = output_of(&binary.path, &[&["-D/", &file][..], more, &["-C", name]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// The server's value with this file, and with the value that truetps reads in it.
fn compare(binary: &ServerBinary, text: &[u8], name: &str, dir: &Path) -> Result<(), String> {
    let path: PathBuf = dir.join("postgresql.conf");
    write(&path, text);
    let with_file = shown(binary, &path, &[], name);
    let mut read = Values::default();
    let ours = OptionWalk::new(OptionStyle::Plain, OptionReader::Server, &mut read).file(&path);
    let value =
        read.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let is_same = match (&ours, value) {
        // What no report could show, or no text.
        (Err(OptionFileError::Encoding { .. } | OptionFileError::Cut { .. }), _) => true,
        // The mark is none of a name; a note says that the server does not start with it.
        _ if text.starts_with("\u{feff}".as_bytes()) => with_file.is_none(),
        // Another name, which is not known, is refused by a later check.
        (Ok(()), _) if read.0.iter().any(|(known, _)| known != name) => true,
        (Ok(()), Some(value)) => {
            let argument = format!("--{name}={value}");
            with_file == shown(binary, Path::new("/dev/null"), &[&argument], name)
        }
        (Err(_), _) | (Ok(()), None) => with_file.is_none(),
    };
    if is_same {
        Ok(())
    } else {
        Err(format!(
            "{}: {}: {with_file:?} {ours:?} {value:?}",
            binary.version,
            text.escape_ascii()
        ))
    }
}

#[test]
fn a_postgresql_conf_has_the_values_that_the_server_has() {
    let servers = every_postgres("a_postgresql_conf_has_the_values_that_the_server_has");
    let lines = LINES
        .iter()
        .enumerate()
        .map(|(n, line)| (format!("{line}{}", ENDS[n % ENDS.len()]), "x.y"));
    let value = |name| VALUES.map(|value| (format!("{name} = {value}\n"), name));
    let cases: Vec<_> = lines.chain(SETTINGS.into_iter().flat_map(value)).collect();
    let cases: Vec<_> =
        servers.iter().flat_map(|server| cases.iter().map(move |case| (server, case))).collect();
    check_all(&cases, |(server, (text, name)), dir| compare(server, text.as_bytes(), name, dir));
}

/// As initdb of another host has written them.
#[test]
fn what_this_host_lacks_is_left_out() {
    let dir = open_folder();
    let path = dir.path().join("postgresql.conf");
    for binary in every_postgres("what_this_host_lacks_is_left_out") {
        for line in [
            "lc_messages = 'xx_YY.UTF-8'",
            "lc_monetary = 'xx_YY.UTF-8'",
            "log_timezone = 'Nowhere/Nothing'",
        ] {
            write(&path, format!("{line}\nsynchronous_commit = off\n").as_bytes());
            assert_eq!(
                shown(&binary, &path, &[], "synchronous_commit"),
                None,
                "the server refuses it: {line}"
            );
            let side = server_options(&path, binary.flavour, &binary.version.to_string()).unwrap();
            let lines: Vec<_> = side
                .settings
                .into_iter()
                .map(|(name, found)| FileSetting {
                    name,
                    value: found.value,
                    is_loose: false,
                    is_bare: false,
                })
                .collect();
            let base = base_settings(&binary, &ServerUser::choose(), &lines).unwrap();
            assert_eq!(base.kept, [("synchronous_commit".to_owned(), "off".to_owned())]);
            assert!(base.ignored[0].1.contains("this host has no"), "{:?}", base.ignored);
        }
        write(&path, b"wal_level = nonsense\n");
        let lines = [FileSetting {
            name: "wal_level".to_owned(),
            value: "nonsense".to_owned(),
            is_loose: false,
            is_bare: false,
        }];
        assert!(base_settings(&binary, &ServerUser::choose(), &lines).is_err());
    }
}

const PARTS: [&[u8]; 34] = [
    b"x.y",
    b"x.y",
    b" = ",
    b"=",
    b"\n",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"#",
    b"'",
    b"'",
    b"''",
    b"\\",
    b"\\'",
    b"\\n",
    b"\\101",
    b"a",
    b"on",
    b"1",
    b"64",
    b"MB",
    b".",
    b".5",
    b"-",
    b"+",
    b":",
    b"/",
    b",",
    b"e5",
    b"0x",
    b"_",
    "é".as_bytes(),
    b"\x0c",
];

#[test]
fn random_postgresql_confs_are_read_as_the_server_reads_them() {
    let servers = every_postgres("random_postgresql_confs_are_read_as_the_server_reads_them");
    let cases = (0..crate::fuzz::files() / 2)
        .flat_map(|seed| servers.iter().map(move |server| (server, seed)));
    let cases: Vec<_> = cases.collect();
    check_all(&cases, |(server, seed), dir| {
        let mut random = RandomStream::new(*seed, 1);
        let parts = (0..random.below(12)).map(|_| PARTS[random.below(PARTS.len() as u64) as usize]);
        let text = [&b"x.y = "[..]].into_iter().chain(parts).collect::<Vec<_>>().concat();
        compare(server, &text, "x.y", dir).map_err(|told| format!("seed {seed}: {told}"))
    });
}
