//! A type has a name of its own in the whole workspace: a reader who meets it needs no path to know
//! which one it is.

use std::collections::BTreeMap;

const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Where each type is declared.
#[derive(Default)]
pub(super) struct TypeNames {
    declared: BTreeMap<String, Vec<String>>,
}

impl TypeNames {
    /// Adds the types that a file declares outside of its tests.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        if is_test(file) {
            return;
        }
        for (number, line) in text.lines().enumerate() {
            if line.starts_with("mod tests {") {
                break;
            }
            if let Some(name) = declared_type(line) {
                self.declared
                    .entry(name.to_owned())
                    .or_default()
                    .push(format!("{file}:{}", number + 1));
            }
        }
    }

    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        self.declared.iter().filter(|(_, places)| places.len() > 1).map(|(name, places)| {
            format!(
                "the type name `{name}` is declared {} times: {}",
                places.len(),
                places.join(", ")
            )
        })
    }
}

fn is_test(file: &str) -> bool {
    file.ends_with("_tests.rs")
        || file.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
}

/// The name that a line at the top level of a file declares.
fn declared_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    });
    let mut words = rest.split_ascii_whitespace();
    let keyword = words.next()?;
    let name = words.next().filter(|_| KEYWORDS.contains(&keyword) && !line.starts_with(' '))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_top_level_are_found() {
        for (line, name) in [
            ("pub(crate) struct Found<'a> {", Some("Found")),
            ("pub enum Found {", Some("Found")),
            ("struct Found(u32);", Some("Found")),
            ("type Found = u32;", Some("Found")),
            ("pub(in crate::a) trait Found: Send {", Some("Found")),
            ("    type Err = String;", None),
            ("impl Found {", None),
            ("// struct Found", None),
        ] {
            assert_eq!(declared_type(line), name, "{line}");
        }
    }

    #[test]
    fn a_name_of_two_types_is_a_problem() {
        let mut names = TypeNames::default();
        names.add("a.rs", "struct A;\nstruct B;\n\n#[cfg(test)]\nmod tests {\nstruct C;\n");
        names.add("b.rs", "enum B {}\nstruct C;\n");
        names.add("c/tests/d.rs", "struct A;\n");
        assert_eq!(
            names.problems().collect::<Vec<_>>(),
            ["the type name `B` is declared 2 times: a.rs:2, b.rs:1"]
        );
    }
}
