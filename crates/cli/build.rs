//! Scripts of sysbench find functions of ours by their names (`ffi.C`), so that the program has to
//! export them. `--version` shows what the program was built from.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    export_symbols();
    println!("cargo::rustc-env=TRUETPS_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-env-changed=TRUETPS_COMMIT");
    println!("cargo::rustc-env=TRUETPS_BUILT_FROM={}", built_from().unwrap_or_default());
}

/// The linker of zig, which releases are made with, cannot choose names: it exports all that C
/// functions can have.
fn export_symbols() {
    if env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zigcc")) {
        println!("cargo::rustc-link-arg-bins=-rdynamic");
        return;
    }
    for names in ["sb_*", "truetps_*"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}

/// The commit and its date, `0bb079ca0d9b 2026-11-24`: of the variable where sources have no
/// repository, such as in a container, else of git. `None`: an archive of the sources without
/// either, or a debug build. The latter would be linked again, with all its tests, after every
/// commit.
fn built_from() -> Option<String> {
    if let Ok(given) = env::var("TRUETPS_COMMIT") {
        return Some(given.trim().to_owned());
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    let root =
        Path::new(&env::var("CARGO_MANIFEST_DIR").ok()?).join("../..").canonicalize().ok()?;
    // An archive that was unpacked inside of another repository has not its commit.
    if Path::new(&git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", file])?);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    git(&root, &["log", "-1", "--abbrev=12", "--format=%h %cs"])
}

/// What git prints; `None`: there is no git, or no repository.
#[expect(
    clippy::disallowed_methods,
    reason = "only the sandbox starts processes; this is no part of truetps"
)]
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = std::process::Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
