//! The pages of `docs/` that users read, as the program brings them along.

/// A page: its name below `docs/`, without its ending, and its Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManualPage {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! page {
    ($name:literal) => {
        ManualPage { name: $name, text: include_str!(concat!("../../../../docs/", $name, ".md")) }
    };
}

const PAGES: [ManualPage; 65] = [
    page!("glossary"),
    page!("method"),
    page!("troubleshooting"),
    page!("guides/ci"),
    page!("guides/clients-1000"),
    page!("guides/crash"),
    page!("guides/first-run"),
    page!("guides/flush-settings"),
    page!("guides/gateway-on-many-hosts"),
    page!("guides/hot-row"),
    page!("guides/install"),
    page!("guides/many-machines"),
    page!("guides/open-loop"),
    page!("guides/preallocation"),
    page!("guides/primary-key"),
    page!("guides/slow-disk"),
    page!("guides/sysbench"),
    page!("guides/two-servers"),
    page!("guides/why-slower"),
    page!("guides/your-own-server"),
    page!("method/bound"),
    page!("method/comparisons"),
    page!("method/crash-losses"),
    page!("method/error-rates"),
    page!("method/disturbances"),
    page!("method/estimates"),
    page!("method/explanation-error-rates"),
    page!("method/explanations"),
    page!("method/knee"),
    page!("method/ledger"),
    page!("method/pool-size"),
    page!("method/rates"),
    page!("method/several-generators"),
    page!("method/stalls-and-dips"),
    page!("method/trials"),
    page!("method/verdicts"),
    page!("method/waits"),
    page!("reference/benchmarks"),
    page!("reference/compare"),
    page!("reference/config"),
    page!("reference/disks"),
    page!("reference/dsn"),
    page!("reference/exit-codes"),
    page!("reference/explain"),
    page!("reference/gateway"),
    page!("reference/gateway-promise"),
    page!("reference/figures"),
    page!("reference/mtls"),
    page!("reference/other-programs"),
    page!("reference/plan"),
    page!("reference/pool"),
    page!("reference/probe"),
    page!("reference/probe-metrics"),
    page!("reference/run-folder"),
    page!("reference/server"),
    page!("reference/servers"),
    page!("reference/settings"),
    page!("reference/slap"),
    page!("reference/sysbench"),
    page!("reference/sysbench-clients"),
    page!("reference/sysbench-lua"),
    page!("reference/text"),
    page!("reference/ui"),
    page!("reference/verify"),
    page!("reference/workloads"),
];

pub(crate) fn pages() -> impl Iterator<Item = ManualPage> {
    PAGES.into_iter()
}

impl ManualPage {
    /// The pages that a word may mean: `method`, `reference/probe`, `docs/reference/probe.md`.
    pub(crate) fn named(word: &str) -> Vec<Self> {
        let word = word.strip_prefix("docs/").unwrap_or(word);
        let word = word.strip_suffix(".md").unwrap_or(word);
        match PAGES.into_iter().find(|page| page.name == word) {
            Some(page) => vec![page],
            None => PAGES.into_iter().filter(|page| page.last_name() == word).collect(),
        }
    }

    /// The shortest name that means this page alone, and no command.
    pub(crate) fn shortest_name(&self) -> &'static str {
        let is_command = COMMANDS.contains(&self.last_name());
        if is_command || Self::named(self.last_name()).len() > 1 {
            self.name
        } else {
            self.last_name()
        }
    }

    /// Its heading.
    pub(crate) fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(self.name)
    }

    fn last_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

/// Commands that have the name of a page.
const COMMANDS: [&str; 13] = [
    "compare", "config", "crash", "explain", "gateway", "mtls", "plan", "pool", "probe", "server",
    "slap", "sysbench", "verify",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    /// A page that is not here would be named in a help text and not be found.
    #[test]
    fn every_page_for_users_is_here() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut expect = BTreeSet::new();
        for folder in ["", "guides/", "method/", "reference/"] {
            for entry in docs.join(folder).read_dir().unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                // `README.md` lists the pages, as `truetps help topics` does.
                if let Some(name) =
                    name.strip_suffix(".md").filter(|name| !name.contains('.') && *name != "README")
                {
                    expect.insert(format!("{folder}{name}"));
                }
            }
        }
        assert_eq!(PAGES.iter().map(|page| page.name.to_owned()).collect::<BTreeSet<_>>(), expect);
    }

    #[test]
    fn commands_that_have_the_name_of_a_page_are_listed() {
        let cli = Cli::command();
        let has_page = |name: &&str| PAGES.iter().any(|page| page.last_name() == *name);
        let mut expect: Vec<_> =
            cli.get_subcommands().map(clap::Command::get_name).filter(has_page).collect();
        expect.sort_unstable();
        assert_eq!(COMMANDS.to_vec(), expect);
    }

    #[test]
    fn a_page_has_its_name_in_several_forms() {
        let names =
            |word: &str| ManualPage::named(word).iter().map(|page| page.name).collect::<Vec<_>>();
        assert_eq!(names("method"), ["method"]);
        assert_eq!(names("docs/method.md"), ["method"]);
        assert_eq!(names("exit-codes"), ["reference/exit-codes"]);
        assert_eq!(names("sysbench"), ["guides/sysbench", "reference/sysbench"]);
        assert_eq!(names("nothing"), Vec::<&str>::new());
        for page in pages() {
            assert!(page.title() != page.name, "{}: no heading", page.name);
            assert_eq!(names(page.shortest_name()), [page.name]);
        }
    }
}
