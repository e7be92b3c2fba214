//! Files of random parts, read by both.

use truetps_random::RandomStream;
use truetps_sandbox::ServerBinary;

use crate::programs::{check_all, compare, mysql_family};

/// The number of files. A server of each family reads each, and every server its share of them.
const VARIABLE: &str = "TRUETPS_FUZZ_OPTION_FILES";
const FILES: u64 = 200;

/// What files are made of: whole words, and whatever means something to a reader.
const PARTS: [&[u8]; 56] = [
    b"[mysqld]\n",
    b"[mysqld]\n",
    b"[mysqld]",
    b"[server]\n",
    b"[client]\n",
    b"[mariadb]\n",
    b"[MySQLd ]\n",
    b"[",
    b"]",
    b"\n",
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b" ",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"=",
    b"=",
    b"=",
    b"#",
    b"#",
    b";",
    b"!",
    b"!include /nowhere\n",
    b"'",
    b"'",
    b"\"",
    b"\"",
    b"\\",
    b"\\",
    b"\\n",
    b"\\s",
    b"\\\\",
    b"\\\"",
    b"\\'",
    b"a",
    b"b",
    b"max_connections",
    b"skip-x",
    b"loose-y",
    b"1",
    b"16M",
    b"ON",
    b"-",
    b"_",
    b".",
    b"/",
    b"%",
    "\u{e4}".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{3000}".as_bytes(),
    b"\xa0",
];

fn file_of(seed: u64) -> Vec<u8> {
    let mut random = RandomStream::new(seed, 0);
    let parts = 1 + random.below(40);
    let start: &[u8] = if random.below(8) == 0 { b"" } else { b"[mysqld]\n" };
    let parts = (0..parts).map(|_| PARTS[random.below(PARTS.len() as u64) as usize]);
    std::iter::once(start).chain(parts).collect::<Vec<_>>().concat()
}

pub(crate) fn files() -> u64 {
    std::env::var(VARIABLE).map_or(FILES, |number| number.parse().unwrap())
}

#[test]
fn random_files_are_read_as_the_server_reads_them() {
    let number = files();
    let servers = mysql_family("random_files_are_read_as_the_server_reads_them");
    let (mariadb, mysql): (Vec<_>, Vec<_>) =
        servers.into_iter().partition(ServerBinary::is_mariadb);
    let families = [mariadb, mysql].into_iter().filter(|family| !family.is_empty());
    let families: Vec<_> = families.collect();
    let one_of = |family: &Vec<ServerBinary>, seed| family[seed as usize % family.len()].clone();
    let cases: Vec<_> = (0..number)
        .flat_map(|seed| families.iter().map(move |family| (one_of(family, seed), seed)))
        .collect();
    check_all(&cases, |(server, seed), dir| {
        compare(server, &file_of(*seed), dir).map_err(|told| format!("seed {seed}: {told}"))
    });
}
