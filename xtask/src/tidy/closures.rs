//! Closures with names inside of functions. A function with a name says its arguments and its
//! result, and is read by itself; a closure is for what needs the values around it.

use super::ratchet;

/// In the code of all crates without its tests: a number that falls is lowered here, and it never
/// rises.
const CLOSURES_MAX: usize = 46;
const IN_A_FUNCTION_MAX: usize = 9;

/// The closures of all files.
#[derive(Default)]
pub(super) struct NamedClosures {
    count: usize,
    /// Functions with more than [`IN_A_FUNCTION_MAX`].
    crowded: Vec<String>,
}

impl NamedClosures {
    pub(super) fn add(&mut self, file: &str, text: &str) {
        if file.contains("/tests/") || file.split(['/', '.']).any(|part| part.ends_with("tests")) {
            return;
        }
        let (mut function, mut in_function) = (1, 0);
        let mut lines = text.lines().zip(text.lines().skip(1).chain([""])).enumerate();
        while let Some((number, (line, next))) =
            lines.find(|(_, (line, _))| !line.trim().starts_with("//"))
        {
            if line == "mod tests {" {
                break;
            }
            if is_function(line) {
                (function, in_function) = (number + 1, 0);
            }
            if is_named_closure(line, next) {
                (self.count, in_function) = (self.count + 1, in_function + 1);
                if in_function == IN_A_FUNCTION_MAX + 1 {
                    self.crowded.push(format!(
                        "{file}:{function}: a function with more than {IN_A_FUNCTION_MAX} named \
                         closures"
                    ));
                }
            }
        }
    }

    pub(super) fn problems(self) -> Vec<String> {
        let Self { count, crowded: mut found } = self;
        let place = "`CLOSURES_MAX` of xtask/src/tidy/closures.rs";
        found.extend(ratchet(
            count,
            CLOSURES_MAX,
            "closures have names (functions read better)",
            place,
        ));
        found
    }
}

fn is_function(line: &str) -> bool {
    let words = line.trim_start().split_ascii_whitespace();
    let mut behind = words.skip_while(|word| {
        word.starts_with("pub")
            || matches!(*word, "const" | "unsafe" | "async" | "extern" | "\"C\"")
    });
    behind.next() == Some("fn")
}

/// `next`: the line behind it, where a long one goes on.
fn is_named_closure(line: &str, next: &str) -> bool {
    let Some((_, value)) =
        line.trim_start().strip_prefix("let ").and_then(|rest| rest.split_once('='))
    else {
        return false;
    };
    let value = if value.trim().is_empty() { next } else { value }.trim_start();
    value.strip_prefix("move ").unwrap_or(value).starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_with_names_are_counted() {
        let mut closures = NamedClosures::default();
        let text = "pub(crate) fn f() {\n    let a = |x| x;\n    let b = move || 1;\n    // let c \
                    = |x| x;\n    \
                    let d: &dyn Fn() =\n        |x| x;\n    let e = a(|x| \
                    x);\n}\n\n#[cfg(test)]\nmod tests {\n    \
                    let g = || 1;\n";
        closures.add("crates/a/src/b.rs", text);
        assert_eq!(closures.count, 3);
        assert_eq!(closures.crowded.len(), usize::from(IN_A_FUNCTION_MAX < 3));
        closures.add("crates/a/src/b_tests.rs", text);
        closures.add("crates/a/tests/b.rs", text);
        assert_eq!(closures.count, 3);
        for (line, expect) in [
            ("    pub const fn a(", true),
            ("unsafe extern \"C\" fn a(", true),
            ("    a: fn() -> b,", false),
        ] {
            assert_eq!(is_function(line), expect, "{line}");
        }
    }
}
