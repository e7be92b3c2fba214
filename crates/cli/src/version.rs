//! What this program is, and what it was built from.

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// `0bb079ca0d9b 2026-11-24`; empty where the sources had no repository.
const BUILT_FROM: &str = env!("TRUETPS_BUILT_FROM");
const TARGET: &str = env!("TRUETPS_TARGET");

/// One line: `0.1.0 (0bb079ca0d9b 2026-11-24)`.
pub(crate) fn short() -> String {
    short_of(BUILT_FROM)
}

/// Several lines: the version, and what else a report of a defect needs.
pub(crate) fn long() -> String {
    long_of(BUILT_FROM, cfg!(debug_assertions))
}

fn short_of(built_from: &str) -> String {
    if built_from.is_empty() { VERSION.to_owned() } else { format!("{VERSION} ({built_from})") }
}

fn long_of(built_from: &str, is_debug: bool) -> String {
    let (commit, date) = match built_from.split_once(' ') {
        Some((commit, date)) => (commit, date),
        None if built_from.is_empty() => ("unknown", "unknown"),
        None => (built_from, "unknown"),
    };
    let build = if is_debug { "debug" } else { "release" };
    format!("{VERSION}\ncommit  {commit}\ndate    {date}\ntarget  {TARGET}\nbuild   {build}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_a_repository_says_so() {
        let check = |built_from: &str, short: &str, commit: &str, date: &str| {
            assert_eq!(short_of(built_from), format!("{VERSION}{short}"));
            let long = long_of(built_from, false);
            assert!(
                long.starts_with(&format!("{VERSION}\ncommit  {commit}\ndate    {date}\ntarget  ")),
                "{long}"
            );
            assert!(long.ends_with("\nbuild   release"), "{long}");
        };
        check("", "", "unknown", "unknown");
        check(
            "0bb079ca0d9b 2026-11-24",
            " (0bb079ca0d9b 2026-11-24)",
            "0bb079ca0d9b",
            "2026-11-24",
        );
        check("v1.2", " (v1.2)", "v1.2", "unknown");
    }
}
