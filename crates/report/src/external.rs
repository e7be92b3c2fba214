//! What a report adds for an experiment on a server that truetps did not start.

use std::collections::BTreeSet;

use serde::Serialize;
use truetps_analysis::LoadedTrial;
use truetps_archive::Run;
use truetps_knowledge::{Platform, platform_of};
use truetps_record::{Flavour, LogVolume, ServerFacts};

use crate::{ReportInput, format, names};

/// All that is to be known of it.
pub(crate) fn lines(input: &ReportInput<'_>) -> Vec<String> {
    [idle_factors(input), notes(input)].concat()
}

/// What the server is, if it is no ordinary one, the warnings before the load, and what was
/// written.
pub(crate) fn notes(input: &ReportInput<'_>) -> Vec<String> {
    let warnings = input.run.experiment.external.iter().flat_map(|external| &external.warnings);
    let warnings = warnings.map(|warning| format!("before the load: {warning}"));
    let logged = logged_fact(input).map(|fact| format!("the server wrote {fact}"));
    platform_notes(&input.run.trials).into_iter().chain(warnings).chain(logged).collect()
}

/// What the platform of the server is, and what distorts figures there.
pub(crate) fn platform_notes<'a>(trials: impl IntoIterator<Item = &'a LoadedTrial>) -> Vec<String> {
    platform(trials)
        .into_iter()
        .flat_map(|one| [Some(one.sentence()), one.caution.clone()])
        .flatten()
        .collect()
}

/// Factors that do nothing on the platform of the server: their differences have another reason.
pub(crate) fn idle_factors(input: &ReportInput<'_>) -> Vec<String> {
    let Some(platform) = platform(&input.run.trials) else { return Vec::new() };
    let factors = input.run.plan.setting_factors();
    factors
        .keys()
        .filter_map(|name| Some(format!("{name}: {}", platform.without_meaning(name)?)))
        .collect()
}

/// The managed or distributed server of these trials; `None`: an ordinary one, or unknown.
pub(crate) fn platform<'a>(
    trials: impl IntoIterator<Item = &'a LoadedTrial>,
) -> Option<&'static Platform> {
    trials.into_iter().find_map(|one| {
        let (server, variables) = (one.trial.server.as_ref()?, one.variables.as_ref()?);
        platform_of(
            server.flavour,
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())),
        )
    })
}

/// A managed or distributed server in a document.
#[derive(Serialize)]
pub(crate) struct PlatformPart<'a> {
    name: &'a str,
    /// What it is.
    about: &'a str,
    /// What distorts figures there; `null` where nothing is known to.
    caution: Option<&'a str>,
}

impl PlatformPart<'static> {
    pub(crate) fn of(platform: &'static Platform) -> Self {
        Self { name: &platform.name, about: &platform.about, caution: platform.caution.as_deref() }
    }
}

/// Volume of the server's logs during all trials, including repeated attempts; `None`: not read.
pub(crate) fn logged(input: &ReportInput<'_>) -> Option<LogVolume> {
    volumes(input).flatten().reduce(|sum, one| sum.plus(&one))
}

fn volumes<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = Option<LogVolume>> + use<'a> {
    input.trials().chain(&input.run.attempts).map(|trial| trial.logged)
}

/// The volume in words.
pub(crate) fn logged_fact(input: &ReportInput<'_>) -> Option<String> {
    let sum = logged(input)?;
    let is_postgres = names::servers(&input.run.experiment)
        .iter()
        .any(|server| server.flavour == Flavour::Postgresql);
    let redo = if is_postgres { "WAL" } else { "redo log" };
    let binlog = (sum.binlog_bytes != Some(0)).then_some((sum.binlog_bytes, "binlog"));
    let logs = binlog.into_iter().chain([(sum.redo_bytes, redo)]).map(|(bytes, what)| match bytes {
        Some(bytes) => format!("{} of {what}", format::bytes(bytes)),
        None => format!(
            "an unknown volume of {what} (the account may not see it, or the server was restarted)"
        ),
    });
    let logs: Vec<_> = logs.collect();
    let unread = match volumes(input).filter(Option::is_none).count() {
        0 => String::new(),
        1 => "; a part of 1 trial that ended early is missing".to_owned(),
        n => format!("; a part of {n} trials that ended early is missing"),
    };
    Some(format!("{}, by the tables, the load and all other users{unread}", logs.join(" and ")))
}

/// Whether the server was external.
pub(crate) fn is_external(run: &Run) -> bool {
    run.plan.recorded_from.is_none() && run.experiment.sandbox_dir.is_none()
}

/// Settings that decide about durability.
const OF_MYSQL: [&str; 3] = ["log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit"];
const OF_POSTGRES: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];

/// `sync_binlog=1` and its like, as the server had them in all trials; those that the plan sets are
/// listed elsewhere. Empty for private servers, where the plan and truetps have chosen them.
pub(crate) fn durability_settings(input: &ReportInput<'_>, server: &ServerFacts) -> Vec<String> {
    if !is_external(input.run) {
        return Vec::new();
    }
    let names = if server.flavour == Flavour::Postgresql { OF_POSTGRES } else { OF_MYSQL };
    let free = names.into_iter().filter(|name| !names::is_planned(&input.run.plan, name));
    let found = free.filter_map(|name| {
        let variables = input.run.trials.iter().filter_map(|one| one.variables.as_ref());
        let values: BTreeSet<_> = variables.filter_map(|variables| variables.get(name)).collect();
        let value = values.first().filter(|_| values.len() == 1)?;
        Some(format!("{name}={value}"))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::{FolderAnswer, ReportAnswer};

    /// Nothing was flushed, and no server was started anew.
    #[test]
    fn before_a_trial_external_tables_are_only_refilled() {
        let before = |fixture: &Fixture| {
            let page = fixture.input().html();
            let at = page.find("Before a trial").unwrap();
            page[at..at + 400].split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            before(&Fixture::durability()).contains("refilled from a pristine copy and flushed")
        );
        let mut old = Fixture::durability();
        (old.run.experiment.sandbox_dir, old.run.experiment.server_address) =
            (None, Some("mysql://db:3306".to_owned()));
        for external in [Fixture::external(), old] {
            let said = before(&external);
            assert!(
                said.contains("it may write changed pages during a trial")
                    && !said.contains("flushed"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_managed_server_is_named_with_what_has_no_meaning_there() {
        let mut fixture = Fixture::external();
        let shown =
            |version: &str| [("version".to_owned(), version.to_owned())].into_iter().collect();
        fixture
            .run
            .trials
            .iter_mut()
            .for_each(|one| one.variables = Some(shown("8.0.11-TiDB-v8.5.0")));
        for report in [fixture.input().text(crate::TextScreen::PLAIN), fixture.input().html()] {
            assert!(report.contains("TiDB: a distributed server"), "{report}");
            assert!(
                report.contains("innodb_flush_log_at_trx_commit: it has no meaning on TiDB"),
                "{report}"
            );
        }
        let screen = crate::summary::summary_text(&fixture.input(), crate::TextScreen::PLAIN);
        assert!(
            screen.lines().take(3).any(|line| line.contains("(TiDB) at mysql://loader@db:3306")),
            "{screen}"
        );
        assert!(
            screen.contains(
                "Trust     fair: innodb_flush_log_at_trx_commit: it has no meaning on TiDB"
            ),
            "{screen}"
        );
        fixture.run.trials.iter_mut().for_each(|one| one.variables = Some(shown("8.0.37-azure")));
        let screen = fixture.input().text(crate::TextScreen::PLAIN);
        assert!(screen.contains("burst credits") && !screen.contains("no meaning"), "{screen}");
    }

    #[test]
    fn the_pool_rule_is_for_the_servers_host_and_its_settings_are_named() {
        let mut fixture = Fixture::external();
        let had =
            [("sync_binlog", "1"), ("log_bin", "ON"), ("innodb_flush_log_at_trx_commit", "1")];
        let had = had.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fixture.run.trials.iter_mut().for_each(|one| one.variables = Some(had.clone().into()));
        // The plan sets log_bin, and its factor is the flush level.
        let text_of = |fixture: &Fixture| fixture.input().text(crate::TextScreen::PLAIN);
        assert!(
            text_of(&fixture).contains("sync_binlog=1")
                && !text_of(&fixture).contains("log_bin=ON")
        );
        assert!(!text_of(&fixture).contains("spindles"), "{}", text_of(&fixture));
        fixture.run.experiment.external.as_mut().unwrap().is_on_this_host = true;
        let there = fixture.with(|_| {});
        assert!(text_of(&there).contains("spindles"), "{}", text_of(&there));
    }

    #[test]
    fn attempts_that_were_repeated_are_in_the_total() {
        let mut fixture = Fixture::external();
        let redo = |fixture: &Fixture| super::logged(&fixture.input()).unwrap().redo_bytes.unwrap();
        let before = redo(&fixture);
        fixture.run.attempts = vec![fixture.run.trials[0].trial.clone(); 2];
        fixture.run.attempts[1].logged = None;
        assert_eq!(redo(&fixture), before + (1 << 20));
        let said = super::logged_fact(&fixture.input()).unwrap();
        assert!(said.ends_with("; a part of 1 trial that ended early is missing"), "{said}");
    }

    #[test]
    fn warnings_before_the_load_are_in_every_report() {
        let fixture = Fixture::external();
        let input = fixture.input();
        let said = "log_bin = ON: made up";
        let plain = input.text(crate::TextScreen::PLAIN);
        assert!(plain.contains("unknown volume of binlog"), "{plain}");
        for report in [plain, input.json(), input.html()] {
            assert!(report.contains(said), "{report}");
        }
    }
}
