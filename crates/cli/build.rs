//! Scripts of sysbench find functions of ours by their names (`ffi.C`), so that the program has to export them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for names in ["sb_*", "truetps_*"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}
