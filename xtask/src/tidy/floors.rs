//! Floors of a crate: folders that import downward only, so that a reader of one knows what it can
//! use.

use super::circles::Circles;

/// The folders of a crate, from the ground up.
const FLOORS: [(&str, &[&str]); 1] = [(
    "sandbox",
    &[
        "error",
        "system",
        "settings",
        "program",
        "home",
        "data",
        "server",
        "named",
        "instance",
        "housekeeping",
    ],
)];

/// Imports that lead upward, and modules that are on no floor.
pub(super) fn problems(circles: &Circles) -> Vec<String> {
    let mut found = Vec::new();
    for (name, floors) in FLOORS {
        for (from, to) in circles.edges(name) {
            let (Some(low), Some(high)) = (from.first(), to.first()) else { continue };
            let [from_floor, to_floor] =
                [low, high].map(|part| floors.iter().position(|floor| floor == part));
            if from_floor.is_none() || from_floor < to_floor {
                let (from, to) = (from.join("::"), to.join("::"));
                found.push(format!(
                    "crates/{name}: {from} imports {to}, which is not below it in `FLOORS` of \
                     xtask/src/tidy/floors.rs"
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_that_lead_upward_are_found() {
        let check = |file: &str, text: &str| {
            let mut circles = Circles::default();
            for file in ["lib.rs", "error/mod.rs", "home/mod.rs", "home/proof.rs"] {
                circles.add(&format!("crates/sandbox/src/{file}"), "");
            }
            circles.add(&format!("crates/sandbox/src/{file}"), text);
            problems(&circles).len()
        };
        let text = "use crate::home::proof::mark;\nuse crate::error::E;\n";
        assert_eq!(check("system/copy.rs", text), 1);
        assert_eq!((check("home/owners.rs", text), check("named/locks.rs", text)), (0, 0));
        assert_eq!(check("attic.rs", text), 2, "not on a floor");
        assert_eq!(check("lib.rs", text), 0);
    }
}
