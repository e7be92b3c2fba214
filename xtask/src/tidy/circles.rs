//! Circles of imports: modules of a crate that import each other, directly or through others. A
//! reader of one has to know all of them.
//!
//! A module imports what its paths below `crate`, `super` and `self` lead to, a re-export to what
//! it names. Paths that begin with an imported name are not followed: their import counts.

use std::collections::{BTreeMap, BTreeSet};

/// Modules in circles, by crate: a number that falls is lowered here, and none rises.
const CIRCLES_MAX: [(&str, usize); 24] = [
    ("analysis", 0),
    ("batch", 2),
    ("causes", 0),
    ("cli", 0),
    ("compat", 0),
    ("disk", 0),
    ("driver", 0),
    ("engine", 0),
    ("files", 0),
    ("folder", 0),
    ("gateway", 0),
    ("inspect", 0),
    ("knowledge", 0),
    ("lab", 6),
    ("plan", 0),
    ("pool", 0),
    ("prealloc", 0),
    ("probe", 0),
    ("random", 0),
    ("record", 0),
    ("report", 0),
    ("sandbox", 0),
    ("sysbench", 0),
    ("workload", 0),
];

/// The path of a module below its crate; empty: the crate's root.
pub(super) type ModulePath = Vec<String>;

/// The modules of one crate.
#[derive(Default)]
struct ModuleGraph {
    /// The paths that each module names.
    named: BTreeMap<ModulePath, Vec<ModulePath>>,
    /// What each module re-exports.
    exported: BTreeMap<ModulePath, Vec<ModulePath>>,
}

/// The modules of all crates.
#[derive(Default)]
pub(super) struct Circles {
    crates: BTreeMap<String, ModuleGraph>,
}

impl Circles {
    /// Adds a file of a crate, without its tests.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        let Some((name, module)) = place(file) else { return };
        let code = code_of(text);
        let graph = self.crates.entry(name.to_owned()).or_default();
        let (mut named, mut exported) = (Vec::new(), Vec::new());
        for import in imports(&code) {
            let paths = expanded(&import.tree);
            if import.is_public {
                exported.extend(paths.iter().cloned());
            }
            named.extend(paths);
        }
        named.extend(paths_in_code(&code));
        graph.exported.insert(module.clone(), exported);
        graph.named.insert(module, named);
    }

    /// The imports of a crate: from which module, and which one.
    pub(super) fn edges(&self, name: &str) -> Vec<(&ModulePath, &ModulePath)> {
        let graphs = self.crates.get(name).into_iter();
        graphs
            .flat_map(|graph| {
                let modules = graph.named.keys();
                modules.flat_map(|from| graph.edges_of(from).into_iter().map(move |to| (from, to)))
            })
            .collect()
    }

    /// Crates with another number of modules in circles than is allowed.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, graph) in &self.crates {
            let modules = graph.in_circles();
            let allowed = CIRCLES_MAX
                .iter()
                .find(|(known, _)| known == name)
                .map_or(0, |(_, allowed)| *allowed);
            if modules.len() > allowed {
                let paths: Vec<_> = modules.iter().map(|path| path.join("::")).collect();
                found.push(format!(
                    "crates/{name}: {} modules are in circles of imports, more than {allowed}: {}",
                    modules.len(),
                    paths.join(", ")
                ));
            } else if modules.len() < allowed {
                found.push(format!(
                    "crates/{name}: only {} modules are in circles of imports: lower `CIRCLES_MAX` \
                     of xtask/src/tidy/circles.rs from {allowed}",
                    modules.len()
                ));
            }
        }
        found
    }
}

impl ModuleGraph {
    fn in_circles(&self) -> BTreeSet<&ModulePath> {
        let edges: BTreeMap<_, BTreeSet<_>> =
            self.named.keys().map(|module| (module, self.edges_of(module))).collect();
        self.named.keys().filter(|module| reached(&edges, module).contains(module)).collect()
    }

    fn edges_of(&self, module: &ModulePath) -> BTreeSet<&ModulePath> {
        let named = self.named.get(module).into_iter().flatten();
        named.filter_map(|path| self.resolve(module, path, 0)).filter(|to| *to != module).collect()
    }

    /// The module that a path leads to, from another one.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<&ModulePath> {
        const DEPTH_MAX: usize = 8;
        let (mut at, mut rest) = match path.split_first()? {
            (first, rest) if first == "crate" => (ModulePath::new(), rest),
            (first, rest) if first == "self" => (from.clone(), rest),
            (first, _) if first == "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (from[..from.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            (first, _) if self.named.contains_key(&joined(from, first)) => (from.clone(), path),
            _ => return None,
        };
        while let Some((first, behind)) = rest.split_first()
            && self.named.contains_key(&joined(&at, first))
        {
            at.push(first.clone());
            rest = behind;
        }
        let exported = self.exported.get(&at).into_iter().flatten();
        if let Some(name) = rest.first()
            && let Some(original) = exported.into_iter().find(|path| path.last() == Some(name))
            && depth < DEPTH_MAX
        {
            return self.resolve(&at, original, depth + 1);
        }
        self.named.get_key_value(&at).map(|(known, _)| known)
    }
}

fn joined(path: &[String], name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// What is reached from a module in one step or more.
fn reached<'a>(
    edges: &BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>,
    from: &ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<_> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(next) = waiting.pop() {
        if found.insert(next) {
            waiting.extend(edges.get(next).into_iter().flatten().copied());
        }
    }
    found
}

/// The crate and the module of a file; `None` for tests, and for what is in no crate.
fn place(file: &str) -> Option<(&str, ModulePath)> {
    let (name, path) = file.strip_prefix("crates/")?.split_once("/src/")?;
    let mut module: ModulePath = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if module.iter().any(|part| part.ends_with("tests") || part.starts_with("fixture")) {
        return None;
    }
    if matches!(module.last()?.as_str(), "mod" | "lib" | "main") {
        module.pop();
    }
    Some((name, module))
}

/// The text without comments and without the tests at its end.
fn code_of(text: &str) -> String {
    let lines: Vec<_> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let end = (0..lines.len()).find(|at| begin_tests(&lines[*at..])).unwrap_or(lines.len());
    lines[..end].join("\n")
}

fn begin_tests(lines: &[&str]) -> bool {
    lines[0].trim() == "#[cfg(test)]"
        && lines[1..].iter().take(3).any(|line| line.contains("mod ") && line.ends_with('{'))
}

struct Import {
    is_public: bool,
    /// What is between `use` and `;`, without blanks.
    tree: String,
}

fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        let Some(end) = rest[at..].find(';') else { break };
        if before.is_empty() || before.starts_with("pub") {
            let tree = rest[at + 4..at + end].chars().filter(|c| !c.is_whitespace()).collect();
            found.push(Import { is_public: !before.is_empty(), tree });
        }
        rest = &rest[at + 4..];
    }
    found
}

/// The paths of a tree of imports: `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<ModulePath> {
    let Some((front, inside)) = tree.split_once('{') else {
        return vec![tree.split("::").map(str::to_owned).collect()];
    };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts
        .iter()
        .filter(|part| !part.is_empty())
        .flat_map(|part| expanded(&format!("{front}{part}")))
        .collect()
}

/// Paths that are written out where they are used.
fn paths_in_code(code: &str) -> Vec<ModulePath> {
    // One that ends so is the beginning of a tree of imports, or of types in angle brackets.
    let words = code
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        .filter(|word| word.contains("::") && !word.ends_with("::"));
    words
        .map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let mut circles = Circles::default();
        for (file, text) in files {
            circles.add(&format!("crates/one/src/{file}"), text);
        }
        circles.crates["one"].in_circles().iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn modules_that_import_each_other_are_found() {
        let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub use c::{C, d::D};\n");
        let a = ("a.rs", "use crate::C;\nuse other::B;\n");
        assert!(
            circles(&[lib, a, ("b.rs", "use crate::A;\n"), ("c/mod.rs", ""), ("c/d.rs", "")])
                .is_empty()
        );
        let back = ("c/mod.rs", "mod d;\nfn f() { super::b::g() }\n");
        assert_eq!(
            circles(&[lib, a, ("b.rs", "use crate::A;\n"), back, ("c/d.rs", "")]),
            ["a", "b", "c"]
        );
        let tests = ("c/mod.rs", "#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n// crate::A\n");
        assert!(circles(&[lib, a, tests, ("c/d.rs", "")]).is_empty());
        assert_eq!(
            circles(&[lib, ("c/mod.rs", "use d::D;\n"), ("c/d.rs", "use super::C;\n")]),
            ["c", "c::d"]
        );
    }

    #[test]
    fn trees_of_imports_are_expanded() {
        let paths: Vec<_> =
            expanded("crate::{a,b::{c,d::E},self}").iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["crate::a", "crate::b::c", "crate::b::d::E", "crate::self"]);
    }
}
