//! Builds the library that servers preload, which is put into the program: a user installs one
//! file.
//!
//! It is no dependency: then its functions, which have the names of the C library's, would be in
//! the program as well.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "truetps-prealloc";
/// Sources that it is made of, from this crate's folder.
const SOURCES: [&str; 4] =
    ["../prealloc/src", "../prealloc/Cargo.toml", "../binlog/src", "../binlog/Cargo.toml"];

#[expect(
    clippy::disallowed_methods,
    reason = "only the sandbox starts processes; this is no part of truetps"
)]
fn main() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let target = env::var("TARGET").expect("cargo sets it");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("library");
    let mut command = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    // A lint driver or a wrapper of the outer build has no business here; nor has its job server,
    // whose tokens it holds.
    for name in
        ["RUSTC_WORKSPACE_WRAPPER", "CARGO_MAKEFLAGS", "MAKEFLAGS", "CARGO_ENCODED_RUSTFLAGS"]
    {
        command.env_remove(name);
    }
    let status = command
        .args([
            "rustc",
            "--package",
            PACKAGE,
            "--lib",
            "--crate-type",
            "cdylib",
            "--release",
            "--locked",
            "--quiet",
        ])
        .args(["--config", "profile.release.lto=\"thin\""])
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(&here)
        .status();
    let made = folder.join(&target).join("release/libtruetps_prealloc.so");
    match status {
        Ok(status) if status.success() && Path::new(&made).is_file() => {}
        Ok(status) => panic!("building {PACKAGE}: {status}, and {} is missing", made.display()),
        Err(error) => panic!("building {PACKAGE}: cargo does not start: {error}"),
    }
    println!("cargo::rustc-env=TRUETPS_PREALLOC_LIBRARY={}", made.display());
}
