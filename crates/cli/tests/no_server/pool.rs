//! Searches for a pool that cannot be. Nothing is started for any of them.

use std::path::Path;

use crate::common::{Place, copy_folder};

#[test]
fn searches_that_cannot_be() {
    let place = Place::new();
    for (flags, words) in [
        (
            &["--format", "csv"][..],
            &["invalid value 'csv' for '--format <FORMAT>'", "text, json, md"][..],
        ),
        (
            &["--current", "65", "--most", "64"],
            &["--current 65", "at most 64 are tried", "--most 65"],
        ),
        (&["--current", "513"], &["--current 513", "at most 512 are tried"]),
        (&["--p99", "0ms"], &["--p99", "a limit of 0 allows nothing"]),
        (&["--p99", "fast"], &["--p99", "fast"]),
        (&["--p99", "50"], &["--p99", "has no unit: 50ms, or 50s?"]),
        (&["--rate", "0"], &["--rate", "must be more than 0"]),
        (&["--rate", "1000/d"], &["--rate", "`d` is none of the units s, min, h"]),
        // A rate has the same form everywhere; what is refused here is the plan.
        (&["--rate", "1000/s", "insrt"], &["unknown plan `insrt`"]),
        (&["--most", "0"], &["--most", "0 is not in 1..=100000"]),
        (&["--instances", "0"], &["--instances"]),
        (&["--for", "hikari"], &["--for", "hikaricp"]),
        (&["insrt"], &["unknown plan `insrt`", "did you mean `insert`?"]),
        (&["--resume", "nowhere"], &["nowhere"]),
        (&["--resume", "--quick"], &["cannot be used with", "--quick"]),
    ] {
        let args = [&["pool"], flags].concat();
        place.refused(&args, words);
        assert!(!place.path().join("runs").exists(), "{args:?} left a record");
    }
    assert!(place.servers().is_empty());
}

#[test]
fn another_experiment_is_no_search_for_a_pool() {
    let place = Place::new();
    let sweep = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1/sweep");
    copy_folder(&sweep, &place.path().join("sweep"));
    place.refused(
        &["pool", "--resume", "sweep"],
        &["is not a search for a pool", "truetps sweep --resume"],
    );
}
