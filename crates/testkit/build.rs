//! From the list of servers that can be fetched: their names, and a macro that makes a test of
//! each.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const LIST: &str = "../../scripts/servers.toml";

fn main() {
    println!("cargo::rerun-if-changed={LIST}");
    let list = fs::read_to_string(LIST).expect(LIST);
    let entries: Vec<_> = list.split("[[server]]").skip(1).collect();
    let (postgres, mysql): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| name(entry).starts_with("postgresql-"));
    let prepared = mysql.iter().filter(|entry| entry.contains("\npreallocation = true\n"));
    let code = [
        names(
            "Servers of the MySQL family that `get-test-servers.sh` can fetch, oldest first in \
             each branch.",
            "FETCHABLE",
            &mysql,
        ),
        names(
            "PostgreSQL versions that it can fetch, oldest first.",
            "FETCHABLE_POSTGRES",
            &postgres,
        ),
        calls("`", "for_each_server", mysql.iter().copied()),
        calls("With preallocation: `", "for_each_preallocation_server", prepared.copied()),
    ];
    let folder = env::var("OUT_DIR").expect("cargo names the folder");
    fs::write(Path::new(&folder).join("servers.rs"), code.concat())
        .expect("the folder takes a file");
}

/// The value of the line `name = "…"`.
fn name(entry: &str) -> &str {
    let line = entry.lines().find_map(|line| line.strip_prefix("name = \""));
    line.and_then(|rest| rest.strip_suffix('"')).expect("an entry has a name")
}

fn names(about: &str, constant: &str, entries: &[&str]) -> String {
    let names: Vec<_> = entries.iter().map(|entry| name(entry)).collect();
    format!("/// {about}\npub(crate) const {constant}: [&str; {}] = {names:?};\n", names.len())
}

fn calls<'a>(about: &str, name_of_macro: &str, entries: impl Iterator<Item = &'a str>) -> String {
    let mut code = format!(
        "/// {about}$make!(mysql_5_7 \"mysql-5.7\" more)` for each server of the family.\n\
         #[macro_export]\nmacro_rules! {name_of_macro} {{\n    ($make:ident $($more:tt)*) => {{\n"
    );
    for name in entries.map(name) {
        let word = name.replace(['-', '.'], "_");
        // Writing to a string does not fail.
        let _ = writeln!(code, "        $make!({word} \"{name}\" $($more)*);");
    }
    code + "    };\n}\n"
}
